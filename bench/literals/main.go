// Command literals prints the strings that the engine looks for in worker logs, one a line: the patterns that
// bench/compare.sh gives to ripgrep.
package main

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/worker"
)

func main() {
	for _, l := range worker.Literals() {
		fmt.Println(ascii(l))
	}
}

// ascii is the longest part of a literal without other characters, which ripgrep refuses with --no-unicode: it finds more lines by it.
func ascii(l string) string {
	parts := strings.FieldsFunc(l, func(r rune) bool { return r >= 0x80 })
	return slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) })
}
