package slurm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"faultline/fetch/source"
)

// Batch is a job to be submitted.
type Batch struct {
	Name    string // no other job has it
	Dir     string // where it runs, and writes its output
	Flags   []string
	Command string
}

// Submit starts a job and returns its id; where the cluster has one of that name, of this account, that is it.
func (c *Commands) Submit(ctx context.Context, b Batch) (string, error) {
	for _, f := range b.Flags {
		if !strings.HasPrefix(f, "--") {
			return "", fmt.Errorf("%q is not a flag", f)
		}
	}
	if id, err := c.called(ctx, b.Name); id != "" || err != nil {
		return id, err
	}
	argv := append([]string{"sbatch", "--parsable", "--job-name=" + b.Name, "--chdir=" + b.Dir, "--output=" + b.Name + "-%j.out"}, b.Flags...)
	out, err := c.run(ctx, append(argv, "--wrap=srun "+b.Command)...)
	if err != nil {
		return "", err
	}
	id, _, _ := strings.Cut(strings.TrimSpace(string(out.Stdout)), ";") // a federation's cluster stands behind it
	if _, err := strconv.Atoi(id); out.Code != 0 || err != nil {
		return "", c.failed("sbatch", out)
	}
	return id, nil
}

// called is the job of a name, "" = there is none. The controller knows those that wait, run, or ended a while ago, the accounting those that
// ended before. Of a job that ended within the second the accounting does not know yet.
func (c *Commands) called(ctx context.Context, name string) (string, error) {
	var silent error
	answered := false
	for _, argv := range [][]string{
		{"squeue", "-h", "--me", "--states=all", "--name=" + name, "-o", "%A"},
		{"sacct", "-X", "-n", "-P", "--name=" + name, "-S", "now-7days", "-o", "JobIDRaw"},
	} {
		out, err := c.run(ctx, argv...)
		switch {
		case err != nil:
			silent = errors.Join(silent, err)
		case out.Code != 0:
			silent = errors.Join(silent, c.failed(argv[0], out))
		default:
			answered = true
			if id := firstNumber(out); id != "" {
				return id, nil
			}
		}
	}
	if !answered {
		return "", silent
	}
	return "", nil
}

func firstNumber(out source.Output) string {
	for _, w := range strings.Fields(string(out.Stdout)) {
		if _, err := strconv.Atoi(w); err == nil {
			return w
		}
	}
	return ""
}
