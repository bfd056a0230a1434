package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"

	"faultline/analysis"
)

// version is the engine's version; a release sets it with -ldflags "-X main.version=1.2.3".
var version = "0.1.0"

var versionCommand = command{
	name:  "version",
	short: "print the version",
	long:  "Prints the versions of the program and of its rules. The same two versions on the same files give byte-identical reports.",
	setup: func(*flag.FlagSet) func(context.Context, env, []string) (int, error) {
		return func(_ context.Context, e env, _ []string) (int, error) {
			fmt.Fprintf(e.out, "bot %s, rules %s, %s %s/%s\n", version, analysis.RulesVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return exitOK, nil
		}
	},
}
