// Command traces writes the traces of PyTorch's profiler that the reading of traces is measured with: one for each rank, of any size, with
// one rank whose kernels take longer.
//
//	go run ./bench/traces -out DIR -ranks 4 -size 1000000000
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"faultline/simulate/trace"
)

func main() {
	out := flag.String("out", "", "directory to write into")
	ranks := flag.Int("ranks", 4, "ranks, each with a trace")
	size := flag.Int64("size", 1_000_000_000, "bytes of one trace, about")
	slow := flag.Int("slow", 2, "the slow rank")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 || *ranks < 1 {
		fmt.Fprintln(os.Stderr, "traces: say where to write: -out DIR")
		os.Exit(2)
	}
	for id := range *ranks {
		if err := write(*out, id, *ranks, *size, id == *slow); err != nil {
			fmt.Fprintln(os.Stderr, "traces:", err)
			os.Exit(1)
		}
	}
}

// steps is how many steps a trace has; what there is between is made as long as the size wants it.
const steps = 5

func write(dir string, id, ranks int, size int64, slow bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("trace_rank%d.json", id)))
	if err != nil {
		return err
	}
	defer f.Close()
	b := bufio.NewWriterSize(f, 1<<20)
	w := trace.NewWriter(false)
	w.Begin(fmt.Sprintf(`{"backend": "nccl", "rank": %d, "world_size": %d, "pg_count": 1}`, id, ranks))
	now, written, factor := 1e9+float64(id)*1e6, int64(0), 1.0
	if slow {
		factor = 1.6
	}
	for step := range steps {
		from := now
		for written+int64(w.Len()) < size*int64(step+1)/steps {
			for range 64 { // launches, an operation of the process and its kernel
				op := trace.Event{Phase: "X", Category: "cpu_op", Name: "aten::addmm", Pid: "9", Tid: "9", TS: now - 40, Dur: 4.2, Args: `"External id": 7,"Record function id": 0, "Ev Idx": 3`}
				w.Event(op)
				op.Category, op.Name, op.Args = "cuda_runtime", "cudaLaunchKernel", `"External id": 7, "cbid": 211, "correlation": 90`
				w.Event(op)
				k := trace.Event{Phase: "X", Category: "kernel", Name: "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn", Pid: "0", Tid: "7", TS: now, Dur: 50 * factor,
					Args: `"External id": 7, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 90, "registers per thread": 32, "shared memory": 0, "blocks per SM": 1.5, "grid": [64, 1, 1], "block": [128, 1, 1]`}
				w.Event(k)
				now += 51 * factor
			}
			took := 80 + 64*51*(1.6-factor) // the others wait for the slow one
			w.Event(trace.Event{Phase: "X", Category: "kernel", Name: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Pid: "0", Tid: "20", TS: now, Dur: took,
				Args: `"External id": 8, "stream": 20, "Collective name": "allreduce", "In msg nelems": 1024, "Group size": ` + fmt.Sprint(ranks) + `, "dtype": "BFloat16", "Process Group Name": "0", "Process Group Description": "default_pg"`})
			now += took + 2
			n, err := w.WriteTo(b)
			if err != nil {
				return err
			}
			written += n
		}
		s := trace.Event{Phase: "X", Category: "user_annotation", Name: fmt.Sprintf("ProfilerStep#%d", 10+step), Pid: "9", Tid: "9", TS: from - 40, Dur: now - from, Args: `"External id": 7`}
		w.Event(s)
		s.Category, s.Pid, s.Tid = "gpu_user_annotation", "0", "7"
		s.TS += 40
		w.Event(s)
	}
	if _, err := b.Write(w.End()); err != nil {
		return err
	}
	return b.Flush()
}
