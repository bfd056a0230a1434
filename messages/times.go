package messages

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/incident"
)

// timesView is how long ranks and the parts of a step took, as pictures.
type timesView struct {
	Heat *heatView
	Bars []barsView
	Open bool // they show a change, or somebody who stands out
}

// heatView is a heat map that is laid out: a level of its scale for each cell.
type heatView struct {
	Caption    string
	Rows       []heatRow
	W          int // columns
	Begin, End string
	Mark       *int // the column before which the slowdown begins
	Low, High  string
	Scale      []string // the classes of its levels, the fastest first
	Note       string
}

type heatRow struct {
	Name, Text string // Text is the row in words
	Root       bool
	Levels     []int // −1: nothing was printed
}

// HeatPath is all cells of one level in a row, as an SVG path in columns × 1.
type HeatPath struct{ Class, D string }

// heatLevels of one scale are told apart in print and without colours.
const (
	heatLevels = 9
	heatRange  = 0.10 // of its highest value that a scale spans, at least: noise is not to look like a landscape
	heatOdd    = 0.15 // above the median of all, a row stands out
)

// Paths are the cells of a row, by level.
func (r heatRow) Paths() (out []HeatPath) {
	for level := range heatLevels {
		var b strings.Builder
		for i := 0; i < len(r.Levels); i++ {
			from := i
			for i < len(r.Levels) && r.Levels[i] == level {
				i++
			}
			if i > from {
				fmt.Fprintf(&b, "M%d 0h%dv1h-%dz", from, i-from, i-from)
			}
		}
		if b.Len() > 0 {
			out = append(out, HeatPath{heatClass(level), b.String()})
		}
	}
	return out
}

func heatClass(level int) string { return fmt.Sprintf("h%d", level) }

func times(r *incident.Report) (v timesView) {
	if r.Heat != nil {
		h := heat{Heat: r.Heat}
		h.weigh()
		v.Heat = h.view()
		v.Open = len(h.odd) > 0 || r.Heat.Span.Onset != nil
	}
	for i := range r.Bars {
		v.Bars = append(v.Bars, barsOf(&r.Bars[i]))
		v.Open = v.Open || r.Bars[i].Span.Onset != nil
	}
	return v
}

// heat is a heat map with what its rows come to.
type heat struct {
	*incident.Heat
	was, is []float64 // by row: before the onset and since, or in both halves
	middle  float64   // of is
	odd     []int     // rows that stand out: those that the verdict names, else the one that does most
	ranks   int
	columns int
}

func (h *heat) weigh() {
	var levels []float64
	for i := range h.Rows {
		r := &h.Rows[i]
		h.columns = max(h.columns, len(r.Cells))
		h.ranks += r.Ranks
		was, is := split(r.Cells, h.Span.Onset)
		h.was, h.is = append(h.was, was), append(h.is, is)
		levels = append(levels, slices.Repeat([]float64{is}, min(max(r.Ranks, 1), 1<<12))...)
	}
	h.middle = middleOf(levels)
	best := -1
	for i := range h.Rows {
		if !h.standsOut(i) {
			continue
		}
		if h.Rows[i].Root {
			h.odd = append(h.odd, i)
		}
		if best < 0 || h.excess(i) > h.excess(best) {
			best = i
		}
	}
	if len(h.odd) == 0 && best >= 0 {
		h.odd = []int{best}
	}
}

func (h *heat) excess(i int) float64 {
	if h.Less {
		return h.middle/h.is[i] - 1
	}
	return h.is[i]/h.middle - 1
}

func (h *heat) standsOut(i int) bool { return h.middle > 0 && h.is[i] > 0 && h.excess(i) >= heatOdd }

// split is the middle of what comes before a column, and of the rest; of both halves where there is none.
func split(cells []*float64, onset *int) (was, is float64) {
	at := len(cells) / 2
	if onset != nil {
		at = min(max(*onset, 0), len(cells))
	}
	was, is = middleOf(known(cells[:at])), middleOf(known(cells[at:]))
	switch {
	case math.IsNaN(was):
		was = is
	case math.IsNaN(is):
		is = was
	}
	return was, is
}

func known(cells []*float64) (out []float64) {
	for _, c := range cells {
		if c != nil && !math.IsNaN(*c) && !math.IsInf(*c, 0) {
			out = append(out, *c)
		}
	}
	return out
}

// middleOf is the median, the lower of two; no number of none.
func middleOf(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	return s[(len(s)-1)/2]
}

func (h *heat) view() *heatView {
	v := &heatView{Caption: capital(h.caption()), W: h.columns, Mark: h.Span.Onset, Begin: begins(&h.Span), End: onAxis(&h.Span, h.Span.To), Note: from(&h.Span)}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range h.Rows { // single steps that stand out do not stretch the scale: rows do
		for _, x := range []float64{h.was[i], h.is[i]} {
			if !math.IsNaN(x) {
				lo, hi = min(lo, x), max(hi, x)
			}
		}
	}
	if least := heatRange * math.Abs(hi); hi-lo < least {
		lo, hi = (lo+hi-least)/2, (lo+hi+least)/2
	}
	v.Low, v.High = h.word(lo), h.word(hi)
	for level := range heatLevels {
		v.Scale = append(v.Scale, heatClass(level))
	}
	if h.Less {
		v.Low, v.High = v.High, v.Low
	}
	for i := range h.Rows {
		r := &h.Rows[i]
		row := heatRow{Name: rowName(r), Root: r.Root, Levels: make([]int, len(r.Cells))}
		row.Text = row.Name + ": " + h.word(h.is[i])
		if h.Span.Onset != nil {
			row.Text = fmt.Sprintf("%s: %s before, %s since", row.Name, h.word(h.was[i]), h.word(h.is[i]))
		}
		for k, c := range r.Cells {
			if row.Levels[k] = -1; c == nil || math.IsNaN(*c) {
				continue
			}
			s := min(max(share(*c, lo, hi), 0), 1)
			if h.Less {
				s = 1 - s
			}
			row.Levels[k] = min(int(s*heatLevels), heatLevels-1)
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// word is a number of the map with its unit.
func (h *heat) word(x float64) string {
	if h.Unit == "s" {
		return stepTime(threeDigits(x))
	}
	if h.Unit == "" { // a score
		return fourDigits(threeDigits(x))
	}
	return inUnits(flat(h.Unit))(threeDigits(x))
}

// threeDigits are enough for a picture.
func threeDigits(x float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	p := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*p) / p
}

func rowName(r *incident.HeatRow) string {
	name, node := flat(r.Name), flat(r.Node)
	switch {
	case node != "" && node != name:
		name += " (" + node + ")"
	case r.Ranks > 1 && node == name:
		name += " (" + count(r.Ranks, "rank") + ")"
	}
	return name
}

// caption says what is seen.
func (h *heat) caption() string {
	what, when := flat(h.Quantity), ""
	if h.Span.Onset != nil && h.Span.Since != nil {
		when = " from " + onAxis(&h.Span, *h.Span.Since) + " on"
	}
	all := "the median of the " + count(h.ranks, "rank") + " shown is " + h.word(h.middle)
	switch n := len(h.odd); {
	case n == 1:
		return fmt.Sprintf("%s: %s %s%s; %s", rowName(&h.Rows[h.odd[0]]), what, h.word(h.is[h.odd[0]]), when, all)
	case n > 1:
		most := slices.MaxFunc(h.odd, func(a, b int) int { return int(math.Copysign(1, h.excess(a)-h.excess(b))) })
		names := flat(h.Rows[h.odd[0]].Name) + " to " + flat(h.Rows[h.odd[n-1]].Name)
		if h.odd[n-1]-h.odd[0] != n-1 {
			names = flat(h.Rows[h.odd[0]].Name) + " and " + fmt.Sprint(n-1) + " more"
		}
		return fmt.Sprintf("%s: %s up to %s%s; %s", names, what, h.word(h.is[most]), when, all)
	case when != "":
		return fmt.Sprintf("No rank stands out: median %s %s → %s%s", what, h.word(middleOf(h.was)), h.word(h.middle), when)
	}
	return fmt.Sprintf("No rank stands out: median %s %s", what, h.word(h.middle))
}

// onAxis names a place between the left and the right end.
func onAxis(s *incident.Span, x float64) string {
	if s.Axis == incident.AxisStep {
		return "step " + grouped(int64(x))
	}
	if math.Abs(x) >= 1e15 {
		return "a later time"
	}
	return grouped(int64(x)) + " s"
}

func begins(s *incident.Span) string {
	if s.Axis == incident.AxisSeconds && s.Start != nil {
		return flat(*s.Start)
	}
	return onAxis(s, s.From)
}

// from says where numbers are from.
func from(s *incident.Span) string {
	if s.Files > 1 {
		return fmt.Sprintf("%s and %d more files", flat(s.File), s.Files-1)
	}
	return flat(s.File)
}

// barsView is a picture of stacked bars that is laid out.
type barsView struct {
	Title       string // what grew
	Caption     string // all parts
	Columns     []barColumn
	Parts       []barPart
	Begin, End  string
	Mark        *int
	High        string // the top of its axis; the lower end is 0
	Note, Limit string
}

// barColumn is one bar: its parts from the lowest up, in thousandths of the axis, and what they are in words.
type barColumn struct {
	Pieces []barPiece
	Text   string
}

type barPiece struct{ Part, From, To int }

// Y is where a piece begins, from the top.
func (p barPiece) Y() int { return barScale - p.To }

// Height is how high a piece is.
func (p barPiece) Height() int { return p.To - p.From }

// barPart is an entry of the legend.
type barPart struct {
	Class, Words string
	Index        int
}

// barOrder gives each part of a step the same look in every picture. Forward and backward passes that are not told from communication look as compute.
var barOrder = []string{"compute", "exposed communication", "data", "checkpoint", "optimizer", "other"}

const (
	barScale    = 1000
	worthSaying = 0.02 // of the axis: less is no growth to speak of
)

func barsOf(b *incident.Bars) barsView {
	v := barsView{Mark: b.Span.Onset, Begin: begins(&b.Span), End: onAxis(&b.Span, b.Span.To), Note: from(&b.Span)}
	columns := 0
	for i := range b.Parts {
		columns = max(columns, len(b.Parts[i].Seconds))
	}
	sums := make([]float64, columns)
	at := func(p *incident.BarsPart, i int) float64 {
		if i < len(p.Seconds) && p.Seconds[i] != nil && *p.Seconds[i] > 0 {
			return *p.Seconds[i]
		}
		return 0
	}
	for i := range sums {
		for k := range b.Parts {
			sums[i] += at(&b.Parts[k], i)
		}
	}
	high := barsHigh(sums)
	v.High = stepTime(threeDigits(high))
	var words, grew []string
	hidden := false
	for k := range b.Parts {
		p := &b.Parts[k]
		index := slices.Index(barOrder, p.Name)
		hidden = hidden || index < 0
		was, is := split(p.Seconds, b.Span.Onset)
		text := flat(p.Name) + " " + stepTime(threeDigits(is))
		if b.Span.Onset != nil {
			text = flat(p.Name) + " " + stepTime(threeDigits(was)) + " → " + stepTime(threeDigits(is))
			if is-was >= heatOdd*was && is-was >= worthSaying*high {
				grew = append(grew, flat(p.Name)+" +"+stepTime(threeDigits(is-was)))
			}
		}
		words = append(words, text)
		index = max(index, 0)
		v.Parts = append(v.Parts, barPart{fmt.Sprintf("p%d", index), text, index})
	}
	who := capital(flat(b.Who))
	v.Caption, v.Title = who+": "+strings.Join(words, ", "), who+": parts of a step"
	if b.Span.Onset != nil && b.Span.Since != nil {
		when := " from " + onAxis(&b.Span, *b.Span.Since) + " on"
		v.Caption += when
		v.Title = who + ": no part of a step takes longer" + when
		if len(grew) > 0 {
			v.Title = who + ": " + strings.Join(grew, ", ") + " per step" + when
		}
	}
	if hidden {
		v.Limit = "Communication is not timed separately here: forward and backward may include it"
	}
	for i := range sums {
		var c barColumn
		var said []string
		top := 0.0
		for k := range b.Parts {
			x := at(&b.Parts[k], i)
			if x == 0 {
				continue
			}
			low := top
			top += x
			c.Pieces = append(c.Pieces, barPiece{v.Parts[k].Index, int(barScale * min(low/high, 1)), int(barScale * min(top/high, 1))})
			said = append(said, flat(b.Parts[k].Name)+" "+stepTime(threeDigits(x)))
		}
		c.Text = strings.Join(said, ", ")
		v.Columns = append(v.Columns, c)
	}
	return v
}

// barsHigh is the upper end of the axis: the highest bar, unless it is one that dwarfs all others, as a first step does.
func barsHigh(sums []float64) float64 {
	s := slices.Sorted(slices.Values(sums))
	if len(s) == 0 {
		return 1
	}
	high, usual := s[len(s)-1], s[(len(s)-1)*9/10]
	if usual > 0 && high > 2*usual {
		high = 1.25 * usual
	}
	if !(high > 0) {
		return 1
	}
	return high
}
