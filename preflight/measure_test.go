package preflight

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// stub puts a program in front of the path.
func stub(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func number(out []byte) (float64, error) {
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

func TestTheGPUsOfANodeAreMeasuredWhereTheToolIs(t *testing.T) {
	tools := Tools{Bus: func(out []byte) ([]Measure, error) {
		rate, err := number(out)
		return []Measure{{1 << 20, rate}}, err
	}}
	f := sound("cn01")
	f.Bus = nil
	t.Setenv("PATH", t.TempDir())
	if MeasureBus(t.Context(), &f, tools); f.Bus != nil || f.BusTrouble != "" {
		t.Errorf("without the tool: %+v", f)
	}
	stub(t, "all_reduce_perf", `while [ "$1" != -g ]; do shift; done; echo "${2}00"`)
	if MeasureBus(t.Context(), &f, tools); f.peak() != 800 || f.BusTrouble != "" {
		t.Errorf("%v %s", f.Bus, f.BusTrouble)
	}
	f.Env["CUDA_VISIBLE_DEVICES"] = "0,1,2"
	if MeasureBus(t.Context(), &f, tools); f.peak() != 300 {
		t.Errorf("%v: the job sees three GPUs", f.Bus)
	}
	stub(t, "all_reduce_perf", "exit 3")
	if MeasureBus(t.Context(), &f, tools); !strings.Contains(f.BusTrouble, "exit status 3") {
		t.Errorf("%+v", f.BusTrouble)
	}
}

// Each node serves its neighbour and measures the next, and a server that nobody came to ends with the meeting.
func TestNodesMeasureRDMAInARing(t *testing.T) {
	served := filepath.Join(t.TempDir(), "served")
	t.Setenv("SERVED", served)
	stub(t, "ib_write_bw", `for last; do :; done
case $last in
127.*) echo 25e9 ;;
*) echo up >> "$SERVED"; exec sleep 60 ;;
esac`)
	m := Meeting{Token: "t", Nodes: 3, Wait: 10 * time.Second, Send: 20 * time.Millisecond, Tools: Tools{RDMA: number}}
	all, _, _ := rehearse(t, m, []string{"a", "b", "c"}, nil)
	for _, f := range all {
		if f.RDMA != 25e9 || f.RDMATrouble != "" {
			t.Errorf("%s: %g %s", f.Node, f.RDMA, f.RDMATrouble)
		}
	}
	up, _ := os.ReadFile(served)
	if n := strings.Count(string(up), "up"); n != 3 {
		t.Errorf("%d nodes served", n)
	}
	m.Tools.RDMA = func([]byte) (float64, error) { return 0, errors.New("no bandwidth") }
	all, findings, _ := rehearse(t, m, []string{"a", "b", "c"}, nil)
	if all[0].RDMATrouble != "ib_write_bw: no bandwidth" || len(findings) == 0 {
		t.Errorf("%+v %v", all[0], findings)
	}
}

func TestABaselineIsStated(t *testing.T) {
	var b Baseline
	if err := b.Set([]string{"tcp=12,bus=380", "rdma=45"}); err != nil || b != (Baseline{12e9, 380e9, 45e9}) {
		t.Errorf("%v %+v", err, b)
	}
	for _, wrong := range []string{"tcp", "ib=3", "tcp=-1", "bus=NaN", "bus=1e9", ""} {
		if b.Set([]string{wrong}) == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
