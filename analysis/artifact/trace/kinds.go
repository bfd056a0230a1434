package trace

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"faultline/analysis/ascii"
)

// eventKind is what an event is about.
type eventKind uint8

const (
	otherEvent eventKind = iota
	kernelEvent
	copyEvent
	gpuAnnotation
	processEvent
)

// kinds are Kineto's categories, which were capitalised words up to 2021; events of the plain array have none. What else there is
// (python_function, ac2g, cuda_runtime, …) says nothing here.
var kinds = map[string]eventKind{"": processEvent, `"kernel"`: kernelEvent, `"Kernel"`: kernelEvent, `"gpu_memcpy"`: copyEvent, `"Memcpy"`: copyEvent, `"gpu_memset"`: copyEvent,
	`"Memset"`: copyEvent, `"gpu_user_annotation"`: gpuAnnotation, `"user_annotation"`: processEvent, `"cpu_op"`: processEvent, `"Operator"`: processEvent}

func kindOf(cat []byte) eventKind { return kinds[string(cat)] }

// collectiveKernel says that a kernel is one of NCCL's (and its likes'): up to 2.17 ncclKernel_AllReduce_RING_LL_Sum_half, then
// ncclDevKernel_AllReduce_Sum_f16_RING_LL; RCCL's are named likewise.
func collectiveKernel(name []byte) bool {
	return bytes.HasPrefix(name, []byte("nccl")) || bytes.HasPrefix(name, []byte("rccl")) || bytes.HasPrefix(name, []byte("msccl"))
}

// processCollective says that an event is the work of a back end that runs on the CPU, from its start until it is complete.
func processCollective(name []byte) bool {
	for _, p := range []string{"gloo:", "mpi:", "ucc:"} {
		if bytes.HasPrefix(name, []byte(p)) {
			return true
		}
	}
	return false
}

// arguments reads what c10d adds to a kernel; without them the kernel's own name has to do.
func (n *note) arguments(c *collector, args, name []byte) {
	n.name = c.once(kernelOp(name))
	if len(args) > 0 && args[0] == '{' {
		_ = members(args, func(m *member) {
			switch string(m.key) {
			case "Collective name":
				n.name = c.once(unquote(m.value))
			case "Process Group Name":
				n.group = c.once(unquote(m.value))
			case "Process Group Description":
				n.desc = c.once(unquote(m.value))
			case "Group size":
				if v, err := strconv.Atoi(string(m.value)); err == nil && v > 0 {
					n.size = v
				}
			}
		})
	}
	n.character()
}

// character says what kind of collective it is by its name.
func (n *note) character() {
	switch op := strings.ToLower(n.name); {
	case strings.Contains(op, "sendrecv") && n.group == "": // an all-to-all has the same kernel
		n.pair, n.swap = true, true
	case ascii.Has(op, "send", "recv"):
		n.pair = true
	case ascii.Has(op, "alltoall", "all_to_all"):
		n.swap = true
	}
}

// kernelOp is the operation in the name of a kernel: AllReduce in ncclDevKernel_AllReduce_Sum_f16_RING_LL(…).
func kernelOp(name []byte) []byte {
	_, rest, ok := bytes.Cut(name, []byte("Kernel_"))
	if !ok {
		return name
	}
	for i, c := range rest {
		if c == '_' || c == '(' {
			return rest[:i]
		}
	}
	return rest
}

func unquote(v []byte) []byte {
	if len(v) >= 2 && v[0] == '"' {
		return v[1 : len(v)-1]
	}
	return v
}

// nanoseconds reads microseconds.
func nanoseconds(b []byte) (int64, bool) {
	v, frac, point := int64(0), 3, false
	if len(b) == 0 || len(b) > 40 {
		return 0, false
	}
	for i, c := range b {
		switch {
		case ascii.Digit(c) && (!point || frac > 0):
			if v > (math.MaxInt64-9)/10 {
				return 0, false
			}
			v = 10*v + int64(c-'0')
			if point {
				frac--
			}
		case ascii.Digit(c): // below a nanosecond
		case c == '.' && !point && i > 0:
			point = true
		default:
			f, err := strconv.ParseFloat(string(b), 64)
			if f *= 1000; err != nil || math.IsNaN(f) || math.Abs(f) > 1<<62 {
				return 0, false
			}
			return int64(f), true
		}
	}
	for ; frac > 0; frac-- {
		if v > math.MaxInt64/10 {
			return 0, false
		}
		v *= 10
	}
	return v, true
}
