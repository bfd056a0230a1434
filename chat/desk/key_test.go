package desk

import (
	"context"
	"strings"
	"testing"

	"faultline/chat"
	"faultline/messages"
	"faultline/workflow"
)

// A button of a case that a restore took away must not act on another one, even where that came to the same id.
func TestAButtonOfALostCaseDoesNothingToAnother(t *testing.T) {
	s := newStage(t)
	s.says("12345")
	s.at("F-1", workflow.Reported)
	s.bare = true
	values := map[string]string{"of the lost case": "F-1/another", "without a key": "F-1", "cut off": "F-1/"}
	for action := range deeds() {
		for what, value := range values {
			for _, rest := range []string{"", " 1"} {
				in := press("U1", action, value+rest)
				in.Message = "17.1"
				if got := s.does(in); !strings.Contains(got, "The case behind this button") {
					t.Errorf("%s %s%s: %q", action, what, rest, got)
				}
			}
		}
	}
	for _, callback := range []string{messages.ViewUpload, messages.ViewDispute, messages.ViewAIS, messages.ViewClose} {
		for what, value := range values {
			in := submission("U1", callback, value+" 1 close", map[string]string{messages.FieldVerdict: messages.VerdictRight})
			if got := s.does(in); !strings.Contains(got, "The case behind this button") {
				t.Errorf("%s %s: %q", callback, what, got)
			}
		}
	}
	s.at("F-1", workflow.Reported)
	if rows, _ := s.store.Find(context.Background(), workflow.Query{}); len(rows) != 1 {
		t.Errorf("%d cases", len(rows))
	}
}

// Buttons that were posted before there were keys go on working where the message is known to be the case's.
func TestAButtonWithoutAKeyWorksUnderItsOwnMessage(t *testing.T) {
	s := newStage(t)
	s.says("12345")
	l := &listener{stage: s}
	l.listen()
	head, err := s.store.Posted(context.Background(), "F-1", workflow.KeyCase)
	if err != nil {
		t.Fatal(err)
	}
	s.bare = true
	in := chat.Inbound{Kind: chat.Click, Channel: "C1", User: "U1", Action: actRerun, Value: "F-1", Message: head.TS, Trigger: "t", Respond: hook}
	if got := s.does(in); !strings.Contains(got, "F-2") {
		t.Errorf("%q", got)
	}
	in.Key, in.Channel = "", "C2"
	if got := s.does(in); !strings.Contains(got, "The case") {
		t.Errorf("in another channel: %q", got)
	}
}

// Every button and every window carries the key.
func TestWhatIsPostedCarriesTheKey(t *testing.T) {
	s := newStage(t)
	s.says("12345")
	s.says("777")
	n := 0
	for _, p := range s.all() {
		inv, err := s.store.Load(context.Background(), p.Investigation)
		if err != nil {
			continue
		}
		text := string(p.Payload)
		for _, part := range strings.Split(text, `"value":"`)[1:] {
			if n++; !strings.HasPrefix(part, inv.ID+"/"+inv.Key) || len(inv.Key) < 16 {
				t.Errorf("%s %s: %.60s", p.Kind, p.Key, part)
			}
		}
	}
	if n == 0 {
		t.Error("there is no button")
	}
}
