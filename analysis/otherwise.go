package analysis

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge/severity"
	"faultline/pattern"
)

// What two runs print before their first step tells what was set otherwise. Numbers are masked: most are times, ids and addresses. Those of a line
// that each run prints once are settings, where they are written as settings are.

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

// paired are the lines that two runs print before their first step, by their text without numbers.
type paired struct {
	was    []opening
	files  map[string][]string // of this run that hold such a line
	before map[string][]int    // lines of the earlier run
	here   map[string]int
	out    []resolve.Otherwise
}

// otherwise pairs lines of this run with lines of the earlier one that say the same otherwise. A warning that only this run prints needs none.
func otherwise(is, was []opening) []resolve.Otherwise {
	p := paired{was: was, files: map[string][]string{}, before: map[string][]int{}, here: map[string]int{}}
	for i := range was {
		p.before[was[i].masked] = append(p.before[was[i].masked], i)
	}
	for i := range is {
		l := &is[i]
		p.here[l.masked]++
		if !slices.Contains(p.files[l.masked], l.file) {
			p.files[l.masked] = append(p.files[l.masked], l.file)
		}
	}
	told := map[string]bool{}
	for i := range is {
		a := &is[i]
		if told[a.masked] || len(p.out) == maxOdd {
			continue
		}
		told[a.masked] = true
		if list := p.before[a.masked]; len(list) > 0 {
			if b := &was[list[0]]; len(list) == 1 && p.here[a.masked] == 1 && set(a.text) != set(b.text) {
				p.add(a, b, true)
			}
			continue
		}
		if b := p.like(a); b != nil {
			p.add(a, b, false)
		} else if severity.Of([]byte(a.text)).Level >= severity.Warning {
			p.out = append(p.out, resolve.Otherwise{Is: a.text, IsAt: a.at, Files: p.files[a.masked]})
		}
	}
	return p.out
}

func (p *paired) add(a, b *opening, numbers bool) {
	p.out = append(p.out, resolve.Otherwise{Is: a.text, Was: b.text, IsAt: a.at, WasAt: b.at, Files: p.files[a.masked], Numbers: numbers})
}

// like is the line of the earlier run that says most nearly the same; nil where none does.
func (p *paired) like(a *opening) *opening {
	best, most := -1, leastAlike
	for k := range p.was {
		if b := &p.was[k]; !slices.Contains(p.files[b.masked], a.file) {
			if x := alike(a.masked, b.masked); x > most {
				best, most = k, x
			}
		}
	}
	if best < 0 {
		return nil
	}
	return &p.was[best]
}

var (
	// settings are numbers as people set them: behind an equals sign, or whole and in front of a word. Times, sizes and durations are measured.
	settings = pattern.New(`([A-Za-z_][\w.-]*)=(-?\d[\d.]*(?:[eE][-+]?\d+)?)\b|[\s(](\d{1,6})\)? ([a-z][a-z_-]{3,})`)
	clocks   = pattern.New(`\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d:\d\d(?:[.,]\d+)?`)
	measures = pattern.New(`(?i)(?:^|_)(?:pid|port|seed|id|uid|time|date|elapsed|took|secs?|seconds?|minutes?|bytes|free|used|jobid|version)(?:_|s?$)`)
)

// set are the settings of a line with their names.
func set(text string) string {
	var out []string
	for _, m := range settings.FindAllStringSubmatch(clocks.ReplaceAllString(text, ""), -1) {
		if name := m[1] + m[4]; !measures.MatchString(name) {
			out = append(out, name+"="+m[2]+m[3])
		}
	}
	return strings.Join(out, " ")
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
