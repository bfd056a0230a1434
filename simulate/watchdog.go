package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// work is WorkNCCL's text.
func (v *generation) work(o *op, timeoutMS int) string {
	if !v.numel {
		return fmt.Sprintf("WorkNCCL(SeqNum=%d, OpType=%s, Timeout(ms)=%d)", o.seq, o.kind, timeoutMS)
	}
	return fmt.Sprintf("WorkNCCL(SeqNum=%d, OpType=%s, NumelIn=%d, NumelOut=%d, Timeout(ms)=%d)", o.seq, o.kind, o.in, o.out, timeoutMS)
}

// workPrefix is WorkNCCL::logPrefix: the in-group rank, from 2.3 on of the first work that failed in this process.
func (s *scene) workPrefix(r int, g *group) string {
	in := g.rankIn(r)
	if s.v.sticky {
		if s.ranks[r].sticky < 0 {
			s.ranks[r].sticky = in
		}
		in = s.ranks[r].sticky
	}
	return fmt.Sprintf("[Rank %d] ", in)
}

// firing is one watchdog timeout of one group on one rank.
type firing struct {
	rank int
	p    pending
	at   time.Duration
	ran  int // milliseconds
}

// waveOptions bend the usual course of timeouts.
type waveOptions struct {
	noDump   bool
	late     time.Duration // how much later than the limit every watchdog reports
	silent   map[int]bool  // ranks whose own watchdog prints nothing although they wait
	survives bool          // the processes are not taken down by this wave; the caller ends them
}

// timeouts writes what every rank's watchdog and monitor print once nothing moves: firings, dump lines, teardown. It
// returns the firings and the deaths.
func (s *scene) timeouts(o *outcome, opt waveOptions) ([]firing, []exit) {
	if s.spec.Ablate == "no-dump" {
		opt.noDump = true
	}
	limit := time.Duration(s.timeoutMS)*time.Millisecond + opt.late
	var fired []firing
	first := make([]time.Duration, s.world) // each rank's first firing; 0: none
	for r := range s.world {
		if opt.silent[r] {
			continue
		}
		for i, p := range o.pendings(s, r) {
			ran := limit + ms(1+s.rng.IntN(96))
			if opt.late > 0 {
				ran += s.jitter(sec(2))
			}
			at := p.at + ran
			if i == 0 {
				first[r] = at
			} else if at-first[r] > ms(900) || i > 2 {
				break // the process is going down before this watchdog comes round
			}
			fired = append(fired, firing{rank: r, p: p, at: at, ran: int(ran.Milliseconds())})
		}
	}
	if len(fired) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(fired, func(a, b firing) int { return cmp.Compare(a.at, b.at) })
	dumps := s.v.dump != dumpNone && !opt.noDump
	signal := fired[0].at
	poll := make([]time.Duration, s.world)
	for r := range poll {
		poll[r] = signal + ms(3) + s.jitter(time.Second)
	}
	shown := make([]bool, s.world)
	for _, f := range fired {
		s.fire(f, dumps && !shown[f.rank] && (s.v.dump < dumpObs && f.at == signal || s.v.dump == dumpFirst && f.at <= poll[f.rank]))
		shown[f.rank] = true
	}
	if dumps {
		for r := range s.world {
			own := first[r] > 0 && first[r] <= poll[r]
			from := fired[0].rank
			for _, f := range fired {
				if f.at <= poll[r] && f.rank != r {
					from = f.rank // the last writer of the key
				}
			}
			s.dump(r, poll[r]+ms(5), own, from, o)
		}
	}
	var dead []exit
	for r := range s.world {
		if first[r] == 0 || opt.survives {
			continue
		}
		down := first[r] + ms(60) + s.jitter(ms(40))
		if dumps {
			down = max(first[r], poll[r]) + ms(900) + s.jitter(ms(600))
		}
		i := slices.IndexFunc(fired, func(f firing) bool { return f.rank == r })
		s.aborts(fired[i], down)
		dead = append(dead, exit{r, down + ms(40), -6})
	}
	return fired, dead
}

// fire is the watchdog's report of one timed-out work.
func (s *scene) fire(f firing, firstPG bool) {
	v, r, g := s.v, f.rank, f.p.op.g
	s.c10State(r, f.at, pg(v.at.caught), s.caught(f))
	t := f.at + 200*time.Microsecond
	in := v.groupPrefix(g, r)
	timeout := fmt.Sprintf("Timeout at NCCL work: %d, last enqueued NCCL work: %d, last completed NCCL work: %d.", f.p.op.seq, f.p.e, f.p.c)
	switch v.state {
	case stateTimeout:
		s.c10State(r, t, pg(v.at.state), in+timeout)
	case stateTwo:
		s.c10State(r, t, pg(v.at.state), in+fmt.Sprintf("Exception (either an error or timeout) detected by watchdog at work: %d, last enqueued NCCL work: %d, last completed NCCL work: %d.", f.p.op.seq, f.p.e, f.p.c))
		s.c10State(r, t+60*time.Microsecond, pg(v.at.state+9), in+timeout)
	case stateFailure:
		s.c10State(r, t, pg(v.at.state), in+fmt.Sprintf(" failure detected by watchdog at work sequence id: %d PG status: last enqueued work: %d, last completed work: %d", f.p.op.seq, f.p.e, f.p.c))
		s.c10(r, t+20*time.Microsecond, 'E', pg(v.at.stack), s.stackLine())
	}
	if sized := f.p.op.kind == "_ALLGATHER_BASE" || f.p.op.kind == "_REDUCE_SCATTER_BASE"; sized && v.numel && v.group >= groupNameDesc && g == s.groups[0] {
		s.entries[len(s.entries)-1].says |= saysSizes // the line that names the group, or the one below it
	}
	if firstPG {
		text := "First PG on this rank to signal dumping."
		if v.dump < dumpObs {
			text = "First watchdog to set the dump signal."
		}
		s.c10(r, t+90*time.Microsecond, 'E', pg(v.at.first), in+text)
	}
}

// caught is the first and most repeated line of a timeout.
func (s *scene) caught(f firing) string {
	return fmt.Sprintf("%sWatchdog caught collective operation timeout: %s ran for %d milliseconds before timing out.", s.workPrefix(f.rank, f.p.op.g), s.v.work(f.p.op, s.timeoutMS), f.ran)
}

const dumpAdvice = "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks, the order of collectives is not same for all ranks or the scheduled collective, for some reason, didn't run. Additionally, this can be caused by GIL deadlock or other reasons such as network errors or bugs in the communications library (e.g. NCCL), etc. "

// dump is what the monitor of the default group prints on a rank: from its own watchdog, or from another rank by way of
// the store. Its counters are the default group's, whatever group failed.
func (s *scene) dump(r int, t time.Duration, own bool, from int, o *outcome) {
	v, g := s.v, s.groups[0]
	in := v.groupPrefix(g, r)
	e, c := o.counters(r, g)
	counters := fmt.Sprintf("Last enqueued NCCL work: %d, last completed NCCL work: %d.", e, c)
	if !own {
		switch {
		case v.dump >= dumpObs:
			s.c10State(r, t, pg(v.at.observed), in+"Observed flight recorder dump signal from another rank via TCPStore.")
		default:
			s.c10State(r, t, pg(v.at.received-40), in+"First PG on this rank detecting the dump signal through tcpstore.")
		}
	}
	t += 150 * time.Microsecond
	var text string
	switch {
	case v.dump == dumpGlobal && own:
		text = "Received a dump signal from this local rank and will start to dump the debug info. " + counters
	case v.dump == dumpGlobal:
		text = fmt.Sprintf("Received a global dump signal from rank %d, and will start to dump the debug info. %s", from, counters)
	case own:
		text = "Received a dump signal due to a collective timeout from this local rank and we will try our best to dump the debug info. " + counters + dumpAdvice
	default:
		text = fmt.Sprintf("Received a dump signal due to a collective timeout from  rank %d and we will try our best to dump the debug info. %s%s", from, counters, dumpAdvice)
	}
	s.c10State(r, t, pg(v.at.received), in+text)
	prep := "ProcessGroupNCCL preparing to dump debug info."
	if v.dump >= dumpObs {
		prep += " Include stack trace: 1"
	}
	if v.name == "recent" {
		prep += ", only active collectives: 0"
	}
	s.c10(r, t+200*time.Microsecond, 'E', pg(v.at.preparing), in+prep)
}

// aborts is the teardown of a process whose watchdog fired: the announcements, the exception of the watchdog thread, and
// std::terminate.
func (s *scene) aborts(f firing, t time.Duration) {
	v, r := s.v, f.rank
	work := s.workPrefix(r, f.p.op.g)
	s.c10(r, t, 'E', pg(v.at.some), work+"Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.")
	down := "To avoid data inconsistency, we are taking the entire process down."
	if v.sticky {
		down = work + down
	}
	s.c10(r, t+30*time.Microsecond, 'E', pg(v.at.avoid), down)
	what := s.caught(f)
	if v.at.terminated != 0 { // ≤ 2.0 says this at INFO only
		if v.group == groupRankOnly {
			what = v.groupPrefix(f.p.op.g, r) + "NCCL watchdog thread terminated with exception: " + what
		} else {
			what = v.groupPrefix(f.p.op.g, r) + "Process group watchdog thread terminated with exception: " + what
		}
	}
	frames := ""
	if v.at.check != 0 {
		lib := "/usr/local/lib/python3.10/dist-packages/torch/lib/"
		at := 0x7f0000000000 + s.rng.Int64N(1<<36)
		frames = fmt.Sprintf("\nException raised from checkTimeout at ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:%d (most recent call first):\n"+
			"frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x%x in %slibc10.so)\n"+
			"frame #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<std::chrono::duration<long, std::ratio<1l, 1000l> > >) + 0x282 (0x%x in %slibtorch_cuda.so)\n"+
			"frame #2: c10d::ProcessGroupNCCL::watchdogHandler() + 0x233 (0x%x in %slibtorch_cuda.so)\n"+
			"frame #3: clone + 0x43 (0x%x in /lib/x86_64-linux-gnu/libc.so.6)\n", v.at.check, at, lib, at+0x4b2c10, lib, at+0x4b9200, lib, at+0x9901000)
	}
	if v.at.terminated != 0 {
		s.c10(r, t+ms(2), 'E', pg(v.at.terminated), what+frames)
	}
	s.plain(r, t+ms(4), "terminate called after throwing an instance of '"+v.exception+"'\n  what():  "+what+frames)
	if s.spec.Noise >= 1 {
		s.plain(r, t+ms(8), fmt.Sprintf("Fatal Python error: Aborted\n\nThread 0x00007f%010x (most recent call first):\n  <no Python frame>\n", s.rng.Uint64()>>24))
	}
}
