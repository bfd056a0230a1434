package simulate

import (
	"fmt"
	"slices"
	"time"
)

// Stalls whose reason the stalled rank itself prints, and controls in which what it prints is no reason.

// words writes what a rank prints right before it holds the others. t is when they begin to wait. They report whether even without a
// label the lines tell of the rank: nobody else in the job prints the like while the others wait.
type words func(s *scene, r int, t time.Duration, bare bool) (alone bool)

// loaderWords: retries that have not ended, Lhotse's fall-back to single reads of every generation, a loader that waits.
func loaderWords(s *scene, r int, t time.Duration, bare bool) (alone bool) {
	o := s.object()
	const lhotse = "lhotse.ais.batch_loader"
	switch s.rng.IntN(8) {
	case 0:
		s.logger(r, t-sec(4), "WARNING", lhotse, "AIStore batch.get() failed: STATUS:429, MESSAGE:too many requests, REQ_URL:http://ais-proxy.storage:51080/v1/ml/moss/speech. Falling back to sequential GET requests.", bare)
	case 1:
		s.logger(r, t-sec(4), "WARNING", lhotse, "Batch stream truncated at index 17/64. Falling back to direct AIStore API calls for remaining objects.", bare)
	case 2:
		s.logger(r, t-sec(4), "WARNING", lhotse, "Object "+o+" from bucket speech is empty. Trying to get the object using AIStore API.", bare)
	case 3:
		s.logger(r, t-sec(4), "WARNING", lhotse, "Object "+o+"/a.flac from bucket ais://speech returned empty content. Retrying with direct AIStore API call.", bare)
	case 4:
		s.logger(r, t-sec(4), "WARNING", lhotse, "Timeout while fetching batch result at index 3: timed out. Falling back to direct AIStore API call.", bare)
	case 5:
		s.logger(r, t+sec(30), "INFO", "loader", "waiting for next batch (30 s)", bare)
	default:
		client := retryClients[s.rng.IntN(len(retryClients))]
		for n := 1; n <= 3; n++ {
			s.retry(r, t+sec(6*n), client, n, 20, o, bare)
		}
		return true
	}
	return false
}

func saveWords(s *scene, r int, t time.Duration, bare bool) (alone bool) {
	s.logger(r, t-ms(5), "INFO", "trainer", fmt.Sprintf("Saving checkpoint to /lustre/ckpt/step-%d", s.step), bare)
	return false
}

func busyWords(s *scene, r int, t time.Duration, bare bool) (alone bool) {
	text := pick(s.rng, " > WARNING: could not find index map files, building the indices on rank 0 ...", "Build and save the GPTDataset train indices",
		"Running tokenizer on dataset (num_proc=8):  12%|█▏        | 12000/100000 [02:11<16:10, 90.22 examples/s]", "preprocessing dataset shard 3 of 64", "Consolidating checkpoint shards into /ckpt/final")
	s.logger(r, t+sec(20), "INFO", "datasets", text, bare)
	return false
}

func endWords(s *scene, r int, t time.Duration, bare bool) (alone bool) {
	s.logger(r, t-ms(5), "INFO", "trainer", pick(s.rng, "Epoch 0 finished", "finished epoch 0 after 1187 batches", "data iterator exhausted after 1187 batches"), bare)
	return false
}

// fitTimed needs watchdog lines with a time, against which a rank's own lines can be held.
func fitTimed(s *Spec, p *picker) {
	p.atLeast(s, func(v *generation) bool { return v.stamp })
	fitOneGroup(s, p)
}

// playHeld is a rank that does not enter a collective and says, right before, what it is about instead.
func playHeld(slug string, say words) func(*scene) error {
	return func(s *scene) error {
		if !s.oneGroup() {
			return errOneGroup
		}
		root := s.rng.IntN(s.world)
		s.root = root
		bare := s.spec.FileMode == "node" && !slices.Contains(s.spec.Prefixes, "torchrun-default") && s.rng.IntN(5) == 0 && slug != "checkpoint-io"
		onset := s.runUp()
		from := s.here()
		alone := say(s, root, onset, bare)
		s.mark(from, saysReason)
		if s.spec.Ablate == "message" {
			s.dropSince(from)
		}
		prog := s.stepPrograms()
		o := s.play(prog, onset, s.limits([]int{root}, 0), nil)
		_, dead := s.timeouts(o, waveOptions{})
		s.teardown(dead)
		s.title = fmt.Sprintf("rank %d holds the others (%s)", root, slug)
		s.judge = func(v *view) Truth {
			t := v.stalled([]int{root}, s.title)
			if len(t.Candidates) == 1 && t.Candidates[0] == "rank-stalled" && s.remains().survive(saysReason) && (!bare || alone) {
				t.Candidates = []string{slug}
			}
			return t
		}
		return nil
	}
}

// recovers writes ladders that recover, on ranks other than the culprit, well before the end of the training.
func (s *scene) recovers(from, to time.Duration) {
	for range 1 + s.rng.IntN(6) {
		r := s.rng.IntN(s.world)
		if r == s.root && s.world > 1 {
			r = (r + 1) % s.world
		}
		t := from + s.jitter(to-from)
		client, o := retryClients[s.rng.IntN(len(retryClients))], s.object()
		for n := 1; n <= 1+s.rng.IntN(3); n++ {
			s.retry(r, t+ms(700*n), client, n, 20, o, false)
		}
	}
}

// troubled is a healthy run with ladders in its first half. It returns the moment of the incident.
func (s *scene) troubled() time.Duration {
	t := s.begin()
	s.recovers(sec(13), sec(12)+(t-sec(12))/3)
	return t
}

// playRetriesThenCrash: reads that were retried and recovered, and much later something else.
func playRetriesThenCrash(s *scene) error {
	t := s.troubled()
	r := s.anyRank()
	s.root = r
	d := death{ranks: []int{r}, at: t + ms(300), code: 1, peers: pick(s.rng, "killed", "remote")}
	if len(s.nodes) < 2 {
		d.peers = "killed"
	}
	s.faultLines("", func() {
		s.python(r, t, pyTraceback(cudaFrames(1), oomText(s.v.name, s.ranks[r].local, 512, s.ranks[r].pid))...)
	})
	s.falls(d)
	s.killed(fmt.Sprintf("reads recovered, and later the GPU of rank %d ran out of memory", r), "gpu-oom", "after-fix", d)
	inner := s.judge
	s.judge = func(v *view) Truth {
		t := inner(v)
		t.ForbidMechanisms = append(slices.Clone(t.ForbidMechanisms), "storage-retries-exhausted", "dataloader-stall")
		return t
	}
	return nil
}

// playResetsAndStall: connections that had been idle are reset on other ranks, and one rank stalls for a reason that it
// does not tell.
func playResetsAndStall(s *scene) error {
	if !s.oneGroup() {
		return errOneGroup
	}
	roots := s.minority()
	onset := s.runUp()
	for range 1 + s.rng.IntN(4) {
		r := s.rng.IntN(s.world)
		if slices.Contains(roots, r) {
			continue
		}
		s.retry(r, sec(13)+s.jitter((onset-sec(13))/2), "tenacity", 1, 7, "", false)
	}
	prog := s.stepPrograms()
	o := s.play(prog, onset, s.limits(roots, 0), nil)
	_, dead := s.timeouts(o, waveOptions{})
	s.teardown(dead)
	s.title = fmt.Sprintf("rank %s holds the others; resets elsewhere recovered", ranges(roots))
	s.judge = func(v *view) Truth {
		t := v.stalled(roots, s.title)
		t.ForbidMechanisms = append(slices.Clone(t.ForbidMechanisms), "storage-retries-exhausted", "dataloader-stall")
		return t
	}
	return nil
}

// playRetriesHealthy: reads that were retried, batches that came one object at a time, an item that was skipped with its
// traceback; and a job that ends well.
func playRetriesHealthy(s *scene) error {
	t := s.troubled()
	half := sec(12) + (t-sec(12))/3
	r := s.rng.IntN(s.world)
	if s.rng.IntN(2) == 0 {
		loaderWords(s, r, half, false)
	}
	if s.rng.IntN(2) == 0 {
		s.logger(r, half, "ERROR", "loader", "skipping an item", false)
		s.python(r, half+ms(1), loaderFault(2, "PIL.UnidentifiedImageError: cannot identify image file '/data/train/1.jpg'")...)
	}
	t = s.training(t, t+6*s.stepTime) + ms(50)
	s.frame.save(s, t+sec(1))
	s.plain(0, t+sec(3), "Training finished.")
	s.batch(t+sec(6), "srun rc=0")
	s.fixed(Truth{World: "a run whose reads recovered, and that ended well", Candidates: []string{"completed"}, NoFailure: true,
		ForbidMechanisms: []string{"storage-retries-exhausted", "dataloader-stall", "bad-sample", "exception", "ais-batch-object-loss"}})
	return nil
}
