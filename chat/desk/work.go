package desk

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"faultline/incident"
	"faultline/knowledge"
	"faultline/messages"
	"faultline/messages/blockkit"
	"faultline/messages/redact"
	"faultline/pattern"
	"faultline/workflow"
)

var (
	// itemForm is how people name a cause, a why or a task: h1, w4, a2.
	itemForm = pattern.New(`^([hwa])([1-9][0-9]?)$`)
	// dayForm is a day as it is written.
	dayForm = pattern.New(`^20[0-9]{2}-[0-9]{2}-[0-9]{2}$`)
	// mentionForm is a person as the chat writes them.
	mentionForm = pattern.New(`^<@([UW][A-Z0-9]+)(?:\|[^>]*)?>$`)
)

// mostTasks bounds what a team can add to a case.
const mostTasks = 30

// work shows what there is to do about a case, or notes what somebody did.
func (a *act) work(ctx context.Context, inv workflow.Investigation, o order) error {
	if inv.Report == nil || inv.Report.Triage != nil {
		return a.say(ctx, postmortemNone, inv.ID)
	}
	words := strings.Fields(o.rest)
	if len(words) == 0 {
		return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
			inv.Work = inv.Working()
			d := &draft{inv: inv}
			d.thread(fmt.Sprintf("work-%d", inv.Version+1), workMessage(inv, a.Command))
			d.about("work")
			return change{posts: d.posts, entry: "asked for the open work", answer: say(workShown, inv.ID)}
		})
	}
	head, rest := strings.ToLower(words[0]), words[1:]
	if head == "add" {
		return a.takeOn(ctx, inv, 0, rest)
	}
	m := itemForm.FindStringSubmatch(head)
	if m == nil {
		return a.say(ctx, workWhat, a.Command, inv.ID)
	}
	n, _ := strconv.Atoi(m[2])
	w := inv.Working()
	switch {
	case m[1] == "h" && n <= len(w.Causes):
		return a.testedCause(ctx, inv, n, rest)
	case m[1] == "w" && n <= len(w.Whys) && w.Whys[n-1].Answer != "" && w.Whys[n-1].By == "":
		return a.say(ctx, workProven, head)
	case m[1] == "w" && n <= len(w.Whys):
		return a.answerWhy(ctx, inv, n, strings.Join(rest, " "))
	case m[1] == "a" && n <= len(w.Tasks):
		return a.takeOn(ctx, inv, n, rest)
	}
	return a.say(ctx, workNone, head, a.Command, inv.ID)
}

// testedCause notes what somebody found about a cause.
func (a *act) testedCause(ctx context.Context, inv workflow.Investigation, n int, words []string) error {
	state := ""
	if len(words) > 0 {
		state = causeWords[strings.ToLower(strings.TrimSuffix(words[0], ":"))]
	}
	if state == "" {
		return a.say(ctx, workState, strings.Join(workflow.CauseStates[1:], "`, `"))
	}
	found := workflow.Cause{State: state, Text: redact.String(strings.Join(words[1:], " ")), By: a.in.User, At: a.Now()}
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		inv.Work = inv.Working()
		rev := inv.Work.Tested(inv.Report, n, found)
		c := change{entry: fmt.Sprintf("cause h%d: %s", n, state), answer: say(workNoted, "h"+strconv.Itoa(n), causeSaid[state])}
		d := &draft{inv: inv}
		if rev != nil {
			d.thread(fmt.Sprintf("narrowed-%d", inv.Version+1), messages.RevisionPost([]incident.Revision{*rev}, inv.Acting))
			d.about("narrowed")
			inv.Notes = append(inv.Notes, fill("%s", sentence(rev.Now)))
		}
		c.posts = d.posts
		return c
	})
}

// causeWords are results as people write them, causeSaid as answers repeat them.
var (
	causeWords = map[string]string{
		"running": workflow.CauseRunning, "supports": workflow.CauseSupports, "supported": workflow.CauseSupports, "yes": workflow.CauseSupports, "true": workflow.CauseSupports,
		"contradicts": workflow.CauseContradicts, "contradicted": workflow.CauseContradicts, "no": workflow.CauseContradicts, "false": workflow.CauseContradicts,
		"inconclusive": workflow.CauseInconclusive, "open": workflow.CauseOpen,
	}
	causeSaid = map[string]string{
		workflow.CauseOpen: "open", workflow.CauseRunning: "being tested", workflow.CauseSupports: "supported", workflow.CauseContradicts: "contradicted", workflow.CauseInconclusive: "inconclusive",
	}
)

// answerWhy notes a person's answer to a why.
func (a *act) answerWhy(ctx context.Context, inv workflow.Investigation, n int, text string) error {
	if text == "" {
		return a.say(ctx, workAnswer, a.Command, inv.ID, n)
	}
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		inv.Work = inv.Working()
		y := &inv.Work.Whys[n-1]
		y.Answer, y.By, y.At = redact.String(text), a.in.User, a.Now()
		return change{entry: fmt.Sprintf("answered why %d", n), answer: say(workLast, n, inv.ID)}
	})
}

// takeOn notes who does a task, until when, or that it is done; with 0 it is a new one.
func (a *act) takeOn(ctx context.Context, inv workflow.Investigation, n int, words []string) error {
	t, day, ok := a.readTask(words)
	if !ok {
		return a.say(ctx, workDay, day)
	}
	if n == 0 && (t.Text == "" || len(inv.Work.Tasks) >= mostTasks) {
		return a.say(ctx, workWhat, a.Command, inv.ID)
	}
	return a.change(ctx, inv.ID, func(inv *workflow.Investigation) change {
		inv.Work = inv.Working()
		if n == 0 {
			inv.Work.Tasks = append(inv.Work.Tasks, workflow.Task{Text: knowledge.Capital(t.Text)})
			n = len(inv.Work.Tasks)
		}
		task := &inv.Work.Tasks[n-1]
		if t.Owner != "" {
			task.Owner = t.Owner
		}
		if !t.Done.IsZero() {
			task.Done, task.By = t.Done, a.in.User
		}
		c := change{entry: fmt.Sprintf("task a%d", n), answer: say(workTask, n, marks(taskText(*task)))}
		if !t.Due.IsZero() {
			task.Due = t.Due
			c.jobs = []workflow.Job{inv.Remind(n, 0, a.Now())}
			c.answer = say(workTask, n, marks(taskText(*task)))
		}
		return c
	})
}

// readTask reads what is said of a task: a person, a day, that it is done; the rest are words. day is one that is none.
func (a *act) readTask(words []string) (t workflow.Task, day string, ok bool) {
	var text []string
	for _, w := range words {
		switch lower := strings.ToLower(w); {
		case lower == "done" && len(words) == 1:
			t.Done = a.Now()
		case lower == "me":
			t.Owner = a.in.User
		case mentionForm.MatchString(w):
			t.Owner = mentionForm.FindStringSubmatch(w)[1]
		case strings.HasPrefix(w, "@") && len(w) > 1:
			t.Owner = redact.String(shown(w))
		case dayForm.MatchString(w):
			due, err := time.Parse(time.DateOnly, w)
			if err != nil {
				return t, w, false
			}
			t.Due = due.Add(dueHour)
		default:
			text = append(text, w)
		}
	}
	t.Text = redact.String(shown(strings.Join(text, " ")))
	return t, "", true
}

// dueHour is when on its day a task is reminded of, in UTC.
const dueHour = 9 * time.Hour

// taskText is a task in a line.
func taskText(t workflow.Task) string {
	text := fill("%s", strings.TrimSuffix(t.Text, "."))
	if t.Owner != "" {
		text += ", " + owner(t.Owner)
	}
	switch {
	case !t.Done.IsZero():
		text += ", done"
	case !t.Due.IsZero():
		text += ", due " + t.Due.Format("2 January 2006")
	case t.When != "":
		text += ", " + t.When
	}
	return text
}

// owner is a person by their name, or what was written.
func owner(o string) string {
	if mentionForm.MatchString("<@" + o + ">") {
		return fill("%s", person(o))
	}
	return fill("%s", o)
}

// workMessage lists what there is to do.
func workMessage(inv *workflow.Investigation, command string) blockkit.Message {
	var out []string
	group := func(title string, n int) {
		if n > 0 {
			out = append(out, marked("*"+title+"*"))
		}
	}
	group("Causes to test", len(inv.Work.Causes))
	for i, c := range inv.Work.Causes {
		out = append(out, causeText(i+1, c))
	}
	group("Five whys", len(inv.Work.Whys))
	for i, y := range inv.Work.Whys {
		text := fill("%s %s", code("w"+strconv.Itoa(i+1)), y.Question)
		switch {
		case y.By != "":
			text += fill(" %s: %s", person(y.By), sentence(y.Answer))
		case y.Answer != "":
			text += fill(" %s", y.Answer)
		default:
			text += " (open)"
		}
		out = append(out, text)
	}
	group("Action items", len(inv.Work.Tasks))
	for i, t := range inv.Work.Tasks {
		box := "☐"
		if !t.Done.IsZero() {
			box = "☑"
		}
		out = append(out, fill("%s %s %s.", box, code("a"+strconv.Itoa(i+1)), marks(taskText(t))))
	}
	out = append(out, say(workFoot, command, inv.ID))
	return message(out)
}

// causeText is a cause in a line: who found what, else what tests it.
func causeText(n int, c workflow.Cause) string {
	text := fill("%s %s (%s).", code("h"+strconv.Itoa(n)), strings.TrimSuffix(knowledge.Capital(c.Title), "."), causeSaid[c.State])
	if c.By != "" {
		text += fill(" %s", person(c.By))
		if c.Text != "" {
			text += fill(": %s", sentence(c.Text))
		}
	}
	if c.State != workflow.CauseOpen {
		return text
	}
	if c.Test != "" {
		text += fill(" Test: %s", sentence(c.Test))
	}
	if c.Command != "" {
		text += fill(" %s", code(c.Command))
	}
	if c.Tell != "" {
		text += fill(" How to tell: %s", sentence(c.Tell))
	}
	return text
}

// due reminds of a task.
func (d *draft) due() {
	t := d.inv.Work.Tasks[d.n.Due-1]
	who := owner(t.Owner)
	if t.Owner == "" {
		who = fill("%s", person(d.inv.Home.Requester))
	}
	d.note("due", say(threadDue, marks(who), d.n.Due, sentence(t.Text), t.Due.Format("2 January"), d.inv.ID))
}
