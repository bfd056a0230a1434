package analysis

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/history"
	"faultline/incident"
)

// strangeCases are failures in words that no catalogue has: of other programs, other languages, other runtimes. Each was written before
// the weights were tuned. lines end the log of one rank of eight; key is what an expert points at.
var strangeCases = []struct {
	name  string
	rank  int // whose log ends so
	lines string
	key   string // in a line that the report quotes
	says  string // in the statement, "" = key
}{
	{"French errno", 3, "le chargeur de données s'est arrêté : Permission non accordée\n", "Permission non accordée", ""},
	{"German errno", 5, "Lesen von shard-0012 abgebrochen: Auf dem Gerät ist kein Speicherplatz mehr verfügbar\n", "kein Speicherplatz", ""},
	{"Spanish signal", 2, "/var/spool/job: línea 12: 4242 Violación de segmento\n", "Violación de segmento", ""},
	{"Chinese word for a failure", 6, "数据读取失败: 分片 12\n", "数据读取失败", ""},
	{"Japanese errno", 1, "データ読込: 入力/出力エラーです\n", "入力/出力エラー", ""},
	{"Russian errno", 4, "чтение: Ошибка ввода/вывода\n", "Ошибка ввода/вывода", ""},
	{"glog letter", 7, "F1126 10:12:44.123456 4242 ring_buffer.cc:88] slot table is torn\n", "slot table is torn", ""},
	{"absl letter", 0, "E0000 00:00:1795687964.123456 4242 conduit.cc:41] lease of chunk 7 went missing\n", "lease of chunk 7", ""},
	{"log4j level", 2, "2026-11-26 10:12:44,001 FATAL [pool-1-thread-3] c.x.ShardBroker - broker gives up on segment 9\n", "broker gives up", ""},
	{"slog level", 3, "time=2026-11-26T10:12:44Z level=ERROR msg=\"lease renewer quits\" lease=77\n", "lease renewer quits", ""},
	{"JSON level", 4, `{"ts":"2026-11-26T10:12:44Z","level":"fatal","msg":"token bucket went negative","pod":"p-3"}` + "\n", "token bucket went negative", ""},
	{"pino level", 5, `{"level":60,"time":1795687964000,"msg":"relay lost its upstream"}` + "\n", "relay lost its upstream", ""},
	{"Rust env_logger", 6, "[2026-11-26T10:12:44Z ERROR tokio_feeder::mux] lane 3 poisoned\n", "lane 3 poisoned", ""},
	{"syslog priority", 1, "<2>feeder[4242]: ring 3 wedged\n", "ring 3 wedged", ""},
	{"single letter in brackets", 2, "[10:12:44][E][feeder/mux:88] lane 3 has no owner\n", "lane 3 has no owner", ""},
	{"Go panic", 3, "panic: assignment to entry in nil map\n\ngoroutine 41 [running]:\nmain.(*feeder).claim(0xc0001)\n\t/src/feeder/claim.go:88 +0x1d\nruntime.goexit()\n\t/usr/local/go/src/runtime/asm_amd64.s:1700 +0x1\nexit status 2\n",
		"assignment to entry in nil map", "claim.go:88"},
	{"Rust panic", 4, "thread 'mux-3' panicked at src/mux.rs:88:13:\nlane table is poisoned\nstack backtrace:\n   0: rust_begin_unwind\n             at /rustc/abc/library/std/src/panicking.rs:665:5\n   1: feeder::mux::claim\n             at ./src/mux.rs:88:13\n",
		"lane table is poisoned", "mux.rs:88"},
	{"JVM exception", 5, "Exception in thread \"broker-3\" java.lang.IllegalStateException: segment 9 has two owners\n\tat com.x.Broker.claim(Broker.java:88)\n\tat java.lang.Thread.run(Thread.java:833)\nCaused by: com.x.LeaseLost: lease 77\n\tat com.x.Lease.renew(Lease.java:41)\n",
		"lease 77", "Lease.java:41"},
	{"C++ terminate", 6, "terminate called after throwing an instance of 'mux::Torn'\n  what():  slot table is torn at 88\n", "slot table is torn at 88", ""},
	{"C assertion", 7, "feeder: mux.c:88: claim: Assertion `lane->owner != NULL' failed.\nAborted (core dumped)\n", "lane->owner", ""},
	{"bare assert of Python", 2, "Traceback (most recent call last):\n  File \"/home/u/train.py\", line 214, in collate\n    assert len(items) == self.batch_size\nAssertionError\n", "AssertionError", "assert len(items) == self.batch_size"},
	{"Julia", 3, "ERROR: LoadError: DimensionMismatch: lane 3 has 7 rows\nStacktrace:\n [1] claim(x::Int64)\n   @ Main ./mux.jl:88\n", "lane 3 has 7 rows", ""},
	{"Julia, below its own library", 3, "ERROR: LoadError: DimensionMismatch: lane 3 has 7 rows\nStacktrace:\n [1] gemm_wrapper!(C::Matrix{Float32})\n   @ LinearAlgebra /opt/julia/share/julia/stdlib/v1.10/LinearAlgebra/src/matmul.jl:581\n [2] claim(x::Int64)\n   @ Main ./mux.jl:88\n", "lane 3 has 7 rows", "mux.jl:88 in claim"},
	{"Go panic in a goroutine of main", 3, "panic: lane 3 has no owner\n\ngoroutine 41 [running]:\nmain.main.func1()\n\t/src/feeder/claim.go:88 +0x1d\nmain.run()\n\t/src/feeder/main.go:12 +0x1\n", "lane 3 has no owner", "claim.go:88"},
	{"Go function named after what it does", 3, "panic: lane 3 has no owner\n\ngoroutine 41 [running]:\nabortLane(0xc0001)\n\t/src/feeder/claim.go:88 +0x1d\nmain.run()\n\t/src/feeder/main.go:12 +0x1\n", "lane 3 has no owner", "claim.go:88"},
	{"Fortran", 4, "At line 88 of file mux.f90\nFortran runtime error: Index '9' of dimension 1 of array 'lane' above upper bound of 8\n", "above upper bound", ""},
	{".NET", 5, "Unhandled exception. System.InvalidOperationException: lane 3 has no owner\n   at Feeder.Mux.Claim(Int32 n) in /src/Mux.cs:line 88\n", "lane 3 has no owner", "Mux.cs:88"},
	{"Node", 6, "/src/mux.js:88\n    throw new LaneError('lane 3 has no owner')\n    ^\nLaneError: lane 3 has no owner\n    at claim (/src/mux.js:88:11)\n    at node:internal/main:23:47\n", "LaneError: lane 3", "mux.js:88"},
	{"exit status of a helper", 1, "feeder helper left with exit status 41\n", "exit status 41", ""},
	{"the last line says nothing bad", 2, "lane 3 handed back to the pool\n", "lane 3 handed back", ""},
	{"reworded watchdog", 3, "supervisor: lane 3 made no progress for 1800 s, pulling the plug\n", "made no progress", ""},
	{"reworded out of memory", 4, "allocator: the card has no room for another 2.00 GiB, request turned down: memory exhausted\n", "memory exhausted", ""},
	{"reworded lost peer", 5, "mesh: neighbour 4 stopped responding, its line went dead\n", "neighbour 4", ""},
	{"a file system's own words", 6, "vfs: mount /scratch is gone: transport endpoint torn, giving up\n", "giving up", ""},
	{"a daemon's warning, then silence", 7, "WARNING: chassis 3 reports thermal trip on riser B\n", "thermal trip", ""},
	{"a kernel line", 1, "[2612362.231458] mlx9_core 0000:3b:00.0: device's health compromised - reached miss count\n", "health compromised", ""},
	{"Lua", 2, "lua: mux.lua:88: attempt to index a nil value (local 'lane')\nstack traceback:\n\tmux.lua:88: in function 'claim'\n", "attempt to index a nil value", ""},
	{"R", 3, "Error in claim(lane) : lane 3 has no owner\nExecution halted\n", "lane 3 has no owner", ""},
	{"MPI abort of another library", 4, "PSM9: endpoint 7 unreachable, aborting job\n", "endpoint 7 unreachable", ""},
	{"the end of a very long line", 2, "feeder: " + strings.Repeat("lane 3 and its slots were handed on, ", 14) + "and then the lease broker failed to answer\n", "lease broker failed", "lease broker failed"},
	{"native signal block", 5, "*** Process received signal ***\nSignal: Bus error (7)\nSignal code: Non-existent physical address (2)\nFailing at address: 0x7f12\n[ 0] /lib64/libpthread.so.0(+0x12cf0)[0x7f]\n", "Process received signal", ""},
}

// healthyLog is a rank's log of a run in which nothing is wrong: with the warnings, errors of probes and odd words that healthy jobs print.
func healthyLog(rank, steps int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[rank%d]: torch 2.6.0+cu124, world size 8\n", rank)
	b.WriteString("/opt/env/lib/python3.11/site-packages/torch/utils/data/dataloader.py:557: UserWarning: This DataLoader will create 8 worker processes in total. Our suggested max number of worker in current system is 6.\n")
	b.WriteString("FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated.\nlibibverbs: Warning: couldn't load driver 'libhns-rdmav34.so'\n")
	b.WriteString("could not find the fused kernel, falling back to the slow path\nerror_if_nonfinite=False on_error=raise max_errors: 0\n")
	at := func(s int) string { return fmt.Sprintf("2026-11-26 10:%02d:%02d,%03d", s/60%60, s%60, 100+rank) }
	for s := 1; s <= steps; s++ {
		fmt.Fprintf(&b, "%s - trainer - INFO - step %d/%d loss %.4f grad_norm 0.%d error: 0.0%d\n", at(s), s, 100000, 3-float64(s)/1000, s%10, s%7)
		if s%20 == 3 {
			fmt.Fprintf(&b, "%s - feeder - WARNING - shard %d failed its first read, retried (1/5)\n", at(s), s)
		}
		if s%50 == 7 {
			fmt.Fprintf(&b, "%s - trainer - ERROR - wandb: network error (ReadTimeout), entering retry loop\n", at(s))
		}
	}
	return b.String()
}

// strangeJob is a job of eight ranks, one of which ends in the given lines.
func strangeJob(t *testing.T, rank int, lines string) []incident.Source {
	t.Helper()
	files := map[string]string{}
	for r := range 8 {
		text := healthyLog(r, 300)
		if r == rank {
			text += lines
		}
		files[fmt.Sprintf("logs/rank_%d.log", r)] = text
	}
	return written(t, files, "")
}

// missed are cases in which the catalogue knows a line beside the one that tells.
var missed = map[string]bool{"Rust panic": true}

func TestWhatNobodyForesawIsQuoted(t *testing.T) {
	quoted, placed := 0, 0
	for _, c := range strangeCases {
		r := diagnosed(t, Input{Sources: strangeJob(t, c.rank, c.lines)})
		if r.Verdict.Status == incident.NoFailure {
			t.Errorf("%s: the job is said to be sound: %s", c.name, r.Verdict.Summary)
			continue
		}
		file := fmt.Sprintf("logs/rank_%d.log", c.rank)
		found, named := false, slices.Contains(r.Verdict.Root.Ranks, c.rank)
		eachEvidence(r, func(e *incident.Evidence) {
			found = found || e.Kind == incident.KindQuote && e.File == file && strings.Contains(e.Text, c.key)
		})
		said := false
		for _, s := range r.Standouts {
			said = said || strings.Contains(s.Statement, c.says)
			named = named || s.Rank != nil && *s.Rank == c.rank
		}
		said = said || len(r.Standouts) == 0 || c.says == ""
		switch {
		case missed[c.name]:
			if found && said {
				t.Errorf("%s: it is no miss any more", c.name)
			}
		case !found || !said:
			t.Errorf("%s: %q is not shown; verdict %s %q, %s", c.name, c.key, r.Verdict.Mechanism, r.Verdict.Summary, standoutsOf(r))
		case !named:
			quoted++
			t.Errorf("%s: rank %d is not named; verdict %s, %s", c.name, c.rank, r.Verdict.Mechanism, standoutsOf(r))
		default:
			quoted++
			placed++
		}
	}
	t.Logf("of %d cases %d are quoted, the rank of %d is named", len(strangeCases), quoted, placed)
}

// Container runtimes, journals and log services put each line into a record: what stands out is what the program wrote.
func TestWhatStandsInARecordIsReadAsItWasWritten(t *testing.T) {
	inJSON := func(format string) func(string) string {
		return func(text string) string {
			var b strings.Builder
			for line := range strings.Lines(text) {
				quoted, err := json.Marshal(line)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, format+"\n", quoted)
			}
			return b.String()
		}
	}
	for name, wrap := range map[string]func(string) string{
		"Docker":          inJSON(`{"log":%s,"stream":"stderr","time":"2026-11-26T10:12:44.123456789Z"}`),
		"the journal":     inJSON(`{"__CURSOR":"s=1","_HOSTNAME":"gn3","MESSAGE":%s,"PRIORITY":"6"}`),
		"Google's export": inJSON(`{"insertId":"a","textPayload":%s,"timestamp":"2026-11-26T10:12:44.1Z"}`),
		"a benchmark's":   inJSON(`{"event":"line","data":%s,"pipe":"stderr"}`),
		"containerd, CRI-O": func(text string) string {
			return "2026-11-26T10:12:44.1Z stderr F " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n2026-11-26T10:12:44.1Z stderr F ") + "\n"
		},
		"a structured logger": func(text string) string {
			quoted, _ := json.Marshal(text)
			return fmt.Sprintf("{\"level\":\"error\",\"message\":\"step ended\",\"exc_info\":%s}\n", quoted)
		},
	} {
		for _, c := range []struct{ lines, says string }{
			{"feeder: lane \"3\" has no owner, giving up: <lease> failed\n", "feeder: lane \"3\" has no owner, giving up: <lease> failed"},
			{"panic: assignment to entry in nil map\n\ngoroutine 41 [running]:\nmain.(*feeder).claim(0xc0001)\n\t/src/feeder/claim.go:88 +0x1d\n", "assignment to entry in nil map at claim.go:88"},
		} {
			r := diagnosed(t, Input{Sources: written(t, map[string]string{"0.log": "step 1 loss 2.5\nstep 2 loss 2.4\n" + wrap(c.lines)}, "")})
			shown := slices.ContainsFunc(r.Standouts, func(s incident.Standout) bool {
				return strings.Contains(s.Statement, c.says) && len(s.Evidence) > 0 && s.Evidence[0].Line == 3
			})
			if !shown {
				t.Errorf("%s: %q is not said: %s", name, c.says, standoutsOf(r))
			}
		}
	}
}

// A stack is one clue, however many of its lines sound bad.
func TestAStackIsOneClue(t *testing.T) {
	const stack = "ERROR: LoadError: lane 3 has 7 rows\nStacktrace:\n  [1] claim(x::Int64)\n    @ Main ./mux.jl:88\n  [2] top-level scope\n    @ /src/train.jl:12\nin expression starting at /src/train.jl:9\nfeeder helper left with exit status 41\n"
	r := diagnosed(t, Input{Sources: strangeJob(t, 3, stack)})
	got := standoutsOf(r)
	if strings.Contains(got, "Stacktrace") || !strings.Contains(got, "lane 3 has 7 rows") || !strings.Contains(got, "exit status 41") {
		t.Error(got)
	}
}

func standoutsOf(r *incident.Report) string {
	var b strings.Builder
	for _, s := range r.Standouts {
		fmt.Fprintf(&b, "\n\t%d %q %+v", s.Score, s.Statement, s.Reasons)
	}
	return b.String()
}

// A job of which the end is seen is sound; one whose lines stop before its last step is neither called that nor suspected of anything.
func TestASoundJobIsNotSuspected(t *testing.T) {
	for name, c := range map[string]struct{ end, status string }{
		"goes on":     {"", incident.Inconclusive},
		"saves":       {"2026-11-26 10:05:01,100 - trainer - INFO - saved checkpoint to /ckpt/step300\n", incident.Inconclusive},
		"warns again": {"2026-11-26 10:05:01,100 - feeder - WARNING - shard 12 failed its first read, retried (1/5)\n", incident.Inconclusive},
		"says so":     {"2026-11-26 10:05:01,100 - trainer - INFO - training finished\n", incident.NoFailure},
		"tears down": {"2026-11-26 10:05:01,100 - trainer - INFO - Training completed successfully, 0 errors\n/opt/env/lib/python3.11/multiprocessing/resource_tracker.py:224: " +
			"UserWarning: resource_tracker: There appear to be 3 leaked semaphore objects to clean up at shutdown\n", incident.NoFailure},
	} {
		files := map[string]string{}
		for r := range 8 {
			files[fmt.Sprintf("logs/rank_%d.log", r)] = healthyLog(r, 300) + c.end
		}
		r := diagnosed(t, Input{Sources: written(t, files, "")})
		if r.Verdict.Status != c.status || len(r.Standouts) > 0 || !slices.ContainsFunc(r.Verdict.Candidates, func(c incident.Candidate) bool { return c.Mechanism == "completed" }) {
			t.Errorf("%s: %s %s: %s%s", name, r.Verdict.Status, r.Verdict.Mechanism, r.Verdict.Summary, standoutsOf(r))
		}
	}
}

// What good runs of the same name print stands out less, what none of them prints more.
func TestGoodRunsTellWhatIsUsual(t *testing.T) {
	const name = "SLURM_JOB_NAME=nightly\nSLURM_JOB_ID=4242\n"
	const usual, strange = "mux: lane 3 failed to drain\n", "mux: lane 3 failed its lease\n"
	job := func(end string) []incident.Source {
		return written(t, map[string]string{"train.log": name + healthyLog(0, 300) + end}, "")
	}
	good := diagnosed(t, Input{Sources: job(usual + "2026-11-26 10:05:01,100 - trainer - INFO - training finished\n")})
	if good.Verdict.Status != incident.NoFailure || len(good.Shapes) == 0 {
		t.Fatalf("%s, shapes %q", good.Verdict.Status, good.Shapes)
	}
	rec, err := history.Of(good, history.Who{})
	if err != nil {
		t.Fatal(err)
	}
	rec.ID, rec.Job = history.ID("", "4100", 0), "4100"
	line, err := rec.Line()
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Sources: job(usual + strange), History: written(t, map[string]string{"h.jsonl": string(line)}, "")}
	r := diagnosed(t, in)
	if len(r.Standouts) == 0 || !strings.Contains(r.Standouts[0].Statement, "lease") || !slices.ContainsFunc(r.Standouts[0].Reasons, func(p incident.Reason) bool { return p.Part == "cross-job" && p.Points > 0 }) {
		t.Errorf("%s%s", r.Verdict.Summary, standoutsOf(r))
	}
	for _, s := range r.Standouts {
		if strings.Contains(s.Statement, "drain") {
			t.Errorf("what good runs print is shown as %q", s.Statement)
		}
	}
}

// What is printed after the watchdogs reported may follow from it, and accuses nobody; what one rank printed before them may be why.
func TestOfAHangOnlyWhatCameBeforeItIsAClue(t *testing.T) {
	const strange = "mesh: FATAL neighbour 4 stopped responding, its line went dead\n"
	for name, c := range map[string]struct {
		before, after string
		clues         int
	}{
		"after":  {"", strange, 0},
		"before": {strange, "", 1},
	} {
		files := map[string]string{}
		for r := range 6 { // of 8: who holds the others is not known
			own := c
			if r != 3 {
				own.before, own.after = "", ""
			}
			files[fmt.Sprintf("logs/rank_%d.log", r)] = healthyLog(r, 300) + own.before + fmt.Sprintf("[rank%d]:[E1126 10:25:55.918754608 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: "+
				"WorkNCCL(SeqNum=1307, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600019 milliseconds before timing out.\n", r, r) + own.after
		}
		r := diagnosed(t, Input{Sources: written(t, files, ""), WorldSize: 8})
		if len(r.Verdict.Candidates) < 2 || len(r.Standouts) != c.clues {
			t.Errorf("%s: %s, %d candidates: %s%s", name, r.Verdict.Mechanism, len(r.Verdict.Candidates), r.Verdict.Summary, standoutsOf(r))
		}
	}
}

// Who sent a signal is open where a line stands out that may say so; a job that only says which signal it got is asked to end from outside.
func TestALineThatNobodyKnowsMaySayWhoSentASignal(t *testing.T) {
	const got = "[2026-11-26 10:20:12,001] torch.distributed.elastic.agent.server.api: [WARNING] Received Signals.SIGTERM death signal, shutting down workers\n" +
		"torch.distributed.elastic.multiprocessing.api.SignalException: Process 811 got signal: 15\n"
	for above, open := range map[string]bool{
		"": false,
		"batchd: error: job 77 was revoked, its allotment is used up\n":         true,
		"noded[41]: FATAL: chassis 3 went dark, evacuating what runs there\n":   true,
		"supervisor: ERROR lane 3 made no progress for 1800 s, pulling plugs\n": true,
	} {
		r, err := Diagnose(t.Context(), Input{Sources: strangeJob(t, 0, above+got)})
		if err != nil {
			t.Fatal(err)
		}
		v := &r.Verdict
		if v.Mechanism != "external-signal" || len(r.Standouts) > 0 != open || v.Confidence >= 0.75 == open {
			t.Errorf("%q: %s %.2f, clues %s", above, v.Mechanism, float64(v.Confidence), standoutsOf(r))
		}
	}
}

// Of many files less is looked at of each, and never less than of few in all.
func TestEachOfManyFilesIsLookedAtLess(t *testing.T) {
	for files, want := range map[int]int64{0: 4 << 20, 1: 4 << 20, 8: 512 << 10, 64: 64 << 10, 512: 64 << 10, 1024: 32 << 10, 2048: 16 << 10, 16384: 16 << 10} {
		if got := standingEach(files); got != want {
			t.Errorf("%d files: %d bytes of each, not %d", files, got, want)
		}
	}
}
