package slack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"faultline/simulate/slack"
)

// hook sends a JSON body to a response_url and returns status and error.
func hook(t *testing.T, link string, body map[string]any) (int, string) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, out := post(t, link, "application/json", "", raw)
	return resp.StatusCode, parse(t, out).str("error")
}

func commandHook(t *testing.T, s *slack.Server, bot *app) string {
	t.Helper()
	d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "1")
	if err != nil {
		t.Fatal(err)
	}
	e := bot.next()
	bot.ack(e, nil)
	wait(t, d)
	return parse(t, e.Payload).str("response_url")
}

func TestAResponseURLWorksFiveTimes(t *testing.T) {
	s, _ := serve(t, nil)
	link := commandHook(t, s, connect(t, s))
	for i := range 6 {
		status, e := hook(t, link, map[string]any{"text": fmt.Sprint(i)})
		if i < 5 && status != http.StatusOK || i == 5 && (status != http.StatusNotFound || e != "used_url") {
			t.Errorf("%d: %d %s", i, status, e)
		}
	}
	if n := len(s.Messages(slack.Training, slack.Alice, "")); n != 5 {
		t.Errorf("%d messages", n)
	}
	if n := len(s.Messages(slack.Training, slack.Bob, "")); n != 0 {
		t.Errorf("Bob sees %d", n)
	}
}

func TestAResponseURLWorksHalfAnHour(t *testing.T) {
	s, clock := serve(t, nil)
	link := commandHook(t, s, connect(t, s))
	clock.Advance(30 * time.Minute)
	if status, e := hook(t, link, map[string]any{"text": "in time", "response_type": "in_channel"}); status != http.StatusOK {
		t.Errorf("%d %s", status, e)
	}
	clock.Advance(time.Second)
	if status, e := hook(t, link, map[string]any{"text": "late"}); status != http.StatusNotFound || e != "expired_url" {
		t.Errorf("%d %s", status, e)
	}
	if got := texts(s.Messages(slack.Training, slack.Bob, "")); !slices.Equal(got, []string{"in time"}) {
		t.Errorf("%v", got)
	}
}

func TestTheOriginalCanBeReplacedAndDeleted(t *testing.T) {
	s, _ := serve(t, nil)
	bot := connect(t, s)
	ts := must(t, s, "chat.postEphemeral", map[string]any{"channel": slack.Training, "user": slack.Alice, "text": "sure?",
		"blocks": []any{section("sure?"), actions(button("Yes", "yes", "1"))}}).str("message_ts")
	if _, err := s.Click(slack.Bob, slack.Training, ts, slack.Action{ActionID: "yes"}); err == nil {
		t.Error("Bob clicked on what only Alice sees")
	}
	d, err := s.Click(slack.Alice, slack.Training, ts, slack.Action{ActionID: "yes"})
	if err != nil {
		t.Fatal(err)
	}
	e := bot.next()
	bot.ack(e, nil)
	wait(t, d)
	link := parse(t, e.Payload).str("response_url")
	if status, e := hook(t, link, map[string]any{"text": "done", "replace_original": true}); status != http.StatusOK {
		t.Errorf("%d %s", status, e)
	}
	if list := s.Messages(slack.Training, slack.Alice, ""); len(list) != 1 || list[0].Text != "done" || list[0].Blocks != nil {
		t.Errorf("%+v", list)
	}
	if status, e := hook(t, link, map[string]any{"delete_original": true}); status != http.StatusOK {
		t.Errorf("%d %s", status, e)
	}
	if list := s.Messages(slack.Training, slack.Alice, ""); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}
