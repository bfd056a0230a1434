package resolve

import (
	"slices"

	"faultline/analysis/worker"
)

// rollCall keeps the numbers by which processes call themselves where they are proven to be global ranks, and says how many there are: lines of
// the same words give each number from 0 on, each number in one file alone, and no other line of those files has a rank that is not called.
// Local ranks begin at 0 again on every node. There may still be more processes than are called, on a node whose log is not here.
func rollCall(obs *worker.Observations) (*worker.Observations, int) {
	in := map[string]map[int]string{} // words → rank → file
	spoilt := map[string]bool{}
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
