package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"faultline/chat"
	"faultline/messages"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// usage is one line of the help. The first word is a verb of the parser; a test holds the two together.
type usage struct{ write, does string }

var usages = []usage{
	{"12345", "find out why job 12345 failed; also 12345_7 (array task), 12345+0 (het job component), west:12345 (a specific cluster)"},
	{"12345 logs:/path", "the same, with logs from another path"},
	{"12345 private", "get the answer in a direct message; you can share it later"},
	{"", "with no arguments: pick one of your failed jobs"},
	{"status [F-12 or 12345]", "status of an investigation; with no name: this channel's investigations and how often my verdicts were right"},
	{"list", "this channel's latest investigations"},
	{"why F-12", "what I'm doing and why I'm asking"},
	{"cancel F-12", "stop an investigation"},
	{"rerun F-12", "start over; the old investigation stays readable"},
	{"mute F-12", "turn off reminders"},
	{"own F-12", "take ownership: the case shows your name and reminders stop"},
	{"storage F-12", "provide the AIStore cluster's logs: grant access, or upload files"},
	{"setup", "tell me where your team's logs are; I'll test it on a job right away. Also `setup show`, `setup clear`"},
	{"watch", "which clusters I watch automatically; admins can use `watch pause west` and `watch resume west`"},
	{"watch 12345", "watch a running job until it ends: one message per stall, before its evidence is gone; `watch off 12345`, and `watch running` for every running job asked about here"},
	{"digest", "preview tomorrow's digest; `digest month` sums up this channel's last 30 days"},
	{"mute job-name train-7b", "stop watching jobs with this name in this channel; undo with `unmute job-name train-7b`"},
	{"dispute F-12", "dispute a verdict"},
	{"close F-12", "close a case and record the cause"},
	{"explain exit code 137", "what an error line, code, variable or term means; paste it after the command"},
	{"ping", "check that I'm up, and how busy I am"},
	{"fixes F-12", "what helps against this failure, at what risk, how to check it, and what worked in this channel's earlier cases"},
	{"fixed F-12 halved the batch", "say what fixed it: I compare the job's next run and report whether it worked. A job ID after the case picks the run to compare"},
	{"repro F-12", "a small script that reproduces the fault, or tests the component that may have it"},
	{"isolate F-12", "narrow the fault down to a node or link with tests that you run; add the command that reproduces it"},
	{"work F-12", "causes to test, five whys, action items; then `work F-12 h1 contradicts …`, `w4 because …`, `a2 me 2026-12-01`, `a2 done`, `add …`"},
	{"checklist F-12 pre-training", "a checklist to tick here: `pre-training`, `scaling-up`, `long-run`, or your team's own; what I can check is ticked with its evidence. Then `checklist F-12 pre-training small-run`"},
	{"postmortem F-12", "one page for the team: impact, timeline, five whys, action items"},
	{"help", "this"},
}

func (a *act) typed(ctx context.Context) error {
	o := parse(a.in.Text)
	a.verb = o.verb
	if a.in.Warned {
		a.verb = "secret"
		p, err := a.post("", "", []string{say(secretTyped)})
		if err != nil {
			return err
		}
		e := workflow.Entry{At: a.Now(), Kind: "warning", Actor: a.in.User, Text: "a secret was typed in " + a.in.Channel + "; it was not kept"}
		return a.Store.Save(ctx, workflow.Change{Posts: []workflow.Post{p}, Entries: []workflow.Entry{e}, Done: a.lease})
	}
	if ok, err := a.enter(ctx); !ok {
		return err
	}
	if len(a.in.Files) > 0 {
		return a.dropped(ctx)
	}
	if done, err := a.asked(ctx, o); done || err != nil {
		return err
	}
	switch o.verb {
	case "help":
		return a.help(ctx)
	case "ping":
		return a.ping(ctx)
	case "list":
		return a.list(ctx)
	case "start":
		return a.bare(ctx)
	case "explain":
		return a.explain(ctx, o.rest)
	case "watch":
		return a.watching(ctx, strings.Fields(o.rest))
	case "digest":
		if strings.EqualFold(strings.TrimSpace(o.rest), "month") {
			return a.askMonth(ctx)
		}
		return a.askDigest(ctx)
	case "setup":
		return a.setup(ctx, o.rest)
	case "mute-name", "unmute":
		return a.muteName(ctx, o.rest, o.verb == "unmute")
	case "diagnose", "logs":
		return a.diagnose(ctx, o)
	}
	if o.bad != "" && o.id == "" && o.job == "" {
		return a.say(ctx, malformed, code(shown(o.bad)))
	}
	inv, found, err := a.target(ctx, o)
	if err != nil {
		return err
	}
	if !found {
		switch {
		case o.id != "":
			return a.say(ctx, noSuchCase, o.id)
		case o.job != "":
			return a.say(ctx, noJobKnown, o.job)
		case o.verb == "status":
			return a.overview(ctx)
		case a.in.Thread != "":
			return a.say(ctx, notACase, a.Command)
		}
		return a.say(ctx, whichOne, o.verb, o.verb)
	}
	if !a.sees(inv) {
		if o.id != "" {
			return a.refuse(ctx, inv.ID, refusedCase, noSuchCase, o.id)
		}
		return a.refuse(ctx, inv.ID, refusedCase, noJobKnown, o.job)
	}
	return a.command(ctx, o, inv)
}

// asked answers words in the thread of a case that are no command: a question about its report.
func (a *act) asked(ctx context.Context, o order) (done bool, err error) {
	if a.in.Thread == "" || o.bad == "" || len(o.places) > 0 {
		return false, nil
	}
	inv, found, err := a.target(ctx, order{verb: "why"})
	if err != nil || !found || inv.Report == nil || !a.sees(inv) {
		return false, err
	}
	if text := messages.Reply(inv.Report, unlink(a.in.Text)); text != "" {
		return true, a.answer(ctx, []string{fill("%s", text)})
	}
	return true, a.say(ctx, askWhat)
}

// command does what can be done with an investigation that the person may see.
func (a *act) command(ctx context.Context, o order, inv workflow.Investigation) error {
	verb, text := o.verb, o.rest
	switch verb {
	case "status":
		return a.answer(ctx, a.statusOf(inv))
	case "why":
		return a.answer(ctx, whyOf(inv))
	case "fixes":
		return a.fixes(ctx, inv)
	}
	if rule, ok := a.policy.rule(inv.Home); !ok || rule.ReadOnly {
		return a.refuse(ctx, inv.ID, refusedReadOnly, readOnly)
	}
	switch verb {
	case "rerun":
		return a.rerun(ctx, inv)
	case "own":
		return a.own(ctx, inv)
	case "fixed":
		return a.fixed(ctx, inv, o)
	case "isolate":
		return a.isolate(ctx, inv, o)
	case "work":
		return a.work(ctx, inv, o)
	case "checklist":
		return a.checklist(ctx, inv, o)
	case "postmortem":
		return a.postmortem(ctx, inv)
	case "repro":
		return a.repro(ctx, inv)
	case "dispute":
		if text == "" {
			return a.answer(ctx, []string{say(pressInstead, "This is wrong")}, a.button(actDispute, name(&inv), "This is wrong"))
		}
		return a.apply(ctx, inv, workflow.Input{Event: workflow.Dispute, Text: text,
			Outcome: &workflow.Outcome{Verdict: "wrong", Cause: text, By: a.in.User}}, disputed)
	case "close":
		return a.answer(ctx, []string{say(pressInstead, "Close")}, a.button(actClose, name(&inv), "Close"))
	}
	if ok, err := a.trusted(ctx, inv); err != nil {
		return err
	} else if !ok {
		return a.refuse(ctx, inv.ID, refusedPerson, notYours, verb+" "+inv.ID, person(inv.Home.Requester))
	}
	switch verb {
	case "cancel":
		return a.cancel(ctx, inv)
	case "mute":
		return a.mute(ctx, inv)
	case "storage":
		return a.offerStorage(ctx, inv)
	}
	return fmt.Errorf("there is no command %q", verb)
}

func (a *act) cancel(ctx context.Context, inv workflow.Investigation) error {
	if !slices.Contains(workflow.Allowed(inv.State), workflow.Cancel) {
		row, _ := workflow.About(inv.State)
		return a.say(ctx, cannotCancel, inv.ID, row.Doing)
	}
	return a.apply(ctx, inv, workflow.Input{Event: workflow.Cancel, Text: "asked for"}, cancelled, inv.ID)
}

func (a *act) mute(ctx context.Context, inv workflow.Investigation) error {
	if inv.Muted {
		return a.say(ctx, mutedBefore, inv.ID)
	}
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		inv.Muted = true
		return change{entry: "reminders turned off", answer: say(muted, inv.ID)}
	})
}

// own makes the person the owner of a case, also where another was: the case file names them, and nobody is reminded any more.
func (a *act) own(ctx context.Context, inv workflow.Investigation) error {
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		if inv.Owner == a.in.User {
			return change{none: true, answer: say(ownedBefore, inv.ID, person(inv.Owner))}
		}
		inv.Owner, inv.Muted = a.in.User, true
		return change{entry: "took ownership; reminders turned off", answer: say(owned, inv.ID)}
	})
}

// target is the investigation that is meant: the one whose thread it is said in, or by id, or the newest of a job.
func (a *act) target(ctx context.Context, o order) (inv workflow.Investigation, found bool, err error) {
	switch {
	case o.id != "":
		inv, err = a.Store.Load(ctx, o.id)
	case o.job != "":
		return a.newest(ctx, o)
	case a.in.Thread != "":
		return a.ofThread(ctx)
	default:
		return inv, false, nil
	}
	if errors.Is(err, workflow.ErrUnknown) {
		return inv, false, nil
	}
	if err == nil && inv.Home.Team != a.in.Team {
		return workflow.Investigation{}, false, nil
	}
	return inv, err == nil, err
}

// newest is the newest investigation of a job that the person may see, an open one first.
func (a *act) newest(ctx context.Context, o order) (best workflow.Investigation, found bool, err error) {
	rows, err := a.Store.Find(ctx, workflow.Query{Team: a.in.Team, Job: o.job, Cluster: o.cluster})
	if err != nil {
		return best, false, err
	}
	for _, open := range []bool{true, false} {
		for _, s := range rows {
			if row, _ := workflow.About(s.State); open == (row.Kind == workflow.Settled) {
				continue
			}
			inv, err := a.Store.Load(ctx, s.ID)
			if err == nil && a.sees(inv) {
				return inv, true, nil
			}
			if err != nil && !errors.Is(err, workflow.ErrUnknown) {
				return best, false, err
			}
		}
	}
	return best, false, nil
}

// threads bounds among how many investigations of a channel the one of a thread is looked for.
const threads = 300

// ofThread is the investigation in whose thread something was said.
func (a *act) ofThread(ctx context.Context) (inv workflow.Investigation, found bool, err error) {
	rows, err := a.Store.Find(ctx, workflow.Query{Team: a.in.Team, Channel: a.in.Channel, Limit: threads})
	if err != nil {
		return inv, false, err
	}
	for _, s := range rows {
		head, err := a.Store.Posted(ctx, s.ID, workflow.KeyCase)
		if err == nil && head.TS == a.in.Thread {
			inv, err = a.Store.Load(ctx, s.ID)
			return inv, err == nil, err
		}
		if err != nil && !errors.Is(err, workflow.ErrUnknown) {
			return inv, false, err
		}
	}
	return inv, false, nil
}

// sees says whether the person may see an investigation where they are now.
func (a *act) sees(inv workflow.Investigation) bool {
	h := inv.Home
	if h.Team != a.in.Team {
		return false
	}
	if h.Requester == a.in.User {
		return true
	}
	return a.in.Channel != "" && (!h.Private && h.Channel == a.in.Channel || h.Shared == a.in.Channel)
}

func (a *act) ping(ctx context.Context) error {
	open, err := a.Store.Find(ctx, workflow.Query{Team: a.in.Team, Open: true, Limit: 10_000})
	if err != nil {
		return err
	}
	ahead, err := a.ahead(ctx)
	if err != nil {
		return err
	}
	took := max(a.Now().Sub(a.in.At), 0).Round(10 * time.Millisecond)
	return a.say(ctx, pong, took.String(), len(open), ahead)
}

func (a *act) help(ctx context.Context) error {
	paragraphs := []string{say(helpHead)}
	for _, u := range usages {
		paragraphs = append(paragraphs, usageLine(a.Command, u))
	}
	return a.answer(ctx, append(paragraphs, say(helpFoot, a.Name)))
}

// usageLine is one line of the help.
func usageLine(command string, u usage) string {
	if u.write != "" {
		command += " " + u.write
	}
	return fill("%s  %s", code(command), marks(marked(u.does)))
}

func (a *act) list(ctx context.Context) error {
	rows, err := a.Store.Find(ctx, workflow.Query{Team: a.in.Team, Channel: a.in.Channel, Limit: 20})
	if err != nil {
		return err
	}
	var lines []string
	for _, s := range rows {
		if !a.info.Direct || s.Requester == a.in.User {
			lines = append(lines, a.line(s))
		}
	}
	if len(lines) == 0 {
		return a.say(ctx, nothingHere, a.Command)
	}
	return a.answer(ctx, lines)
}

// line is one investigation in a list.
func (a *act) line(s workflow.Summary) string {
	row, _ := workflow.About(s.State)
	text := fill("%s  job %s, requested by %s %s ago: %s", code(s.ID), orUnknown(s.Job), person(s.Requester), ago(a.Now().Sub(s.Asked)), row.Doing)
	if s.Headline != "" {
		text += fill(" — %s", s.Headline)
	}
	if s.Outcome != "" {
		text += fill(" (rated: %s)", s.Outcome)
	}
	return text
}

// bare is a command without anything behind it, or a mention alone.
func (a *act) bare(ctx context.Context) error {
	if a.in.Kind == chat.Mention || a.in.Trigger == "" {
		if a.in.Thread == "" {
			return a.help(ctx)
		}
		inv, found, err := a.ofThread(ctx)
		switch {
		case err != nil:
			return err
		case !found:
			return a.say(ctx, notACase, a.Command)
		}
		return a.answer(ctx, a.statusOf(inv))
	}
	if ok, err := a.start(ctx, true); !ok {
		return err
	}
	return a.window(ctx, func(ctx context.Context) (blockkit.View, error) { return a.startView(ctx) })
}

// window opens a modal in time and fills it then.
func (a *act) window(ctx context.Context, fill func(ctx context.Context) (blockkit.View, error)) error {
	id, err := a.Surface.OpenView(ctx, a.in.Trigger, messages.LoadingView("One moment"))
	if errors.Is(err, chat.ErrTriggerExpired) {
		return a.say(ctx, tooSlow)
	}
	if err != nil {
		return fmt.Errorf("opening a window: %w", err)
	}
	view, err := fill(ctx)
	if err != nil {
		return err
	}
	view, _ = blockkit.FitView(view)
	if err := a.Surface.UpdateView(ctx, id, view); err != nil {
		return fmt.Errorf("filling a window: %w", err)
	}
	return a.finish(ctx)
}

func orUnknown(job string) string {
	if job == "" {
		return "(id unknown)"
	}
	return job
}

// ago writes a duration as people do.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return count(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return count(int(d.Hours()), "hour")
	}
	return count(int(d.Hours()/24), "day")
}

func count(n int, what string) string { return fmt.Sprintf("%d %s", n, plural(n, what, what+"s")) }
