package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"faultline/messages/redact"
	"faultline/preflight/launch"
)

// wrapping is a check that starts the training.
type wrapping struct {
	log, push string
	debug     debugRun
}

// When logs are pushed after the training.
const (
	pushFailed = "failed"
	pushAlways = "always"
	pushNever  = "never"
)

// Limits of what happens around the training. SLURM gives the processes of a job that is told to end 30 s (KillWait) before it kills them.
const (
	siblingsHear  = 2 * time.Minute
	siblingsEnd   = 20 * time.Second
	pushAfterEnd  = 2 * time.Minute
	pushAfterTold = 15 * time.Second
)

// placeholders are SLURM's own for names of files (man sbatch, filename pattern), of the task that this is.
func placeholders() *strings.Replacer {
	value := func(name, otherwise string) string {
		if v := os.Getenv(name); v != "" {
			return strings.ReplaceAll(v, "/", "_")
		}
		return otherwise
	}
	host, _ := os.Hostname()
	job := value("SLURM_JOB_ID", "local")
	return strings.NewReplacer("%%", "%", "%j", job, "%A", value("SLURM_ARRAY_JOB_ID", job), "%a", value("SLURM_ARRAY_TASK_ID", "0"),
		"%N", value("SLURMD_NODENAME", host), "%n", value("SLURM_NODEID", "0"), "%t", value("SLURM_PROCID", "0"), "%s", value("SLURM_STEP_ID", "0"))
}

// header is what the log begins with: where this ran, and what. A requeued job appends another.
func header(args []string) string {
	var b strings.Builder
	b.WriteString("# bot check: log opened " + time.Now().UTC().Format(time.RFC3339) + "\n")
	host, _ := os.Hostname()
	for _, f := range []struct{ what, value string }{
		{"job", os.Getenv("SLURM_JOB_ID")}, {"restart", os.Getenv("SLURM_RESTART_COUNT")}, {"node", os.Getenv("SLURMD_NODENAME")}, {"host", host},
		{"task", os.Getenv("SLURM_PROCID")}, {"of", os.Getenv("SLURM_NTASKS")},
	} {
		if f.value != "" {
			fmt.Fprintf(&b, "# bot check: %s %s\n", f.what, printable(f.value, 200))
		}
	}
	fmt.Fprintf(&b, "# bot check: command %s\n", printable(redact.String(strings.Join(args, " ")), 2000))
	return b.String()
}

// wrap opens the log, has the node checked, and becomes the training.
func (c *checking) wrap(ctx context.Context, e env, args []string) (int, error) {
	if len(args) == 0 {
		return exitUsage, usage("--wrap needs the command: bot check --wrap -- python train.py")
	}
	if w := c.wrapped.push; w != pushFailed && w != pushAlways && w != pushNever {
		return exitUsage, usage("--push %s: choose failed, always or never", w)
	}
	signals := launch.Signals()
	path := placeholders().Replace(c.wrapped.log)
	more, err := c.wrapped.debug.prepare()
	if err != nil {
		return exitUnreadable, err
	}
	log, err := launch.Open(path, header(args)+more, func(err error) {
		fmt.Fprintf(e.err, "bot check: the log %s ends here: %v. The training goes on.\n", path, err)
	})
	if err != nil {
		return exitUnreadable, err
	}
	defer log.Close()
	said := env{in: e.in, out: log.Tee(e.out), err: log.Tee(e.err)}
	siblings := &launch.Siblings{Name: fmt.Sprintf("%s.%s-%s-%d", os.Getenv("SLURM_JOB_ID"), os.Getenv("SLURM_STEP_ID"), os.Getenv("SLURMD_NODENAME"), os.Getuid()), Others: others()}
	first, code, end, err := c.together(ctx, said, siblings)
	defer end()
	if err != nil {
		fmt.Fprintf(said.err, "bot check: %s\n", strings.TrimSpace(err.Error()))
	}
	if ctx.Err() != nil && code == exitOK {
		code = 128 + int(syscall.SIGTERM)
	}
	if first && siblings.Others > 0 {
		siblings.Announce(code, code == exitOK, siblingsEnd)
	}
	if code != exitOK {
		fmt.Fprintln(said.err, "bot check: the training was not started")
		return code, nil
	}
	in := e.in
	if i, ok := in.(*input); ok {
		in = i.File // the command reads it by itself, or leaves it alone
	}
	unwatch := func() {}
	if first {
		if unwatch, err = c.wrapped.debug.watch(ctx); err != nil {
			fmt.Fprintf(said.err, "bot check: %v\n", err)
		}
	}
	code, told, err := launch.Run(args, in, said.out, said.err, signals)
	if err != nil {
		fmt.Fprintf(said.err, "bot check: starting the training: %v\n", err)
	}
	unwatch()
	log.Close()
	if first {
		siblings.Wait(siblingsEnd)
		c.pushLogs(ctx, e, code, told)
	}
	return code, errOwnCode
}

// others is how many tasks the step has on this node beside the first: "8(x2),4" are those of each node in turn.
func others() int {
	node, _ := strconv.Atoi(os.Getenv("SLURM_NODEID"))
	for part := range strings.SplitSeq(os.Getenv("SLURM_STEP_TASKS_PER_NODE"), ",") {
		tasks, times, _ := strings.Cut(strings.TrimSuffix(part, ")"), "(x")
		n, _ := strconv.Atoi(tasks)
		nodes, err := strconv.Atoi(times)
		if err != nil {
			nodes = 1
		}
		if node < nodes {
			return max(0, n-1)
		}
		node -= nodes
	}
	return 0
}

// together has the first task of a node check it, and the others hear what it found.
func (c *checking) together(ctx context.Context, e env, siblings *launch.Siblings) (first bool, code int, end func(), err error) {
	end = func() {}
	if local := os.Getenv("SLURM_LOCALID"); local != "" && local != "0" {
		code, heard, err := siblings.Hear(ctx, c.wait+siblingsHear)
		if err != nil {
			return false, exitUnreadable, end, err
		}
		return false, code, heard, nil
	}
	if siblings.Others > 0 {
		if err := siblings.Lead(); err != nil {
			return false, exitUnreadable, end, err
		}
	}
	code, err = c.check(ctx, e)
	if err != nil && code == exitOK {
		code = exitUnreadable
	}
	return true, code, end, err
}

// pushLogs sends the logs of this node's tasks. It never changes how the job ended, and a job that was told to end has little time left.
func (c *checking) pushLogs(ctx context.Context, e env, code int, told os.Signal) {
	p := pusher{to: os.Getenv("FAULTLINE_PUSH_TO"), quiet: true, timeout: pushAfterEnd}
	if p.to == "" || c.wrapped.push == pushNever || c.wrapped.push == pushFailed && code == exitOK {
		return
	}
	if told == syscall.SIGTERM || ctx.Err() != nil {
		p.timeout = pushAfterTold
	}
	logs, err := filepath.Glob(placeholders().Replace(strings.ReplaceAll(c.wrapped.log, "%t", "*")))
	if c.wrapped.debug.folder != "" {
		logs = append(logs, c.wrapped.debug.folder)
	}
	if err == nil && len(logs) > 0 && os.Getenv("SLURM_JOB_ID") != "" {
		id, _ := jobToPush(&[]string{})
		_, err = p.run(context.WithoutCancel(ctx), env{in: e.in, out: io.Discard, err: e.err}, append([]string{id.String()}, logs...))
	}
	if err != nil {
		fmt.Fprintf(e.err, "bot check: pushing the logs: %s (this does not fail the job)\n", strings.Join(strings.Fields(err.Error()), " "))
	}
}
