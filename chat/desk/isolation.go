package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"faultline/isolate"
	"faultline/messages"
	"faultline/messages/redact"
	"faultline/pattern"
	"faultline/workflow"
)

// testForm is how people write an outcome: 1a=fail, 2b: passed, 2a=12346 (the job that ran it).
var testForm = pattern.New(`^([1-9][0-9]?[a-h])[=:](\S+)$`)

// outcomeWords are the outcomes as people write them.
var outcomeWords = map[string]isolate.Outcome{
	"pass": isolate.Pass, "passed": isolate.Pass, "ok": isolate.Pass, "fail": isolate.Fail, "failed": isolate.Fail,
	"void": isolate.Void, "skip": isolate.Void, "skipped": isolate.Void,
}

// isolate begins a search for a culprit, shows its open tests again, or takes outcomes.
func (a *act) isolate(ctx context.Context, inv workflow.Investigation, o order) error {
	if inv.Report == nil {
		return a.say(ctx, postmortemNone, inv.ID)
	}
	words := strings.Fields(strings.ReplaceAll(o.rest, ",", " "))
	if len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !testForm.MatchString(w) }) {
		return a.tested(ctx, inv, words)
	}
	if o.rest == "" && len(inv.Pending()) > 0 {
		return a.apply(ctx, inv, workflow.Input{Event: workflow.Isolate, Text: "the open tests are shown again"}, isolateAgain, inv.ID)
	}
	search, err := a.Flow.NewSearch(ctx, inv, redact.String(o.rest))
	if err != nil {
		return a.say(ctx, isolateNone, err)
	}
	return a.apply(ctx, inv, workflow.Input{Event: workflow.Isolate, Text: "a search among " + count(len(search.Nodes), "node") + " begins", Search: search}, isolateBegun, inv.ID)
}

// tested takes outcomes of tests.
func (a *act) tested(ctx context.Context, inv workflow.Investigation, words []string) error {
	if inv.Search == nil {
		return a.say(ctx, isolateNoSearch, a.Command, inv.ID)
	}
	var tests []isolate.Test
	var said []string
	for _, w := range words {
		m := testForm.FindStringSubmatch(w)
		id := strings.ToLower(m[1])
		if !slices.ContainsFunc(inv.Search.Tests, func(t isolate.Test) bool { return t.ID == id }) {
			return a.say(ctx, isolateNoTest, id)
		}
		outcome, known := outcomeWords[strings.ToLower(m[2])]
		if !known && jobForm.MatchString(m[2]) {
			if outcome, known = a.Flow.OutcomeOf(ctx, inv, m[2]); !known {
				return a.say(ctx, isolateJobOpen, m[2], id)
			}
		}
		if !known {
			return a.say(ctx, isolateOutcome, shown(w))
		}
		tests = append(tests, isolate.Test{ID: id, Outcome: outcome})
		said = append(said, id+" "+outcomeSaid[outcome])
	}
	return a.apply(ctx, inv, workflow.Input{Event: workflow.TestEnded, Text: strings.Join(said, ", "), Tests: tests}, isolateNoted, strings.Join(said, ", "))
}

// outcomeSaid is how buttons and answers call outcomes.
var outcomeSaid = map[isolate.Outcome]string{isolate.Pass: "passed", isolate.Fail: "failed", isolate.Void: "couldn't run"}

// pressed is an outcome that somebody says with a button.
func (a *act) pressed(ctx context.Context, inv workflow.Investigation, t target) error {
	if !testForm.MatchString(t.rest) {
		return a.say(ctx, unknownButton)
	}
	return a.tested(ctx, inv, []string{t.rest})
}

// submitTest has the bot submit a test, because a person who may clicked: the one who asked, an admin, or somebody who is trusted by name. A
// channel that trusts everybody does not let everybody start jobs.
func (a *act) submitTest(ctx context.Context, inv workflow.Investigation, t target) error {
	rule, _ := a.policy.rule(inv.Home)
	rule.Trusted.Anyone = false
	ok, err := a.among(ctx, rule.Trusted, a.policy.Admins)
	if err != nil {
		return err
	}
	if !ok && inv.Home.Requester != a.in.User {
		return a.refuse(ctx, inv.ID, refusedPerson, notYours, "submit test "+shown(t.rest), person(inv.Home.Requester))
	}
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		test, job, err := a.Flow.SubmitTest(inv, t.rest, a.in.User)
		if err != nil {
			return change{none: true, answer: say(submitRefused, shown(t.rest), err)}
		}
		return change{entry: fmt.Sprintf("submit test %s as %s: %s", test.ID, test.Name, inv.Search.Line(test)), jobs: []workflow.Job{job}, answer: say(submitBegun, test.ID, test.Name)}
	})
}

// mostLine is how long a line may be in a message: a list of many single nodes is handed over as a file, for a line that is cut is worse than none.
const mostLine = 1500

// round posts tests that are to be run.
func (c *Composer) round(ctx context.Context, d *draft) error {
	l, tests := d.inv.Search, d.n.Tests
	p := messages.Isolation{
		Title: "🔬 " + l.Round(tests),
		Foot:  fmt.Sprintf("Or write: isolate %s %s=fail (pass, fail, void, or the number of the job that ran it). One wrong outcome doesn't mislead the search.", d.inv.ID, tests[0].ID),
	}
	var script strings.Builder
	long := false
	for _, t := range tests {
		line := l.Line(t)
		long = long || len(line) > mostLine
		p.Parts = append(p.Parts, messages.IsolationPart{Text: fmt.Sprintf("Test %s, %s:", t.ID, count(len(t.Nodes), "node")), Command: line})
		fmt.Fprintf(&script, "# test %s\n%s\n", t.ID, line)
		var row []messages.Button
		for _, o := range []isolate.Outcome{isolate.Pass, isolate.Fail, isolate.Void} {
			row = append(row, button(actTested+"/"+t.ID+"-"+string(o), fmt.Sprintf("%s 0 %s=%s", name(d.inv), t.ID, o), t.ID+" "+outcomeSaid[o]))
		}
		if hours, ok := d.n.Submit[t.ID]; ok {
			row = append(row, button(actSubmit+"/"+t.ID, fmt.Sprintf("%s 0 %s", name(d.inv), t.ID), fmt.Sprintf("Submit %s (≤ %.1f GPU h)", t.ID, hours)))
		}
		p.Buttons = append(p.Buttons, row)
	}
	key := fmt.Sprintf("isolate-%d", d.inv.Version+1)
	defer d.about("isolate")
	p.Parts = append(p.Parts, messages.IsolationPart{Text: l.Meaning(tests)})
	if likely, err := l.Likely(3); err == nil && len(likely) > 0 {
		p.Parts = append(p.Parts, messages.IsolationPart{Text: "Most likely so far: " + strings.Join(likely, ", ")})
	}
	if !long {
		d.thread(key, messages.IsolationPost(p))
		return nil
	}
	for i := range tests {
		p.Parts[i].Command = ""
	}
	file, err := c.attach(ctx, fmt.Sprintf("round-%d.sh", tests[0].Round), "The lines to run", "", []byte(script.String()))
	if err != nil {
		return err
	}
	d.send(workflow.PostFiles, key, workflow.KeyCase, messages.IsolationPost(p), file)
	return nil
}

// searchEnded posts what a search found.
func (d *draft) searchEnded() {
	parts := d.inv.Search.Conclude(d.n.Found)
	p := messages.Isolation{Title: "🔬 " + parts[0].Text}
	for _, part := range parts[1:] {
		p.Parts = append(p.Parts, messages.IsolationPart(part))
	}
	d.thread(fmt.Sprintf("isolate-%d", d.inv.Version+1), messages.IsolationPost(p))
	d.about("isolate")
	d.inv.Notes = append(d.inv.Notes, fill("%s", parts[0].Text))
}
