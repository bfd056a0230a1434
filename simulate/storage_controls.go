package simulate

import (
	"fmt"
	"slices"
	"time"
)

// storageControl is a job that fails for a reason of its own beside a storage that is not to blame.
type storageControl struct {
	name string
	// judgements are what may be said of the storage, the best first; where nothing ties the clocks, open as well if apart says so.
	judgements []string
	apart      bool
	// beside plays what the daemons say, and the job's readers: t is when the job breaks, root the rank at fault (−1: not yet known).
	beside func(p *storageSide, t time.Duration)
	// reads: the job breaks at a read, and the daemons do not say why.
	reads bool
}

var (
	cleared       = []string{"cleared"}
	clearedOrOpen = []string{"cleared", "open"}
	leftOpen      = []string{"open"}
)

var storageControls = []storageControl{
	{name: "ais-healthy", judgements: cleared, beside: func(p *storageSide, t time.Duration) { p.noise(t) }},
	{name: "ais-idle-resets", judgements: cleared, beside: idleResets},
	{name: "ais-restart-before", judgements: cleared, apart: true, beside: restartBefore},
	{name: "ais-restart-after", judgements: cleared, apart: true, beside: restartAfter},
	{name: "ais-pressure-all-day", judgements: clearedOrOpen, beside: pressureAllDay},
	{name: "ais-moving-recovered", judgements: clearedOrOpen, beside: movingRecovered},
	{name: "ais-other-bucket", judgements: clearedOrOpen, beside: otherBucket},
	{name: "ais-busy", judgements: clearedOrOpen, beside: busy},
	{name: "ais-busy-read", judgements: clearedOrOpen, reads: true, beside: busyRead},
	{name: "ais-own-pull", judgements: cleared, beside: ownPull},
	{name: "ais-clocks-apart", judgements: leftOpen, reads: true, beside: clocksApart},
	{name: "ais-unreachable", judgements: clearedOrOpen, reads: true, beside: unreachable},
}

// fit draws the cluster of a grid's spec.
func (f *storageControl) fit(s *Spec, p *picker) {
	fitStorage(s, p)
	if f.name == "ais-clocks-apart" { // no zone has such an offset, and no marker tells it
		s.AIS.Unrelated, s.AIS.Zone, s.AIS.Offset = true, "UTC", 0
		s.AIS.Skew = (7 + p.IntN(70)) * 61001 * (2*p.IntN(2) - 1)
	}
}

// others draws a rank that is not at fault.
func (p *storageSide) others() int {
	for {
		if r := p.s.rng.IntN(p.s.world); r != p.s.root && !slices.Contains(p.roots, r) {
			return r
		}
	}
}

// tie is a harmless answer early in the job that both sides tell of: it relates their clocks.
func (p *storageSide) tie(t time.Duration) {
	if p.spec().Unrelated || p.spec().Variant%2 == 1 {
		return
	}
	p.tied = true
	for range 2 {
		a := p.Conflict(p.at(sec(13) + p.s.jitter((t-sec(13))/2)))
		p.tenacity(p.others(), p.since(a.At)+ms(2+p.s.rng.IntN(30)), shortExc(a))
	}
}

// idleResets: connections that had been idle for longer than the server keeps them are reset, once each.
func idleResets(p *storageSide, t time.Duration) {
	for range 2 + p.s.rng.IntN(6) {
		p.tenacity(p.others(), sec(13)+p.s.jitter((t-sec(13))/2), "ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))")
	}
}

// restartBefore: a target died, or was stopped, and came back long before the job began.
func restartBefore(p *storageSide, _ time.Duration) {
	at, back := p.at(-50*time.Minute-p.s.jitter(10*time.Minute)), time.Duration(20+p.s.rng.IntN(60))*time.Second
	if p.spec().Variant%3 == 0 {
		p.Restart(p.target(), at, back)
		return
	}
	p.Crash(p.target(), at, back, "killed")
}

// restartAfter: a target died when the job had ended.
func restartAfter(p *storageSide, _ time.Duration) {
	b := p.target()
	p.after = func(end time.Time) { p.Crash(b, end.Add(-p.taken+40*time.Second), 34*time.Second, "killed") }
}

func pressureAllDay(p *storageSide, _ time.Duration) {
	b := p.target()
	p.after = func(end time.Time) { p.Grumble(b, p.at(-lead+time.Minute), end) }
}

// movingRecovered: a rebalance ends early in the job; what was not found was found at the next try.
func movingRecovered(p *storageSide, t time.Duration) {
	answers, _ := p.Maintain(p.target(), p.at(sec(11)), 2*time.Minute)
	for _, a := range answers {
		if at := p.since(a.At) + ms(8); at < sec(11)+(t-sec(11))/2 {
			p.tenacity(p.others(), at, shortExc(a))
		}
	}
}

// otherBucket: a disk fails under objects of somebody else.
func otherBucket(p *storageSide, t time.Duration) {
	own := p.Bucket
	p.Bucket = "ais://archive"
	p.FailDisk(p.target(), p.at(t-time.Duration(20+p.s.rng.IntN(40))*time.Second))
	p.Bucket = own
}

// busy: processors of some targets have much to do when the job breaks for reasons of its own.
func busy(p *storageSide, t time.Duration) {
	for i, n := range p.Targets {
		if n != p.newcomer && i < 2+p.spec().Variant%3 {
			p.Busy(n, p.at(t-time.Duration(p.s.rng.IntN(90))*time.Second), 5*time.Minute)
		}
	}
}

// busyRead: the same, and a reader that waits for something else says so.
func busyRead(p *storageSide, t time.Duration) {
	busy(p, t)
	for i := range 3 {
		p.s.logger(p.s.root, t-sec(2)+time.Duration(i*21)*time.Second, "WARNING", lhotse, fmt.Sprintf("Timeout while fetching batch result at index %d: timed out. Falling back to direct AIStore API call.", 3+i), signed)
	}
}

func ownPull(p *storageSide, t time.Duration) {
	p.after = func(end time.Time) { p.Pull(end.Add(-50*time.Second), 6+p.s.rng.IntN(14)) }
	p.Pull(p.at(t+sec(5)), 4)
}

// clocksApart: readers wait in vain and say no more, a target is under pressure at an hour that nobody can compare.
func clocksApart(p *storageSide, t time.Duration) {
	r := p.s.root
	for i := range 3 {
		p.s.logger(r, t-sec(2)+time.Duration(i*21)*time.Second, "WARNING", lhotse, fmt.Sprintf("Timeout while fetching batch result at index %d: timed out. Falling back to direct AIStore API call.", 3+i), signed)
	}
	if p.Batches() {
		p.Press(p.target(), p.at(t-sec(4)), false, 6*time.Minute)
		return
	}
	p.FailDisk(p.target(), p.at(t-sec(4)))
}

// unreachable: one rank does not reach the endpoint at all, and no daemon has heard of it.
func unreachable(p *storageSide, t time.Duration) {
	for i := range 4 {
		p.tenacity(p.s.root, t-sec(3)+time.Duration(i*9)*time.Second, fmt.Sprintf("ConnectTimeout: HTTPConnectionPool(host='ais.storage', port=51080): Max retries exceeded with url: /v1/objects/speech/%s?provider=ais (Caused by ConnectTimeoutError(<urllib3.connection.HTTPConnection object at 0x7f3a2c51b0d0>, 'Connection to ais.storage timed out. (connect timeout=3)'))", p.Object()))
	}
}

// play is a job that breaks by itself: a rank that stalls, an exception, a GPU without memory.
func (f *storageControl) play(s *scene) error {
	if !s.oneGroup() {
		return errOneGroup
	}
	p, err := s.beside()
	if err != nil {
		return err
	}
	var t time.Duration
	switch {
	case f.reads:
		s.root = s.anyRank()
		t = s.runUp()
		f.beside(p, t)
		p.holds(s.root, t)
		s.title = fmt.Sprintf("rank %d holds the others (%s)", s.root, f.name)
		s.judge = func(v *view) Truth {
			t := v.stalled([]int{s.root}, s.title)
			if len(t.Candidates) == 1 && t.Candidates[0] == "rank-stalled" {
				t.Candidates = []string{"dataloader-stall"}
			}
			return t
		}
	case s.spec.AIS.Shape == "stall":
		roots := s.minority()
		p.roots = roots
		t = s.runUp()
		p.tie(t)
		f.beside(p, t)
		p.holds(s.root, t, roots...)
		s.title = fmt.Sprintf("rank %s holds the others (%s)", ranges(roots), f.name)
		s.judge = func(v *view) Truth { return v.stalled(roots, s.title) }
	default:
		t = s.begin()
		r := s.anyRank()
		s.root = r
		p.tie(t)
		f.beside(p, t)
		d := death{ranks: []int{r}, at: t + ms(300), code: 1, peers: s.peersMode()}
		slug := "gpu-oom"
		s.faultLines("", func() {
			if s.spec.AIS.Variant%2 == 0 {
				slug = "exception"
				u := userFaults[s.rng.IntN(len(userFaults))]
				s.python(r, t, pyTraceback(loopFrames(u.frames...), u.exc)...)
				return
			}
			s.python(r, t, pyTraceback(cudaFrames(1), oomText(s.v.name, s.ranks[r].local, 512, s.ranks[r].pid))...)
		})
		s.falls(d)
		s.killed(fmt.Sprintf("rank %d dies of its own (%s)", r, f.name), slug, "after-fix", d)
	}
	p.Load(p.at(sec(11)), p.at(t+sec(1)), p.pace())
	judgements := f.judgements
	if f.apart && (!p.tied || s.spec.ZoneMix) {
		judgements = clearedOrOpen
	}
	inner := s.judge
	s.judge = func(v *view) Truth {
		t := inner(v)
		t.Storage = &StorageTruth{Judgements: judgements, Targets: []string{}, Related: []string{}, Sides: []string{}, Affected: []int{}, Alone: t.Candidates}
		return t
	}
	return nil
}

// holds is a rank, or a few, that the others wait for until their watchdogs end the job.
func (p *storageSide) holds(r int, t time.Duration, more ...int) {
	s := p.s
	if len(more) == 0 {
		more = []int{r}
	}
	o := s.play(s.stepPrograms(), t, s.limits(more, 0), nil)
	_, dead := s.timeouts(o, waveOptions{})
	s.teardown(dead)
}
