package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Group are elements of an array that ended alike.
type Group struct {
	Fate  string
	Tasks []int // ascending
}

// Summary is what an array's own id is answered with.
type Summary struct {
	Total, Failed, Going int
	Groups               []Group // of the failed, the largest first
}

// Summarize groups the elements of an array by how they ended.
func Summarize(jobs []Job) Summary {
	s := Summary{Total: len(jobs)}
	by := map[string]*Group{}
	for i := range jobs {
		j := &jobs[i]
		r, _ := j.Subject()
		if r == nil || !r.Started() || !r.Ended() {
			s.Going++
			continue
		}
		fate := r.Fate()
		if !fate.Bad {
			continue
		}
		s.Failed++
		g := by[fate.String()]
		if g == nil {
			g = &Group{Fate: fate.String()}
			by[fate.String()] = g
		}
		g.Tasks = append(g.Tasks, j.Task)
	}
	for _, g := range by {
		slices.Sort(g.Tasks)
		s.Groups = append(s.Groups, *g)
	}
	slices.SortFunc(s.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(len(b.Tasks), len(a.Tasks)), cmp.Compare(a.Fate, b.Fate))
	})
	return s
}

// groupsSaid is how many groups a sentence holds.
const groupsSaid = 4

// String is the sentence: 37 of 200 failed: 35 alike (FAILED (1:0) in step 0), 2 other.
func (s Summary) String() string {
	if s.Failed == 0 {
		return fmt.Sprintf("none of %d failed", s.Total)
	}
	head := fmt.Sprintf("%d of %d failed", s.Failed, s.Total)
	if s.Going > 0 {
		head += fmt.Sprintf(", %d have not ended", s.Going)
	}
	var parts []string
	left := s.Failed
	for i, g := range s.Groups {
		if i == groupsSaid {
			parts = append(parts, fmt.Sprintf("%d other", left))
			break
		}
		what := "alike"
		if i > 0 || len(g.Tasks) == 1 {
			what = "with"
		}
		left -= len(g.Tasks)
		if what == "alike" {
			parts = append(parts, fmt.Sprintf("%d alike, %s", len(g.Tasks), g.Fate))
		} else {
			parts = append(parts, fmt.Sprintf("%d %s %s", len(g.Tasks), what, g.Fate))
		}
	}
	return head + ": " + strings.Join(parts, "; ")
}

// Representative is the element to look at first: the lowest of the largest group of failed ones.
func (s Summary) Representative() (task int, ok bool) {
	if len(s.Groups) == 0 {
		return None, false
	}
	return s.Groups[0].Tasks[0], true
}
