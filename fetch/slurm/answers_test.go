package slurm

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"faultline/fetch/source"
)

// mute is a cluster that never answers.
type mute struct{}

func (mute) Run(ctx context.Context, argv ...string) (source.Output, error) {
	<-ctx.Done()
	return source.Output{}, context.Cause(ctx)
}

// A dead cluster is said within ten seconds.
func TestAClusterThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Commands{Command: mute{}}
		for name, ask := range map[string]func() error{
			"a job":  func() error { _, err := c.Jobs(t.Context(), mustID(t, "7")); return err },
			"at all": func() error { return c.Answers(t.Context()) },
		} {
			start := time.Now()
			if err := ask(); err == nil || !strings.Contains(err.Error(), "no response within 5s") || time.Since(start) >= 10*time.Second {
				t.Errorf("%s: %v after %s", name, err, time.Since(start))
			}
		}
	})
}

// A cluster that answers is told from one whose controller is down, with or without an accounting.
func TestWhoAnswers(t *testing.T) {
	up := source.Output{Stdout: []byte("Slurmctld(primary) at c1 is UP\n")}
	fields := source.Output{Stdout: []byte("JobID JobIDRaw State\n")}
	for name, c := range map[string]struct {
		answers map[string]source.Output
		want    string // of the error, "" = none
	}{
		"all":              {map[string]source.Output{"sacct -e": fields, "scontrol ping": up}, ""},
		"down":             {map[string]source.Output{"sacct -e": fields, "scontrol ping": {Stdout: []byte("Slurmctld(primary) at c1 is DOWN\n")}}, "is DOWN"},
		"no accounting":    {map[string]source.Output{"sacct -e": {Code: 1, Stderr: []byte("Slurm accounting storage is disabled")}, "scontrol ping": up}, ""},
		"no configuration": {map[string]source.Output{"sacct -e": {Code: 1, Stderr: []byte("fatal: no configuration")}, "scontrol ping": {Code: 1, Stderr: []byte("fatal: no configuration")}}, "no configuration"},
	} {
		err := (&Commands{Command: &fakeCommand{answers: c.answers}}).Answers(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
