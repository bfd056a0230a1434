package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"faultline/messages/blockkit"
	"faultline/workflow"
)

// Whatever stands in the outbox, there is something that Slack takes, and it keeps its name and its remarks.
func FuzzForms(f *testing.F) {
	f.Add(says("hello"), true)
	f.Add([]byte(`{"text":"a","blocks":[]}`), false)
	f.Add([]byte(`{"text":" \n","blocks":null,"metadata":{"event_type":"x","event_payload":{"a":{"b":{"c":1}}}}}`), true)
	f.Add([]byte(`{"text":7}`), false)
	f.Add([]byte(`{"text":"<!channel> `+strings.Repeat("x", 9000)+`","blocks":[{"type":"header","text":{"type":"plain_text","text":"`+strings.Repeat("y", 300)+`"}}]}`), true)
	f.Add([]byte(`[1`), false)
	f.Add([]byte(``), true)
	metrics := NewMetrics(nil)
	f.Fuzz(func(t *testing.T, payload []byte, marked bool) {
		forms := &forms{post: workflow.Post{ID: 7, Investigation: "F-1", Key: "k", Marked: marked}, raw: payload}
		n := 0
		for {
			c, ok := forms.next(metrics)
			if !ok {
				break
			}
			n++
			if problems := blockkit.ValidateMessage(c.raw()); len(problems) > 0 {
				t.Fatalf("not valid: %v", problems)
			}
			var meta struct {
				Payload struct {
					Key string `json:"msg_key"`
				} `json:"event_payload"`
			}
			if err := json.Unmarshal(c.metadata, &meta); err != nil || meta.Payload.Key != "F-1/k" {
				t.Fatalf("the message is not named: %s", c.metadata)
			}
			if marked && (!strings.Contains(c.text, repeated) || (c.blocks != nil && !strings.Contains(string(c.blocks), "Sent again"))) {
				t.Fatalf("a repetition does not say that it is one: %q %s", c.text, c.blocks)
			}
		}
		if n == 0 {
			t.Fatal("there is no form that Slack would take")
		}
	})
}

func TestMessagesWithoutAnInvestigationHaveNamesToo(t *testing.T) {
	a, b := msgKey(workflow.Post{ID: 1}), msgKey(workflow.Post{ID: 2, Key: "x"})
	if a == b || a == "" || b == "" {
		t.Errorf("%q and %q", a, b)
	}
}
