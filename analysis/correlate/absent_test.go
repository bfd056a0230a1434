package correlate

import (
	"testing"
	"time"

	"faultline/analysis/aislog"
	"faultline/knowledge"
)

// told adds a record of a daemon, so many seconds before the stall.
func (x *inquiry) told(d int, kind aislog.Kind, peer, text string, before float64) {
	wall := aislog.Time{Wall: at(stall).Add(-time.Duration(before * float64(time.Second))), Proof: aislog.Marker}
	e := aislog.Event{Kind: kind, Peer: peer, Text: text, Time: wall, Severity: 'I'}
	x.daemons[d].Groups = append(x.daemons[d].Groups, aislog.Group{Kind: kind, Peer: peer, Events: []aislog.Event{e}})
}

// withoutLog is a cluster of which the first target hands out no log. Another one is asked in its place, and aborts a batch.
func withoutLog(line func(lost string) Client) *inquiry {
	lost := examined().keptAt("t-1", 1)[0]
	x := examined(line(lost))
	x.daemons = x.daemons[1:]
	x.told(0, aislog.Left, "t-1", "p[p-0] mcast-unreg: actm[self-initiated-removal], [t[t-1]]", 20)
	x.told(1, aislog.BatchAborted, "", "x-get-batch[gbt]-ais://lab t[t-3] bcast abort [ ais://lab/"+lost+" does not exist ]", 5)
	return x
}

// A target that is down hands out no log. Who reports what is missing is not who took it away.
func TestATargetWithoutALogIsNotCoveredByWhoReports(t *testing.T) {
	x := withoutLog(func(lost string) Client { return missed404(lost, 0) })
	a, _ := x.judged(x.troubles()...)
	if got := a.Blamed(); a.Judgement != Implicated || len(got) != 1 || got[0] != "t-1" || a.Causes()[0].Mechanism != knowledge.AISDaemonRestart {
		t.Errorf("%s (%s), %v blamed", a.Judgement, a.Why, got)
	}
	if a.Why != "t-1 left the cluster and did not come back; its own log is missing" {
		t.Errorf("%q", a.Why)
	}
	// Without the record, too, the one that reports is not blamed.
	x = withoutLog(func(lost string) Client { return missed404(lost, 0) })
	x.daemons[0].Groups[0].Events[0].Kind, x.daemons[0].Groups[0].Kind = aislog.Joined, aislog.Joined
	if a, _ := x.judged(x.troubles()...); a.Judgement != Open || len(a.Blamed()) > 0 {
		t.Errorf("%s (%s), %v blamed", a.Judgement, a.Why, a.Blamed())
	}
}

// A daemon's own log, and its going on, say more than what others took out of their map.
func TestWhatOthersTellOfATargetWithALog(t *testing.T) {
	x := examined()
	x.daemons[0].Runs = []aislog.Run{{Start: x.daemons[0].Covered.From, Last: x.daemons[0].Covered.To}}
	x.told(1, aislog.Removed, "t-1", "slow-kalive failure after 3 attempts - removing t[t-1] from Smap v6", 20)
	if out := x.absences(nil); len(out) != 0 {
		t.Errorf("its log goes on: %+v", out[0])
	}
	x = examined()
	x.daemons = x.daemons[1:]
	x.told(0, aislog.Removed, "t-1", "slow-kalive failure after 3 attempts - removing t[t-1] from Smap v6", 20)
	x.told(0, aislog.Joined, "t-1", "joined t[t-1] -> Smap v7", -30)
	out := x.absences(nil)
	if len(out) != 1 || out[0].to-out[0].from != 50 || out[0].orderly {
		t.Fatalf("%+v", out)
	}
	if got := "t-1" + ended(out[0]) + again(out[0]); got != "t-1 stopped responding, was removed from the cluster and rejoined 50 s later" {
		t.Errorf("%q", got)
	}
	if again := x.absences(out); len(again) != 0 {
		t.Errorf("its own log tells of it: %+v", again[0])
	}
}
