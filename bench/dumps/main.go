// Command dumps writes the flight recorders' dumps of a job of any size that hangs, to measure how fast they are read and how much
// memory that takes. The same options give the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"faultline/simulate/dumps"
)

func main() {
	tp := flag.Int("tp", 8, "tensor parallel ranks")
	pp := flag.Int("pp", 4, "pipeline stages")
	dp := flag.Int("dp", 512, "data parallel replicas")
	steps := flag.Int("steps", 8, "steps of training: about seven records each")
	fault := flag.String("fault", string(dumps.Processor), fmt.Sprintf("what goes wrong, one of %v", dumps.Faults()))
	out := flag.String("out", "", "directory to write into")
	flag.Parse()
	if err := run(*out, dumps.Spec{Seed: 1, Fault: dumps.Fault(*fault), TP: *tp, PP: *pp, DP: *dp, Steps: *steps, Version: "2.9", Timing: true, Ring: 2000, Faulty: 1}); err != nil {
		fmt.Fprintln(os.Stderr, "dumps:", err)
		os.Exit(1)
	}
}

func run(out string, spec dumps.Spec) error {
	if out == "" {
		return fmt.Errorf("say where to write: -out DIR")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	truth, err := dumps.Each(spec, func(name string, data []byte) error {
		return os.WriteFile(filepath.Join(out, name), data, 0o644)
	})
	if err != nil {
		return err
	}
	fmt.Printf("at fault: %v\n", truth.Ranks)
	return nil
}
