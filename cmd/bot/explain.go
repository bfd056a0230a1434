package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"faultline/config"
	"faultline/knowledge/explain"
	"faultline/messages"
	"faultline/messages/redact"
)

func newExplainCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [flags] TEXT... | -",
		Short: "explain an error line, exit code, variable or term",
		Long: `
Looks up what you paste in Faultline's knowledge base: what it means, whether it is a cause, a symptom, a
consequence or noise, who should act, what to check first, and the source. TEXT is an error line, several
lines or a whole traceback; "-" (or nothing, with a pipe) reads standard input. It can also be the name of a mechanism or a
signature, an exit code or signal, an Xid, an errno, an environment variable, a SLURM state or reason, or a term.

It explains single messages. To find out which rank broke a job, with proof, use "bot diagnose LOGS".

Examples:
  bot explain "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
  tail -50 slurm-4242.out | bot explain
  bot explain --file traceback.txt --format markdown
  bot explain exit code 137
  bot explain Xid 79
  bot explain NCCL_TIMEOUT
  bot explain rank-stalled
  bot explain --list

Exit code: 0 = match found; 3 = no match (the closest entries are shown); 2 = usage error; 1 = the text can't be read.`,
	}
	fs := cmd.Flags()
	var x explanation
	fs.StringVar(&x.file, "file", "", "explain the text in `FILE`\ne.g. --file traceback.txt")
	fs.StringVar(&x.format, "format", "terminal", "terminal, markdown or json (`FORMAT`)\ne.g. --format json")
	fs.StringVar(&x.color, "color", "auto", "`WHEN` to use color: auto (only on a terminal), always or never\ne.g. --color never")
	fs.BoolVar(&x.all, "all", false, "show every entry in full, not only the best one\ne.g. --all")
	fs.StringVar(&x.configFile, "config", "", "also use the site knowledge listed in the configuration `FILE`\ne.g. --config /etc/faultline.yaml")
	x.declareKnowledge(fs)
	fs.BoolVar(&x.list, "list", false, "list all entries\ne.g. --list")
	complete(cmd, "format", explainFormats)
	cmd.RunE = e.does(x.run)
	return cmd
}

// explanation is one run of the command.
type explanation struct {
	common
	file, format string
	all, list    bool
	known        siteKnowledge
}

var explainFormats = []string{"terminal", "markdown", "json"}

func (x *explanation) run(_ context.Context, e env, args []string) (int, error) {
	files := x.knowledge
	if x.configFile != "" {
		cfg, err := config.Load(x.configFile)
		if err != nil {
			return exitUsage, usage("%v", err)
		}
		files = slices.Concat(cfg.Knowledge, files)
	}
	if err := x.known.load(files); err != nil {
		return exitUsage, usage("%v", err)
	}
	if !slices.Contains(explainFormats, x.format) {
		return exitUsage, usage("--format %s: choose one of %s", x.format, strings.Join(explainFormats, ", "))
	}
	if !slices.Contains(config.Colors, x.color) {
		return exitUsage, usage("--color %s: choose one of %s", x.color, strings.Join(config.Colors, ", "))
	}
	style := messages.Style{Color: colored(x.color, e.out), Width: columns(e.out), Verbose: x.all}
	if x.list {
		if len(args) > 0 || x.file != "" {
			return exitUsage, usage("--list shows everything: omit the text")
		}
		return exitOK, x.showList(e.out, style)
	}
	text, err := x.text(e.in, args)
	if err != nil {
		return exitUnreadable, err
	}
	cut := len(text) > explain.MaxText
	text = redact.String(text)
	if strings.TrimSpace(text) == "" {
		return exitUsage, usage("paste what to explain: bot explain \"CUDA error: …\", or pipe it in; bot explain --list shows all entries")
	}
	a := explain.TextBy(x.known.catalogue(), text)
	a.Cut = a.Cut || cut // the redactor may have shortened it again
	if err := x.show(e.out, a, style); err != nil {
		return exitUnreadable, err
	}
	if len(a.Entries) == 0 {
		return exitInconclusive, nil
	}
	return exitOK, nil
}

func (x *explanation) show(w io.Writer, a explain.Answer, style messages.Style) error {
	switch x.format {
	case "json":
		return messages.ExplainJSON(w, a)
	case "markdown":
		return messages.ExplainMarkdown(w, a)
	}
	return messages.ExplainTerminal(w, a, style)
}

func (x *explanation) showList(w io.Writer, style messages.Style) error {
	switch x.format {
	case "json":
		return messages.ExplainListJSON(w, explain.ListBy(x.known.catalogue()))
	case "markdown":
		return messages.ExplainListMarkdown(w, explain.ListBy(x.known.catalogue()))
	}
	return messages.ExplainListTerminal(w, explain.ListBy(x.known.catalogue()), style)
}

// text is what to explain: the arguments, a file, or standard input.
func (x *explanation) text(in io.Reader, args []string) (string, error) {
	switch {
	case x.file != "" && len(args) > 0:
		return "", usage("--file %s and a text: give only one", x.file)
	case x.file != "":
		f, err := os.Open(x.file)
		if err != nil {
			return "", fmt.Errorf("reading the text: %w", err)
		}
		text, err := limited(f)
		return text, errors.Join(err, f.Close())
	case len(args) > 0 && !slices.Equal(args, []string{"-"}):
		return strings.Join(args, " "), nil
	}
	if piped, _ := terminal(in); piped && len(args) == 0 {
		return "", nil // somebody typed the command alone: answer how it is used, do not wait
	}
	return limited(in)
}

// limited reads one byte more than is looked at, so that the answer can say that something was cut.
func limited(r io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(r, explain.MaxText+1))
	if err != nil {
		return "", fmt.Errorf("reading the text: %w", err)
	}
	return string(raw), nil
}

// shieldNumbers lets "bot explain exit code -9" be text: to cobra, -9 is a flag. Nothing that the command takes behind a flag is a number.
func shieldNumbers(args []string) []string {
	if len(args) == 0 || args[0] != "explain" {
		return args
	}
	args = slices.Clone(args)
	for i, a := range args {
		if n, err := strconv.Atoi(a); err == nil && n < 0 {
			args[i] = " " + a
		}
	}
	return args
}
