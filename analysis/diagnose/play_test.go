package diagnose

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"faultline/analysis/hostlist"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/simulate"
)

// facts plays an incident and resolves what its files say.
func facts(t testing.TB, spec simulate.Spec) *resolve.Facts {
	t.Helper()
	inc, err := simulate.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []string
	if inc.Nodes != "" {
		if nodes, err = hostlist.Expand(inc.Nodes); err != nil {
			t.Fatal(err)
		}
	}
	return read(t, inc.Files, nodes, inc.WorldSize)
}

// read resolves what files say.
func read(t testing.TB, files []simulate.File, nodes []string, world int) *resolve.Facts {
	t.Helper()
	sc, err := worker.NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	in := resolve.Input{WorldSize: world, Nodes: nodes}
	var parts []*worker.Observations
	for _, f := range files {
		var src io.Reader = bytes.NewReader(f.Data)
		if strings.HasSuffix(f.Name, ".gz") {
			if src, err = gzip.NewReader(src); err != nil {
				t.Fatal(err)
			}
		}
		obs, err := worker.Read(t.Context(), f.Name, src, sc)
		if err != nil {
			t.Fatal(err)
		}
		if len(obs.Progress)+len(obs.Phases) == 0 && !strings.HasSuffix(f.Name, ".gz") {
			shaped, err := worker.Summed(t.Context(), f.Name, bytes.NewReader(f.Data))
			if err != nil {
				t.Fatal(err)
			}
			if shaped != nil {
				obs.Progress, obs.Phases = shaped.Progress, shaped.Phases
			}
		}
		parts = append(parts, obs)
		in.Sources = append(in.Sources, incident.Source{Name: f.Name, Bytes: int64(len(f.Data))})
	}
	in.Obs = worker.Merge(parts...)
	in.Handed.NCCL = in.Obs.NCCL
	f, err := resolve.Resolve(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// spoken is an incident of eight ranks that train for some steps, until one of them prints a line: at the end of a
// traceback where it is an exception's.
func spoken(rank, steps int, text string) []simulate.File {
	var b bytes.Buffer
	for r := range 8 {
		fmt.Fprintf(&b, "[rank%d]: 2026-03-01 09:59:00,000 INFO trainer: hello\n", r)
	}
	for step := range steps {
		fmt.Fprintf(&b, "[rank0]: 2026-03-01 10:00:%02d,000 INFO trainer: step %d loss 2.15\n", step, step)
		for r := range 8 {
			fmt.Fprintf(&b, "[rank%d]: 2026-03-01 10:00:%02d,100 INFO trainer: batch %d done\n", r, step, step)
		}
	}
	if exceptionLine.MatchString(text) {
		fmt.Fprintf(&b, "[rank%d]: Traceback (most recent call last):\n[rank%d]:   File \"/app/train.py\", line 31, in <module>\n[rank%d]:     main()\n", rank, rank, rank)
	}
	fmt.Fprintf(&b, "[rank%d]: %s\n", rank, text)
	return []simulate.File{{Name: "train.log", Data: b.Bytes()}}
}

var exceptionLine = regexp.MustCompile(`^[\w.]+(?:Error|Exception)(?:: |$)`)
