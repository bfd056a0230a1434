package repro

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"faultline/incident"
	"faultline/pattern"
)

// Test is how the program of bot probe is run for a report: with the job's own numbers, on the nodes in question. Each argument is a number, a
// name from a table of ours, or a plain path.
type Test struct {
	Args  []string
	Nodes []string // to run it on besides a node that is well; none: any
	Says  string   // what is the job's own about it, one sentence; ""
}

// Command is the line to run; file is what the program is called.
func (t Test) Command(component, file string) string {
	words := []string{"srun", "--ntasks-per-node=N", "--gpus-per-node=N"}
	if len(t.Nodes) > 0 {
		words = append(words, "--nodelist="+strings.Join(t.Nodes, ",")+",GOOD")
	}
	words = append(append(words, "python3", file, component), t.Args...)
	return strings.Join(words, " ") + " > result.txt; bot probe result.txt"
}

// TestOf fills in the test of a component.
func TestOf(r *incident.Report, component string) Test {
	switch component {
	case "memory":
		return allocation(r)
	case "compute":
		t := Test{Nodes: few(nodes(r))}
		if d := trainedIn(r); d != "" {
			t.Args = []string{"--dtype", d}
			t.Says = fmt.Sprintf("It computes in %s, as the job did.", d)
		}
		return t
	case "data":
		t := Test{Nodes: few(nodes(r))}
		if i := r.Verdict.Root.Item; i != nil && plainPath.MatchString(*i) && path.IsAbs(*i) {
			t.Args = []string{"--data", path.Dir(path.Clean(*i))}
			t.Says = "It reads the folder of the file that the failure names."
		}
		return t
	}
	return Test{}
}

// mostNodes is from how many nodes on none is in question more than others.
const mostNodes = 4

func few(names []string) []string {
	if len(names) > mostNodes {
		return nil
	}
	return names
}

var (
	plainPath = pattern.New(`^/[A-Za-z0-9_./-]{1,300}$`)
	// The numbers of PyTorch's allocator, as c10/cuda/CUDACachingAllocator.cpp prints them since 1.0.
	wanted    = pattern.New(`Tried to allocate ([\d.]{1,12}) ([KMGT]iB)`)
	allocated = pattern.New(`(?:Of the allocated memory ([\d.]{1,12}) ([KMGT]iB) is allocated by PyTorch|; ([\d.]{1,12}) ([KMGT]iB) already allocated)`)
)

// gib are the units of the allocator in GiB.
var gib = map[string]float64{"KiB": 1.0 / (1 << 20), "MiB": 1.0 / (1 << 10), "GiB": 1, "TiB": 1 << 10}

// allocation is what the job held when it ran out of memory, and what it wanted then.
func allocation(r *incident.Report) Test {
	for _, l := range r.Chain {
		for _, e := range l.Evidence {
			want, have := wanted.FindStringSubmatch(e.Text), allocated.FindStringSubmatch(e.Text)
			if want == nil || have == nil {
				continue
			}
			then, held := amount(want[1], want[2]), amount(have[1]+have[3], have[2]+have[4])
			if then <= 0 || held <= 0 {
				continue
			}
			return Test{Args: []string{"--held", short(held), "--then", short(then)}, Says: fmt.Sprintf(
				"It allocates %s GiB and then %s GiB more, as the job did. If both fit, fragments or another process took the rest.", short(held), short(then))}
		}
	}
	return Test{}
}

func amount(number, unit string) float64 {
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0
	}
	return v * gib[unit]
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// trainedIn is the type that a program says it computes in, "" where it does not.
func trainedIn(r *incident.Report) string {
	types := map[string]string{"bf16": "bfloat16", "bfloat16": "bfloat16", "bf16-mixed": "bfloat16", "torch.bfloat16": "bfloat16",
		"fp16": "float16", "float16": "float16", "half": "float16", "16-mixed": "float16", "torch.float16": "float16"}
	for _, a := range r.Job.Arguments {
		name, value := strings.ToLower(a.Name[strings.LastIndex(a.Name, ".")+1:]), strings.ToLower(a.Value)
		switch {
		case types[name] != "" && value == "true":
			return types[name]
		case slices.Contains([]string{"dtype", "precision", "params_dtype", "torch_dtype", "mixed_precision"}, name) && types[value] != "":
			return types[value]
		}
	}
	return ""
}
