package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/chat"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var here = home{team: "T1"}

func read(t *testing.T, kind, raw string) act {
	t.Helper()
	a, err := parse(kind, []byte(raw), here, noon)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return a
}

func TestCommand(t *testing.T) {
	a := read(t, fromCommand, `{"team_id":"T1","channel_id":"C1","channel_name":"training","user_id":"U1","command":"/diagnose",
		"text":"  gcp:12345 &amp; more ","response_url":"https://hooks.slack.com/commands/1","trigger_id":"13.37","is_enterprise_install":"false"}`)
	want := chat.Inbound{Key: "command:13.37", Kind: chat.Command, Team: "T1", Channel: "C1", ChannelName: "training", User: "U1",
		Text: "gcp:12345 & more", Trigger: "13.37", Respond: "https://hooks.slack.com/commands/1", At: noon}
	if !reflect.DeepEqual(a.in, want) {
		t.Errorf("got  %+v\nwant %+v", a.in, want)
	}
}

func TestTheFormOfACommandSaysTheSameAsItsJSON(t *testing.T) {
	form := url.Values{"team_id": {"T1"}, "channel_id": {"C1"}, "user_id": {"U1"}, "text": {"1+1 100%"}, "trigger_id": {"13.37"}}
	raw, err := commandJSON(form)
	if err != nil {
		t.Fatal(err)
	}
	if a := read(t, fromCommand, string(raw)); a.in.Text != "1+1 100%" || a.in.Key != "command:13.37" {
		t.Errorf("got %+v", a.in)
	}
}

func TestMention(t *testing.T) {
	a := read(t, fromEvents, `{"type":"event_callback","team_id":"T1","event_id":"Ev1","authorizations":[{"user_id":"UBOT"}],
		"event":{"type":"app_mention","user":"U1","text":"<@UBOT> status of <http://node01.example.com|node01.example.com> &lt;x&gt;","ts":"2.1","thread_ts":"1.1","channel":"C1",
		"blocks":[{"type":"table","rows":"this is no list"}]}}`)
	in := a.in
	if in.Key != "event:Ev1" || in.Kind != chat.Mention || in.Text != "status of node01.example.com <x>" || in.Thread != "1.1" || in.Message != "2.1" || in.User != "U1" {
		t.Errorf("got %+v", in)
	}
}

func TestFilesBesideAMention(t *testing.T) {
	a := read(t, fromEvents, `{"type":"event_callback","team_id":"T1","event_id":"Ev1","authorizations":[{"user_id":"UBOT"}],
		"event":{"type":"app_mention","user":"U1","text":"<@UBOT> dmesg","ts":"2.1","thread_ts":"1.1","channel":"C1","upload":true,"files":[
		{"id":"F1","name":"dmesg.txt","size":12,"url_private":"https://files.slack.com/a","url_private_download":"https://files.slack.com/b"},
		{"id":"F2","file_access":"check_file_info"},{"id":""}]}}`)
	want := []chat.File{{ID: "F1", Name: "dmesg.txt", URL: "https://files.slack.com/b", Bytes: 12}, {ID: "F2"}}
	if !reflect.DeepEqual(a.in.Files, want) || a.in.Text != "dmesg" {
		t.Errorf("got %+v", a.in)
	}
}

func TestMentionsByBotsAndOtherEventsAreIgnored(t *testing.T) {
	for _, raw := range []string{
		`{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention","user":"U1","bot_id":"B1","text":"hi"}}`,
		`{"type":"event_callback","event_id":"Ev1","event":{"type":"message","user":"U1","text":"hi"}}`,
		`{"type":"event_callback","event_id":"Ev1","event":{"type":"app_home_opened","user":"U1","tab":"messages"}}`,
		`{"type":"app_rate_limited","team_id":"T1"}`,
	} {
		if a := read(t, fromEvents, raw); a.ignored == "" {
			t.Errorf("%s is to be handled: %+v", raw, a.in)
		}
	}
	for _, raw := range []string{`{"type":"shortcut","user":{"id":"U1"}}`, `{"type":"message_action","user":{"id":"U1"}}`} {
		if a := read(t, fromInteractive, raw); a.ignored == "" {
			t.Errorf("%s is to be handled: %+v", raw, a.in)
		}
	}
}

func TestClick(t *testing.T) {
	a := read(t, fromInteractive, `{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1","team_id":"T1"},"channel":{"id":"C1","name":"training"},
		"trigger_id":"13.37","response_url":"https://hooks.slack.com/actions/1","container":{"type":"message","message_ts":"5.5","thread_ts":"4.4","channel_id":"C1"},
		"message":{"blocks":[{"type":"rich_text","elements":[{"type":"rich_text_list","elements":7}]}]},
		"actions":[{"action_id":"rerun","block_id":"b","value":"F-1","type":"button","action_ts":"6.6"}]}`)
	in := a.in
	if in.Key != "click:5.5/rerun/6.6/U1" || in.Kind != chat.Click || in.Action != "rerun" || in.Value != "F-1" || in.Message != "5.5" || in.Thread != "4.4" || in.External {
		t.Errorf("got %+v", in)
	}
	other := read(t, fromInteractive, `{"type":"block_actions","user":{"id":"U2"},"container":{"message_ts":"5.5"},"actions":[{"action_id":"rerun","action_ts":"6.6",
		"selected_option":{"text":{"type":"plain_text","text":"West"},"value":"west"}}]}`)
	if other.in.Key == in.Key {
		t.Error("the clicks of two people have one key")
	}
	if other.in.Value != "west" {
		t.Errorf("the value of a select is %q", other.in.Value)
	}
}

// submission is a sent modal with a secret in it.
var submission = strings.Replace(submitted, "ais_token", chat.SecretFields[0], 1)

const submitted = `{"type":"view_submission","team":{"id":"T1"},"user":{"id":"U1","team_id":"T1"},"trigger_id":"13.37",
	"view":{"id":"V1","hash":"1.abc","callback_id":"storage","private_metadata":"F-1","state":{"values":{
		"endpoint":{"url":{"type":"url_text_input","value":"https://ais.example.com:51080"}},
		"ais_token":{"tok":{"type":"plain_text_input","value":" hunter2-canary "}},
		"tls":{"mode":{"type":"radio_buttons","selected_option":{"value":"verify"}}},
		"nodes":{"which":{"type":"checkboxes","selected_options":[{"value":"node01"},{"value":"node02"}]}},
		"logs":{"file":{"type":"file_input","files":[{"id":"F9","name":"a.log","size":12,"url_private_download":"https://files.slack.com/a"}]}}}}}}`

func TestSubmission(t *testing.T) {
	a := read(t, fromInteractive, submission)
	in := a.in
	if in.Key != "submit:V1/1.abc" || in.Kind != chat.Submit || in.View.Callback != "storage" || in.View.Private != "F-1" {
		t.Errorf("got %+v %+v", in, in.View)
	}
	want := map[string]string{"endpoint": "https://ais.example.com:51080", "tls": "verify", "nodes": "node01,node02"}
	if !maps.Equal(in.View.Fields, want) {
		t.Errorf("fields %v, want %v", in.View.Fields, want)
	}
	if f := in.View.Files; len(f) != 1 || f[0] != (chat.File{ID: "F9", Name: "a.log", URL: "https://files.slack.com/a", Bytes: 12}) {
		t.Errorf("files %+v", f)
	}
	if got := a.secrets[chat.SecretFields[0]].Reveal(); got != "hunter2-canary" {
		t.Errorf("the secret is %q", got)
	}
	raw, err := json.Marshal(in)
	if err != nil || strings.Contains(string(raw), "canary") {
		t.Errorf("the secret is in what is stored: %s %v", raw, err)
	}
	closed := read(t, fromInteractive, strings.Replace(submission, "view_submission", "view_closed", 1))
	if closed.in.Kind != chat.Dismiss || closed.in.Key == in.Key {
		t.Errorf("closing: %+v", closed.in)
	}
}

func TestSecretsThatAreTypedInTheOpenAreRemovedWithTheWholeText(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijklmnop"
	for _, text := range []string{
		"12345 AIS_AUTHN_TOKEN=letters", "export AIS_AUTHN_TOKEN = 1", "12345 " + jwt, "xoxb-123456789012-abcdefghijkl", "xapp-1-A123-456-abcdef",
		"token <https://example.com|" + jwt + ">", "https://user:hunter2@host/x", "password=hunter2",
	} {
		raw, _ := json.Marshal(map[string]string{"team_id": "T1", "user_id": "U1", "text": text, "trigger_id": "1"})
		a := read(t, fromCommand, string(raw))
		if !a.in.Warned || a.in.Text != "" {
			t.Errorf("%q became %q, warned %v", text, a.in.Text, a.in.Warned)
		}
		raw, _ = json.Marshal(map[string]any{"type": "event_callback", "event_id": "E1", "event": map[string]any{"type": "app_mention", "user": "U1", "text": "<@UBOT> " + text}})
		if a := read(t, fromEvents, string(raw)); !a.in.Warned || a.in.Text != "" {
			t.Errorf("mention %q became %q, warned %v", text, a.in.Text, a.in.Warned)
		}
	}
	for _, text := range []string{"12345", "gcp:12345_7", "logs:/lustre/token-job/run", "12345 private", "what is an eos_token"} {
		if words, warned := typed(text); warned || words != text {
			t.Errorf("%q became %q, warned %v", text, words, warned)
		}
	}
}

func TestSecretsAreTakenFromSentModalsOnly(t *testing.T) {
	inside := strings.Replace(submission, `"type":"view_submission"`, `"type":"block_actions","container":{"view_id":"V1"},"actions":[{"type":"plain_text_input","block_id":"`+
		chat.SecretFields[0]+`","action_id":"tok","value":"hunter2-canary","action_ts":"1.1"}]`, 1)
	typedInto := strings.Replace(inside, `"block_id":"`+chat.SecretFields[0]+`","action_id":"tok","value":"hunter2-canary"`, `"block_id":"b","action_id":"x","value":"password=hunter2-canary"`, 1)
	for _, raw := range []string{inside, typedInto, strings.Replace(submission, "view_submission", "view_closed", 1)} {
		a := read(t, fromInteractive, raw)
		stored, _ := json.Marshal(a.in)
		if a.secrets != nil || strings.Contains(string(stored), "canary") {
			t.Errorf("%s: stored %s, secrets %d", a.in.Kind, stored, len(a.secrets))
		}
	}
}

func TestSecretsInOpenFieldsOfModalsAreMasked(t *testing.T) {
	raw := strings.Replace(submission, "https://ais.example.com:51080", "https://u:hunter2@ais.example.com", 1)
	if got := read(t, fromInteractive, raw).in.View.Fields["endpoint"]; strings.Contains(got, "hunter2") {
		t.Errorf("the field is %q", got)
	}
}

func TestSlacksMarkupBecomesWhatWasTyped(t *testing.T) {
	for in, want := range map[string]string{
		"<http://a.b|a.b>": "a.b", "<http://a.b/c?d&amp;e>": "http://a.b/c?d&e", "<#C1|general>": "#general", "<#C1>": "#C1", "<@U1>": "<@U1>", "<!here>": "@here",
		"a &lt; b": "a < b", "<": "<", "<|>": "", "&amp;lt;": "&lt;", "<a<b>": "<ab",
	} {
		if got := plain(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"<@UBOT> a": " a", "a <@UBOT|bot> b": "a  b", "a <@U2> b": "a <@U2> b", "<@UBOT": "<@UBOT"} {
		if got := unmention(in, "UBOT"); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := unmention(" <@UX> a", ""); got != " a" {
		t.Errorf("without the bot's id: %q", got)
	}
}

func TestWhoIsExternal(t *testing.T) {
	for _, c := range []struct {
		home                   home
		user, team, enterprise string
		want                   bool
	}{
		{home{team: "T1"}, "T1", "T1", "", false},
		{home{team: "T1"}, "T2", "T1", "", true},
		{home{team: "T1"}, "T2", "T2", "", true},
		{home{team: "T1"}, "", "T1", "", false},
		{home{}, "T2", "T1", "", true},
		{home{}, "T1", "T1", "", false},
		{home{team: "T1", enterprise: "E1"}, "T2", "T1", "E1", false},
		{home{team: "T1", enterprise: "E1"}, "T2", "T2", "E2", true},
		{home{team: "T1", enterprise: "E1"}, "E1", "T1", "E1", false},
	} {
		if got := c.home.foreign(c.user, c.team, c.enterprise); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestPayloadsThatAreNoneAreRefusedWithoutQuotingThem(t *testing.T) {
	const canary = "hunter2-canary"
	for _, c := range [][2]string{
		{fromCommand, `{"user_id":"U1"}`}, {fromCommand, `{"trigger_id":"1","text":"` + canary + `"}`}, {fromCommand, `[]`}, {fromCommand, ``}, {fromCommand, `"` + canary + `"`},
		{fromInteractive, `{"type":"block_actions","user":{"id":"U1"}}`}, {fromInteractive, `{"type":"view_submission","user":{"id":"U1"}}`},
		{fromInteractive, `{"type":"view_submission","user":"` + canary + `"}`}, {fromInteractive, `{"type":"view_submission","view":{"state":{"values":{"a":"` + canary + `"}}}}`},
		{fromInteractive, `{"type":"view_submission","view":{"id":"","hash":"1"},"user":{"id":"U1"}}`}, {fromInteractive, `{}`},
		{fromInteractive, `{"type":"block_actions","user":{"id":"U1"},"actions":[{}]}`},
		{fromEvents, `{"type":"event_callback","event":{"type":"app_mention","user":"U1"}}`}, {fromEvents, `{}`}, {fromEvents, `{` + canary},
		{"something_new", `{}`},
	} {
		_, err := parse(c[0], []byte(c[1]), here, noon)
		if !errors.Is(err, errPayload) {
			t.Errorf("%s %s: %v", c[0], c[1], err)
		}
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("the error quotes the payload: %v", err)
		}
	}
}

// Whatever comes, the parser returns, bounds what it keeps, and leaves no secret in what is stored.
func FuzzParse(f *testing.F) {
	f.Add(fromInteractive, submission)
	f.Add(fromCommand, `{"user_id":"U1","trigger_id":"1","text":"<@U|a> xoxb-1234567890-a"}`)
	f.Add(fromEvents, `{"type":"event_callback","event_id":"E","authorizations":[{"user_id":"UBOT"}],"event":{"type":"app_mention","user":"U1","text":"<@UBOT|`+"\x00"+`> <<x|y>>"}}`)
	f.Add(fromInteractive, `{"type":"block_actions","user":{"id":"U1"},"container":{"message_ts":1.5},"actions":[{"action_id":null,"action_ts":"1","selected_options":[{}]}]}`)
	f.Fuzz(func(t *testing.T, kind, raw string) {
		a, err := parse(kind, []byte(raw), here, noon)
		if err != nil {
			return
		}
		out, err := json.Marshal(a.in)
		if err != nil {
			t.Fatalf("cannot be stored: %v", err)
		}
		var back chat.Inbound
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatalf("cannot be read back: %v", err)
		}
		if a.ignored == "" && a.challenge == "" && (a.in.Key == "" || a.in.User == "" || a.in.Kind == "") {
			t.Fatalf("incomplete: %+v", a.in)
		}
		if len(a.in.Key) > 5*maxID || len(a.in.Text) > 3*maxText || len(a.in.Value) > maxValue {
			t.Fatalf("not bounded: %d %d %d", len(a.in.Key), len(a.in.Text), len(a.in.Value))
		}
		if v := a.in.View; v != nil {
			for _, name := range chat.SecretFields {
				for field := range v.Fields {
					if field == name {
						t.Fatal("a secret field is stored")
					}
				}
			}
			if len(v.Fields) > maxFields || len(v.Files) > maxFiles {
				t.Fatal("too many fields or files")
			}
		}
	})
}

func TestFieldsAreTheSameWhateverTheirOrder(t *testing.T) {
	var values []string
	for i := range 200 {
		values = append(values, fmt.Sprintf(`"b%03d":{"a":{"value":"%d"},"c":{"value":"x"}}`, i, i))
	}
	keys := func() []string {
		raw := `{"type":"view_submission","user":{"id":"U1"},"view":{"id":"V1","hash":"1","state":{"values":{` + strings.Join(values, ",") + `}}}}`
		return slices.Sorted(maps.Keys(read(t, fromInteractive, raw).in.View.Fields))
	}
	one := keys()
	slices.Reverse(values)
	if two := keys(); !slices.Equal(one, two) || len(one) != maxFields {
		t.Errorf("%d fields, %d fields, or other ones", len(one), len(two))
	}
}
