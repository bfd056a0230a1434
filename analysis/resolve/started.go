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

// started collects what the run was started with: its name and the arguments that it prints. Of contradicting statements the
// commonest counts, then the smaller: it is never a matter of which file was read first.
func (f *Facts) started(obs *worker.Observations, name string) {
	f.Job.Name, f.Job.Cluster = mostStated(obs, "job_name"), mostStated(obs, "cluster")
	if anyJob[f.Job.Name] {
		f.Job.Name = ""
	}
	if name != "" {
		f.Job.Name = name
	}
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
	for name, values := range byName {
		best := ""
		for v, s := range values {
			if o := values[best]; o == nil || s.n > o.n || s.n == o.n && v < best {
				best = v
			}
		}
		f.Job.Arguments = append(f.Job.Arguments, Argument{name, best, values[best].at})
	}
	slices.SortFunc(f.Job.Arguments, func(a, b Argument) int { return strings.Compare(a.Name, b.Name) })
	f.nameByArguments()
	steps := map[int64]bool{}
	for _, p := range f.Progress {
		if p.Step >= 0 {
			steps[p.Step] = true
		}
	}
	f.Job.StepsLogged = len(steps)
	f.Job.StepsToCome = f.stepsToCome(obs)
}

// endsAt are arguments that say how many steps there are to be: transformers, torchtitan, nanoGPT; Megatron-LM; diffusers; Lightning, NeMo.
var endsAt = map[string]bool{"max_steps": true, "total_steps": true, "train_iters": true, "max_iters": true, "max_train_steps": true, "num_train_steps": true, "num_training_steps": true}

// stepsToCome is how many steps the job is to take in all. A line says what became of the arguments.
func (f *Facts) stepsToCome(obs *worker.Observations) int64 {
	if n, err := strconv.ParseInt(strings.ReplaceAll(mostStated(obs, "steps"), ",", ""), 10, 64); err == nil {
		return n
	}
	for _, a := range f.Job.Arguments {
		name := strings.ReplaceAll(strings.TrimLeft(a.Name[strings.LastIndexByte(a.Name, '.')+1:], "-"), "-", "_")
		if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil && n > 0 && endsAt[name] {
			return n
		}
	}
	return 0
}

// namesRun are arguments that name what is trained, the plainest first: Megatron, NeMo, transformers.
var namesRun = []string{"wandb_exp_name", "exp_manager.name", "experiment_name", "exp_name", "run_name", "name"}

// nameByArguments takes a job's name from its arguments where SLURM's is not printed.
func (f *Facts) nameByArguments() {
	for _, want := range namesRun {
		if f.Job.Name != "" {
			return
		}
		i, ok := slices.BinarySearchFunc(f.Job.Arguments, want, func(a Argument, name string) int { return strings.Compare(a.Name, name) })
		if !ok {
			continue
		}
		switch v := f.Job.Arguments[i].Value; strings.ToLower(v) {
		case "none", "null", "true", "false", "default":
		default:
			f.Job.Name = v
		}
	}
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
