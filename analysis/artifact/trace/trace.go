// Package trace reads what PyTorch's profiler writes for Chrome's trace viewer: what one process and its GPU did, event by event.
// It keeps what tells ranks apart, step by step: how long the step was, how much of it its GPU computed, communicated and lay
// idle, which collectives ran how long, and how long the process waited for its data. A file is read in one pass, in bounded memory.
//
// Formats: Kineto (libkineto/src/output_json.cpp, with PyTorch 1.8 to 2.10), an object with "traceEvents"; and the plain array of
// events that PyTorch writes where it is built without Kineto (torch/autograd/profiler_util.py, export_chrome_trace). Times are
// microseconds in both, whatever "displayTimeUnit" says. Collectives are told by their kernels (ncclKernel_…, ncclDevKernel_…) and
// the arguments that c10d's ParamCommsUtils adds to them from 2.2 on ("Collective name", "Process Group Name", …); on the CPU by
// the names that back ends give their work ("gloo:all_reduce").
package trace

import (
	"bytes"
	"strconv"

	"faultline/pattern"
)

// HeadLen is how much of a file Recognise wants to see.
const HeadLen = 4096

// None is a rank, a size or a count that is not stated.
const None = -1

// Trace is what one file says.
type Trace struct {
	Rank   int // as distributedInfo states it; None
	World  int
	Events int64
	GPU    bool // kernels are in it: shares are of the GPU's time. Else of the process's, by its collectives
	// Steps are those of the profiler's schedule (ProfilerStep#N), ascending. Without any, one step with the number None stands
	// for all that was recorded.
	Steps []Step
	// Grouped: the collectives state their process group. Pairs: there are sends and receives between two ranks, or kernels that
	// may be such. Exchange: there are all-to-alls, which carry work from rank to rank.
	Grouped, Pairs, Exchange bool
	Sharded                  bool // annotations of FSDP are in it
	// Cut says in one sentence why the file was not read to its end; "" = it was.
	Cut string
	// More is how many events of a kind that is kept were beyond the bounds.
	More int64
}

// Step is one step of the training, in nanoseconds.
type Step struct {
	Number int64
	File   string // left to whoever puts traces together
	At     Place  // of its own event; the zero Place where there is none
	Dur    int64
	// Compute and Copy are when the GPU did so, Comm when it was in a collective, Exposed that part of Comm in which it did
	// nothing else. Without a GPU, Comm is when the process had a collective in flight, and so is Exposed.
	Compute, Comm, Exposed, Idle int64
	Kernels                      int // that compute; without a GPU, operations of the process
	Loader                       int64
	LoaderAt                     Place // the longest wait for data in it
	Ops                          []Op  // collectives by operation and group, in this order
}

// Own is the time that the rank did not wait for others.
func (s *Step) Own() int64 { return s.Dur - s.Exposed }

// Op is one kind of collective of one group in one step.
type Op struct {
	Name  string // allreduce, allgather, …; of a kernel or work without arguments what its own name says
	Group string // its name, "" where none is stated
	Desc  string // what the program calls the group
	Size  int    // None: not stated
	N     int
	Total int64
	// First and Last are the earliest and the latest of them, in order of time; together all N, where these are no more than
	// twice maxCalls.
	First, Last []Call
}

// Call is one of them.
type Call struct {
	Dur int64
	At  Place
}

// Place is where an event stands in the (unpacked) file: its name and how long it took.
type Place struct {
	Name, Dur Text
}

// Text is a member of an object as written, key and value: `"dur": 208137.515`.
type Text struct {
	Line, Off  int64
	Key, Value string // the key with everything up to the value
}

// Known says that there is such an event.
func (p Place) Known() bool { return p.Name.Key != "" && p.Dur.Key != "" }

// Recognise says whether a file that begins so is a trace: an object with members that only a trace has, or an array of events.
func Recognise(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(head) < 2 {
		return false
	}
	switch head[0] {
	case '{':
		return bytes.Contains(head, []byte(`"traceEvents"`)) || bytes.Contains(head, []byte(`"schemaVersion"`)) && bytes.Contains(head, []byte(`"deviceProperties"`))
	case '[':
		rest := bytes.TrimLeft(head[1:], " \t\r\n")
		if len(rest) == 0 || rest[0] != '{' {
			return false
		}
		one := rest
		if end := bytes.IndexByte(rest, '}'); end >= 0 {
			one = rest[:end]
		}
		return phase.Match(one) && bytes.Contains(one, []byte(`"ts"`)) && bytes.Contains(one, []byte(`"name"`))
	}
	return false
}

var phase = pattern.New(`"ph"\s*:\s*"[A-Za-z]"`)

// rankInName is how people, Megatron, NeMo and TorchTitan put the rank into a file's name. A rank on its node is no rank of the job.
var rankInName = pattern.New(`(?i)(?:^|[^a-z0-9])((?:local|node|group)[-_.]?)?(?:global[-_.]?)?rank[-_.]?(\d+)`)

// RankOf is the rank that a file's name states, if it states exactly one.
func RankOf(name string) (int, bool) {
	if i := lastSlash(name); i >= 0 {
		name = name[i+1:]
	}
	found := rankInName.FindAllStringSubmatch(name, 3)
	if len(found) != 1 || found[0][1] != "" || len(found[0][2]) > 7 {
		return None, false
	}
	n, err := strconv.Atoi(found[0][2])
	return n, err == nil
}

func lastSlash(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '/' || s[i] == '\\' {
			return i
		}
	}
	return -1
}
