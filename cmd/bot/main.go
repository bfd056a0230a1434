// Command bot finds out why a distributed-training job failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	_ "time/tzdata" // an image without a file of zones shall know them all the same
)

// Exit codes, as the help of each command says.
const (
	exitOK           = 0 // confirmed, probable or no-failure
	exitUnreadable   = 1 // nothing readable, or an internal error
	exitUsage        = 2 // wrong flags, or a choice that only the person can make
	exitInconclusive = 3
)

// env is what a command may touch of the world.
type env struct {
	in       io.Reader
	out, err io.Writer
}

// command is one sub-command; each lives in a file of its own and is listed in commands.
type command struct {
	name     string
	synopsis string // what follows the name
	short    string // one line for the list
	long     string // explanation, examples and exit codes
	// setup declares the flags and returns the command's work, which runs after they were parsed.
	setup func(fs *flag.FlagSet) func(ctx context.Context, e env, args []string) (int, error)
}

func commands() []command {
	return []command{serveCommand, diagnoseCommand, triageCommand, pushCommand, consoleCommand, demoCommand, collectCommand, reproCommand, diffCommand, isolateCommand, checkCommand, explainCommand, knowledgeCommand, simulateCommand, evalCommand, postmortemCommand, exportCommand, forgetCommand, backupCommand, doctorCommand, versionCommand}
}

func main() {
	// A reader that goes away (bot diagnose … | head) must not keep the temporary directory from being removed.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	e := env{in: stdin, out: stdout, err: stderr}
	if len(args) == 0 {
		overview(stderr)
		return exitUsage
	}
	name, rest := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(rest) == 0 {
			overview(stdout)
			return exitOK
		}
		name, rest = rest[0], []string{"--help"}
	case "-version", "--version":
		name = "version"
	}
	for _, cmd := range commands() {
		if cmd.name == name {
			return start(ctx, cmd, e, rest)
		}
	}
	fmt.Fprintf(stderr, "bot: unknown command %q\n\n", name)
	overview(stderr)
	return exitUsage
}

// start parses the flags of a command and runs it.
func start(ctx context.Context, cmd command, e env, args []string) int {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	do := cmd.setup(fs)
	positional, err := parse(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		cmd.help(e.out, fs)
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(e.err, "bot %s: %v\nRun \"bot %s --help\" for the flags.\n", cmd.name, err, cmd.name)
		return exitUsage
	}
	code, err := do(ctx, e, positional)
	if errors.Is(err, syscall.EPIPE) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(e.err, "bot %s: %s\n", cmd.name, strings.TrimSpace(err.Error()))
		var usage *usageError
		switch {
		case errors.As(err, &usage):
			return exitUsage
		case code == exitOK:
			return exitUnreadable
		}
	}
	return code
}

// parse reads flags wherever they stand, so that `bot diagnose DIR --format json` works. What follows "--" is never a flag.
func parse(fs *flag.FlagSet, args []string) ([]string, error) {
	var tail []string
	for i, a := range args {
		if a == "--" {
			args, tail = args[:i], args[i+1:]
			break
		}
	}
	var positional []string
	for {
		if err := fs.Parse(args); err != nil {
			// "bot explain -9": a negative number is no flag.
			if taken := len(args) - fs.NArg(); taken > 0 && err.Error() == "flag provided but not defined: "+args[taken-1] && negative(args[taken-1]) {
				positional = append(positional, args[taken-1])
				args = fs.Args()
				continue
			}
			return nil, err
		}
		if fs.NArg() == 0 {
			return append(positional, tail...), nil
		}
		positional = append(positional, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

func negative(arg string) bool {
	n, err := strconv.Atoi(arg)
	return err == nil && n < 0
}

// usageError is a mistake in how a command was called.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

func overview(w io.Writer) {
	fmt.Fprint(w, "bot finds out why a distributed training job failed: which rank, why, the proof, and what to do.\n\nCommands:\n")
	for _, cmd := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", cmd.name, cmd.short)
	}
	fmt.Fprint(w, "\nRun \"bot COMMAND --help\" for details. To see it in action, run \"bot demo\".\n")
}

func (cmd command) help(w io.Writer, fs *flag.FlagSet) {
	fmt.Fprintf(w, "Usage: bot %s %s\n\n%s\n", cmd.name, cmd.synopsis, strings.TrimSpace(cmd.long))
	first := true
	fs.VisitAll(func(f *flag.Flag) {
		if first {
			fmt.Fprint(w, "\nFlags:\n")
			first = false
		}
		kind, text := flag.UnquoteUsage(f)
		line := "  --" + f.Name
		if kind != "" {
			line += " " + kind
		}
		fmt.Fprintln(w, line)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" {
			text += " (default " + f.DefValue + ")"
		}
		for _, l := range strings.Split(text, "\n") {
			fmt.Fprintln(w, "        "+l)
		}
	})
}
