package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/bandwidth"
)

// slowPath is what share of the best of its kind the test of a path must reach.
const slowPath = 0.8

// PathTest is one test of a path with its file.
type PathTest struct {
	*bandwidth.Test
	File string
	// From and End are its two ends: by the name of the host where any test tells whose address it is.
	From, End string
}

// Hostname says that an end of a path is called by a name, not by an address or the identifier of a port.
func Hostname(end string) bool {
	return end != "" && (end[0]|0x20 >= 'a' && end[0]|0x20 <= 'z') && !strings.Contains(end, ":")
}

// PathComparison are tests of one tool, direction, size and number of streams.
type PathComparison struct {
	Best    PathTest
	Slow    []PathTest // the worst last
	N       int
	Culprit Culprit
}

// PathTests are all, in the order of files.
func (f *Facts) PathTests() []PathTest {
	var out []PathTest
	for i := range f.Handed.Paths {
		p := &f.Handed.Paths[i]
		for k := range p.Tests {
			out = append(out, PathTest{Test: &p.Tests[k], File: p.File})
		}
	}
	names := map[string]string{}
	for _, t := range out {
		if Hostname(t.Host) && t.Local != "" {
			names[t.Local] = ShortHost(t.Host)
		}
		if Hostname(t.To) && t.Remote != "" {
			names[t.Remote] = ShortHost(t.To)
		}
	}
	for i := range out {
		t := &out[i]
		t.From, t.End = cmp.Or(names[t.Local], t.Local, t.Host), cmp.Or(names[t.Remote], t.Remote)
	}
	return out
}

// ComparePaths compares the tests that are of one kind, and finds what explains the slow ones.
func (f *Facts) ComparePaths() []PathComparison {
	by := map[string][]PathTest{}
	var kinds []string
	for _, t := range f.PathTests() {
		if !t.Ended || t.From == "" || t.End == "" {
			continue
		}
		k := fmt.Sprint(t.Tool, "\x00", t.Both, "\x00", t.Bytes, "\x00", t.Streams)
		if by[k] == nil {
			kinds = append(kinds, k)
		}
		by[k] = append(by[k], t)
	}
	var out []PathComparison
	for _, k := range kinds {
		list := by[k]
		slices.SortStableFunc(list, func(a, b PathTest) int { return cmp.Compare(b.Gbits, a.Gbits) })
		c := PathComparison{Best: list[0], N: len(list)}
		var bad, good [][]string
		for _, t := range list {
			if ends := []string{t.From, t.End}; t.Gbits < slowPath*c.Best.Gbits {
				bad, c.Slow = append(bad, ends), append(c.Slow, t)
			} else {
				good = append(good, ends)
			}
		}
		if len(c.Slow) > 0 {
			c.Culprit = Accuse(bad, good)
			out = append(out, c)
		}
	}
	return out
}
