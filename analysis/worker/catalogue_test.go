package worker

import (
	"context"
	"slices"
	"strings"
	"testing"

	"faultline/knowledge"
)

// A scanner of a catalogue reads by that catalogue, beside others of the same process.
func TestALineMeansWhatTheCatalogueSays(t *testing.T) {
	const text = "slurmstepd: error: *** JOB 42 ON gn01 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***\n" +
		"gn01:12:34 [0] NCCL WARN Cuda failure 'out of memory'\n"
	read := func(known *knowledge.Catalogue) *Observations {
		t.Helper()
		sc, err := ScannerOf(known)
		if err != nil {
			t.Fatal(err)
		}
		obs, err := Read(context.Background(), "a.log", strings.NewReader(text), sc)
		if err != nil {
			t.Fatal(err)
		}
		return obs
	}
	all := read(knowledge.Whole())
	if len(all.Ends) != 1 || len(all.NCCLWarns) != 1 || len(all.NCCLWarns[0].Signs) == 0 {
		t.Fatalf("the lines are not read: %+v", all)
	}
	less := read(knowledge.Whole().Without(all.NCCLWarns[0].Signs...))
	if len(less.Ends) != 1 || len(less.NCCLWarns) != 1 || len(less.NCCLWarns[0].Signs) != 0 || less.Known.Whole() {
		t.Errorf("entries that are left out are read: %+v", less.NCCLWarns)
	}
	deaf := read(knowledge.Whole().WithoutReaders("slurmstepd end"))
	if len(deaf.Ends) != 0 || len(deaf.NCCLWarns) != 1 {
		t.Errorf("a reader that is left out reads: %+v", deaf.Ends)
	}
	if again := read(knowledge.Whole()); len(again.Ends) != 1 || len(again.NCCLWarns[0].Signs) != len(all.NCCLWarns[0].Signs) {
		t.Error("the whole has changed")
	}
}

func BenchmarkScannerOf(b *testing.B) {
	known := knowledge.Whole().Without("peer-store-eof")
	for b.Loop() {
		if _, err := ScannerOf(known); err != nil {
			b.Fatal(err)
		}
	}
}

func TestForeseenReadersExist(t *testing.T) {
	for _, name := range foreseen {
		if _, ok := whole().named[name]; !ok {
			t.Errorf("no reader is called %q", name)
		}
	}
	if got := Foreseen("ClientError: An error occurred (RequestTimeTooSkewed) when calling the GetObject operation"); !slices.Contains(got, "codes") {
		t.Errorf("a code of a public vocabulary is foreseen by %v", got)
	}
	for name, l := range map[string]string{"rank ended": "rank 4 on n07 died from signal 11", "slurm failed node": "Killing JobId=77120 on failed node vn17"} {
		if got := Foreseen(l); !slices.Equal(got, []string{name}) {
			t.Errorf("%q is foreseen by %q", l, got)
		}
	}
	if got := Foreseen("slurmstepd: error: *** JOB 42 ON gn01 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***"); len(got) != 1 || got[0] != "slurmstepd end" {
		t.Errorf("readers of an end: %q", got)
	}
}
