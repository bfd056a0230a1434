package serve

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"faultline/simulate/slack"
)

// launchIn starts the bot in another time zone.
func (w *world) launchIn(zone string) {
	w.t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		w.t.Fatal(err)
	}
	zones := filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip")
	if _, err := os.Stat(zones); err != nil {
		w.t.Fatalf("the bot would take %s for UTC: %v", zone, err)
	}
	cmd := exec.Command(binary, "serve", "--config", w.conf)
	cmd.Env = []string{"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + w.dir, "TZ=" + zone, "ZONEINFO=" + zones}
	cmd.Dir = w.dir
	out := &locked{w}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.bot = cmd
	w.mu.Unlock()
	w.await("the bot's sockets", func() bool { return w.slack.Sockets() > 0 })
}

// The hour that comes twice, in New York: what Slack's clock shows in these tests, a long way from that of the machine.
var twice = time.Date(2026, time.November, 1, 5, 59, 30, 0, time.UTC)

func TestAnotherZoneAndAnotherClockChangeNoWord(t *testing.T) {
	long(t)
	t.Parallel()
	w := newWorld(t, func(_ *world, _ map[string]any, opts *slack.Options) { opts.Clock = slack.NewFakeClock(twice) })
	w.launchIn("America/New_York")
	job, _ := w.job(stall(), nil)
	w.slash(slack.Alice, slack.Training, job)
	w.message(slack.Alice, slack.Training, "report.json")
	w.quietNow(slack.Training)
	want, err := os.ReadFile(filepath.Join("testdata", "TestAnUncomplicatedCaseIsFivePosts.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if got := ordered(w.normal(w.slack.Transcript(slack.Training))); got != string(want) {
		t.Errorf("New York sees something else:\n%s", difference(string(want), got))
	}
}

var untilWhen = regexp.MustCompile(`I wait until (\d\d:\d\d on \d+ \w+) \(UTC\)`)

// The timers tick with the minutes of the machine's clock, so this test takes up to three of them.
func TestRemindersAndExpiryComeWhenTheyAreDue(t *testing.T) {
	long(t)
	t.Parallel()
	const (
		remindAfter = time.Second
		expireAfter = 125 * time.Second // more than two ticks: first the reminder, even where a busy bot misses one, then the end
		tick        = time.Minute
		late        = 2 * time.Minute // of a machine that is busy with other tests
	)
	w := newWorld(t, func(_ *world, conf map[string]any, opts *slack.Options) {
		opts.Clock = slack.NewFakeClock(twice)
		conf["questions"] = map[string]any{"remind_after": remindAfter.String(), "expire_after": expireAfter.String()}
	})
	w.launchIn("America/New_York")
	job, _ := w.job(stall(), node1)
	before := time.Now()
	w.slash(slack.Alice, slack.Training, job)
	question := w.message(slack.Alice, slack.Training, "Missing:", "Why I ask")
	after := time.Now()

	m := untilWhen.FindStringSubmatch(plainBlocks(question.Blocks))
	if m == nil {
		t.Fatalf("no deadline in %s", plainBlocks(question.Blocks))
	}
	early, latest := before.Add(expireAfter).UTC().Truncate(time.Minute), after.Add(expireAfter).UTC()
	told, err := time.Parse("15:04 on 2 January 2006", m[1]+" "+early.Format("2006"))
	if told.Before(early) {
		told = told.AddDate(1, 0, 0) // asked on New Year's Eve
	}
	if err != nil || told.Before(early) || told.After(latest) {
		t.Errorf("told to be waited for until %s (%v); it is between %s and %s", told, err, early, latest)
	}

	due := func(what string, words []string, wait time.Duration) {
		t.Helper()
		at := w.seen(words, wait+tick+late)
		if at.IsZero() {
			t.Fatalf("%s does not come within %s\n%s", what, wait+tick+late, w.slack.Transcript(slack.Training))
		}
		if at.Before(before.Add(wait)) {
			t.Errorf("%s came %s after the question; it is due after %s", what, at.Sub(before), wait)
		}
		t.Logf("%s came %s after the question, due after %s and the next full minute", what, at.Sub(before).Round(time.Second), wait)
	}
	due("the reminder", []string{"this is still open"}, remindAfter)
	due("the end of the question", []string{"Nobody answered in time", "Missing:"}, expireAfter)
	w.stop()
	reminders := 0
	for _, m := range w.slack.All(slack.Training) {
		if strings.Contains(m.Text, "this is still open") {
			reminders++
		}
	}
	if reminders == 0 || reminders > len(w.asked()) {
		t.Errorf("%d reminders for %d questions", reminders, len(w.asked()))
	}
}

// seen is when a message with all of the words is first seen; zero when it does not come.
func (w *world) seen(words []string, wait time.Duration) time.Time {
	w.t.Helper()
	for end := time.Now().Add(wait); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if _, ok := w.slack.Find(slack.Training, func(m slack.Message) bool { return holds(m, words) }); ok {
			return time.Now()
		}
	}
	return time.Time{}
}

// asked are the questions in the channel.
func (w *world) asked() []slack.Message {
	var out []slack.Message
	for _, m := range w.slack.All(slack.Training) {
		if holds(m, []string{"Why I ask"}) {
			out = append(out, m)
		}
	}
	return out
}
