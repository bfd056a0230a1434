package correlate

import (
	"strings"
	"testing"

	"faultline/analysis/aislog"
	"faultline/analysis/resolve"
	"faultline/knowledge"
)

const couldNotSend = "x-get-batch[gbt-O5Iv]-ais://lab t[t-2] bcast abort [ Warning: failed to transmit GET response ]"

// givenUp is a line of rank 5 about a batch that it waited for in vain: it names neither the request nor the target.
func givenUp(after float64) Client {
	return Client{Text: clientCut, Marks: marksOf(clientCut), ours: true, Rank: 5, T: resolve.Moment{Valid: true, Unc: 0.5, T: float64(at(stall).Unix()) + after}}
}

// pressed is a target that delayed batches until so many seconds before the stall.
func pressed(id string, before float64) *trouble {
	to := float64(at(stall).Unix()) - before
	return &trouble{mech: knowledge.AISResourcePressure, about: id, from: to - 60, to: to,
		points: []point{{t: to - 60, n: 9, event: &aislog.Event{Kind: aislog.BatchRejected}}, {t: to, n: 1, event: &aislog.Event{Kind: aislog.BatchRejected}}}}
}

// The target that was still sending when the client had gone served the batch. Its load is the cause where it went on until then.
func TestWhoStillSentTheBatchServedIt(t *testing.T) {
	for _, c := range []struct {
		name      string
		heard     []float64 // seconds after the client gave up, by the second target
		third     bool      // the third target tells the same
		late      float64   // the second target's load ended so many seconds before
		judgement string
		why       string
	}{
		{"its load goes on", []float64{4}, false, 0, Implicated, "t-2"},
		{"nobody tells who served it", nil, false, 0, Open, "nothing shows"},
		{"it hears of it much later", []float64{60}, false, 0, Open, "nothing shows"},
		{"it was cut off before", []float64{-5}, false, 0, Open, "nothing shows"},
		{"two targets tell it", []float64{4}, true, 0, Open, "nothing shows"},
		{"its load was over", []float64{4}, false, 90, Open, "t-2 was still sending the batch that rank 5 gave up; can't tell"},
	} {
		x := examined(givenUp(0))
		for _, after := range c.heard {
			x.told(1, aislog.BatchAborted, "", couldNotSend, -after)
		}
		if c.third {
			x.told(2, aislog.BatchAborted, "", strings.ReplaceAll(couldNotSend, "t-2", "t-3"), -4)
		}
		a, episodes := x.judged(pressed("t-2", c.late), pressed("t-1", 0))
		if a.Judgement != c.judgement || !strings.Contains(a.Why, c.why) {
			t.Errorf("%s: %s (%s)", c.name, a.Judgement, a.Why)
		}
		if episodes[1].Standing == Cause {
			t.Errorf("%s: the first target is accused: %s", c.name, episodes[1].Why)
		}
	}
}

// A client that was told that it may not was answered: the load of whom it asked is no reason, although the address is that one's.
func TestADeniedRequestIsNoTieToLoad(t *testing.T) {
	for status, cause := range map[string]bool{"403, MESSAGE:bucket ais://lab(0x1): GET access denied (allowed: [HEAD-OBJECT])": false, "429, MESSAGE:ErrTooManyRequests": true, "400, MESSAGE:invalid range": false, "408, MESSAGE:timeout": true} {
		line := givenUp(1)
		line.Text = "AISError: STATUS:" + status + ", REQ_URL:http://10.0.0.2:51081/v1/ml/moss/lab?provider=ais"
		line.Marks = marksOf(line.Text)
		x := examined(line)
		x.daemons[1].Addresses = []string{"10.0.0.2:51081"}
		x.listen()
		_, episodes := x.judged(pressed("t-2", 0))
		if got := episodes[0].Standing == Cause; got != cause {
			t.Errorf("%s: %s (%s)", status, episodes[0].Standing, episodes[0].Why)
		}
	}
}

// A proxy that tells of a batch that a target rejected is not under load itself; where the target's log is missing, somebody is.
func TestAProxyRetellsWhatATargetRejected(t *testing.T) {
	const text = `x-get-batch[gbt]-ais://lab: wid="ais-pro-6SfcR" rejected due to resource pressure (load=critical): POST (called by p[p-0])`
	for _, known := range []bool{true, false} {
		x := examined()
		x.daemons[0].ID, x.daemons[0].Role = "p-0", aislog.Proxy
		x.told(0, aislog.BatchRejected, "", text, 5)
		if known {
			x.told(1, aislog.BatchRejected, "", text, 5)
		}
		about := map[string]bool{}
		for _, tr := range x.troubles() {
			about[tr.about] = true
		}
		if about["p-0"] == known || about["t-2"] != known {
			t.Errorf("the target's log is here: %v, in trouble: %v", known, about)
		}
	}
}
