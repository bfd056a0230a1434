// Package volume writes log files of any size for measurements: the mixture of bars, library chatter, warnings and
// metrics that fills the logs of training jobs, with an incident at the end. What matters here is how much of which kind
// of line there is; incidents with a truth worth scoring are package simulate's.
package volume

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// Kinds of content.
const (
	// Mixed is what jobs write: 34 % bars, 24 % NCCL INFO, 18 % metrics of the frameworks, 14 % warnings, 10 % frames of
	// tracebacks; about one line in two hundred reports trouble.
	Mixed = "mixed"
	// Steps is the log of a healthy job that prints nothing but one line a step.
	Steps = "steps"
	// Storm is Mixed, in which every second line reports trouble.
	Storm = "storm"
)

// Kinds lists them; a family (Families) is a kind, too.
func Kinds() []string { return []string{Mixed, Steps, Storm} }

// Options say what is written. The same options always give the same bytes.
type Options struct {
	Kind     string
	Files    int   // of the whole job; each holds the lines of RanksPerFile ranks
	PerFile  int   // ranks in one file, i.e. on one node
	FileSize int64 // bytes of one file, about
	Seed     uint64
	Restarts int // of the job, which goes on in the same files
	// Trouble is the share of lines that report something: retries, warnings of NCCL, broken pipes. 0 means the kind's own.
	Trouble float64
}

// Name is the name of a file of the job.
func Name(file int) string { return fmt.Sprintf("error-4242-%d.out", file) }

// Write writes one file: the lines, and at its end the time-out of one collective on every rank of the job except one.
// The last line is cut.
func Write(w io.Writer, o Options, file int) error {
	p := &printer{
		Options: o, deck: deck(o.Kind), w: bufio.NewWriterSize(w, 1<<20), rng: rand.New(rand.NewPCG(o.Seed, uint64(file))),
		node: file, at: time.Date(2025, 9, 12, 3, 12, 44, 0, time.UTC), steps: make([]int, o.PerFile),
	}
	if p.Trouble == 0 {
		p.Trouble = map[string]float64{Mixed: 0.005, Storm: 0.5}[o.Kind]
	}
	if p.deck == nil && !slices.Contains(Kinds(), o.Kind) {
		return fmt.Errorf("no kind of log is called %q", o.Kind)
	}
	p.head()
	for run := int64(1); p.n < o.FileSize && p.err == nil; {
		p.line()
		if run <= int64(o.Restarts) && p.n > o.FileSize/int64(o.Restarts+1)*run {
			p.restart()
			run++
		}
	}
	p.end()
	if p.err != nil {
		return p.err
	}
	return p.w.Flush()
}

type printer struct {
	Options
	deck  [][]part // of a family; nil: of no family
	w     *bufio.Writer
	rng   *rand.Rand
	node  int
	at    time.Time
	steps []int // by local rank
	n     int64
	err   error
}

func (p *printer) printf(format string, args ...any) {
	n, err := fmt.Fprintf(p.w, format, args...)
	p.n += int64(n)
	if p.err == nil {
		p.err = err
	}
}

func (p *printer) global(local int) int { return p.node*p.PerFile + local }

func (p *printer) host(local int) string {
	return fmt.Sprintf("node%04d:%d:%d", p.node, 41000+local, 41900+local)
}

// head is who is who.
func (p *printer) head() {
	world := p.Files * p.PerFile
	for l := range p.PerFile {
		p.printf("%s [%d] NCCL INFO ncclCommInitRankConfig comm 0x55d0c1a0 rank %d nranks %d cudaDev %d nvmlDev %d busId %x000 commId 0x7a2f - Init COMPLETE\n",
			p.host(l), l, p.global(l), world, l, l, 0x1a+l)
		p.printf("Initializing distributed: GLOBAL_RANK: %d, MEMBER: %d/%d\n", p.global(l), p.global(l)+1, world)
	}
}

// restart starts the job again, from what every rank saved a few steps before.
func (p *printer) restart() {
	const lost = 5
	step := max(slices.Min(p.steps)-lost, 0)
	p.printf("[default0]: successfully saved checkpoint from iteration %7d to /ckpt/run\n", step)
	p.at = p.at.Add(4 * time.Minute)
	p.printf("slurmstepd: error: *** STEP 4242.0 ON node%04d CANCELLED AT %s DUE to job requeue ***\n", p.node, p.at.Format("2006-01-02T15:04:05"))
	p.at = p.at.Add(4 * time.Minute)
	p.head()
	for l := range p.PerFile {
		p.steps[l] = step
		p.printf("[default%d]: successfully loaded checkpoint from /ckpt/run [ t 1/1, p 1/1 ] at iteration %d\n", l, step)
	}
}

// line writes one line of the job's ordinary life.
func (p *printer) line() {
	p.at = p.at.Add(time.Duration(p.rng.IntN(400)) * time.Millisecond)
	l := p.rng.IntN(p.PerFile)
	if p.deck != nil {
		p.say(p.deck[p.rng.IntN(len(p.deck))], l)
		return
	}
	if p.rng.Float64() < p.Trouble {
		p.trouble(l)
		return
	}
	if p.Kind == Steps {
		p.megatron(l)
		return
	}
	switch k := p.rng.IntN(100); {
	case k < 34:
		p.bar(l)
	case k < 58:
		p.info(l)
	case k < 72:
		p.warning(l)
	case k < 90:
		p.metrics(l)
	default:
		p.frame(l)
	}
}

const blocks = "███████████████████████████████"

// bar is a progress bar that was drawn one to six times.
func (p *printer) bar(l int) {
	for n := 1 + p.rng.IntN(6); n > 0; n-- {
		p.steps[l]++
		s := p.steps[l]
		percent := s % 10000 / 100
		filled := blocks[:3*(percent*30/100)]
		pace := 1.2 + p.rng.Float64()*0.4
		if l%2 == 0 {
			p.printf("\x1b[32mEpoch %d: %3d%%|%s\x1b[0m%*s| %d/10000 [%d:%02d:%02d<6:53:09, %5.2fit/s, v_num=9, reduced_train_loss=%.3f]", s/10000, percent, filled, 30-percent*30/100, "", s%10000, s/4000, s/60%60, s%60, pace, 2+p.rng.Float64())
		} else {
			p.printf("[rank%d]: %3d%%|%s%*s| %d/10000 [%d:%02d:%02d<6:53:09, %5.2fs/it]", p.global(l), percent, filled, 30-percent*30/100, "", s%10000, s/4000, s/60%60, s%60, pace)
		}
		if n > 1 {
			p.printf("\r")
		}
	}
	p.printf("\n")
}

// info is what NCCL says at level INFO.
func (p *printer) info(l int) {
	h := p.host(l)
	switch p.rng.IntN(6) {
	case 0:
		p.printf("%s [%d] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.\n", h, l)
	case 1:
		p.printf("%s [%d] NCCL INFO Channel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM\n", h, l, p.rng.IntN(24), p.global(l), l, p.global((l+1)%p.PerFile), (l+1)%p.PerFile)
	case 2:
		p.printf("%s [%d] NCCL INFO Channel %02d/0 : %d[%d] -> %d[%d] [send] via NET/IB/%d/GDRDMA\n", h, l, p.rng.IntN(24), p.global(l), l, p.global(l)+p.PerFile, l, p.rng.IntN(8))
	case 3:
		p.printf("%s [%d] NCCL INFO Trees [0] %d/-1/-1->%d->%d [1] %d/-1/-1->%d->%d\n", h, l, l+1, l, l-1, l+1, l, l-1)
	case 4:
		p.printf("%s [%d] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [RO]; OOB bond0:10.0.%d.%d<0>\n", h, l, p.node/250, p.node%250)
	default:
		p.printf("%s [%d] NCCL INFO Connected all rings, use ring PXN %d GDR %d\n", h, l, p.rng.IntN(2), p.rng.IntN(2))
	}
}

func (p *printer) warning(l int) {
	switch p.rng.IntN(4) {
	case 0:
		p.printf("/opt/venv/lib/python3.12/site-packages/torch/utils/checkpoint.py:%d: UserWarning: None of the inputs have requires_grad=True. Gradients will be None\n", 80+p.rng.IntN(20))
	case 1:
		p.printf("[rank%d]:[W%s%09d ProcessGroupNCCL.cpp:%d] Guessing device ID based on global rank. This can cause a hang if rank to GPU mapping is heterogeneous.\n", p.global(l), p.at.Format("102 15:04:05."), p.rng.IntN(1e9), 4000+p.rng.IntN(9))
	case 2:
		p.printf("%s,%03d - megatron.core.utils - WARNING - num_layers_per_virtual_pipeline_stage is deprecated and will be removed\n", p.at.Format("2006-01-02 15:04:05"), p.rng.IntN(1000))
	default:
		p.printf("  warnings.warn(\"torch.cuda.amp.custom_fwd(args...) is deprecated\", FutureWarning, stacklevel=%d)\n", 1+p.rng.IntN(3))
	}
}

func (p *printer) metrics(l int) {
	switch p.rng.IntN(4) {
	case 0:
		p.printf("[NeMo I %s nemo_logging:393] consumed_samples=%d global_batch=%d micro_batch=%d data_wait=%.4f\n", p.at.Format("2006-01-02 15:04:05"), p.steps[l]*256, 256, 2, p.rng.Float64())
	case 1:
		p.megatron(l)
	case 2:
		p.printf("{\"ts\": \"%s\", \"level\": \"info\", \"rank\": %d, \"tokens_per_s\": %d, \"mem_gb\": %.2f, \"queue\": %d}\n", p.at.Format(time.RFC3339), p.global(l), 8000+p.rng.IntN(900), 60+p.rng.Float64()*9, p.rng.IntN(64))
	default:
		p.printf("%s,%03d - dataset.loader - INFO - shard %06d of 262144 opened, %d samples\n", p.at.Format("2006-01-02 15:04:05"), p.rng.IntN(1000), p.rng.IntN(262144), p.rng.IntN(4096))
	}
}

func (p *printer) megatron(l int) {
	p.steps[l]++
	p.printf("[default%d]: [%s] iteration %8d/  500000 | consumed samples: %12d | elapsed time per iteration (ms): %.1f | throughput per GPU (TFLOP/s/GPU): %.1f | learning rate: 2.9%02dE-04 | global batch size:   256 | lm loss: %.6fE+00 | loss scale: 1.0 | grad norm: %.3f | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
		l, p.at.Format("2006-01-02 15:04:05"), p.steps[l], p.steps[l]*256, 700+p.rng.Float64()*60, 400+p.rng.Float64()*20, p.rng.IntN(99), 2+p.rng.Float64()*0.2, p.rng.Float64())
}

func (p *printer) frame(l int) {
	if p.rng.IntN(2) == 0 {
		p.printf("[rank%d]:   File \"/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py\", line %d, in _call_impl\n", p.global(l), 1500+p.rng.IntN(300))
		return
	}
	p.printf("[rank%d]:     return forward_call(*args, **kwargs)\n", p.global(l))
}

// trouble is a line that a reader has to look at: the wordings of retries, dying connections and loaders.
func (p *printer) trouble(l int) {
	r, stamp := p.global(l), p.at.Format("2006-01-02 15:04:05")
	switch p.rng.IntN(8) {
	case 0:
		p.printf("%s,%03d - urllib3.connectionpool - WARNING - Retrying (Retry(total=%d, connect=None, read=None, redirect=None, status=None)) after connection broken by 'ConnectionResetError(104, 'Connection reset by peer')': /v1/objects/imagenet/shard-%06d.tar\n", stamp, p.rng.IntN(1000), p.rng.IntN(5), p.rng.IntN(1e6))
	case 1:
		p.printf("%s [%d] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.%d.%d<%d> failed : Connection refused\n", p.host(l), l, p.rng.IntN(250), p.rng.IntN(250), 30000+p.rng.IntN(9999))
	case 2:
		p.printf("[rank%d]: BrokenPipeError: [Errno 32] Broken pipe\n", r)
	case 3:
		p.printf("[rank%d]: AISBatchLoaderError: batch %d failed after %d attempts: GET http://ais-proxy:51080/v1/objects: 503\n", r, p.steps[l], 1+p.rng.IntN(5))
	case 4:
		p.printf("%s [%d] transport/net_ib.cc:2273 NCCL WARN NET/IB: Got completion from peer 10.0.%d.%d<%d> with status=12 opcode=0 len=0 vendor err 129 (Recv)\n", p.host(l), l, p.rng.IntN(250), p.rng.IntN(250), 30000+p.rng.IntN(9999))
	case 5:
		p.printf("%s - aistore.client - ERROR - request to target t[%08x] failed: retry %d/5\n", stamp, p.rng.Uint32(), 1+p.rng.IntN(5))
	case 6:
		p.printf("[rank%d]: ConnectionResetError: [Errno 104] Connection reset by peer\n", r)
	default:
		p.printf("[rank%d]:[W%s%09d socket.cpp:755] [c10d] The client socket has failed to connect to [node%04d]:29500 (errno: 110 - Connection timed out).\n", r, p.at.Format("102 15:04:05."), p.rng.IntN(1e9), p.rng.IntN(p.Files))
	}
}

// end is the time-out of one collective that one rank of the job never came to, on every other rank of the file.
func (p *printer) end() {
	const seq = 48211
	straggler := p.Files * p.PerFile / 2
	if end := time.Date(2025, 9, 12, 9, 40, 2, 0, time.UTC); p.at.Before(end) {
		p.at = end
	}
	stamp := p.at.Format("102 15:04:05.")
	c10 := func(l int, src, format string, args ...any) {
		p.printf("[rank%d]:[E%s%09d %s] %s\n", p.global(l), stamp, p.rng.IntN(1e9), src, fmt.Sprintf(format, args...))
	}
	for l := range p.PerFile {
		r := p.global(l)
		if r == straggler {
			continue
		}
		work := fmt.Sprintf("WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=524288, NumelOut=524288, Timeout(ms)=600000)", seq)
		c10(l, "ProcessGroupNCCL.cpp:629", "[Rank %d] Watchdog caught collective operation timeout: %s ran for 600%03d milliseconds before timing out.", r, work, p.rng.IntN(99))
		c10(l, "ProcessGroupNCCL.cpp:2153", "[PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: %d PG status: last enqueued work: %d, last completed work: %d", r, seq, seq+1, seq-1)
		c10(l, "ProcessGroupNCCL.cpp:679", "Stack trace of the failed collective: ")
		p.printf("#0 all_reduce from /opt/venv/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py:2806\n#1 wrapper from /opt/venv/lib/python3.12/site-packages/torch/distributed/c10d_logger.py:81\n#2 train_step from /workspace/train.py:412\n")
		c10(l, "ProcessGroupNCCL.cpp:1785", "[PG ID 0 PG GUID 0(default_pg) Rank %d] Received a dump signal due to a collective timeout from this local rank and we will try our best to dump the debug info. Last enqueued NCCL work: %d, last completed NCCL work: %d.This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks, the order of collectives is not same for all ranks or the scheduled collective, for some reason, didn't run. Additionally, this can be caused by GIL deadlock or other reasons such as network errors or bugs in the communications library (e.g. NCCL), etc. ", r, seq+1, seq-1)
		c10(l, "ProcessGroupNCCL.cpp:681", "[PG ID 0 PG GUID 0(default_pg) Rank %d] First PG on this rank to signal dumping.", r)
		c10(l, "ProcessGroupNCCL.cpp:695", "[Rank %d] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.", r)
		c10(l, "ProcessGroupNCCL.cpp:709", "[Rank %d] To avoid data inconsistency, we are taking the entire process down.", r)
		c10(l, "ProcessGroupNCCL.cpp:1895", "[PG ID 0 PG GUID 0(default_pg) Rank %d] Process group watchdog thread terminated with exception: [Rank %d] Watchdog caught collective operation timeout: %s ran for 600%03d milliseconds before timing out.", r, r, work, p.rng.IntN(99))
		p.printf("terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  [PG ID 0 PG GUID 0(default_pg) Rank %d] Process group watchdog thread terminated with exception: [Rank %d] Watchdog caught collective operation timeout: %s ran for 600091 milliseconds before timing out.\n", r, r, work)
	}
	p.printf("slurmstepd: error: *** STEP 4242.0 ON node%04d CANCELL", p.node)
}
