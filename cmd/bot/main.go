// Command bot finds out why a distributed-training job failed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // an image without a file of zones shall know them all the same

	"github.com/spf13/cobra"
)

// Exit codes, as the help of each command says.
const (
	exitOK           = 0 // confirmed, probable or no-failure
	exitUnreadable   = 1 // nothing readable, or an internal error
	exitUsage        = 2 // wrong flags, or a choice that only the person can make
	exitInconclusive = 3
	exitStopped      = 128 // and the number of the signal: 130 for Ctrl-C
)

// env is what a command may touch of the world.
type env struct {
	in       io.Reader
	out, err io.Writer
}

// stopped is why the context ended: a signal came.
type stopped struct{ syscall.Signal }

func (s stopped) Error() string { return "stopped" }

func main() {
	// A reader that goes away (bot diagnose … | head) must not keep the temporary directory from being removed.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		got, _ := (<-signals).(syscall.Signal)
		signal.Stop(signals) // the second one ends the program on the spot
		cancel(stopped{got})
	}()
	os.Exit(run(ctx, os.Args[1:], env{&input{os.Stdin, ctx}, os.Stdout, os.Stderr}))
}

// input is standard input, for which nobody waits any longer once the command is stopped.
type input struct {
	*os.File
	ctx context.Context
}

func (i *input) Read(p []byte) (int, error) {
	type taken struct {
		data []byte
		err  error
	}
	came := make(chan taken, 1)
	go func() {
		data := make([]byte, len(p))
		n, err := i.File.Read(data)
		came <- taken{data[:n], err}
	}()
	select {
	case t := <-came:
		return copy(p, t.data), t.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}

// run runs one command and says how it ended.
func run(ctx context.Context, args []string, e env) int {
	root := newRootCommand(e)
	root.SetArgs(shieldNumbers(args))
	cmd, err := root.ExecuteContextC(ctx)
	ended := &outcome{code: exitUsage, err: err} // what is no outcome is a mistake on the command line
	switch errors.As(err, &ended); {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return exitOK
	case errors.Is(err, errOwnCode):
		return ended.code
	case ctx.Err() != nil:
		return reportStop(ctx, cmd, e)
	case ended.err == nil:
		return ended.code
	}
	fmt.Fprintf(e.err, "%s: %s\n", cmd.CommandPath(), strings.TrimSpace(ended.err.Error()))
	var usage *usageError
	switch {
	case errors.As(ended.err, &usage):
		return exitUsage
	case ended.code == exitOK:
		return exitUnreadable
	}
	return ended.code
}

// reportStop says that a signal ended the command, as the shell expects it.
func reportStop(ctx context.Context, cmd *cobra.Command, e env) int {
	fmt.Fprintf(e.err, "%s: stopped\n", cmd.CommandPath())
	var by stopped
	if errors.As(context.Cause(ctx), &by) {
		return exitStopped + int(by.Signal)
	}
	return exitUnreadable
}

// outcome is how a command ended, where that is not with success: its exit code, and what went wrong.
type outcome struct {
	code int
	err  error
}

func (o *outcome) Error() string { return fmt.Sprintf("exit code %d: %v", o.code, o.err) }

func (o *outcome) Unwrap() error { return o.err }

// does makes a command's work what cobra runs.
func (e env) does(work func(context.Context, env, []string) (int, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if code, err := work(cmd.Context(), e, args); code != exitOK || err != nil {
			return &outcome{code, err}
		}
		return nil
	}
}

// errOwnCode says that the exit code is that of a program which this one became: a signal that came meanwhile was for that one.
var errOwnCode = errors.New("another program's exit code")

// usageError is a mistake in how a command was called.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }
