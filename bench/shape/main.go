// Command shape measures how the engine is built: what the redesign has to bring down. It shows each figure beside its ceiling in docs/shape.md
// and fails where one is passed. With -write it lowers the ceilings.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	write := flag.Bool("write", false, "write docs/shape.md: ceilings fall to what is measured, and never rise")
	where := flag.Bool("where", false, "print where what is to go altogether is left")
	flag.Parse()
	if err := run(".", *write, *where); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
}

func run(root string, write, where bool) error {
	ms, err := measured(root)
	if err != nil {
		return err
	}
	limits, err := ceilings(root)
	if err != nil && !(write && errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	for _, m := range ms {
		most := ""
		if limit, ok := limits[m.name]; ok {
			most = strconv.Itoa(limit)
		}
		fmt.Printf("%8d %8s  %s\n", m.now, most, m.name)
		if where && len(m.at) > 0 {
			fmt.Println("                   " + strings.Join(m.at, "\n                   "))
		}
	}
	if passed := above(ms, limits); !write && len(passed) > 0 {
		return errors.New(strings.Join(passed, "\n"))
	}
	if !write {
		return nil
	}
	if err := os.WriteFile(filepath.Join(root, page), table(ms, limits), 0o644); err != nil {
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
