package slack_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	"faultline/simulate/slack"
)

// heard is one request that reached the app.
type heard struct {
	path, body string
	header     http.Header
	signed     bool // by the right secret
	age        time.Duration
}

// listen is an app with request URLs; it answers with what next returns.
func listen(t *testing.T, clock *slack.FakeClock, answer http.HandlerFunc) (slack.HTTPTargets, <-chan heard) {
	t.Helper()
	got := make(chan heard, 100)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		stamp := r.Header.Get("X-Slack-Request-Timestamp")
		mac := hmac.New(sha256.New, []byte(slack.SignSecret))
		fmt.Fprintf(mac, "v0:%s:%s", stamp, body)
		at, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			t.Error(err)
		}
		answer(w, r)
		got <- heard{r.URL.Path, string(body), r.Header, "v0="+hex.EncodeToString(mac.Sum(nil)) == r.Header.Get("X-Slack-Signature"),
			clock.Now().Sub(time.Unix(at, 0))}
	}))
	t.Cleanup(app.Close)
	return slack.HTTPTargets{Commands: app.URL + "/commands", Interactivity: app.URL + "/actions", Events: app.URL + "/events"}, got
}

func httpApp(t *testing.T, answer http.HandlerFunc) (*slack.Server, *slack.FakeClock, <-chan heard) {
	t.Helper()
	clock := slack.NewFakeClock(start)
	targets, got := listen(t, clock, answer)
	s, _ := serve(t, func(o *slack.Options) { o.HTTP, o.Clock = targets, clock })
	return s, clock, got
}

func TestHTTPDeliveriesAreSigned(t *testing.T) {
	s, _, got := httpApp(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/commands" {
			fmt.Fprint(w, "on it")
		}
	})
	d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "12345 a=b&100%+")
	if err != nil {
		t.Fatal(err)
	}
	if ack := wait(t, d); !ack.OK {
		t.Errorf("%+v", ack)
	}
	h := <-got
	form, err := url.ParseQuery(h.body)
	if err != nil || h.path != "/commands" || !h.signed || h.age != 0 || form.Get("text") != "12345 a=b&100%+" {
		t.Errorf("%+v", h)
	}
	if m := s.Messages(slack.Training, slack.Alice, ""); len(m) != 1 || m[0].Text != "on it" {
		t.Errorf("%+v", m)
	}
	ts := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "q", "blocks": []any{actions(button("Go", "go", "1"))}}).str("ts")
	if d, err = s.Click(slack.Alice, slack.Training, ts, slack.Action{ActionID: "go"}); err != nil {
		t.Fatal(err)
	}
	wait(t, d)
	h = <-got
	if form, err = url.ParseQuery(h.body); err != nil || h.path != "/actions" || !h.signed || parse(t, []byte(form.Get("payload"))).str("type") != "block_actions" {
		t.Errorf("%+v", h)
	}
}

func TestHTTPEventsAreRetriedWithHeaders(t *testing.T) {
	s, clock, got := httpApp(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	_, d, err := s.Say(slack.Alice, slack.Training, "", "<@"+slack.BotUser+"> hi")
	if err != nil {
		t.Fatal(err)
	}
	lost := func(n int) {
		t.Helper()
		err := s.Until(soon(t), func() bool {
			have := 0
			for _, e := range s.Journal() {
				if e.Kind == "lost" {
					have++
				}
			}
			return have >= n
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for try, pause := range []time.Duration{0, 0, time.Minute, 5 * time.Minute} {
		clock.Advance(pause)
		h := <-got
		want := ""
		if try > 0 {
			want = strconv.Itoa(try)
		}
		if h.header.Get("X-Slack-Retry-Num") != want || (try > 0 && h.header.Get("X-Slack-Retry-Reason") != "http_error") || !h.signed {
			t.Errorf("%d: %v", try, h.header)
		}
		lost(try + 1)
	}
	if ack := wait(t, d); ack.OK || ack.Tries != 4 {
		t.Errorf("%+v", ack)
	}
}

func TestAnAppThatDoesNotAnswerTimesOut(t *testing.T) {
	arrived := make(chan bool, 1)
	s, clock, _ := httpApp(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- true
		<-r.Context().Done()
	})
	d, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "1")
	if err != nil {
		t.Fatal(err)
	}
	<-arrived
	clock.Advance(3 * time.Second)
	if ack := wait(t, d); ack.OK || ack.Error != "operation_timeout" {
		t.Errorf("%+v", ack)
	}
}

func TestAnAppMayRefuseRetries(t *testing.T) {
	s, _, _ := httpApp(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Slack-No-Retry", "1")
		w.WriteHeader(http.StatusInternalServerError)
	})
	_, d, err := s.Say(slack.Alice, slack.Training, "", "<@"+slack.BotUser+"> hi")
	if err != nil {
		t.Fatal(err)
	}
	if ack := wait(t, d); ack.OK || ack.Tries != 1 {
		t.Errorf("%+v", ack)
	}
}

func TestForgedDeliveries(t *testing.T) {
	for _, c := range []struct {
		do     string
		signed bool
		age    time.Duration
		times  int
	}{
		{slack.BadSignature, false, 0, 1},
		{slack.StaleSignature, true, 6 * time.Minute, 1},
		{slack.Replay, true, 0, 2},
	} {
		t.Run(c.do, func(t *testing.T) {
			s, _, got := httpApp(t, func(http.ResponseWriter, *http.Request) {})
			s.AddFault(slack.Fault{Method: "deliver", Do: c.do})
			if _, err := s.Slash(slack.Alice, slack.Training, "/diagnose", "1"); err != nil {
				t.Fatal(err)
			}
			first := <-got
			if first.signed != c.signed || first.age != c.age {
				t.Errorf("%+v", first)
			}
			if c.times == 2 {
				if again := <-got; again.body != first.body || again.header.Get("X-Slack-Signature") != first.header.Get("X-Slack-Signature") {
					t.Errorf("%+v", again)
				}
			}
		})
	}
}

func TestTheChallengeMustComeBack(t *testing.T) {
	s, _, _ := httpApp(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	if err := s.VerifyURL(soon(t)); err == nil {
		t.Error("an app that does not know the challenge was accepted")
	}
}
