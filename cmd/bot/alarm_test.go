package main

import (
	"os"
	"slices"
	"testing"

	"faultline/incident"
)

// A watched job is looked at every so many seconds of its clock.
const liveWatch = 60

// pausing are healthy jobs that stand still for long now and then: what they do, and whether a line says so.
var pausing = map[string]struct {
	life  life
	until int
}{
	"long evaluations":  {life{saves: true, evals: 1500}, 5000},
	"long saves":        {life{saves: true, save: 480}, 4000},
	"compiles at first": {life{first: 1500}, 2600},
	"compiles again":    {life{stops: []int{100, 230}, stop: 170}, 1200}, // no line says so
}

// alarms are the looks at which a job asks for attention, at most as many as it takes to tell.
func alarms(t *testing.T, form string, of life, from, until int) (seconds []int, first *incident.Triage) {
	t.Helper()
	dir := t.TempDir()
	w := &liveWriter{form: liveForms[form], life: of}
	if err := w.open(dir); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, f := range w.files {
			f.Close()
		}
	}()
	for second := from; second <= until; second += liveWatch {
		w.until(second)
		got, _ := triageOf(t, dir, true, liveAt(float64(second)))
		if got != nil && (got.Severity == incident.TriageWarning || got.Severity == incident.TriageCritical) {
			if seconds = append(seconds, second); first == nil {
				first = got
			}
		}
	}
	return seconds, first
}

func stampedForms() []string {
	var out []string
	for name, f := range liveForms {
		if f.stamped {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Jobs that evaluate, save and compile for long are not called silent: at most one of forty is.
func TestLongPausesAreNoAlarm(t *testing.T) {
	full := os.Getenv("FAULTLINE_FULL") != ""
	jobs, wrong := 0, 0
	for _, form := range stampedForms() {
		for what, p := range pausing {
			f := liveForms[form]
			if what == "long evaluations" && f.eval == nil || what == "long saves" && f.saving == nil || !full && form != "script" {
				continue
			}
			for _, shift := range []int{0, 23} {
				if !full && shift > 0 {
					continue
				}
				jobs++
				if seconds, first := alarms(t, form, p.life, 60+shift, p.until); len(seconds) > 0 {
					wrong++
					t.Logf("%s, %s: %d alarms, at %d: %s %+v", form, what, len(seconds), seconds[0], first.Summary, first.Signs[len(first.Signs)-1].Text)
				}
			}
		}
	}
	t.Logf("%d jobs, %d of them with an alarm", jobs, wrong)
	if wrong > jobs/40 {
		t.Errorf("%d of %d jobs alarm", wrong, jobs)
	}
}

// A job that hangs is seen to before its watchdog ends it, wherever in its life that is.
func TestHangsAlarmBeforeTheWatchdog(t *testing.T) {
	full := os.Getenv("FAULTLINE_FULL") != ""
	jobs, seen := 0, 0
	for _, form := range stampedForms() {
		for _, hangs := range []int{300, 660, 1500} {
			for _, saves := range []bool{false, true} {
				if !full && (form != "own" || hangs != 660) {
					continue
				}
				of := life{hangs: hangs, saves: saves}
				seconds, _ := alarms(t, form, of, hangs+liveWatch, hangs+599)
				if jobs++; len(seconds) > 0 {
					seen++
				} else {
					t.Logf("%s, hangs at %d, saves %v: not seen", form, hangs, saves)
				}
			}
		}
	}
	t.Logf("%d of %d seen", seen, jobs)
	if 100*seen < 95*jobs {
		t.Errorf("%d of %d seen", seen, jobs)
	}
}
