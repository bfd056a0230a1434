package stacks

import (
	"hash/fnv"
	"io"
	"strconv"
	"strings"
)

// Kind is what a process is to the job.
type Kind string

// The kinds. Only trainers are ranks.
const (
	Trainer      Kind = "trainer"
	LoaderWorker Kind = "loader worker"
	Launcher     Kind = "launcher"
	Helper       Kind = "helper"
)

// roles tell by a frame what a process is: of all the innermost, as a forked process still has its parent's frames further out.
var roles = []struct {
	funcs, file string
	kind        Kind
}{
	{"_worker_loop", "torch/utils/data/_utils/worker.py", LoaderWorker},
	{"_wrap", "torch/multiprocessing/spawn.py", Trainer},
	{"*", "torch/distributed/elastic/agent/", Launcher},
	{"*", "torch/distributed/launcher/", Launcher},
	{"*", "torch/distributed/run.py", Launcher},
	{"*", "deepspeed/launcher/", Launcher},
	{"launch_command *launcher", "accelerate/commands/launch.py", Launcher},
	{"*", "torch/_inductor/compile_worker/", Helper},
	{"main", "multiprocessing/forkserver.py", Helper},
	{"main", "multiprocessing/resource_tracker.py", Helper},
	{"*", "wandb/sdk/service/", Helper},
	{"*", "wandb/sdk/internal/", Helper},
	{"_process_worker", "concurrent/futures/process.py", Helper},
	{"worker", "multiprocessing/pool.py", Helper},
}

// commands tell by a command line what a process is.
var commands = []struct {
	part string
	kind Kind
}{
	{"torchrun", Launcher}, {"torch.distributed.run", Launcher}, {"torch.distributed.launch", Launcher}, {"deepspeed.launcher", Launcher}, {"accelerate launch", Launcher},
	{"multiprocessing.resource_tracker", Helper}, {"multiprocessing.forkserver", Helper}, {"compile_worker", Helper}, {"wandb-service", Helper}, {"wandb-core", Helper},
	{"pt_data_worker", LoaderWorker}, {"tensorboard", Helper},
}

func kindOf(command string, frames []Frame) Kind {
	for i := range frames {
		for _, r := range roles {
			if (&row{funcs: r.funcs, file: r.file}).fits(&frames[i]) {
				return r.kind
			}
		}
	}
	for _, c := range commands {
		if strings.Contains(command, c.part) {
			return c.kind
		}
	}
	return Trainer
}

// deciding chooses the thread that tells what a process is about: the main one, and while that runs the backward pass in the
// engine of autograd, one of the engine's own in which Python's hooks run. A main thread that waits for what another thread is to hand it
// waits for the data loader where such a thread stands in it, as prefetching ones do.
func deciding(s *Stack, threads []Thread) int {
	main := mainThread(s, threads)
	if main < 0 {
		return main
	}
	place, _, _ := placeOf(threads[main].Frames)
	if place == Lock {
		for i := range threads {
			if p, _, _ := placeOf(threads[i].Frames); i != main && p == Loader && started(&threads[i]) {
				return i
			}
		}
	}
	if place != Compute {
		return main
	}
	for i := range threads {
		if i == main || threads[i].Name != "" && !strings.HasPrefix(threads[i].Name, "Dummy") || started(&threads[i]) {
			continue
		}
		if p, _, _ := placeOf(threads[i].Frames); p.Waits() || p.Holds() {
			return i
		}
	}
	return main
}

func mainThread(s *Stack, threads []Thread) int {
	for i := range threads {
		if threads[i].Name == "MainThread" {
			return i
		}
	}
	for i := range threads {
		t := &threads[i]
		if s.PID > 0 && t.TID == s.PID || s.Tool == GDB && t.ID == "1" && len(t.Frames) > 0 {
			return i
		}
	}
	// faulthandler: threads that Python started end in threading.py; the newest stand first, the main thread last.
	for i := len(threads) - 1; i >= 0; i-- {
		if t := &threads[i]; len(t.Frames) > 0 && !started(t) && (s.Tool == FaultHandler || s.Tool == Traceback || len(threads) == 1) {
			return i
		}
	}
	return -1
}

// started says that Python's threading started a thread.
func started(t *Thread) bool {
	if len(t.Frames) == 0 {
		return false
	}
	f := &t.Frames[len(t.Frames)-1]
	return strings.HasPrefix(f.Func, "_bootstrap") && base(f.File) == "threading.py"
}

// asked is the frame by which a library was asked for what ends in a call of the system: its outermost in a row, which says more than libc's.
func asked(frames []Frame, call int) int {
	out := call
	for i := call + 1; i < len(frames) && frames[i].Native && frames[i].File != ""; i++ {
		if out > call && base(frames[i].File) != base(frames[out].File) {
			break
		}
		out = i
	}
	return out
}

// settle fills in what the threads of a process say, and forgets what does not matter.
func (s *Stack) settle(threads []Thread) bool {
	s.Threads, s.Named, s.User = len(threads), -1, -1
	i := deciding(s, threads)
	if i < 0 || len(threads[i].Frames) == 0 {
		return false
	}
	t := threads[i]
	s.Kind = kindOf(s.Command, t.Frames)
	if s.Place, s.Op, s.Named = placeOf(t.Frames); s.Place == Files {
		s.Named = asked(t.Frames, s.Named)
	}
	s.User = userFrame(t.Frames)
	h := fnv.New64a()
	for k := range t.Frames {
		f := &t.Frames[k]
		_, _ = io.WriteString(h, f.Func+"\x00"+f.File+"\x00"+strconv.Itoa(f.Line)+"\x00")
	}
	s.Same = h.Sum64()
	keep := min(len(t.Frames), max(keptFrames, s.Named+1, s.User+1))
	t.Frames = append([]Frame(nil), t.Frames[:keep]...)
	s.Thread = t
	return true
}
