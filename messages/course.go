package messages

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"faultline/incident"
)

// courseView is the course of a run for people: what each curve does from its first point to its last, and the places
// that the report speaks of.
type courseView struct {
	File   string
	Begin  string // the first step that is drawn, "" unknown
	End    string
	Curves []curve
	Marks  []linkView
	W, H   int // of each picture
}

// curve is one number over the lines.
type curve struct {
	Name, From, To string
	Low, High      string // the ends of its axis
	Spark          string
	Points         string // of an SVG polyline, in a box of courseWidth × courseHeight
	Marks          []int  // x of the places
	Gaps           []int  // x of points that are no number
}

// The box of one curve in the HTML, and the columns of one in a terminal.
const (
	courseWidth, courseHeight = 720, 96
	sparkColumns              = 48
	// flatness is the share of the largest value that a curve's height stands for, at least.
	flatness = 0.05
)

func course(c *incident.Course) courseView {
	if c == nil || len(c.Points) < 2 {
		return courseView{}
	}
	v := courseView{File: flat(c.File), W: courseWidth, H: courseHeight, Begin: stepName(c.Points[0].Step), End: stepName(c.Points[len(c.Points)-1].Step)}
	loss := drawn("loss", c, func(p *incident.CoursePoint) *float64 { return p.Loss }, fourDigits)
	took := drawn("step time", c, func(p *incident.CoursePoint) *float64 { return p.StepSeconds }, stepTime)
	work := drawn("throughput", c, func(p *incident.CoursePoint) *float64 { return p.Throughput }, inUnits(c.Throughput))
	memory := drawn("memory", c, func(p *incident.CoursePoint) *float64 { return p.Memory }, inUnits(c.Memory))
	for _, k := range []curve{loss, took, work, memory} {
		if k.Spark != "" {
			v.Curves = append(v.Curves, k)
		}
	}
	for _, m := range c.Marks {
		v.Marks = append(v.Marks, linkView{Statement: sentence(m.Text), Proofs: proofs(m.Evidence)})
	}
	return v
}

func stepName(step *int64) string {
	if step == nil {
		return ""
	}
	return "step " + grouped(*step)
}

// drawn is the curve of one number, without a picture where fewer than two points have it. Both axes are linear, the
// value's from the smallest to the largest.
func drawn(name string, c *incident.Course, of func(*incident.CoursePoint) *float64, word func(float64) string) curve {
	k := curve{Name: name}
	lo, hi := math.Inf(1), math.Inf(-1)
	var first, last *float64
	known := 0
	for i := range c.Points {
		v := of(&c.Points[i])
		if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
			continue
		}
		known++
		lo, hi = min(lo, *v), max(hi, *v)
		if first == nil {
			first = v
		}
		last = v
	}
	if known < 2 {
		return k
	}
	k.From, k.To = word(*first), word(*last)
	if least := flatness * math.Abs(hi); hi-lo < least { // noise is not to look like a landscape
		lo, hi = (lo+hi-least)/2, (lo+hi+least)/2
	}
	k.Low, k.High = word(lo), word(hi)
	n := len(c.Points)
	var points strings.Builder
	cells := make([][]float64, min(n, sparkColumns))
	torn := make([]bool, len(cells))
	for i := range c.Points {
		p := &c.Points[i]
		x := i * courseWidth / max(n-1, 1)
		for _, m := range c.Marks {
			if m.Line == p.Line {
				k.Marks = append(k.Marks, x)
			}
		}
		at := i * len(cells) / n
		v := of(p)
		if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
			if p.Broken {
				torn[at] = true
				k.Gaps = append(k.Gaps, x)
			}
			continue
		}
		cells[at] = append(cells[at], *v)
		fmt.Fprintf(&points, "%d,%d ", x, courseHeight-4-int(share(*v, lo, hi)*(courseHeight-8)))
	}
	k.Points = strings.TrimSpace(points.String())
	k.Spark = spark(cells, torn, lo, hi)
	if p := &c.Points[n-1]; p.Broken && of(p) == nil && name == "loss" {
		k.To = "no number"
	}
	return k
}

func share(v, lo, hi float64) float64 {
	if hi <= lo {
		return 0.5
	}
	return (v - lo) / (hi - lo)
}

// spark draws one cell a column: the mean of its values, × where there is none because they are no numbers.
func spark(cells [][]float64, torn []bool, lo, hi float64) string {
	const bars = "▁▂▃▄▅▆▇█"
	steps := []rune(bars)
	var b strings.Builder
	for i, vs := range cells {
		switch {
		case len(vs) > 0:
			sum := 0.0
			for _, v := range vs {
				sum += v
			}
			s := share(sum/float64(len(vs)), lo, hi)
			b.WriteRune(steps[min(int(s*float64(len(steps))), len(steps)-1)])
		case torn[i]:
			b.WriteRune('×')
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func fourDigits(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func inUnits(unit string) func(float64) string {
	if !strings.HasPrefix(unit, "%") {
		unit = " " + unit
	}
	return func(v float64) string {
		if v < 1000 || v >= 1e15 { // what a log prints may be beyond any counter
			return fourDigits(v) + unit
		}
		return grouped(int64(math.Round(v))) + unit
	}
}

func stepTime(v float64) string {
	if v < 1 {
		return fourDigits(v*1000) + " ms"
	}
	return fourDigits(v) + " s"
}

// course shows it in a terminal.
func (t *term) course(v courseView) {
	if len(v.Curves) == 0 {
		return
	}
	t.heading("Course")
	wide := 0
	for _, k := range v.Curves {
		wide = max(wide, textWidth(k.From))
	}
	for _, k := range v.Curves {
		t.line("  " + t.paint(dim, pad(k.Name, 11)) + pad(k.From, wide+2) + k.Spark + "  " + k.To)
	}
	for _, m := range v.Marks {
		t.wrapped("  → ", "", m.Statement)
		t.proofs(m.Proofs)
	}
}

// course shows it in Markdown.
func (m *md) course(v courseView) {
	if len(v.Curves) == 0 {
		return
	}
	m.heading("Course")
	var b strings.Builder
	for _, k := range v.Curves {
		fmt.Fprintf(&b, "%s %s %s %s\n", pad(k.Name, 10), pad(k.From, 10), k.Spark, k.To)
	}
	m.fence("", strings.TrimSuffix(b.String(), "\n"))
	for _, x := range v.Marks {
		m.f("- %s\n", esc(x.Statement))
		m.proofs("  ", x.Proofs)
	}
}
