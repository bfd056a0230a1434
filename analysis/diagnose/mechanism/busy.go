package mechanism

import (
	"fmt"
	"strconv"
	"strings"

	"faultline/analysis/ascii"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/pattern"
)

// One process prepares the data for all, mostly that of rank 0, and the others wait for it in their first collective: what
// main_process_first, zero_first and Megatron's index builder do. Its lines carry no rank, so the picture of counters alone
// leaves open who held the others; the bar that was still being drawn when they gave up does not.

const (
	// leastWork is for how many seconds a bar must have been drawn to be long work where no line tells how long others waited.
	leastWork = 60
	// workShare is the part of the others' waiting that it must have been drawn for, where a line tells.
	workShare = 0.5
)

var workOfRank = pattern.New(`on rank (\d{1,6})\b`)

// openWork is the long work of the job that was not at its end when others gave up waiting, in a job that never made a step: the
// one that went on the longest. A rank that waited itself did not do it.
func openWork(s *Scene) *resolve.Did {
	f, g := s.Facts, s.Graph
	for i := range f.Progress {
		if f.Progress[i].Phase == worker.Training {
			return nil
		}
	}
	least := int64(leastWork)
	for _, gr := range g.Groups {
		for _, p := range gr.Pending {
			least = max(least, int64(workShare*float64(p.Work.RanForMS)/1000))
		}
	}
	var open *resolve.Did
	for i := range f.Did {
		d := &f.Did[i]
		if d.Kind == worker.DoingOver && open != nil && open.Ran == 0 && open.Above(d.Pos) {
			open = nil
			continue
		}
		if d.Kind != worker.DoingWork || d.Done && !g.ReportedAbove(d.Pos) || d.Rank != resolve.NoRank && g.Waits(d.Rank) {
			continue
		}
		if id, ok := rankAtWork(d); d.Ran < least && (!ok || g.Waits(id) || g.ReportedAbove(d.Pos)) && !(!ok && begunMeanwhile(s, d)) {
			continue
		}
		if open == nil || d.Ran >= open.Ran {
			open = d
		}
	}
	return open
}

// begunMeanwhile says that work without a rank and without a bar was begun while all but rank 0 waited: then nobody else can have begun it.
func begunMeanwhile(s *Scene, d *resolve.Did) bool {
	g := s.Graph
	return d.Ran == 0 && firstAbsent(s) && g.Start.Before(d.T) && !g.ReportedAbove(d.Pos)
}

// rankAtWork is the rank that a line of long work names, or that wrote it.
func rankAtWork(d *resolve.Did) (int, bool) {
	if m := workOfRank.FindStringSubmatch(d.What); m != nil && d.Ran == 0 {
		id, err := strconv.Atoi(m[1])
		return id, err == nil
	}
	return d.Rank, d.Rank != resolve.NoRank
}

// workName is what a line calls the long work: the words in front of its bar, or the line.
func workName(d *resolve.Did) string {
	if share, _, bar := strings.Cut(d.What, "|"); bar && strings.HasSuffix(share, "%") && !strings.Contains(share, ":") {
		return "an unnamed progress bar, at " + strings.TrimLeft(share, " ")
	}
	if name, _, bar := strings.Cut(d.What, ":"); bar && d.Ran > 0 && name != "" {
		return short(name)
	}
	return short(strings.TrimLeft(d.What, "> "))
}

// firstAbsent says that rank 0, which every job has, is the one rank below all that waited in the default group.
func firstAbsent(s *Scene) bool {
	g := s.Graph
	if g.Anonymous > 0 || len(g.Waiters) == 0 || len(g.Groups) != 1 || !g.Groups[0].Default && !g.Groups[0].Unnamed {
		return false
	}
	for i, id := range g.Waiters {
		if id != i+1 {
			return false
		}
	}
	return true
}

// notFetched are the failures of processes that waited in vain for what the first rank of the group puts into the store at
// its first collective: the store answered them, so it was not out of reach.
func notFetched(f *resolve.Facts) []*resolve.Failure {
	var out []*resolve.Failure
	for _, fl := range f.Failures {
		late := ascii.Has(fl.Text, "Socket Timeout", "wait timeout after ")
		switch {
		case late && strings.Contains(fl.Text, "ncclUniqueId from [0]"):
			out = append(out, fl)
		case fl.Role == knowledge.ConsequenceRole, fl.Mechanism.Is(knowledge.OfOthers):
		case fl.Kind == resolve.KindException, fl.Role == knowledge.CauseRole:
			return nil // something failed, perhaps this very work
		}
	}
	return out
}

// stillWorking proposes that long work outlived the others' patience where no counters prove whose it was.
func stillWorking(s *Scene) *Proposal {
	f, g := s.Facts, s.Graph
	d := openWork(s)
	if d == nil || len(f.Mismatches)+len(f.Desyncs) > 0 {
		return nil
	}
	p := collective(s, knowledge.RankBusy)
	p.Base, p.Scope = 0.85, "unknown"
	id, known := rankAtWork(d)
	held := g.Waiting()
	var led []incident.Finding
	switch g.Shape {
	case waitfor.Unseen:
		known = known || firstAbsent(s)
		for i, gr := range g.Groups {
			if i < 3 {
				led = append(led, waitersFinding(s, gr, nil))
			}
		}
	case waitfor.NoHang:
		fls := notFetched(f)
		if len(fls) == 0 {
			return nil
		}
		known, held = true, len(fls)
		p.Class, p.Explains = Local, knowledge.HavingNature(knowledge.OfOthers)
		p.At = f.At(d.At)
		led = append(led, finding(fmt.Sprintf("%s timed out waiting for what rank 0 publishes before the first collective", plural(held, "process", "processes")), FailureEvidence(fls[0])))
	default:
		return nil
	}
	who := "one process"
	if known {
		id = max(id, 0)
		who = fmt.Sprintf("rank %d", id)
		p.Ranks, p.Nodes, p.Scope = []int{id}, nodesOf(f, []int{id}), "rank"
	}
	p.Summary = fmt.Sprintf("%s was still working when %s gave up waiting for it: %s", who, plural(held, "process", "processes"), workName(d))
	p.Why = "no step had run yet, and one process the rest were waiting for was still working when they gave up"
	text := "this work had started, and no line reports that it finished"
	switch {
	case d.Done:
		text = fmt.Sprintf("this work took %s and finished only after processes had given up", duration(float64(d.Ran)))
	case d.Ran > 0:
		text = fmt.Sprintf("this work had been running for %s and was not finished", duration(float64(d.Ran)))
	}
	p.For = append(p.For, finding(text, QuoteAt(d.At, nil)))
	p.Led = led
	p.Needs = []incident.Need{needPySpy}
	return p
}
