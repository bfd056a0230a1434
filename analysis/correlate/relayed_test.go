package correlate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/aislog"
	"faultline/knowledge"
)

// answered is a failed request, so many seconds after the stall, with what the cluster answered.
func answered(status int, message string, after float64) Client {
	return lineOf(fmt.Sprintf("AISError: STATUS:%d, MESSAGE:%s, REQ_URL:http://h:1/v1/objects/lab/a?provider=s3", status, message), after-9*3600)
}

// An answer that AIStore passes on tells of the store behind it, whatever else goes on in the cluster; nobody in it is blamed.
func TestTheStoreBehindTheClusterAnswers(t *testing.T) {
	const (
		refused = "remote-cluster[Xk3pQ9sTz/@far]: dial tcp 10.0.7.4:51080: connect: connection refused"
		aborted = "x-get-batch[gbt]-s3://lab t[t-2] bcast abort [ Warning: failed to transmit GET response ]"
		short   = "Batch stream truncated at index 0/16. Falling back to direct AIStore API calls for remaining objects."
	)
	for _, c := range []struct {
		name      string
		lines     []Client
		judgement string
		why       string
	}{
		{"another cluster", []Client{answered(400, refused, 0)}, Implicated, "could not be reached (1 answer)"},
		{"a cloud bucket", []Client{answered(500, "aws-error[InternalError: try again]", 0), answered(500, "gcp-error[lookup: i/o timeout]", 3)}, Implicated, "could not be reached (2 answers)"},
		{"an object is not there", []Client{answered(404, "remote-cluster[Xk3pQ9sTz/@far]: t[t-2]@Xk3pQ9sTz: ais://lab/a does not exist", 0)}, Implicated, "does not have objects"},
		{"after a short batch", []Client{lineOf(short, -2-9*3600), answered(400, refused, 0)}, Implicated, "could not be reached"},
		{"the cluster's own answer comes last", []Client{answered(400, refused, -9), answered(500, "internal error", 0)}, Open, ""},
		{"only its own", []Client{answered(500, "internal error", 0)}, Open, ""},
	} {
		x := examined(c.lines...)
		x.told(1, aislog.BatchAborted, "", aborted, 1)
		x.all = x.troubles()
		if b := x.behind(); b != nil {
			x.all = append(x.all, b)
		}
		a, _ := x.judged(x.roots()...)
		if a.Judgement != c.judgement || !strings.Contains(a.Why, c.why) || len(a.Blamed()) > 0 {
			t.Errorf("%s: %s (%s), %v blamed", c.name, a.Judgement, a.Why, a.Blamed())
		}
		behind := slices.ContainsFunc(a.Causes(), func(e *Episode) bool { return e.Mechanism == knowledge.AISBackend && e.Side == remoteSide })
		if behind != (c.judgement == Implicated) {
			t.Errorf("%s: the store behind it is a cause: %v", c.name, behind)
		}
	}
}

// Copies that were dropped are read again: that they were is no reason why a rank stands still, and they are no deleted objects, though
// targets count them as such.
func TestDroppedCopiesTakeNothingAway(t *testing.T) {
	object := examined().keptAt("t-2", 1)[0]
	for name, line := range map[string]Client{"a rank that waits": lineOf(clientCut, -9*3600), "something is missing": missed404(object, 0)} {
		for _, action := range []string{"evict-listrange", "evict-remote-bck"} {
			x := examined(line)
			a, episodes := x.judged(x.act(action, "", "x-"+action+"[e1]-ais://lab started, ", 20))
			if len(a.Causes()) > 0 || !strings.Contains(episodes[0].Statement, "ais://lab") {
				t.Errorf("%s, %s: %s", name, action, a.Why)
			}
		}
	}
	// A batch that misses its copies comes short: who put it together is not to blame.
	short := examined(lineOf(clientCut, -9*3600), lineOf(readTimeout, -9*3600))
	short.told(1, aislog.BatchAborted, "", "x-get-batch[gbt]-ais://lab t[t-2] bcast abort [ Warning: failed to transmit GET response ]", 1)
	short.all = append(short.troubles(), short.act("evict-listrange", "", "x-evict-listrange[e1]-ais://lab started, ", 2))
	if a, _ := short.judged(short.roots()...); a.Judgement == Implicated {
		t.Errorf("a batch that comes short: %s", a.Why)
	}
	x := examined(missed404(object, 0))
	for d := range x.daemons {
		x.counted(5, 7, d)
		list := x.daemons[d].Intervals
		list[len(list)-1].By = append(list[len(list)-1].By, aislog.Growth{Name: "lru.evict.n", N: 7})
	}
	if all := x.troubles(); len(all) > 0 {
		t.Errorf("%d troubles: %s", len(all), x.statement(all[0]))
	}
}
