package resolve

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/quick"
	"time"

	"faultline/analysis/line"
	"faultline/analysis/robust"
	"faultline/analysis/worker"
)

func md(month, day, hour, minute int8) line.Stamp {
	return line.Stamp{Kind: line.MonthDay, Emitter: line.Container, Month: month, Day: day, Hour: hour, Minute: minute}
}

func dt(year int16, month, day, hour int8) line.Stamp {
	return line.Stamp{Kind: line.DateTime, Emitter: line.Container, Year: year, Month: month, Day: day, Hour: hour}
}

func TestTheYearIsProvenByStampsThatStateIt(t *testing.T) {
	for _, c := range []struct {
		name    string
		stamps  []line.Stamp
		year    int
		newYear bool
	}{
		{"nobody states one", []line.Stamp{md(7, 9, 1, 0)}, 0, false},
		{"the same day", []line.Stamp{md(7, 9, 1, 0), dt(2025, 7, 9, 3)}, 2025, false},
		{"a day off, in another zone", []line.Stamp{md(7, 9, 1, 0), dt(2025, 7, 8, 18)}, 2025, false},
		{"another month: a date in a message, not the job's", []line.Stamp{md(7, 9, 1, 0), dt(2019, 1, 1, 0)}, 0, false},
		{"the commonest of several", []line.Stamp{md(7, 9, 1, 0), dt(2024, 7, 9, 3), dt(2025, 7, 9, 3), dt(2025, 7, 10, 3)}, 2025, false},
		{"a stamp of New Year proves the year of the day before", []line.Stamp{md(12, 31, 23, 0), dt(2026, 1, 1, 2)}, 2025, false},
		{"New Year, from December", []line.Stamp{md(12, 31, 23, 0), md(1, 1, 0, 5), dt(2025, 12, 31, 20)}, 2025, true},
		{"New Year, from January", []line.Stamp{md(12, 31, 23, 0), md(1, 1, 0, 5), dt(2026, 1, 1, 0)}, 2025, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := dates{}
			all.add(c.stamps...)
			year, newYear := inferYear(all)
			if year != c.year || newYear != c.newYear {
				t.Errorf("%d, New Year %v; expected %d, %v", year, newYear, c.year, c.newYear)
			}
		})
	}
}

// Of two machines in two zones, a third that shares no instant with them may be in either.
func TestAClockWithoutAnAnchorIsInAnyZoneWhereZonesDiffer(t *testing.T) {
	at := func(off float64) Moment {
		c := &clock{year: 2025, offsets: calibrate([]anchor{{"dump", "a", 1000, nil}, {"dump", "b", 1000, nil}, {"dump", "c", 1000 + off, nil}})}
		c.zones = mixed(c.offsets)
		return c.at("d", md(7, 9, 1, 0))
	}
	if m := at(2); m.Unc > 10 {
		t.Errorf("one zone: ±%v s", m.Unc)
	}
	if m := at(8 * hour); m.Unc < 14*hour {
		t.Errorf("two zones: ±%v s", m.Unc)
	}
}

func TestJanuaryComesAfterDecember(t *testing.T) {
	for _, year := range []int{0, 2025} {
		c := &clock{year: year, newYear: true}
		old, fresh := c.at("", md(12, 31, 23, 59)), c.at("", md(1, 1, 0, 1))
		if got := fresh.T - old.T; got != 120 {
			t.Errorf("year %d: %v s from one to the other, expected 120", year, got)
		}
	}
}

func TestZonesAreWholeQuarterHoursAndSkewIsUncertainty(t *testing.T) {
	for _, c := range []struct {
		name       string
		off        float64 // what node b reads more than the others
		shift, unc float64
	}{
		{"the same clock", 0, 0, 0.5},
		{"three seconds of skew", 3, 0, 3.5},
		{"UTC+1", 3600, -3600, 0.5},
		{"UTC+5:45 with two seconds of skew", 20702, -20700, 2.5},
		{"UTC-8", -28800, 28800, 0.5},
		{"no zone and no skew: an unknown clock", 400, 0, 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := calibrate([]anchor{{"dump", "a", 1000, nil}, {"dump", "c", 1000, nil}, {"dump", "b", 1000 + c.off, nil}})
			o := got[clockKey{"b", line.Container}]
			if o.shift != c.shift || math.Abs(o.unc-c.unc) > 1e-9 {
				t.Errorf("shift %v ± %v, expected %v ± %v", o.shift, o.unc, c.shift, c.unc)
			}
			if o := got[clockKey{"a", line.Container}]; o.shift != 0 {
				t.Errorf("the majority's zone is the reference, and it is shifted by %v", o.shift)
			}
		})
	}
}

// The reference is the median of the largest cluster of clocks, of equal ones the earlier.
func TestTheReferenceIsTheClockOfMost(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 3))
		med := map[string]float64{}
		var nodes []string
		for i := range 1 + r.IntN(9) {
			nodes = append(nodes, string(rune('a'+i)))
			med[nodes[i]] = float64(r.IntN(15) * 60)
		}
		want, most := 0.0, 0
		for _, a := range nodes {
			var near []float64
			for _, b := range nodes {
				if math.Abs(med[a]-med[b]) < 300 {
					near = append(near, med[b])
				}
			}
			if m := robust.Median(near); len(near) > most || len(near) == most && m < want {
				want, most = m, len(near)
			}
		}
		if got := commonest(nodes, med); got != want {
			t.Fatalf("seed %d: %v of %v, want %v", seed, got, med, want)
		}
	}
}

func TestClocksWithoutACommonInstantStayAsTheyAre(t *testing.T) {
	got := calibrate([]anchor{{"one", "a", 0, nil}, {"one", "b", 3600, nil}, {"two", "c", 0, nil}, {"two", "d", 900, nil}, {"three", "e", 7, nil}})
	for _, n := range []string{"c", "d", "e"} {
		if _, known := got[clockKey{n, line.Container}]; known {
			t.Errorf("%s shares no instant with the others, and is calibrated", n)
		}
	}
	c := &clock{offsets: got}
	if a, e := c.at("a", dt(2025, 1, 1, 0)), c.at("e", dt(2025, 1, 1, 0)); a.Unc >= e.Unc {
		t.Errorf("a clock that nobody compared is as certain (±%v) as one that was (±%v)", e.Unc, a.Unc)
	}
}

// Whatever the clocks read, calibrated instants of one event agree within their uncertainties.
func TestCalibratedClocksAgree(t *testing.T) {
	agree := func(zones [5]int8, skew [5]int8) bool {
		var as []anchor
		for i := range zones {
			as = append(as, anchor{"dump", string(rune('a' + i)), 1e6 + 900*float64(zones[i]%52) + float64(skew[i])/50, nil})
		}
		o := calibrate(as)
		var m []Moment
		for _, a := range as {
			k := o[clockKey{a.node, line.Container}]
			m = append(m, Moment{a.t + k.shift, k.unc, true})
		}
		for i := range m {
			for j := range m {
				if m[i].Before(m[j]) {
					return false
				}
			}
		}
		return true
	}
	if err := quick.Check(agree, nil); err != nil {
		t.Error(err)
	}
}

func TestOrderIsClaimedOnlyWhereTheUncertaintiesAllowIt(t *testing.T) {
	a, b := Moment{T: 10, Unc: 1, Valid: true}, Moment{T: 12, Unc: 1, Valid: true}
	if a.Before(b) {
		t.Error("10±1 is not proven to be before 12±1")
	}
	if b.T = 12.5; !a.Before(b) || b.Before(a) {
		t.Error("10±1 is before 12.5±1")
	}
	if a.Before(Moment{T: 99}) || (Moment{}).Before(a) {
		t.Error("a moment that nobody states has no order")
	}
}

func TestMomentsAreShownAsFarAsTheyAreProven(t *testing.T) {
	m := (&clock{year: 2025}).at("", md(7, 9, 17, 5))
	for proven, want := range map[bool]string{true: "2025-07-09T17:05:00", false: "07-09T17:05:00"} {
		if got := (&Facts{YearProven: proven}).Format(m); got == nil || *got != want {
			t.Errorf("%v, expected %s", got, want)
		}
	}
	if got := (&Facts{}).Format(Moment{}); got != nil {
		t.Errorf("%s for a moment that nobody states", *got)
	}
}

// mark is a run's beginning; the helpers put observations at offsets of a file.
func mark(file string, off int64, kind worker.MarkKind, count int) worker.RunMark {
	return worker.RunMark{At: worker.At{Pos: worker.Pos{File: file, Off: off}}, Kind: kind, Count: count}
}

func timeout(file string, off int64) worker.Timeout {
	return worker.Timeout{At: worker.At{Pos: worker.Pos{File: file, Off: off}}}
}

func exitOK(file string, off int64) worker.Fact {
	return worker.Fact{At: worker.At{Pos: worker.Pos{File: file, Off: off}}, Key: "exit_ok", Value: "Training completed"}
}

func takenBack(file string, off int64) worker.End {
	return worker.End{At: worker.At{Pos: worker.Pos{File: file, Off: off}}, Kind: "cancelled", Reason: "PREEMPTION"}
}

// walk is a writer's training steps, from an offset on; a value of 100 or more is the offset of those behind it.
func walk(file string, off int64, values ...int64) []worker.Progress {
	var out []worker.Progress
	for _, v := range values {
		if v >= 100 {
			off = v
			continue
		}
		out = append(out, worker.Progress{At: worker.At{Pos: worker.Pos{File: file, Off: off}}, Form: "generic", Step: v, Phase: "training"})
		off++
	}
	return out
}

func TestRuns(t *testing.T) {
	for _, c := range []struct {
		name      string
		obs       worker.Observations
		run, runs int
		kept      []int64 // offsets of the time-outs that are left
	}{
		{"one run", worker.Observations{Timeouts: []worker.Timeout{timeout("a", 5)}}, 0, 1, []int64{5}},
		{"a banner may repeat in one run", worker.Observations{RunMarks: []worker.RunMark{mark("a", 3, "banner", -1)},
			Timeouts: []worker.Timeout{timeout("a", 1), timeout("a", 5)}}, 0, 1, []int64{1, 5}},
		{"requeued, the second run fails", worker.Observations{RunMarks: []worker.RunMark{mark("a", 100, "requeue", 1)},
			Timeouts: []worker.Timeout{timeout("a", 50), timeout("a", 150)}}, 1, 2, []int64{150}},
		{"restarted by torchrun, three attempts", worker.Observations{RunMarks: []worker.RunMark{mark("a", 100, "restart", 1), mark("a", 200, "restart", 2)},
			Timeouts: []worker.Timeout{timeout("a", 50), timeout("a", 150), timeout("a", 250)}}, 2, 3, []int64{250}},
		{"only the first run fails, the second goes on", worker.Observations{RunMarks: []worker.RunMark{mark("a", 100, "restart", 1)},
			Timeouts: []worker.Timeout{timeout("a", 50)}}, 0, 2, []int64{50}},
		{"counts match runs over files, whatever their order in each", worker.Observations{
			RunMarks: []worker.RunMark{mark("a", 100, "requeue", 1), mark("a", 200, "requeue", 2), mark("b", 10, "requeue", 2)},
			Timeouts: []worker.Timeout{timeout("a", 150), timeout("a", 250), timeout("b", 20)}}, 2, 3, []int64{250, 20}},
		{"the first run fails, the second finishes", worker.Observations{RunMarks: []worker.RunMark{mark("a", 100, "restart", 1)},
			Timeouts: []worker.Timeout{timeout("a", 50)}, Facts: []worker.Fact{exitOK("a", 200)}}, 1, 2, nil},
		{"the first run finishes its training and fails, the second goes on", worker.Observations{RunMarks: []worker.RunMark{mark("a", 100, "restart", 1)},
			Timeouts: []worker.Timeout{timeout("a", 50)}, Facts: []worker.Fact{exitOK("a", 40)}}, 0, 2, []int64{50}},
		{"the second run finishes, and a file that does not tell runs apart holds a failure", worker.Observations{RunMarks: []worker.RunMark{mark("a", 100, "restart", 1)},
			Timeouts: []worker.Timeout{timeout("a", 50), timeout("b", 50)}, Facts: []worker.Fact{exitOK("a", 200)}}, 0, 2, []int64{50, 50}},
		{"the second run finishes and fails behind that", worker.Observations{RunMarks: []worker.RunMark{mark("a", 100, "restart", 1)},
			Timeouts: []worker.Timeout{timeout("a", 250)}, Facts: []worker.Fact{exitOK("a", 200)}}, 1, 2, []int64{250}},
		{"taken back, then the steps begin anew", worker.Observations{Ends: []worker.End{takenBack("a", 90)},
			Progress: walk("a", 10, 7, 8, 9, 100, 5, 6, 7, 8), Timeouts: []worker.Timeout{timeout("a", 50), timeout("a", 150)}}, 1, 2, []int64{150}},
		{"taken back, then a checkpoint is loaded and training goes on", worker.Observations{Ends: []worker.End{takenBack("a", 90)},
			Checkpoints: []worker.Checkpoint{{At: worker.At{Pos: worker.Pos{File: "a", Off: 95}}, Kind: "load-done"}},
			Progress:    walk("a", 10, 7, 8, 9, 100, 10, 11, 12, 13), Timeouts: []worker.Timeout{timeout("a", 50), timeout("a", 150)}}, 1, 2, []int64{150}},
		{"taken back, and steps go on while it may", worker.Observations{Ends: []worker.End{takenBack("a", 90)},
			Progress: walk("a", 10, 7, 8, 9, 100, 10, 11, 12, 13), Timeouts: []worker.Timeout{timeout("a", 50)}}, 0, 1, []int64{50}},
		{"taken back, and a buffer holds two old steps", worker.Observations{Ends: []worker.End{takenBack("a", 90)},
			Progress: walk("a", 10, 7, 8, 9, 100, 7, 8), Timeouts: []worker.Timeout{timeout("a", 50)}}, 0, 1, []int64{50}},
		{"what the scheduler takes back did not go wrong", worker.Observations{RunMarks: []worker.RunMark{mark("a", 100, "requeue", 1)},
			Ends: []worker.End{{At: worker.At{Pos: worker.Pos{File: "a", Off: 90}}, Kind: "cancelled", Reason: "PREEMPTION"}}}, 1, 2, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept, run, runs, _ := selectRun(&c.obs, 0, 0)
			if run != c.run || runs != c.runs {
				t.Errorf("run %d of %d, expected %d of %d", run, runs, c.run, c.runs)
			}
			var offs []int64
			for _, x := range kept.Timeouts {
				offs = append(offs, x.Off)
			}
			if len(offs) != len(c.kept) {
				t.Fatalf("kept %v, expected %v", offs, c.kept)
			}
			for i := range offs {
				if offs[i] != c.kept[i] {
					t.Errorf("kept %v, expected %v", offs, c.kept)
				}
			}
		})
	}
}

func TestAClockIsTiedByAnAnchorOnly(t *testing.T) {
	f := &sight{clock: &clock{offsets: calibrate([]anchor{{"dump", "a", 1000, nil}, {"dump", "b", 1002, nil}})}}
	if !f.Tied("a") || !f.Tied("b") || f.Tied("c") {
		t.Errorf("%v", f.clock.offsets)
	}
}

func TestCollectorsOfOneJobShareAClock(t *testing.T) {
	compared := func(ahead ...time.Duration) (tails []worker.Tail) {
		for _, a := range ahead {
			tails = append(tails, worker.Tail{Compared: true, Ahead: a})
		}
		return append(tails, worker.Tail{})
	}
	for _, c := range []struct {
		name  string
		tails []worker.Tail
		ahead float64
	}{
		{"nobody states both clocks", compared(), 0},
		{"they agree", compared(-8*time.Hour, -8*time.Hour), -8 * hour},
		{"they do not", compared(-8*time.Hour, 0), 0},
	} {
		clk := &clock{collector: collectorAhead(c.tails)}
		if clk.collector != c.ahead {
			t.Errorf("%s: %v s ahead, expected %v", c.name, clk.collector, c.ahead)
		}
		stamp := line.Stamp{Kind: line.DateTime, Emitter: line.Collector, Year: 2026, Month: 6, Day: 3, Hour: 2}
		own := stamp
		own.Emitter = line.Container
		if got := clk.at("", own).T - clk.at("", stamp).T; got != c.ahead {
			t.Errorf("%s: the collector's stamp is %v s from the program's, expected %v", c.name, got, c.ahead)
		}
	}
}
