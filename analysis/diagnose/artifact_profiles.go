package diagnose

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"faultline/analysis/artifact/folded"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

const (
	// oddShare is by how much a process's share of time in a function has to exceed that of the others, in parts of the whole.
	oddShare = 0.2
	// sameShare is how far below the greatest difference the inner calls may be that explain it.
	sameShare = 0.05
	// compared is how many processes are the fewest that can be compared: of two, nothing tells which one is usual.
	compared = 3
	// fewSamples are too few for shares.
	fewSamples = 20
	// mostInner is how many functions are named of one process.
	mostInner = 3
	// noteworthy is the smallest share that is named.
	noteworthy = 0.05
)

// profilesArtifact says where the time of each process went, and first whose went elsewhere than the others'.
func profilesArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "folded-stacks", Title: "Sampled stacks (flame graphs)",
		Limits: "Shares are of samples, not of one step. A profiler that leaves out idle threads doesn't show waiting, and GPU kernels run outside of all of it."}
	all := f.Profiles()
	for _, p := range all {
		a.Files = append(a.Files, p.File)
	}
	if len(all) == 0 {
		return a, false
	}
	all = slices.DeleteFunc(all, func(p resolve.Profiled) bool { return p.Profile.Samples < fewSamples })
	odd := oddProfiles(all)
	a.Findings = append(a.Findings, odd...)
	if len(odd) == 0 {
		if len(all) >= compared {
			a.Findings = append(a.Findings, incident.Finding{Statement: fmt.Sprintf("no function took %s more of one process's time than of the median of the other %d", percent(oddShare), len(all)-1), Evidence: []incident.Evidence{}})
		}
		for _, p := range all[:min(len(all), maxFindings-1)] {
			a.Findings = append(a.Findings, innermost(p))
		}
	}
	return a, true
}

// oddProfiles compares processes: whose time went where the others' did not, the greatest difference first.
func oddProfiles(all []resolve.Profiled) []incident.Finding {
	if len(all) < compared {
		return nil
	}
	type odd struct {
		by float64
		f  incident.Finding
	}
	var out []odd
	for i, p := range all {
		c, more, usual := mostApart(all, i)
		if c == nil {
			continue
		}
		text := fmt.Sprintf("%s spent %s of its time in %s, the other %d a median of %s", ofProfile(p), percent(usual+more), c.Name, len(all)-1, percent(usual))
		out = append(out, odd{more, incident.Finding{Statement: text, Evidence: stackLine(p, c)}})
	}
	slices.SortStableFunc(out, func(a, b odd) int { return cmp.Compare(b.by, a.by) })
	var fs []incident.Finding
	for _, o := range out {
		fs = append(fs, o.f)
	}
	return fs
}

// mostApart is the innermost function that explains where the time of one process went and that of the others did not; nil where none does.
func mostApart(all []resolve.Profiled, of int) (at *folded.Call, more, usual float64) {
	p := all[of].Profile
	type found struct {
		c           *folded.Call
		more, usual float64
	}
	var list []found
	for i := range p.Calls {
		c := &p.Calls[i]
		share := float64(c.Total) / float64(p.Samples)
		if share < oddShare {
			continue
		}
		var others []float64
		for k := range all {
			if k != of {
				others = append(others, all[k].Profile.Share(c.Name))
			}
		}
		if m := middle(others); share-m >= oddShare {
			list = append(list, found{c, share - m, m})
			more = max(more, share-m)
		}
	}
	depth := -1
	for _, x := range list {
		if x.more >= more-sameShare && x.c.Depth > depth {
			depth, at, usual = x.c.Depth, x.c, x.usual
		}
	}
	if at == nil {
		return nil, 0, 0
	}
	return at, float64(at.Total)/float64(p.Samples) - usual, usual
}

func middle(list []float64) float64 {
	slices.Sort(list)
	if n := len(list); n%2 == 0 {
		return (list[n/2-1] + list[n/2]) / 2
	}
	return list[len(list)/2]
}

// innermost says in which functions a process was seen at work most.
func innermost(p resolve.Profiled) incident.Finding {
	calls := slices.Clone(p.Profile.Calls)
	slices.SortStableFunc(calls, func(a, b folded.Call) int { return cmp.Compare(b.Self, a.Self) })
	var parts []string
	for _, c := range calls[:min(len(calls), mostInner)] {
		if share := float64(c.Self) / float64(p.Profile.Samples); share >= noteworthy || len(parts) == 0 {
			parts = append(parts, percent(share)+" in "+c.Name)
		}
	}
	return incident.Finding{Statement: fmt.Sprintf("%s: of %d samples, %s", ofProfile(p), p.Profile.Samples, strings.Join(parts, ", ")), Evidence: stackLine(p, &calls[0])}
}

// stackLine quotes the line with most samples of a function.
func stackLine(p resolve.Profiled, c *folded.Call) []incident.Evidence {
	name := strings.TrimSuffix(c.Name, ")") // the line has a number there
	name, _, _ = strings.Cut(name, folded.AnyAddress)
	return []incident.Evidence{mechanism.QuotePlace(p.File, c.Most.Place, &incident.Predicate{Literals: []string{name}})}
}

func ofProfile(p resolve.Profiled) string {
	switch {
	case p.Rank != resolve.NoRank && p.Node != "":
		return fmt.Sprintf("rank %d on %s", p.Rank, p.Node)
	case p.Rank != resolve.NoRank:
		return fmt.Sprintf("rank %d", p.Rank)
	}
	return "the process in " + path.Base(p.File)
}
