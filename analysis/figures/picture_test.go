package figures

import (
	"fmt"
	"testing"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// pictured is a picture of step lines, with the step times given, and the facts and texts behind it.
func pictured(seconds []float64, text func(i int) string) (*incident.Course, *resolve.Facts, map[worker.Pos]string) {
	c := &incident.Course{File: "a.log"}
	x := &resolve.Course{File: "a.log", Points: make([]resolve.Point, len(seconds))}
	said := map[worker.Pos]string{}
	for i, s := range seconds {
		at := &worker.At{Pos: worker.Pos{File: "a.log", Line: int64(i + 1), Off: int64(100 * i)}}
		x.Points[i] = resolve.Point{At: at}
		said[at.Pos] = text(i)
		p := incident.CoursePoint{Line: at.Line}
		if s > 0 {
			p.StepSeconds = &s
		}
		c.Points = append(c.Points, p)
	}
	return c, &resolve.Facts{Courses: []*resolve.Course{x}}, said
}

func TestAPictureHoldsWhatACurveTells(t *testing.T) {
	steady := []float64{2, 2, 2, 2, 2, 2, 2, 2}
	slowing := []float64{2, 2, 2, 2, 4, 4, 4, 4}
	none := make([]float64, 8)
	for _, c := range []struct {
		name               string
		seconds            []float64
		text               func(i int) string
		throughput, memory string
	}{
		{"throughput falls and no step time is known", none, func(i int) string { return fmt.Sprintf("step: %d  tps: %d", i, 9000-500*i) }, "tokens/s", ""},
		{"throughput is the step time once more", slowing, func(i int) string { return fmt.Sprintf("step: %d  tps: %.0f", i, 18000/slowing[i]) }, "", ""},
		{"steps take the same time and do less", steady, func(i int) string { return fmt.Sprintf("step: %d  tps: %d", i, 9000-500*i) }, "tokens/s", ""},
		{"a straight line of both", steady, func(i int) string { return fmt.Sprintf("step: %d  memory: 33.07GiB(41.78%%)  tps: 9,000", i) }, "", ""},
		{"memory grows", steady, func(i int) string { return fmt.Sprintf("step: %d  memory: %d.00GiB(%d.78%%)", i, 33+i, 41+i) }, "", "%"},
		{"memory is full all the time", steady, func(i int) string { return fmt.Sprintf("step: %d  memory: 76.07GiB(96.10%%)", i) }, "", "%"},
		{"the lines print neither", steady, func(i int) string { return fmt.Sprintf("step: %d", i) }, "", ""},
	} {
		picture, facts, said := pictured(c.seconds, c.text)
		Fill(picture, facts, said)
		if picture.Throughput != c.throughput || picture.Memory != c.memory {
			t.Errorf("%s: throughput %q, memory %q; want %q, %q", c.name, picture.Throughput, picture.Memory, c.throughput, c.memory)
		}
		for i, p := range picture.Points {
			if (p.Throughput != nil) != (c.throughput != "") || (p.Memory != nil) != (c.memory != "") {
				t.Errorf("%s: point %d has throughput %v, memory %v", c.name, i, p.Throughput, p.Memory)
			}
		}
	}
}
