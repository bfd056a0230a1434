package desk

import (
	"context"
	"slices"
	"strings"

	"faultline/messages"
	"faultline/workflow"
)

// watchJob does `watch 4242`, `watch F-12` and the same with `off` in front: a job that still runs is looked at by itself until it ends.
func (a *act) watchJob(ctx context.Context, words []string) error {
	off := strings.EqualFold(words[0], "off")
	if off {
		words = words[1:]
	}
	o := order{verb: "diagnose", watch: true}
	if len(words) != 1 || !o.identify(words[0]) && !o.name(words[0]) {
		return a.say(ctx, malformedWatch, code(shown(strings.Join(words, " "))))
	}
	inv, found, err := a.target(ctx, o)
	if err != nil {
		return err
	}
	row, _ := workflow.About(inv.State)
	switch {
	case found && !a.sees(inv), !found && o.id != "":
		return a.say(ctx, noSuchCase, o.id)
	case !found && off:
		return a.say(ctx, noJobKnown, o.job)
	case !found, o.job != "" && row.Kind == workflow.Settled && !off: // that run is over; there may be another
		return a.diagnose(ctx, o)
	}
	if rule, ok := a.policy.rule(inv.Home); !ok || rule.ReadOnly {
		return a.refuse(ctx, inv.ID, refusedReadOnly, readOnly)
	}
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		switch {
		case off && inv.Watch.By == "":
			return change{none: true, answer: say(watchJobNot, inv.ID)}
		case off:
			a.Flow.WatchFor(inv, "")
			return change{entry: "stopped watching the job", answer: say(watchJobOff, inv.ID)}
		case !inv.Watchable():
			return change{none: true, answer: say(watchJobOver, inv.ID)}
		case inv.Watch.By != "":
			return change{none: true, answer: say(watchJobBefore, inv.ID, person(inv.Watch.By))}
		}
		jobs, answered := a.Flow.WatchFor(inv, a.in.User)
		return change{jobs: jobs, notice: workflow.Notice{Answered: answered}, entry: "watches the job", answer: say(watchJobOn, inv.Job, a.Command, inv.ID)}
	})
}

// watchRunning does `watch running` and `watch running off`: whether every running job that is asked about in this channel is watched.
func (a *act) watchRunning(ctx context.Context, off bool) error {
	if ok, err := a.among(ctx, a.rule.Trusted, a.policy.Admins); err != nil {
		return err
	} else if !ok {
		return a.refuse(ctx, "", refusedPerson, adminsOnly, "change what this channel watches")
	}
	st, n, err := note[channelState](ctx, a.Store, noteChannel(a.in.Channel))
	if err != nil {
		return err
	}
	text := say(watchAllOn, a.Command)
	st.Running = &pause{By: a.in.User, At: a.Now().UTC()}
	if off {
		text, st.Running = say(watchAllOff), nil
	}
	if n, err = with(n, st); err != nil {
		return err
	}
	p, err := a.post("", "", []string{text})
	if err != nil {
		return err
	}
	e := workflow.Entry{At: a.Now(), Kind: "answer", Actor: a.in.User, Text: "watching running jobs in " + a.in.Channel + ": " + map[bool]string{false: "on", true: "off"}[off]}
	return again(a.Store.Save(ctx, workflow.Change{Posts: []workflow.Post{p}, Entries: []workflow.Entry{e}, Notes: []workflow.Note{n}, Done: a.lease}))
}

// watchesRunning says whether the channel watches each running job that is asked about.
func (a *act) watchesRunning(ctx context.Context) (bool, error) {
	st, _, err := note[channelState](ctx, a.Store, noteChannel(a.in.Channel))
	return st.Running != nil, err
}

// stall tells of a job that stands still, and in the same message that it steps again.
func (d *draft) stall() {
	r, key := d.inv.Report, d.n.Stall
	if !d.inv.Watch.Stalled {
		d.send(workflow.PostEdit, key, "", message([]string{say(threadSteps, d.inv.Job, d.inv.Moment.UTC().Format(timeForm)), plain(headline(r))}))
		return
	}
	buttons := []messages.Button{button(actLookNow, name(d.inv), "Look again")}
	d.thread(key, withParagraph(messages.TriagePost(r, buttons), say(threadStalled, marks(people(slices.Concat([]string{d.inv.Watch.By}, d.inv.Acting), "")))))
	d.about("stall")
}
