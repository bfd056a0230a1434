package diagnose

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/incident"
	"faultline/simulate"
)

var clockOfDay = regexp.MustCompile(`E\d+ (\d\d:\d\d:\d\d)`)

// Two lines show each shift of a programs' clock: they are of one moment, and as far apart as is said.
func TestAReportSaysWhichClocksAreShifted(t *testing.T) {
	spec := simulate.Spec{Mechanism: "rank-stalled", Seed: 5, Torch: "2.8", Layout: simulate.Layout{Kind: "ddp", DP: 128}, NodeCount: 16, PerNode: 8, FileMode: "node", ZoneMix: true}
	inc, err := simulate.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	r := Run(read(t, inc.Files, nil, 0))
	i := slices.IndexFunc(r.Clocks, func(c incident.ClockShift) bool { return c.Of == incident.ClockPrograms })
	if i < 0 || len(r.Clocks[i].Evidence) != 2 {
		t.Fatalf("clocks: %+v", r.Clocks)
	}
	c := r.Clocks[i]
	var at []time.Time
	for _, e := range c.Evidence {
		f := inc.Files[slices.IndexFunc(inc.Files, func(f simulate.File) bool { return f.Name == e.File })]
		text, _, _ := bytes.Cut(f.Data[e.Offset:], []byte("\n"))
		m := clockOfDay.FindSubmatch(text)
		if m == nil {
			t.Fatalf("no time in %s", text)
		}
		when, err := time.Parse(time.TimeOnly, string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, when)
	}
	if apart := at[1].Sub(at[0]).Seconds(); math.Abs(apart-c.Shift) > 2*c.Uncertainty+2 {
		t.Errorf("lines %.0f s apart prove a shift of %.0f s", apart, c.Shift)
	}
	own := 0
	for _, e := range r.Timeline {
		if shifted := slices.Contains(c.On, e.Node); shifted != (e.Clock != nil) {
			t.Errorf("%s on %s: its own clock is %v", e.Event, e.Node, e.Clock)
		} else if shifted {
			own++
		}
	}
	if own == 0 {
		t.Error("no event is on a node whose clock is shifted")
	}
	if len(r.Recommendations) == 0 || !strings.Contains(r.Recommendations[0].Text, "clock") {
		t.Errorf("what is to be looked up on a node says no time of its own: %+v", r.Recommendations)
	}

	spec.ZoneMix = false
	if inc, err = simulate.Generate(spec); err != nil {
		t.Fatal(err)
	}
	for _, c := range Run(read(t, inc.Files, nil, 0)).Clocks {
		if c.Of == incident.ClockPrograms {
			t.Errorf("clocks of one zone: %+v", c)
		}
	}
}

// A node that printed nothing which others print at the same moment is in their zone where its log begins when theirs do, and else in any.
func TestALogThatBeginsWithTheOthersIsInTheirZone(t *testing.T) {
	inc, err := simulate.Generate(simulate.Spec{Mechanism: "host-oom", Seed: 21, Torch: "recent", Layout: simulate.Layout{Kind: "fsdp", TP: 1, CP: 1, EP: 1, DP: 64, PP: 1}, NodeCount: 8, PerNode: 8, FileMode: "node", Prefixes: []string{"ansi"}, Noise: 1, ZoneMix: true})
	if err != nil {
		t.Fatal(err)
	}
	unsure := func() (most float64) {
		r := Run(read(t, inc.Files, nil, 0))
		if len(r.Verdict.Root.Nodes) != 1 {
			t.Fatalf("root: %+v", r.Verdict.Root)
		}
		for _, e := range r.Timeline {
			if e.Node == r.Verdict.Root.Nodes[0] && e.Uncertainty != nil {
				most = max(most, *e.Uncertainty)
			}
		}
		return most
	}
	if got := unsure(); got == 0 || got > 60 {
		t.Errorf("begun together: ±%v s", got)
	}
	hour := regexp.MustCompile(`\b(\d\d):(\d\d:\d\d)\b`)
	for i, f := range inc.Files {
		if f.Name == "error-6348858-7.out" { // of the root's node
			inc.Files[i].Data = hour.ReplaceAll(f.Data, []byte("03:$2"))
		}
	}
	if got := unsure(); got < 3600 {
		t.Errorf("hours apart: ±%v s", got)
	}
}

// A clock that is off by quarters of an hour is in another zone; any other is wrong, and no zone is blamed.
func TestWhichShiftsAreZones(t *testing.T) {
	for _, c := range []struct {
		shift, unc float64
		zone       bool
	}{{28800, 1, true}, {-20700, 2, true}, {8 * 3600, 0, true}, {-3599, 2, true}, {-935, 1, false}, {3781, 2, false}, {40, 2, false}, {1, 2, false}} {
		if zone := zoneWords(c.shift, c.unc) != ""; zone != c.zone {
			t.Errorf("%v s within %v s: a zone: %v", c.shift, c.unc, zone)
		}
	}
}
