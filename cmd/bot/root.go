package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"faultline/config/strict"
)

// newRootCommand holds all commands, in the order and under the headings in which "bot help" lists them.
func newRootCommand(e env) *cobra.Command {
	root := &cobra.Command{
		Use:           "bot",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
	}
	root.SetOut(e.out)
	root.SetErr(e.err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(e.out, cmd) })
	root.SetFlagErrorFunc(flagMistake)
	root.PersistentFlags().BoolP("help", "h", false, "")
	root.PersistentFlags().Lookup("help").Hidden = true
	asked := root.Flags().Bool("version", false, "")
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"A job's logs", []*cobra.Command{newDiagnoseCommand(e), newTriageCommand(e), newExplainCommand(e), newDiffCommand(e), newTrendsCommand(e), newPostmortemCommand(e)}},
		{"A job's machines", []*cobra.Command{newCollectCommand(e), newReproCommand(e), newIsolateCommand(e), newProbeCommand(e), newCheckCommand(e)}},
		{"In Slack", []*cobra.Command{newServeCommand(e), newDoctorCommand(e), newPushCommand(e), newExportCommand(e), newForgetCommand(e), newBackupCommand(e)}},
		{"Try it", []*cobra.Command{newDemoCommand(e), newConsoleCommand(e), newSimulateCommand(e), newEvalCommand(e), newKnowledgeCommand(e)}},
		{"This program", []*cobra.Command{newCompletionCommand(e), newManCommand(e), newVersionCommand(e)}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.title
			cmd.Args = cobra.ArbitraryArgs
			for flag, values := range choices() {
				complete(cmd, flag, values)
			}
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommand(newHelpCommand(e, root))
	root.RunE = e.does(func(_ context.Context, e env, args []string) (int, error) {
		switch {
		case *asked:
			return exitOK, writeVersion(e.out)
		case len(args) > 0:
			return exitUsage, commandMistake(root, args[0])
		}
		writeOverview(e.err, root)
		return exitUsage, nil
	})
	return root
}

// newHelpCommand is "bot help COMMAND".
func newHelpCommand(e env, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "help [COMMAND]",
		Hidden: true,
		Args:   cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return names(root), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: e.does(func(_ context.Context, e env, args []string) (int, error) {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return exitUsage, commandMistake(root, args[0])
			}
			writeHelp(e.out, cmd)
			return exitOK, nil
		}),
	}
}

func names(root *cobra.Command) (list []string) {
	for _, cmd := range root.Commands() {
		list = append(list, cmd.Name())
	}
	return list
}

// commandMistake says what somebody who typed no command may have meant.
func commandMistake(root *cobra.Command, typed string) error {
	if _, err := os.Stat(typed); err == nil {
		return usage("%q is a file, not a command; to diagnose it: bot diagnose %s", typed, typed)
	}
	return usage("unknown command %q%s\nRun \"bot help\" for the list.", typed, strict.DidYouMean(typed, names(root)))
}

// flagMistake says in the words of this program what is wrong with a flag.
func flagMistake(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		empty   *pflag.ValueRequiredError
		wrong   *pflag.InvalidValueError
		what    = "can't read the flags: " + err.Error()
	)
	switch {
	case errors.As(err, &unknown):
		typed := unknown.GetSpecifiedName()
		what = "unknown flag --" + typed
		if short := unknown.GetSpecifiedShortnames(); short == "h" || short == "elp" {
			return pflag.ErrHelp
		} else if short != "" {
			what, typed = "unknown flag -"+short, short
		}
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := strict.Nearest(typed, known); near != "" {
			what += "; did you mean --" + near + "?"
		}
	case errors.As(err, &empty):
		what = fmt.Sprintf("--%s needs a value, %s", empty.GetFlag().Name, example(empty.GetFlag()))
	case errors.As(err, &wrong):
		what = fmt.Sprintf("--%s %q is not a %s, %s", wrong.GetFlag().Name, wrong.GetValue(), kinds[wrong.GetFlag().Value.Type()], example(wrong.GetFlag()))
	}
	return usage("%s\nRun \"%s --help\" for the flags.", what, cmd.CommandPath())
}

// kinds are what people call the types of values.
var kinds = map[string]string{"int": "whole number", "uint64": "whole number of 0 or more", "float64": "number", "duration": "duration", "bool": "choice of true or false"}

// example is how a flag's usage says that it is written.
func example(f *pflag.Flag) string {
	_, line, _ := strings.Cut(f.Usage, "\n")
	return line
}

func writeOverview(w io.Writer, root *cobra.Command) {
	fmt.Fprint(w, "bot finds out why a distributed training job failed: which rank, why, the proof, and what to do.\n")
	for _, g := range root.Groups() {
		fmt.Fprintf(w, "\n%s:\n", g.Title)
		for _, cmd := range root.Commands() {
			if cmd.GroupID == g.ID {
				fmt.Fprintf(w, "  %-10s %s\n", cmd.Name(), cmd.Short)
			}
		}
	}
	fmt.Fprint(w, "\nRun \"bot COMMAND --help\" for details. To see it in action, run \"bot demo\".\n")
}

func writeHelp(w io.Writer, cmd *cobra.Command) {
	if !cmd.HasParent() {
		writeOverview(w, cmd)
		return
	}
	width := min(columns(w), textWidth)
	fmt.Fprintf(w, "Usage: bot %s\n\n", cmd.Use)
	paragraph := ""
	for line := range strings.SplitSeq(strings.TrimSpace(cmd.Long)+"\n", "\n") {
		if line != "" && !strings.HasPrefix(line, " ") {
			paragraph += line + " "
			continue
		}
		flow(w, "", paragraph, width)
		paragraph = ""
		fmt.Fprintln(w, line)
	}
	title := "Flags:\n"
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		kind, text := pflag.UnquoteUsage(f)
		fmt.Fprintf(w, "%s  %s\n", title, strings.TrimSpace("--"+f.Name+" "+kind))
		title = ""
		if plain := f.DefValue == "" || f.DefValue == "false" || f.DefValue == "0" || f.DefValue == "[]"; !plain {
			text += " (default " + f.DefValue + ")"
		}
		for line := range strings.SplitSeq(text, "\n") {
			flow(w, "        ", line, width)
		}
	})
}

// flow prints a text in lines of at most so many columns, each after the indent.
func flow(w io.Writer, indent, text string, width int) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(indent+line+word) >= width {
			fmt.Fprintln(w, indent+line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		fmt.Fprintln(w, indent+line)
	}
}
