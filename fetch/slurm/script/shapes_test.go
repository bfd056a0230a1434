package script

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shape is one record of testdata/public.txt.
type shape struct {
	name, script, array, batch string
	args, want                 []string
	open                       int
}

// shapes reads the records, by the halves that they stand in.
func shapes(t *testing.T) (halves [][]shape) {
	t.Helper()
	text, err := os.ReadFile("testdata/public.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if key == "====" {
			halves = append(halves, nil)
		}
		if len(halves) == 0 || key == "====" || key == "" {
			continue
		}
		half := &halves[len(halves)-1]
		if key == "==" {
			*half = append(*half, shape{name: value, script: "#!/bin/bash\n"})
			continue
		}
		s := &(*half)[len(*half)-1]
		switch key {
		case "args":
			s.args = strings.Fields(value)
		case "array":
			s.array = value
		case "|":
			s.script += value + "\n"
		case "batch":
			s.batch = value
		case "out":
			s.want = append(s.want, value)
		case "open":
			if s.open, err = strconv.Atoi(value); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("public.txt has a line %q", line)
		}
	}
	return halves
}

// Shapes of public scripts give the outputs that reading them by hand gave, or say what is open.
func TestPublicShapes(t *testing.T) {
	for i, half := range shapes(t) {
		outputs, found, said := 0, 0, 0
		for _, s := range half {
			f := facts(nil)
			f.Args = s.args
			if s.array != "" {
				f.Unset, f.Task = nil, s.array
				f.Vars["SLURM_ARRAY_JOB_ID"], f.Vars["SLURM_ARRAY_TASK_ID"] = "%A", "%a"
			}
			r := Read(s.script, f)
			got := shown(r)
			for _, w := range s.want {
				outputs++
				switch {
				case slices.Contains(got, w):
					found++
				case len(r.Unknown) > 0:
					said++
				}
			}
			if !slices.Equal(got, s.want) || r.Out != s.batch || len(r.Unknown) != s.open {
				t.Errorf("%s\n got %q, batch %q, unknown %q\nwant %q, batch %q, %d unknown", s.name, got, r.Out, r.Unknown, s.want, s.batch, s.open)
			}
		}
		t.Logf("part %d: %d scripts, %d outputs, %d found, %d more said to be open", i+1, len(half), outputs, found, said)
	}
}
