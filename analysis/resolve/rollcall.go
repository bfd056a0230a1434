package resolve

import (
	"iter"
	"slices"
	"strconv"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// ownCall is the call of processes that give their rank in their first lines or in their step lines.
const ownCall = "own lines"

// ownCalls adds to what processes say of themselves the ranks that they give in lines without a label, once for each file.
func ownCalls(obs *worker.Observations) *worker.Observations {
	type call struct {
		file string
		rank int
	}
	called := map[call]bool{}
	out := *obs
	out.Identities = slices.Clone(obs.Identities)
	for at, rank := range ownRanks(obs) {
		if c := (call{at.File, rank}); !called[c] {
			called[c] = true
			out.Identities = append(out.Identities, worker.Identity{At: *at, Global: rank, Local: line.Unknown, World: line.Unknown, Call: ownCall})
		}
	}
	if len(called) == 0 {
		return obs
	}
	return &out
}

// ownRanks are the ranks that lines without a label give as their writer's: the first lines of a file, and step lines.
func ownRanks(obs *worker.Observations) iter.Seq2[*worker.At, int] {
	return func(yield func(*worker.At, int) bool) {
		for i := range obs.Facts {
			x := &obs.Facts[i]
			if x.Key != worker.RankSaid {
				continue
			}
			if rank, err := strconv.Atoi(x.Value); err == nil && rank < MaxWorld && !yield(&x.At, rank) {
				return
			}
		}
		for i := range obs.Progress {
			p := &obs.Progress[i]
			if p.Loop > 0 && p.Loop <= MaxWorld && *p.Who() == line.NoOne && !yield(&p.At, p.Loop-1) {
				return
			}
		}
	}
}

// rollCall keeps the numbers by which processes call themselves where they are proven to be global ranks, and says how many there are: lines of
// the same words give each number from 0 on, each number in one file alone, and no other line of those files has a rank that is not called.
// Local ranks begin at 0 again on every node. There may still be more processes than are called, on a node whose log is not here.
func rollCall(obs *worker.Observations) (*worker.Observations, int) {
	in := map[string]map[int]string{} // words → rank → file
	spoilt := map[string]bool{worker.TaskNumber: !slices.ContainsFunc(obs.Identities, func(x worker.Identity) bool { return x.Call == worker.TaskNumber && x.Local > 0 })}
	for i := range obs.Identities {
		x := &obs.Identities[i]
		if x.Call == "" || x.Global < 0 {
			continue
		}
		if in[x.Call] == nil {
			in[x.Call] = map[int]string{}
		}
		if file, called := in[x.Call][x.Global]; called && file != x.File {
			spoilt[x.Call] = true
		}
		in[x.Call][x.Global] = x.File
	}
	if len(in) == 0 {
		return obs, 0
	}
	ranks := 0
	for call, files := range in {
		if spoilt[call] || len(files) < 2 || !gapFree(files) || labelledOtherwise(obs, files) {
			spoilt[call] = true
			continue
		}
		ranks = max(ranks, len(files))
	}
	out := *obs
	out.Identities = slices.DeleteFunc(slices.Clone(obs.Identities), func(x worker.Identity) bool { return x.Call != "" && spoilt[x.Call] })
	return &out, ranks
}

func gapFree(ranks map[int]string) bool {
	for r := range ranks {
		if r >= len(ranks) {
			return false
		}
	}
	return true
}

// labelledOtherwise says that a file in which ranks are called holds lines of a rank that is not called there.
func labelledOtherwise(obs *worker.Observations, called map[int]string) bool {
	files := map[string]bool{}
	for _, file := range called {
		files[file] = true
	}
	for _, t := range obs.Tails {
		for i := range t.Writers {
			if id := t.Writers[i].Who.Global; id >= 0 && files[t.File] && called[id] != t.File {
				return true
			}
		}
	}
	return slices.ContainsFunc(obs.ChildFailed, func(c worker.ChildFailed) bool { return c.Rank >= 0 && files[c.File] && called[c.Rank] != c.File })
}
