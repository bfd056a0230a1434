package analysis

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/incident"
)

// drawn is the pictures of a report as JSON.
func drawn(t *testing.T, r *incident.Report) string {
	t.Helper()
	b, err := json.Marshal([]any{r.Heat, r.Bars})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// partsLog is what a rank prints of its own steps: from the middle on, data or the wait for others takes longer.
func partsLog(rank int, data, wait float64) string {
	var b strings.Builder
	for i := range 120 {
		d, w := 0.02, 0.3
		if i >= 60 {
			d, w = data, wait
		}
		n := 0.01 * float64((i+rank)%4)
		fmt.Fprintf(&b, "step %d rank %d | fwd %.3f s | bwd %.3f s | data %.3f s | allreduce %.3f s | total %.3f s\n", 5*i, rank, 0.5+n, 1.0+n, d, w, 1.5+2*n+d+w)
	}
	return b.String()
}

func TestRanksThatTimeTheirStepsArePictured(t *testing.T) {
	logs := map[string]string{}
	for rank := range 6 {
		logs[fmt.Sprintf("rank%d.log", rank)] = partsLog(rank, 0.02, 1.8)
	}
	logs["rank4.log"] = partsLog(4, 1.52, 0.3)
	sources := written(t, logs, "")
	r := diagnosed(t, Input{Sources: sources})
	if !slices.Equal(r.Verdict.Root.Ranks, []int{4}) {
		t.Fatalf("%s, ranks %v", r.Verdict.Mechanism, r.Verdict.Root.Ranks)
	}
	h := r.Heat
	if h == nil || h.Quantity != "data" || len(h.Rows) != 6 || !h.Rows[4].Root || h.Rows[3].Root || h.Span.Since == nil || *h.Span.Since != 300 {
		t.Fatalf("%+v", h)
	}
	if first, last := h.Rows[4].Cells[0], h.Rows[4].Cells[len(h.Rows[4].Cells)-1]; *first != 0.02 || *last != 1.52 {
		t.Errorf("rank 4: %v … %v", *first, *last)
	}
	if len(r.Bars) != 2 || r.Bars[0].Who != "rank 4" || r.Bars[1].Who != "the median of the 5 other ranks" {
		t.Fatalf("%+v", r.Bars)
	}
	grew := map[string]bool{}
	for _, b := range r.Bars {
		for _, p := range b.Parts {
			if *p.Seconds[len(p.Seconds)-1] > *p.Seconds[0]+1 {
				grew[b.Who+": "+p.Name] = true
			}
		}
	}
	if !grew["rank 4: data"] || !grew["the median of the 5 other ranks: exposed communication"] || len(grew) != 2 {
		t.Errorf("grew: %v", grew)
	}
	slices.Reverse(sources)
	if again := diagnosed(t, Input{Sources: sources}); drawn(t, again) != drawn(t, r) {
		t.Error("another order of files, another picture")
	}
}

// timersLog is paceLog with Megatron's timers of all ranks.
func timersLog(low, high float64) string {
	var b strings.Builder
	for i, line := range strings.SplitAfter(strings.TrimSuffix(paceLog(7, 7+high-1), "\n"), "\n") {
		lo, hi := 900.0, 1000.0
		if i >= 60 {
			lo, hi = 1000*low, 1000*high
		}
		fmt.Fprintf(&b, "%s(min, max) time across ranks (ms):\n    forward-compute ......: (1800.00, 1810.00)\n    backward-compute .....: (3600.00, 3620.00)\n    all-grads-sync .......: (%.2f, %.2f)\n    optimizer ............: (300.00, 301.00)\n", strings.TrimSuffix(line, "\n")+"\n", lo, hi)
	}
	return b.String()
}

// Communication that the slowest rank has, too, is exposed; what only others have of it is waiting.
func TestTimersOfAllRanksShowTheLeastCommunication(t *testing.T) {
	for _, low := range []float64{0.9, 5} {
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": timersLog(low, 5.2)}, "")})
		if r.Heat != nil || len(r.Bars) != 1 || r.Bars[0].Who != "all ranks" {
			t.Fatalf("%v: %+v", r.Heat, r.Bars)
		}
		for _, p := range r.Bars[0].Parts {
			first, last := p.Seconds[0], p.Seconds[len(p.Seconds)-1]
			if p.Name == "exposed communication" && (*first != 0.9 || *last != low) {
				t.Errorf("%v → %v s of communication, not 0.9 → %v", *first, *last, low)
			}
		}
	}
}

// A report is of the step line above it, or below it where the first report stands there: the step that slowed down is not put beside the
// phases of another one.
func TestAReportIsOfItsOwnStep(t *testing.T) {
	lines := strings.SplitAfter(timersLog(5, 5.2), "\n")[48*6 : 72*6]
	after := slices.Concat(lines[1:], lines[:1]) // the timers of a step first
	for i := 5; i < len(after); i += 6 {
		after[i] = lines[i/6*6]
	}
	for name, log := range map[string][]string{"above": lines, "below": after} {
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": strings.Join(log, "")}, "")})
		if len(r.Bars) != 1 || len(r.Bars[0].Parts) == 0 || len(r.Bars[0].Parts[0].Seconds) < 20 {
			t.Fatalf("%s: %+v", name, r.Bars)
		}
		for _, p := range r.Bars[0].Parts {
			for c, rest := range p.Seconds {
				if p.Name == "other" && rest != nil && *rest > 1 {
					t.Errorf("%s: %v s of a step in column %d are of no part", name, *rest, c)
				}
			}
		}
	}
}

func TestLogsWithoutTimesOfRanksHaveNoPicture(t *testing.T) {
	at := time.Date(2026, 2, 3, 14, 0, 0, 0, time.UTC).Format(time.DateTime)
	for name, logs := range map[string]map[string]string{
		"one file of step lines": {"run.log": paceLog(1, 2)},
		"no steps":               {"rank0.log": at + " rank 0 starts\n", "rank1.log": at + " rank 1 starts\n"},
	} {
		if r := diagnosed(t, Input{Sources: written(t, logs, "")}); r.Heat != nil || len(r.Bars) > 0 {
			t.Errorf("%s: %s", name, drawn(t, r))
		}
	}
}
