// Command generate writes the logs that bench/compare.sh and bench/families.sh read: many files of one job, of any size.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"faultline/simulate/volume"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	var o volume.Options
	flag.StringVar(&o.Kind, "kind", volume.Mixed, "what is written: "+strings.Join(append(volume.Kinds(), volume.Families()...), ", "))
	flag.IntVar(&o.Files, "files", 12, "number of files, one a node")
	flag.IntVar(&o.PerFile, "ranks", 8, "ranks that write into one file")
	flag.Int64Var(&o.FileSize, "size", 25_000_000, "bytes of one file, about")
	flag.Uint64Var(&o.Seed, "seed", 1, "what everything random is drawn from")
	flag.IntVar(&o.Restarts, "restarts", 0, "how often the job is started again in the same files")
	flag.Float64Var(&o.Trouble, "trouble", 0, "share of lines that report trouble; 0 is the kind's own")
	out := flag.String("out", "", "directory to write into")
	list := flag.Bool("list", false, "print the names of the families of logs, and mixed, instead")
	flag.Parse()
	if *list {
		fmt.Println(strings.Join(append(volume.Families(), volume.Mixed), "\n"))
		return nil
	}
	if *out == "" || flag.NArg() > 0 {
		return fmt.Errorf("say where to write: -out DIR")
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i := range o.Files {
		g.Go(func() error {
			f, err := os.Create(filepath.Join(*out, volume.Name(i)))
			if err != nil {
				return err
			}
			if err := volume.Write(f, o, i); err != nil {
				f.Close()
				return err
			}
			return f.Close()
		})
	}
	return g.Wait()
}
