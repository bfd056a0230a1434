//go:build race

package acceptance

// raced: under the race detector a diagnosis takes ten times as long. Its goroutines are the same in every case, so few are enough.
const raced = true
