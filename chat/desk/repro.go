package desk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"faultline/incident"
	"faultline/messages"
	"faultline/messages/redact"
	"faultline/messages/repro"
	"faultline/probe"
	"faultline/workflow"
)

// repro puts a script into the thread that shows the fault small, or that tests the one component that may have it.
func (a *act) repro(ctx context.Context, inv workflow.Investigation) error {
	if inv.Report == nil {
		return a.say(ctx, postmortemNone, inv.ID)
	}
	name, script, lines, err := scriptFor(inv)
	var none *repro.UnsuitableError
	if errors.As(err, &none) {
		return a.say(ctx, reproNone, none.Suspected, none.Instead)
	}
	if err != nil {
		return err
	}
	file, err := a.Composer.attach(ctx, name, "The script", "", script)
	if err != nil {
		return err
	}
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		d := &draft{inv: inv}
		d.send(workflow.PostFiles, fmt.Sprintf("repro-%d", inv.Version+1), workflow.KeyCase, messages.Note("A small test for "+inv.ID+". "+strings.Join(lines, " "), nil), file)
		d.about("repro")
		return change{posts: d.posts, entry: "asked for a script that reproduces the fault", answer: say(reproMade, inv.ID)}
	})
}

// reproducible says that there is a script for a verdict.
func reproducible(r *incident.Report) bool {
	_, err := repro.Make(r, repro.Options{})
	var none *repro.UnsuitableError
	return err == nil || errors.As(err, &none) && none.Component != ""
}

// scriptFor is the script for a verdict, and what to do with it.
func scriptFor(inv workflow.Investigation) (name string, script []byte, lines []string, err error) {
	s, err := repro.Make(redact.Report(inv.Report), repro.Options{})
	var none *repro.UnsuitableError
	switch {
	case err == nil:
		lines = []string{fmt.Sprintf("It shows %s. Run: torchrun --nproc-per-node=%d repro.py > repro.log 2>&1", mechanismTitle(s.Mechanism), s.Processes)}
		if len(s.Notes) > 0 {
			lines = append(lines, strings.Join(s.Notes, " "))
		}
		return "repro.py", s.Text, lines, nil
	case errors.As(err, &none) && none.Component != "":
		test := repro.TestOf(redact.Report(inv.Report), none.Component)
		lines = []string{fmt.Sprintf("It tests %s alone, on every rank. %s", none.Component, probe.Means(none.Component))}
		if test.Says != "" {
			lines = append(lines, test.Says)
		}
		return "probe.py", probe.Script, append(lines, "Run: "+test.Command(none.Component, "probe.py")), nil
	}
	return "", nil, nil, err
}
