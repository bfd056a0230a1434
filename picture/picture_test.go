package picture

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
)

func scene(ranks ...int) *Scene {
	return &Scene{Root: incident.Root{Ranks: ranks}, Onset: &Moment{Step: 500, T: math.NaN()}, Time: func(float64) *string { return nil },
		Waiting: func(name string) bool { return name == "allreduce" }}
}

// paced are times of one rank that take was and, from step 500 on, is.
func paced(was, is float64) (out []point) {
	for step := int64(0); step < 1000; step += 10 {
		v := was
		if step >= 500 {
			v = is
		}
		out = append(out, point{Moment{step, math.NaN()}, v * (1 + 0.01*float64(step%70)/70)})
	}
	return out
}

func put(s Set, name string, order int, w Who, points []point) {
	for _, p := range points {
		s.Add(name, "s", order, w, p.Moment, p.v)
	}
}

func who(rank int) Who {
	return Who{Rank: rank, Node: fmt.Sprintf("n%d", rank/8), File: fmt.Sprintf("%d.log", rank)}
}

func TestOneSlowRankStaysARowOfItsOwn(t *testing.T) {
	for _, ranks := range []int{16, 256, 4096} {
		set := Set{}
		for r := range ranks {
			is := 4.0
			if r == 13 {
				is = 7
			}
			put(set, "step time", 0, who(r), paced(4, is))
		}
		h := Heat(set, scene())
		if h == nil {
			t.Fatalf("%d ranks: nothing is drawn", ranks)
		}
		b, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(h.Rows, func(r incident.HeatRow) bool { return r.Name == "rank 13" && r.Ranks == 1 })
		all := 0
		for _, r := range h.Rows {
			all += r.Ranks
		}
		if at < 0 || all != ranks || len(h.Rows) > mostRows || len(h.Rows[0].Cells) > mostColumns || len(b) > 32<<10 {
			t.Errorf("%d ranks: row %d, %d ranks in %d rows × %d columns, %d bytes", ranks, at, all, len(h.Rows), len(h.Rows[0].Cells), len(b))
		}
		if *h.Span.Since != 500 || *h.Span.Onset != mostColumns*500/990 {
			t.Errorf("onset in column %d, at %v", *h.Span.Onset, *h.Span.Since)
		}
	}
}

// Those who wait for a slow rank take longest where they wait. That picture would accuse them.
func TestWaitingIsNotDrawnWhereWorkTells(t *testing.T) {
	for _, root := range [][]int{{3}, nil} {
		set := Set{}
		for r := range 8 {
			compute, waits := 4.0, 4.0
			if r == 3 {
				compute, waits = 7, 1
			}
			put(set, "allreduce", 0, who(r), paced(1, waits))
			put(set, "forward", 1, who(r), paced(4, compute))
		}
		if h := Heat(set, scene(root...)); h.Quantity != "forward" || h.Rows[3].Root != (root != nil) {
			t.Errorf("%v: %s, root %v", root, h.Quantity, h.Rows[3].Root)
		}
	}
}

func TestTooLittleIsNotDrawn(t *testing.T) {
	for name, add := range map[string]func(Set){
		"one rank": func(s Set) { put(s, "x", 0, who(0), paced(1, 2)) },
		"three moments": func(s Set) {
			put(s, "x", 0, who(0), paced(1, 2)[:3])
			put(s, "x", 0, who(1), paced(1, 2)[:3])
		},
		"nobody's files": func(s Set) {
			put(s, "x", 0, Who{Rank: Unknown, File: "a"}, paced(1, 2))
			put(s, "x", 0, Who{Rank: Unknown, File: "b"}, paced(1, 2))
		},
		"no scale in common": func(s Set) {
			p := paced(1, 2)
			for i := range p {
				p[i].Step = Unknown
			}
			put(s, "x", 0, who(0), p)
			put(s, "x", 0, who(1), paced(1, 2))
		},
	} {
		set := Set{}
		add(set)
		if h := Heat(set, scene()); h != nil {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// steps are reports of one rank.
func steps(rank int, phases ...Phase) (out []Report) {
	for step := int64(0); step < 1000; step += 10 {
		r := Report{Who: who(rank), Moment: Moment{step, math.NaN()}, Step: 10}
		for _, p := range phases {
			if step >= 500 && p.Part == Communication {
				p.Seconds += 4
			}
			r.Phases = append(r.Phases, p)
		}
		out = append(out, r)
	}
	return out
}

func inShort(b incident.Bars) string {
	var out []string
	for _, p := range b.Parts {
		first, last := p.Seconds[0], p.Seconds[len(p.Seconds)-1]
		text := p.Name
		for _, v := range []*float64{first, last} {
			if v == nil {
				text += " –"
			} else {
				text += fmt.Sprintf(" %g", *v)
			}
		}
		out = append(out, text)
	}
	return b.Who + ": " + strings.Join(out, ", ")
}

func TestBarsAreMadeOfParts(t *testing.T) {
	fwd, bwd := Phase{Name: "fwd", Part: Compute, Seconds: 1}, Phase{Name: "bwd", Part: Compute, Seconds: 2}
	comm, opt := Phase{Name: "allreduce", Part: Communication, Seconds: 1}, Phase{Name: "step", Part: Optimizer, Seconds: 0.5}
	holding := Phase{Name: "forward-backward", Part: Compute, Seconds: 9.5, Holds: true}
	save := append(steps(0, fwd, bwd, opt), Report{Who: who(0), Moment: Moment{200, math.NaN()}, Phases: []Phase{{Name: "save-checkpoint", Part: Save, Seconds: 80}}})
	for name, c := range map[string]struct {
		reports []Report
		ranks   []int
		want    []string
	}{
		"one rank":            {steps(0, fwd, bwd, comm, opt), nil, []string{"rank 0: compute 3 3, exposed communication 1 5, optimizer 0.5 0.5, other 5.5 1.5"}},
		"passes that hold it": {steps(0, holding, comm), nil, []string{"rank 0: compute 8.5 4.5, exposed communication 1 5, other 0.5 0.5"}},
		"not timed apart":     {steps(0, fwd, bwd, opt), nil, []string{"rank 0: forward and backward 3 3, optimizer 0.5 0.5, other 6.5 6.5"}},
		"the named and the rest": {slices.Concat(steps(0, fwd, comm), steps(1, bwd, comm), steps(2, fwd, comm)), []int{1},
			[]string{"rank 1: compute 2 2, exposed communication 1 5, other 7 3", "the median of the 2 other ranks: compute 1 1, exposed communication 1 5, other 8 4"}},
		"one phase": {steps(0, comm), nil, nil},
	} {
		var got []string
		for _, b := range Bars(c.reports, scene(c.ranks...)) {
			got = append(got, inShort(b))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	saved := Bars(save, scene())[0].Parts
	at := slices.IndexFunc(saved, func(p incident.BarsPart) bool { return p.Name == "checkpoint" })
	column := 200 * mostBars / 990
	if per := 990.0 / mostBars; at < 0 || saved[at].Seconds[column] == nil || math.Abs(*saved[at].Seconds[column]-80/per) > 0.01 || saved[at].Seconds[column+1] != nil {
		t.Errorf("a save of 80 s is not divided among its %.0f steps: %+v", 990.0/mostBars, saved)
	}
}

// Neither the order of files nor that of their lines changes a picture.
func TestOrderChangesNoPicture(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	want := ""
	for round := range 30 {
		type own struct {
			Who
			points []point
		}
		var all []own
		var reports []Report
		for rank := range 100 {
			p := paced(1+float64(rank%3), 2+float64(rank%7))
			if rank == 42 {
				p = paced(3, 30)
			}
			all = append(all, own{who(rank), p}, own{Who{rank, "", "copy-" + who(rank).File}, p})
			reports = append(reports, steps(rank, Phase{Name: "fwd", Part: Compute, Seconds: 1.1 + float64(rank)/7}, Phase{Name: "bwd", Part: Compute, Seconds: 0.3}, Phase{Name: "a", Part: Communication, Seconds: 0.7})...)
		}
		if round > 0 {
			r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
			r.Shuffle(len(reports), func(i, k int) { reports[i], reports[k] = reports[k], reports[i] })
			for _, x := range all {
				r.Shuffle(len(x.points), func(i, k int) { x.points[i], x.points[k] = x.points[k], x.points[i] })
			}
		}
		set := Set{}
		for _, x := range all {
			put(set, "step time", 0, x.Who, x.points)
		}
		b, err := json.Marshal([]any{Heat(set, scene(42)), Bars(reports, scene(42))})
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(b)
		}
		if string(b) != want {
			t.Fatal("another order, another picture")
		}
	}
}
