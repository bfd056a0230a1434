package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"faultline/analysis/scan"
)

// scannerWith is a scanner of everything that is known with other options.
func scannerWith(o scan.Options) (*Scanner, error) {
	sc, err := scan.New(Literals(), o)
	return &Scanner{Scanner: sc, table: whole()}, err
}

func TestLiteralsAreUsable(t *testing.T) {
	for i, l := range Literals() {
		if len(l) < 5 {
			t.Errorf("literal %q has fewer than five bytes", l)
		}
		if i > 0 && Literals()[i-1] >= l {
			t.Errorf("literals are not sorted and unique at %q", l)
		}
	}
}

// mixed is a file in which blocks, bars, joined lines and late candidates all occur.
var mixed = strings.Repeat("plain line of the program\n", 300) +
	plainTrace +
	"Epoch 1:  5%|x| 1/20\r[rank3]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran f\nor 600001 milliseconds before timing out.\n" +
	strings.Repeat("[rank1]: more of it\n", 3000) +
	"[rank3]:[E603 17:48:02.005271823 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank 3]  failure detected by watchdog at work sequence id: 7 PG status: last enqueued work: 7, last completed work: 6\n" +
	"something is an ERROR nobody knows\n" +
	strings.Join(prefixed("[rank5]: ", plainTrace), "\n") + "\n" +
	strings.Repeat("[rank2]: quiet end\n", 400) + "2025-06-03 17:50:00 the last line"

func TestObservationsDoNotDependOnHowTheFileIsRead(t *testing.T) {
	want := observe(t, mixed)
	if len(want.Timeouts) != 1 || want.Timeouts[0].Work.RanForMS != 600001 || len(want.States) != 1 || len(want.Exceptions) != 2 || want.UnclassifiedN != 1 {
		t.Fatalf("the file is not read: %+v", want)
	}
	readers := map[string]func() io.Reader{
		"one byte at a time": func() io.Reader { return iotest.OneByteReader(strings.NewReader(mixed)) },
		"halves":             func() io.Reader { return iotest.HalfReader(strings.NewReader(mixed)) },
		"error with data":    func() io.Reader { return iotest.DataErrReader(strings.NewReader(mixed)) },
	}
	for _, chunk := range []int{0, 4 << 10, 5000, 64 << 10, 1 << 20} {
		sc, err := scannerWith(scan.Options{HeadLines: headLines, ChunkSize: chunk})
		if err != nil {
			t.Fatal(err)
		}
		for name, open := range readers {
			got, err := Read(context.Background(), "file.log", open(), sc)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("chunk %d, %s: other observations", chunk, name)
			}
		}
	}
}

func TestTailOfTheFile(t *testing.T) {
	obs := observe(t, mixed)
	tail := obs.Tails[0]
	if tail.Bytes != int64(len(mixed)) || tail.EndsClean || tail.Unclassified != 1 {
		t.Errorf("got %+v", tail)
	}
	if tail.Last.Stamp.Hour != 17 || tail.Last.Stamp.Minute != 50 || tail.Last.Line != int64(strings.Count(mixed, "\n"))+1 {
		t.Errorf("the last stamp stands in the last line, got %+v", tail.Last)
	}
	if tail.First.Stamp.Second != 1 {
		t.Errorf("got first %+v", tail.First)
	}
	ends := map[int]string{}
	for _, w := range tail.Writers {
		ends[w.Who.Global] = mixed[w.Last.Off:][:w.Last.Len]
	}
	if !strings.HasSuffix(ends[2], "quiet end") || !strings.Contains(ends[3], "[PG ID 0") {
		t.Errorf("got %v", ends)
	}
}

func TestAFileThatBreaksOffGivesWhatWasRead(t *testing.T) {
	sc, err := scanner()
	if err != nil {
		t.Fatal(err)
	}
	broken := &os.PathError{Op: "read", Path: "/somewhere/file.log", Err: errors.New("input/output error")}
	src := io.MultiReader(strings.NewReader(mixed), iotest.ErrReader(broken))
	obs, err := Read(context.Background(), "file.log", src, sc)
	if err != nil {
		t.Fatal(err)
	}
	if len(obs.States) != 1 || obs.Tails[0].EndsClean || obs.Tails[0].ReadError == "" || strings.Contains(obs.Tails[0].ReadError, "/somewhere") {
		t.Errorf("got %+v", obs.Tails)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, "file.log", strings.NewReader(mixed), sc); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestInheritedStampIsOfTheSameWriter(t *testing.T) {
	obs := observe(t, `[rank1]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:563] x
[rank2]:[E603 18:00:00.005271823 ProcessGroupNCCL.cpp:563] x
[rank1]: RuntimeError: boom
[rank9]: RuntimeError: boom
`)
	if len(obs.Exceptions) != 2 {
		t.Fatalf("got %+v", obs.Exceptions)
	}
	if obs.Exceptions[0].Inherited().Hour != 17 || obs.Exceptions[1].Inherited().Kind != 0 {
		t.Errorf("got %+v, %+v", obs.Exceptions[0].Inherited(), obs.Exceptions[1].Inherited())
	}
}

// A script's logger names no rank, and a traceback has no time: that of the lines above is the earliest it can have.
func TestATracebackInheritsFromLinesThatNameNobody(t *testing.T) {
	obs := observe(t, `2026-11-20 17:48:01,005 - train - INFO - step: 1/50000 loss: 2.3
[rank2]:[E1120 18:00:00.005271823 ProcessGroupNCCL.cpp:563] x
[rank1]: RuntimeError: boom
[rank2]: RuntimeError: boom
`)
	if len(obs.Exceptions) != 2 || obs.Exceptions[0].Inherited().Hour != 17 || obs.Exceptions[1].Inherited().Hour != 18 {
		t.Errorf("got %+v", obs.Exceptions)
	}
}

func TestUnclassifiedIsCountedBeyondWhatIsKept(t *testing.T) {
	obs := observe(t, strings.Repeat("a new kind of ERROR\nall is well\n", 70))
	if obs.UnclassifiedN != 70 || len(obs.Unclassified) != maxUnclassified {
		t.Errorf("got %d, %d kept", obs.UnclassifiedN, len(obs.Unclassified))
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(mixed[7000:9800]))
	f.Add([]byte(plainTrace + plainTrace[:200]))
	f.Add([]byte("\x00\xff\r\r\n  what():  [PG ID 0 PG GUID 0(a) Rank 2] Process group watchdog thread terminated with exception:\n x\n"))
	f.Add([]byte("\t - [3] Timeout at collective: A, #1\n\t - ranks [5, are the lagging ranks\nTraceback (most recent call last):\nTraceback (most recent call last):\nA: b\nB: c\n"))
	f.Add([]byte("terminate called after throwing an instance of 'x'\nterminate called \n what(): \nFatal Python error: \n NCCL WARN to a<1> <2\n"))
	f.Add([]byte("Rank failed to pass monitoredBarrier in\nTimed out after waiting for clients. /\n in store based barrier timeout=1 day\n](http[a](http)"))
	f.Add([]byte(wrapped(inEnvelope, "parts") + wrapped(inEnvelope, "docker")))
	f.Add([]byte(`{"message":"Traceback (most recent call last):\n  File \"/a.py\", line 3, in f\nValueError: b\r\u00e9\n\nNCCL WARN x","time":"2024-05-01T10:00:07Z"}`))
	f.Add([]byte("> " + strings.ReplaceAll(plainTrace, "\n", "\n> ")))
	f.Add([]byte("    " + strings.ReplaceAll(marginless+marginless, "\n", "\n    ")))
	f.Add([]byte("2026-06-03T02:10:00Z " + strings.ReplaceAll(inEnvelope, "\n", "\n2026-06-03T02:10:00Z ")))
	small, err := scannerWith(scan.Options{HeadLines: 3, ChunkSize: 4 << 10})
	if err != nil {
		f.Fatal(err)
	}
	other, err := scannerWith(scan.Options{HeadLines: 3})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		obs, err := Read(context.Background(), "f", bytes.NewReader(b), small)
		if err != nil {
			t.Fatal(err)
		}
		checkPlaces(t, string(b), obs)
		again, err := Read(context.Background(), "f", iotest.HalfReader(bytes.NewReader(b)), other)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(obs, again) {
			t.Fatal("depends on the size of chunks")
		}
	})
}

// corpusDir is where real incidents are, next to the repository.
func corpusDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no corpus of real incidents beside the repository")
	}
	return dir
}

// readCase reads all files of one case of the corpus.
func readCase(t testing.TB, id string) *Observations {
	t.Helper()
	dir := corpusDir(t)
	files, err := filepath.Glob(filepath.Join(dir, id+"-*", "logs", "*"))
	if err != nil || len(files) == 0 {
		t.Skipf("case %s is not in the corpus", id)
	}
	sc, err := scanner()
	if err != nil {
		t.Fatal(err)
	}
	var all []*Observations
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		obs, err := Read(context.Background(), filepath.Base(name), bytes.NewReader(b), sc)
		if err != nil {
			t.Fatal(err)
		}
		checkPlaces(t, string(b), obs)
		all = append(all, obs)
	}
	return Merge(all...)
}
