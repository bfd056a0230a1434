// Command shape measures how the engine is built: what the redesign has to bring down. With -write it lowers the ceilings in docs/shape.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	write := flag.Bool("write", false, "write docs/shape.md: ceilings fall to what is measured, and never rise")
	flag.Parse()
	if err := run(".", *write); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
}

func run(root string, write bool) error {
	ms, err := measured(root)
	if err != nil {
		return err
	}
	for _, m := range ms {
		fmt.Printf("%8d  %s\n", m.now, m.name)
	}
	if !write {
		return nil
	}
	old, err := ceilings(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, page), table(ms, old), 0o644); err != nil {
		return fmt.Errorf("writing the ceilings: %w", err)
	}
	return nil
}

func measured(root string) ([]measure, error) {
	all, err := load(root)
	if err != nil {
		return nil, err
	}
	return measures(all)
}
