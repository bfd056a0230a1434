// Command scan looks for the literals of the engine in the files of a folder and counts the lines that hold one: what of
// the time of `bot diagnose` is spent on finding lines, for bench/compare.sh. With -every lines that hold nothing but
// frequent literals are counted too wherever they stand, as ripgrep does it; otherwise they are thinned out as the engine does it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"faultline/analysis/scan"
	"faultline/analysis/worker"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "scan:", err)
		os.Exit(1)
	}
}

func run() error {
	every := flag.Bool("every", false, "count every line that holds a literal")
	flag.Parse()
	var paths []string
	err := filepath.WalkDir(flag.Arg(0), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	shipped, err := worker.NewScanner()
	if err != nil {
		return err
	}
	sc := shipped.Scanner
	if *every {
		sc, err = scan.New(worker.Literals(), scan.Options{})
	}
	if err != nil {
		return err
	}
	var lines, bytes atomic.Int64
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range paths {
		g.Go(func() error {
			r, err := scan.Open(p)
			if err != nil {
				return err
			}
			defer r.Close()
			n := int64(0)
			st, err := sc.Scan(context.Background(), r, func(l *scan.Line) (int, error) {
				if len(l.Hits) > 0 {
					n++
				}
				return 0, nil
			})
			lines.Add(n)
			bytes.Add(st.Bytes)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	fmt.Printf("%d lines of %d bytes in %d files\n", lines.Load(), bytes.Load(), len(paths))
	return nil
}
