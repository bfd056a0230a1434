// Package acceptance holds what the whole engine must reach, as tests: a seeded grid of simulated incidents, the real
// cases of the corpus, stated confidence against outcome, a thousand mutations, the same bytes whatever does not matter, a
// thousand damaged sets, and fuzzed bytes over every parser. It has no code of its own.
//
//	go test ./acceptance                            a sample of everything, a tenth of the grids
//	go test -short ./acceptance                     a smaller one
//	FAULTLINE_FULL=1 go test ./acceptance           all of it, the scoreboard and 100,000,000 fuzzed bytes among it: some minutes
//	FAULTLINE_FULL=ci go test ./acceptance          the scoreboard and all of its grids, a third of the rest
//	FAULTLINE_FULL=1 go test ./acceptance -seed 7   the same on other incidents
//	go test ./acceptance -run Scoreboard -update    writes docs/scoreboard.md
//
// The simulator plays what is known. A grid without a failing case says that the engine reads what the simulator writes, not
// that it is right about the next incident; the corpus is the only judge of that, and it is small.
package acceptance
