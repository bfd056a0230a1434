// Command literals prints the strings that the engine looks for in worker logs, one a line: the patterns that
// bench/compare.sh gives to ripgrep.
package main

import (
	"fmt"

	"faultline/analysis/worker"
)

func main() {
	for _, l := range worker.Literals() {
		fmt.Println(l)
	}
}
