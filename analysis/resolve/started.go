package resolve

import (
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/worker"
)

// Argument is one thing that the program was started with, as a line of its own says.
type Argument struct {
	Name, Value string
	At          worker.At
}

// maxArguments bounds what is kept of a job; frameworks have some hundred.
const maxArguments = 1024

// argumentsOf collects the arguments that the run prints, by name. Of contradicting statements the commonest counts, then the smaller: it is
// never a matter of which file was read first.
func argumentsOf(obs *worker.Observations) []Argument {
	type said struct {
		at worker.At
		n  int
	}
	byName := map[string]map[string]*said{}
	for _, a := range obs.Arguments {
		if byName[a.Name] == nil {
			if len(byName) == maxArguments {
				continue
			}
			byName[a.Name] = map[string]*said{}
		}
		if s := byName[a.Name][a.Value]; s != nil {
			s.n++
		} else {
			byName[a.Name][a.Value] = &said{a.At, 1}
		}
	}
	var out []Argument
	for name, values := range byName {
		best := ""
		for v, s := range values {
			if o := values[best]; o == nil || s.n > o.n || s.n == o.n && v < best {
				best = v
			}
		}
		out = append(out, Argument{name, best, values[best].at})
	}
	slices.SortFunc(out, func(a, b Argument) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// stepsLogged is how many steps lines report.
func stepsLogged(progress []ProgressPoint) int {
	steps := map[int64]bool{}
	for _, p := range progress {
		if p.Step >= 0 {
			steps[p.Step] = true
		}
	}
	return len(steps)
}

// endsAt are arguments that say how many steps there are to be: transformers, torchtitan, nanoGPT; Megatron-LM; diffusers; Lightning, NeMo.
var endsAt = map[string]bool{"max_steps": true, "total_steps": true, "train_iters": true, "max_iters": true, "max_train_steps": true, "num_train_steps": true, "num_training_steps": true}

// stepsToCome is how many steps the job is to take in all. A line says what became of the arguments.
func stepsToCome(obs *worker.Observations, arguments []Argument) int64 {
	if n, err := strconv.ParseInt(strings.ReplaceAll(mostStated(obs, "steps"), ",", ""), 10, 64); err == nil {
		return n
	}
	for _, a := range arguments {
		name := strings.ReplaceAll(strings.TrimLeft(a.Name[strings.LastIndexByte(a.Name, '.')+1:], "-"), "-", "_")
		if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil && n > 0 && endsAt[name] {
			return n
		}
	}
	return 0
}

// namesRun are arguments that name what is trained, the plainest first: Megatron, NeMo, transformers.
var namesRun = []string{"wandb_exp_name", "exp_manager.name", "experiment_name", "exp_name", "run_name", "name"}

// nameOf is the job's name: as the operator states it, as SLURM prints it, or else by the arguments.
func nameOf(asked string, obs *worker.Observations, arguments []Argument) string {
	if asked != "" {
		return asked
	}
	if name := mostStated(obs, "job_name"); name != "" && !anyJob[name] {
		return name
	}
	for _, want := range namesRun {
		i, ok := slices.BinarySearchFunc(arguments, want, func(a Argument, name string) int { return strings.Compare(a.Name, name) })
		if !ok {
			continue
		}
		switch v := arguments[i].Value; strings.ToLower(v) {
		case "", "none", "null", "true", "false", "default":
		default:
			return v
		}
	}
	return ""
}

// anyJob are the names that SLURM gives where nobody chose one: they make no two jobs the same.
var anyJob = map[string]bool{"bash": true, "sh": true, "zsh": true, "wrap": true, "interactive": true, "sbatch": true, "srun": true, "python": true, "python3": true}

// mostStated is the value of a fact that most lines state.
func mostStated(obs *worker.Observations, key string) string {
	votes := map[string]int{}
	best := ""
	for i := range obs.Facts {
		if x := &obs.Facts[i]; x.Key == key {
			votes[x.Value]++
		}
	}
	for v, n := range votes {
		if n > votes[best] || n == votes[best] && (best == "" || v < best) {
			best = v
		}
	}
	return best
}

// Stated is the first line that states a fact, nil where none does.
func (f *Facts) Stated(key, value string) *worker.At {
	for i := range f.Obs.Facts {
		if x := &f.Obs.Facts[i]; x.Key == key && x.Value == value {
			return &x.At
		}
	}
	return nil
}
