package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"faultline/analysis/artifact/nccltests"
)

// slowShare is what share of the best of its kind a test must reach; runs of one healthy fabric differ by less.
const slowShare = 0.8

// TestRun is one run of nccl-tests with where it stands.
type TestRun struct {
	*nccltests.Run
	File  string
	Hosts []string
}

// Comparison are runs of one collective over as many hosts and ranks, at the largest size that all of them measured.
type Comparison struct {
	Collective   string
	Hosts, Ranks int
	Size         int64
	Best         Measured
	Slow, Good   []Measured
	Culprit      Culprit
}

// Measured is one run at the size of a comparison.
type Measured struct {
	TestRun
	Row nccltests.Row
	Bus float64
}

// Culprit is what a number of tests, each over some hosts, prove together.
type Culprit struct {
	// Kind: node (one host is in every bad test, and every other host of these was in a good one), path (a bad test whose
	// hosts were all in good ones), set (one of Hosts, or some path between them), "" nothing is bad.
	Kind  string
	Hosts []string
}

// Accuse finds who explains the bad ones of some tests. It names a host only where the tests prove it.
func Accuse(bad, good [][]string) Culprit {
	if len(bad) == 0 {
		return Culprit{}
	}
	fine := map[string]bool{}
	for _, hosts := range good {
		for _, h := range hosts {
			fine[h] = true
		}
	}
	count, suspects := map[string]int{}, map[string]bool{}
	for _, hosts := range bad {
		for _, h := range slices.Compact(slices.Sorted(slices.Values(hosts))) {
			count[h]++
			if !fine[h] {
				suspects[h] = true
			}
		}
	}
	sets := map[string]bool{}
	for _, hosts := range bad {
		sets[fmt.Sprint(slices.Sorted(slices.Values(hosts)))] = true
	}
	all := slices.Sorted(maps.Keys(count))
	switch left := slices.Sorted(maps.Keys(suspects)); {
	case len(left) == 1 && count[left[0]] == len(bad) && (len(sets) > 1 || len(all) == 1):
		return Culprit{"node", left}
	case len(left) == 0 && len(sets) == 1:
		return Culprit{"path", all}
	case len(left) == 1 && len(sets) == 1:
		return Culprit{"set", all} // the host, or its path to the others of that one test
	case len(left) > 0:
		return Culprit{"set", left}
	}
	return Culprit{"set", all}
}

// TestRuns are all runs, in the order of files and places.
func (f *Facts) TestRuns() []TestRun {
	return testRuns(f.Handed.Tests)
}

func testRuns(files []TestFile) []TestRun {
	var out []TestRun
	for i := range files {
		t := &files[i]
		for k := range t.Runs {
			out = append(out, TestRun{&t.Runs[k], t.File, t.Runs[k].Hosts()})
		}
	}
	return out
}

// testKind is what must be the same of two runs for their bandwidths to be comparable.
type testKind struct {
	collective   string
	hosts, ranks int
	typ          string
}

// kindOf is false for a run that cannot be compared: nothing says what it is, or its numbers do not belong together.
func kindOf(r *TestRun) (testKind, bool) {
	name := cmp.Or(r.Collective, r.Inferred())
	if name == "" || len(r.Rows) == 0 || len(r.Hosts) == 0 || r.Ranks() == 0 {
		return testKind{}, false
	}
	if odd, _ := r.Odd(); len(odd) > 0 {
		return testKind{}, false
	}
	return testKind{name, len(r.Hosts), r.Ranks(), r.Rows[0].Type}, true
}

// CompareTests compares the runs that are of one kind.
func (f *Facts) CompareTests() []Comparison {
	by := map[testKind][]TestRun{}
	for _, r := range f.TestRuns() {
		if k, ok := kindOf(&r); ok {
			by[k] = append(by[k], r)
		}
	}
	var out []Comparison
	for k, runs := range by {
		size, ok := commonSize(runs)
		if len(runs) < 2 || !ok {
			continue
		}
		c := Comparison{Collective: k.collective, Hosts: k.hosts, Ranks: k.ranks, Size: size}
		var all []Measured
		for _, r := range runs {
			row, _ := r.At(size)
			if bus, ok := row.Best(); ok {
				all = append(all, Measured{r, row, bus})
			}
		}
		slices.SortFunc(all, func(a, b Measured) int {
			return cmp.Or(cmp.Compare(b.Bus, a.Bus), slices.Compare(a.Hosts, b.Hosts), cmp.Compare(a.File, b.File), cmp.Compare(a.Start.Offset, b.Start.Offset))
		})
		if len(all) < 2 || all[0].Bus <= 0 {
			continue
		}
		c.Best = all[0]
		var bad, good [][]string
		for _, m := range all {
			if m.Bus < slowShare*c.Best.Bus {
				c.Slow, bad = append(c.Slow, m), append(bad, m.Hosts)
			} else {
				c.Good, good = append(c.Good, m), append(good, m.Hosts)
			}
		}
		c.Culprit = Accuse(bad, good)
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Comparison) int {
		return cmp.Or(cmp.Compare(len(b.Slow), len(a.Slow)), cmp.Compare(a.Collective, b.Collective), cmp.Compare(a.Hosts, b.Hosts), cmp.Compare(a.Ranks, b.Ranks), cmp.Compare(a.Size, b.Size))
	})
	return out
}

// commonSize is the largest size that all runs measured.
func commonSize(runs []TestRun) (int64, bool) {
	for i := len(runs[0].Rows) - 1; i >= 0; i-- {
		size := runs[0].Rows[i].Size
		if !slices.ContainsFunc(runs, func(r TestRun) bool { _, ok := r.At(size); return !ok }) {
			return size, true
		}
	}
	return 0, false
}
