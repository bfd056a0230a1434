package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// frobs are what an unheard-of tool prints of four nodes, twice: widget 3 of n2 grows, and n4 had its errors before.
func frobs(odd string) map[string]string {
	out := map[string]string{"run.log": paceLog(1, 2)}
	for n := 1; n <= 4; n++ {
		for k, hour := range []int{13, 15} {
			var b strings.Builder
			fmt.Fprintf(&b, "# n%d  frobstat  2026-02-03 %d:00\nfrobs:\n", n, hour)
			for w := range 6 {
				errors, mode := 0, "wide"
				if n == 4 {
					errors = 1204
				}
				if n == 2 && w == 3 && k == 1 {
					switch odd {
					case "count":
						errors = 90811
					case "word":
						mode = "narrow"
					}
				}
				fmt.Fprintf(&b, "  widget %d:\n    glitches: %d\n    moved: %d\n    mode: %s\n", w, errors, 1000*n+(7*w+3*n)%11+k*(5000+(13*w+n)%700), mode)
			}
			out[fmt.Sprintf("%d/frobstat-n%d.txt", hour, n)] = b.String()
		}
	}
	return out
}

func TestWhoDiffersInAnyToolsOutputIsNamed(t *testing.T) {
	for odd, want := range map[string]string{"count": "glitches rose from 0 to 90811 on widget 3 on n2", "word": "mode went from `wide` to `narrow` on widget 3 on n2"} {
		r := diagnosed(t, Input{Sources: written(t, frobs(odd), "")})
		if v := r.Verdict; v.Mechanism != "slow-rank" || !slices.Equal(v.Root.Nodes, []string{"n2"}) || !strings.Contains(v.Summary, want) {
			t.Errorf("%s on %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
		}
	}
}

func TestWhoDifferedAllAlongOrInNothingIsNotNamed(t *testing.T) {
	files := frobs("")
	r := diagnosed(t, Input{Sources: written(t, files, "")})
	if v := r.Verdict; v.Mechanism != "throughput-regression" || len(v.Root.Nodes) > 0 {
		t.Errorf("%s on %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
	}
	for name := range files { // once: how old the counts are, nobody knows
		if strings.HasPrefix(name, "13/") {
			delete(files, name)
		}
	}
	r = diagnosed(t, Input{Sources: written(t, files, "")})
	if v := r.Verdict; v.Mechanism != "throughput-regression" || len(v.Root.Nodes) > 0 {
		t.Errorf("read once: %s on %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
	}
}

func TestAHealthyJobsNodesAreNotCompared(t *testing.T) {
	files := frobs("count")
	files["run.log"] = paceLog(1, 1)
	r := diagnosed(t, Input{Sources: written(t, files, "")})
	if v := r.Verdict; len(v.Root.Nodes) > 0 {
		t.Errorf("%s on %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
	}
}

func TestWhatNodesAlwaysDifferInAccusesNobody(t *testing.T) {
	files := map[string]string{"run.log": paceLog(1, 2)}
	for n := 1; n <= 5; n++ {
		version, serial := "28.39.1002", 7000+97*n
		if n == 2 {
			version = "28.41.1000"
		}
		files[fmt.Sprintf("frobstat-n%d.txt", n)] = fmt.Sprintf("# n%d  frobstat\nversion: %s\nserial: %d\nmode: wide\nwidth: 16\n", n, version, serial)
	}
	r := diagnosed(t, Input{Sources: written(t, files, "")})
	if v := r.Verdict; v.Mechanism != "throughput-regression" || len(v.Root.Nodes) > 0 {
		t.Errorf("%s on %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
	}
}
