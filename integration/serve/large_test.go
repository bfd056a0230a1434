package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"faultline/simulate/slack"
)

// TestLargeJobsAtOnce tells what large logs cost the bot: the peak of its memory, and how long after the commands the first verdict of each job
// came. FAULTLINE_LARGE is a folder with one folder of logs for each job, called by the job's number:
//
//	for i in $(seq 20); do bench/generate -kind mixed -files 8 -size 12500000 -seed $i -out DIR/$((4240+i)); done
func TestLargeJobsAtOnce(t *testing.T) {
	dir := os.Getenv("FAULTLINE_LARGE")
	if dir == "" {
		t.Skip("FAULTLINE_LARGE names no folder of logs")
	}
	w := start(t, func(_ *world, conf map[string]any, _ *slack.Options) {
		conf["clusters"] = []any{map[string]any{"name": "west", "login_host": "login.west", "logs": map[string]any{"roots": []string{dir}}}}
	})
	jobs, err := filepath.Glob(filepath.Join(dir, "[0-9]*"))
	if err != nil || len(jobs) == 0 {
		t.Fatal("no jobs", err)
	}
	began := time.Now()
	for _, job := range jobs {
		w.slash(slack.Alice, slack.Training, filepath.Base(job))
	}
	told := map[string]time.Duration{} // by thread
	w.settles("the verdicts", 10*time.Minute, func() bool {
		for _, m := range w.slack.All(slack.Training) {
			if _, ok := told[m.ThreadTS]; !ok && m.ThreadTS != "" && !m.Deleted && holds(m, []string{"citations re-read"}) {
				told[m.ThreadTS] = time.Since(began)
				t.Logf("%2d: %.1f s, %d MiB at most so far", len(told), told[m.ThreadTS].Seconds(), w.peak()>>10)
			}
		}
		return len(told) == len(jobs)
	})
	t.Logf("%d jobs: %d MiB at most", len(jobs), w.peak()>>10)
}

// peak is the most memory that the bot has held, in KiB, as Linux counts it.
func (w *world) peak() int {
	w.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.bot.Process.Pid))
	if err != nil {
		w.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	n, err := strconv.Atoi(strings.Fields(rest + " 0")[0])
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}
