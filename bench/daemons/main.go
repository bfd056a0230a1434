// Command daemons writes logs of AIStore daemons of any size, to measure how fast they are read: counters every ten seconds,
// batches, now and then a storm of failed recoveries, and a target that goes away. The same options give the same bytes.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	n := flag.Int("daemons", 40, "number of targets, one file each")
	size := flag.Int64("size", 100_000_000, "bytes of one file, about")
	storm := flag.Float64("storm", 0.05, "share of the ticks in which recoveries fail, 20 lines each")
	out := flag.String("out", "", "directory to write into")
	flag.Parse()
	if err := run(*out, *n, *size, *storm); err != nil {
		fmt.Fprintln(os.Stderr, "daemons:", err)
		os.Exit(1)
	}
}

func run(out string, n int, size int64, storm float64) error {
	if out == "" || n < 2 {
		return fmt.Errorf("say where to write: -out DIR, and at least two daemons")
	}
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i := range n {
		g.Go(func() error {
			dir := filepath.Join(out, fmt.Sprintf("aistarget-ais-target-%d", i))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			f, err := os.Create(filepath.Join(dir, fmt.Sprintf("aistarget.node%02d.INFO.0912-000000.%d", i, 1600+i)))
			if err != nil {
				return err
			}
			d := daemon{w: bufio.NewWriterSize(f, 1<<20), rng: rand.New(rand.NewPCG(1, uint64(i))), self: i, of: n, storm: storm}
			if err := d.write(size); err != nil {
				f.Close()
				return err
			}
			return f.Close()
		})
	}
	return g.Wait()
}

type daemon struct {
	w     *bufio.Writer
	rng   *rand.Rand
	self  int
	of    int
	storm float64
	n     int64
}

func (d *daemon) printf(format string, args ...any) {
	n, _ := fmt.Fprintf(d.w, format, args...) // the error comes with Flush
	d.n += int64(n)
}

// write fills a day and more with ticks, as many as make the size.
func (d *daemon) write(size int64) error {
	at := time.Date(2025, 9, 12, 0, 0, 0, 0, time.UTC)
	d.printf("Started up at %s, host node%02d, go1.26.8 for linux/amd64\n", at.Format("2006/01/02 15:04:05"), d.self)
	d.printf("Node t[ais-target-%d], Version 5.0.v1.5.0, build 5.0, CPUs(64, runtime=64), containerized\n", d.self)
	for i := 1; d.n < size; i++ {
		at = at.Add(10 * time.Second)
		stamp := at.Format("15:04:05.")
		d.printf("I %s000000 {err.getbatch.n:3,get.n:%d,get.ns.total:%d,get.size:%d,getbatch.n:%d,getbatch.obj.n:%d,getbatch.obj.size:%d,kalive.ns:853669,put.n:618,put.ns.total:356661019,put.size:147324928,state.flags:6,stream.in.n:%d,stream.in.size:1771175936,stream.out.n:%d,stream.out.size:1290534912}\n",
			stamp, i, i*100, i*1000, i, i*64, i*100000, i*60, i*61)
		d.printf("I %s000001 running(1): get-batch[gbt-hWOfbPezW]\n", stamp)
		for j := range 12 {
			d.printf("I %s%06d moss:521 get-batch[gbt-hWOfbPezW] ctlmsg ( t[ais-target-%d]:[reqs:%d errs:110 objs:(15460,1.89GiB)] )\n", stamp, 10+j, d.self, i)
		}
		if d.rng.Float64() < d.storm {
			gone := (d.self + 1 + d.rng.IntN(d.of-1)) % d.of
			for j := range 20 {
				d.printf("W %s%06d moss:678 x-get-batch[gbt-iAf4A11G9]-ais://lab t[ais-target-%d] bcast abort [ GFN(ais://lab/o/%06d, t[ais-target-%d]): Get \"http://10.0.0.%d:51081/v1/objects/lab/o/%06d?gfn=true\": dial tcp 10.0.0.%d:51081: connect: connection refused ]\n",
					stamp, 100+j, d.self, i, gone, gone, i, gone)
			}
		}
		if at.Minute() == 0 && at.Second() == 0 {
			d.printf("I %s900000 common:494 %s UTC =============\n", stamp, at.Format("02 Jan 06 15:04"))
		}
	}
	return d.w.Flush()
}
