package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"faultline/isolate"
	"faultline/pattern"
)

// Submitting is what a cluster's configuration allows the bot to submit: tests of a search for a culprit, and nothing else. The zero one
// allows nothing.
type Submitting struct {
	Commands   []string // that may run, word by word
	Partitions []string
	Hours      float64 // GPU hours that the tests of one case may cost together, by their time limits
}

// testName names the job of a test: by case, its version, and test.
const testName = "faultline-%s-%d-%s"

var testNameForm = pattern.New(`^faultline-F-[0-9]{1,12}-[0-9]{1,12}-[0-9]{1,3}[a-h]$`)

// IsTest says that a job is a test that a bot submitted: where it fails, that is an outcome, and no failure to be looked at.
func IsTest(name string) bool { return testNameForm.MatchString(name) }

// Submitter runs tests on a cluster.
type Submitter interface {
	// Submit starts a command as a job of this name with SLURM's flags, and returns its id. Where the cluster has a job of the name
	// already, that is it: a submission that nobody noted is not repeated.
	Submit(ctx context.Context, cluster, name string, flags []string, command string) (job string, err error)
}

// maySubmit says why a test of the search must not be submitted; nil = it may.
func (f *Flow) maySubmit(inv *Investigation, l *isolate.Ledger, t isolate.Test) error {
	if f.Submitter == nil || f.Submitting == nil {
		return errors.New("the bot submits nothing")
	}
	allowed := f.Submitting(inv.Cluster)
	spent := l.Hours(t)
	for _, other := range l.Tests {
		if other.Name != "" {
			spent += l.Hours(other)
		}
	}
	switch {
	case !slices.Contains(allowed.Commands, l.Command):
		return fmt.Errorf("the command is not on the list of cluster %s", inv.Cluster)
	case !slices.Contains(allowed.Partitions, l.Partition):
		return fmt.Errorf("partition %q is not on the list of cluster %s", l.Partition, inv.Cluster)
	case spent > allowed.Hours:
		return fmt.Errorf("the tests could cost %.1f GPU hours, and %.1f are allowed for a case", spent, allowed.Hours)
	case t.Outcome != isolate.Pending || t.Name != "":
		return errors.New("the test was submitted, or has an outcome")
	}
	return nil
}

// SubmitTest notes in an investigation that a person has a test submitted, and leaves the job that does it. The error says for people why it may not be.
func (f *Flow) SubmitTest(inv *Investigation, id, by string) (t isolate.Test, job Job, err error) {
	if inv.Search == nil || inv.State != Isolating {
		return t, job, errors.New("no search is running here")
	}
	i := slices.IndexFunc(inv.Search.Tests, func(t isolate.Test) bool { return t.ID == id })
	if i < 0 {
		return t, job, fmt.Errorf("there is no test %s", id)
	}
	if err := f.maySubmit(inv, inv.Search, inv.Search.Tests[i]); err != nil {
		return t, job, err
	}
	l := inv.Search.Clone()
	l.Tests[i].Name, l.Tests[i].By = fmt.Sprintf(testName, inv.ID, inv.Version+1, id), by
	inv.Search = l
	return l.Tests[i], Job{Key: "submit/" + l.Tests[i].Name, Kind: JobSubmit, Investigation: inv.ID, Payload: []byte(l.Tests[i].Name)}, nil
}

const (
	// submitAgain is how long a cluster that did not take a test is given, and submitMost how long it is tried.
	submitAgain = 30 * time.Second
	submitMost  = 15 * time.Minute
	// testPoll is how often a test that runs is looked at.
	testPoll = 10 * time.Second
)

// RunTest does a JobSubmit: it submits the test, waits for its end, and brings the outcome. With a wait the job is to be tried again then.
func (f *Flow) RunTest(ctx context.Context, l *Lease) (wait time.Duration, err error) {
	done := func() error { return f.Store.Save(ctx, Change{Done: l}) }
	inv, err := f.Store.Load(ctx, l.Investigation)
	if errors.Is(err, ErrUnknown) { // forgotten
		return 0, done()
	}
	if err != nil {
		return 0, fmt.Errorf("investigation %s: %w", l.Investigation, err)
	}
	i := -1
	if inv.Search != nil {
		i = slices.IndexFunc(inv.Search.Tests, func(t isolate.Test) bool { return t.Name == string(l.Payload) })
	}
	row, _ := About(inv.State)
	pending := i >= 0 && inv.Search.Tests[i].Outcome == isolate.Pending
	over := row.Kind == Settled || f.Submitter == nil
	switch {
	case !pending || over: // a person was faster
		return 0, done()
	case row.Kind == Working:
		return workWait, nil
	}
	t := inv.Search.Tests[i]
	if t.Job == "" {
		return f.submit(ctx, &inv, i, l)
	}
	outcome, ended := f.OutcomeOf(ctx, inv, t.Job)
	if !ended {
		return testPoll, nil
	}
	return f.moveFix(ctx, inv.ID, Input{Event: TestEnded, Text: fmt.Sprintf("job %s of test %s ended: %s", t.Job, t.ID, outcome),
		Tests: []isolate.Test{{ID: t.ID, Outcome: outcome}}, Done: l, clicked: true})
}

// submit has the cluster start a test, and notes its job. A test that the cluster does not take is void.
func (f *Flow) submit(ctx context.Context, inv *Investigation, i int, l *Lease) (wait time.Duration, err error) {
	t := inv.Search.Tests[i]
	job, err := f.Submitter.Submit(ctx, inv.Cluster, t.Name, inv.Search.Flags(t), inv.Search.Run(t))
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err != nil {
		if l.Fence*int64(submitAgain) < int64(submitMost) {
			return submitAgain, nil
		}
		return f.moveFix(ctx, inv.ID, Input{Event: TestEnded, Text: fmt.Sprintf("test %s could not be submitted: %v", t.ID, err),
			Tests: []isolate.Test{{ID: t.ID, Outcome: isolate.Void}}, Done: l, clicked: true})
	}
	if err := f.submitted(ctx, *inv, i, job); err != nil {
		return 0, err
	}
	return testPoll, nil
}

// submitted notes the job of a test, also where another test of the round is noted at the same time: tests run side by side.
func (f *Flow) submitted(ctx context.Context, inv Investigation, i int, job string) error {
	for {
		search := inv.Search.Clone()
		t := &search.Tests[i]
		t.Job = job
		inv.Search = search
		e := f.entry("answer", fmt.Sprintf("test %s is job %s: sbatch %v %s", t.ID, job, search.Flags(*t), search.Run(*t)))
		e.Actor = t.By
		err := f.Store.Save(ctx, Change{Investigation: &inv, Entries: []Entry{e}})
		if err == nil {
			return nil
		}
		name := t.Name
		if !errors.Is(err, ErrConflict) {
			return fmt.Errorf("investigation %s: storing the job of test %s: %w", inv.ID, t.ID, err)
		}
		if inv, err = f.Store.Load(ctx, inv.ID); err != nil {
			return fmt.Errorf("investigation %s: %w", inv.ID, err)
		}
		same := inv.Search != nil && i < len(inv.Search.Tests) && inv.Search.Tests[i].Name == name
		if !same { // another search began: this job is nobody's
			return nil
		}
	}
}
