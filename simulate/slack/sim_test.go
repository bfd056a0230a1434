package slack_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"faultline/simulate/slack"
)

// sim uses the driver over HTTP.
func sim(t *testing.T, s *slack.Server, path string, body map[string]any) (int, answer) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, out := post(t, s.URL()+"/sim/"+path, "application/json", "", raw)
	return resp.StatusCode, parse(t, out)
}

func TestTheDriverWorksOverHTTP(t *testing.T) {
	s, _ := serve(t, nil)
	bot := connect(t, s)
	go func() {
		e := bot.next()
		bot.ack(e, map[string]any{"text": "on it"})
	}()
	status, a := sim(t, s, "slash", map[string]any{"user": slack.Alice, "channel": slack.Training, "command": "/diagnose", "text": "1"})
	if status != http.StatusOK || a.at("ack.ok") != true {
		t.Fatalf("%d %v", status, a)
	}
	_, body := get(t, s.URL()+"/sim/messages?channel="+slack.Training+"&user="+slack.Alice, "")
	if list, _ := parse(t, body)["messages"].([]any); len(list) != 1 || answer(list[0].(map[string]any)).str("plain") != "on it" {
		t.Errorf("%s", body)
	}
	for name, c := range map[string]struct {
		path string
		body map[string]any
		want string
	}{
		"no such command": {"slash", map[string]any{"user": slack.Alice, "channel": slack.Training, "command": "/dance"}, "no app has the command"},
		"not a member":    {"say", map[string]any{"user": slack.Mallory, "channel": slack.Training, "text": "hi"}, "is not in #training"},
		"no modal":        {"view/submit", map[string]any{"user": slack.Bob}, "no open modal"},
		"a wrong field":   {"say", map[string]any{"usr": slack.Bob}, "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, a := sim(t, s, c.path, c.body); status < 400 || !strings.Contains(a.str("error"), c.want) {
				t.Errorf("%d %v", status, a)
			}
		})
	}
}

func TestPagesOfOthersMayNotDrive(t *testing.T) {
	s, _ := serve(t, nil)
	for _, path := range []string{"say", "upload"} {
		req, err := http.NewRequestWithContext(soon(t), http.MethodPost, s.URL()+"/sim/"+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", "https://elsewhere.example")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

func TestChangesAreTold(t *testing.T) {
	s, _ := serve(t, nil)
	req, err := http.NewRequestWithContext(soon(t), http.MethodGet, s.URL()+"/sim/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	next := func() {
		for lines.Scan() {
			if lines.Text() == "data: changed" {
				return
			}
		}
		t.Fatal("the stream ended")
	}
	next()
	must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "x"})
	next()
}

func TestItListensOnLoopbackOnly(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "example.com:80"} {
		if _, err := slack.New(slack.Options{}).Start(addr); err == nil {
			t.Errorf("it listens on %s", addr)
		}
	}
}

func TestWaitingOverHTTP(t *testing.T) {
	s, _ := serve(t, nil)
	done := make(chan answer, 1)
	go func() {
		_, body := get(t, s.URL()+"/sim/wait?channel="+slack.Training+"&user="+slack.Alice+"&text=needle", "")
		done <- parse(t, body)
	}()
	must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "hay"})
	ts := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "a needle"}).str("ts")
	if a := <-done; a.str("result") != ts {
		t.Errorf("%v", a)
	}
	if resp, _ := get(t, s.URL()+"/sim/wait?channel="+slack.Training+"&user="+slack.Alice+"&text=nothing&seconds=0", ""); resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("%d", resp.StatusCode)
	}
}

func TestNamesThatPointHereAreRefused(t *testing.T) {
	s, _ := serve(t, nil)
	req, err := http.NewRequestWithContext(soon(t), http.MethodPost, s.URL()+"/sim/cut", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	req.Header.Set("Origin", "http://evil.example")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("%d", resp.StatusCode)
	}
}

func TestTheBotCanBeInvited(t *testing.T) {
	s, _ := serve(t, nil)
	say := func() string {
		return call(t, s, "chat.postMessage", map[string]any{"channel": slack.Outside, "text": "x"}).str("error")
	}
	if e := say(); e != "not_in_channel" {
		t.Fatal(e)
	}
	if d, err := s.Slash(slack.Alice, slack.Outside, "/invite", "@Faultline"); err != nil || d != nil {
		t.Fatal(err)
	}
	if e := say(); e != "" {
		t.Error(e)
	}
	if err := s.Kick(slack.Outside, slack.BotUser); err != nil {
		t.Fatal(err)
	}
	if e := say(); e != "not_in_channel" {
		t.Error(e)
	}
}
