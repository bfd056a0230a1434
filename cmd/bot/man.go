package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newManCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "write the manual pages",
		Long: `
Writes a manual page for each command, bot-COMMAND.1, and bot.1 with the list of them, into an existing directory.

Examples:
  mkdir -p ~/.local/share/man/man1 && bot man ~/.local/share/man/man1 && man bot-diagnose

Exit code: 0 on success; 1 when a page can't be written; 2 on a usage error.`,
		RunE: e.does(func(_ context.Context, e env, args []string) (int, error) {
			if len(args) != 1 {
				return exitUsage, usage("name one directory: bot man ~/.local/share/man/man1")
			}
			if st, err := os.Stat(args[0]); err != nil || !st.IsDir() {
				return exitUsage, usage("there is no directory %s; make it, or name another", args[0])
			}
			root := newRootCommand(e)
			for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
				if cmd.Hidden {
					continue
				}
				name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
				page := func(w io.Writer) error {
					_, err := io.WriteString(w, manPage(name, cmd))
					return err
				}
				if err := writeFile(filepath.Join(args[0], name+".1"), page); err != nil {
					return exitUnreadable, err
				}
			}
			return exitOK, nil
		}),
	}
}

// manPage is a command's help as troff.
func manPage(name string, cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"Faultline %s\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(name), version, troff(name), troff(cmd.Short))
	if !cmd.HasParent() {
		var list strings.Builder
		writeOverview(&list, cmd)
		b.WriteString(".SH COMMANDS\n" + troffText(list.String()))
		return b.String()
	}
	fmt.Fprintf(&b, ".SH SYNOPSIS\nbot %s\n.SH DESCRIPTION\n%s", troff(cmd.Use), troffText(cmd.Long))
	title := ".SH OPTIONS\n"
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		kind, text := pflag.UnquoteUsage(f)
		usage, example, _ := strings.Cut(text, "\n")
		fmt.Fprintf(&b, "%s.TP\n\\fB%s\\fR %s\n%s.br\n%s", title, troff("--"+f.Name), troff(kind), troffText(usage), troffText(example))
		title = ""
	})
	return b.String()
}

// troffText keeps indented lines as they are and lets the others flow.
func troffText(text string) string {
	var b strings.Builder
	verbatim := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if indented := strings.HasPrefix(line, " "); indented != verbatim {
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[indented])
			verbatim = indented
		}
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(troff(line) + "\n")
	}
	if verbatim {
		b.WriteString(".fi\n")
	}
	return b.String()
}

// troff escapes what troff would take for its own.
func troff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
