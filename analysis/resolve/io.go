package resolve

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"faultline/analysis/line"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// How a ladder of retries ended.
const (
	Recovered = "recovered" // the process went on
	Exhausted = "exhausted" // given up, or the last try was reached and nothing shows that the process went on
	Open      = "open"      // neither is shown
)

// Ladder is a run of retries of one request by one client. A storm makes them by the hundred thousand, most of one line.
type Ladder struct {
	Rank              int // NoRank where not proven
	Fault             string
	First, Last       *worker.KeptIO
	T, Until          Moment // of the first and the last line
	Outcome           string
	Lines, Top, Limit int32 // of lines; the highest retry and how many there are at most, 0 not stated
	left              int32 // line.Unknown where the client does not count down
	// WentOn says that the process went on after it, whatever became of the request.
	WentOn bool
	// Idle says that it is the reset of a connection that had been idle: noise (see idle).
	Idle   bool
	gaveUp bool
	client *client
}

// Form is whose wording it is.
func (l *Ladder) Form() string { return l.First.Form() }

// Access is what was wanted of the store, by its last line that says it.
func (l *Ladder) Access() worker.Access {
	if a := l.Last.Access(); a != worker.Unsaid {
		return a
	}
	return l.First.Access()
}

// Request is what was tried again, with its article.
func (l *Ladder) Request() string {
	switch l.Access() {
	case worker.Reads:
		return "a read"
	case worker.Writes:
		return "a write"
	case worker.Saves:
		return "the write of a checkpoint"
	}
	return "a request"
}

// Tally counts lines in total, by file and by global rank.
type Tally struct {
	Total   int
	PerFile map[string]int
	PerRank map[int]int
	At      []worker.At // of the first few
	Words   map[string]int
}

// LoaderLine is a line of a loader that did not get what it asked for, attributed.
type LoaderLine struct {
	*worker.KeptIO
	Rank int
}

// ioLine is a line of a loader or storage client, attributed.
type ioLine struct {
	worker.IO
	kept *worker.KeptIO
	rank int
	t    Moment
}

// Did is a line in which a process says what it is about, attributed.
type Did struct {
	*worker.Doing
	Rank int
	T    Moment
}

// ioKey is a client as far as lines tell clients apart: the loader processes of one rank share one.
type ioKey struct {
	file string
	rank int
	who  line.Who
}

// client is what is known of one.
type client struct {
	open     []*Ladder
	previous Moment  // of its line before
	raised   []int64 // offsets of its exceptions that tell of a store
	near     int     // see idle
}

// fileIO is what the lines of one file come to: no client has lines in two.
type fileIO struct {
	ladders []*Ladder
	loaders []LoaderLine
	errors  Tally
	clients map[ioKey]*client
	writers map[writer]*client // the same; what a writer states is long, and lines of one share it
	room    []Ladder           // for more of ladders
}

// writer is who wrote a line, as its prefix states it and as it was resolved.
type writer struct {
	by   *line.Who
	rank int
}

// client is whose a line is that is tied to a rank, or to none.
func (p *fileIO) client(rank int, at *worker.At) *client {
	w := writer{at.By, rank}
	c := p.writers[w]
	if c != nil {
		return c
	}
	k := ioKeyOf(rank, at)
	if c = p.clients[k]; c == nil {
		c = &client{}
		p.clients[k] = c
	}
	p.writers[w] = c
	return c
}

func ioKeyOf(rank int, at *worker.At) ioKey {
	k := ioKey{file: at.File, rank: rank}
	if rank == NoRank {
		k.who = *at.Who()
	}
	return k
}

const (
	// idleAfter is how long an idle connection lives: AIStore closes it after 30 s (3.30 on), and urllib3 does not know.
	idleAfter = 30.0
	// idleTogether is how near in time resets of other clients must be to tell of the store rather than of one idle
	// connection, and idleClients from how many clients on they do.
	idleTogether, idleClients = 5.0, 3
	// ladderGap is how long a client without a count may pause within one ladder: the longest back-off of the known
	// clients is 48 s, and 30 s in AIStore's, twice.
	ladderGap = 120.0
	// maxOpenLadders bounds how many ladders of one client are compared with a new line.
	maxOpenLadders = 32
	tallyExamples  = 3
)

func newTally() Tally {
	return Tally{PerFile: map[string]int{}, PerRank: map[int]int{}, Words: map[string]int{}}
}

// add counts a line that stands for so many more.
func (t *Tally) add(s *sight, at worker.At, more int) {
	t.Total += 1 + more
	t.PerFile[at.File] += 1 + more
	if id, ok := s.RankOf(at); ok {
		t.PerRank[id] += 1 + more
	}
	if len(t.At) < tallyExamples {
		t.At = append(t.At, at)
	}
}

// join adds the lines of another file.
func (t *Tally) join(o *Tally) {
	t.Total += o.Total
	for file, n := range o.PerFile {
		t.PerFile[file] += n
	}
	for rank, n := range o.PerRank {
		t.PerRank[rank] += n
	}
	t.At = append(t.At, o.At[:min(len(o.At), tallyExamples-len(t.At))]...)
}

// reads are what loaders and storage clients print of reads and writes: ladders with their outcome, and the tallies.
type reads struct {
	Ladders              []*Ladder
	Loaders              []LoaderLine
	Did                  []Did
	Resets, LoaderErrors Tally
}

// reading is what reads are resolved by.
type reading struct {
	*sight
	steps    *pace
	tails    []worker.Tail
	finished bool // the program says so
}

func readsOf(by *reading, obs *worker.Observations, warn *notes) reads {
	out := reads{Resets: newTally(), LoaderErrors: newTally()}
	for i := range obs.Resets {
		v := &obs.Resets[i]
		out.Resets.add(by.sight, v.At, v.More)
		out.Resets.Words[v.Word] += 1 + v.More
	}
	for i := range obs.Doings {
		d := &obs.Doings[i]
		out.Did = append(out.Did, Did{d, by.rankOr(d.At), by.when(d.At)})
	}
	raised := by.raised(obs)
	parts := make([]fileIO, len(obs.IOs))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, list := range obs.IOs {
		g.Go(func() error {
			parts[i] = by.file(list, raised)
			return nil
		})
	}
	_ = g.Wait() // no file fails
	for i := range parts {
		out.Ladders = append(out.Ladders, parts[i].ladders...)
		out.Loaders = append(out.Loaders, parts[i].loaders...)
		out.LoaderErrors.join(&parts[i].errors)
	}
	for i := range obs.Exceptions {
		if x := &obs.Exceptions[i]; shortByStopIteration(x) {
			out.LoaderErrors.add(by.sight, x.At, 0)
		}
	}
	markIdle(out.Ladders)
	for _, t := range by.tails {
		if t.Dropped > 0 {
			warn.add("%s has more lines of one kind than are kept, so counts for it are lower bounds", t.File)
		}
	}
	return out
}

// file resolves the lines of a file; raised are the exceptions of clients that tell of a store.
func (by *reading) file(list []worker.KeptIO, raised map[ioKey][]int64) fileIO {
	p := fileIO{errors: newTally(), clients: map[ioKey]*client{}, writers: map[writer]*client{}}
	for i := range list {
		v := &list[i]
		l := ioLine{IO: v.IO(), kept: v}
		l.rank, l.t = by.rankOr(l.At), by.when(l.At)
		c := p.client(l.rank, &l.At)
		switch l.Kind {
		case worker.IOLoader:
			p.errors.add(by.sight, l.At, l.More)
			p.loaders = append(p.loaders, LoaderLine{v, l.rank})
		case worker.IORetry:
			ladder := climb(c.open, &l)
			if ladder == nil {
				ladder = p.newLadder(c, &l)
				ladder.Idle = by.startsIdle(&l, c.previous)
				c.open = append(c.open, ladder)
			}
			ladder.step(&l)
		case worker.IOGaveUp:
			p.giveUp(c, &l)
		}
		c.previous = l.t
	}
	for k, c := range p.clients {
		c.raised = raised[k]
	}
	for _, l := range p.ladders {
		l.WentOn = by.wentOn(l)
		l.Outcome = l.outcome()
	}
	return p
}

// raised are the offsets of the exceptions that tell of a store, by client.
func (s *sight) raised(obs *worker.Observations) map[ioKey][]int64 {
	offs := map[ioKey][]int64{}
	for i := range obs.Exceptions {
		if x := &obs.Exceptions[i]; ofStore(obs.Known, x) {
			k := ioKeyOf(s.rankOr(x.At), &x.At)
			offs[k] = append(offs[k], x.Off)
		}
	}
	return offs
}

func (p *fileIO) newLadder(c *client, l *ioLine) *Ladder {
	if len(p.room) == 0 { // a storm has them by the hundred thousand
		p.room = make([]Ladder, min(max(4, len(p.ladders)), 512))
	}
	out := &p.room[0]
	p.room = p.room[1:]
	*out = Ladder{Rank: l.rank, Fault: l.Fault, First: l.kept, T: l.t, left: line.Unknown, client: c}
	p.ladders = append(p.ladders, out)
	return out
}

func (l *Ladder) step(v *ioLine) {
	l.Last, l.Until = v.kept, v.t
	l.Lines++
	if v.Attempt != line.Unknown {
		l.Top = max(l.Top, int32(v.Attempt))
	}
	if v.Limit != line.Unknown {
		l.Limit = int32(v.Limit)
	}
	l.left = int32(v.Left)
	if l.Fault == "" {
		l.Fault = v.Fault
	}
}

// climb finds the ladder that a line continues.
func climb(open []*Ladder, v *ioLine) *Ladder {
	for i := len(open) - 1; i >= 0 && i >= len(open)-maxOpenLadders; i-- {
		l := open[i]
		if l.gaveUp || v.Limit != line.Unknown && int(l.Limit) != v.Limit {
			continue
		}
		switch { // most ladders end here: names are compared last
		case v.Attempt != line.Unknown:
			if v.Attempt <= int(l.Top) {
				continue
			}
		case v.Left != line.Unknown:
			if l.left == line.Unknown || v.Left >= int(l.left) {
				continue
			}
		case v.t.Valid && l.Until.Valid && v.t.T-l.Until.T > ladderGap:
			continue
		}
		if l.First.Target == v.Target && l.Form() == v.Form {
			return l
		}
	}
	return nil
}

// giveUp ends the client's youngest ladder, or is one by itself where no retry was printed. The exceptions of a chain say
// the same several times.
func (p *fileIO) giveUp(c *client, v *ioLine) {
	if n := len(c.open); n > 0 {
		l := c.open[n-1]
		near := !v.t.Valid || !l.Until.Valid || v.t.T-l.Until.T <= ladderGap
		if near {
			l.gaveUp, l.Last, l.Until = true, v.kept, v.t
			if l.Fault == "" {
				l.Fault = v.Fault
			}
			return
		}
	}
	l := p.newLadder(c, v)
	l.Last, l.Until, l.gaveUp = v.kept, v.t, true
	if v.Limit != line.Unknown {
		l.Top, l.Limit = int32(v.Limit), int32(v.Limit)
	}
	c.open = append(c.open, l)
}

// startsIdle says that a client's first retry comes after it had been quiet for as long as an idle connection lives.
func (by *reading) startsIdle(v *ioLine, previous Moment) bool {
	if v.Fault != "reset" || v.Attempt > 1 || !by.At(v.At).Valid {
		return false
	}
	if previous.Valid {
		return v.t.T-previous.T >= idleAfter
	}
	for i := range by.tails {
		if t := &by.tails[i]; t.File == v.File {
			first := by.At(t.First)
			return first.Valid && v.t.T-first.T >= idleAfter
		}
	}
	return false
}

// markIdle keeps the mark of an idle connection's reset only where all of the criteria hold that worker logs can show: one
// retry, the first; it recovered; quiet before; and no other clients had the same at that moment. That the store's own
// logs show nothing then is for them to say.
func markIdle(ladders []*Ladder) {
	some := false
	for _, l := range ladders {
		l.Idle = l.Idle && l.Fault == "reset" && l.T.Valid && l.Lines == 1 && l.Top <= 1 && l.Outcome == Recovered
		some = some || l.Idle
	}
	if !some {
		return
	}
	var resets []*Ladder
	for _, l := range ladders {
		if l.Fault == "reset" && l.T.Valid {
			resets = append(resets, l)
		}
	}
	slices.SortFunc(resets, func(a, b *Ladder) int { return cmp.Compare(a.T.T, b.T.T) })
	from, to, clients := 0, 0, 0
	for _, l := range resets {
		for to < len(resets) && resets[to].T.T <= l.T.T+idleTogether {
			c := resets[to].client
			if c.near++; c.near == 1 {
				clients++
			}
			to++
		}
		for resets[from].T.T < l.T.T-idleTogether {
			c := resets[from].client
			if c.near--; c.near == 0 {
				clients--
			}
			from++
		}
		l.Idle = l.Idle && clients < idleClients
	}
}

// outcome says how a ladder ended.
func (l *Ladder) outcome() string {
	offs := l.client.raised
	died := len(offs) > 0 && offs[len(offs)-1] >= l.Last.Off
	switch {
	case l.gaveUp, died && !l.WentOn:
		return Exhausted
	case l.WentOn:
		return Recovered
	case l.Limit > 0 && l.Top >= l.Limit || l.left == 0:
		return Exhausted
	}
	return Open
}

// ofStore says that an exception tells of a store that did not deliver.
func ofStore(known *knowledge.Catalogue, x *worker.Exception) bool {
	m, _ := settingOf(known, x).inContext()
	return m.Role == knowledge.CauseRole && m.Mechanism.Is(knowledge.ReadsOrWrites)
}

// wentOn says that the process is shown to have gone on after a ladder: it waits in a collective itself, training made
// further steps, or the program says that it finished.
func (by *reading) wentOn(l *Ladder) bool {
	if r := by.byRank[l.Rank]; r != nil {
		for _, p := range r.Pending {
			if l.Until.Valid && l.Until.Before(p.Start) || l.Last.Above(p.At.Pos) && !p.Start.Valid {
				return true
			}
		}
	}
	return by.steps.stepsAfter(l.Last.At()) >= goesOn || by.finished
}

// ladderFailures are ladders that reached their last try, after which the process is not shown to have gone on, and of
// which no exception tells.
func (f *Facts) ladderFailures() (all []*Failure) {
	for _, l := range f.Ladders {
		if l.Outcome != Exhausted || l.WentOn || l.Limit == 0 || l.Top < l.Limit {
			continue
		}
		at := l.Last.At()
		fl := f.newFailure(&at, KindLadder)
		fl.is(Meaning{Mechanism: knowledge.StorageRetriesExhausted, Role: knowledge.CauseRole, Direct: true})
		fl.Text = fmt.Sprintf("%s failed after %d of %d retries", l.Request(), l.Top, l.Limit)
		all = append(all, &fl)
	}
	return all
}

// notFetched takes files of a store that are said not to exist for files that could not be read, where that stands below retries
// that all failed: clients that ask a store whether a file is there know only that no answer came.
func (f *Facts) notFetched() (all []amendment) {
	for _, fl := range f.Failures {
		if fl.Kind != KindException || !fl.Says(knowledge.FileMissing) || !strings.Contains(fl.Exc.Message, "://") {
			continue
		}
		if i := slices.IndexFunc(f.Ladders, func(l *Ladder) bool {
			return l.Outcome == Exhausted && !l.WentOn && l.Last.Above(fl.At.Pos)
		}); i >= 0 {
			all = append(all, amendment{fl: fl, to: Meaning{Mechanism: knowledge.StorageRetriesExhausted, Role: fl.Role}, why: "all retries to the store had already failed", at: f.Ladders[i].Last.At().Pos})
		}
	}
	return all
}

// itemsMissing takes files that were not found while data were loaded, after steps had been made, for items of the data: the path to all of
// them was right until then. The words alone cannot tell it, unless a worker of a loader passes them on.
func (f *Facts) itemsMissing() (all []amendment) {
	if !f.Job.Training {
		return nil
	}
	for _, fl := range f.Failures {
		if fl.Kind != KindException || !fl.Says(knowledge.FileMissing) || !fl.Mechanism.Is(knowledge.AsItBegins) {
			continue
		}
		if c := contextsOf(fl.Exc); c.loading && !c.checkpoint {
			to := Meaning{knowledge.BadSample, fl.Role, fl.Direct, knowledge.IDLoaderFileMissing}
			all = append(all, amendment{fl: fl, to: to, why: "data had been loaded for earlier steps, so the path was right", at: fl.At.Pos})
		}
	}
	return all
}
