package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"faultline/simulate/slack"
)

// hostile are texts that a log may hold, each made to break something. Every one says MARK-n, so that it can be found again.
var hostile = []string{
	"MARK-0 <!channel> <!here> <!everyone> <!subteam^S0ONCALL01>",
	"MARK-1 <@" + slack.Bob + "> <@" + slack.Mallory + "|bob> @channel @here",
	"MARK-2 ``` `rm -rf /` ``` *bold* _it_ ~no~ > quote",
	"MARK-3 \u202eevil\u202c \u2066x\u2069 \u200f\u200b\ufeff",
	"MARK-4 \x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x1b]8;;\x07 \x1b[2J",
	"MARK-5 100%s %d %n 50% a+b+c %2B %00 &amp; &lt;",
	"MARK-6 a\x00b\x01\x7f\xff\xfe\xc3",
	"MARK-7 <script>alert(1)</script><img src=x onerror=alert(1)> </textarea> javascript:alert(1)",
	"MARK-8 <http://evil.example|https://slack.com/login> http://evil.example/?x=1&y=2 mailto:a@evil.example",
	"MARK-9 " + strings.Repeat("long ", 1<<18),
	"MARK-10 \\u003c!channel\\u003e \\n \" ' }{ ]] {{.}} ${HOME} $(reboot)",
	"MARK-11 :fire: :+1: <#C0TRAINING> <!date^1^{date}|x> &lt;!channel&gt;",
}

func TestHostileTextOfLogsIsInert(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	const ranks = 1 // the thread quotes the line of the cause, and little else
	jobs, channels := 0, []string{slack.Training, slack.Private}
	ask := func(messages ...string) {
		job := fmt.Sprint(81000 + jobs)
		w.crash(job, messages...)
		// Names of files are as hostile as what is in them.
		bad := filepath.Join(w.roots, job, "<!channel>`*<@"+slack.Bob+">\u202e%s+\x1b[31m-0.log")
		if err := os.Rename(filepath.Join(w.roots, job, "rank_0.log"), bad); err != nil {
			t.Fatal(err)
		}
		w.slash(slack.Alice, channels[jobs%len(channels)], job)
		jobs++
	}
	for i := 0; i < len(hostile); i += ranks {
		ask(hostile[i : i+ranks]...)
	}
	w.await("all final verdicts", func() bool { return len(w.reports()) == jobs })
	shown := ""
	for _, c := range channels {
		w.inert(c)
		shown += w.slack.Transcript(c)
	}
	for i := range hostile {
		if !strings.Contains(shown, fmt.Sprintf("MARK-%d ", i)) {
			t.Errorf("MARK-%d was not shown: it proves nothing", i)
		}
	}
	if n := w.calls(slack.Alice); n != jobs {
		t.Errorf("the requester of %d cases was called %d times", jobs, n)
	}
	for _, id := range []string{slack.Bob, slack.Mallory, slack.OnCall} {
		if n := w.calls(id); n > 0 {
			t.Errorf("%s was called %d times", id, n)
		}
	}
	for _, r := range w.reports() {
		var report map[string]any
		if err := json.Unmarshal(r.Content(), &report); err != nil {
			t.Errorf("a report is no JSON: %v", err)
		}
	}
}

func TestHostileTextOfPeopleIsInert(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	var short []string
	for i, text := range hostile {
		_, text, _ = strings.Cut(text[:min(len(text), 3000)], " ")
		if len(text) < 1000 {
			short = append(short, text)
		}
		before := len(ephemerals(w, slack.Alice))
		w.slash(slack.Alice, slack.Training, text)
		answer(w, slack.Alice, before, fmt.Sprintf("an answer to %d", i))
	}
	job, _ := w.job(oom(), nil)
	w.slash(slack.Alice, slack.Training, job)
	w.click(slack.Bob, w.verdict(slack.Alice, slack.Training), "This is wrong")
	w.submit(slack.Bob, w.window(slack.Bob, "actual"), map[string]any{"cause": "other", "text": strings.Join(short, "\n")})
	w.message(slack.Alice, slack.Training, "disputes this verdict", "rm -rf")
	w.click(slack.Alice, w.message(slack.Alice, slack.Training, "Withdraw the dispute"), "Close")
	w.submit(slack.Alice, w.window(slack.Alice, "fix"), map[string]any{"verdict": "wrong", "cause": "other", "fix": strings.Join(short, " ")})
	w.message(slack.Alice, slack.Training, "Closed by", "rm -rf")
	w.quietNow(slack.Training)
	w.inert(slack.Training, "@Bob Tanaka")
}

// reports are the JSON reports that were posted.
func (w *world) reports() []slack.File {
	var out []slack.File
	for _, f := range w.slack.Files() {
		if f.Name == "report.json" {
			out = append(out, f)
		}
	}
	return out
}

// inert checks that nothing which the bot posted in a channel calls anybody but the requester and who else took part, looks like a control
// character, was refused, or is more than text in a browser.
func (w *world) inert(channel string, others ...string) {
	w.t.Helper()
	for _, m := range w.slack.All(channel) {
		if m.User != slack.BotUser {
			continue
		}
		for _, name := range w.slack.Notifies(m) {
			if name != "@Alice Meyer" && !slices.Contains(others, name) {
				w.t.Errorf("%q is called by: %.300s", name, m.Text)
			}
		}
		if i := strings.IndexFunc(m.Text+plainBlocks(m.Blocks), unfit); i >= 0 {
			w.t.Errorf("a control character at %d of: %.300q", i, m.Text+plainBlocks(m.Blocks))
		}
	}
	for _, e := range w.slack.Journal() {
		if e.Dir != "in" {
			continue
		}
		if e.Error != "" || strings.Contains(e.Response, `"ok":false`) {
			w.t.Errorf("%s was refused: %s %s\n%.2000s", e.Method, e.Error, e.Response, e.Body)
		}
	}
	if i := strings.IndexFunc(w.slack.Transcript(channel), unfit); i >= 0 {
		w.t.Error("the transcript holds a control character")
	}
	threads := []string{""}
	for _, m := range w.slack.All(channel) {
		if m.ReplyCount > 0 {
			threads = append(threads, m.TS)
		}
	}
	for _, ts := range threads {
		page := w.page(w.slack.ViewPath(channel, slack.Alice) + "&thread=" + ts)
		for _, alive := range []string{"<script>alert", "<img src=x", `="javascript:`, `href="http://evil`} {
			if strings.Contains(page, alive) {
				w.t.Errorf("in the page of thread %q: %s", ts, alive)
			}
		}
		if i := strings.IndexFunc(page, unfit); i >= 0 {
			w.t.Errorf("in the page of thread %q: %q", ts, page[max(0, i-50):min(len(page), i+50)])
		}
	}
	for _, f := range w.slack.Files() {
		if f.User != slack.BotUser || f.Image() {
			continue
		}
		text := string(f.Content())
		if i := strings.IndexFunc(text, unfit); i >= 0 {
			w.t.Errorf("in %s: %q", f.Name, text[max(0, i-50):min(len(text), i+50)])
		}
		for _, alive := range []string{"<script>alert", "<img src=x"} {
			if strings.HasSuffix(f.Name, ".html") && strings.Contains(text, alive) {
				w.t.Errorf("in %s: %s", f.Name, alive)
			}
		}
	}
}

// calls counts how often new messages name a person so that Slack calls it; in an edit it does not.
func (w *world) calls(user string) int {
	n := 0
	for _, e := range w.slack.Journal() {
		if e.Method == "chat.postMessage" || e.Method == "files.completeUploadExternal" {
			n += strings.Count(e.Body, "\"user_id\":\""+user) + strings.Count(e.Body, url.QueryEscape("\"user_id\":\""+user)) + strings.Count(e.Body, "<@"+user) + strings.Count(e.Body, url.QueryEscape("<@"+user))
		}
	}
	return n
}

// unfit are characters that must reach no screen.
func unfit(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || strings.ContainsRune("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\ufeff", r)
}

// page reads a page of the look-alike.
func (w *world) page(path string) string {
	w.t.Helper()
	res, err := http.Get(w.url + path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %s, %v", path, res.Status, err)
	}
	return string(raw)
}
