package desk

import (
	"strings"
	"testing"

	"faultline/chat"
	"faultline/config"
	"faultline/messages"
)

func TestTheFirstWordIsSaidOnlyWhereAnAnswerFollows(t *testing.T) {
	for text, want := range map[string]string{"12345": "job 12345", "logs:/a": "these logs", "": "", "help": "", "12a45": "", "status F-1": ""} {
		got := Hello(command("C1", text))
		if (got == "") != (want == "") || !strings.Contains(got, want) || plain(got) != got {
			t.Errorf("%q: %q", text, got)
		}
	}
	if in := command("C1", "12345"); Hello(chat.Inbound{Kind: chat.Mention, Text: in.Text}) != "" {
		t.Error("a mention is greeted")
	}
}

func TestWhatIsWrongInAModalIsSaidBesideItsField(t *testing.T) {
	access := func(fields map[string]string) chat.Inbound { return submission("U1", messages.ViewAIS, "F-1", fields) }
	for _, c := range []struct {
		name  string
		in    chat.Inbound
		token string
		wrong string // field
	}{
		{"a job", submission("U1", messages.ViewStart, "C1", map[string]string{messages.FieldJob: "12345"}), "", ""},
		{"one of the list", submission("U1", messages.ViewStart, "C1", map[string]string{messages.FieldRecent: "west:1"}), "", ""},
		{"no job", submission("U1", messages.ViewStart, "C1", map[string]string{messages.FieldJob: "twelve"}), "", messages.FieldJob},
		{"nothing", submission("U1", messages.ViewStart, "C1", nil), "", messages.FieldJob},
		{"no file", submission("U1", messages.ViewUpload, "F-1", nil), "", messages.FieldFiles},
		{"a file", submission("U1", messages.ViewUpload, "F-1", nil, chat.File{ID: "A"}), "", ""},
		{"a configured access", access(map[string]string{messages.FieldProfile: "west"}), "", ""},
		{"an address", access(map[string]string{messages.FieldEndpoint: "https://ais:51080"}), "tok", ""},
		{"no address", access(nil), "tok", messages.FieldEndpoint},
		{"no URL", access(map[string]string{messages.FieldEndpoint: "ais"}), "tok", messages.FieldEndpoint},
		{"a password in the address", access(map[string]string{messages.FieldEndpoint: "https://a:hunter2@ais"}), "tok", messages.FieldEndpoint},
		{"a command as token", access(map[string]string{messages.FieldEndpoint: "https://ais"}), "export TOKEN=hunter2", messages.FieldToken},
		{"an authority that is none", access(map[string]string{messages.FieldEndpoint: "https://ais", messages.FieldTLS: messages.TLSAuthority, messages.FieldCA: "x"}), "t", messages.FieldCA},
		{"no modal", command("C1", ""), "", ""},
	} {
		got := Check(c.in, map[string]config.Secret{messages.FieldToken: config.Secret(c.token)})
		if (len(got) > 0) != (c.wrong != "") || c.wrong != "" && got[c.wrong] == "" {
			t.Errorf("%s: %q", c.name, got)
		}
		for _, text := range got {
			if plain(text) != text || strings.Contains(text, "hunter2") {
				t.Errorf("%s: %q", c.name, text)
			}
		}
	}
}
