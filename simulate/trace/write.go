package trace

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// kernelOf is what NCCL calls the kernel of an operation (2.18 to 2.27).
var kernelOf = map[string]string{"allreduce": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "allgather": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	"reduce_scatter": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "send": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
	"recv": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "all_to_allv": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"}

// oldKernelOf is the same up to NCCL 2.17.
var oldKernelOf = map[string]string{"allreduce": "ncclKernel_AllReduce_RING_LL_Sum_bf16(ncclWorkElem)", "allgather": "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)",
	"reduce_scatter": "ncclKernel_ReduceScatter_RING_LL_Sum_bf16(ncclWorkElem)", "send": "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)",
	"recv": "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "all_to_allv": "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"}

// glooOf is what Gloo's work is called.
var glooOf = map[string]string{"allreduce": "gloo:all_reduce", "allgather": "gloo:all_gather", "reduce_scatter": "gloo:reduce_scatter", "send": "gloo:send", "recv": "gloo:recv", "all_to_allv": "gloo:all_to_all"}

// Event is one event as the profiler writes it: members in its order, Args as written, "" none.
type Event struct {
	Phase, Category, Name string
	Pid, Tid              string
	TS, Dur               float64
	Args                  string
}

// write makes the file of one rank.
func (p *player) write(id int) (name string, data []byte) {
	rng := rand.New(rand.NewPCG(p.spec.Seed, uint64(id)+99))
	clock := 1e9 + 1e7*rng.Float64() // nobody's clock agrees with another's
	var events []Event
	for _, a := range p.acts[id] {
		events = append(events, p.events(id, clock, a)...)
	}
	rng.Shuffle(len(events), func(i, j int) { // sorted by thread, not by time
		if i/8 == j/8 {
			events[i], events[j] = events[j], events[i]
		}
	})
	if p.spec.Format == Array {
		return fmt.Sprintf("trace_rank%d.json", id), array(events)
	}
	w := NewWriter(p.spec.Minified)
	w.Begin(p.info(id))
	for _, e := range events {
		w.Event(e)
	}
	data = w.End()
	name = fmt.Sprintf("host%d_%d.1758610505000.pt.trace.json", id/8, 4000+id)
	if p.spec.Format == Packed {
		var z bytes.Buffer
		g := gzip.NewWriter(&z)
		_, _ = g.Write(data)
		_ = g.Close()
		return name + ".gz", z.Bytes()
	}
	return name, data
}

func (p *player) info(id int) string {
	backend := "nccl"
	if p.spec.Format == CPU {
		backend = "gloo"
	}
	return fmt.Sprintf(`{"backend": "%s", "rank": %d, "world_size": %d, "pg_count": %d}`, backend, id, p.world, len(p.groups))
}

func (p *player) events(id int, clock float64, a act) []Event {
	onCPU := p.spec.Format == CPU || p.spec.Format == Array
	pid := strconv.Itoa(4000 + id)
	e := Event{Phase: "X", Name: a.name, Pid: pid, Tid: pid, TS: clock + a.from, Dur: a.to - a.from, Args: `"External id": 7,"Record function id": 0, "Ev Idx": 3`}
	switch a.what {
	case "step":
		e.Category = "user_annotation"
		out := []Event{e}
		if !onCPU {
			out[0].TS -= 40 // the process is ahead
			gpu := e
			gpu.Category, gpu.Pid, gpu.Tid, gpu.Args = "gpu_user_annotation", "0", "7", `"External id": 7`
			out = append(out, gpu)
		}
		return out
	case "load":
		e.Category = "user_annotation"
		e.TS -= 40
		return []Event{e}
	case "kernel":
		if onCPU {
			e.Category, e.Name = "cpu_op", "aten::addmm"
			return []Event{e}
		}
		e.Category, e.Pid, e.Tid = "kernel", "0", "7"
		e.Args = `"External id": 7, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 90, "registers per thread": 32, "shared memory": 0, "blocks per SM": 1.5, "grid": [64, 1, 1], "block": [128, 1, 1]`
		return []Event{e}
	}
	if onCPU {
		e.Category, e.Name, e.Tid = "user_annotation", glooOf[a.name], strconv.Itoa(5000+id)
		return []Event{e}
	}
	e.Category, e.Pid, e.Tid = "kernel", "0", "20"
	e.Args = `"External id": 8, "queued": 0, "device": 0, "context": 1, "stream": 20, "correlation": 91, "grid": [16, 1, 1], "block": [512, 1, 1]`
	if p.spec.Format == Bare {
		e.Name = oldKernelOf[a.name]
		return []Event{e}
	}
	e.Name = kernelOf[a.name]
	size := len(a.group.ranks)
	for _, g := range p.groups { // a send is between two members
		if g.name == a.group.name {
			size = len(g.ranks)
		}
	}
	e.Args += fmt.Sprintf(`, "Collective name": "%s", "In msg nelems": %d, "Out msg nelems": %d, "Group size": %d, "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]", "Process Group Name": "%s", "Process Group Description": "%s", "Process Group Ranks": "%s"`,
		a.name, a.elems, a.elems, size, a.group.name, a.group.desc, strings.ReplaceAll(fmt.Sprint(a.group.ranks), " ", ", "))
	return []Event{e}
}

// Writer writes Kineto's JSON, event by event.
type Writer struct {
	bytes.Buffer
	minified, more bool
}

// NewWriter makes a writer; minified is what tools leave that rewrite a trace.
func NewWriter(minified bool) *Writer { return &Writer{minified: minified} }

// Begin writes what stands in front of the events. info is the text of distributedInfo, "" none.
func (w *Writer) Begin(info string) {
	s := "\n{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0, \"name\": \"NVIDIA H100 80GB HBM3\", \"totalGlobalMem\": 85017493504,\n      \"computeMajor\": 9, \"computeMinor\": 0,\n      \"maxThreadsPerBlock\": 1024\n    }\n  ],\n"
	if info != "" {
		s += "  \"distributedInfo\": " + info + ",\n"
	}
	s += "  \"cupti_version\": 24,\n  \"cuda_runtime_version\": 12040,\n  \"trace_id\": \"15A45703273544B7BAF167558EA926AE\",\n  \"traceEvents\": ["
	if w.minified {
		s = strings.NewReplacer("\n", "", "  ", "").Replace(s)
	}
	w.WriteString(s)
}

// Event writes an event.
func (w *Writer) Event(e Event) {
	if w.more {
		w.WriteByte(',')
	}
	w.more = true
	name, _ := json.Marshal(e.Name)
	name = []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(name))) // Kineto escapes neither
	pid, tid := number(e.Pid), number(e.Tid)
	if w.minified {
		fmt.Fprintf(w, `{"ph":"%s","cat":"%s","name":%s,"pid":%s,"tid":%s,"ts":%.3f,"dur":%.3f,"args":{%s}}`, e.Phase, e.Category, name, pid, tid, e.TS, e.Dur, e.Args)
		return
	}
	fmt.Fprintf(w, "\n  {\n    \"ph\": \"%s\", \"cat\": \"%s\", \"name\": %s, \"pid\": %s, \"tid\": %s,\n    \"ts\": %.3f, \"dur\": %.3f,\n    \"args\": {\n      %s\n    }\n  }", e.Phase, e.Category, name, pid, tid, e.TS, e.Dur, e.Args)
}

// End writes what stands behind the events, and returns all.
func (w *Writer) End() []byte {
	s := "\n  ],\n  \"traceName\": \"/tmp/trace.json\",\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 1790857026000000000\n}"
	if w.minified {
		s = strings.NewReplacer("\n", "", "  ", "").Replace(s)
	}
	w.WriteString(s)
	return w.Bytes()
}

func number(s string) string {
	if _, err := strconv.Atoi(s); err == nil {
		return s
	}
	return strconv.Quote(s)
}

// array is the plain list of builds without Kineto: whole microseconds, on one line.
func array(events []Event) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, e := range events {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"name": "%s", "ph": "X", "ts": %d, "dur": %d, "tid": 1, "pid": "CPU functions", "args": {}}`, e.Name, int64(e.TS), int64(e.Dur))
	}
	b.WriteByte(']')
	return b.Bytes()
}
