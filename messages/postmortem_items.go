package messages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/incident"
)

type actionItem struct {
	Text, Command, Owner, Due string
	Done                      bool
}

// Box is how the item is ticked in text.
func (a actionItem) Box() string {
	if a.Done {
		return "[x]"
	}
	return "[ ]"
}

// nextRun is what the report says of it, after what others have to do first: what a team has to see to before it is not safe until then.
func nextRun(r *incident.Report) string {
	first := func(of func(incident.Recommendation) bool) bool {
		return slices.ContainsFunc(r.Recommendations, func(a incident.Recommendation) bool { return dueOf(a, r) == beforeNext && !past(a, r) && of(a) })
	}
	next := resubmitStep(r)
	switch {
	case first(func(a incident.Recommendation) bool { return teamOf(a.Owner) != teamOf("") }):
		next = strings.Replace(next, resubmitText("yes"), "Resubmit after the items that are due before the next run", 1)
		return strings.Replace(next, "OK to resubmit", "Resubmit after the items that are due before the next run", 1)
	case first(func(a incident.Recommendation) bool { return !ofSubmission(a) }):
		next += " First do the action items that are due before it."
	}
	return next
}

// ofSubmission says that an item is part of submitting the job again.
func ofSubmission(a incident.Recommendation) bool { return strings.HasPrefix(a.Command, "sbatch ") }

// dueOf is by when an item is due. What is looked up on a node that the next run leaves out does not hold that run up; what shows an unknown
// cause next time has to be there in the next run.
func dueOf(a incident.Recommendation, r *incident.Report) string {
	due := dues[a.When]
	switch {
	case a.When == "now" && teamOf(a.Owner) == teams["cluster"] && len(r.Action.ExcludeNodes) > 0:
		return "before " + nodeList(r.Action.ExcludeNodes) + " is used again"
	case a.When == "next-time" && (r.Verdict.Origin == originUnknown || r.Verdict.Status == incident.Inconclusive):
		return beforeNext
	}
	return due
}

// lessons are what the report itself shows to have gone well, and not.
func (p *postmortem) lessons(v *view, s Story) {
	r := v.Report
	c := &r.Coverage
	well := func(cond bool, text string) {
		if cond {
			p.Well = append(p.Well, text)
		}
	}
	badly := func(cond bool, text string) {
		if cond {
			p.Badly = append(p.Badly, text)
		}
	}
	well(r.Verdict.Status == incident.Confirmed, "The logs prove the cause.")
	if a := r.Action.ResumeFrom; a != nil {
		text := "A completed checkpoint existed: " + stepText(a)
		if s := r.Action.Lost.Steps; s != nil {
			text += ", " + count(int(*s), "step") + " lost"
		}
		well(true, text+".")
	}
	whole := c.RanksExpected != nil && len(c.RanksMissing) == 0 && len(c.NodesMissing) == 0 && len(c.FilesMissing) == 0
	well(whole, "Logs from every rank were available.")
	badly(r.Verdict.Status == incident.Inconclusive, "The logs don't show the cause; see the first action items.")
	badly(len(c.NodesMissing) > 0, "Logs from "+count(len(c.NodesMissing), "node")+" were missing: "+nodeList(c.NodesMissing)+".")
	badly(r.Action.ResumeFrom == nil && r.Verdict.Status != incident.NoFailure && ranFor(r) >= saveDue, "These logs show no completed checkpoint.")
	if idle, ok := idled(r); ok && idle >= keptLong {
		badly(true, "The job kept its GPUs for "+minutes(idle)+" after the failure.")
	}
	badly(s.ID != "" && len(r.Revisions) > 0, "An earlier conclusion was wrong and was corrected.")
}

// keptLong is for how long a job must have kept its GPUs after the failure for that to be a lesson.
const keptLong = 5 * time.Minute

// saveDue is after how long a job is expected to have saved at least once.
const saveDue = 30 * time.Minute

// ranFor is how long the job ran, 0 where that is not known.
func ranFor(r *incident.Report) time.Duration {
	if r.Job.StartTime == nil || r.Job.EndTime == nil {
		return 0
	}
	from, ok := wallClock(*r.Job.StartTime)
	to, known := wallClock(*r.Job.EndTime)
	if !ok || !known {
		return 0
	}
	return to.Sub(from)
}

// beforeNext is the due date of what the next run needs.
const beforeNext = "before the next run"

// dues are by when the items of each kind should be done.
var dues = map[string]string{"now": beforeNext, "structural": "to be decided", "next-time": "before the next long run"}

// itemsOf are how many items of each kind a page has.
var itemsOf = map[string]int{"now": 4, "structural": 2, "next-time": 2}

// teams are who takes an item on, by the report's word for its owner; whoever runs the job where it has none.
var teams = map[string]string{
	"data": "Data owner", "storage": "Storage team", "cluster": "Platform team", "scheduler": "Scheduler admins",
}

func teamOf(owner string) string {
	if t, ok := teams[owner]; ok {
		return t
	}
	return "Training team"
}

func (p *postmortem) actions(v *view) {
	r := v.Report
	each := map[string]int{}
	for _, a := range r.Recommendations {
		if past(a, r) {
			continue
		}
		if each[a.When]++; each[a.When] > itemsOf[a.When] {
			continue
		}
		p.Actions = append(p.Actions, actionItem{Text: sentence(flat(a.Text)), Command: flat(a.Command), Owner: teamOf(a.Owner), Due: dueOf(a, r)})
	}
	if idle, ok := idled(r); ok && idle >= keptLong {
		p.Actions = append(p.Actions, endSooner(r))
	}
	for _, w := range p.Whys {
		if w.Open {
			p.Actions = append(p.Actions, actionItem{Text: "Answer why " + strconv.Itoa(w.N) + ": " + asked(w.Question), Owner: teamOf(r.Action.Owner), Due: "at the review"})
			break
		}
	}
}

// asked is the question alone, without what is said of it.
func asked(question string) string {
	if q, _, more := strings.Cut(question, "? "); more {
		return q + "?"
	}
	return question
}

// endSooner is what keeps the next job from waiting as long: where a process of the cause exited, its launcher and srun can end the others;
// where it lives, only a shorter wait does.
func endSooner(r *incident.Report) actionItem {
	exited := slices.ContainsFunc(r.Timeline, func(e incident.Event) bool {
		return e.Kind == incident.EventExit && e.Rank != nil && slices.Contains(r.Verdict.Root.Ranks, *e.Rank)
	})
	item := actionItem{Owner: teamOf(""), Due: dues["next-time"]}
	if exited {
		item.Text, item.Command = "End the whole job when one process of it fails.", "srun --kill-on-bad-exit=1 …"
		return item
	}
	item.Text = "Shorten waits: limit the loader's reads and retries, and set the process group's timeout to little more than the longest healthy step or save."
	if i := slices.IndexFunc(r.Chain, func(l incident.Link) bool { return l.Kind == incident.LinkHeld }); i >= 0 && len(r.Verdict.Root.Ranks) == 1 {
		item.Text = fmt.Sprintf("Find out why rank %d neither failed nor logged after its last line (%s). ", r.Verdict.Root.Ranks[0], places(r.Chain[i].Evidence)) + item.Text
	}
	return item
}

// past says that an advice is no item for a team: the decision about the next run, or a cure of a cause that nothing shows.
func past(a incident.Recommendation, r *incident.Report) bool {
	first, _, _ := strings.Cut(a.Text, " ")
	return first == "Resubmit" || a.When == "structural" && r.Verdict.Origin == originUnknown
}

// kept puts the items as a team keeps them in the place of what the report proposes, with the commands of those.
func (p *postmortem) kept(tasks []TeamTask) {
	if tasks == nil {
		return
	}
	commands := map[string]string{}
	for _, a := range p.Actions {
		commands[a.Text] = a.Command
	}
	p.Actions = nil
	for _, t := range tasks {
		text := sentence(flat(t.Text))
		p.Actions = append(p.Actions, actionItem{text, commands[text], flat(t.Owner), flat(t.Due), t.Done})
	}
}
