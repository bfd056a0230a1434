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

var untilWhen = regexp.MustCompile(`Waiting until (\d\d:\d\d on \d+ \w+) \(UTC\)`)

// The timers tick with the minutes of the machine's clock. All of it takes up to three of them: the sample asks two bots for one
// of the two each, and waits for one.
func TestRemindersAndExpiryComeWhenTheyAreDue(t *testing.T) {
	long(t)
	t.Parallel()
	side := newCrowd(t)
	defer side.all.Wait()
	for _, c := range []struct {
		name                string
		remind, expire      time.Duration
		reminded, givenUp   bool
		onlyWhereTimeIsLeft bool
	}{
		{name: "a reminder", remind: time.Second, expire: time.Hour, reminded: true},
		{name: "an end", remind: time.Hour, expire: time.Second, givenUp: true},
		// More than two ticks: first the reminder, even where a busy bot misses one, then the end.
		{name: "first the one, then the other", remind: time.Second, expire: 125 * time.Second, reminded: true, givenUp: true, onlyWhereTimeIsLeft: true},
	} {
		if c.onlyWhereTimeIsLeft && brief() {
			continue
		}
		side.run(c.name, func(t *testing.T) {
			q := askLate(t, c.remind, c.expire)
			q.namesItsDeadline(c.expire)
			if c.reminded {
				q.due("the reminder", []string{"this is still open"}, c.remind)
			}
			if c.givenUp {
				q.due("the end of the question", []string{"No answer in time", "missing logs"}, c.expire)
			}
			q.stop()
			reminders := 0
			for _, m := range q.slack.All(slack.Training) {
				if strings.Contains(m.Text, "this is still open") {
					reminders++
				}
			}
			if reminders > len(q.asked()) || (reminders > 0) != c.reminded {
				t.Errorf("%d reminders for %d questions", reminders, len(q.asked()))
			}
		})
	}
}

// timed is a world with a question that nobody answers.
type timed struct {
	*world
	before, after time.Time // it was asked between these
	text          string
}

func askLate(t *testing.T, remind, expire time.Duration) *timed {
	t.Helper()
	w := newWorld(t, func(_ *world, conf map[string]any, opts *slack.Options) {
		opts.Clock = slack.NewFakeClock(twice)
		conf["questions"] = map[string]any{"remind_after": remind.String(), "expire_after": expire.String()}
	})
	w.launchIn("America/New_York")
	job, _ := w.job(stall(), node1)
	q := &timed{world: w, before: time.Now()}
	w.slash(slack.Alice, slack.Training, job)
	q.text = plainBlocks(w.message(slack.Alice, slack.Training, "missing logs", "Why:").Blocks)
	q.after = time.Now()
	return q
}

func (q *timed) namesItsDeadline(expire time.Duration) {
	q.t.Helper()
	m := untilWhen.FindStringSubmatch(q.text)
	if m == nil {
		q.t.Fatalf("no deadline in %s", q.text)
	}
	early, latest := q.before.Add(expire).UTC().Truncate(time.Minute), q.after.Add(expire).UTC()
	told, err := time.Parse("15:04 on 2 January 2006", m[1]+" "+early.Format("2006"))
	if told.Before(early) {
		told = told.AddDate(1, 0, 0) // asked on New Year's Eve
	}
	if err != nil || told.Before(early) || told.After(latest) {
		q.t.Errorf("told to be waited for until %s (%v); it is between %s and %s", told, err, early, latest)
	}
}

// due waits for what comes with the first tick after a wait, and not before.
func (q *timed) due(what string, words []string, wait time.Duration) {
	q.t.Helper()
	const (
		tick = time.Minute
		late = 2 * time.Minute // of a machine that is busy with other tests
	)
	at := q.seen(words, wait+tick+late)
	if at.IsZero() {
		q.t.Fatalf("%s does not come within %s\n%s", what, wait+tick+late, q.slack.Transcript(slack.Training))
	}
	if at.Before(q.before.Add(wait)) {
		q.t.Errorf("%s came %s after the question; it is due after %s", what, at.Sub(q.before), wait)
	}
	q.t.Logf("%s came %s after the question, due after %s and the next full minute", what, at.Sub(q.before).Round(time.Second), wait)
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
		if holds(m, []string{"Why:"}) {
			out = append(out, m)
		}
	}
	return out
}
