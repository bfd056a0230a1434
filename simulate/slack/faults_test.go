package slack_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"faultline/simulate/slack"
)

func say(t *testing.T, s *slack.Server, channel string) response {
	t.Helper()
	resp, _ := post(t, s.URL()+"/api/chat.postMessage", "application/json", slack.BotToken, []byte(`{"channel":"`+channel+`","text":"x"}`))
	return resp
}

func TestFaultsHitTheCallsTheyName(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  slack.Fault
		status []int // of three calls
		posted int
	}{
		{"429 once", slack.Fault{Method: "chat.postMessage", Do: slack.RateLimit, RetryAfter: 7}, []int{429, 200, 200}, 2},
		{"the second call", slack.Fault{Method: "chat.postMessage", Do: slack.FailBefore, Skip: 1, Status: 503}, []int{200, 503, 200}, 2},
		{"all calls", slack.Fault{Method: "*", Do: slack.FailBefore, Times: -1}, []int{500, 500, 500}, 0},
		{"accepted, but the answer is an error", slack.Fault{Method: "chat.postMessage", Do: slack.FailAfter, Times: 2}, []int{500, 500, 200}, 3},
		{"refused", slack.Fault{Method: "chat.postMessage", Do: slack.Refuse, Error: "internal_error", Times: -1}, []int{200, 200, 200}, 0},
		{"another method", slack.Fault{Method: "chat.update", Do: slack.FailBefore}, []int{200, 200, 200}, 3},
		{"another channel", slack.Fault{Method: "chat.postMessage", Channel: slack.Shared, Do: slack.FailBefore}, []int{200, 200, 200}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := serve(t, func(o *slack.Options) { o.Faults = []slack.Fault{c.fault} })
			for i, want := range c.status {
				resp := say(t, s, slack.Training)
				if resp.StatusCode != want {
					t.Errorf("call %d: %d, want %d", i, resp.StatusCode, want)
				}
				if want == 429 && resp.Header.Get("Retry-After") != "7" {
					t.Errorf("Retry-After: %q", resp.Header.Get("Retry-After"))
				}
			}
			if n := len(s.All(slack.Training)); n != c.posted {
				t.Errorf("%d messages, want %d", n, c.posted)
			}
		})
	}
}

func TestASlowAnswerWaitsForTheClock(t *testing.T) {
	s, clock := serve(t, nil)
	s.AddFault(slack.Fault{Method: "auth.test", Do: slack.Slow, Delay: 4 * time.Second})
	done := make(chan int, 1)
	go func() {
		resp, err := http.Post(s.URL()+"/api/auth.test?token="+slack.BotToken, "", nil)
		if err != nil {
			done <- 0
			return
		}
		resp.Body.Close()
		done <- resp.StatusCode
	}()
	for {
		clock.Advance(time.Second)
		select {
		case status := <-done:
			if status != http.StatusOK {
				t.Errorf("status %d", status)
			}
			if clock.Now().Sub(start) < 4*time.Second {
				t.Error("it was not slow")
			}
			return
		default:
		}
	}
}

func TestSocketFaults(t *testing.T) {
	slash := func(t *testing.T, s *slack.Server) *slack.Delivery {
		t.Helper()
		d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "1")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Run("a dropped ack counts as none", func(t *testing.T) {
		s, clock := serve(t, nil)
		bot := connect(t, s)
		s.AddFault(slack.Fault{Method: "ack", Do: slack.DropAck})
		_, d, err := s.Say(slack.Alice, slack.Training, "", "<@"+slack.BotUser+"> hi")
		if err != nil {
			t.Fatal(err)
		}
		bot.ack(bot.next(), nil)
		if err := s.Until(soon(t), func() bool { return journalHas(s, slack.DropAck) }); err != nil {
			t.Fatal(err)
		}
		clock.Advance(3 * time.Second)
		bot.ack(bot.next(), nil)
		if ack := wait(t, d); !ack.OK || ack.Tries != 2 {
			t.Errorf("%+v", ack)
		}
	})
	t.Run("a cut socket", func(t *testing.T) {
		s, _ := serve(t, nil)
		bot := connect(t, s)
		s.AddFault(slack.Fault{Method: "deliver", Do: slack.Cut})
		slash(t, s)
		if code := bot.closed(); code != websocket.CloseAbnormalClosure {
			t.Errorf("closed with %d", code)
		}
	})
	t.Run("a socket cut inside a frame", func(t *testing.T) {
		s, _ := serve(t, nil)
		bot := connect(t, s)
		s.AddFault(slack.Fault{Method: "deliver", Do: slack.CutMidFrame})
		slash(t, s)
		_, _, err := bot.ws.ReadMessage()
		if err == nil {
			t.Error("a whole frame came")
		}
	})
	t.Run("a deaf socket keeps its pings", func(t *testing.T) {
		s, clock := serve(t, func(o *slack.Options) { o.PingEvery = time.Millisecond })
		s.AddFault(slack.Fault{Method: "socket", Do: slack.Deaf})
		bot := connect(t, s)
		d := slash(t, s)
		pings := make(chan bool, 1000)
		bot.ws.SetPingHandler(func(string) error { pings <- true; return nil })
		go bot.closed()
		<-pings
		clock.Advance(3 * time.Second)
		if ack := wait(t, d); ack.OK || ack.Error != "operation_timeout" {
			t.Errorf("%+v", ack)
		}
		<-pings
	})
	t.Run("the same envelope twice", func(t *testing.T) {
		s, _ := serve(t, nil)
		bot := connect(t, s)
		s.AddFault(slack.Fault{Method: "deliver", Do: slack.Twice})
		slash(t, s)
		if a, b := bot.next(), bot.next(); a.EnvelopeID != b.EnvelopeID {
			t.Errorf("%+v %+v", a, b)
		}
	})
}

func TestSharesMayBeLate(t *testing.T) {
	s, _ := serve(t, nil)
	id, link := announce(t, s, "a.txt", 3)
	post(t, link, "text/plain", "", []byte("abc"))
	must(t, s, "files.completeUploadExternal", map[string]any{"channel_id": slack.Training, "files": []any{map[string]any{"id": id}}})
	s.AddFault(slack.Fault{Method: "files.info", Do: slack.HideShares})
	if a := must(t, s, "files.info", map[string]any{"file": id}); a.at("file.shares.public") != nil {
		t.Errorf("%v", a)
	}
	if a := must(t, s, "files.info", map[string]any{"file": id}); a.at("file.shares.public") == nil {
		t.Errorf("%v", a)
	}
}

func TestARevokedTokenEndsTheSockets(t *testing.T) {
	s, _ := serve(t, nil)
	bot := connect(t, s)
	s.Revoke(slack.AppToken)
	bot.closed()
	_, body := post(t, s.URL()+"/api/apps.connections.open", "", slack.AppToken, nil)
	if a := parse(t, body); a.str("error") != "token_revoked" {
		t.Errorf("%v", a)
	}
}

func TestRateLimitsArePerMethodAndChannel(t *testing.T) {
	s, clock := serve(t, func(o *slack.Options) { o.RateLimits = true })
	burst := 0
	for say(t, s, slack.Training).StatusCode == http.StatusOK {
		burst++
	}
	if burst < 2 || burst > 10 {
		t.Errorf("a burst of %d", burst)
	}
	if resp := say(t, s, slack.Shared); resp.StatusCode != http.StatusOK {
		t.Errorf("another channel: %d", resp.StatusCode)
	}
	resp := say(t, s, slack.Training)
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("%d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	clock.Advance(time.Second)
	if resp := say(t, s, slack.Training); resp.StatusCode != http.StatusOK {
		t.Errorf("after a second: %d", resp.StatusCode)
	}
	ok := 0
	for range 200 {
		if resp, _ := post(t, s.URL()+"/api/users.info", "application/json", slack.BotToken, []byte(`{"user":"`+slack.Bob+`"}`)); resp.StatusCode == http.StatusOK {
			ok++
		}
	}
	if ok != 100 {
		t.Errorf("%d calls of a tier 4 method in one minute", ok)
	}
}

func TestTheJournalHoldsEverything(t *testing.T) {
	var lines strings.Builder
	s, _ := serve(t, func(o *slack.Options) { o.Journal = &lines })
	bot := connect(t, s)
	must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "needle"})
	d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "1")
	if err != nil {
		t.Fatal(err)
	}
	bot.ack(bot.next(), map[string]any{"text": "thread"})
	wait(t, d)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(lines.String()), "\n") {
		var e slack.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		kinds[e.Dir+" "+e.Kind] = true
		if e.Method == "chat.postMessage" && (e.Token != "bot" || e.Channel != slack.Training || !strings.Contains(e.Body, "needle") || !strings.Contains(e.Response, `"ok":true`)) {
			t.Errorf("%+v", e)
		}
	}
	for _, want := range []string{"in api", "out frame", "in frame", "user user"} {
		if !kinds[want] {
			t.Errorf("no entry %q in %v", want, kinds)
		}
	}
}
