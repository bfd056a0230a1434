package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"
)

// fuzzedBytes is how much the parsers are given, all together: a sample of it at each run, all of it where FAULTLINE_FULL
// is set.
func fuzzedBytes() int {
	switch {
	case third:
		return 30_000_000
	case full:
		return 100_000_000
	case testing.Short():
		return 500_000
	}
	return 4_000_000
}

// No text makes a parser panic, hang or contradict itself. An input that does is kept in testdata/finds and read first
// from then on.
func TestFuzzedBytesAreParsed(t *testing.T) {
	t.Parallel()
	shares := 0
	for _, p := range parsers {
		shares += p.share
	}
	total := 0
	m := newMixer(t, *seed)
	for _, p := range parsers {
		t.Run(p.name, func(t *testing.T) {
			b := newBench(t)
			n, count := 0, 0
			var slowest time.Duration // for the log of a full run; nothing depends on it
			var slow int
			for want := fuzzedBytes() * p.share / shares; n < want; {
				in := m.next(p.largest)
				n += len(in)
				count++
				start := time.Now()
				if wrong := b.safely(p, in); wrong != "" {
					t.Fatalf("input %d: %s\nkept as %s", count, wrong, keep(t, p.name, in))
				}
				if d := time.Since(start); d > slowest {
					slowest, slow = d, len(in)
				}
			}
			total += n
			t.Logf("%d bytes in %d inputs; the longest took %s for %d bytes", n, count, slowest.Round(time.Microsecond), slow)
		})
	}
	t.Logf("%d bytes in all", total)
	if total < fuzzedBytes()*99/100 && !t.Failed() {
		t.Errorf("only %d bytes", total)
	}
}

// safely parses; a panic is told, and what hangs ends the run with its input kept.
func (b *bench) safely(p parser, in []byte) (wrong string) {
	hang := time.AfterFunc(patience, func() {
		panic(fmt.Sprintf("%s: no answer to %d bytes, kept as %s", p.name, len(in), keep(b.t, p.name, in)))
	})
	defer hang.Stop()
	defer func() {
		if r := recover(); r != nil {
			wrong = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return p.parse(b, in)
}

// finds are inputs that broke a parser once, by the parser's name.
var finds = filepath.Join("testdata", "finds")

func keep(t testing.TB, name string, in []byte) string {
	dir := filepath.Join(finds, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Log(err)
		return "nothing"
	}
	f, err := os.CreateTemp(dir, "")
	if err != nil {
		t.Log(err)
		return "nothing"
	}
	defer f.Close()
	if _, err := f.Write(in); err != nil {
		t.Log(err)
	}
	return f.Name()
}

func TestWhatBrokeAParserOnceIsParsed(t *testing.T) {
	t.Parallel()
	for _, p := range parsers {
		files, err := filepath.Glob(filepath.Join(finds, p.name, "*"))
		if err != nil {
			t.Fatal(err)
		}
		b := newBench(t)
		for _, name := range files {
			in, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if wrong := b.safely(p, in); wrong != "" {
				t.Errorf("%s: %s", name, wrong)
			}
		}
	}
}
