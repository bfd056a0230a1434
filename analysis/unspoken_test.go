package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
)

// waitedInVain are words for a wait in vain that no catalogue has, with a place for the rank.
var waitedInVain = []string{
	"2026-11-26 10:12:44,%d03 - mesh - ERROR - lane sync ran past its deadline of 600 s\n",
	"E1126 10:12:44.%d23456 4242 conduit.cc:41] the ring made no progress in ten minutes, giving up\n",
	"2026-11-26 10:12:44,%d41 FATAL [pool-1] c.x.Gather - gave up on the join: 600 s of waiting were not enough\n",
}

// unspokenJob is a job of eight ranks: all but some end in a line, and those in others of their own.
func unspokenJob(t *testing.T, line string, own map[int]string) []incident.Source {
	t.Helper()
	files := map[string]string{}
	for r := range 8 {
		end, ok := own[r]
		if !ok {
			end = fmt.Sprintf(line, r)
		}
		files[fmt.Sprintf("rank_%d.log", r)] = healthyLog(r, 300) + end
	}
	return written(t, files, "")
}

// Whoever is missing among all that waited in vain is whom they waited for, whatever the words are: it is named, and shown is what it wrote last.
func TestWhoIsMissingAmongThoseThatWaitedIsNamed(t *testing.T) {
	for _, line := range waitedInVain {
		r := diagnosed(t, Input{Sources: unspokenJob(t, line, map[int]string{5: "2026-11-26 10:05:01,105 - trainer - INFO - epoch hook begins on shard 12\n2026-11-26 10:12:47,105 - mesh - INFO - told to stop\n"})})
		v := r.Verdict
		if v.Status != incident.Inconclusive || v.Mechanism != "rank-stalled" || !slices.Equal(v.Root.Frontier, []int{5}) || len(v.Root.Ranks) > 0 {
			t.Errorf("%q: %s %s, ranks %v, frontier %v", line, v.Status, v.Mechanism, v.Root.Ranks, v.Root.Frontier)
		}
		if s := r.Standouts; len(s) != 2 || s[0].Rank == nil || *s[0].Rank != 5 || !strings.HasSuffix(s[0].Statement, "epoch hook begins on shard 12") {
			t.Errorf("%q: shown is %s", line, standoutsOf(r))
		}
	}
}

// A rank that says something of its own first, and is answered by all others, was not silent; nor is anybody where many print nothing.
func TestWhoSpokeFirstIsNotSilent(t *testing.T) {
	for _, line := range waitedInVain {
		for name, own := range map[string]map[int]string{
			"it failed before": {5: "2026-11-26 10:12:40,003 - mesh - ERROR - ring 3 has no owner\n"},
			"many are silent":  {1: "hook begins\n", 3: "hook begins\n", 5: "hook begins\n"},
		} {
			if v := diagnosed(t, Input{Sources: unspokenJob(t, line, own)}).Verdict; len(v.Root.Frontier) > 0 || v.Mechanism == "rank-stalled" {
				t.Errorf("%s, %q: %s, frontier %v", name, line, v.Mechanism, v.Root.Frontier)
			}
		}
	}
}
