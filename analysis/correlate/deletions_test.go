package correlate

import (
	"fmt"
	"testing"

	"faultline/analysis/aislog"
	"faultline/knowledge"
)

// counted adds a line of counters to each of these targets, so many seconds before the stall, by which it deleted n objects.
func (x *inquiry) counted(before float64, n int64, targets ...int) {
	for _, d := range targets {
		x.slowAt(d, before, nil)
		list := x.daemons[d].Intervals
		list[len(list)-1].By = []aislog.Growth{{Name: "del.n", N: n}}
	}
}

// What is deleted one by one leaves no record but a counter. It explains what is missing where it was deleted, if it was unusual; whoever
// reports an incomplete batch then is not at fault.
func TestObjectsThatAreDeletedOneByOne(t *testing.T) {
	const aborted = "x-get-batch[gbt]-ais://lab t[t-2] bcast abort [ Warning: failed to transmit GET response ]"
	object := examined().keptAt("t-2", 1)[0]
	for _, c := range []struct {
		name      string
		lines     []Client
		count     func(*inquiry)
		judgement string
		why       string
	}{
		{"at once", []Client{missed404(object, 0)}, func(x *inquiry) { x.counted(5, 7, 0, 1, 2) }, Implicated, "21 objects were deleted one by one on 3 targets (counter del.n)"},
		{"one object", []Client{missed404(object, 0)}, func(x *inquiry) { x.counted(5, 1, 1) }, Implicated, "1 object was deleted on 1 target (counter del.n)"},
		{"nothing is missing", nil, func(x *inquiry) { x.counted(5, 7, 0, 1, 2) }, Cleared, ""},
		{"not where it belongs", []Client{missed404(object, 0)}, func(x *inquiry) { x.counted(5, 7, 0, 2) }, Cleared, ""},
		{"as ever", []Client{missed404(object, 0)}, func(x *inquiry) {
			for before := 2000.0; before > 0; before -= 20 {
				x.counted(before, 7, 0, 1, 2)
			}
		}, Cleared, ""},
	} {
		x := examined(c.lines...)
		c.count(x)
		a, _ := x.judged(x.troubles()...)
		if a.Judgement != c.judgement || c.why != "" && a.Why != c.why || len(a.Blamed()) > 0 {
			t.Errorf("%s: %s (%s), %v blamed", c.name, a.Judgement, a.Why, a.Blamed())
		}
	}
	// It leads to the incomplete batch only where something is missing, and it is not usual.
	for _, c := range []struct {
		line Client
		leds int
	}{{missed404(object, 0), 1}, {lineOf(clientCut, -9*3600), 0}} {
		x := examined(c.line)
		x.counted(5, 7, 0, 1, 2)
		x.told(1, aislog.BatchAborted, "", aborted, 1)
		x.all = x.troubles()
		for _, r := range x.roots() {
			if r.action == countedDeletion && len(r.led) != c.leds {
				t.Errorf("%q: it led to %d", c.line.Text, len(r.led))
			}
		}
	}
}

// denied is a request for a bucket that its access attributes do not allow, as AIStore 5.0 answers it.
func denied(bucket string) Client {
	c := missed404("", 0)
	c.Text = fmt.Sprintf("AISError: STATUS:403, MESSAGE:bucket ais://%s(0x1): GET access denied (allowed: [HEAD-OBJECT]), REQ_URL:http://h:1/v1/objects/%[1]s/o", bucket)
	c.Marks = marksOf(c.Text)
	return c
}

// Who changes what is allowed with a bucket is the cause where requests are not allowed any more, and only there.
func TestTheRightsOfABucketAreChanged(t *testing.T) {
	const unnamed, done = "msync Rx: new BMD v3[s, buckets: ais(1), cloud(0)] ( have v2 aism[set-bprops[IE]] <-- p[p-1] )", "txn:269 txn-set-bprops[IE]-ais://lab done]"
	for _, c := range []struct {
		name      string
		lines     []Client
		judgement string
	}{
		{"the bucket", []Client{denied("lab")}, Implicated},
		{"another bucket", []Client{denied("music")}, Open},
		{"nothing was denied", nil, Cleared},
		{"something is missing", []Client{missed404("o/1", 0)}, Cleared},
	} {
		x := examined(c.lines...)
		a, _ := x.judged(x.administered([]*trouble{x.act("set-bprops", "", unnamed, 20), x.act("set-bprops", "", done, 20)})...)
		if a.Judgement != c.judgement || c.judgement == Implicated && (a.Why != "the properties of ais://lab were changed" || len(a.Blamed()) > 0) {
			t.Errorf("%s: %s (%s), %v", c.name, a.Judgement, a.Why, a.Blamed())
		}
	}
}

// An object that another target is asked for in vain is the business of the one where it belongs.
func TestWhatIsMissingConcernsWhereItBelongs(t *testing.T) {
	object := examined().keptAt("t-3", 1)[0]
	miss := missed404(object, 0)
	miss.Text = "ErrObjNotFound: STATUS:404, MESSAGE:t[t-1]: ais://lab/" + object + " does not exist"
	miss.Marks = marksOf(miss.Text)
	for broken, judgement := range map[int]string{2: Implicated, 0: Cleared} {
		x := examined(miss)
		x.told(broken, aislog.DiskFault, "", "mp[/d] FAULTED: (read 0, write 1 (max-errors 2, write-size 1MiB))", 5)
		a, _ := x.judged(x.troubles()...)
		if a.Judgement != judgement {
			t.Errorf("t-%d lost a disk: %s (%s)", broken+1, a.Judgement, a.Why)
		}
	}
}

// Damaged objects are a fault of the disk that held them, unless they were mended.
func TestDamagedObjects(t *testing.T) {
	for text, mechanism := range map[string]knowledge.Slug{
		"E 11:12:59.9 tgtobj:1429 (transmit) ais://lab/o/1: invalid size 100 != 65536": knowledge.AISDiskFault,
		"W 11:12:59.9 tgtobj:1 recovered corrupted ais://lab/o/1":                      knowledge.AISBatchObjectLoss,
	} {
		cut := lineOf(clientCut, -9*3600)
		x := examined(cut)
		x.told(1, aislog.Corrupt, "", text, 0.1)
		x.told(1, aislog.BatchFailed, "", daemonCut, 0.1)
		a, es := x.judgedRoots()
		says := mechanism != knowledge.AISDiskFault || a.Why == "objects on t-2 are damaged: wrong size or checksum (1 record)"
		if a.Judgement != Implicated || es[0].Mechanism != mechanism || !says {
			t.Errorf("%q: %s (%s)", text, a.Judgement, a.Why)
		}
	}
}

// judgedRoots is what an inquiry makes of the logs of its daemons.
func (x *inquiry) judgedRoots() (*Answer, []*Episode) {
	x.all = x.troubles()
	return x.judged(x.roots()...)
}

// What a job was stopped by is no question where it was not.
func TestAJobThatIsDone(t *testing.T) {
	for done, judgement := range map[bool]string{true: Cleared, false: Open} {
		x := examined(lineOf(readTimeout, -9*3600))
		x.Done, x.clock.Proof = done, Likely
		x.told(0, aislog.DiskFault, "", "mp[/d] FAULTED: (read 0, write 1 (max-errors 2, write-size 1MiB))", 5)
		if a, _ := x.judgedRoots(); a.Judgement != judgement {
			t.Errorf("done %v: %s (%s)", done, a.Judgement, a.Why)
		}
	}
}

// Both sides tell of one request when they have waited long enough: who tells first is no sign of what came first.
func TestOneRequestOnBothSides(t *testing.T) {
	const text = `E 11:13:25.0 Error: Post "http://10.0.0.2:51082/v1/ml/moss/lab/noxid/ais-pro-9mNby/3?tid=t-2": context deadline exceeded`
	for line, judgement := range map[string]string{
		`AIStore batch.get() failed: STATUS:400, MESSAGE:Post "http://10.0.0.2:51082/v1/ml/moss/lab/noxid/ais-pro-9mNby/3?tid=t-2": context deadline exceeded`: Implicated,
		`AIStore batch.get() failed: STATUS:400, MESSAGE:Post "http://10.0.0.2:51082/v1/ml/moss/lab/noxid/ais-pro-other/3?tid=t-2": context deadline exceeded`: Open,
	} {
		x := examined(lineOf(line, 25-9*3600))
		x.told(0, aislog.RequestError, "t-2", text, -25)
		if a, _ := x.judgedRoots(); a.Judgement != judgement {
			t.Errorf("%q: %s (%s)", line, a.Judgement, a.Why)
		}
	}
}

// Where nothing is known to have failed, what happened in the store is not ruled out: a job becomes slower, or hangs, without a line.
func TestAJobOfWhichNothingIsKnownToHaveFailed(t *testing.T) {
	for unsure, judgement := range map[bool]string{true: Open, false: Cleared} {
		x := examined()
		x.Possible, x.Unsure = false, unsure
		if a, _ := x.judged(x.act("set-bprops", "", "txn:269 txn-set-bprops[IE]-ais://lab done]", 20)); a.Judgement != judgement {
			t.Errorf("unsure %v: %s (%s)", unsure, a.Judgement, a.Why)
		}
	}
	x := examined()
	x.Possible, x.Unsure = false, true
	if a, _ := x.judged(); a.Judgement != Cleared {
		t.Errorf("nothing happened: %s (%s)", a.Judgement, a.Why)
	}
}
