package resolve

import (
	"fmt"
	"strconv"

	"faultline/analysis/worker"
	"faultline/pattern"
)

// Bubble is how much of a step the stages of a pipeline idle, by the sizes that the job prints.
type Bubble struct {
	Stages, Micro int
	Share         float64 // 0 unknown
	At            worker.At
}

// Bubble computes it: (p−1)/(m+p−1), without interleaving.
func (f *Facts) Bubble() Bubble {
	j := &f.Job
	global, at := f.argument("global_batch_size")
	micro, _ := f.argument("micro_batch_size")
	if j.PP < 2 || j.DP < 1 || global < 1 || micro < 1 {
		return Bubble{}
	}
	if chunks, _ := f.argument("num_layers_per_virtual_pipeline_stage"); chunks > 0 {
		return Bubble{}
	}
	return bubble(j.PP, global/(micro*j.DP), at)
}

func bubble(stages, micro int, at worker.At) Bubble {
	b := Bubble{Stages: stages, Micro: micro, At: at}
	if stages > 1 && micro > 0 {
		b.Share = float64(stages-1) / float64(micro+stages-1)
	}
	return b
}

// Bubbles are those of this run and of the earlier one: by their arguments, else by what either says of its pipeline before the first step.
func (f *Facts) Bubbles() (is, was Bubble) {
	if is, was = f.Bubble(), f.Preceding.Bubble(); is.Share > 0 && was.Share > 0 {
		return is, was
	}
	for i := range f.Preceding.Otherwise {
		o := &f.Preceding.Otherwise[i]
		if is, was = bubbleIn(o.Is, o.IsAt), bubbleIn(o.Was, o.WasAt); is.Share > 0 && was.Share > 0 {
			return is, was
		}
	}
	return Bubble{}, Bubble{}
}

var (
	micros = pattern.New(`(?i)(\d+) (?:micro-?batches|chunks)\b|(?:\b|_)micro_?batches[ =:(]+(\d+)`)
	stages = pattern.New(`(?i)(\d+) (?:pipeline )?stages\b|(?:\b|_)stages[ =:(]+(\d+)`)
)

// bubbleIn is that of a line that states both sizes.
func bubbleIn(text string, at worker.At) Bubble {
	m, p := micros.FindStringSubmatch(text), stages.FindStringSubmatch(text)
	if m == nil || p == nil {
		return Bubble{}
	}
	micro, _ := strconv.Atoi(m[1] + m[2])
	all, _ := strconv.Atoi(p[1] + p[2])
	return bubble(all, micro, at)
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
