package mechanism

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// joinedTwice: more processes came to the start-up than the job has ranks, or two announce one rank while others never appear. Nobody stayed
// away then: ranks were given out twice, or another job uses the same store.
func joinedTwice(s *Scene) *Proposal {
	f := s.Facts
	if f.Job.Training {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.ConfigError, Class: Local, Scope: "all", Base: 0.88, Failures: []*resolve.Failure{}}
	d, crowd := announcedTwice(f), crowded(f)
	if d != nil {
		p.At = f.At(d.first.At)
		p.Summary = fmt.Sprintf("%s of %d started twice; there are no lines from %s", rankWords(d.ranks), d.first.World, rankWords(d.absent))
		p.Why = "two processes claim the same rank; the program did not get the launcher's rank numbers"
		if d.untimed {
			p.Why = "two processes on two nodes claim the same rank; can't tell whether at the same time or in two runs"
			p.Rivals = []knowledge.Slug{knowledge.Unknown}
		}
		p.For = append(p.For, finding("two processes claim one rank", QuoteAt(d.first.At, nil), QuoteAt(d.again.At, nil)))
		p.Now = []knowledge.Advice{{Text: "Start one task per rank, and check that the program takes its rank and number of nodes from the launcher.",
			Command: "srun bash -c 'hostname; env | grep -E \"^(SLURM_(PROCID|NTASKS|NNODES)|RANK|LOCAL_RANK|WORLD_SIZE)=\"'"}}
	}
	if crowd != nil {
		if d == nil {
			p.At = f.At(crowd.At)
			p.Summary = fmt.Sprintf("%d processes joined a group of %d: ranks joined twice", crowd.Joined, crowd.World)
			p.Why = "the store counted more processes than the group has; it doesn't show whether two jobs, a duplicate rank or a restart caused it"
			p.Rivals = []knowledge.Slug{knowledge.Unknown} // what made a launcher start them again, where it did
			p.Needs = []incident.Need{{What: "the launcher's log, and the launch scripts of jobs on the same nodes", Why: "shows whether it restarted the ranks, or another job used the same address and port",
				Command: "grep -rhoiE 'MASTER_(ADDR|PORT)[=:]\\S+|restarting worker group' *{job}* | sort | uniq -c", Obtainable: "now"}}
			p.Now = []knowledge.Advice{{Text: "Give each job its own port, and start each rank only once: more processes joined than the group has ranks.",
				Command: "squeue -u $USER -h -o '%i %j %N'; ss -ltnp | grep $MASTER_PORT"}}
		}
		p.For = append(p.For, finding(fmt.Sprintf("%d processes joined a store that expected %d", crowd.Joined, crowd.World), QuoteAt(crowd.At, nil)))
	}
	if len(p.For) == 0 {
		return nil
	}
	return p
}

// crowded is a barrier of the start-up at which more processes joined than it waits for; nil where there is none.
func crowded(f *resolve.Facts) *worker.Barrier {
	for i := range f.Barriers {
		if b := &f.Barriers[i]; b.World > 0 && b.Joined > b.World && (b.Kind == worker.BarrierStore || b.Kind == worker.BarrierWaiting) {
			return b
		}
	}
	return nil
}

// doubled are ranks that two processes of a run announce, and those of its world that nobody does.
type doubled struct {
	ranks, absent []int
	untimed       bool // whether the first two announcements were made at one time, no line says
	first, again  worker.Identity
}

// announcedTwice finds them; nil where each rank came once, or none is absent: a program may start its group again.
func announcedTwice(f *resolve.Facts) *doubled {
	first := map[int]worker.Identity{}
	var d doubled
	echoed := true // each line stands right below the one it repeats, as a logger with two handlers writes them
	for _, x := range f.Obs.Identities {
		if x.Global < 0 || x.World < 2 || x.Global >= x.World {
			continue
		}
		was, met := first[x.Global]
		switch {
		case !met:
			first[x.Global] = x
		case atOnce(f, was, x):
			if d.ranks = appendNew(d.ranks, x.Global); len(d.ranks) == 1 {
				d.first, d.again = was, x
				d.untimed = was.File != x.File && !(f.At(was.At).Valid && f.At(x.At).Valid)
			}
			echoed = echoed && was.File == x.File && max(was.Line, x.Line)-min(was.Line, x.Line) == 1 && *was.Who() == *x.Who()
		}
	}
	if len(d.ranks) == 0 || echoed {
		return nil
	}
	if d.absent = neverSeen(f, first, d.first.World); len(d.absent) == 0 {
		return nil
	}
	return &d
}

// neverSeen are the ranks of a world that nobody announces, and of which there is no line.
func neverSeen(f *resolve.Facts, announced map[int]worker.Identity, world int) (absent []int) {
	for r := range world {
		if _, met := announced[r]; !met && (f.Rank(r) == nil || f.Rank(r).Lines == 0) {
			absent = append(absent, r)
		}
	}
	return absent
}

// startsWithin is how far apart, in seconds, the processes of one start announce themselves: images are pulled, modules imported.
const startsWithin = 300

// atOnce says that two announcements of one rank are of processes that ran at the same time: on two nodes, or in one file in which nothing
// ended or began anew between them.
func atOnce(f *resolve.Facts, a, b worker.Identity) bool {
	if m, n := f.NodeOf(a.At), f.NodeOf(b.At); m != "" && n != "" && m != n {
		at, then := f.At(a.At), f.At(b.At)
		return !at.Valid || !then.Valid || math.Abs(at.T-then.T) <= startsWithin // later it is another run, which may have other nodes
	}
	if a.File != b.File || a.World != b.World || a.Off == b.Off {
		return false
	}
	from, to := min(a.Off, b.Off), max(a.Off, b.Off)
	between := func(p worker.Pos) bool { return p.File == a.File && from < p.Off && p.Off < to }
	return !slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool { return between(fl.At.Pos) }) &&
		!slices.ContainsFunc(f.Ends, func(e *resolve.End) bool { return between(e.Line.Pos) }) &&
		!slices.ContainsFunc(f.Obs.RunMarks, func(m worker.RunMark) bool {
			return m.Kind != worker.MarkLaunch && between(m.Pos) // MarkLaunch is what is asked here: whether a second start is another run
		})
}

// absentees are the ranks that lines of the start-up's barriers name as not having come.
func absentees(f *resolve.Facts) (ranks []int, ev []incident.Evidence) {
	for i := range f.Barriers {
		b := &f.Barriers[i]
		if b.Kind != worker.BarrierStore || len(b.Absent) == 0 {
			continue
		}
		ev = append(ev, QuoteAt(b.At, nil))
		for _, r := range b.Absent {
			ranks = appendNew(ranks, r)
		}
	}
	return ranks, ev[:min(len(ev), 3)]
}

// nameAbsent says who did not come, where a line names them: that is where to look.
func (p *Proposal) nameAbsent(f *resolve.Facts) {
	ranks, ev := absentees(f)
	if len(ranks) == 0 {
		return
	}
	who := rankWords(ranks)
	p.Named = who
	p.Summary = who + " did not reach the startup barrier"
	if len(p.Failures) == 0 {
		p.For = append(p.For, finding("the barrier lists the ones that did not arrive", ev...))
	}
	p.Now = append(p.Now, knowledge.Advice{Text: "Check " + who + ": was it started, and can it reach the coordinator?", Command: "squeue -j {job} --steps; grep -c '' *{job}*"})
}

// nameSilent says who did not come where the store only counted them: as many ranks as are missing were seen, and report nothing of it.
func (p *Proposal) nameSilent(f *resolve.Facts) {
	missing := missingAtStore(f)
	if missing == 0 || p.Named != "" || f.Job.WorldSize == 0 {
		return
	}
	failed := map[int]bool{}
	for _, fl := range f.Failures {
		failed[fl.Rank] = true
	}
	var silent []int
	var at []string
	last := finding("their last lines")
	for _, r := range f.Ranks {
		if r.Lines == 0 || failed[r.ID] {
			continue
		}
		silent = append(silent, r.ID)
		if l, ok := LastLine(r); ok && len(at) < 3 {
			at, last.Evidence = append(at, fmt.Sprintf("%s:%d", l.File, l.Line)), append(last.Evidence, l)
		}
	}
	if len(silent) != missing || len(f.Ranks) != f.Job.WorldSize {
		return
	}
	who := rankWords(silent)
	p.Named, p.Summary = who, who+" never joined the store; every other rank did"
	p.For = append(p.For, last)
	if len(at) > 0 {
		p.Now = append([]knowledge.Advice{{Text: "Look at what " + who + " did last: " + strings.Join(at, ", ") + "."}}, p.Now...)
	}
}

// missingAtStore is how many processes had not come when a store gave up, 0 where the counts of several differ.
func missingAtStore(f *resolve.Facts) (missing int) {
	for i := range f.Barriers {
		b := &f.Barriers[i]
		if b.Joined < 0 || b.World <= b.Joined {
			continue
		}
		n := int(b.World - b.Joined)
		if missing > 0 && n != missing {
			return 0
		}
		missing = n
	}
	return missing
}

// atTheEnd are how many lines may follow one that is among the last of its file.
const atTheEnd = 3

// stillWaiting is the last line of a barrier of the start-up that had not given up when its file ends; nil where it was passed, or something
// else happened.
func stillWaiting(f *resolve.Facts) *worker.Barrier {
	if len(f.Failures) > 0 {
		return nil
	}
	var last *worker.Barrier
	for i := range f.Barriers {
		b := &f.Barriers[i]
		ends := func(t worker.Tail) bool { return t.File == b.File && t.Lines-b.Line < atTheEnd }
		if b.Kind == worker.BarrierWaiting && b.Joined >= 0 && b.Joined < b.World && slices.ContainsFunc(f.Tails, ends) && (last == nil || last.Above(b.Pos)) {
			last = b
		}
	}
	return last
}
