package resolve

import (
	"fmt"
	"strconv"

	"faultline/analysis/worker"
)

// Bubble is how much of a step the stages of a pipeline idle, by the sizes that the job prints.
type Bubble struct {
	Stages, Micro int
	Share         float64 // 0 unknown
	At            worker.At
}

// Bubble computes it: (p−1)/(m+p−1), without interleaving.
func (f *Facts) Bubble() (b Bubble) {
	j := &f.Job
	global, at := f.argument("global_batch_size")
	micro, _ := f.argument("micro_batch_size")
	if j.PP < 2 || j.DP < 1 || global < 1 || micro < 1 {
		return b
	}
	if chunks, _ := f.argument("num_layers_per_virtual_pipeline_stage"); chunks > 0 {
		return b
	}
	b = Bubble{Stages: j.PP, Micro: global / (micro * j.DP), At: at}
	if b.Micro > 0 {
		b.Share = float64(b.Stages-1) / float64(b.Micro+b.Stages-1)
	}
	return b
}

// argument is the whole number that an argument of the job is; 0 where it states none.
func (f *Facts) argument(name string) (int, worker.At) {
	for _, a := range f.Job.Arguments {
		if a.Name == name {
			n, _ := strconv.Atoi(a.Value)
			return n, a.At
		}
	}
	return 0, worker.At{}
}

// Changed are the arguments that the earlier run had otherwise.
func (f *Facts) Changed() (out []string) {
	if f.Preceding == nil {
		return nil
	}
	was := map[string]string{}
	for _, a := range f.Preceding.Job.Arguments {
		was[a.Name] = a.Value
	}
	for _, a := range f.Job.Arguments {
		if v, ok := was[a.Name]; ok && v != a.Value {
			out = append(out, fmt.Sprintf("%s %s → %s", a.Name, v, a.Value))
		}
	}
	return out
}
