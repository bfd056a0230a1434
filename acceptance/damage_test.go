package acceptance

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/analysis/verify"
	"faultline/incident"
	"faultline/simulate"
)

// patience is how long one damaged incident may take before the test calls it a hang. Healthy ones take milliseconds.
const patience = time.Minute

// harm is one way in which bytes get lost or changed.
type harm struct {
	name string
	do   func(p *rand.Rand, d []byte) []byte
}

var harms = []harm{
	{"flipped bytes", func(p *rand.Rand, d []byte) []byte {
		for range 1 + p.IntN(200) {
			d[p.IntN(len(d))] ^= byte(1 + p.IntN(255))
		}
		return d
	}},
	{"a truncated file", func(p *rand.Rand, d []byte) []byte { return d[:p.IntN(len(d)+1)] }},
	{"a lost beginning", func(p *rand.Rand, d []byte) []byte { return d[p.IntN(len(d)):] }},
	{"NUL bytes", func(p *rand.Rand, d []byte) []byte {
		at := p.IntN(len(d))
		return slices.Insert(d, at, make([]byte, 1+p.IntN(9000))...)
	}},
	{"overwritten with NUL", func(p *rand.Rand, d []byte) []byte {
		at := p.IntN(len(d))
		clear(d[at:min(len(d), at+1+p.IntN(9000))])
		return d
	}},
	{"doubled lines", func(p *rand.Rand, d []byte) []byte {
		var out []byte
		for _, l := range bytes.SplitAfter(d, []byte("\n")) {
			for range 1 + p.IntN(3) {
				out = append(out, l...)
			}
		}
		return out
	}},
	{"shuffled lines", func(p *rand.Rand, d []byte) []byte {
		lines := bytes.SplitAfter(d, []byte("\n"))
		p.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		return bytes.Join(lines, nil)
	}},
	{"newlines lost", func(p *rand.Rand, d []byte) []byte {
		for i := range d {
			if d[i] == '\n' && p.IntN(3) == 0 {
				d[i] = ' '
			}
		}
		return d
	}},
	{"one huge line", func(p *rand.Rand, d []byte) []byte { return bytes.ReplaceAll(d, []byte("\n"), []byte(" ")) }},
	{"a file of noise", func(p *rand.Rand, d []byte) []byte {
		for i := range d {
			d[i] = byte(p.Uint32())
		}
		return d
	}},
	{"numbers out of range", func(p *rand.Rand, d []byte) []byte {
		out := make([]byte, 0, 2*len(d))
		for _, c := range d {
			out = append(out, c)
			if c >= '0' && c <= '9' && p.IntN(40) == 0 {
				out = append(out, bytes.Repeat([]byte{c}, 1+p.IntN(25))...)
			}
		}
		return out
	}},
	{"negative numbers", func(p *rand.Rand, d []byte) []byte {
		out := make([]byte, 0, 2*len(d))
		for i, c := range d {
			if c >= '0' && c <= '9' && i > 0 && d[i-1] == ' ' && p.IntN(4) == 0 {
				out = append(out, '-')
			}
			out = append(out, c)
		}
		return out
	}},
}

// mixup is one way in which the files of a set get mixed up.
type mixup struct {
	name string
	do   func(p *rand.Rand, files []simulate.File) []simulate.File
}

var mixups = []mixup{
	{"two files swapped", func(p *rand.Rand, files []simulate.File) []simulate.File {
		i, j := p.IntN(len(files)), p.IntN(len(files))
		files[i].Data, files[j].Data = files[j].Data, files[i].Data
		return files
	}},
	{"a file twice", func(p *rand.Rand, files []simulate.File) []simulate.File {
		f := files[p.IntN(len(files))]
		return append(files, simulate.File{Name: "copy-of-" + f.Name, Data: slices.Clone(f.Data)})
	}},
	{"a file behind another", func(p *rand.Rand, files []simulate.File) []simulate.File {
		i, j := p.IntN(len(files)), p.IntN(len(files))
		files[i].Data = slices.Concat(files[i].Data, files[j].Data)
		return files
	}},
	{"a program among the logs", func(p *rand.Rand, files []simulate.File) []simulate.File {
		d := make([]byte, 1+p.IntN(1<<16))
		for i := range d {
			d[i] = byte(p.Uint32())
		}
		return append(files, simulate.File{Name: "core.4242", Data: append([]byte("\x7fELF\x02\x01\x01\x00"), d...)})
	}},
	{"an empty file", func(p *rand.Rand, files []simulate.File) []simulate.File {
		files[p.IntN(len(files))].Data = nil
		return files
	}},
	{"another name", func(p *rand.Rand, files []simulate.File) []simulate.File {
		files[p.IntN(len(files))].Name = "renamed.txt"
		return files
	}},
}

// damaged is a fresh copy of an incident's files, each of them harmed now and then, and now and then mixed up.
func damaged(p *rand.Rand, inc *simulate.Incident) ([]simulate.File, string) {
	out := make([]simulate.File, len(inc.Files))
	what := ""
	always := p.IntN(len(out))
	for i, f := range inc.Files {
		d := slices.Clone(f.Data)
		if (i == always || p.IntN(3) == 0) && len(d) > 0 {
			h := harms[p.IntN(len(harms))]
			d = h.do(p, d)
			what += " " + f.Name + ": " + h.name + ";"
		}
		out[i] = simulate.File{Name: f.Name, Data: d}
	}
	if p.IntN(4) == 0 {
		m := mixups[p.IntN(len(mixups))]
		out = m.do(p, out)
		what += " " + m.name + ";"
	}
	return out, what
}

func TestDamagedInputGivesAReportThatHolds(t *testing.T) {
	t.Parallel()
	var specs []simulate.Spec
	for _, spec := range simulate.Grid(2*cases(1000), *seed+2, 0) {
		if len(specs) < cases(1000) && spec.NodeCount*spec.PerNode <= 64 {
			specs = append(specs, spec)
		}
	}
	var mu sync.Mutex
	n, reports, done := 0, 0, map[string]int{}
	const parts = 4
	t.Run("sets", func(t *testing.T) {
		for part := range parts {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for i := part; i < len(specs); i += parts {
					inc := play(t, specs[i])
					files, what := damaged(rand.New(rand.NewPCG(*seed, uint64(1000+i))), inc)
					dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
					r := withinPatience(t, inc.ID+":"+what, put(t, dir, files))
					os.RemoveAll(dir)
					mu.Lock()
					n++
					if r != nil {
						reports++
					}
					for _, kind := range kindsOfDamage() {
						done[kind] += strings.Count(what, kind)
					}
					mu.Unlock()
				}
			})
		}
	})
	if n < cases(1000) || reports < n*9/10 {
		t.Errorf("%d reports of %d damaged incidents, expected %d", reports, n, cases(1000))
	}
	for _, kind := range kindsOfDamage() {
		if done[kind] == 0 && !raced { // few sets do not see every kind
			t.Errorf("no set was damaged by %s", kind)
		}
	}
	t.Logf("%d sets damaged, %d reports: %v", n, reports, done)
}

func kindsOfDamage() []string {
	var out []string
	for _, h := range harms {
		out = append(out, h.name)
	}
	for _, m := range mixups {
		out = append(out, m.name)
	}
	return out
}

// withinPatience diagnoses, and holds the report against the bytes once more.
func withinPatience(t *testing.T, name string, sources []incident.Source) *incident.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := diagnosed(ctx, t, name, analysis.Input{Sources: sources})
	if r == nil {
		return nil
	}
	if err := sound(r); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	paths := verify.Files{}
	for _, s := range sources {
		paths[s.Name] = s.Path
	}
	_, failures, err := verify.Report(ctx, paths, r)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for _, f := range failures {
		t.Errorf("%s: %s: %s", name, f.Path, f.Reason)
	}
	return r
}

func TestFilesThatAreNoLogsAtAll(t *testing.T) {
	t.Parallel()
	p := rand.New(rand.NewPCG(*seed, 9))
	noise := make([]byte, 3<<20)
	for i := range noise {
		noise[i] = byte(p.Uint32())
	}
	mark := "[rank0]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL("
	for name, data := range map[string][]byte{
		"noise":            noise,
		"NUL":              make([]byte, 1<<20),
		"one newline":      []byte("\n"),
		"only newlines":    bytes.Repeat([]byte("\n"), 1<<20),
		"carriage returns": bytes.Repeat([]byte("\r"), 1<<20),
		"half a mark":      []byte(mark),
		"marks unended":    bytes.Repeat([]byte(mark), 4096),
		"mark lines":       bytes.Repeat([]byte(mark+"\n"), 4096),
		"tracebacks":       bytes.Repeat([]byte("Traceback (most recent call last):\n"), 50000),
		"gzip magic":       append([]byte{0x1f, 0x8b, 8, 0}, noise[:4096]...),
		"zstd magic":       append([]byte{0x28, 0xb5, 0x2f, 0xfd}, noise[:4096]...),
		"escape codes":     bytes.Repeat([]byte("\x1b[31m"), 1<<18),
	} {
		t.Run(name, func(t *testing.T) {
			sources := put(t, t.TempDir(), []simulate.File{{Name: "a.log", Data: data}, {Name: "error-7-0.out", Data: data}})
			r := withinPatience(t, name, sources)
			if r != nil && (r.Verdict.Status == incident.Confirmed || len(r.Verdict.Root.Ranks)+len(r.Verdict.Root.Nodes) > 0) {
				t.Errorf("says %s (%s) of rank %v, node %v", r.Verdict.Mechanism, r.Verdict.Status, r.Verdict.Root.Ranks, r.Verdict.Root.Nodes)
			}
		})
	}
}

// Four times the input must not need much more memory: what is held is what was found, not what was read.
func TestMemoryDoesNotGrowWithTheFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a few hundred megabytes")
	}
	line := []byte("2026-03-01 10:00:00,123 INFO trainer: iteration 12 | loss 2.15 | nothing to see here, move along please\n")
	for name, chunk := range map[string][]byte{
		"ordinary lines": line,
		"one long line":  bytes.TrimSuffix(line, []byte("\n")),
		"NUL bytes":      make([]byte, 100),
		"alarms":         []byte("[rank3]: Error: something went wrong in a way that nobody foresaw, RuntimeError maybe\n"),
	} {
		t.Run(name, func(t *testing.T) {
			small := peak(t, chunk, 16<<20) // beyond the bound of what one file may give
			large := peak(t, chunk, 40<<20)
			t.Logf("peak heap %d KiB for 16 MiB, %d KiB for 40 MiB", small>>10, large>>10)
			if large > small+small/4+(16<<20) {
				t.Errorf("the heap grows from %d MiB to %d MiB with the size of the file", small>>20, large>>20)
			}
		})
	}
}

// peak is the largest heap seen while a file of so many bytes is diagnosed.
func peak(t *testing.T, chunk []byte, size int) uint64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "error-7-0.out")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat(chunk, 1<<20/len(chunk)+1)
	for n := 0; n < size; n += len(block) {
		if _, err := f.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var most uint64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	diagnosed(t.Context(), t, "memory", analysis.Input{Sources: []incident.Source{{Name: "error-7-0.out", Path: path, Bytes: int64(size)}}, Workers: 1})
	close(stop)
	<-done
	return most - min(most, before.HeapAlloc)
}
