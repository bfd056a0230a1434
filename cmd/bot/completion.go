package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"faultline/config"
	"faultline/simulate"
)

// shells are those that a completion is written for.
var shells = []string{"bash", "fish", "zsh"}

func newCompletionCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "print the completion script for bash, zsh or fish",
		Long: `
Prints a script that lets your shell complete commands, flags and their values with the Tab key.

Examples:
  source <(bot completion bash)                                            this shell only
  bot completion bash > ~/.local/share/bash-completion/completions/bot     every new bash
  bot completion zsh > "${fpath[1]}/_bot"                                  every new zsh
  bot completion fish > ~/.config/fish/completions/bot.fish                every new fish

Exit code: 0 on success; 2 on a usage error.`,
		ValidArgs: shells,
		RunE: e.does(func(_ context.Context, e env, args []string) (int, error) {
			root := newRootCommand(e)
			write := map[string]func(io.Writer) error{
				"bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
				"fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
				"zsh":  root.GenZshCompletion,
			}
			if len(args) != 1 || write[args[0]] == nil {
				return exitUsage, usage("name one shell: bot completion bash, zsh or fish")
			}
			if err := write[args[0]](e.out); err != nil {
				return exitUnreadable, fmt.Errorf("writing the completion for %s: %w", args[0], err)
			}
			return exitOK, nil
		}),
	}
}

// choices are the values of flags that several commands have.
func choices() map[string][]string {
	return map[string][]string{
		"color":      config.Colors,
		"log-level":  config.LogLevels,
		"log-format": config.LogFormats,
		"mechanism":  simulate.Mechanisms(0),
	}
}

// complete lets the shell offer the values of a flag, if the command has it.
func complete(cmd *cobra.Command, flag string, values []string) {
	if cmd.Flags().Lookup(flag) != nil {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // it fails for unknown flags only
	}
}
