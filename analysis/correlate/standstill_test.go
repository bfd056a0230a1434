package correlate

import (
	"strings"
	"testing"
	"time"

	"faultline/analysis/aislog"
	"faultline/knowledge"
)

// silence is a minute in which t-1 wrote nothing of interest, a minute before the stall, and others asked it in vain.
func (x *inquiry) silence(lines int64) []*trouble {
	from := at(stall).Add(-2 * time.Minute)
	wall := func(t time.Time) aislog.Time { return aislog.Time{Wall: t, Proof: aislog.Marker} }
	x.daemons[0].Pauses = []aislog.Pause{{Span: aislog.Span{From: wall(from), To: wall(from.Add(time.Minute))}, Before: aislog.At{File: "f", Off: 1}, After: aislog.At{File: "f", Off: 2}, Lines: lines}}
	asked := float64(from.Unix()) + 20
	seen := &trouble{mech: knowledge.AISNetwork, about: "t-1", from: asked, to: asked, points: []point{{t: asked, n: 1, d: 1, event: &aislog.Event{Kind: aislog.KeepAliveFailed, Peer: "t-1"}}}}
	return x.stoodStill([]*trouble{seen})
}

// counting makes t-1 write counters every ten seconds.
func (x *inquiry) counting() {
	for i := range 10 {
		x.slowAt(0, 300-float64(10*i), nil)
		last := &x.daemons[0].Intervals[i]
		last.By = []aislog.Growth{{Name: "get.n", N: 5}}
	}
}

// That a daemon wrote nothing is said only where its whole log is at hand and there is no line in between.
func TestWhatASilentDaemonIsSaidToHaveDone(t *testing.T) {
	for _, c := range []struct {
		name     string
		lines    int64
		counting bool
		only     bool // its warnings are all there is
		says     string
	}{
		{"no line", 0, true, false, "it wrote nothing for 60 s"},
		{"no line, and it writes no counters", 0, false, false, "it wrote nothing for 60 s"},
		{"lines that say nothing here", 3, true, false, "it wrote no counters for 60 s"},
		{"lines that say nothing here, and it writes no counters", 3, false, false, ""},
		{"only its warnings are here", 0, false, true, ""},
	} {
		x := examined()
		if c.counting {
			x.counting()
		}
		if c.only {
			x.daemons[0].Holes = []aislog.Hole{{Why: aislog.WarningsOnly}}
		}
		said := ""
		for _, s := range x.silence(c.lines) {
			if s.still != nil {
				said = x.statement(s)
			}
		}
		if (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: %q, not %q", c.name, said, c.says)
		}
	}
}
