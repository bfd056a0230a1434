package messages

import (
	"testing"

	"faultline/incident"
)

func TestCountsNameTheirLargestSharesAndSayHowManyMore(t *testing.T) {
	n := incident.Counts{
		ConnectionResets: incident.Tallies{Total: 17, PerFile: map[string]int{"b.out": 4, "a.out": 4, "c.out": 8, "d.out": 1}, PerRank: map[string]int{"10": 4, "9": 4, "2": 8, "7": 1}},
		Retries: incident.RetryTallies{Recovered: 3, Exhausted: 1, Open: 1, Idle: 2, PerFile: map[string]incident.Ladders{"a.out": {Recovered: 3, Exhausted: 1, Open: 1}},
			PerRank: map[string]incident.Ladders{"5": {Exhausted: 1}}},
		LoaderErrors: incident.Tallies{Total: 2, PerFile: map[string]int{"a.out": 2}},
	}
	want := []pair{
		{"Resets", "17 connection resets in 4 files (c.out: 8, a.out: 4, b.out: 4, and 1 more); per rank: rank 2: 8, rank 9: 4, rank 10: 4, and 1 more"},
		{"Retries", "3 succeeded (2 of them on idle connections, harmless), 1 gave up, 1 still retrying when the logs ended in 1 file (a.out: 5); per rank: rank 5: 1"},
		{"Loader errors", "2 in 1 file (a.out: 2)"},
	}
	got := readCounts(&n)
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got  %v\nwant %v", got[i], want[i])
		}
	}
	if ps := readCounts(&incident.Counts{}); len(ps) != 0 {
		t.Errorf("nothing to count gives %v", ps)
	}
}
