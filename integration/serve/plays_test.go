package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"faultline/simulate/slack"
	"faultline/store/storetest"
)

// play is something that people do with the bot from the beginning to the end, in #training.
type play struct {
	name     string
	settings []setting
	perform  func(m *mortal)
}

// stalled is a job whose logs are all there.
var stalled = play{"stalled", nil, func(m *mortal) {
	job, _ := m.job(stall(), nil)
	m.diagnose(slack.Alice, slack.Training, job)
	m.sees(slack.Training, "report.json")
}}

// missing is a job of which one node's log comes later, and whose verdict is disputed, upheld and closed in the end.
var missing = play{"missing", nil, func(m *mortal) {
	job, held := m.job(stall(), node1)
	m.diagnose(slack.Alice, slack.Training, job)
	question := m.sees(slack.Training, "Why:", "missing logs")
	m.sees(slack.Training, "report.json")
	m.fills(slack.Bob, question, "upload", "upload", m.uploads(slack.Bob, held))
	m.sees(slack.Training, "Because")
	m.rests()
	final := m.newest(slack.Training, "citations re-read")
	m.fills(slack.Bob, final, "dispute", "dispute", map[string]any{"cause": "other", "text": "a broken cable"})
	m.sees(slack.Training, "disputes this verdict")
	m.rests()
	m.fills(slack.Alice, m.sees(slack.Training, "Case F-"), "close", "close",
		map[string]any{"verdict": "wrong", "cause": "other", "text": "a broken cable", "fix": "the cable was replaced"})
	m.sees(slack.Training, "Closed by")
}}

// nothing is a job of which no log is found; somebody hands them in.
var nothing = play{"nothing", nil, func(m *mortal) {
	_, held := m.job(oom(), func(string) bool { return true })
	m.diagnose(slack.Alice, slack.Training, "8894311")
	question := m.sees(slack.Training, "I looked for logs of job")
	m.rests()
	m.fills(slack.Bob, question, "upload", "upload", m.uploads(slack.Bob, held))
	m.sees(slack.Training, "report.json")
}}

// running is a job that still writes its logs.
var running = play{"running", []setting{func(_ *world, conf map[string]any, _ *slack.Options) {
	conf["clusters"].([]any)[0].(map[string]any)["logs"].(map[string]any)["quiet"] = "10m"
}}, func(m *mortal) {
	job, _ := m.job(stall(), nil)
	m.diagnose(slack.Alice, slack.Training, job)
	question := m.sees(slack.Training, "seems to be running")
	m.rests()
	m.presses(slack.Alice, question, "look_now")
	m.sees(slack.Training, "report.json")
}}

// watched is a job that is watched, and has not stepped for days: no play is so slow that it reads as another age.
var watched = play{"watched", []setting{func(_ *world, conf map[string]any, _ *slack.Options) {
	conf["clusters"].([]any)[0].(map[string]any)["logs"].(map[string]any)["quiet"] = "100h"
}}, func(m *mortal) {
	const job, steps = "8894777", 200
	last := time.Now().UTC().Add(-60 * time.Hour)
	var log strings.Builder
	for n := range steps {
		at := last.Add(time.Duration(n+1-steps) * 2 * time.Second)
		fmt.Fprintf(&log, "[%s,000] [INFO] [rank 0] step %d/5000 | loss %.4f | step time 2.00 s\n", at.Format(time.DateTime), 1000+n, 2.5-float64(n)/1000)
	}
	path := filepath.Join(m.roots, job, job+"-0.out")
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(log.String()), 0o644), os.Chtimes(path, last, last))
	if err != nil {
		m.t.Fatal(err)
	}
	m.diagnose(slack.Alice, slack.Training, "watch "+job)
	m.sees(slack.Training, "bot collect", "watching this job")
	m.rests()
}}

// given is a job that reads from a store, whose logs somebody hands in.
var given = play{"given", nil, func(m *mortal) {
	job, _ := m.job(stall(), nil)
	m.readsData(job)
	m.diagnose(slack.Alice, slack.Training, job)
	question := m.sees(slack.Training, "Can I read the AIStore logs", "Why:")
	m.rests()
	m.fills(slack.Alice, question, "ais_upload", "upload", m.uploads(slack.Alice, map[string][]byte{"ais-logs.tar.gz": daemonLogs("ais-target-1")}))
	m.sees(slack.Training, "report.json")
}}

// goodAndBad reports a run that completed, then one of another job that failed: good is the job of the first, id the case of the second.
func (m *mortal) goodAndBad() (good, id string) {
	good, _ = m.job(healthy(), nil)
	m.diagnose(slack.Alice, slack.Training, good)
	m.sees(slack.Training, "report.json")
	m.rests()
	bad, _ := m.job(oom(), nil)
	m.diagnose(slack.Alice, slack.Training, bad)
	m.eventually("the second report", func() bool { return m.state() == "reported" })
	m.rests()
	id = m.ask("SELECT id FROM investigation ORDER BY opened DESC LIMIT 1")
	return good, id
}

// proven is a case whose fix another run proves.
var proven = play{"proven", nil, func(m *mortal) {
	good, id := m.goodAndBad()
	m.diagnose(slack.Bob, slack.Training, "fixed "+id+" "+good+" halved the batch")
	m.sees(slack.Training, "compared with the run that failed")
}}

// awaited is a case whose fix the next run is to prove; a person names that run before it is found.
var awaited = play{"awaited", []setting{slurmSays(`exit 1`, anyJob)}, func(m *mortal) {
	good, id := m.goodAndBad()
	m.diagnose(slack.Bob, slack.Training, "fixed "+id+" halved the batch")
	m.sees(slack.Training, "says it's fixed")
	m.rests()
	m.diagnose(slack.Bob, slack.Training, "fixed "+id+" "+good)
	m.sees(slack.Training, "compared with the run that failed")
}}

// anyJob is an accounting in which every job is the same user's, of one name, and failed.
const anyJob = `columns= id= sep=
while [ $# -gt 0 ]; do
	case $1 in
	-e) echo JobID; exit ;;
	--delimiter=*) sep=${1#*=} ;;
	-o) columns=$2; shift ;;
	-j) id=$2; shift ;;
	esac
	shift
done
[ -n "$id" ] || exit 0
row=
for c in $(echo "$columns" | tr , ' '); do
	case $c in
	JobID | JobIDRaw) v=$id ;;
	User) v=$(id -un) ;;
	JobName) v=train ;;
	State) v=FAILED ;;
	Submit | Start) v=1767225600 ;;
	End) v=1767229200 ;;
	*) v= ;;
	esac
	row=$row${row:+$sep}$v
done
echo "$row"`

// searched is a case whose culprit is searched for by tests, in which the fault does not come back.
var searched = play{"searched", nil, func(m *mortal) {
	bad, _ := m.job(oom(), nil)
	m.diagnose(slack.Alice, slack.Training, bad)
	m.sees(slack.Training, "report.json")
	m.rests()
	id := m.ask("SELECT id FROM investigation ORDER BY opened DESC LIMIT 1")
	m.diagnose(slack.Bob, slack.Training, "isolate "+id)
	for round := 1; round <= 4; round++ {
		msg := m.sees(slack.Training, fmt.Sprintf("Round %d,", round))
		m.rests()
		test := fmt.Sprintf("%da", round)
		if round%2 == 0 {
			m.diagnose(slack.Bob, slack.Training, "isolate "+id+" "+test+"=pass")
			continue
		}
		m.presses(slack.Alice, msg, "tested/"+test+"-pass")
	}
	m.sees(slack.Training, "The fault did not recur in 4 tests")
	m.eventually("the report again", func() bool { return m.state() == "reported" })
}}

// worked is a case on which people work: a cause, a why, and a task that is due already.
var worked = play{"worked", nil, func(m *mortal) {
	bad, _ := m.job(oom(), nil)
	m.diagnose(slack.Alice, slack.Training, bad)
	m.sees(slack.Training, "report.json")
	m.rests()
	id := m.ask("SELECT id FROM investigation ORDER BY opened DESC LIMIT 1")
	for _, what := range []string{"w3 nobody watched the memory", "add Alert on memory", "a1 me 2026-01-02"} {
		m.diagnose(slack.Bob, slack.Training, "work "+id+" "+what)
		m.rests()
	}
	m.sees(slack.Training, "a1 was due on 2 January")
	m.rests()
	m.diagnose(slack.Bob, slack.Training, "work "+id+" a1 done")
	m.rests()
	m.diagnose(slack.Bob, slack.Training, "work "+id)
	m.sees(slack.Training, "Nobody watched the memory")
}}

// listed is a case for which people go through a checklist: with buttons, in words, and one tick taken back.
var listed = play{"listed", nil, func(m *mortal) {
	bad, _ := m.job(oom(), nil)
	m.diagnose(slack.Alice, slack.Training, bad)
	m.sees(slack.Training, "report.json")
	m.rests()
	id := m.ask("SELECT id FROM investigation ORDER BY opened DESC LIMIT 1")
	m.diagnose(slack.Bob, slack.Training, "checklist "+id+" long-run")
	msg := m.sees(slack.Training, "Checklist long-run", "5 ticked")
	m.rests()
	m.presses(slack.Alice, msg, "tick/long-run-alerts")
	m.rests()
	m.diagnose(slack.Bob, slack.Training, "checklist "+id+" long-run loss-watch")
	m.rests()
	m.diagnose(slack.Bob, slack.Training, "checklist "+id+" long-run alerts undo")
	m.rests()
	m.newest(slack.Training, "Checklist long-run")
}}

// stopped is an investigation that somebody cancels.
var stopped = play{"stopped", nil, func(m *mortal) {
	m.diagnose(slack.Alice, slack.Training, "9999")
	m.sees(slack.Training, "I looked for logs of job")
	m.rests()
	m.diagnose(slack.Alice, slack.Training, "cancel 9999")
	m.eventually("the end", func() bool { return m.state() == "cancelled" })
}}

// newest is the last message with the words.
func (m *mortal) newest(channel string, words ...string) (got slack.Message) {
	m.t.Helper()
	m.sees(channel, words...)
	for _, msg := range m.slack.All(channel) {
		if !msg.Deleted && msg.VisibleTo == "" && holds(msg, words) {
			got = msg
		}
	}
	return got
}

// score is what a play leaves behind.
type score struct {
	thread string
	files  []attachment
	calls  []string // of the bot to Slack
	acks   int
}

// play lets a play happen to the end.
func (m *mortal) play(p play, fate func(n int, call string) moment) score {
	m.t.Helper()
	m.doom(fate)
	p.perform(m)
	m.rests()
	calls := m.doom(nil)
	list, repeated := once(m.public(slack.Training))
	if repeated > 0 {
		m.t.Logf("%d messages are there twice, with a remark", repeated)
	}
	for key, n := range m.keys(slack.Training) {
		if n > 1 {
			m.t.Errorf("the message %s is there %d times without a remark", key, n)
		}
	}
	if n := m.ask("SELECT count(*) - count(DISTINCT job) FROM investigation"); n != "0" {
		m.t.Errorf("%s investigations of one job", n)
	}
	// A bot that dies between taking a number and opening the case leaves a gap: the number is not used again.
	number := m.ask("SELECT id FROM investigation ORDER BY opened LIMIT 1")
	files := m.attachments(slack.Training)
	for i := range files {
		files[i].content = strings.ReplaceAll(files[i].content, number, "F-1")
	}
	return score{thread: strings.ReplaceAll(thread(list), number, "F-1"), files: files, calls: calls, acks: m.acks}
}

// matches holds what came of a play against an undisturbed one.
func (s score) matches(t *testing.T, undisturbed score) {
	t.Helper()
	if s.thread != undisturbed.thread {
		t.Errorf("the thread is another one:\n%s", difference(undisturbed.thread, s.thread))
	}
	if len(s.files) != len(undisturbed.files) {
		t.Errorf("%d files instead of %d", len(s.files), len(undisturbed.files))
		return
	}
	for i, f := range s.files {
		if want := undisturbed.files[i]; f != want {
			t.Errorf("the file %s is another one than %s: %s", f.name, want.name, difference(want.content, f.content))
		}
	}
}

// undisturbed is a play in which nobody dies. Several tests compare with it: it is played once for each store.
func undisturbed(t *testing.T, p play, kind string, server *storetest.Postgres) score {
	t.Helper()
	played, _ := undisturbedPlays.LoadOrStore(kind+"/"+p.name, &onePlay{})
	one := played.(*onePlay)
	one.once.Do(func() {
		t.Run(kind+"/"+p.name+"/undisturbed", func(t *testing.T) {
			m := newMortal(t, kind, server, p.settings...)
			one.score = m.play(p, func(int, string) moment { return never })
			m.unharmed()
			if len(one.score.thread) < 100 {
				t.Errorf("nothing happened: %q", one.score.thread)
			}
			one.held = !t.Failed()
		})
	})
	if !one.held {
		t.Fatal("the undisturbed play failed")
	}
	return one.score
}

// undisturbedPlays are the plays in which nobody dies, by store and name.
var undisturbedPlays sync.Map // of *onePlay

type onePlay struct {
	once  sync.Once
	score score
	held  bool
}
