// Package launch starts the training behind a check: its log is on the disk before the command begins, its output goes to the log and
// on to where it went before, signals reach it once, and its exit code is what a shell would give.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Exit codes of a command that did not start, as a shell gives them (POSIX, Shell & Utilities, 2.8.2).
const (
	notExecutable = 126
	notFound      = 127
	bySignal      = 128 // and the number of the signal
)

// Log is what a command prints, on the disk.
type Log struct {
	mu     sync.Mutex
	file   *os.File
	broken func(error) // called once
}

// Open makes the log, writes the header, and returns when both are on the disk. broken hears the first error of a later write.
func Open(path, header string, broken func(error)) (*Log, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	_, err = f.WriteString(header)
	if err = errors.Join(err, f.Sync(), syncFolder(filepath.Dir(path))); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("writing the log %s: %w", path, err)
	}
	return &Log{file: f, broken: broken}, nil
}

// syncFolder makes a new file's name last. Some network file systems refuse, and keep the name all the same.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return nil // a folder may allow writing and not reading
	}
	defer d.Close()
	_ = d.Sync()
	return nil
}

// Write never fails: a full disk must not end a training.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return len(p), nil
	}
	if _, err := l.file.Write(p); err != nil {
		_ = l.file.Close()
		l.file = nil
		l.broken(err)
	}
	return len(p), nil
}

// Close puts what was written on the disk.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Sync()
		_ = l.file.Close()
		l.file = nil
	}
}

// Tee writes to the log, and to w as long as that takes it.
func (l *Log) Tee(w io.Writer) io.Writer { return &tee{log: l, to: w} }

type tee struct {
	log *Log
	to  io.Writer
}

func (t *tee) Write(p []byte) (int, error) {
	if t.to != nil {
		if _, err := t.to.Write(p); err != nil {
			t.to = nil
		}
	}
	return t.log.Write(p)
}

// forwarded are the signals that a batch system or a terminal sends to a training.
var forwarded = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// leftBehind is how long output is waited for that others of the command's processes still write when it has ended.
const leftBehind = 10 * time.Second

// Signals takes the signals from here on, so that none ends this process between its start and the command's. One that is ignored here
// (nohup) stays so: to take it would have the command end by it.
func Signals() chan os.Signal {
	c := make(chan os.Signal, 16)
	// An ignored signal stays ignored in a command that is started. A signal that is taken does not.
	signal.Reset(syscall.SIGPIPE)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	for _, s := range forwarded {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	return c
}

// Run runs a command to its end. told is the last signal that it was sent, nil where there was none. An error says why it did not start.
func Run(args []string, in io.Reader, out, errs io.Writer, signals <-chan os.Signal) (code int, told os.Signal, err error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = in, out, errs, leftBehind
	w := watch()
	defer w.end()
	if err := cmd.Start(); err != nil {
		code := notExecutable
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			code = notFound
		}
		return code, nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its state tells
		close(ended)
	}()
	for {
		select {
		case s := <-signals:
			told = s
			if !w.got(s) {
				_ = cmd.Process.Signal(s) // it may have ended
			}
		case <-ended:
			if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
				return bySignal + int(ws.Signal()), told, nil
			}
			return cmd.ProcessState.ExitCode(), told, nil
		}
	}
}

// witness is a process beside the command that does nothing. A signal that ends it went to all processes of the job step, or of the
// terminal, so the command has it already: SLURM signals each process of a step, a shell's kill only the one it names.
type witness struct {
	ctx  context.Context
	stop context.CancelFunc
	died chan os.Signal
}

// together is how long a signal to all takes to reach all.
const together = 300 * time.Millisecond

func watch() *witness {
	w := &witness{died: make(chan os.Signal, 16)}
	w.ctx, w.stop = context.WithCancel(context.Background())
	started := make(chan struct{})
	go w.live(started)
	<-started
	return w
}

// live keeps a witness alive: cat ends by itself when this process, which holds the other end of its input, does.
func (w *witness) live(started chan<- struct{}) {
	for w.ctx.Err() == nil {
		cmd := exec.CommandContext(w.ctx, "cat")
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if started != nil {
			close(started)
			started = nil
		}
		if err != nil {
			return // each signal is forwarded
		}
		_ = cmd.Wait()
		_ = in.Close()
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() && w.ctx.Err() == nil {
			w.died <- ws.Signal()
		}
	}
}

// got says whether a signal that came to this process went to all.
func (w *witness) got(s os.Signal) bool {
	limit := time.After(together)
	for {
		select {
		case of := <-w.died:
			if of == s {
				return true
			}
		case <-limit:
			return false
		}
	}
}

func (w *witness) end() { w.stop() }
