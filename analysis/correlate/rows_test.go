package correlate

import (
	"math"
	"strings"
	"testing"

	"faultline/analysis/aislog"
	"faultline/analysis/resolve"
	"faultline/knowledge"
)

// restarted is a target that was stopped so many seconds before the stall, for ten seconds.
func restarted(x *inquiry, d int, before float64) *trouble {
	from := float64(at(stall).Unix()) - before
	o := &outage{id: x.self(d), from: from, to: from + 10, run: &aislog.Run{}, next: &aislog.Run{}, orderly: true}
	return &trouble{mech: knowledge.AISDaemonRestart, about: x.self(d), from: from, to: o.to, down: o, own: true, back: math.Inf(1)}
}

// refused is a connection of rank 5 that was not taken; the address may be known to be a target's.
func refused(address string, after float64) Client {
	text := "RequestError: HTTPConnectionPool: Max retries exceeded with url: /v1/objects/lab/o/1 (Connection refused)"
	if address != "" {
		text += " dial tcp " + address + ": connect: connection refused"
	}
	return Client{Text: text, Marks: marksOf(text), Fault: "refused", ours: true, Rank: 5, T: resolve.Moment{Valid: true, T: float64(at(stall).Unix()) + after}}
}

// Restarts one after the other are one cause: none of them is ruled out by another.
func TestRestartsInARowAreOneCause(t *testing.T) {
	const a1, a2 = "10.0.0.1:51081", "10.0.0.2:51081"
	for _, c := range []struct {
		name      string
		lines     []Client
		before    []float64 // restarts of t-1, t-2, …
		judgement string
		causes    int
		blamed    int
	}{
		{"lines name two of them", []Client{refused(a1, 0), refused(a2, 5)}, []float64{40, 20}, Implicated, 2, 2},
		{"lines name none", []Client{refused("", 0)}, []float64{40, 20}, Implicated, 2, 0},
		{"lines name none, and an hour lies between", []Client{refused("", 0)}, []float64{3600, 20}, Implicated, 1, 1},
	} {
		x := examined(c.lines...)
		x.names = map[string]string{a1: "t-1", a2: "t-2"}
		var all []*trouble
		for d, before := range c.before {
			all = append(all, restarted(x, d, before))
		}
		x.inRows(all)
		a, _ := x.judged(all...)
		if causes := a.Causes(); a.Judgement != c.judgement || len(causes) != c.causes || len(a.Blamed()) != c.blamed {
			t.Errorf("%s: %s (%s), %d causes, %v blamed", c.name, a.Judgement, a.Why, len(causes), a.Blamed())
			for _, e := range a.Episodes {
				t.Logf("%s: %s, %s", e.ID, e.Standing, e.Why)
			}
		}
	}
}

func TestARowOfRestartsIsTold(t *testing.T) {
	x := examined()
	x.Facts.Job.End = x.Stall
	all := []*trouble{restarted(x, 0, 60), restarted(x, 1, 40), restarted(x, 2, 20), restarted(x, 0, -30)}
	x.inRows(all)
	const says = "t-1 was shut down cleanly and restarted 10 s later; t-2, t-3 also restarted, all within 50 s"
	if got := x.statement(all[0]); got != says {
		t.Errorf("%q, not %q", got, says)
	}
	if got := x.statement(all[3]); strings.Contains(got, "as well") {
		t.Errorf("one after the job: %q", got)
	}
	loop := []*trouble{restarted(x, 1, 90), restarted(x, 1, 60), restarted(x, 1, 30)}
	x.inRows(loop)
	if got := x.statement(loop[0]); !strings.HasSuffix(got, "; this happened 3 times, all within 70 s") {
		t.Errorf("%q", got)
	}
}

// A target that stops in order leaves the cluster first: others are asked for its objects, and do not have them.
func TestObjectsOfATargetThatIsAwayAreMissed(t *testing.T) {
	x := examined()
	lost, other := x.keptAt("t-1", 1)[0], x.keptAt("t-2", 1)[0]
	for _, c := range []struct {
		name      string
		line      Client
		judgement string
	}{
		{"while it is away", missed404(lost, 0), Implicated},
		{"long after it came back", missed404(lost, 300), Open},
		{"an object of another target", missed404(other, 0), Open},
	} {
		x := examined(c.line)
		if a, _ := x.judged(restarted(x, 0, 5)); a.Judgement != c.judgement {
			t.Errorf("%s: %s (%s)", c.name, a.Judgement, a.Why)
		}
	}
}

func TestATargetIsAwayFromWhenItSaysSo(t *testing.T) {
	x := examined()
	wall := func(s string) aislog.Time { return aislog.Time{Wall: at(s), Proof: aislog.Marker} }
	d := x.daemons[0]
	d.Runs = []aislog.Run{{Ended: aislog.Orderly, Last: wall("2026-11-22T11:12:43Z"), LastAt: aislog.At{File: "f"}}, {Started: true, Start: wall("2026-11-22T11:12:46Z")}}
	d.Groups = []aislog.Group{{Kind: aislog.Stopping, Events: []aislog.Event{{Time: wall("2026-11-22T09:30:00Z")}, {Time: wall("2026-11-22T11:12:36Z")}, {Time: wall("2026-11-22T11:12:43Z")}}}}
	if o := x.outages(); len(o) != 1 || o[0].from != float64(at("2026-11-22T11:12:36Z").Unix()) {
		t.Errorf("%+v", o)
	}
}
