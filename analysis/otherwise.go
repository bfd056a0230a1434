package analysis

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/pattern"
)

// What two runs print before their first step tells what was set otherwise. Numbers are masked: they are times, ids and addresses.

const (
	prologue    = 48 << 10 // of a file that is compared
	maxPrologue = 64       // files
	maxOdd      = 4        // lines that are told
	leastAlike  = 0.5      // share of the words that two lines have in common which say the same of either run
)

// opening is one line before the first step of a run.
type opening struct {
	masked, text string
	at           worker.At
	file         string
}

var masks = pattern.New(`0x[0-9a-fA-F]+|\d+`)

// openings are the lines that files begin with, before any step.
func openings(ctx context.Context, in *Input, sources []incident.Source, first map[string]int64) (out []opening) {
	for _, s := range sources[:min(len(sources), maxPrologue)] {
		head, err := headOf(in.Opener, s, prologue)
		if err != nil || ctx.Err() != nil {
			continue
		}
		head = head[:min(len(head), prologue)]
		off, stop := int64(0), int64(len(head))
		if at, ok := first[s.Name]; ok {
			stop = min(stop, at)
		}
		for n := int64(1); off < stop; n++ {
			l, _, whole := bytes.Cut(head[off:], []byte("\n"))
			if !whole {
				break
			}
			text := strings.TrimSpace(string(l))
			if len(text) >= 8 && len(text) < 512 {
				at := worker.At{Pos: worker.Pos{File: s.Name, Line: n, Off: off, Len: len(bytes.TrimRight(l, "\r"))}}
				out = append(out, opening{masks.ReplaceAllString(text, "#"), text, at, s.Name})
			}
			off += int64(len(l)) + 1
		}
	}
	return out
}

// otherwise pairs lines of this run that the earlier one has not with lines of that one that say the same otherwise.
func otherwise(is, was []opening) (out []resolve.Otherwise) {
	have := func(list []opening) map[string]bool {
		m := map[string]bool{}
		for i := range list {
			m[list[i].masked] = true
		}
		return m
	}
	before := have(was)
	files := map[string][]string{}
	for i := range is {
		if l := &is[i]; !slices.Contains(files[l.masked], l.file) {
			files[l.masked] = append(files[l.masked], l.file)
		}
	}
	told := map[string]bool{}
	for i := range is {
		a := &is[i]
		if before[a.masked] || told[a.masked] {
			continue
		}
		best, most := -1, leastAlike
		for k := range was {
			if b := &was[k]; !slices.Contains(files[b.masked], a.file) {
				if x := alike(a.masked, b.masked); x > most {
					best, most = k, x
				}
			}
		}
		if best < 0 {
			continue
		}
		told[a.masked] = true
		if out = append(out, resolve.Otherwise{Is: a.text, Was: was[best].text, IsAt: a.at, WasAt: was[best].at, Files: files[a.masked]}); len(out) == maxOdd {
			break
		}
	}
	return out
}

// alike is the share of words that two lines have in common, in their order from the front and from the end.
func alike(a, b string) float64 {
	x, y := strings.FieldsFunc(a, split), strings.FieldsFunc(b, split)
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	m := 0
	for m < min(len(x), len(y))-n && x[len(x)-1-m] == y[len(y)-1-m] {
		m++
	}
	return float64(n+m) / float64(max(len(x), len(y), 1))
}

func split(r rune) bool { return strings.ContainsRune(" =:,/[]()'\"", r) }

// firstSteps are where the steps of files begin.
func firstSteps(f *resolve.Facts) map[string]int64 {
	out := map[string]int64{}
	for _, c := range f.Courses {
		at := c.Points[0].At.Off
		if was, ok := out[c.File]; !ok || at < was {
			out[c.File] = at
		}
	}
	return out
}
