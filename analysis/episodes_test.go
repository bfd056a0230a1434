package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// comesAndGoes is a log of steps that are slow in windows of lines.
func comesAndGoes(windows ...[2]int) string {
	var b strings.Builder
	at := time.Date(2026, 2, 3, 1, 0, 0, 0, time.UTC)
	for i := range 200 {
		data := 0.03 + 0.002*float64(i%4)
		for _, w := range windows {
			if i >= w[0] && i < w[1] {
				data += 0.7
			}
		}
		at = at.Add(time.Duration(40 * (0.8 + data) * float64(time.Second)))
		fmt.Fprintf(&b, "%s it=%d loss=2.4%d step=%.3fs data=%.3fs gpu=0.780s\n", at.Format(time.TimeOnly), 40*(i+1), i%9, 0.8+data, data)
	}
	return b.String()
}

const neighbours = `JobID           User   JobName  Partition NNodes               Start                 End      State NodeList
------------ -------- --------- ---------- ------ ------------------- ------------------- ---------- ---------------
700              px        ours        gpu      8 2026-02-03T00:59:10             Unknown    RUNNING n[01-08]
701_1            kx      repack        cpu     12 2026-02-03T01:21:30 2026-02-03T01:42:00  COMPLETED c[201-212]
701_2            kx      repack        cpu     12 2026-02-03T02:21:00 2026-02-03T02:53:00  COMPLETED c[201-212]
702              lx       other        cpu      4 2026-02-03T01:21:00 2026-02-03T03:02:30  COMPLETED c[130-133]
`

func TestStepsThatAreSlowTimeAndAgainAreTold(t *testing.T) {
	r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": comesAndGoes([2]int{40, 60}, [2]int{130, 160}), "sacct.txt": neighbours}, "")})
	v := r.Verdict
	for _, want := range []string{"slowed down 2 times and recovered", "data 32 ms → 73", "job 701 ran in each of these times"} {
		if !strings.Contains(v.Summary, want) {
			t.Errorf("%s, without %q: %s", v.Mechanism, want, v.Summary)
		}
	}
	if v.Mechanism != "dataloader-stall" || len(v.Root.Nodes) > 0 {
		t.Errorf("%s on %v", v.Mechanism, v.Root.Nodes)
	}
}

func TestOnePauseIsNoEpisode(t *testing.T) {
	for name, log := range map[string]string{"once": comesAndGoes([2]int{40, 60}), "never": comesAndGoes(), "short": comesAndGoes([2]int{40, 43}, [2]int{130, 133})} {
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": log, "sacct.txt": neighbours}, "")})
		if v := r.Verdict; v.Mechanism == "dataloader-stall" || v.Mechanism == "throughput-regression" {
			t.Errorf("%s: %s: %s", name, v.Mechanism, v.Summary)
		}
	}
}

func TestOneSlowTimeInWhichAnotherJobRanIsTold(t *testing.T) {
	once := strings.ReplaceAll(neighbours, "701_2            kx      repack        cpu     12 2026-02-03T02:21:00 2026-02-03T02:53:00  COMPLETED c[201-212]\n", "")
	r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": comesAndGoes([2]int{40, 60}), "sacct.txt": once}, "")})
	if v := r.Verdict; !strings.Contains(v.Summary, "slowed down once and recovered") || !strings.Contains(v.Summary, "job 701 ran just then") {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
}
