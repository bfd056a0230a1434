package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/stacks"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// standing are processes that stood in the same place.
type standing struct {
	words string
	of    []*resolve.Stood
	order int // the odd ones first
}

// stacksArtifact says where the ranks stood, the odd ones out first.
func stacksArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "stacks", Title: "Process stacks",
		Limits: "They are snapshots of one moment. A rank waiting for its GPU or in a collective may be waiting for any other rank. One dump can't tell slow from stuck: take a second one a minute later."}
	if len(f.Stood)+len(f.Listed) == 0 {
		return a, false
	}
	files := map[string]bool{}
	for _, s := range f.Stood {
		files[s.File] = true
		if s.Kernel != nil {
			files[s.Kernel.File] = true
		}
	}
	for _, l := range f.Listed {
		files[l.File] = true
	}
	for name := range files {
		a.Files = append(a.Files, name)
	}
	slices.Sort(a.Files)
	if moved, ok := movedFinding(f); ok {
		a.Findings = append(a.Findings, moved)
	}
	for _, g := range together(f.Stood, stacks.Trainer) {
		if len(a.Findings) == maxFindings-2 {
			break
		}
		a.Findings = append(a.Findings, g.finding(f))
	}
	for _, g := range together(f.Stood, stacks.LoaderWorker) {
		a.Findings = append(a.Findings, g.finding(f))
		break // where most of them stood
	}
	if s, ok := sleepers(f); ok {
		a.Findings = append(a.Findings, s)
	}
	return a, true
}

// together puts processes of a kind together that stood in the same place: where few stood first, where all wait last.
func together(all []*resolve.Stood, kind stacks.Kind) []*standing {
	by := map[string]*standing{}
	var out []*standing
	for _, s := range all {
		if s.Kind != kind || s.Tool == stacks.Kernel && s.Place() == stacks.Nowhere {
			continue
		}
		words := mechanism.StoodWords(s)
		g := by[words]
		if g == nil {
			g = &standing{words: words}
			switch p := s.Place(); {
			case p.Holds():
			case !p.Waits():
				g.order = 1
			default:
				g.order = 2
			}
			by[words], out = g, append(out, g)
		}
		g.of = append(g.of, s)
	}
	slices.SortStableFunc(out, func(a, b *standing) int {
		if kind != stacks.Trainer {
			return cmp.Or(cmp.Compare(len(b.of), len(a.of)), strings.Compare(a.words, b.words))
		}
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(len(a.of), len(b.of)), strings.Compare(a.words, b.words))
	})
	return out
}

// finding says who stood there, and quotes one of them.
func (g *standing) finding(f *resolve.Facts) incident.Finding {
	first := g.of[0]
	who := whoStood(g.of)
	verb := "was"
	if len(g.of) > 1 {
		verb = "were"
	}
	text := fmt.Sprintf("%s %s %s", who, verb, g.words)
	if n := f.Job.WorldSize; n > 0 && len(g.of) == n && first.Kind == stacks.Trainer && allRanks(g.of) {
		text = fmt.Sprintf("all %d ranks were %s", n, g.words)
	}
	return incident.Finding{Statement: text, Evidence: mechanism.StackEvidence(first)}
}

func allRanks(of []*resolve.Stood) bool {
	return !slices.ContainsFunc(of, func(s *resolve.Stood) bool { return s.Rank == resolve.NoRank })
}

// whoStood names processes: ranks, or how many on which nodes.
func whoStood(of []*resolve.Stood) string {
	if len(of) == 1 {
		if of[0].Kind != stacks.Trainer {
			return "1 " + string(of[0].Kind) + onNodes(of)
		}
		return of[0].Describe()
	}
	if of[0].Kind == stacks.Trainer && allRanks(of) {
		var ids []int
		for _, s := range of {
			ids = append(ids, s.Rank)
		}
		slices.Sort(ids)
		return "ranks " + mechanism.Ranges(slices.Compact(ids))
	}
	what := "processes"
	if of[0].Kind != stacks.Trainer {
		what = string(of[0].Kind) + "s"
	}
	return strconv.Itoa(len(of)) + " " + what + onNodes(of)
}

func onNodes(of []*resolve.Stood) string {
	var nodes []string
	for _, s := range of {
		if s.Node != "" && !slices.Contains(nodes, s.Node) {
			nodes = append(nodes, s.Node)
		}
	}
	slices.Sort(nodes)
	switch {
	case len(nodes) == 0:
		return ""
	case len(nodes) > 4:
		return fmt.Sprintf(" on %d nodes", len(nodes))
	}
	return " on " + strings.Join(nodes, ", ")
}

// movedFinding says who moved between two dumps: what moves is slow, not stuck.
func movedFinding(f *resolve.Facts) (incident.Finding, bool) {
	var moved, still []*resolve.Stood
	for _, s := range f.Stood {
		switch {
		case s.Kind != stacks.Trainer || s.Dumps < 2:
		case s.Moved:
			moved = append(moved, s)
		default:
			still = append(still, s)
		}
	}
	if len(moved) == 0 {
		return incident.Finding{}, false
	}
	text := fmt.Sprintf("%s moved between dumps", whoStood(moved))
	if len(still) > 0 {
		text += fmt.Sprintf(", %s did not", whoStood(still))
	} else {
		text += ": slow, not stuck"
	}
	return incident.Finding{Statement: text, Evidence: mechanism.StackEvidence(moved[0])}, true
}

// sleepers are processes in uninterruptible sleep beside others of the same command that are not.
func sleepers(f *resolve.Facts) (incident.Finding, bool) {
	awake := map[string]int{}
	var asleep []*resolve.ListedState
	for _, l := range f.Listed {
		if l.Sleeps() {
			asleep = append(asleep, l)
		} else {
			awake[l.Command]++
		}
	}
	asleep = slices.DeleteFunc(asleep, func(l *resolve.ListedState) bool { return awake[l.Command] == 0 })
	if len(asleep) == 0 {
		return incident.Finding{}, false
	}
	first := asleep[0]
	where := ""
	if first.Node != "" {
		where = " on " + first.Node
	}
	text := fmt.Sprintf("process %d%s was in uninterruptible sleep (%s); %d other processes running the same command were not", first.PID, where, first.Stat, awake[first.Command])
	if n := len(asleep); n > 1 {
		text = fmt.Sprintf("%d processes were in uninterruptible sleep, the first being process %d%s", n, first.PID, where)
	}
	return incident.Finding{Statement: text, Evidence: []incident.Evidence{mechanism.QuoteAt(resolve.Spot(first.File, first.At), &incident.Predicate{Literals: []string{strconv.Itoa(first.PID)}})}}, true
}
