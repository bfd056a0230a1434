package slack_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"faultline/simulate/slack"
)

func TestASlashCommandTravels(t *testing.T) {
	s, _ := serve(t, nil)
	bot := connect(t, s)
	d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "12345 100%+")
	if err != nil {
		t.Fatal(err)
	}
	e := bot.next()
	p := parse(t, e.Payload)
	if e.Type != "slash_commands" || !e.Accepts || p.str("text") != "12345 100%+" || p.str("user_id") != slack.Alice ||
		p.str("channel_name") != "training" || p.str("trigger_id") == "" {
		t.Errorf("%+v %v", e, p)
	}
	bot.ack(e, map[string]any{"text": "on it"})
	if ack := wait(t, d); !ack.OK {
		t.Errorf("%+v", ack)
	}
	if m := s.Messages(slack.Training, slack.Alice, ""); len(m) != 1 || m[0].Text != "on it" || m[0].VisibleTo != slack.Alice {
		t.Errorf("%+v", m)
	}
}

func TestWhoDoesNotAckInTimeIsReported(t *testing.T) {
	s, clock := serve(t, nil)
	d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "1")
	if err != nil {
		t.Fatal(err)
	}
	if ack := wait(t, d); ack.Error != "dispatch_failed" {
		t.Errorf("nobody connected: %+v", ack)
	}
	bot := connect(t, s)
	if d, err = s.Slash(slack.Alice, slack.Training, "/diagnose", "2"); err != nil {
		t.Fatal(err)
	}
	e := bot.next()
	clock.Advance(3 * time.Second)
	if ack := wait(t, d); ack.OK || ack.Error != "operation_timeout" || ack.Tries != 1 {
		t.Errorf("%+v", ack)
	}
	bot.ack(e, map[string]any{"text": "too late"})
	d, err = s.Slash(slack.Alice, slack.Training, "/diagnose", "3")
	if err != nil {
		t.Fatal(err)
	}
	bot.ack(bot.next(), nil)
	wait(t, d) // the late acknowledgement has been read before this one
	got := strings.Join(texts(s.Messages(slack.Training, slack.Alice, "")), "\n")
	want := "/diagnose failed with the error \"dispatch_failed\"\n/diagnose failed with the error \"operation_timeout\""
	if got != want {
		t.Errorf("Alice reads:\n%s", got)
	}
}

func TestEventsAreRetriedAtOnceAfterOneAndAfterFiveMinutes(t *testing.T) {
	s, clock := serve(t, nil)
	bot := connect(t, s)
	_, d, err := s.Say(slack.Alice, slack.Training, "", "<@"+slack.BotUser+"> why?")
	if err != nil || d == nil {
		t.Fatal(err)
	}
	id := ""
	for try, pause := range []time.Duration{0, 0, time.Minute, 5 * time.Minute} {
		clock.Advance(pause)
		e := bot.next()
		p := parse(t, e.Payload)
		if e.Type != "events_api" || e.RetryAttempt != try || p.str("event.type") != "app_mention" || (id != "" && p.str("event_id") != id) {
			t.Fatalf("try %d: %+v", try, e)
		}
		if try > 0 && e.RetryReason != "timeout" {
			t.Errorf("try %d: reason %q", try, e.RetryReason)
		}
		id = p.str("event_id")
		clock.Advance(3 * time.Second)
	}
	if ack := wait(t, d); ack.OK || ack.Tries != 4 {
		t.Errorf("%+v", ack)
	}
}

func TestClicksCarryTheMessage(t *testing.T) {
	s, _ := serve(t, nil)
	bot := connect(t, s)
	head := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "case"}).str("ts")
	ts := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "thread_ts": head, "text": "question",
		"blocks": []any{section("AIS?"), actions(button("Provide", "ais", "give"), button("Skip", "skip", "no"))}}).str("ts")
	if _, err := s.Click(slack.Bob, slack.Training, ts, slack.Action{ActionID: "nothing"}); err == nil || !strings.Contains(err.Error(), "Provide") {
		t.Errorf("a button that is not there: %v", err)
	}
	d, err := s.Click(slack.Bob, slack.Training, ts, slack.Action{ActionID: "skip"})
	if err != nil {
		t.Fatal(err)
	}
	e := bot.next()
	p := parse(t, e.Payload)
	bot.ack(e, nil)
	action := answer(p["actions"].([]any)[0].(map[string]any))
	if e.Type != "interactive" || p.str("type") != "block_actions" || action.str("value") != "no" || action.str("block_id") == "" ||
		p.str("container.message_ts") != ts || p.str("container.thread_ts") != head || p.str("message.thread_ts") != head ||
		p.str("user.id") != slack.Bob || p.str("channel.id") != slack.Training {
		t.Errorf("%s", e.Payload)
	}
	if ack := wait(t, d); !ack.OK {
		t.Errorf("%+v", ack)
	}
}

func TestEnvelopesTakeTheSocketsInTurn(t *testing.T) {
	s, _ := serve(t, nil)
	first, second := connect(t, s), connect(t, s)
	for i := range 4 {
		d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		bot := []*app{second, first}[i%2]
		bot.ack(bot.next(), nil)
		if ack := wait(t, d); !ack.OK {
			t.Fatalf("%d: %+v", i, ack)
		}
	}
}

func TestAnAckMayComeOverAnotherSocket(t *testing.T) {
	s, _ := serve(t, nil)
	first, second := connect(t, s), connect(t, s)
	d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "1")
	if err != nil {
		t.Fatal(err)
	}
	first.ack(second.next(), nil)
	if ack := wait(t, d); !ack.OK {
		t.Errorf("%+v", ack)
	}
}

func TestTheEleventhSocketIsRefused(t *testing.T) {
	s, _ := serve(t, nil)
	for n := range 10 {
		a := dial(t, s)
		if e := a.next(); e.Type != "hello" || e.NumConnections != n+1 || e.DebugInfo["approximate_connection_time"] == nil {
			t.Fatalf("%d: %+v", n, e)
		}
	}
	eleventh := dial(t, s)
	if e := eleventh.next(); e.Type != "disconnect" || e.Reason != slack.TooManyWebsockets {
		t.Errorf("%+v", e)
	}
	if code := eleventh.closed(); code != websocket.CloseNormalClosure {
		t.Errorf("closed with %d", code)
	}
}

func TestDisconnects(t *testing.T) {
	for _, c := range []struct {
		name   string
		say    slack.Disconnect
		closes bool
		uses   bool // whether envelopes still come
	}{
		{"refresh closes the socket", slack.Disconnect{}, true, false},
		{"refresh may leave the connection open", slack.Disconnect{Leave: true}, false, false},
		{"a warning changes nothing yet", slack.Disconnect{Reason: slack.Warning}, false, true},
		{"socket mode switched off", slack.Disconnect{Reason: slack.LinkDisabled}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := serve(t, nil)
			bot := connect(t, s)
			if n := s.Disconnect(c.say); n != 1 {
				t.Fatalf("%d told", n)
			}
			if e := bot.next(); e.Type != "disconnect" || (c.say.Reason != "" && e.Reason != c.say.Reason) {
				t.Errorf("%+v", e)
			}
			if c.closes {
				if code := bot.closed(); code != websocket.CloseNormalClosure {
					t.Errorf("closed with %d", code)
				}
				if err := s.Until(soon(t), func() bool { return s.Sockets() == 0 }); err != nil {
					t.Error(err)
				}
				return
			}
			d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "1")
			if err != nil {
				t.Fatal(err)
			}
			if c.uses {
				bot.ack(bot.next(), nil)
			}
			if ack := wait(t, d); ack.OK != c.uses {
				t.Errorf("%+v", ack)
			}
		})
	}
}

func TestLargeAcksDisappear(t *testing.T) {
	s, clock := serve(t, nil)
	bot := connect(t, s)
	d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "1")
	if err != nil {
		t.Fatal(err)
	}
	bot.ack(bot.next(), map[string]any{"text": strings.Repeat("x", 20_480)})
	if err := s.Until(soon(t), func() bool { return journalHas(s, "dropped") }); err != nil {
		t.Fatal(err)
	}
	clock.Advance(3 * time.Second)
	if ack := wait(t, d); ack.OK {
		t.Errorf("%+v", ack)
	}
}

func journalHas(s *slack.Server, text string) bool {
	for _, e := range s.Journal() {
		if strings.Contains(e.Error, text) {
			return true
		}
	}
	return false
}

func TestATicketOpensOneSocket(t *testing.T) {
	s, _ := serve(t, nil)
	_, body := post(t, s.URL()+"/api/apps.connections.open", "", slack.AppToken, nil)
	link := parse(t, body).str("url")
	ws, resp, err := websocket.DefaultDialer.DialContext(soon(t), link, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	defer ws.Close()
	_, resp, err = websocket.DefaultDialer.DialContext(soon(t), link, nil)
	if err == nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("a used ticket: %v", err)
	}
	resp.Body.Close()
}

func TestPingsAreRealFrames(t *testing.T) {
	s, _ := serve(t, func(o *slack.Options) { o.PingEvery = time.Millisecond })
	bot := connect(t, s)
	pings := 0
	bot.ws.SetPingHandler(func(string) error {
		pings++
		if pings == 3 {
			return fmt.Errorf("enough")
		}
		return nil
	})
	bot.closed()
	if pings != 3 {
		t.Errorf("%d pings", pings)
	}
}

func TestTheAckMustBeSound(t *testing.T) {
	s, _ := serve(t, nil)
	bot := connect(t, s)
	d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "1")
	if err != nil {
		t.Fatal(err)
	}
	bot.ack(bot.next(), map[string]any{"blocks": []any{section(strings.Repeat("x", 3001))}})
	if ack := wait(t, d); !ack.OK || !strings.Contains(ack.Error, "invalid_blocks") {
		t.Errorf("%+v", ack)
	}
}

func modal() map[string]any {
	plain := func(s string) map[string]any { return map[string]any{"type": "plain_text", "text": s} }
	option := func(v string) map[string]any { return map[string]any{"text": plain("Option " + v), "value": v} }
	input := func(id, label string, optional bool, element map[string]any) map[string]any {
		return map[string]any{"type": "input", "block_id": id, "label": plain(label), "optional": optional, "element": element}
	}
	return map[string]any{"type": "modal", "callback_id": "creds", "title": plain("AIS access"), "submit": plain("Send"),
		"close": plain("Back"), "private_metadata": "inv-1", "notify_on_close": true,
		"blocks": []any{
			section("Why we ask"),
			input("url", "Address", false, map[string]any{"type": "url_text_input", "action_id": "url_a"}),
			input("token", "Token", true, map[string]any{"type": "plain_text_input", "action_id": "token_a", "max_length": 10}),
			input("tls", "TLS", false, map[string]any{"type": "radio_buttons", "action_id": "tls_a", "options": []any{option("verify"), option("skip")}, "initial_option": option("verify")}),
			input("pick", "Cluster", true, map[string]any{"type": "static_select", "action_id": "pick_a", "options": []any{option("a"), option("b")}}),
			input("flags", "Flags", true, map[string]any{"type": "checkboxes", "action_id": "flags_a", "options": []any{option("x"), option("y")}}),
			input("logs", "Logs", true, map[string]any{"type": "file_input", "action_id": "logs_a", "max_files": 3}),
		}}
}
