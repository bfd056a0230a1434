package resolve

import (
	"cmp"
	"slices"
	"strings"

	"faultline/analysis/artifact/frtrace"
	"faultline/analysis/artifact/lines"
	"faultline/analysis/artifact/recorder"
	"faultline/analysis/worker"
)

// FileAnalysis is what torchfrtrace printed into a file.
type FileAnalysis struct {
	File     string
	Analysis *frtrace.Analysis
}

// Analysed is what torchfrtrace says of one collective of this job.
type Analysed struct {
	*frtrace.Report
	File    string
	Default bool // of the group of all ranks
}

// PlaceIn is where a line of text evidence stands.
func PlaceIn(file string, p lines.Place) worker.At {
	return worker.At{Pos: worker.Pos{File: file, Line: p.Line, Off: p.Offset, Len: p.Len}}
}

// analysedOf takes over what torchfrtrace says of this job: a report whose default group has another size is of another one. Where nothing
// states the number of ranks, that group does.
func analysedOf(files []FileAnalysis, w world, obs *worker.Observations, warn *notes) (all []Analysed, _ world) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b FileAnalysis) int { return cmp.Compare(a.File, b.File) })
	size := 0
	for _, x := range files {
		var of []Analysed
		other := 0
		for i := range x.Analysis.Reports {
			r := &x.Analysis.Reports[i]
			a := Analysed{Report: r, File: x.File, Default: r.Group == "0" || strings.HasPrefix(r.Group, "0:") || strings.HasSuffix(r.Group, ":default_pg")}
			most := max(r.World-1, slices.Max(append([]int{-1}, slices.Concat(r.Missing, r.Expected, r.Culprits)...)))
			if w.size > 0 && (most >= w.size || a.Default && r.World > 0 && r.World != w.size) {
				other = max(other, r.World, most+1)
				continue
			}
			if a.Default && r.World > 1 {
				size = r.World
			}
			of = append(of, a)
		}
		if other > 0 {
			warn.add("%s is not used: its torchfrtrace output is from a job with %d ranks, and this job has %d (%s)", x.File, other, w.size, w.from)
			continue
		}
		all = append(all, of...)
	}
	if size < 2 || size > MaxWorld {
		return all, w
	}
	return all, w.or(world{size, "the default group as torchfrtrace printed it", nil}, obs, warn)
}

// analysedThen leaves out what torchfrtrace says of another moment: of a collective that the members had left far behind by what their
// watchdogs say, or had not come near.
func (g *grouper) analysedThen(all []Analysed) []Analysed {
	told := map[string]bool{}
	return slices.DeleteFunc(all, func(a Analysed) bool {
		guid, desc, _ := strings.Cut(a.Group, ":")
		completed, issued := g.stated(worker.GroupRef{Known: true, GUID: guid, Desc: desc})
		if a.Seq < 0 || completed == recorder.None || a.Seq+apart >= completed && a.Seq <= issued+apart {
			return false
		}
		if !told[a.File] {
			g.warn.add("%s is not used for group %s: its torchfrtrace output is for collective #%d but the watchdogs were at #%d, so it is from another moment or run", a.File, a.Group, a.Seq, completed+1)
		}
		told[a.File] = true
		return true
	})
}
