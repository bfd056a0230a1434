package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"faultline/analysis/aislog"
	"faultline/eval"
	"faultline/incident"
	"faultline/simulate"
)

// storageLine is the line of incidents that come with logs of the storage's daemons.
const storageLine = 6

// storageCases is how many incidents and controls the board of the storage has: four of every mechanism, twice.
const storageCases = 2 * 92

// storageGraded is the graded grid of the storage, with what plays each case again.
type storageGraded struct {
	graded
	specs map[string]simulate.Spec
	// unknown are warnings and errors of daemons that the reader has no text for, by case.
	unknown map[string]string
}

var (
	storageOnce   sync.Once
	storageResult storageGraded
)

// storageGrid plays and grades the seeded grid of the storage, once.
func storageGrid(t *testing.T) storageGraded {
	t.Helper()
	storageOnce.Do(func() { storageResult = gradeStorage(t) })
	if storageResult.err != nil {
		t.Fatal(storageResult.err)
	}
	return storageResult
}

func gradeStorage(t *testing.T) storageGraded {
	dir := filepath.Join(scratch, "storage")
	half := storageCases / 2
	if brief() {
		half = len(simulate.Mechanisms(storageLine)) // one of each
	}
	// The second half is drawn from another number: what was learnt on the first is held against it.
	specs := simulate.Grid(half, *seed+9, storageLine)
	if !testing.Short() {
		specs = append(specs, simulate.Grid(half, *seed+2694, storageLine)...)
	}
	errs, ids := make([]error, len(specs)), make([]string, len(specs))
	todo := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range todo {
				inc, err := simulate.Generate(specs[i])
				if err == nil {
					ids[i], err = inc.ID, simulate.Write(dir, inc)
				}
				errs[i] = err
			}
		})
	}
	for i := range specs {
		todo <- i
	}
	close(todo)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return storageGraded{graded: graded{err: err}}
	}
	byID := map[string]simulate.Spec{}
	for i, id := range ids {
		byID[id] = specs[i]
	}
	a := &audit{}
	var mu sync.Mutex
	unknown := map[string]string{}
	board, err := eval.Run(t.Context(), []string{dir}, eval.Options{Diagnose: func(ctx context.Context, in eval.CaseInput) (*incident.Report, error) {
		r, err := a.engine(ctx, in)
		if err != nil {
			return nil, err
		}
		for i := range r.Storage.Daemons {
			for _, e := range r.Storage.Daemons[i].Events {
				if e.Kind == string(aislog.Other) {
					mu.Lock()
					unknown[in.ID] = e.Evidence[0].Text
					mu.Unlock()
				}
			}
		}
		return r, nil
	}})
	return storageGraded{graded{board, a, err}, byID, unknown}
}

// Incidents of the storage that reach a job, and controls in which the storage is not to blame, with the logs of its daemons.
func TestTheStorageIsJudged(t *testing.T) {
	t.Parallel()
	g := storageGrid(t)
	hold(t, g.board, true, []goal{
		{metric: eval.Ran, permil: 1000, cases: storageCases},
		{metric: eval.Verified, permil: 1000, cases: storageCases},
		{metric: eval.Proven, permil: 1000, cases: storageCases},
		{metric: eval.StorageBlamed, cases: 40},
		{metric: eval.StorageInnocent, cases: 66},
		{metric: eval.StorageJudged, permil: 980, cases: storageCases},
		{metric: eval.FirstRight, permil: 980, cases: 150},
		{metric: eval.StorageDaemon, permil: 980, cases: 66},
		{metric: eval.StorageSide, permil: 980, cases: 66},
		{metric: eval.StorageChain, permil: 980, cases: 66},
		{metric: eval.StorageRevised, permil: 1000, cases: 40},
	})
	for _, w := range g.audit.wrong {
		t.Error(w)
	}
	misses(t, g.board, g.specs)
}

// Every warning and error that a daemon of one of the releases prints in these incidents is in the reader's table.
func TestTheReaderKnowsWhatDaemonsSay(t *testing.T) {
	t.Parallel()
	for id, text := range storageGrid(t).unknown {
		t.Errorf("%s: no text for %q", id, text)
	}
}

// shownMisses bounds what the log of this test repeats of cases with a failed score.
const shownMisses = 40

// misses names the cases with a failed score, with what plays them again.
func misses(t *testing.T, board *eval.Scoreboard, specs map[string]simulate.Spec) {
	t.Helper()
	for i, c := range board.Failing() {
		if i == shownMisses {
			t.Logf("… and %d more", len(board.Failing())-i)
			return
		}
		spec, err := json.Marshal(specs[c.ID])
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s\n  spec %s", c.ID, c.Reason(), spec)
	}
}
