// Package acceptance holds what the whole engine must reach, as tests: a seeded grid of simulated incidents, the real
// cases of the corpus, a thousand mutations, the same bytes whatever does not matter, and damaged input. It has no code
// of its own.
package acceptance
