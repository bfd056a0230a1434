// Package serve holds tests that run the real binary as a bot against a Slack look-alike, the way people use it: commands,
// buttons, windows and uploads go in, transcripts of the channel come out.
package serve
