package desk

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
	"faultline/workflow"
)

// course is a job whose state a test turns, and how often the engine looked at it.
type course struct {
	*stage
	state string
	looks int
}

// newCourse is job 12345, which writes all the time as one that hangs beside its watchdog does.
func newCourse(t *testing.T) *course {
	c := &course{stage: newStage(t), state: incident.StateRunning}
	c.engine.diagnose = func(in analysis.Input) (*incident.Report, error) {
		r := report("rank-stalled", incident.Confirmed)
		if in.Moment != nil {
			c.looks++
			r.Triage = &incident.Triage{State: c.state, Severity: incident.TriageCritical, Summary: "The job is " + c.state,
				Signs: []incident.TriageSign{{Name: incident.SignWaiting, Level: incident.TriageCritical, Text: "no step for 6 min"}},
				Next:  incident.TriageNext{Text: "Collect stacks and dumps from all nodes before ending the job.", Command: "bot collect 12345"}}
		}
		return r, nil
	}
	return c
}

// pass lets minutes pass in which the job writes.
func (c *course) pass(minutes int) {
	for range minutes {
		c.now = c.now.Add(time.Minute)
		c.fetch.quiet["west/12345"] = c.now
		c.tick()
	}
}

// stalls are the messages that tell of a stall, and what was made of them.
func (c *course) stalls() (told, edits []string) {
	for _, p := range c.all() {
		if !strings.HasPrefix(p.Key, "stall-") {
			continue
		}
		if p.Kind == workflow.PostEdit {
			edits = append(edits, textOf(c.t, p))
		} else {
			told = append(told, textOf(c.t, p)+string(p.Payload))
		}
	}
	return told, edits
}

func TestAWatchedJobTellsOncePerStall(t *testing.T) {
	c := newCourse(t)
	c.fetch.quiet["west/12345"] = c.now
	if got := c.says("watch 12345"); !strings.Contains(got, "F-1") {
		t.Fatal(got)
	}
	c.at("F-1", workflow.AwaitingEnd)
	before := len(c.keys("F-1"))
	c.pass(5)
	if c.looks < 4 || len(c.keys("F-1")) != before {
		t.Fatalf("%d looks, posts %q", c.looks, c.keys("F-1"))
	}
	c.state = incident.StateLate
	c.pass(2)
	c.state = incident.StateStalled // the same stall, longer
	c.pass(8)
	told, _ := c.stalls()
	if len(told) != 1 || !strings.Contains(told[0], "bot collect 12345") || !strings.Contains(told[0], `"user_id":"U1"`) {
		t.Fatalf("%d messages: %s", len(told), told)
	}
	c.state = incident.StateRunning
	c.pass(3)
	if _, edits := c.stalls(); len(edits) != 1 || !strings.Contains(edits[0], "steps continued") {
		t.Fatalf("edits %q", edits)
	}
	c.state = incident.StateStalled
	c.pass(3)
	if told, _ := c.stalls(); len(told) != 2 {
		t.Fatalf("%d messages of the second stall", len(told))
	}
	c.now = c.now.Add(time.Hour) // nothing writes any more
	c.tick()
	c.tick()
	inv := c.at("F-1", workflow.Reported)
	looks := c.looks
	if inv.Running || inv.Verdicts != 1 || inv.Final != 1 {
		t.Errorf("running %v, %d verdicts, %d final", inv.Running, inv.Verdicts, inv.Final)
	}
	c.now = c.now.Add(time.Hour)
	c.tick()
	if c.looks != looks {
		t.Error("a job that ended is looked at")
	}
	if got := c.says("watch F-1"); !strings.Contains(got, "isn't running") {
		t.Error(got)
	}
}

// A job that stands still again and again tells so no more often than any case may speak by itself.
func TestManyStallsStayWithinTheNoiseBudget(t *testing.T) {
	c := newCourse(t)
	c.fetch.quiet["west/12345"] = c.now
	c.says("watch 12345")
	for range 14 {
		c.state = incident.StateStalled
		c.pass(2)
		c.state = incident.StateRunning
		c.pass(2)
	}
	inv := c.at("F-1", workflow.Reported)
	if inv.Watch.Stalls < 10 {
		t.Fatalf("%d stalls were seen", inv.Watch.Stalls)
	}
	if len(inv.Noise.Said) != workflow.UnaskedMost {
		t.Errorf("%d messages are counted, want the most there may be", len(inv.Noise.Said))
	}
	if !slices.ContainsFunc(c.keys("F-1"), func(k string) bool { return strings.HasPrefix(k, "message holding-") }) {
		t.Errorf("nobody is told that more is held: %q", c.keys("F-1"))
	}
}

// Whoever wants to know in the meantime sees a stall there: it is not told once more.
func TestAStallThatAPersonSeesIsNotTold(t *testing.T) {
	c := newCourse(t)
	c.fetch.quiet["west/12345"] = c.now
	c.says("12345")
	if got := c.says("watch F-1"); !strings.Contains(got, "Watching job 12345") {
		t.Fatal(got)
	}
	c.state = incident.StateStalled
	c.does(press("U3", actLookNow, "F-1"))
	c.pass(5)
	if told, _ := c.stalls(); len(told) != 0 {
		t.Errorf("told: %s", told)
	}
	c.says("watch off F-1")
	c.state = incident.StateRunning
	looks := c.looks
	c.pass(5)
	if c.looks != looks {
		t.Error("it is looked at though nobody wants it")
	}
	if got := c.says("watch off F-1"); !strings.Contains(got, "isn't being watched") {
		t.Error(got)
	}
}

// A channel may want every running job watched that is asked about there.
func TestAChannelWatchesItsRunningJobs(t *testing.T) {
	c := newCourse(t)
	c.fetch.quiet["west/12345"] = c.now
	if got := c.says("watch running"); !strings.Contains(got, "only admins") {
		t.Fatal(got)
	}
	if got := c.does(by("U2", command("C1", "watch running"))); !strings.Contains(got, "watched until they end") {
		t.Fatal(got)
	}
	c.says("12345")
	if inv := c.at("F-1", workflow.AwaitingEnd); inv.Watch.By != "U1" || len(inv.Open) != 0 {
		t.Errorf("watched for %q, open %v", inv.Watch.By, inv.Open)
	}
	c.does(by("U2", command("C1", "watch running off")))
	c.fetch.where["west/777"], c.fetch.quiet["west/777"] = c.fetch.where["west/12345"], c.now
	c.says("777")
	if inv := c.at("F-2", workflow.AwaitingEnd); inv.Watch.By != "" {
		t.Error("watched after it was turned off")
	}
}

// A look that takes long is not taken often.
func TestALongLookIsRare(t *testing.T) {
	c := newCourse(t)
	c.fetch.quiet["west/12345"] = c.now
	diagnose := c.engine.diagnose
	c.engine.diagnose = func(in analysis.Input) (*incident.Report, error) {
		c.now = c.now.Add(30 * time.Second)
		return diagnose(in)
	}
	c.says("watch 12345")
	c.pass(40)
	if c.looks < 2 || c.looks > 5 {
		t.Errorf("%d looks of 30 s in %s", c.looks, fmt.Sprint(40*time.Minute))
	}
}
