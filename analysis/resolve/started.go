package resolve

import (
	"slices"
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
func (f *Facts) started(obs *worker.Observations) {
	f.Job.Name, f.Job.Cluster = mostStated(obs, "job_name"), mostStated(obs, "cluster")
	if anyJob[f.Job.Name] {
		f.Job.Name = ""
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
	steps := map[int64]bool{}
	for _, p := range f.Progress {
		if p.Step >= 0 {
			steps[p.Step] = true
		}
	}
	f.Job.StepsLogged = len(steps)
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
