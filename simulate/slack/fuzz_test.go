package slack_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/simulate/slack"
)

// ask uses the handler without a network.
func ask(s *slack.Server, method, target, kind string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, bytes.NewReader(body))
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Authorization", "Bearer "+slack.BotToken)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// Whatever is asked, the answer is JSON that says "ok" or why not.
func FuzzWebAPI(f *testing.F) {
	var names []string
	for name := range slack.MethodScopes() {
		names = append(names, name)
	}
	slices.Sort(names)
	f.Add(2, "application/json", []byte(`{"channel":"C0TRAINING","text":"x","blocks":[{"type":"section"}],"metadata":{"event_type":1}}`))
	f.Add(3, "application/x-www-form-urlencoded", []byte("channel=C0TRAINING&text=%zz&blocks=%5B%7B%7D%5D"))
	f.Add(19, "application/json", []byte(`{"view":{"type":"modal","blocks":[{"type":"input"}]},"trigger_id":1}`))
	f.Add(12, "multipart/form-data; boundary=x", []byte("--x\r\n\r\n--x--"))
	f.Add(9, "text/plain", []byte(`null`))
	f.Fuzz(func(t *testing.T, which int, kind string, body []byte) {
		s := slack.New(slack.Options{Clock: slack.NewFakeClock(time.Unix(1_800_000_000, 0))})
		name := names[((which%len(names))+len(names))%len(names)]
		w := ask(s, http.MethodPost, "/api/"+name, kind, body)
		var a struct {
			OK    *bool
			Error string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || a.OK == nil || *a.OK == (a.Error != "") || w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		s.Transcript(slack.Training)
	})
}

// Whatever a log says, the page has only the elements that it has anyway.
func FuzzTextIsInert(f *testing.F) {
	for _, seed := range []string{"<!channel> <@U0ALICE001> <script>", "*a _b ~c `d` ~ _ *", "<https://x|\"><img src=x onerror=1>>", "```a", "<javascript:x>",
		"\x00\x1b[31m\u202e", "&lt;b&gt; &amp;lt; %s + 100%", "<<<>>>", "<#C|<b>>", "<!date^1^{date}|x>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.TrimSpace(text) == "" || len(text) > 2000 {
			return
		}
		s := slack.New(slack.Options{Clock: slack.NewFakeClock(time.Unix(1_800_000_000, 0))})
		before := ask(s, http.MethodGet, s.ViewPath("", ""), "", nil).Body.String()
		form := url.Values{"channel": {slack.Training}, "text": {text}}
		if w := ask(s, http.MethodPost, "/api/chat.postMessage", "application/x-www-form-urlencoded", []byte(form.Encode())); !strings.Contains(w.Body.String(), `"ok":true`) {
			t.Fatalf("%s", w.Body)
		}
		after := ask(s, http.MethodGet, s.ViewPath("", ""), "", nil).Body.String()
		for _, mark := range []string{"<script", "<img", "<iframe", "<style", "<form", "<svg"} {
			more := strings.Count(after, mark) - strings.Count(before, mark)
			if more != 0 && (mark != "<svg" || more != 1) { // the bot's picture
				t.Errorf("%q made %d of %s", text, more, mark)
			}
		}
		if strings.Contains(strings.ToLower(after), `href="javascript:`) {
			t.Errorf("%q made a link that runs", text)
		}
		s.Transcript(slack.Training)
	})
}
