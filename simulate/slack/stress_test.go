package slack_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"faultline/simulate/slack"
)

// Many investigations at once: nothing is lost, nothing doubled, and all timestamps differ.
func TestManyAtOnce(t *testing.T) {
	const cases, posts = 50, 10
	s, _ := serve(t, nil)
	for range 2 {
		bot := connect(t, s)
		go func() {
			for {
				var e envelope
				if bot.ws.ReadJSON(&e) != nil {
					return
				}
				if bot.ws.WriteJSON(map[string]any{"envelope_id": e.EnvelopeID, "payload": map[string]any{"text": "ok"}}) != nil {
					return
				}
			}
		}()
	}
	var all sync.WaitGroup
	for i := range cases {
		all.Go(func() {
			d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", fmt.Sprint(i))
			if err != nil {
				t.Error(err)
				return
			}
			if ack, err := d.Wait(soon(t)); err != nil || !ack.OK {
				t.Errorf("%+v %v", ack, err)
			}
			head := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": fmt.Sprint("case ", i)}).str("ts")
			for j := range posts {
				must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "thread_ts": head, "text": fmt.Sprint(i, "/", j)})
			}
			if n := len(s.Messages(slack.Training, slack.Bob, head)); n != posts+1 {
				t.Errorf("case %d: %d messages in its thread", i, n)
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for _, m := range s.All(slack.Training) {
		if seen[m.TS] {
			t.Errorf("%s came twice", m.TS)
		}
		seen[m.TS] = true
	}
	if want := cases * (posts + 2); len(seen) != want {
		t.Errorf("%d messages, want %d", len(seen), want)
	}
}

func TestASocketWithoutPings(t *testing.T) {
	s, _ := serve(t, func(o *slack.Options) { o.Faults = []slack.Fault{{Method: "socket", Do: slack.NoPing}} })
	bot := connect(t, s)
	bot.ws.SetPingHandler(func(string) error { t.Error("a ping came"); return nil })
	d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "1")
	if err != nil {
		t.Fatal(err)
	}
	bot.ack(bot.next(), nil) // reading is what lets pings in
	if ack := wait(t, d); !ack.OK {
		t.Errorf("%+v", ack)
	}
}

// The handler needs no Start: whoever listens for it, the addresses it gives out lead back to it.
func TestItWorksBehindAnyListener(t *testing.T) {
	s := slack.New(slack.Options{})
	t.Cleanup(func() { s.Close() })
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	resp, body := post(t, server.URL+"/api/files.getUploadURLExternal", "application/json", slack.BotToken, []byte(`{"filename":"a","length":1}`))
	if a := parse(t, body); resp.StatusCode != http.StatusOK || !strings.HasPrefix(a.str("upload_url"), server.URL+"/") {
		t.Errorf("%v", a)
	}
}
