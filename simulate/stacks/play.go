// Package stacks plays jobs that hang, or only seem to, and writes the stacks that people take of their processes. Where a process
// stands follows from what it does; the files are written in the formats of py-spy (dump.rs), CPython's faulthandler (traceback.c),
// gdb and Linux, whoever reads them.
package stacks

import (
	"fmt"
	"math/rand/v2"
)

// Place is where the rank at fault stands.
type Place string

// Places.
const (
	Queue   Place = "queue"   // waits for its data loader's workers
	Inline  Place = "inline"  // loads a sample itself
	Save    Place = "save"    // writes a checkpoint that the others wait for
	Kernel  Place = "kernel"  // sleeps in the kernel: a write to a file system does not return
	Compile Place = "compile" // compiles a kernel
	Own     Place = "own"     // in code of the job that no table knows
	Nobody  Place = "nobody"  // nobody is at fault: everybody waits for the GPUs
	Running Place = "running" // nothing hangs: the job was looked at twice, and moved
)

// Places are all of them.
func Places() []Place { return []Place{Queue, Inline, Save, Kernel, Compile, Own, Nobody, Running} }

// Waiting is how the others wait.
type Waiting string

// Ways to wait. Behind Item a call of CUDA waits that Python's frames do not show.
const (
	Calls Waiting = "calls"
	Syncs Waiting = "syncs"
	Item  Waiting = "item"
)

// Format is a tool's output.
type Format string

// Formats.
const (
	PySpy        Format = "py-spy"
	Locals       Format = "py-spy --locals"
	Native       Format = "py-spy --native"
	JSON         Format = "py-spy --json"
	FaultHandler Format = "faulthandler"
	GDB          Format = "gdb"
)

// Formats are all of them.
func Formats() []Format { return []Format{PySpy, Locals, Native, JSON, FaultHandler, GDB} }

// Layout is how the dumps are kept.
type Layout string

// Layouts. Those after Pdsh do not tell which rank a process is.
const (
	PerRank Layout = "rank"  // stacks/rank3.txt
	PerNode Layout = "node"  // one file for each node, with a header above each dump
	Pdsh    Layout = "pdsh"  // one file, the node in front of each line, with headers
	Label   Layout = "label" // one file, the task of srun in front of each line, lines of several between each other
	Bare    Layout = "bare"  // one file for each node, no header
)

// Layouts are all of them.
func Layouts() []Layout { return []Layout{PerRank, PerNode, Pdsh, Label, Bare} }

// Spec is one case. The same one always gives the same bytes.
type Spec struct {
	Seed    uint64
	Place   Place
	Waiting Waiting
	Format  Format
	Layout  Layout
	World   int
	PerNode int
	Nodes   []string // as many as it takes; nil: node01, …
	Root    int      // the rank at fault
	Cover   string   // "all", "half", "no root", "only root"
	Twice   bool
	Helpers bool // dumps of loader workers and launchers, too
}

// Truth is what was played.
type Truth struct {
	Rank int    // at fault; −1 nobody
	Node string // its node
	// Seen is whether its dump is there, Others of how many others there are dumps.
	Seen   bool
	Others int
	// Named is whether the files tell which rank a process is.
	Named bool
}

// Incident is a played case.
type Incident struct {
	Files map[string][]byte
	Truth Truth
}

// frame is one call, innermost first.
type frame struct {
	fn, file string // file as py-spy shortens it
	line     int
	lib      string // of a native frame
}

// process is what there is to be dumped.
type process struct {
	rank    int // −1 for a helper
	of      int // the rank whose helper it is
	node    string
	pid     int
	command string
	main    []frame
	kernel  []string
	idle    bool
}

var outer = []frame{
	{fn: "train", file: "train.py", line: 212}, {fn: "main", file: "train.py", line: 301},
	{fn: "wrapper", file: "torch/distributed/elastic/multiprocessing/errors/__init__.py", line: 347}, {fn: "<module>", file: "train.py", line: 309},
}

func with(inner ...frame) []frame { return append(append([]frame(nil), inner...), outer...) }

// at is where a rank at fault stands.
func at(p Place, moved bool) []frame {
	n := 0
	if moved {
		n = 3
	}
	switch p {
	case Queue:
		return with(frame{fn: "wait", file: "threading.py", line: 324}, frame{fn: "get", file: "queue.py", line: 180}, frame{fn: "_try_get_data", file: "torch/utils/data/dataloader.py", line: 1133},
			frame{fn: "_get_data", file: "torch/utils/data/dataloader.py", line: 1295}, frame{fn: "_next_data", file: "torch/utils/data/dataloader.py", line: 1329}, frame{fn: "__next__", file: "torch/utils/data/dataloader.py", line: 631})
	case Inline:
		return with(frame{fn: "readinto", file: "socket.py", line: 705}, frame{fn: "read", file: "http/client.py", line: 466}, frame{fn: "load", file: "reader.py", line: 40 + n}, frame{fn: "__getitem__", file: "shards.py", line: 77},
			frame{fn: "fetch", file: "torch/utils/data/_utils/fetch.py", line: 52}, frame{fn: "_next_data", file: "torch/utils/data/dataloader.py", line: 675}, frame{fn: "__next__", file: "torch/utils/data/dataloader.py", line: 631})
	case Save:
		return with(frame{fn: "_save", file: "torch/serialization.py", line: 857}, frame{fn: "save", file: "torch/serialization.py", line: 628}, frame{fn: "keep", file: "state.py", line: 31 + n})
	case Kernel:
		return with(frame{fn: "append", file: "journal.py", line: 18})
	case Compile:
		return with(frame{fn: "make_cubin", file: "triton/backends/nvidia/compiler.py", line: 370}, frame{fn: "compile", file: "triton/compiler/compiler.py", line: 279}, frame{fn: "forward", file: "model.py", line: 88 + n})
	case Own:
		return with(frame{fn: "rebuild_index", file: "sampler.py", line: 140})
	}
	return nil
}

// reduce is a step's last collective, which a healthy rank waits in.
func reduce(native bool) []frame {
	inner := []frame{{fn: "all_reduce", file: "torch/distributed/distributed_c10d.py", line: 2219}, {fn: "wrapper", file: "torch/distributed/c10d_logger.py", line: 83}}
	if native {
		inner = append([]frame{{fn: "cudaStreamSynchronize", lib: "libcudart.so.12"}, {fn: "c10d::ProcessGroupNCCL::WorkNCCL::synchronize()", lib: "libtorch_cuda.so"}}, inner...)
	}
	return with(inner...)
}

// waits is where a rank stands that waits for the others.
func waits(w Waiting, p Place, native bool, which int) []frame {
	switch {
	case p == Save || which%3 == 1 && w == Calls:
		return with(frame{fn: "barrier", file: "torch/distributed/distributed_c10d.py", line: 3685}, frame{fn: "wrapper", file: "torch/distributed/c10d_logger.py", line: 83})
	case w == Calls:
		return reduce(native)
	case w == Syncs:
		return with(frame{fn: "synchronize", file: "torch/cuda/__init__.py", line: 792}, frame{fn: "timed", file: "timers.py", line: 22})
	case native:
		return with(frame{fn: "cudaMemcpyAsync", lib: "libcudart.so.12"}, frame{fn: "at::native::_local_scalar_dense_cuda(at::Tensor const&)", lib: "libtorch_cuda.so"}, frame{fn: "log_loss", file: "train.py", line: 188})
	}
	return with(frame{fn: "log_loss", file: "train.py", line: 188})
}

// Play makes the files of a case.
func Play(s Spec) (*Incident, error) {
	if s.World < 2 || s.PerNode < 1 || s.Root >= s.World {
		return nil, fmt.Errorf("no such job: %+v", s)
	}
	rng := rand.New(rand.NewPCG(s.Seed, 7))
	inc := &Incident{Files: map[string][]byte{}, Truth: Truth{Rank: s.Root, Named: s.Layout == PerRank || s.Layout == PerNode || s.Layout == Pdsh && s.Format != JSON}}
	if s.Place == Nobody || s.Place == Running {
		inc.Truth.Rank = -1
	}
	native := s.Format == Native || s.Format == GDB
	var rounds [][]process
	for round := range 2 {
		if round == 1 && !s.Twice && s.Place != Running {
			break
		}
		var all []process
		for r := range s.World {
			node := fmt.Sprintf("node%02d", 1+r/s.PerNode)
			if len(s.Nodes) > r/s.PerNode {
				node = s.Nodes[r/s.PerNode]
			}
			p := process{rank: r, of: r, node: node, pid: 4000 + 11*r + 3, command: "/usr/bin/python -u train.py --config a.yaml", main: waits(s.Waiting, s.Place, native, r)}
			switch {
			case s.Place == Running && round == 0 && r == s.Root:
				p.main = at(Queue, false)
			case s.Place == Running && round == 0:
			case s.Place == Running:
				p.main = with(frame{fn: "forward", file: "model.py", line: 50 + r%4})
			case r == s.Root && s.Place != Nobody:
				p.main, p.idle = at(s.Place, false), true
				if s.Place == Kernel {
					p.kernel = []string{"rpc_wait_bit_killable+0x1e/0xb0 [sunrpc]", "nfs_wb_all+0x30/0x110 [nfs]", "nfs_file_fsync+0x50/0x150 [nfs]", "vfs_write+0x2b5/0x3f0", "ksys_write+0x5f/0xe0", "do_syscall_64+0x5b/0x1b0"}
				}
			}
			if r == s.Root && inc.Truth.Rank >= 0 {
				inc.Truth.Node = node
			}
			if !covered(s, r) {
				continue
			}
			if round == 0 {
				if r == s.Root && inc.Truth.Rank >= 0 {
					inc.Truth.Seen = true
				} else {
					inc.Truth.Others++
				}
			}
			all = append(all, p)
			if s.Helpers {
				all = append(all, helpers(p, r%s.PerNode == 0, rng)...)
			}
		}
		rounds = append(rounds, all)
	}
	write(s, inc, rounds)
	return inc, nil
}

func covered(s Spec, r int) bool {
	switch s.Cover {
	case "half":
		return r == s.Root || r%2 == 0
	case "no root":
		return r != s.Root
	case "only root":
		return r == s.Root
	}
	return true
}

// helpers are processes of a job that are no ranks.
func helpers(p process, first bool, rng *rand.Rand) []process {
	read := []frame{{fn: "read", file: "reader.py", line: 61}, {fn: "__getitem__", file: "shards.py", line: 77}}
	idle := []frame{{fn: "poll", file: "multiprocessing/connection.py", line: 256}, {fn: "get", file: "multiprocessing/queues.py", line: 113}}
	out := []process{}
	for i := range 2 {
		w := process{rank: -1, of: p.rank, node: p.node, pid: p.pid + 1 + i, command: p.command, idle: true, main: idle}
		if rng.IntN(2) == 0 {
			w.main = append([]frame{}, read...)
			w.main = append(w.main, frame{fn: "fetch", file: "torch/utils/data/_utils/fetch.py", line: 52})
		}
		// A forked worker has its parent's frames further out.
		w.main = append(append(append([]frame{}, w.main...), frame{fn: "_worker_loop", file: "torch/utils/data/_utils/worker.py", line: 308}, frame{fn: "run", file: "multiprocessing/process.py", line: 108}), outer...)
		out = append(out, w)
	}
	if first {
		out = append(out, process{rank: -1, of: p.rank, node: p.node, pid: 900 + p.rank, command: "/usr/bin/python /usr/bin/torchrun --nnodes 2 train.py", idle: true, main: []frame{{fn: "_invoke_run", file: "torch/distributed/elastic/agent/server/api.py", line: 893},
			{fn: "run", file: "torch/distributed/elastic/agent/server/api.py", line: 721}, {fn: "launch_agent", file: "torch/distributed/launcher/api.py", line: 264}, {fn: "<module>", file: "torchrun", line: 8}}})
	}
	return out
}
