package resolve

import (
	"fmt"
	"strconv"
	"strings"

	"faultline/analysis/worker"
	"faultline/incident"
)

// statements are what lines state of the job: how often each value of a key is said, and where first.
type statements struct {
	votes map[string]map[string]int // key → value → lines
	first map[statement]*worker.At
}

type statement struct{ key, value string }

func statementsOf(facts []worker.Fact) statements {
	s := statements{votes: map[string]map[string]int{}, first: map[statement]*worker.At{}}
	for i := range facts {
		x := &facts[i]
		if s.votes[x.Key] == nil {
			s.votes[x.Key] = map[string]int{}
		}
		s.votes[x.Key][x.Value]++
		if k := (statement{x.Key, x.Value}); s.first[k] == nil {
			s.first[k] = &x.At
		}
	}
	return s
}

// value is what most lines state; ties go to the larger number.
func (s statements) value(key string) (string, *worker.At) {
	best, n := "", 0
	for v, k := range s.votes[key] {
		if k > n || (k == n && larger(v, best)) {
			best, n = v, k
		}
	}
	return best, s.first[statement{key, best}]
}

// number is the value as a number, 0 where it is none.
func (s statements) number(key string) int {
	v, _ := s.value(key)
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0
	}
	return n
}

// agree reports whether no more than one value is stated for these keys together.
func (s statements) agree(keys ...string) bool {
	n := 0
	for _, k := range keys {
		n += len(s.votes[k])
	}
	return n < 2
}

// jobOf collects the job's own statements. Of contradicting values the commonest wins; ties go to the larger number.
func jobOf(in Input, obs *worker.Observations, warn *notes) (j JobFacts, w world) {
	said := statementsOf(obs.Facts)
	if j.ID = in.JobID; j.ID == "" {
		j.ID, _ = said.value("job_id")
	}
	j.Framework = frameworksOf(obs)
	j.Task, _ = said.value("task")
	j.DataSource, _ = said.value("data_source")
	j.PerNode = said.number("ranks_per_node")
	j.TP, j.CP, j.EP, j.DP, j.PP = said.number("tp"), said.number("cp"), said.number("ep"), said.number("dp"), said.number("pp")
	for _, v := range []string{"torch_version", "nccl_version", "cuda_version", "driver_version", "python_version"} {
		if s, _ := said.value(v); s != "" {
			j.Versions = append(j.Versions, incident.NameOf{Name: strings.TrimSuffix(v, "_version"), Value: s, Note: "printed by the job"})
		}
	}
	if _, at := said.value("exit_ok"); at != nil {
		j.ExitOK = at
	}
	j.ResumedFrom = resumedFrom(obs.Checkpoints)
	for asked := in.WorldSize; ; asked = 0 { // where the operator's number is wrong, the job's own may be right
		var doubt string
		if w, doubt = worldOf(asked, obs, said).plausible(obs); doubt == "" {
			return j, w
		}
		if warn.add("%s", doubt); asked == 0 {
			return j, w
		}
	}
}

// world is how many ranks a job has, with who states it and where; 0 where nothing does.
type world struct {
	size int
	from string
	at   *worker.At
}

// or is another statement of it where there is none, unless the logs contradict that one.
func (w world) or(o world, obs *worker.Observations, warn *notes) world {
	if w.size > 0 {
		return w
	}
	o, doubt := o.plausible(obs)
	if doubt != "" {
		warn.add("%s", doubt)
	}
	return o
}

// worldOf takes the first that states it: who asks, the job, its launchers, what these were told to start.
func worldOf(asked int, obs *worker.Observations, said statements) world {
	if asked > 0 {
		return world{asked, "--world-size", nil}
	}
	if n := said.number("world_size"); n > 0 {
		_, at := said.value("world_size")
		return world{n, "the job's own statement", at}
	}
	if w := launchersWorld(obs); w.size > 0 {
		return w
	}
	if w := placesWorld(obs); w.size > 0 {
		return w
	}
	return argumentsWorld(said)
}

// launchersWorld is what most lines of launchers and of processes that introduce themselves state; ties go to the larger number.
func launchersWorld(obs *worker.Observations) world {
	lines, first := map[int]int{}, map[int]*worker.At{}
	note := func(n int, at *worker.At) {
		if lines[n]++; first[n] == nil {
			first[n] = at
		}
	}
	for i := range obs.Identities {
		note(obs.Identities[i].World, &obs.Identities[i].At)
	}
	for i := range obs.Rendezvous {
		note(obs.Rendezvous[i].WorldSize, &obs.Rendezvous[i].At)
	}
	for i := range obs.Barriers {
		note(int(obs.Barriers[i].World), &obs.Barriers[i].At)
	}
	best := 0
	for n, k := range lines {
		if n > 0 && (k > lines[best] || best == 0 || k == lines[best] && n > best) {
			best = n
		}
	}
	return world{best, "the launcher's statement", first[best]}
}

// argumentsWorld is what a launcher was told to start, where that is one number.
func argumentsWorld(said statements) world {
	if !said.agree("launch_procs") || !said.agree("launch_world") || !said.agree("launch_nodes", "launch_one") {
		return world{}
	}
	most, least := said.number("launch_most"), said.number("launch_least")
	if most == 0 && least == 0 {
		most = max(said.number("launch_nodes"), said.number("launch_one"))
		least = most
	}
	n, key := said.number("launch_procs")*most, "launch_procs"
	if n == 0 || most != least {
		n, key = said.number("launch_world"), "launch_world"
	}
	if n <= 0 {
		return world{}
	}
	_, at := said.value(key)
	return world{n, "the launcher's arguments", at}
}

// resumedFrom is the first checkpoint that was loaded; where none is said to have been, the first whose loading began.
func resumedFrom(saves []worker.Checkpoint) *worker.Checkpoint {
	var begun *worker.Checkpoint
	for i := range saves {
		switch c := &saves[i]; {
		case c.Kind == worker.LoadDone:
			return c
		case c.Kind == worker.LoadStart && begun == nil:
			begun = c
		}
	}
	return begun
}

// plausible takes back a world size that the ranks in the logs contradict, or that no job has, and says why: it is better unknown.
func (w world) plausible(obs *worker.Observations) (_ world, doubt string) {
	most := -1
	for _, t := range obs.Tails {
		for _, w := range t.Writers {
			if w.Who.Global < MaxWorld {
				most = max(most, w.Who.Global)
			}
		}
	}
	for _, x := range obs.Identities {
		if x.Global < MaxWorld {
			most = max(most, x.Global)
		}
	}
	switch {
	case w.size > MaxWorld:
		return world{}, fmt.Sprintf("ignored a world size of %d (%s): it exceeds %d ranks", w.size, w.from, MaxWorld)
	case w.size > 0 && most >= w.size:
		return world{}, fmt.Sprintf("%d ranks were stated (%s), but rank %d appears, so the number of ranks is treated as unknown", w.size, w.from, most)
	}
	return w, ""
}

func larger(a, b string) bool {
	x, e1 := strconv.Atoi(a)
	y, e2 := strconv.Atoi(b)
	if e1 == nil && e2 == nil {
		return x > y
	}
	return b == "" || a < b
}
