package worker

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/line"
	"faultline/analysis/scan"
)

// readAll reads text; where all is set every frame is followed, whatever stands below it.
func readAll(t *testing.T, sc *Scanner, text []byte, all bool) *Observations {
	t.Helper()
	r := newReader("log", sc)
	if _, err := sc.Scan(t.Context(), bytes.NewReader(text), func(l *scan.Line) (int, error) {
		if all {
			l.Below = nil
		}
		return r.visit(l)
	}); err != nil {
		t.Fatal(err)
	}
	r.finish()
	return r.obs
}

// What stands below a frame is looked at before the reader asks for it: that must find whatever the reader would.
func TestFramesThatLeadNowhereAreLeftOutAndNoOthers(t *testing.T) {
	sc, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	pieces := []string{
		"  File \"/opt/a.py\", line 3, in forward", "    return f(x)", "  File \"/opt/b.py\", line 8, in step", "    ~~~^^^",
		"ValueError: bad value", "KeyboardInterrupt", "torch.cuda.OutOfMemoryError", "urllib3.exceptions.MaxRetryError: none left", "SystemExit: 1",
		"", "a line of no interest", "UserWarning: never mind", "  warnings.warn(x)", "  | ValueError: in a group", "\x1b[31mRuntimeError\x1b[0m: red",
		"2025-09-12 03:29:19,025 - data - INFO - ValueError: logged", " 12%|#  | 3/9 [00:01<00:02,  1.2it/s]\r 23%|##  | 4/9 [00:01<00:02,  1.2it/s]\rIndexError: behind a bar",
		strings.Repeat("\r 12%|#  | 3/9 [00:01<00:02,  1.2it/s]", 20),
	}
	labels := []string{"", "[rank1]: ", "[rank2]: ", "[default3]:", "12: ", "node07: ", "(Worker pid=77) ", "2025-09-12 03:29:19,025 "}
	left := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var b bytes.Buffer
		b.WriteString(strings.Repeat("a line at the head\n", headLines))
		var last string
		for range 10 + rng.IntN(60) {
			if rng.IntN(3) > 0 {
				last = labels[rng.IntN(1+rng.IntN(len(labels)))]
			}
			if rng.IntN(12) == 0 {
				b.WriteString("what another wrote ")
			}
			fmt.Fprintf(&b, "%s%s\n", last, pieces[min(rng.IntN(len(pieces)), rng.IntN(len(pieces)))])
		}
		b.WriteString(strings.Repeat("a line at the end\n", int(seed%2)*2000))
		got, want := readAll(t, sc, b.Bytes(), false), readAll(t, sc, b.Bytes(), true)
		if !found(got.Exceptions, want.Exceptions) {
			t.Fatalf("seed %d: %+v\nwant %+v\n%s", seed, got.Exceptions, want.Exceptions, b.Bytes()[19*headLines:min(b.Len(), 19*headLines+3000)])
		}
		left += len(want.Exceptions)
	}
	if left < 400 {
		t.Fatalf("only %d exceptions in all", left)
	}
}

// found reports whether got holds the exceptions of want that have frames, with at least as many: a stray block can be in the
// way of another.
func found(got, want []Exception) bool {
	frames := map[int64]int{}
	for _, e := range got {
		frames[e.Off] = len(e.Frames)
	}
	for _, e := range want {
		if n, ok := frames[e.Off]; len(e.Frames) > 0 && (!ok || n < len(e.Frames)) {
			return false
		}
	}
	return true
}

// However many stray frames a log holds, those that lead to an error are found.
func TestAnErrorBehindManyStrayFramesIsFound(t *testing.T) {
	sc, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for i := range 5000 {
		fmt.Fprintf(&b, "[rank1]:   File \"/opt/a.py\", line %d, in forward\n", i)
		b.WriteString("one\ntwo\nthree\nfour\nfive\n")
	}
	b.WriteString("[rank1]:   File \"/opt/data.py\", line 4, in load\n[rank1]:     return d[k]\n[rank1]: KeyError\n" + strings.Repeat("more\n", 4000))
	got := readAll(t, sc, b.Bytes(), false).Exceptions
	if len(got) != 1 || got[0].Type != "KeyError" || len(got[0].Frames) != 1 || got[0].Frames[0].File != "/opt/data.py" {
		t.Fatalf("%+v", got)
	}
}

func unstamped(list []Exception) {
	for i := range list {
		list[i].Stamp = line.Stamp{}
		for k := range list[i].Told {
			list[i].Told[k].At.Stamp = line.Stamp{}
		}
		unstamped(list[i].Cause)
	}
}

// The lines below a final line are looked at before its block asks for them: that must change nothing of what is read of it.
func TestFinalLinesWhoseMessageEndsReadAlikeWithoutTheLinesBelow(t *testing.T) {
	sc, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	pieces := []string{
		"ConnectionResetError: [Errno 104] Connection reset by peer", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB:", "RuntimeError: NCCL error:",
		"RuntimeError: inductor raised:", "nccl: Last error:", "Last error:", "more of the message", "  indented", "", "KeyError: 'x'", "=====",
		"[W912 03:30:10.017291018 ProcessGroupNCCL.cpp:4006] Guessing device ID based on global rank", "[E912 03:30:10.017291018 ProcessGroupNCCL.cpp:4006] ",
		"  | more in a group", "The above exception was the direct cause of the following exception:",
		" 12%|#  | 3/9 [00:01<00:02,  1.2it/s]", " 12%|#  | 3/9 [00:01<00:02,  1.2it/s]\r[rank1]:  23%|##  | 4/9 [00:01<00:02,  1.2it/s]", "100% of [it]",
		"Traceback (most recent call last):", "\x1b[31mred\x1b[0m", "2025-09-12 03:29:19,025 - data - INFO - logged", "x\r[rank1]: y",
	}
	labels := []string{"[rank1]: ", "[rank1]:", "[rank2]: ", "[rank1] ", "", "what another wrote [rank1]: ", "node1: ", "12: "}
	alone := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 11))
		var b bytes.Buffer
		b.WriteString(strings.Repeat("a line at the head\n", headLines))
		for range 6 + rng.IntN(30) {
			fmt.Fprintf(&b, "%s%s\n", labels[min(rng.IntN(len(labels)), rng.IntN(len(labels)))], pieces[min(rng.IntN(len(pieces)), rng.IntN(len(pieces)))])
		}
		b.WriteString(strings.Repeat("a line at the end\n", int(seed%2)*40))
		got, want := readAll(t, sc, b.Bytes(), false).Exceptions, readAll(t, sc, b.Bytes(), true).Exceptions
		for _, list := range [][]Exception{got, want} {
			unstamped(list) // lines that are not asked for tell nobody the time
			slices.SortStableFunc(list, func(a, b Exception) int { return cmp.Compare(a.Off, b.Off) })
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %+v\nwant %+v\n%s", seed, got, want, b.Bytes()[19*headLines:])
		}
		alone += len(want)
	}
	if alone < 1500 {
		t.Fatalf("only %d exceptions in all", alone)
	}
}
