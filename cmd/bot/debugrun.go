package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"faultline/knowledge"
)

// debugRun has the training leave more than usual in a folder; the zero one does nothing.
type debugRun struct {
	folder string
	every  time.Duration // between two looks at the GPUs, 0 = none
}

// prepare makes the folder and sets the variables that the training inherits, but for those that are set already. It returns lines for
// the log's header.
func (d *debugRun) prepare() (header string, err error) {
	if d.folder == "" {
		return "", nil
	}
	if d.folder, err = filepath.Abs(placeholders().Replace(d.folder)); err != nil {
		return "", fmt.Errorf("--debug: %w", err)
	}
	if err := os.MkdirAll(d.folder, 0o755); err != nil {
		return "", fmt.Errorf("--debug: %w", err)
	}
	var b strings.Builder
	for _, s := range knowledge.DebugRun(d.folder) {
		name, value, _ := strings.Cut(s, "=")
		if was, ok := os.LookupEnv(name); ok {
			fmt.Fprintf(&b, "# bot check: %s was set to %s\n", name, printable(was, 200))
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return "", fmt.Errorf("--debug: %s: %w", name, err)
		}
		fmt.Fprintf(&b, "# bot check: set %s\n", printable(s, 400))
	}
	return b.String(), nil
}

// watched are the columns of a look: what tells a GPU that works from one that waits, and why it is slow.
const watched = "timestamp,index,uuid,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw,clocks.current.sm,clocks_throttle_reasons.active,ecc.errors.uncorrected.volatile.total"

// watch looks at the GPUs of this node again and again, until end is called. A look never holds the training up: nvidia-smi is a process of its own.
func (d *debugRun) watch(ctx context.Context) (end func(), err error) {
	nothing := func() {}
	path, missing := exec.LookPath("nvidia-smi")
	if d.folder == "" || d.every <= 0 || missing != nil {
		return nothing, nil
	}
	out, err := os.OpenFile(filepath.Join(d.folder, placeholders().Replace("gpu-%N.csv")), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nothing, fmt.Errorf("watching the GPUs: %w", err)
	}
	defer out.Close()
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	cmd := exec.CommandContext(ctx, path, "--query-gpu="+watched, "--format=csv", "-l", strconv.Itoa(max(1, int(d.every.Seconds()))))
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		stop()
		return nothing, fmt.Errorf("watching the GPUs: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	return func() {
		stop()
		select {
		case <-ended:
		case <-time.After(time.Second): // it hangs in the driver
		}
	}, nil
}
