package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"faultline/config"
	"faultline/messages/blockkit"
	"faultline/messages/redact"
	"faultline/preflight"
	"faultline/workflow"
)

// mostTicks bounds the buttons of a list: a message holds no more in a row.
const mostTicks = 20

// checklist goes through a list for a case: it shows it, or notes that an item is so, or is not.
func (a *act) checklist(ctx context.Context, inv workflow.Investigation, o order) error {
	words := strings.Fields(strings.ToLower(o.rest))
	if len(words) == 0 {
		return a.listsOf(ctx, inv)
	}
	items, _, err := ItemsOf(a.policy.Checklists, words[0])
	if err != nil {
		return a.say(ctx, listNone, shown(words[0]), a.Command, inv.ID)
	}
	id, so := "", true
	if len(words) > 1 {
		id = words[1]
		so = !slices.Contains(words[2:], "undo")
	}
	if id != "" && !slices.ContainsFunc(items, func(it preflight.Item) bool { return it.ID == id }) {
		return a.say(ctx, listNoItem, words[0], shown(id))
	}
	e, err := a.evidence(ctx, inv)
	if err != nil {
		return err
	}
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		return a.goThrough(inv, words[0], items, e, id, so)
	})
}

// goThrough shows a list, with an item that is ticked before, or no longer is.
func (a *act) goThrough(inv *workflow.Investigation, list string, items []preflight.Item, e *preflight.Evidence, id string, so bool) change {
	inv.Work = inv.Working()
	c := change{entry: "asked for the checklist " + list, answer: say(listShown, list, inv.ID)}
	if id != "" {
		inv.Work.Tick(list, id, a.in.User, a.Now(), so)
	}
	l := inv.Work.List(list)
	stands := *e
	for _, t := range l.Ticks {
		stands.Ticked = append(stands.Ticked, t.ID)
	}
	items = preflight.Tick(items, &stands)
	d := &draft{inv: inv}
	fresh := id == "" || l.Key == ""
	if fresh {
		l.Key = fmt.Sprintf("checklist-%s-%d", list, inv.Version+1)
	}
	m := listMessage(inv, l, items, a.Command)
	if fresh {
		d.thread(l.Key, m)
	} else {
		d.send(workflow.PostEdit, l.Key, "", m)
	}
	d.about("checklist")
	if id != "" {
		verb := map[bool]string{true: "ticked", false: "no longer ticked"}[so]
		c.entry, c.answer = fmt.Sprintf("checklist %s: %s %s", list, id, verb), say(listTicked, list, id, verb, standing(items))
	}
	c.posts = d.posts
	return c
}

// ticked is an item that somebody says is so with a button.
func (a *act) ticked(ctx context.Context, inv workflow.Investigation, t target) error {
	return a.checklist(ctx, inv, order{rest: strings.ReplaceAll(t.rest, "/", " ")})
}

// listsOf says which lists there are, and what was ticked of them here.
func (a *act) listsOf(ctx context.Context, inv workflow.Investigation) error {
	names := preflight.Checklists()
	for _, c := range a.policy.Checklists {
		names = append(names, c.Name)
	}
	out := []string{say(listWhich, a.Command, inv.ID)}
	for _, name := range names {
		items, _, err := ItemsOf(a.policy.Checklists, name)
		if err != nil {
			continue
		}
		text := fill("• %s: %s", code(name), count(len(items), "item"))
		if i := slices.IndexFunc(inv.Work.Lists, func(l workflow.Checklist) bool { return l.Name == name }); i >= 0 {
			text += fmt.Sprintf(", %d ticked by people here", len(inv.Work.Lists[i].Ticks))
		}
		out = append(out, text)
	}
	return a.answer(ctx, out)
}

// evidence is what the report of a case, and the channel's earlier ones, show of items.
func (a *act) evidence(ctx context.Context, inv workflow.Investigation) (*preflight.Evidence, error) {
	e := &preflight.Evidence{Shown: map[string]preflight.Shown{}}
	if inv.Report == nil || inv.Report.Triage != nil {
		return e, nil
	}
	past, err := a.earlierRuns(ctx, inv)
	if err != nil {
		return nil, err
	}
	showBy(e, redact.Report(inv.Report), past)
	return e, nil
}

// standing is how far a list is.
func standing(items []preflight.Item) string {
	so, critical := 0, 0
	for _, it := range items {
		switch {
		case it.State == preflight.Passed:
			so++
		case it.Critical:
			critical++
		}
	}
	text := fmt.Sprintf("%d of %d ticked", so, len(items))
	if critical > 0 {
		text += fmt.Sprintf(", %s open", count(critical, "critical item"))
	}
	return text
}

// boxes are how items are ticked in a message.
var boxes = map[preflight.State]string{preflight.Passed: "☑", preflight.Failed: "☒", preflight.Open: "☐"}

// listMessage is a list with a button for each item that a person can tick.
func listMessage(inv *workflow.Investigation, l *workflow.Checklist, items []preflight.Item, command string) blockkit.Message {
	out := []string{say(listHead, l.Name, standing(items))}
	var buttons []blockkit.Button
	for _, it := range items {
		text := fill("%s %s %s", boxes[it.State], code(it.ID), strings.TrimSuffix(redact.String(it.Text), "."))
		if it.Critical {
			text += " (critical)"
		}
		i := slices.IndexFunc(l.Ticks, func(t workflow.Ticked) bool { return t.ID == it.ID })
		switch {
		case it.State == preflight.Passed && i >= 0 && it.Proof == preflight.ByPerson:
			text += fill(". %s, %s.", person(l.Ticks[i].By), l.Ticks[i].At.UTC().Format("2 January"))
		case it.Proof != "" && it.State == preflight.Open:
			text += fill(". %s can tell: %s.", code("bot check"), strings.TrimSuffix(redact.String(it.Proof), "."))
		case it.Proof != "":
			text += fill(": %s", sentence(redact.String(it.Proof)))
		default:
			text += "."
		}
		out = append(out, text)
		if it.State == preflight.Open && len(buttons) < mostTicks {
			buttons = append(buttons, blockkit.Button{ActionID: actTick + "/" + l.Name + "-" + it.ID, Value: fmt.Sprintf("%s 0 %s/%s", name(inv), l.Name, it.ID), Text: blockkit.Plain("Tick " + it.ID)})
		}
	}
	return message(append(out, say(listFoot, l.Name, command, inv.ID)), buttons...)
}

// ItemsOf are the items of a list of a team's own, with those that it includes in front, else of one that is built in, and the commands of
// items that have one, by id.
func ItemsOf(own []config.Checklist, name string) ([]preflight.Item, map[string]string, error) {
	i := slices.IndexFunc(own, func(c config.Checklist) bool { return c.Name == name })
	if i < 0 {
		items, ok := preflight.Checklist(name)
		if !ok {
			names := preflight.Checklists()
			for _, c := range own {
				names = append(names, c.Name)
			}
			return nil, nil, fmt.Errorf("there is none; choose one of %s", strings.Join(names, ", "))
		}
		return items, nil, nil
	}
	var items []preflight.Item
	commands := map[string]string{}
	for _, base := range own[i].Includes {
		included, ok := preflight.Checklist(base)
		if !ok {
			return nil, nil, fmt.Errorf("it includes %q, which is none of %s", base, strings.Join(preflight.Checklists(), ", "))
		}
		for _, it := range included {
			if !slices.ContainsFunc(items, func(o preflight.Item) bool { return o.ID == it.ID }) {
				items = append(items, it)
			}
		}
	}
	for _, it := range own[i].Items { // one of the same id takes the place of an included one
		items = slices.DeleteFunc(items, func(o preflight.Item) bool { return o.ID == it.ID })
		items = append(items, preflight.Item{ID: it.ID, Text: it.Text, Critical: it.Critical})
		if it.Run != "" {
			commands[it.ID] = it.Run
		}
	}
	return items, commands, nil
}
