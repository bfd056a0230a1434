package nccl

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

type writer struct {
	spec    Spec
	rng     *rand.Rand
	inc     *Incident
	ranks   []*rank
	all     *comm
	tensor  []*comm
	culprit *rank
}

// stamps of the story: it stands still from 10:20 on, and ends at 11:30.
const (
	day    = "2025-06-03"
	overAt = "11:30:00"
)

func (w *writer) info(r *rank, text string) string {
	return fmt.Sprintf("%s:%d:%d [%d] NCCL INFO %s\n", r.host, r.pid, r.pid+210, r.local, text)
}

// warn is a warning: it begins with an empty line, and has a time of its own from 2.26 on.
func (w *writer) warn(r *rank, clock, source, text string) string {
	stamp := ""
	if !before(w.spec.Version, "2.26") {
		stamp = fmt.Sprintf("[%s %s] ", day, clock)
	}
	return fmt.Sprintf("\n%s%s:%d:%d [%d] %s NCCL WARN %s\n", stamp, r.host, r.pid, r.pid+230, r.local, source, text)
}

// commLine is a line about a communicator, as the version words it.
func (w *writer) commLine(r *rank, c *comm, phase string) string {
	v := w.spec.Version
	place := slices.Index(c.ranks, r.id)
	head := fmt.Sprintf("comm %s rank %d nranks %d cudaDev %d ", r.ptr[c], place, len(c.ranks), r.local)
	if !before(v, "2.18") {
		head += fmt.Sprintf("nvmlDev %d ", r.local)
	}
	head += fmt.Sprintf("busId %x000 ", 0x1b+0x10*r.local&0xff)
	if phase == "Abort COMPLETE" || phase == "Destroy COMPLETE" {
		return fmt.Sprintf("comm %s rank %d nranks %d cudaDev %d busId %x000 - %s", r.ptr[c], place, len(c.ranks), r.local, 0x1b+0x10*r.local&0xff, phase)
	}
	name := ""
	switch {
	case before(v, "2.21"):
	case c.split:
		name = "ncclCommSplit "
	default:
		name = "ncclCommInitRank "
	}
	if c.split && !before(v, "2.21") {
		color := c.ranks[0] / w.spec.PerNode
		switch {
		case before(v, "2.23"):
			head += fmt.Sprintf("parent %s color %d key %d commId 0x%x ", r.ptr[w.all], color, place, c.id)
		case before(v, "2.24"):
			head += fmt.Sprintf("parent %s color %d key %d ", r.ptr[w.all], color, place)
		default:
			head += fmt.Sprintf("parent %s splitCount 1 color %d key %d ", r.ptr[w.all], color, place)
		}
	} else if !before(v, "2.18") {
		head += fmt.Sprintf("commId 0x%x ", c.id)
	}
	return name + head + "- " + phase
}

// log is what NCCL writes of one rank, line by line.
func (w *writer) log(r *rank) []string {
	var out []string
	say := func(text string) { out = append(out, w.info(r, text)) }
	if r.id == 0 {
		out = append(out, fmt.Sprintf("NCCL version %s.5+cuda12.4\n", w.spec.Version))
	}
	say(fmt.Sprintf("Bootstrap : Using eth0:%s<0>", r.ip))
	say("NET/Plugin: No plugin found (libnccl-net.so)")
	say(fmt.Sprintf("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:%s<0>", r.ip))
	say("Using network IB")
	comms := []*comm{w.all}
	if w.spec.Tensor && w.spec.PerNode > 1 {
		comms = append(comms, w.tensor[r.id/w.spec.PerNode])
	}
	for _, c := range comms {
		if !before(w.spec.Version, "2.18") {
			say(w.commLine(r, c, "Init START"))
		}
		say(fmt.Sprintf("Channel 00/0 : %d[%d] -> %d[%d] [send] via NET/IB/0/GDRDMA", r.id, r.local, (r.id+1)%len(w.ranks), (r.local+1)%w.spec.PerNode))
		say("Connected all rings")
		say(w.commLine(r, c, "Init COMPLETE"))
	}
	launches := map[*comm]int{}
	for _, x := range r.program[:max(0, r.called)] {
		say(fmt.Sprintf("%s: opCount %x sendbuff 0x7f12%08x recvbuff 0x7f12%08x count %d datatype %d op 0 root 0 comm %s [nranks=%d] stream 0x55d1%08x", x.op, launches[x.comm], w.rng.Uint32(), w.rng.Uint32(),
			x.count, x.dtype, r.ptr[x.comm], len(x.comm.ranks), w.rng.Uint32()))
		if !w.spec.newer() || r.proxies && x.comm == w.all {
			launches[x.comm]++
		}
	}
	return append(out, w.end(r, comms)...)
}

// end is what NCCL writes of a rank when the job ends.
func (w *writer) end(r *rank, comms []*comm) []string {
	var out []string
	peer := w.ranks[(r.id+w.spec.PerNode)%len(w.ranks)]
	switch w.spec.Fault {
	case Busy:
		return nil
	case Healthy:
		for _, c := range comms {
			out = append(out, w.info(r, w.commLine(r, c, "Destroy COMPLETE")))
		}
		return out
	case Link:
		a, b := w.culprit, w.ranks[(w.culprit.id+w.spec.PerNode)%len(w.ranks)]
		switch r {
		case a:
			out = append(out, w.warn(r, "10:20:21", "transport/net_ib.cc:1295", w.completion(b, 12)))
		case b:
			out = append(out, w.warn(r, "10:20:21", "transport/net_ib.cc:1295", w.completion(a, 12)))
			out = append(out, w.warn(r, "10:20:21", "transport/net_ib.cc:1295", w.completion(a, 5)))
		}
	case Port:
		if r == w.culprit {
			text := "NET/IB : mlx5_1:1 Got async event : port error"
			if before(w.spec.Version, "2.21") {
				text = "NET/IB : Got async event : port error"
			}
			out = append(out, w.warn(r, "10:20:19", "transport/net_ib.cc:94", text), w.warn(r, "10:20:21", "transport/net_ib.cc:1295", w.completion(peer, 12)))
		}
		if w.ranks[(w.culprit.id+w.spec.PerNode)%len(w.ranks)] == r {
			out = append(out, w.warn(r, "10:20:21", "transport/net_ib.cc:1295", w.completion(w.culprit, 12)))
		}
	}
	if w.spec.Silent {
		return out
	}
	if r == w.culprit && w.spec.Fault == Stall {
		return append(out, w.warn(r, overAt, "misc/socket.cc:49", fmt.Sprintf("socketProgress: Connection closed by remote peer %s<%d>", peer.ip, 40000+w.rng.IntN(9999))), w.info(r, "misc/socket.cc:749 -> 6"))
	}
	for _, c := range comms {
		out = append(out, w.info(r, w.commLine(r, c, "Abort COMPLETE")))
	}
	return out
}

// completion is a transfer that failed, as the version words it.
func (w *writer) completion(peer *rank, status int) string {
	v := w.spec.Version
	vendor := map[int]int{12: 129, 5: 249}[status]
	port := 30000 + w.rng.IntN(9999)
	switch {
	case before(v, "2.20"):
		return fmt.Sprintf("NET/IB : Got completion from peer %s<%d> with error %d, opcode 0, len 0, vendor err %d (Recv)", peer.ip, port, status, vendor)
	case before(v, "2.22"):
		return fmt.Sprintf("NET/IB : Got completion from peer %s<%d> with status=%d opcode=32552 len=32549 vendor err %d (Recv)", peer.ip, port, status, vendor)
	}
	return fmt.Sprintf("NET/IB: Got completion from peer %s<%d> with status=%d opcode=0 len=0 vendor err %d (Recv) hca mlx5_1", peer.ip, port, status, vendor)
}

// nccl writes NCCL's lines: into a file for each process, or for each node among the lines of its processes.
func (w *writer) nccl() {
	of := map[string][]string{}
	var nodes []string
	for _, r := range w.ranks {
		lines := w.log(r)
		if r.short > 0 {
			lines = lines[:w.lastCall(lines)-r.short+1]
		}
		text := strings.Join(lines, "")
		if r.short > 0 && w.spec.Torn {
			text = text[:len(text)-9]
		}
		if !w.spec.Inline {
			w.inc.Files[fmt.Sprintf("nccl.%s.%d", r.host, r.pid)] = []byte(text)
			continue
		}
		if of[r.host] == nil {
			nodes = append(nodes, r.host)
		}
		of[r.host] = append(of[r.host], text)
	}
	for _, n := range nodes {
		w.inc.Logs[n+".log"] = interleave(w.rng, of[n])
	}
}

func (w *writer) lastCall(lines []string) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(lines[i], ": opCount ") {
			return i
		}
	}
	return len(lines) - 1
}

// interleave puts the lines of processes that share a file side by side, each process's in their order.
func interleave(rng *rand.Rand, texts []string) []byte {
	var rest [][]string
	for _, t := range texts {
		rest = append(rest, strings.SplitAfter(strings.TrimSuffix(t, "\n"), "\n"))
	}
	var out bytes.Buffer
	for len(rest) > 0 {
		i := rng.IntN(len(rest))
		n := min(1+rng.IntN(3), len(rest[i]))
		for _, l := range rest[i][:n] {
			out.WriteString(strings.TrimSuffix(l, "\n") + "\n")
		}
		if rest[i] = rest[i][n:]; len(rest[i]) == 0 {
			rest = slices.Delete(rest, i, i+1)
		}
	}
	return out.Bytes()
}

// logs are those of the job: rank 0's steps, and how it ended.
func (w *writer) logs() {
	var b bytes.Buffer
	fmt.Fprintf(&b, "using world size: %d, data-parallel size: %d, context-parallel size: 1 tensor-model-parallel size: 1, pipeline-model-parallel size: 1\n", len(w.ranks), len(w.ranks))
	for i := range 40 {
		fmt.Fprintf(&b, " [%s 10:%02d:%02d.%06d] iteration %8d/   10000 | consumed samples: %12d | elapsed time per iteration (ms): 30000.0 | learning rate: 3.0E-04 | global batch size:   256 | lm loss: %.6E | loss scale: 1.0 | grad norm: 0.412 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
			day, i/2, 30*(i%2), 1000*i, 100+i, 256*(100+i), 2.4-0.01*float64(i))
	}
	name := fmt.Sprintf("slurm-%d.out", 40000+w.rng.IntN(9999))
	switch {
	case w.spec.Fault == Busy:
	case w.spec.Fault == Healthy:
		fmt.Fprintf(&b, " [exiting program at iteration 139] datetime: %s 10:20:10\n[after training is done] datetime: %s 10:20:10\n", day, day)
	case w.spec.Watchdog:
		var waiter *rank
		for _, r := range w.ranks {
			if !slices.Contains(w.inc.Truth.Ranks, r.id) && waiter == nil {
				waiter = r
			}
		}
		seq := 1
		for _, x := range waiter.program[:waiter.called] {
			if x.comm == w.all {
				seq++
			}
		}
		seq--
		fmt.Fprintf(&b, "[rank%d]:[E603 10:50:31.005271823 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800068 milliseconds before timing out.\n", waiter.id, waiter.id, seq)
		fmt.Fprintf(&b, "[rank%d]:[E603 10:50:31.005538748 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: %d PG status: last enqueued work: %d, last completed work: %d\n", waiter.id, waiter.id, seq, seq, seq-1)
	case w.spec.Fault == Link || w.spec.Fault == Port:
	default:
		fmt.Fprintf(&b, "slurmstepd: error: *** STEP 4711.0 ON gpu01 CANCELLED AT %sT%s DUE TO TIME LIMIT ***\n", day, overAt)
	}
	w.inc.Logs[name] = b.Bytes()
}
