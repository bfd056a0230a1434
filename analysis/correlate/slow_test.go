package correlate

import (
	"strings"
	"testing"
	"time"

	"faultline/analysis/aislog"
)

// slowAt adds a line of counters to a target's log, so many seconds before the stall, with these latencies in seconds.
func (x *inquiry) slowAt(d int, before float64, sec map[string]float64) {
	to := at(stall).Add(-time.Duration(before * float64(time.Second)))
	iv := aislog.Interval{From: aislog.Time{Wall: to.Add(-10 * time.Second), Proof: aislog.Marker}, To: aislog.Time{Wall: to, Proof: aislog.Marker}, Base: aislog.At{File: "f"}, At: aislog.At{File: "f"}}
	for name, s := range sec {
		iv.Slow = append(iv.Slow, aislog.Growth{Name: name, N: int64(s * 1e9)})
	}
	x.daemons[d].Intervals = append(x.daemons[d].Intervals, iv)
}

// Only what clients wait for tells that they waited: keep-alives and listings take long for reasons of their own.
func TestOnlyServedRequestsTellOfWaiting(t *testing.T) {
	for name, late := range map[string]bool{"get.redir.ns": true, "put.ns": true, "kalive.ns": false, "lst.ns": false} {
		x := examined()
		x.slowAt(0, 100, map[string]float64{name: 45})
		from := float64(at(stall).Unix()) - 160
		if got := x.waitedFor(0, from, from+60, 0) != nil; got != late {
			t.Errorf("%s: requests waited through the pause: %v", name, got)
		}
	}
	x := examined()
	x.slowAt(0, 100, map[string]float64{"get.ns": 3, "kalive.ns": 50})
	by := map[troubleKey][]point{}
	x.slowness(0, by)
	for k, points := range by {
		text := x.statement(&trouble{mech: k.mech, about: k.about, points: points})
		if !strings.Contains(text, "3 s on average (get.ns") {
			t.Errorf("%s", text)
		}
	}
	if len(by) != 1 {
		t.Errorf("%d kinds of trouble", len(by))
	}
}
