package main

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"faultline/analysis"
)

// version is the engine's version; a release sets it with -ldflags "-X main.version=1.2.3".
var version = "0.1.0"

func newVersionCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Long:  "Prints the version of the program and of its rules. If both are the same, the same files give byte-identical reports.",
		RunE:  e.does(func(_ context.Context, e env, _ []string) (int, error) { return exitOK, writeVersion(e.out) }),
	}
}

func writeVersion(w io.Writer) error {
	_, err := fmt.Fprintf(w, "bot %s, rules %s, %s %s/%s\n", version, analysis.RulesVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
