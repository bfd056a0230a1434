package figures

import (
	"math"

	"faultline/analysis/resolve"
	"faultline/analysis/robust"
	"faultline/analysis/worker"
	"faultline/incident"
)

// moves is the share of its largest value by which a curve must move to tell more than a straight line.
const moves = 0.05

// LittleLeft is the share of a GPU's memory in use, in per cent, from which on little is left: the method's limit for a warning.
const LittleLeft = 85.0

// Pictured are the lines of a picture's points, whose text Fill needs.
func Pictured(f *resolve.Facts, c *incident.Course) []worker.At {
	if c == nil {
		return nil
	}
	wanted := make(map[int64]bool, len(c.Points))
	for i := range c.Points {
		wanted[c.Points[i].Line] = true
	}
	var out []worker.At
	for _, x := range f.Courses {
		if x.File != c.File {
			continue
		}
		for i := range x.Points {
			if at := x.Points[i].At; wanted[at.Line] {
				out = append(out, *at)
				delete(wanted, at.Line)
			}
		}
	}
	return out
}

// Fill adds the throughput and the memory that the lines of a picture print, where the curve tells something: a throughput that is the step time
// once more does not, nor does memory that stays the same and leaves room. said is the text of the lines that are Pictured.
func Fill(c *incident.Course, f *resolve.Facts, said map[worker.Pos]string) {
	at := Pictured(f, c)
	lines := make([]Text, len(at))
	for i := range at {
		lines[i] = Text{&at[i], said[at[i].Pos]}
	}
	if r, unit := Throughput(lines); moving(r) {
		c.Throughput = unit
		fill(c, r, func(p *incident.CoursePoint, v *float64) { p.Throughput = v })
		if mirrored(c.Points) {
			c.Throughput = ""
			fill(c, r, func(p *incident.CoursePoint, _ *float64) { p.Throughput = nil })
		}
	}
	r, unit := Memory(lines)
	if _, high := ends(r); moving(r) || unit == "%" && high >= LittleLeft {
		c.Memory = unit
		fill(c, r, func(p *incident.CoursePoint, v *float64) { p.Memory = v })
	}
}

func fill(c *incident.Course, r []Reading, set func(*incident.CoursePoint, *float64)) {
	by := make(map[int64]float64, len(r))
	for _, x := range r {
		by[x.At.Line] = x.Value
	}
	for i := range c.Points {
		if v, ok := by[c.Points[i].Line]; ok {
			v = round(v)
			set(&c.Points[i], &v)
		}
	}
}

func ends(r []Reading) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, x := range r {
		low, high = min(low, x.Value), max(high, x.Value)
	}
	return low, high
}

func moving(r []Reading) bool {
	low, high := ends(r)
	return len(r) >= least && high-low >= moves*high
}

// mirrored says that the throughput tells what the step times tell: their product stays the same.
func mirrored(points []incident.CoursePoint) bool {
	var work []float64
	for i := range points {
		if p := &points[i]; p.Throughput != nil && p.StepSeconds != nil {
			work = append(work, *p.Throughput**p.StepSeconds)
		}
	}
	if len(work) < least {
		return false
	}
	usual := robust.Median(work)
	return robust.Deviation(work, usual) < moves*usual
}
