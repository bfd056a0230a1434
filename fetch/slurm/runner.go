package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"faultline/fetch/source"
)

// commandTime bounds one command: slurmdbd answers in seconds or not at all.
const commandTime = 60 * time.Second

// Local runs programs on this machine.
type Local struct{}

// Run implements source.Command.
func (Local) Run(ctx context.Context, argv ...string) (source.Output, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	// The program is one of this package's own list, and what a person typed was read by ParseID.
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	stdout, stderr := &bounded{left: source.MaxOutput}, &bounded{left: 1 << 20}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	out := source.Output{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return out, fmt.Errorf("%s didn't respond: %w", program(argv), context.Cause(ctx))
	case errors.As(err, &exit):
		out.Code = exit.ExitCode()
	case err != nil:
		return out, fmt.Errorf("can't run %s: %w", program(argv), err)
	}
	if stdout.cut {
		return out, fmt.Errorf("%s printed more than %d bytes", program(argv), source.MaxOutput)
	}
	return out, nil
}

// bounded keeps the first bytes and drops the rest.
type bounded struct {
	bytes.Buffer
	left int
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	b.cut = b.cut || n < len(p)
	b.Buffer.Write(p[:n])
	return len(p), nil
}

// program is what is run, without `env NAME=value` in front.
func program(argv []string) string {
	for i, a := range argv {
		if i > 0 && !bytes.ContainsRune([]byte(a), '=') {
			return a
		}
	}
	return argv[0]
}
