package mechanism

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// Why a rank held the others, where its own lines right before the stall say what it was about. "Outside NCCL" is not yet
// a reason; without such a line rank-stalled stands alone.

// heldFor is what stalled ranks were about.
type heldFor struct {
	kind  string // see below
	says  string // what the lines say, for a sentence
	ranks []int  // who of the stalled says so
	ev    []incident.Evidence
}

const (
	heldLoading = "loading"
	heldSaving  = "saving"
	heldWorking = "working"
	heldAtEnd   = "at its end"
)

const (
	// before is how long before the others began to wait a line may stand to tell of the stall: loaders prefetch, and a
	// client's own back-off takes minutes.
	before = 120.0
	// savedFor is how long before it a save may have begun that is not reported to have ended, where the job reports ends.
	savedFor = 3600.0
)

// act is one line of a stalled rank, with what it tells.
type act struct {
	kind, says string
	at         worker.At
	order      float64 // time, or −1 where only the place is known
}

// heldBy reads why the ranks that hold everyone do. It is nil where nobody is proven to, or nothing says why.
func heldBy(s *Scene) *heldFor {
	if s.Graph.Shape != waitfor.Straggle {
		return nil
	}
	var out *heldFor
	for _, id := range s.Graph.Root {
		a := lastAct(s, id)
		if a == nil || out != nil && out.kind != a.kind {
			continue
		}
		if out == nil {
			out = &heldFor{kind: a.kind, says: a.says}
		}
		out.ranks = append(out.ranks, id)
		if len(out.ev) < 3 {
			out.ev = append(out.ev, QuoteAt(a.at, nil))
		}
	}
	if out == nil {
		if c := openSave(s, resolve.NoRank); c != nil {
			out = &heldFor{kind: heldSaving, says: "a " + saveWord(c) + " had started and was not reported as finished", ev: []incident.Evidence{QuoteAt(c.At, nil)}}
		}
	}
	if out == nil {
		if d := openWork(s); d != nil {
			out = &heldFor{kind: heldWorking, says: "it was doing long work that no other rank had to do", ev: []incident.Evidence{QuoteAt(d.At, nil)}}
		}
	}
	if out != nil && out.kind == heldAtEnd && othersEnded(s, out.ranks) {
		return nil
	}
	return out
}

// lastAct is the last line before the stall in which a rank says what it was about.
func lastAct(s *Scene, id int) *act {
	f := s.Facts
	var acts []act
	add := func(kind, says string, at worker.At) {
		t, ok := rightBefore(s, at)
		if !ok && lastBeforeTold(s, id, at) {
			t, ok = -1, true
		}
		if ok {
			acts = append(acts, act{kind, says, at, t})
		}
	}
	for _, l := range f.Ladders {
		if l.Rank == id && l.Outcome != resolve.Recovered {
			add(heldAsking(l), "it was retrying "+l.Request(), l.Last.At())
		}
	}
	if l := retriesBeside(s, id); l != nil {
		add(heldAsking(l), "a process on its node was retrying "+l.Request()+", and none on any other node", l.Last.At())
	}
	for i := range f.Loaders {
		if v := &f.Loaders[i]; v.Rank == id {
			says := "its loader did not get the data it requested"
			if v.IO().Fallback {
				says = "its loader had fallen back to reading one object at a time"
			}
			add(heldLoading, says, v.At())
		}
	}
	for i := range f.Did {
		d := &f.Did[i]
		if d.Rank != id {
			continue
		}
		switch d.Kind {
		case worker.DoingLoad:
			add(heldLoading, "its last line was about reading data", d.At)
		case worker.DoingWork:
			add(heldWorking, "its last line was about a long local task", d.At)
		case worker.DoingEval:
			if sameWait(s, d) {
				add(heldWorking, fmt.Sprintf("it was evaluating: its progress bar had been running for %s and was not finished", duration(float64(d.Ran))), d.At)
			}
		case worker.DoingEnd:
			add(heldAtEnd, "its last line says it had reached the end of its data", d.At)
		}
	}
	if c := openSave(s, id); c != nil {
		says := "it had started a " + saveWord(c) + " and did not report that it finished"
		if endedLate(s, c) {
			says += " before the other ranks gave up"
		}
		add(heldSaving, says, c.At)
	}
	if p := barDone(f, id); p != nil {
		add(heldAtEnd, "its progress was at the last step while other ranks were still going", p.At)
	}
	if len(acts) == 0 {
		return nil
	}
	// By time where both have one, else by place: a file is written in order.
	sort.SliceStable(acts, func(i, j int) bool {
		a, b := acts[i], acts[j]
		if a.at.File == b.at.File {
			return a.at.Off < b.at.Off
		}
		return a.order < b.order
	})
	return &acts[len(acts)-1]
}

// heldAsking is what a rank is about whose requests to a store are tried again and again: it loads, unless the lines say that it writes.
// Whatever else than a checkpoint it writes, logs or results, nobody else has to.
func heldAsking(l *resolve.Ladder) string {
	switch l.Access() {
	case worker.Saves:
		return heldSaving
	case worker.Writes:
		return heldWorking
	}
	return heldLoading
}

// retriesBeside is the only request of the job that was tried again and again while the others waited, where its lines stand without a rank
// in the file of the rank that held them, and others of the job have files of their own. Those that wait read nothing new.
func retriesBeside(s *Scene, id int) *resolve.Ladder {
	f, g := s.Facts, s.Graph
	r := f.Rank(id)
	if r == nil || len(g.Root) != 1 || !g.Start.Valid {
		return nil
	}
	elsewhere := func(o *resolve.Rank) bool { return o.First.File != "" && o.First.File != r.First.File }
	if !slices.ContainsFunc(f.Ranks, elsewhere) {
		return nil // it is the file of all
	}
	var only *resolve.Ladder
	for _, l := range f.Ladders {
		if l.Outcome == resolve.Recovered || l.Lines < 2 || !g.Start.Before(l.Until) {
			continue
		}
		if only != nil || l.Rank != resolve.NoRank || l.Last.At().File != r.First.File {
			return nil
		}
		only = l
	}
	return only
}

// sameWait says that a bar was drawn for as long as the others waited, and was not full when they gave up: then it began when they did,
// and was no work of all ranks.
func sameWait(s *Scene, d *resolve.Did) bool {
	var wait float64
	for _, gr := range s.Graph.Groups {
		for _, p := range gr.Pending {
			wait = max(wait, float64(p.Work.RanForMS)/1000)
		}
	}
	ran := float64(d.Ran)
	return !d.Done && ran >= leastWork && ran > 0.8*wait && ran < 1.1*wait
}

// rightBefore says that a line stands right before the stall: by its time, or by the latest time above it; else by its
// place, where steps are reported above it in the same file and none below.
func rightBefore(s *Scene, at worker.At) (order float64, ok bool) {
	f, g := s.Facts, s.Graph
	m := f.At(at)
	own := m.Valid
	if !own {
		m = f.NotBefore(at)
	}
	if m.Valid && g.Start.Valid {
		late := g.Report.Valid && m.T > g.Report.T+m.Unc+g.Report.Unc
		if m.T >= g.Start.T-before-m.Unc-g.Start.Unc && !late {
			return m.T, true
		}
		if own {
			return 0, false
		}
	}
	if m.Valid && !g.Start.Valid && f.StampedSteps() > 0 {
		return m.T, f.StepsSince(m) == 0 // when the others began to wait no line tells; nobody made a step since
	}
	above, below := f.StepsAround(at)
	return -1, above > 0 && below == 0
}

// lastBeforeTold says that a rank wrote a line without a time right above the one by which another told it of the time-out, in a file that
// shows no steps, and that no rank which waited wrote the like: then it was about that when the others gave up.
func lastBeforeTold(s *Scene, id int, at worker.At) bool {
	const few = 2 // lines of its monitor stand above its counters
	f, g := s.Facts, s.Graph
	r := f.Rank(id)
	if r == nil || r.Dump == nil || r.Dump.At.File != at.File || at.Line >= r.Dump.At.Line || r.Dump.At.Line-at.Line > few || f.At(at).Valid {
		return false
	}
	if above, below := f.StepsAround(at); above+below > 0 {
		return false
	}
	return !slices.ContainsFunc(f.Did, func(d resolve.Did) bool { return d.Rank != resolve.NoRank && g.Waits(d.Rank) })
}

// openSave is the last save or load that began before the stall and is not reported to have ended: of one rank, or for
// NoRank of the job, whoever reports it.
func openSave(s *Scene, id int) *worker.Checkpoint {
	f, g := s.Facts, s.Graph
	var open *worker.Checkpoint
	reports := false // the job reports the ends of its saves
	for i := range f.Saves {
		c := &f.Saves[i]
		ends := c.Kind == worker.SaveDone || c.Kind == worker.SaveOver || c.Kind == worker.LoadDone
		reports = reports || ends
		if id != resolve.NoRank {
			if r, ok := f.RankOf(c.At); !ok || r != id {
				continue
			}
		}
		if m := f.At(c.At); m.Valid && g.Report.Valid && g.Report.Before(m) {
			continue // the teardown saves, too
		}
		switch {
		case c.Kind == worker.SaveStart || c.Kind == worker.LoadStart:
			open = c
		case ends && open != nil && (c.File != open.File || c.Off > open.Off):
			open = nil
		}
	}
	if open == nil {
		return nil
	}
	m := f.At(open.At)
	if !m.Valid {
		above, below := f.StepsAround(open.At)
		if below == 0 && (above > 0 || open.Kind == worker.LoadStart) && (reports || id != resolve.NoRank) {
			return open
		}
		if below > 0 {
			return nil
		}
		m = f.NotBefore(open.At)
	}
	switch {
	case !m.Valid || f.StepsSince(m) > 0:
		return nil
	case !g.Start.Valid: // when the others began to wait no line tells; nobody made a step since
		if f.StampedSteps() > 0 && (reports || id != resolve.NoRank) {
			return open
		}
		return nil
	}
	limit := before / 2
	if reports {
		limit = savedFor
	}
	if d := g.Start.T - m.T; d > limit+g.Start.Unc || d < -30-g.Start.Unc-m.Unc {
		return nil
	}
	return open
}

// endedLate says that an open save or load is reported to have ended, after somebody had given up the wait for it.
func endedLate(s *Scene, open *worker.Checkpoint) bool {
	f, done := s.Facts, strings.TrimSuffix(string(open.Kind), "start")+"done"
	for i := range f.Saves {
		c := &f.Saves[i]
		if m := f.At(c.At); string(c.Kind) == done && open.Above(c.Pos) && c.Path == open.Path && m.Valid && s.Graph.Report.Valid && s.Graph.Report.Before(m) {
			return true
		}
	}
	return false
}

func saveWord(c *worker.Checkpoint) string {
	if c.Kind == worker.LoadStart {
		return "load of a checkpoint"
	}
	return "save of a checkpoint"
}

// barDone is a rank's last progress line where it stands at its last step, provided that another rank's does not.
func barDone(f *resolve.Facts, id int) *resolve.ProgressPoint {
	last := map[int]*resolve.ProgressPoint{}
	for i := range f.Progress {
		if p := &f.Progress[i]; p.Rank != resolve.NoRank && p.Total > 0 && p.Step >= 0 && p.Phase == worker.Training {
			last[p.Rank] = p
		}
	}
	p := last[id]
	if p == nil || p.Step != p.Total {
		return nil
	}
	for r, o := range last {
		if r != id && o.Step < o.Total && o.Epoch == p.Epoch {
			return p
		}
	}
	return nil
}

// othersEnded says that ranks which waited say the same of their data: then an end of data tells nobody apart.
func othersEnded(s *Scene, roots []int) bool {
	for i := range s.Facts.Did {
		d := &s.Facts.Did[i]
		if d.Kind != worker.DoingEnd || slices.Contains(roots, d.Rank) {
			continue
		}
		if _, ok := rightBefore(s, d.At); ok && (d.Rank == resolve.NoRank || s.Graph.Waits(d.Rank)) {
			return true
		}
	}
	return false
}

// stalledFor makes the proposal of a mechanism for ranks that held the others for a reason of this kind.
func stalledFor(slug knowledge.Slug, kind string, needs ...incident.Need) func(*Scene) *Proposal {
	return func(s *Scene) *Proposal {
		why := heldBy(s)
		if why == nil || why.kind != kind || stood(s) != nil {
			return nil
		}
		f, g := s.Facts, s.Graph
		p := collective(s, slug)
		p.Ranks, p.Nodes, p.Scope = g.Root, nodesOf(f, g.Root), scopeOf(f, g.Root)
		p.Base = 0.88
		p.Needs = needs
		held := g.Waiting()
		p.Summary = fmt.Sprintf("%s kept %s waiting: %s", where(f, g.Root), plural(held, "rank", "ranks"), why.says)
		p.Why = fmt.Sprintf("%s waited in a collective that %s had not entered; right before that, %s", plural(held, "rank", "ranks"), rankWords(g.Root), why.says)
		p.For = append(p.For, finding(fmt.Sprintf("right before the other ranks started waiting, %s", why.says), why.ev...))
		skip := map[int]bool{}
		for i, id := range g.Root {
			skip[id] = true
			if i < 3 {
				p.For = append(p.For, stragglerFinding(s, id))
			}
		}
		for i, gr := range g.Groups {
			if i == 3 {
				break
			}
			p.Led = append(p.Led, waitersFinding(s, gr, skip))
		}
		return p
	}
}
