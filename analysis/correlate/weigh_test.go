package correlate

import (
	"fmt"
	"testing"

	"faultline/analysis/aislog"
	"faultline/analysis/resolve"
	"faultline/knowledge"
)

// stall is when the job of these tests met its trouble, by its clock and by the daemons'.
const stall = "2026-11-22T11:13:00Z"

// missed404 is a failed read of rank 5 so many seconds after the stall.
func missed404(object string, after float64) Client {
	text := fmt.Sprintf("ErrObjNotFound: STATUS:404, MESSAGE:ais://lab/%s does not exist, REQ_URL:http://h:1/v1/objects/lab/%s?provider=ais", object, object)
	return Client{Text: text, Marks: marksOf(text), ours: true, Rank: 5, T: resolve.Moment{Valid: true, T: float64(at(stall).Unix()) + after}}
}

// examined is a cluster of three targets with whole logs, whose clocks are the job's.
func examined(lines ...Client) *inquiry {
	x := &inquiry{lines: lines, clock: Clock{Proof: Proven, rel: make([]relation, 3), Unc: 1}}
	x.Question = Question{Facts: &resolve.Facts{YearProven: true}, Ranks: []int{5}, Possible: true, Stall: resolve.Moment{Valid: true, T: float64(at(stall).Unix())}}
	for _, id := range []string{"t-1", "t-2", "t-3"} {
		d := daemon(id, "2026-11-22T09:00:00Z", "2026-11-22T12:00:00Z", "UTC")
		d.Targets = 3
		x.daemons = append(x.daemons, d)
	}
	return x
}

// act is something that was done to the cluster so many seconds before the stall, as a target tells.
func (x *inquiry) act(action, about, text string, before float64) *trouble {
	from := float64(at(stall).Unix()) - before
	return &trouble{mech: knowledge.AISAdministration, action: action, about: about, from: from, to: from, points: []point{{t: from, n: 1, event: &aislog.Event{Kind: aislog.Administration, Action: action, Text: text}}}}
}

// judged is what an inquiry makes of troubles.
func (x *inquiry) judged(all ...*trouble) (*Answer, []*Episode) {
	a := &Answer{Clock: x.clock}
	for _, t := range all {
		t.back = givenBack(t, all)
		a.Episodes = append(a.Episodes, x.test(t))
	}
	x.single(a)
	x.coverage(a)
	x.judge(a)
	return a, a.Episodes
}

// at names objects by the target that keeps them.
func (x *inquiry) keptAt(target string, n int) []string {
	var out []string
	for i := 0; len(out) < n; i++ {
		if o := fmt.Sprintf("o/%06d", i); x.home("lab/"+o) == target {
			out = append(out, o)
		}
	}
	return out
}

// A target was taken away, and of what the job missed most lay elsewhere: that is not the cause, but the store is not cleared.
func TestWhatSomeRequestsMissedIsNotCleared(t *testing.T) {
	for _, c := range []struct {
		name       string
		hits, lost int // objects that lay on the target that was taken away, and elsewhere
		judgement  string
	}{
		{"most lay elsewhere", 1, 3, Open},
		{"all lay elsewhere", 0, 3, Cleared},
		{"most lay there", 3, 1, Implicated},
	} {
		x := examined()
		for i, o := range append(x.keptAt("t-3", c.hits), x.keptAt("t-1", c.lost)...) {
			x.lines = append(x.lines, missed404(o, float64(i)))
		}
		a, _ := x.judged(x.act("start-maintenance", "t-3", "p[p-1]: start-maintenance([t[t-3]]) opts={}", 20))
		if a.Judgement != c.judgement {
			t.Errorf("%s: %s (%s), not %s", c.name, a.Judgement, a.Why, c.judgement)
		}
	}
}

// Requests whose object no line names may have were for what was removed, whatever another one wanted.
func TestWhatMayHaveBeenMissedIsNotCleared(t *testing.T) {
	x := examined()
	unnamed := missed404("", 0)
	unnamed.Text, unnamed.Marks = "AISError: STATUS:404, MESSAGE:object does not exist", nil
	x.lines = []Client{unnamed, unnamed, missed404(x.keptAt("t-1", 1)[0], 3)}
	if a, _ := x.judged(x.act("start-maintenance", "t-3", "p[p-1]: start-maintenance([t[t-3]]) opts={}", 20)); a.Judgement != Open {
		t.Errorf("%s (%s)", a.Judgement, a.Why)
	}
}

// Who asks in vain says so some seconds later: a trouble whose first record comes just after the stall began before it.
func TestATroubleThatIsToldLateIsNotCleared(t *testing.T) {
	for after, judgement := range map[float64]string{5: Open, 30: Cleared} {
		x := examined()
		from := float64(at(stall).Unix()) + after
		e := &aislog.Event{Kind: aislog.KeepAliveFailed, Peer: "t-3", Text: "p[p-1] failed to fast-kalive t[t-3] err: deadline exceeded"}
		if a, _ := x.judged(&trouble{mech: knowledge.AISNetwork, about: "t-3", from: from, to: from, points: []point{{t: from, n: 1, event: e}}}); a.Judgement != judgement {
			t.Errorf("%.0f s after the stall: %s (%s), not %s", after, a.Judgement, a.Why, judgement)
		}
	}
}

// What is missing on another file system is not what was taken away from the store.
func TestAMissingFileIsNoMissingObject(t *testing.T) {
	local := missed404("", 0)
	local.Text, local.Marks, local.ours, local.Fault = "FileNotFoundError: /scratch/index.json does not exist", nil, false, "missing"
	x := examined(local)
	if a, _ := x.judged(x.act("start-maintenance", "t-3", "p[p-1]: start-maintenance([t[t-3]]) opts={}", 20)); a.Judgement == Implicated {
		t.Errorf("%s (%s)", a.Judgement, a.Why)
	}
}

// A daemon whose log is not here says nothing, not even that it went on.
func TestAnAbsentLogShowsNothing(t *testing.T) {
	x := examined()
	x.daemons[2].Runs = []aislog.Run{{Start: x.daemons[2].Covered.From, Last: x.daemons[2].Covered.To}}
	from := float64(at(stall).Unix())
	for about, says := range map[string]string{
		"t-1": "t-1 did not respond to other daemons in time",
		"t-3": "t-3 did not respond to other daemons in time, while its own log continues",
		"t-9": "t-9 did not respond to other daemons in time; its own log is missing",
	} {
		if got := x.statement(&trouble{mech: knowledge.AISNetwork, about: about, from: from, to: from}); got != says {
			t.Errorf("%q, not %q", got, says)
		}
	}
}

// A target that is slow or refuses still has its objects: that it says of one that it is not there is no tie to its load.
func TestAMissingObjectIsNoTieToLoad(t *testing.T) {
	for _, c := range []struct {
		name, text string
		cause      bool
	}{
		{"missing", "ErrObjNotFound: STATUS:404, MESSAGE:t[t-2]: ais://lab/o/000005 does not exist, REQ_URL:http://h:1/v1/objects/lab/o/000005?provider=ais", false},
		{"refused", "AISError: STATUS:429, MESSAGE:t[t-2]: GET ais://lab/o/000005: ErrTooManyRequests, REQ_URL:http://h:1/v1/objects/lab/o/000005?provider=ais", true},
	} {
		line := missed404("o/000005", 1)
		line.Text, line.Marks = c.text, marksOf(c.text)
		from := float64(at(stall).Unix()) - 5
		load := &trouble{mech: knowledge.AISResourcePressure, about: "t-2", from: from, to: from + 20,
			points: []point{{t: from, n: 4, event: &aislog.Event{Kind: aislog.BatchRejected, Text: "t[t-2]: memory pressure 'extreme', rejecting batches"}}}}
		_, episodes := examined(line).judged(load)
		if got := episodes[0].Standing == Cause; got != c.cause {
			t.Errorf("%s: %s (%s)", c.name, episodes[0].Standing, episodes[0].Why)
		}
	}
}
