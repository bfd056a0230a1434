// Package eval runs the engine over cases whose answer is known and keeps the score: simulated incidents, whose truth is
// what their bytes determine, and real ones, whose truth is what their sources established.
package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"faultline/analysis/verify"
	"faultline/incident"
)

// Diagnose is the engine under test.
type Diagnose func(ctx context.Context, in CaseInput) (*incident.Report, error)

// Options of a run.
type Options struct {
	Diagnose Diagnose
	// Readers names those readers of the engine that have wordings of their own and would read a line; for Try.
	Readers func(line string) []string
	// Collectors are those of the trial Collected; none: made up for each case.
	Collectors []Collector
	// Sized gives the engine a case's number of ranks, too. Without it, it gets what most people give: the logs.
	Sized bool
	// Workers is how many cases run at a time; 0 means GOMAXPROCS. It never changes the scoreboard.
	Workers int
	// Progress, if set, is called after each case, from one goroutine at a time.
	Progress func(done, total int)
}

// Scoreboard is the outcome of a run, in the order of the cases' ids.
type Scoreboard struct {
	Cases []Case `json:"cases"`
}

// Case is the outcome of one case.
type Case struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Simulated   bool   `json:"simulated"`
	GroundTruth bool   `json:"ground_truth"` // the answer is established; always true of simulated cases
	Label       string `json:"label"`        // the mechanism it is filed under
	// What the engine said.
	Status     string              `json:"status"`
	Mechanism  string              `json:"mechanism"`
	Confidence incident.Confidence `json:"confidence"`
	// Right is the one judgement that confidence is held against: the mechanism, or the exact set where the bytes leave
	// one. Null where the case does not say what is right.
	Right *bool `json:"right"`
	// Members are the mechanisms of a set that the report leaves standing; of simulated cases only.
	Members []Member `json:"members,omitempty"`
	// Scores holds those metrics that apply to this case.
	Scores []Score `json:"scores"`
	// Wall is how long the engine took. It is not part of the JSON or Markdown, which are the same at each run.
	Wall time.Duration `json:"-"`
}

// Score is one metric of one case.
type Score struct {
	Metric Metric `json:"metric"`
	OK     bool   `json:"ok"`
	Why    string `json:"why,omitempty"` // where not OK: said and expected
}

// Failed lists the scores that are not OK.
func (c *Case) Failed() []Score {
	var out []Score
	for _, s := range c.Scores {
		if !s.OK {
			out = append(out, s)
		}
	}
	return out
}

// Run diagnoses and scores every case below dirs. A case that cannot be read or diagnosed is a failed case, not an
// error of the run.
func Run(ctx context.Context, dirs []string, opts Options) (*Scoreboard, error) {
	if opts.Diagnose == nil {
		return nil, errors.New("eval: no engine to evaluate")
	}
	folders, err := discover(dirs)
	if err != nil {
		return nil, err
	}
	cases := make([]Case, len(folders))
	if err := each(ctx, len(folders), opts, func(i int) { cases[i] = one(ctx, folders[i], opts.engine()) }); err != nil {
		return nil, fmt.Errorf("evaluating %d cases: %w", len(folders), err)
	}
	slices.SortStableFunc(cases, func(a, b Case) int { return cmp.Compare(a.ID, b.ID) })
	return &Scoreboard{Cases: cases}, nil
}

// each calls do for 0 to n−1, several at a time, and counts.
func each(ctx context.Context, n int, opts Options, do func(i int)) error {
	workers := opts.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	todo := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range min(workers, n) {
		wg.Go(func() {
			for i := range todo {
				do(i)
				if opts.Progress != nil {
					mu.Lock()
					done++
					opts.Progress(done, n)
					mu.Unlock()
				}
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		todo <- i
	}
	close(todo)
	wg.Wait()
	return ctx.Err()
}

// engine is the engine, given what these options say.
func (o Options) engine() Diagnose {
	if o.Sized {
		return o.Diagnose
	}
	return func(ctx context.Context, in CaseInput) (*incident.Report, error) {
		in.WorldSize = 0
		return o.Diagnose(ctx, in)
	}
}

// one runs one case.
func one(ctx context.Context, dir string, diagnose Diagnose) Case {
	var temp string
	defer func() { os.RemoveAll(temp) }() // of "" it removes nothing
	c, in, err := load(dir, func() (string, error) {
		var err error
		if temp == "" {
			temp, err = os.MkdirTemp("", "faultline-case-")
		}
		return temp, err
	})
	out := Case{ID: c.ID, Title: c.Title, Simulated: c.simulated(), GroundTruth: c.simulated() || c.groundTruth(), Label: c.label()}
	if err != nil {
		out.Scores = []Score{{Metric: Ran, Why: err.Error()}}
		return out
	}
	start := time.Now()
	r, err := protected(ctx, in, diagnose)
	out.Wall = time.Since(start)
	if err != nil {
		out.Scores = []Score{{Metric: Ran, Why: err.Error()}}
		out.Right = new(bool)
		return out
	}
	out.Status, out.Mechanism, out.Confidence = r.Verdict.Status, r.Verdict.Mechanism, r.Verdict.Confidence
	s := &sheet{c: &c, r: r}
	s.add(Ran, true, "")
	if c.simulated() {
		s.simulated()
		out.Members = members(r.Verdict.Candidates, c.Truth.Candidates)
	} else {
		s.real()
	}
	s.both()
	s.verified(ctx, in)
	s.revised(ctx, in, diagnose)
	out.Scores, out.Right = s.scores, s.right
	return out
}

// protected turns a panic of the engine into a failed case: the other cases still count.
func protected(ctx context.Context, in CaseInput, diagnose Diagnose) (r *incident.Report, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("the engine panicked: %v", p)
		}
	}()
	r, err = diagnose(ctx, in)
	if err == nil && r == nil {
		err = errors.New("the engine gave no report")
	}
	if err != nil {
		return nil, fmt.Errorf("diagnosing: %w", err)
	}
	return r, nil
}

// verified re-reads all evidence of the report, whatever the report says about its own verification.
func (s *sheet) verified(ctx context.Context, in CaseInput) {
	files := verify.Files{}
	for _, src := range slices.Concat(in.Sources, in.Storage, in.Evidence) {
		files[src.Name] = src.Path
	}
	_, failures, err := verify.Report(ctx, files, s.r)
	switch {
	case err != nil:
		s.add(Verified, false, err.Error())
	case len(failures) > 0:
		s.add(Verified, false, fmt.Sprintf("%d pieces of evidence do not hold, first %s: %s", len(failures), failures[0].Path, failures[0].Reason))
	default:
		s.add(Verified, true, "")
	}
	denied := Contradictions(s.r)
	s.add(SelfContradiction, len(denied) == 0, strings.Join(denied, "; "))
	// What speaks for or against a hypothesis may be an inference from facts quoted elsewhere; what the report states as
	// having happened may not.
	unproven := slices.DeleteFunc(verify.Unproven(s.r), func(path string) bool { return strings.HasPrefix(path, "hypotheses[") })
	s.add(Proven, len(unproven) == 0, "no evidence at "+list(unproven))
}
