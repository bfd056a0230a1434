package resolve

import (
	"cmp"
	"slices"

	"faultline/analysis/artifact/numbers"
	"faultline/analysis/artifact/trace"
	"faultline/analysis/worker"
)

// NumberFile is one table of what the run measured of itself.
type NumberFile struct {
	File  string
	Table *numbers.Table
}

// Tabled is what the tables say, with ranks beside each other where they are stated.
type Tabled struct {
	Files  []string
	Ranks  int // whose numbers are there
	Points []numbers.Point
	Origin *numbers.Origin // nil: not one rank alone
	Splits []numbers.Split
	// Groups are the ranks that a way of dividing the job puts together, by axis; Placed says that columns of the tables state them.
	Groups [numbers.Axes][][]int
	Placed bool
}

// stepsInTables are the steps of a run by its tables, for where no log reports any. What their rows say is restated with the headings.
func stepsInTables(all []NumberFile) (steps []ProgressPoint, restated map[worker.Pos]string) {
	restated = map[worker.Pos]string{}
	for _, x := range slices.SortedFunc(slices.Values(all), func(a, b NumberFile) int { return cmp.Compare(a.File, b.File) }) {
		rank := NoRank
		if id, named := trace.RankOf(x.File); named && !x.Table.Ranked {
			rank = id
		}
		for _, l := range x.Table.Lines {
			pos := worker.Pos{File: x.File, Line: l.At.Line, Off: l.At.Off, Len: l.At.Len}
			p, ok := worker.StepIn(pos, []byte(l.Text))
			if !ok {
				continue
			}
			restated[pos] = l.Text
			steps = append(steps, ProgressPoint{&p, Moment{}, rank})
		}
	}
	return steps, restated
}

// tabledOf puts the tables together. A file whose lines state no rank is of the one in its name.
func tabledOf(all []NumberFile, j *JobFacts, run which, warn *notes) *Tabled {
	if len(all) == 0 {
		return nil
	}
	if !run.last() {
		warn.add("the tables of losses, norms and checksums are not used: they may be from a later run")
		return nil
	}
	m := &Tabled{}
	ranks := map[int]bool{}
	for _, x := range slices.SortedFunc(slices.Values(all), func(a, b NumberFile) int { return cmp.Compare(a.File, b.File) }) {
		m.Files = append(m.Files, x.File)
		id, named := trace.RankOf(x.File)
		for _, r := range x.Table.Rows {
			if !x.Table.Ranked && named {
				r.Rank = id
			}
			if j.WorldSize > 0 && r.Rank >= j.WorldSize {
				continue
			}
			if r.Rank != numbers.None {
				ranks[r.Rank] = true
			}
			m.Points = append(m.Points, numbers.Point{File: x.File, Row: r})
		}
	}
	m.Ranks = len(ranks)
	if o, ok := numbers.FirstNaN(m.Points); ok {
		m.Origin = &o
	}
	m.Splits = numbers.Splits(m.Points)
	m.Groups, m.Placed = numbers.Groups(m.Points), true
	if !slices.ContainsFunc(m.Groups[:], func(g [][]int) bool { return len(g) > 0 }) {
		m.Groups, m.Placed = j.axes(), false
	}
	m.Splits = append(m.Splits, numbers.Within(m.Points, m.Groups)...)
	return m
}

// Replicas says that ranks of a split hold copies of the same parameters: a column of the table says so, or the whole job is data-parallel.
func (f *Facts) Replicas(s *numbers.Split) bool {
	return s.What == numbers.Checksum && (s.Axis == numbers.Data || s.Group != "" || f.Job.WorldSize > 1 && f.Job.DP == f.Job.WorldSize)
}

// axes are the groups that the job's own sizes make, in Megatron's order of ranks.
func (j *JobFacts) axes() (out [numbers.Axes][][]int) {
	for axis, kind := range numbers.AxisNames {
		for _, g := range megatronGroups(kind, *j) {
			if len(g) > 1 {
				out[axis] = append(out[axis], g)
			}
		}
	}
	return out
}

// GroupOf is the group along an axis that holds exactly these ranks; false for none.
func (t *Tabled) GroupOf(ranks []int) (axis int, ok bool) {
	for axis, list := range t.Groups {
		for _, g := range list {
			if slices.Equal(g, ranks) {
				return axis, true
			}
		}
	}
	return 0, false
}

// Holding is the smallest group, along any axis, that holds all of these ranks.
func (t *Tabled) Holding(ranks []int) (axis int, members []int, ok bool) {
	for a, list := range t.Groups {
		for _, g := range list {
			inside := !slices.ContainsFunc(ranks, func(r int) bool { return !slices.Contains(g, r) })
			if inside && (!ok || len(g) < len(members)) {
				axis, members, ok = a, g, true
			}
		}
	}
	return axis, members, ok
}
