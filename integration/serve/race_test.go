//go:build race

package serve

// Under the race detector the bot is built with it too.
func init() { buildFlags = append(buildFlags, "-race") }
