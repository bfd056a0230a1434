package analysis

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/analysis/artifact/timeseries"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/verify"
	"faultline/analysis/worker"
	"faultline/pattern"
)

// What a job itself writes around the moment at which its steps slowed down tells since what: the numbers of its lines are a table over time, a
// line unlike all before it is an announcement, and lines that come far more often since are a sign.

const (
	onsetBytes = 2 << 20 // on either side
	maxKinds   = 4 << 10 // of lines
	newsLines  = 40      // between the last normal step and the first slow one: more is a story of its own
	maxNews    = 2
	moreOften  = 5 // times as often, and so often at least
	spread     = 2 // and over one of so many parts of what follows, at least
)

// saying is one kind of line around the onset: its text without numbers.
type saying struct {
	masked        string
	before, since int
	text          string
	at            worker.At // the first since
	last          int64     // where the last stands
}

// seen counts a line of the kind.
func (s *saying) seen(file string, l lines.Line) {
	if s.since++; s.since == 1 {
		s.text, s.at = strings.TrimSpace(l.Text), worker.At{Pos: worker.Pos{File: file, Line: l.Line, Off: l.Offset, Len: l.Len}}
	}
	s.last = l.Offset
}

// kinds are the kinds of lines in a log, in their order.
type kinds struct {
	by   map[string]*saying
	list []*saying
}

// of is the kind of a line; nil where it cannot be quoted, or there are too many.
func (k *kinds) of(l lines.Line) *saying {
	masked := maskedWords(l.Text)
	if masked == "" || !l.Quotable() {
		return nil
	}
	x := k.by[masked]
	if x == nil && len(k.list) < maxKinds {
		if k.by == nil {
			k.by = map[string]*saying{}
		}
		x = &saying{masked: masked}
		k.by[masked], k.list = x, append(k.list, x)
	}
	return x
}

// onsetLook collects what lines say on both sides of a slowdown.
type onsetLook struct {
	d     *resolve.Slowdown
	end   int64 // of the steps
	table *timeseries.Log
	kinds
	between []*saying // the lines between the last normal step and the first slow one
}

// onset reads the log of the slowdown again around the moment at which it began.
func (in *Input) onset(ctx context.Context, facts *resolve.Facts, files verify.Files) error {
	d, ok := mechanism.SlowedAt(facts)
	if !ok || in.Skim > 0 {
		return nil
	}
	ps := d.Course.Points
	from := ps[slices.IndexFunc(ps, func(p resolve.Point) bool { return p.At.Off >= d.Onset.At.Off-onsetBytes })].At.Pos
	f, err := in.Opener.Open(files[d.Course.File])
	if err != nil {
		return fmt.Errorf("%s: %w", d.Course.File, plain(err))
	}
	defer f.Close()
	if _, err := io.CopyN(io.Discard, f, from.Off); err != nil {
		return fmt.Errorf("reading %s: %w", d.Course.File, err)
	}
	look := onsetLook{d: &d, end: min(ps[len(ps)-1].At.Off, d.Onset.At.Off+onsetBytes), table: timeseries.NewLog()}
	err = lines.Each(ctx, io.LimitReader(f, d.Onset.At.Off+onsetBytes-from.Off), func(l lines.Line) error {
		l.Line, l.Offset = l.Line+from.Line-1, l.Offset+from.Off
		look.line(l)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading %s: %w", d.Course.File, err)
	}
	facts.Onset = look.sum()
	if !slices.ContainsFunc(facts.Handed.Series, func(x resolve.SeriesFile) bool { return x.File == d.Course.File }) {
		facts.Onset.Table = look.table.Table()
	}
	return nil
}

// aside is what Python's warnings print, with the line of code below: a library says it whenever it comes to that line first.
var aside = pattern.New(`\.py:\d+: \w*Warning: |^\s`)

// maskedWords is a line without its numbers and its columns.
func maskedWords(text string) string {
	return strings.Join(strings.Fields(masks.ReplaceAllString(text, "#")), " ")
}

func (o *onsetLook) line(l lines.Line) {
	o.table.Line(l)
	k := o.of(l)
	if k == nil {
		return
	}
	if l.Offset <= o.d.Last.At.Off {
		k.before++
		return
	}
	if l.Offset > o.end {
		return // what is printed behind the last step is of the job's end
	}
	k.seen(o.d.Course.File, l)
	if k.since == 1 && k.before == 0 && l.Offset < o.d.Onset.At.Off && !aside.MatchString(l.Text) {
		o.between = append(o.between, k)
	}
}

// sum is what stands out of it.
func (o *onsetLook) sum() *resolve.Onset {
	out := &resolve.Onset{File: o.d.Course.File}
	if len(o.between) <= newsLines && !o.d.Gradual {
		for _, k := range o.between {
			if len(out.News) < maxNews && !o.known(k) {
				out.News = append(out.News, resolve.News{Text: k.text, At: k.at})
			}
		}
	}
	out.Oftener = o.oftener()
	return out
}

// oftener is the kind of line that comes most often of those that come far more often since; nil where there is none.
func (o *onsetLook) oftener() (out *resolve.Oftener) {
	steps := [2]float64{}
	for i := range o.d.Course.Points {
		p := &o.d.Course.Points[i]
		switch off := p.At.Off - o.d.Onset.At.Off; {
		case off >= 0 && off <= onsetBytes:
			steps[1] += float64(max(p.Lines, 1))
		case off < 0 && off >= -onsetBytes:
			steps[0] += float64(max(p.Lines, 1))
		}
	}
	share := steps[1] / math.Max(steps[0], 1)
	for _, k := range o.list {
		if k.since < moreOften || spread*(k.last-k.at.Off) < o.end-o.d.Onset.At.Off || float64(k.since) < moreOften*float64(k.before+1)*math.Max(share, 1) {
			continue
		}
		if out == nil || k.since > out.Since {
			out = &resolve.Oftener{News: resolve.News{Text: k.text, At: k.at}, Before: k.before, Since: k.since}
		}
	}
	return out
}

// known says that a line like it was there before, but for single words.
func (o *onsetLook) known(k *saying) bool {
	before := o.list[:slices.Index(o.list, k)]
	return slices.ContainsFunc(before, func(b *saying) bool { return alike(k.masked, b.masked) > leastAlike })
}
