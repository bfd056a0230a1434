package triage_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"faultline/analysis/triage"
	"faultline/incident"
	"faultline/simulate"
	"faultline/simulate/slow"
)

// clockTime is how all of the simulator's emitters print the time of day.
var clockTime = regexp.MustCompile(`\b(\d\d):(\d\d):(\d\d)\b`)

// stamped is the time of day of a line in seconds; −1 where it has none.
func stamped(line []byte) float64 {
	m := clockTime.FindSubmatch(line[:min(len(line), 160)])
	if m == nil || bytes.Contains(line, []byte("it/s")) || bytes.Contains(line, []byte("s/it")) {
		return -1
	}
	h, _ := strconv.Atoi(string(m[1]))
	mi, _ := strconv.Atoi(string(m[2]))
	s, _ := strconv.Atoi(string(m[3]))
	return float64(h*3600 + mi*60 + s)
}

// running is an incident as its files were at a moment: of each file the lines up to it, and when it was written last before it. Where no
// line has a time, so large a part of every file.
func running(t *testing.T, files []simulate.File, upto, part float64, now time.Time) (dir string, written map[string]time.Time) {
	t.Helper()
	dir, written = t.TempDir(), map[string]time.Time{}
	for _, f := range files {
		last, n, most := math.Inf(1), 0, bytes.Count(f.Data, []byte("\n"))
		var kept []byte
		for line := range bytes.Lines(f.Data) {
			s := stamped(line)
			if n++; s > upto || math.IsInf(upto, 0) && float64(n) > part*float64(most) || batch.Match(line) {
				break
			}
			if s >= 0 {
				last = s
			}
			kept = append(kept, line...)
		}
		if len(kept) == 0 {
			continue
		}
		name := strings.TrimSuffix(f.Name, ".gz")
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), kept, 0o600); err != nil {
			t.Fatal(err)
		}
		written[name] = now // and of step lines without a time nobody knows more
		if !timeless.Match(kept) && !math.IsInf(last, 0) && !math.IsInf(upto, 0) {
			written[name] = now.Add(-time.Duration((upto - last) * float64(time.Second)))
		}
	}
	return dir, written
}

// timeless are step lines that state no time.
var timeless = regexp.MustCompile(`it/s|s/it|Training epoch \d`)

// batch are lines of the batch system about the end.
var batch = regexp.MustCompile(`^(?:\S+: )?(?:srun|slurmstepd)(?:-\S+)?: |Exited with|CANCELLED|batch end`)

// course is from when to when the files tell of the time of day.
func course(files []simulate.File) (from, to float64) {
	from, to = math.Inf(1), 0
	for _, f := range files {
		for line := range bytes.Lines(f.Data) {
			if s := stamped(line); s >= 0 {
				from, to = min(from, s), max(to, s)
			}
		}
	}
	return from, to
}

func specs(mechanism string, n int) []simulate.Spec {
	var out []simulate.Spec
	for _, s := range simulate.Grid(6000, 7, 0) {
		if s.Mechanism == mechanism && s.Damage == "" && s.Ablate == "" && !s.ZoneMix && len(out) < n {
			out = append(out, s)
		}
	}
	return out
}

// Jobs that go on as they should, seen at three moments, ask nobody to act.
func TestHealthyJobsDoNotAlarm(t *testing.T) {
	now := time.Date(2027, 9, 27, 12, 0, 0, 0, time.UTC)
	looks, alarms := 0, 0
	for _, mechanism := range []string{"healthy", "retries-and-healthy", "uneven-course"} {
		for _, spec := range specs(mechanism, 7) {
			inc, err := simulate.Generate(spec)
			if err != nil {
				t.Fatal(err)
			}
			from, to := course(inc.Files)
			if to-from > 6*3600 || mechanism == "uneven-course" && math.IsInf(from, 0) { // over midnight, or the end cannot be told from the rest
				continue
			}
			for _, part := range []float64{0.3, 0.5, 0.7} {
				dir, written := running(t, inc.Files, from+part*(to-from), part, now)
				got := lookAt(t, dir, triage.Moment{At: now.Add(5 * time.Second)}, written, inc.WorldSize)
				if got == nil {
					continue // the part holds its end
				}
				looks++
				if got.Severity == incident.TriageWarning || got.Severity == incident.TriageCritical {
					alarms++
					t.Errorf("%s, seed %d, at %.0f %%: %s", mechanism, spec.Seed, 100*part, told(got))
				}
			}
		}
	}
	if looks < 45 {
		t.Fatalf("only %d looks", looks)
	}
	t.Logf("%d looks, %d alarms", looks, alarms)
}

// Jobs that hang are seen to before the watchdog of their collectives ends them.
func TestHangsAreSeenBeforeTheWatchdog(t *testing.T) {
	now := time.Date(2027, 9, 27, 12, 0, 0, 0, time.UTC)
	looks, seen := 0, 0
	for _, mechanism := range []string{"rank-stalled", "multi-group-stall", "symmetric-hang", "lone-waiter", "multi-group-hang"} {
		for _, spec := range specs(mechanism, 9) {
			inc, err := simulate.Generate(spec)
			if err != nil {
				t.Fatal(err)
			}
			fired := watchdogs(inc.Files)
			from, _ := course(inc.Files)
			if fired < 0 || fired-from > 6*3600 || fired < from {
				continue
			}
			// 500 s into the 600 of the watchdog: what was written last was written before the job hung.
			dir, written := running(t, inc.Files, fired-100, 1, now)
			for name := range written {
				written[name] = now.Add(-500 * time.Second)
			}
			got := lookAt(t, dir, triage.Moment{At: now}, written, inc.WorldSize)
			if got == nil || got.State == incident.StateStarting {
				continue // it hung before the first step: that takes as long as it takes
			}
			looks++
			if got.Severity == incident.TriageCritical || got.Severity == incident.TriageWarning {
				seen++
			} else {
				t.Logf("%s, seed %d: %s", mechanism, spec.Seed, told(got))
			}
		}
	}
	t.Logf("%d of %d seen", seen, looks)
	if looks < 25 || float64(seen) < 0.95*float64(looks) {
		t.Errorf("%d of %d seen", seen, looks)
	}
}

// watchdogs is when the first watchdog reports; −1 where none does.
func watchdogs(files []simulate.File) float64 {
	first := -1.0
	for _, f := range files {
		for line := range bytes.Lines(f.Data) {
			if s := stamped(line); s >= 0 && bytes.Contains(line, []byte("Watchdog caught")) && (first < 0 || s < first) {
				first = s
			}
		}
	}
	return first
}

func told(t *incident.Triage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: %s (%s)\n", t.State, t.Severity, t.Summary, t.Clock)
	for _, s := range t.Signs {
		fmt.Fprintf(&b, "  %-10s %-8s %s\n", s.Name, s.Level, s.Text)
	}
	fmt.Fprintf(&b, "  absent %v", t.Absent)
	return b.String()
}

// What slows a running job down is its next step, where its logs tell.
func TestTheNextStepOfASlowJobIsThatOfItsCause(t *testing.T) {
	c, err := slow.Play(slow.PostMortem(slow.Nothing))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 9, 3, 43, 30, 0, time.UTC)
	dir, _ := running(t, c.Logs, math.Inf(1), 1, now)
	got := look(t, dir, triage.Moment{At: now, Logs: true}, c.WorldSize)
	if !strings.Contains(got.Summary, "communication slowed down") || !strings.Contains(got.Next.Text, "in pairs with nccl-tests") || !strings.Contains(got.Next.Command, "node-[00-31]") {
		t.Errorf("%s: %+v", got.Summary, got.Next)
	}
}

// A slow rank that the logs name is named on the first line.
func TestTheSlowRankOfARunningJobIsNamed(t *testing.T) {
	inc, err := simulate.Generate(simulate.Spec{Seed: 1, Mechanism: "slow-rank", Torch: "2.7", Layout: simulate.Layout{Kind: "fsdp", TP: 1, CP: 1, EP: 1, DP: 64, PP: 1}, NodeCount: 8, PerNode: 8, FileMode: "node"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2027, 9, 27, 12, 0, 0, 0, time.UTC)
	dir, written := running(t, inc.Files, math.Inf(1), 1, now)
	got := lookAt(t, dir, triage.Moment{At: now}, written, inc.WorldSize)
	if got == nil || !strings.Contains(got.Summary, fmt.Sprintf("rank %d on %s", inc.Truth.RootRanks[0], inc.Truth.RootNodes[0])) {
		t.Errorf("%+v", got)
	}
}
