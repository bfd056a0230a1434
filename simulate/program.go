package simulate

import (
	"slices"
	"time"
)

// op is one collective, or one end of a point-to-point transfer, in a rank's program.
type op struct {
	g        *group
	kind     string // OpType of c10d
	in, out  int64  // NumelIn, NumelOut
	src, dst int    // for SEND and RECV, global ranks
	sync     bool   // the CPU waits for it before it goes on
	seq      int    // as PyTorch numbers it in this process; set by number
	key      meet
}

func (o *op) p2p() bool { return o.kind == "SEND" || o.kind == "RECV" }

// meet is what the members of an operation meet on: the k-th collective of a group, or the k-th transfer of a pair.
type meet struct {
	g        *group
	k        int
	src, dst int // −1 for collectives
}

// outcome is where every rank's program stopped.
type outcome struct {
	onset    time.Duration // the last step's start
	prog     [][]op
	enqueued []int // operations handed to the GPU
	done     []int // operations completed; one stream, so in order
	start    []time.Duration
	gap      time.Duration // between two enqueues
}

// stepPrograms writes two optimizer steps as a program per rank; incidents strike in the first, so that whoever is not
// held yet can run on into the second.
func (s *scene) stepPrograms() [][]op {
	prog := make([][]op, s.world)
	l := s.spec.Layout
	size := func() int64 { return int64(1+s.rng.IntN(60)) * 1048576 }
	var sizes [8]int64
	for i := range sizes {
		sizes[i] = size()
	}
	buckets := 3 + s.rng.IntN(4)
	for r := range prog {
		w := s.groups[0]
		all := func(g *group, kind string, in, out int64, sync bool) {
			if g != nil && len(g.ranks) > 1 {
				prog[r] = append(prog[r], op{g: g, kind: kind, in: in, out: out, src: -1, dst: -1, sync: sync})
			}
		}
		sharded := func(g *group) {
			n := int64(len(g.ranks))
			for i := range buckets {
				all(g, "_ALLGATHER_BASE", sizes[i], sizes[i]*n, false)
			}
			for i := buckets - 1; i >= 0; i-- {
				all(g, "_ALLGATHER_BASE", sizes[i], sizes[i]*n, false)
				all(g, "_REDUCE_SCATTER_BASE", sizes[i]*n, sizes[i], false)
			}
		}
		switch l.Kind {
		case "fsdp":
			sharded(w)
			all(w, "ALLREDUCE", 1, 1, true)
		case "hsdp":
			shard, rep := s.groupOf(r, "shard"), s.groupOf(r, "replicate")
			sharded(shard)
			for i := range buckets {
				all(rep, "ALLREDUCE", sizes[i], sizes[i], false)
			}
			all(shard, "ALLREDUCE", 1, 1, true)
			all(rep, "ALLREDUCE", 1, 1, true)
		case "megatron":
			prog[r] = s.megatronStep(r, sizes)
		default:
			all(w, "BROADCAST", 2048, 2048, false)
			for i := range buckets {
				all(w, "ALLREDUCE", sizes[i], sizes[i], false)
			}
			all(w, "ALLREDUCE", 1, 1, true)
		}
	}
	for r := range prog {
		prog[r] = append(prog[r], prog[r]...)
	}
	s.number(prog)
	return prog
}

// megatronStep is a GPipe-like schedule: forward of all micro-batches, backward of all, then the optimizer's collectives.
// Point-to-point transfers are waited for by the CPU, as Megatron does with batch_p2p_sync.
func (s *scene) megatronStep(r int, sizes [8]int64) []op {
	l := s.spec.Layout
	tp, ep, pp, dp, mp := s.groupOf(r, "tp"), s.groupOf(r, "ep"), s.groupOf(r, "pp"), s.groupOf(r, "dp"), s.groupOf(r, "mp")
	stage := pp.rankIn(r)
	var out []op
	all := func(g *group, kind string, in, outN int64, sync bool) {
		if g != nil && len(g.ranks) > 1 {
			out = append(out, op{g: g, kind: kind, in: in, out: outN, src: -1, dst: -1, sync: sync})
		}
	}
	p2p := func(kind string, src, dst int) {
		out = append(out, op{g: pp, kind: kind, in: sizes[7], out: sizes[7], src: src, dst: dst, sync: true})
	}
	layer := func() {
		n := int64(len(tp.ranks))
		all(tp, "_ALLGATHER_BASE", sizes[0], sizes[0]*n, false)
		all(ep, "ALLTOALL_BASE", sizes[1], sizes[1], false)
		all(ep, "ALLTOALL_BASE", sizes[1], sizes[1], false)
		all(tp, "_REDUCE_SCATTER_BASE", sizes[0]*n, sizes[0], false)
	}
	batches := max(l.PP, 1) + 1
	for range batches {
		if stage > 0 {
			p2p("RECV", pp.ranks[stage-1], r)
		}
		layer()
		layer()
		if stage < len(pp.ranks)-1 {
			p2p("SEND", r, pp.ranks[stage+1])
		}
	}
	for range batches {
		if stage < len(pp.ranks)-1 {
			p2p("RECV", pp.ranks[stage+1], r)
		}
		layer()
		if stage > 0 {
			p2p("SEND", r, pp.ranks[stage-1])
		}
	}
	n := int64(len(dp.ranks))
	all(dp, "_REDUCE_SCATTER_BASE", sizes[2]*n, sizes[2], false)
	all(mp, "ALLREDUCE", 1, 1, true)
	all(dp, "_ALLGATHER_BASE", sizes[2], sizes[2]*n, true)
	all(pp, "BROADCAST", 1, 1, true) // the loss, from the last stage: this group mixes collectives and point-to-point
	return out
}

// number gives every operation its sequence number, and what it meets its peers on. From 2.4 on collectives and
// point-to-point count apart; before, one counter per group.
func (s *scene) number(prog [][]op) {
	for r := range prog {
		coll, p2p, pair := map[*group]int{}, map[*group]int{}, map[[2]int]int{}
		for i := range prog[r] {
			o := &prog[r][i]
			if o.p2p() {
				p2p[o.g]++
				pair[[2]int{o.src, o.dst}]++
				o.key = meet{g: o.g, k: pair[[2]int{o.src, o.dst}], src: o.src, dst: o.dst}
			} else {
				coll[o.g]++
				o.key = meet{g: o.g, k: coll[o.g], src: -1, dst: -1}
			}
			switch {
			case !s.v.twoSeq:
				o.seq = o.g.base + coll[o.g] + p2p[o.g]
			case o.p2p():
				o.seq = o.g.baseP + p2p[o.g]
			default:
				o.seq = o.g.base + coll[o.g]
			}
		}
	}
}

// play runs the programs until nothing moves any more. limit bounds what a rank's CPU enqueues (−1: no bound); stuck
// operations never complete although everybody is in them.
func (s *scene) play(prog [][]op, onset time.Duration, limit []int, stuck func(meet) bool) *outcome {
	o := &outcome{onset: onset, prog: prog, enqueued: make([]int, s.world), done: make([]int, s.world), start: make([]time.Duration, s.world)}
	longest := 1
	for r := range prog {
		longest = max(longest, len(prog[r]))
		o.start[r] = onset + s.jitter(ms(40))
	}
	o.gap = s.stepTime / time.Duration(3*longest)
	arrived := map[meet][]int{}
	inside := make([]bool, s.world)
	queue := make([]int, 0, s.world)
	for r := range s.world {
		queue = append(queue, r)
	}
	for len(queue) > 0 {
		r := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		end := len(prog[r])
		if limit != nil && limit[r] >= 0 {
			end = min(end, limit[r])
		}
		for o.enqueued[r] < end && !waits(prog[r][o.done[r]:o.enqueued[r]]) {
			o.enqueued[r]++
		}
		if inside[r] || o.done[r] == o.enqueued[r] {
			continue
		}
		head := &prog[r][o.done[r]]
		inside[r] = true
		arrived[head.key] = append(arrived[head.key], r)
		need := len(head.g.ranks)
		if head.p2p() {
			need = 2
		}
		if len(arrived[head.key]) < need || stuck != nil && stuck(head.key) || !agree(prog, o.done, arrived[head.key]) {
			continue
		}
		for _, q := range arrived[head.key] {
			o.done[q]++
			inside[q] = false
			queue = append(queue, q)
		}
		delete(arrived, head.key)
	}
	s.end = o
	return o
}

// waits: the CPU stands at one of these operations.
func waits(ops []op) bool { return slices.ContainsFunc(ops, func(o op) bool { return o.sync }) }

// agree: everybody who met brought the same operation.
func agree(prog [][]op, done []int, who []int) bool {
	a := &prog[who[0]][done[who[0]]]
	for _, r := range who[1:] {
		b := &prog[r][done[r]]
		if a.p2p() && b.p2p() {
			continue
		}
		if a.kind != b.kind || a.in != b.in || a.out != b.out {
			return false
		}
	}
	return true
}

// pending is one group in which a rank has work that does not end.
type pending struct {
	op   *op
	at   time.Duration // when it was enqueued
	e, c int           // last enqueued and last completed work of the group
}

// pendings are the groups in which a rank waits, by the time at which it began to.
func (o *outcome) pendings(s *scene, r int) []pending {
	var out []pending
	for _, g := range s.ranks[r].groups {
		var p pending
		for i := o.done[r]; i < o.enqueued[r]; i++ {
			if w := &o.prog[r][i]; w.g == g {
				p = pending{op: w, at: o.start[r] + time.Duration(i)*o.gap}
				break
			}
		}
		if p.op == nil {
			continue
		}
		p.e, p.c = o.counters(r, g)
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b pending) int { return int(a.at - b.at) })
	return out
}

// counters are E and C of a rank in a group: the sequence number of the last work handed over and completed, whichever of
// the two counters it has, so that in a group that mixes both they jump and prove nothing.
func (o *outcome) counters(r int, g *group) (e, c int) {
	e, c = g.base, g.base // every step ends with a collective
	for i := range o.prog[r] {
		if w := &o.prog[r][i]; w.g == g {
			if i < o.enqueued[r] {
				e = w.seq
			}
			if i < o.done[r] {
				c = w.seq
			}
		}
	}
	return e, c
}

// intermediates are the ranks that have not entered an operation in which another member of its group waits, and wait
// themselves elsewhere: intermediates.
func (o *outcome) intermediates(s *scene) []int {
	wanted := map[meet]bool{}
	for r := range o.prog {
		for _, p := range o.pendings(s, r) {
			wanted[p.op.key] = true
		}
	}
	var out []int
	for r := range o.prog {
		if o.done[r] == o.enqueued[r] {
			continue
		}
		for i := o.enqueued[r]; i < len(o.prog[r]); i++ {
			if wanted[o.prog[r][i].key] {
				out = append(out, r)
				break
			}
		}
	}
	return out
}
