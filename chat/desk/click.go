package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"faultline/messages"
	"faultline/messages/blockkit"
	"faultline/workflow"
)

// deed is what a button does.
type deed struct {
	// trusted: only the person who asked and trusted people.
	trusted bool
	// question: the button answers the question whose number is in its value.
	question bool
	do       func(a *act, ctx context.Context, inv workflow.Investigation, t target) error
}

// target is what the value of a button says besides the investigation.
type target struct {
	key    string // of the investigation
	number int    // of a question or a verdict; 0 = none
	rest   string // what follows
}

// deeds is a function, not a table, because some of them read it.
func deeds() map[string]deed {
	return map[string]deed{
		actAccess:  {trusted: true, question: true, do: (*act).askAccess},
		actSkip:    {trusted: true, question: true, do: (*act).skipStorage},
		actAISLogs: {trusted: true, question: true, do: (*act).askUpload},
		actStorage: {trusted: true, do: func(a *act, ctx context.Context, inv workflow.Investigation, _ target) error {
			return a.offerStorage(ctx, inv)
		}},
		actUpload:   {do: (*act).askUpload},
		actLookNow:  {question: true, do: (*act).lookNow},
		actWhenEnds: {question: true, do: (*act).whenItEnds},
		actJob:      {question: true, do: (*act).chooseJob},
		actGlossary: {do: (*act).glossary},
		actMute: {trusted: true, do: func(a *act, ctx context.Context, inv workflow.Investigation, _ target) error {
			return a.mute(ctx, inv)
		}},
		actOwn: {do: func(a *act, ctx context.Context, inv workflow.Investigation, _ target) error {
			return a.own(ctx, inv)
		}},
		actCancel: {trusted: true, do: func(a *act, ctx context.Context, inv workflow.Investigation, _ target) error {
			return a.cancel(ctx, inv)
		}},
		actRerun: {do: func(a *act, ctx context.Context, inv workflow.Investigation, _ target) error {
			return a.rerun(ctx, inv)
		}},
		actRetry:  {do: (*act).retry},
		actTested: {do: (*act).pressed},
		actSubmit: {do: (*act).submitTest},
		actTick:   {do: (*act).ticked},
		actRepro: {do: func(a *act, ctx context.Context, inv workflow.Investigation, _ target) error {
			return a.repro(ctx, inv)
		}},
		actLeave:   {question: true, do: (*act).leave},
		actShare:   {trusted: true, do: (*act).share},
		actDispute: {do: (*act).askDispute},
		actUphold:  {trusted: true, do: (*act).uphold},
		actClose:   {trusted: true, do: (*act).askClose},
		actStatus: {do: func(a *act, ctx context.Context, inv workflow.Investigation, _ target) error {
			return a.answer(ctx, a.statusOf(inv))
		}},
	}
}

func (a *act) click(ctx context.Context) error {
	action, _, _ := strings.Cut(a.in.Action, "/") // buttons of one row differ by what follows
	a.verb = action
	if ok, err := a.enter(ctx); !ok {
		return err
	}
	switch action {
	case actCluster, actOpen:
		return a.clusterChosen(ctx, action == actOpen)
	case actSetup:
		return a.saveDraft(ctx)
	}
	d, known := deeds()[action]
	if !known {
		a.verb = "unknown"
		return a.say(ctx, unknownButton)
	}
	id, t := readValue(a.in.Value)
	inv, err := a.Store.Load(ctx, id)
	if errors.Is(err, workflow.ErrUnknown) {
		return a.say(ctx, noSuchCase, shown(id))
	}
	if err != nil {
		return err
	}
	if of, err := a.belongs(ctx, inv, t); err != nil {
		return err
	} else if !of {
		return a.refuse(ctx, "", refusedCase, lostCase, id, a.Command)
	}
	if !a.sees(inv) {
		return a.refuse(ctx, inv.ID, refusedCase, noSuchCase, shown(id))
	}
	a.retire(ctx, inv)
	if rule, ok := a.policy.rule(inv.Home); (!ok || rule.ReadOnly) && action != actGlossary && action != actStatus {
		return a.refuse(ctx, inv.ID, refusedReadOnly, readOnly)
	}
	unasked := t.number == 0 && slices.Contains([]string{actLookNow, actAccess, actAISLogs}, action)
	if d.question && !unasked && !slices.ContainsFunc(inv.Open, func(q workflow.Question) bool { return q.ID == t.number }) {
		return a.stale(ctx, inv, action)
	}
	if d.trusted {
		if ok, err := a.trusted(ctx, inv); err != nil {
			return err
		} else if !ok {
			return a.refuse(ctx, inv.ID, refusedPerson, notYours, "do that", person(inv.Home.Requester))
		}
	}
	return d.do(a, ctx, inv, t)
}

// readValue reads "F-12/key 3 rest".
func readValue(value string) (id string, t target) {
	name, rest, _ := strings.Cut(value, " ")
	number, rest, _ := strings.Cut(rest, " ")
	t.number, _ = strconv.Atoi(number)
	t.rest = rest
	id, t.key, _ = strings.Cut(name, "/")
	return id, t
}

// belongs says whether what was clicked or sent belongs to this investigation, and not to one that had its id before a restore. Buttons
// of earlier versions carry no key; their message must be one of this investigation's.
func (a *act) belongs(ctx context.Context, inv workflow.Investigation, t target) (bool, error) {
	if t.key != "" || inv.Key == "" {
		return t.key == inv.Key, nil
	}
	posts, err := a.Store.Posts(ctx, inv.ID)
	return err == nil && slices.ContainsFunc(posts, func(p workflow.Post) bool {
		return p.TS != "" && p.TS == a.in.Message && p.Channel == a.in.Channel
	}), err
}

// retire turns a second case file into a pointer to the first. Where nobody could tell whether the first attempt to post it had arrived,
// it was sent again and says so; a click on another message in the channel shows that both are there. The click counts all the same.
func (a *act) retire(ctx context.Context, inv workflow.Investigation) {
	inThread := a.in.Thread != "" && a.in.Thread != a.in.Message
	if a.in.Message == "" || inThread || a.in.Channel != inv.Home.Channel {
		return
	}
	known, err := a.Store.Posted(ctx, inv.ID, workflow.KeyCase)
	if err != nil || !known.Marked || known.Channel != a.in.Channel {
		return
	}
	posts, err := a.Store.Posts(ctx, inv.ID)
	if err != nil || slices.ContainsFunc(posts, func(p workflow.Post) bool { return p.TS == a.in.Message }) {
		return
	}
	if err := a.Surface.Replace(ctx, a.in.Channel, a.in.Message, message([]string{say(sentTwice, inv.ID, link(known.Link))})); err != nil {
		// An answer that only one person sees has buttons too, and cannot be changed.
		a.Log.Info("a message that looks like a second case file was left in place", "investigation", inv.ID, "error", told(err))
	}
}

// stale answers a click on a question that is settled: by whom, where the ledger knows.
func (a *act) stale(ctx context.Context, inv workflow.Investigation, action string) error {
	settles := map[string][]workflow.Event{
		actAccess: {workflow.AISGiven, workflow.SkipStorage}, actSkip: {workflow.AISGiven, workflow.SkipStorage}, actAISLogs: {workflow.AISGiven, workflow.SkipStorage},
		actLookNow: {workflow.LookNow, workflow.LogsGiven, workflow.Cancel}, actWhenEnds: {workflow.LookNow, workflow.LogsGiven, workflow.Cancel},
		actJob: {workflow.Evidence},
	}[action]
	entries, err := a.Store.Ledger(ctx, inv.ID)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(entries) {
		if e.Actor != "" && slices.Contains(settles, e.Event) {
			return a.say(ctx, staleClick, person(e.Actor), e.At.UTC().Format(timeForm))
		}
	}
	return a.say(ctx, staleQuestion)
}

func (a *act) lookNow(ctx context.Context, inv workflow.Investigation, t target) error {
	return a.apply(ctx, inv, workflow.Input{Event: workflow.LookNow, Text: "look now, while the job is running", Question: t.number}, looksNow)
}

func (a *act) whenItEnds(ctx context.Context, inv workflow.Investigation, t target) error {
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		return change{notice: workflow.Notice{Answered: settle(inv, t.number)}, entry: "look when the job has ended", answer: say(waitsForEnd)}
	})
}

func (a *act) chooseJob(ctx context.Context, inv workflow.Investigation, t target) error {
	for _, q := range inv.Open {
		for _, item := range q.Items {
			if id, _, _ := strings.Cut(item, ","); q.ID == t.number && id == t.rest {
				return a.apply(ctx, inv, workflow.Input{Event: workflow.Evidence, JobID: id, Question: q.ID}, jobChosen, id)
			}
		}
	}
	return a.say(ctx, staleQuestion)
}

func (a *act) skipStorage(ctx context.Context, inv workflow.Investigation, t target) error {
	by := "skipped by " + a.in.User
	if inv.State == workflow.AwaitingAIS {
		return a.apply(ctx, inv, workflow.Input{Event: workflow.SkipStorage, Text: by, Question: t.number}, skipped)
	}
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		inv.Storage = by
		return change{notice: workflow.Notice{Answered: settle(inv, t.number)}, entry: "storage logs skipped", answer: say(skipped)}
	})
}

// leave says that what was asked for is not to be had: what decides next is asked for instead.
func (a *act) leave(ctx context.Context, inv workflow.Investigation, t target) error {
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		text := questionText(*inv, t.number)
		c := change{notice: a.Flow.Declined(inv, t.number), entry: "not available: " + text, answer: say(left)}
		if len(c.notice.Asks) > 0 {
			c.answer = say(leftNext)
		}
		return c
	})
}

// settle takes an open question away.
func settle(inv *workflow.Investigation, id int) []workflow.Question {
	var taken []workflow.Question
	inv.Open = slices.DeleteFunc(inv.Open, func(q workflow.Question) bool {
		if q.ID == id {
			taken = append(taken, q)
		}
		return q.ID == id
	})
	return taken
}

func (a *act) retry(ctx context.Context, inv workflow.Investigation, _ target) error {
	return a.apply(ctx, inv, workflow.Input{Event: workflow.Retry, Text: "asked for"}, retried)
}

func (a *act) uphold(ctx context.Context, inv workflow.Investigation, _ target) error {
	return a.apply(ctx, inv, workflow.Input{Event: workflow.Uphold, Text: "asked for"}, disputeUpheld)
}

// share shows a private investigation's verdict in the channel where it was asked for.
func (a *act) share(ctx context.Context, inv workflow.Investigation, _ target) error {
	switch {
	case inv.Home.Shared != "":
		return a.say(ctx, sharedBefore)
	case !inv.Home.Private || inv.Home.AskedIn == "" || inv.Report == nil:
		return a.say(ctx, notPrivate)
	}
	info, err := a.Surface.ChannelInfo(ctx, inv.Home.AskedIn)
	if err != nil {
		return fmt.Errorf("looking up the channel: %w", err)
	}
	rule, _ := a.policy.rule(inv.Home)
	switch {
	case info.Archived:
		return a.say(ctx, archived)
	case !info.Member:
		return a.say(ctx, notInChannel, a.Name)
	case info.Shared && !rule.External:
		return a.refuse(ctx, inv.ID, refusedShared, sharedChannel)
	}
	b, err := payload(verdictMessage(inv.Report, nil))
	if err != nil {
		return err
	}
	name := info.Name
	if name == "" {
		name = "its channel"
	}
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		inv.Home.Shared = inv.Home.AskedIn
		return change{entry: "shared with " + inv.Home.Shared, answer: say(shared, name), posts: []workflow.Post{{
			Investigation: inv.ID, Kind: workflow.PostMessage, Key: keyShared, Channel: inv.Home.Shared, Payload: b,
		}}}
	})
}

// clusterChosen is the answer to "several clusters know this job", or to "no cluster knows it": then anyway, to upload its logs.
func (a *act) clusterChosen(ctx context.Context, anyway bool) error {
	value, watch := strings.CutPrefix(a.in.Value, "watch ")
	o := parse(value)
	o.watch = watch
	if o.verb != "diagnose" || o.bad != "" || o.cluster == "" {
		return a.say(ctx, unknownButton)
	}
	o.anyway = anyway
	return a.diagnose(ctx, o)
}

func (a *act) glossary(ctx context.Context, inv workflow.Investigation, _ target) error {
	if inv.Report == nil {
		row, _ := workflow.About(inv.State)
		return a.say(ctx, noReport, row.Doing)
	}
	return a.window(ctx, func(context.Context) (blockkit.View, error) { return messages.GlossaryView(inv.Report), nil })
}

// private is what a modal brings back of the click that opened it: an investigation and a question, never a secret.
func private(inv workflow.Investigation, t target, action string) string {
	return fmt.Sprintf("%s %d %s", name(&inv), t.number, action)
}

// offerStorage says how the logs of the storage can be given, where nobody asks for them.
func (a *act) offerStorage(ctx context.Context, inv workflow.Investigation) error {
	if !slices.Contains(workflow.Allowed(inv.State), workflow.AISGiven) {
		row, _ := workflow.About(inv.State)
		return a.say(ctx, wrongState, row.Doing)
	}
	text := say(storageOffered, code(workflow.StorageCommands[0]), code(workflow.StorageCommands[1]))
	return a.answer(ctx, []string{text}, a.button(actAccess, name(&inv), "Give access"), a.button(actAISLogs, name(&inv), "Upload storage logs"))
}

func (a *act) askAccess(ctx context.Context, inv workflow.Investigation, t target) error {
	if t.number == 0 && !slices.Contains(workflow.Allowed(inv.State), workflow.AISGiven) {
		row, _ := workflow.About(inv.State)
		return a.say(ctx, wrongState, row.Doing)
	}
	rule, _ := a.policy.rule(inv.Home)
	return a.window(ctx, func(context.Context) (blockkit.View, error) {
		return messages.AISView(private(inv, t, actAccess), a.policy.profiles(rule, inv.Cluster), a.policy.TypedStorage, questionWhy(inv, t.number), nil), nil
	})
}

func (a *act) askUpload(ctx context.Context, inv workflow.Investigation, t target) error {
	if !accepts(inv.State) {
		row, _ := workflow.About(inv.State)
		return a.say(ctx, wrongState, row.Doing)
	}
	action, _, _ := strings.Cut(a.in.Action, "/")
	return a.window(ctx, func(context.Context) (blockkit.View, error) {
		return messages.UploadView(private(inv, t, action), questionText(inv, t.number)), nil
	})
}

// accepts says whether files can be given in a state; a step that is at work is only waited for.
func accepts(s workflow.State) bool {
	row, _ := workflow.About(s)
	return row.Kind == workflow.Working || slices.Contains(workflow.Allowed(s), workflow.LogsGiven)
}

func (a *act) askDispute(ctx context.Context, inv workflow.Investigation, t target) error {
	switch {
	case t.number != 0 && t.number != inv.Verdicts:
		return a.say(ctx, oldVerdict)
	case !slices.Contains(workflow.Allowed(inv.State), workflow.Dispute):
		row, _ := workflow.About(inv.State)
		return a.say(ctx, wrongState, row.Doing)
	}
	return a.window(ctx, func(context.Context) (blockkit.View, error) {
		return messages.DisputeView(private(inv, t, actDispute), nil), nil
	})
}

func (a *act) askClose(ctx context.Context, inv workflow.Investigation, t target) error {
	if !slices.Contains(workflow.Allowed(inv.State), workflow.Close) {
		row, _ := workflow.About(inv.State)
		return a.say(ctx, wrongState, row.Doing)
	}
	return a.window(ctx, func(context.Context) (blockkit.View, error) {
		return messages.CloseView(private(inv, t, actClose), inv.Told, nil), nil
	})
}

func question(inv workflow.Investigation, id int) workflow.Question {
	for _, q := range inv.Open {
		if q.ID == id {
			return q
		}
	}
	return workflow.Question{}
}

func questionText(inv workflow.Investigation, id int) string { return question(inv, id).Text }

func questionWhy(inv workflow.Investigation, id int) []string {
	if why := question(inv, id).Why; why != "" {
		return []string{why}
	}
	return nil
}
