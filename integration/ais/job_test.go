//go:build realais

package ais

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	jobID    = "7301"
	patience = 20 * time.Second // NCCL's, as the job sets it
)

// zone is that of the job's machines. The daemons write UTC, as containers do.
var zone = time.FixedZone("", 9*3600)

// job is a training job of some ranks that reads every batch from the cluster and meets in a collective after it.
type job struct {
	dir   string
	ranks []*rank
	pause time.Duration
	total int // steps; a job that does them all has outlived whatever happened
	// shards are the objects of the dataset; of each rank, where they differ.
	shards []string
	own    map[int][]string
	// at is what happens once all ranks have done a step, before any of them begins the next one.
	at       map[int]func()
	happened map[int]chan struct{}
	// saves are the bytes that rank 0 writes into the bucket after each step.
	saves int
	// early: Lhotse's first generation, which raises what a batch raises, and retries that are switched off.
	early bool

	mu      sync.Mutex
	meeting map[int]int // step → ranks that came
	met     map[int]chan struct{}
	over    context.CancelFunc // the first rank that ends takes the others along
}

// rank is one process. Its log is its alone.
type rank struct {
	job *job
	n   int
	out *os.File
	*client
	step int
	// halts is where the rank stands still by itself, for a reason of its own; 0 = nowhere.
	halts int
}

// launch starts a job of four ranks, whose token is valid for a time. Waiting for its end gives the folder of its logs.
func launch(t *testing.T, c *cluster, valid time.Duration, change func(*job)) (*job, func() string) {
	t.Helper()
	c.jobToken = mint(may(c.uuid, objects), valid)
	j := &job{dir: filepath.Join(t.TempDir(), "logs"), pause: 400 * time.Millisecond, total: 50000, meeting: map[int]int{}, met: map[int]chan struct{}{}}
	folder(t, j.dir)
	for i := range dataset {
		j.shards = append(j.shards, object(i))
	}
	for n := range 4 {
		out, err := os.Create(filepath.Join(j.dir, fmt.Sprintf("error-%s-%d.out", jobID, n)))
		if err != nil {
			t.Fatal(err)
		}
		j.ranks = append(j.ranks, &rank{job: j, n: n, out: out, client: newClient(c.endpoint(), c.jobToken, c.namespace())})
	}
	if change != nil {
		change(j)
	}
	j.happened = map[int]chan struct{}{}
	for step := range j.at {
		j.happened[step] = make(chan struct{})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*soon)
	// A rank that ends leaves the others some seconds, as the kill of a whole step does: those that wait as it did end by
	// themselves, even if they came to the collective later.
	j.over = sync.OnceFunc(func() { time.AfterFunc(6*time.Second, cancel) })
	var all sync.WaitGroup
	for _, r := range j.ranks {
		all.Go(func() { r.run(ctx) })
	}
	t.Cleanup(func() { cancel(); all.Wait() })
	return j, func() string {
		all.Wait()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Error("the job did not end")
		}
		for _, r := range j.ranks {
			r.out.Close()
		}
		return j.dir
	}
}

// steps says how far the slowest rank has come.
func (j *job) steps() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := j.ranks[0].step
	for _, r := range j.ranks {
		n = min(n, r.step)
	}
	return n
}

// outlived says that all ranks did all steps.
func (j *job) outlived() bool { return j.steps() == j.total }

func (r *rank) say(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

// log is a line of Python's logging.
func (r *rank) log(level, name, format string, args ...any) {
	r.say("%s - %s - %s - %s", strings.Replace(time.Now().In(zone).Format("2006-01-02 15:04:05.000"), ".", ",", 1), name, level, fmt.Sprintf(format, args...))
}

// nccl is a line of PyTorch's own logger, as release 2.7 writes it.
func (r *rank) nccl(line int, format string, args ...any) {
	r.say("[rank%d]:[E%s ProcessGroupNCCL.cpp:%d] %s", r.n, time.Now().In(zone).Format("102 15:04:05.000000000"), line, fmt.Sprintf(format, args...))
}

func (r *rank) run(ctx context.Context) {
	defer r.job.over()
	r.say("Initializing distributed: GLOBAL_RANK: %d, MEMBER: %d/%d", r.n, r.n+1, len(r.job.ranks))
	if r.n == 0 {
		r.say("----------------------------------------------------------------------------------------------------\ndistributed_backend=nccl\n"+
			"All distributed processes registered. Starting with %d processes\n----------------------------------------------------------------------------------------------------", len(r.job.ranks))
	}
	node := fmt.Sprintf("gpu%02d", r.n/2+1)
	r.say("%s:%d:%d [%d] NCCL INFO ncclCommInitRank comm 0x55d0c8a1%02x30 rank %d nranks %d cudaDev %d nvmlDev %d busId %d000 commId 0x5f1c09aa37e1d2b4 - Init COMPLETE",
		node, 4100+r.n, 4200+r.n, r.n%2, r.n, r.n, len(r.job.ranks), r.n%2, r.n%2, 3+r.n%2)
	for step := 1; ctx.Err() == nil && step <= r.job.total; step++ {
		if step == r.halts {
			<-ctx.Done() // it computes, or hangs: nothing is printed
			return
		}
		if err := r.load(ctx, step); err != nil {
			if ctx.Err() == nil {
				r.raise(err)
			}
			return
		}
		if !r.meet(ctx, step) {
			return
		}
		r.log("INFO", "train", "step: %d/%d loss: %.4f", step, r.job.total, 2.3-0.001*float64(step))
		r.job.mu.Lock()
		r.step = step
		r.job.mu.Unlock()
		if happens := r.job.at[step]; happens != nil {
			if r.n == 0 {
				happens()
				close(r.job.happened[step])
			}
			<-r.job.happened[step] // rank 0 comes here too: it met the others
		}
		if r.n == 0 && r.job.saves > 0 {
			name := fmt.Sprintf("features-%05d.npy", step)
			if err := r.retried(ctx, func() error { return r.put(ctx, name, r.job.saves) }); err != nil {
				if ctx.Err() == nil {
					r.log("ERROR", "train", "saving %s failed: %s", name, err)
					r.raise(err)
				}
				return
			}
		}
		r.sleep(ctx, r.job.pause)
	}
}

func (r *rank) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// meet is the collective that ends a step. A rank that waits in vain says so, and ends.
func (r *rank) meet(ctx context.Context, step int) bool {
	r.job.mu.Lock()
	if r.job.met[step] == nil {
		r.job.met[step] = make(chan struct{})
	}
	met := r.job.met[step]
	if r.job.meeting[step]++; r.job.meeting[step] == len(r.job.ranks) {
		close(met)
	}
	r.job.mu.Unlock()
	begun := time.Now()
	select {
	case <-met:
		return true
	case <-ctx.Done():
		return false
	case <-time.After(patience + 20*time.Millisecond):
	}
	work := fmt.Sprintf("WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=466119168, NumelOut=466119168, Timeout(ms)=%d)", step, patience.Milliseconds())
	ran := time.Since(begun).Milliseconds()
	r.nccl(632, "[Rank %d] Watchdog caught collective operation timeout: %s ran for %d milliseconds before timing out.", r.n, work, ran)
	group := fmt.Sprintf("[PG ID 0 PG GUID 0(default_pg) Rank %d] ", r.n)
	r.nccl(2268, "%s failure detected by watchdog at work sequence id: %d PG status: last enqueued work: %d, last completed work: %d", group, step, step, step-1)
	r.nccl(670, "Stack trace of the failed collective not found, potentially because FlightRecorder is disabled. You can enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value.")
	r.nccl(2103, "%sFirst PG on this rank to signal dumping.", group)
	r.nccl(684, "[Rank %d] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.", r.n)
	r.nccl(698, "[Rank %d] To avoid data inconsistency, we are taking the entire process down.", r.n)
	r.nccl(1896, "%sProcess group watchdog thread terminated with exception: [Rank %d] Watchdog caught collective operation timeout: %s ran for %d milliseconds before timing out.", group, r.n, work, ran)
	return false
}

// loaderError is Lhotse's own, raised from another.
type loaderError struct {
	text  string
	cause error
}

func (e *loaderError) Error() string { return e.text }

const loader = "lhotse.ais.batch_loader"

const batch = 16 // objects that a rank asks for at a time

// load brings one batch, as Lhotse's loader does: all in one stream, and one by one what did not come.
func (r *rank) load(ctx context.Context, step int) error {
	shards, at := r.job.shards, (step*len(r.job.ranks)+r.n)*batch
	if own := r.job.own[r.n]; own != nil {
		shards, at = own, step*batch
	}
	names := make([]string, batch)
	for i := range names {
		names[i] = shards[(at+i)%len(shards)]
	}
	came := 0
	err := r.retried(ctx, func() (err error) {
		came, err = r.batch(ctx, names)
		return err
	})
	how := "Sequential GET"
	switch {
	case err == nil || ctx.Err() != nil || r.job.early:
		return err
	case errors.Is(err, errShort):
		how = "Direct API"
		r.log("WARNING", loader, "Batch stream truncated at index %d/%d. Falling back to direct AIStore API calls for remaining objects.", came, len(names))
		names = names[came:]
	default:
		r.log("WARNING", loader, "AIStore batch.get() failed: %s. Falling back to sequential GET requests.", err)
	}
	for _, name := range names {
		err := r.retried(ctx, func() error { return r.object(ctx, name) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.log("ERROR", loader, "Failed to fetch object %s from bucket ais://%s: %s", name, bucket, err)
			return &loaderError{how + " fallback failed for " + name, err}
		}
	}
	return nil
}

// retried is the SDK with its retries: silent ones where the server refuses for a moment, and ones with a line for each
// where no answer came, or an object is missing.
func (r *rank) retried(ctx context.Context, request func() error) error {
	for attempt := 1; ; attempt++ {
		err := request()
		var refused *apiError
		for wait := 3 * time.Second; wait <= 48*time.Second && !r.job.early && errors.As(err, &refused) && slices.Contains([]int{429, 500, 502, 503, 504}, refused.status); wait *= 2 {
			r.sleep(ctx, wait)
			err = request()
		}
		class := retryable(err)
		if class == "" || ctx.Err() != nil {
			return err
		}
		if attempt == 7 {
			r.log("ERROR", "root", "All retries exhausted; request failed")
			return err
		}
		wait := min(30*time.Second, time.Duration(1<<attempt)*550*time.Millisecond)
		r.log("WARNING", "root", "Retrying aistore.sdk.request_client.RequestClient.request.<locals>._request in %.2f seconds as it raised %s: %s.", wait.Seconds(), class, err)
		r.sleep(ctx, wait)
	}
}

// retryable is the class, without its module, of what the SDK tries again.
func retryable(err error) string {
	var (
		broken  *brokenError
		refused *apiError
	)
	switch {
	case errors.As(err, &broken):
		_, class, _ := strings.Cut(broken.class, "exceptions.")
		return class
	case errors.As(err, &refused) && refused.status == 404:
		return "ErrObjNotFound"
	}
	return ""
}

// raise is the end of a rank by an exception.
func (r *rank) raise(err error) {
	python := func(lines ...string) {
		for _, l := range lines {
			r.say("[rank%d]: %s", r.n, l)
		}
	}
	const site = "/usr/local/lib/python3.12/dist-packages/"
	var own *loaderError
	if errors.As(err, &own) {
		python("Traceback (most recent call last):",
			`  File "`+site+`lhotse/ais/batch_loader.py", line 214, in _fetch_one`, "    content = self._get_object_from_moss_in(moss_in)",
			`  File "`+site+`aistore/sdk/request_client.py", line 173, in request`, "    return self._retry_manager.with_retry(",
			final(own.cause), "", "The above exception was the direct cause of the following exception:", "")
	}
	python("Traceback (most recent call last):",
		`  File "/workspace/train.py", line 412, in <module>`, "    main()",
		`  File "/workspace/train.py", line 366, in main`, "    batch = next(batches)",
		`  File "`+site+`lhotse/ais/batch_loader.py", line 131, in __call__`, "    batch_result = batch.get()",
		final(err))
}

// final is the last line of a traceback.
func final(err error) string {
	var (
		refused *apiError
		broken  *brokenError
		own     *loaderError
	)
	switch {
	case errors.As(err, &own):
		return "lhotse.ais.batch_loader.AISBatchLoaderError: " + own.Error()
	case errors.As(err, &refused):
		return refused.pythonClass() + ": " + refused.Error()
	case errors.As(err, &broken):
		return broken.class + ": " + broken.Error()
	case errors.Is(err, errShort):
		return "RuntimeError: generator raised StopIteration"
	}
	return "RuntimeError: " + err.Error() // none is left
}
