package analysis

import (
	"context"
	"strings"
	"testing"
)

func TestWhatAFileIs(t *testing.T) {
	for name, c := range map[string]struct {
		text, what string
		known      bool
	}{
		"a dump":            {waiting(), "PyTorch flight-recorder dumps", true},
		"a log":             {hungLog(), "log", true},
		"SLURM's records":   {"JobID|State|ExitCode|NodeList|Start|End\n7|FAILED|1:0|n1|2026-01-02T03:04:05|2026-01-02T04:04:05\n", "SLURM's records", true},
		"what nobody knows": {"we have seen this before\nperhaps in spring\n", "", false},
		"nothing":           {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := written(t, map[string]string{"x": c.text}, "")[0]
			what, known, err := Look(context.Background(), nil, s)
			if err != nil || known != c.known || !strings.HasPrefix(what, c.what) {
				t.Errorf("it is %q, known %v, %v", what, known, err)
			}
		})
	}
}
