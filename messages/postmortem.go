package messages

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/incident"
	"faultline/knowledge"
)

// Story is what is known of the people's side of an incident: how long each phase took, and what they said. The zero Story is of a report
// that nobody investigated in a team.
type Story struct {
	ID     string // F-12
	Phases []Phase
	Cause  string // as the people closed it; "" while they did not
	Fix    string
	By     string
	// Answers are what people say to the whys that no log answers, by question.
	Answers map[string]Said
	// Tasks are the action items as the team keeps them; nil: it has not begun to.
	Tasks []TeamTask
	// Price turns GPU hours into money.
	Price Price
	// Tests are what people found out about other causes.
	Tests []string
}

// Said is an answer of a person.
type Said struct{ Text, By string }

// TeamTask is an action item with its owner and state.
type TeamTask struct {
	Text, Owner, Due string
	Done             bool
}

// Phase is a part of the investigation.
type Phase struct {
	Name string
	Took time.Duration
}

// postmortem is the page in words, made once for both formats. All of it is redacted.
type postmortem struct {
	Title, Summary string
	Impact         []pair
	Timeline       []eventView
	More           int // events that are left out
	Clocks         []string
	Phases         []pair
	Whys           []whyLevel
	Ruled          []ruledOut
	RootTitle      string
	Roots          []pair
	Well, Badly    []string
	Actions        []actionItem
	Evidence       []proof
	CSS            template.CSS
}

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

// How much a post-mortem shows: it is one page.
const (
	postmortemEvents = 12
	postmortemProofs = 12
	proofsOfLink     = 3
	postmortemText   = 420
	daemonsWords     = 260
)

func postmortemOf(r *incident.Report, s Story) *postmortem {
	v := newView(r)
	p := &postmortem{}
	p.head(v)
	p.impact(v, s)
	p.Timeline = foldGroups(foldTeardown(v))
	if n := len(p.Timeline) - postmortemEvents; n > 0 {
		p.Timeline, p.More = p.Timeline[:postmortemEvents], n
	}
	for _, n := range v.Clocks {
		p.Clocks = append(p.Clocks, compared(n))
	}
	for _, ph := range s.Phases {
		p.Phases = append(p.Phases, pair{flat(ph.Name), minutes(ph.Took)})
	}
	p.whys(v)
	p.answered(s)
	p.roots(v, s)
	p.lessons(v, s)
	p.actions(v)
	p.kept(s.Tasks)
	p.evidence(v)
	return p
}

// head is the title and the summary, with the words of the daemon at fault where one speaks of its error.
func (p *postmortem) head(v *view) {
	r := v.Report
	p.Title = "Post-mortem: " + v.Headline
	if r.Job.ID != nil {
		p.Title = "Post-mortem of job " + flat(*r.Job.ID) + ": " + v.Headline
	}
	p.Summary = outcome(v, "")
	line := daemonsLine(r)
	if line == "" {
		return
	}
	if reason := reasonOf(line); reason != "" {
		p.Title += " (" + reason + ")"
	}
	p.Summary += " The log of the storage daemon says: “" + cutAfter(line, daemonsWords) + "”."
}

// daemonsLine is the line in which the storage daemon at fault tells of its trouble; "" where none is.
func daemonsLine(r *incident.Report) string {
	c := r.Verdict.Root.Component
	if c == nil || !strings.HasPrefix(*c, knowledge.DaemonPrefix) {
		return ""
	}
	for _, l := range r.Chain {
		if l.Role == incident.Cause && len(l.Evidence) > 0 {
			return flat(l.Evidence[0].Text)
		}
	}
	return ""
}

// reasonOf is the innermost error of a line of Go's form "…, err: read FILE: input/output error"; "" where it gives none.
func reasonOf(line string) string {
	const longest = 60
	_, err, ok := strings.Cut(line, "err: ")
	if !ok {
		return ""
	}
	if i := strings.LastIndex(err, ": "); i >= 0 {
		err = err[i+2:]
	}
	if len(err) > longest {
		return ""
	}
	return err
}

// foldTeardown makes one row of the errors that follow a timeout or an exit and are not the cause: they tell how processes end.
func foldTeardown(v *view) []eventView {
	var out []eventView
	ending, first, more := false, -1, 0
	for i, e := range v.Timeline {
		ending = ending || e.Kind == incident.EventTimeout || e.Kind == incident.EventExit
		switch teardown := ending && e.Kind == incident.EventError && !ofCause(v.Report, i); {
		case teardown && first >= 0:
			more++
			continue
		case teardown:
			first = len(out)
		}
		out = append(out, e)
	}
	if more > 0 {
		out[first].Event = strings.TrimSuffix(out[first].Event, ".") + "; then " + count(more, "more kind") + " of lines from processes going down"
	}
	return out
}

// ofCause says that a row of the timeline shows the cause, or what triggered it.
func ofCause(r *incident.Report, row int) bool {
	return row >= len(r.Timeline) || slices.ContainsFunc(r.Chain, func(l incident.Link) bool {
		return (l.Role == incident.Cause || l.Role == incident.Trigger) && cites(l.Evidence, r.Timeline[row].Evidence)
	})
}

// foldGroups makes one row of all groups that begin to wait, or give up, at the same time: they wait for one thing. Where all rows are of one
// day the date stands in the first alone.
func foldGroups(rows []eventView) []eventView {
	type moment struct{ kind, time string }
	var out []eventView
	at, more := map[moment]int{}, map[moment]int{}
	for _, e := range rows {
		m := moment{e.Kind, e.Time}
		_, seen := at[m]
		switch ofGroup := e.Kind == incident.EventWait || e.Kind == incident.EventTimeout; {
		case ofGroup && seen:
			more[m]++
			continue
		case ofGroup:
			at[m] = len(out)
		}
		out = append(out, e)
	}
	for m, n := range more {
		out[at[m]].Event += "; " + count(n, "more group") + " at the same time"
	}
	day := ""
	for i := range out {
		d, clock, ok := strings.Cut(out[i].Time, "T")
		if ok && d == day {
			out[i].Time = clock
		} else if ok {
			day, out[i].Time = d, d+" "+clock
		}
	}
	return out
}

// minutes is a duration as a person writes it down afterwards.
func minutes(d time.Duration) string {
	switch m := d.Minutes(); {
	case m < 1:
		return "less than a minute"
	case m < 90:
		return strconv.Itoa(int(m+0.5)) + " min"
	default:
		return strconv.FormatFloat(d.Hours(), 'f', 1, 64) + " h"
	}
}

func (p *postmortem) impact(v *view, s Story) {
	r := v.Report
	add := func(label, text string) {
		if text != "" {
			p.Impact = append(p.Impact, pair{label, text})
		}
	}
	if s.ID != "" {
		add("Incident", flat(s.ID))
	}
	add(labelConfidence, certaintyOf(r).String())
	add("GPU", gpuText(r))
	add(labelSeverity, severityText(r))
	add("Lost", cmp.Or(lostCost(r, s.Price), lostUnknown(r)))
	name := ""
	if n := r.Job.Name; n != nil && *n != "" {
		name = flat(*n) + ": "
	}
	if w := r.Job.WorldSize; w != nil {
		add("Job", name+count(*w, "rank")+onNodes(r))
	} else if n := len(r.Ranks); n > 0 {
		add("Job", name+"at least "+count(n, "rank")+onNodes(r))
	}
	if from, to := r.Job.StartTime, r.Job.EndTime; from != nil && to != nil {
		add("Ran", fromTo(flat(*from), flat(*to)))
	}
	if idle, ok := idled(r); ok {
		add("GPUs idle", minutes(idle)+" from the first failure to the end of the job"+idleCost(r, idle, s.Price))
	}
	if r.Verdict.Status != incident.NoFailure {
		add("Next run", nextRun(r))
	}
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

// fromTo is a time of day to another, with the second's date where it is another day.
func fromTo(from, to string) string {
	day, clock, ok := strings.Cut(from, "T")
	if last, end, both := strings.Cut(to, "T"); ok && both {
		if last == day {
			return day + " " + clock + " to " + end
		}
		return day + " " + clock + " to " + last + " " + end
	}
	return from + " to " + to
}

// gpuText is the number of the GPU of the one rank at the root, where its hardware is at fault and its local rank is known.
func gpuText(r *incident.Report) string {
	if len(r.Verdict.Root.Ranks) != 1 || !knowledge.Slug(r.Verdict.Mechanism).Is(knowledge.OneGPU) {
		return ""
	}
	i := slices.IndexFunc(r.Ranks, func(s incident.RankState) bool { return s.Rank == r.Verdict.Root.Ranks[0] })
	if i < 0 || r.Ranks[i].LocalRank == nil {
		return ""
	}
	local := *r.Ranks[i].LocalRank
	return fmt.Sprintf("%d on %s, by local rank %d (unless CUDA_VISIBLE_DEVICES reorders them)", local, flat(r.Ranks[i].Node), local)
}

func onNodes(r *incident.Report) string {
	n := 0
	switch stated := r.Job.NodesCount; {
	case stated != nil:
		n = *stated
	case len(r.Coverage.RanksMissing) == 0:
		n = len(r.Coverage.NodesSeen)
	}
	if n > 0 {
		return " on " + count(n, "node")
	}
	return ""
}

// idled is the time from the first event of the cause, or from when ranks began to wait, to the last line, where both have a time and it is
// worth a word.
func idled(r *incident.Report) (time.Duration, bool) {
	if r.Job.EndTime == nil || len(r.Chain) == 0 {
		return 0, false
	}
	end, ok := wallClock(*r.Job.EndTime)
	if !ok {
		return 0, false
	}
	for _, e := range r.Timeline {
		if e.Time == nil || e.Kind != incident.EventWait && !cites(r.Chain[0].Evidence, e.Evidence) {
			continue
		}
		if began, ok := wallClock(*e.Time); ok && end.Sub(began) >= time.Minute {
			return end.Sub(began), true
		}
		return 0, false
	}
	return 0, false
}

// cites says that two lists of evidence quote a line in common.
func cites(a, b []incident.Evidence) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Kind == incident.KindQuote && y.Kind == x.Kind && x.File == y.File && x.Line == y.Line {
				return true
			}
		}
	}
	return false
}

func wallClock(s string) (time.Time, bool) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(form, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func idleCost(r *incident.Report, d time.Duration, price Price) string {
	least, n := "", len(r.Ranks)
	if w := r.Job.WorldSize; w != nil {
		n = *w
	} else if n > 0 {
		least = "at least "
	}
	if n == 0 {
		return ""
	}
	hours := d.Hours() * float64(n)
	return " (" + least + gpuHours(hours) + price.of(hours) + ")"
}

// lostCost is what is lost; of what goes on, what an hour of it costs.
func lostCost(r *incident.Report, price Price) string {
	text := lostText(r.Action.Lost)
	if h := r.Action.Lost.GPUHours; h != nil {
		return text + price.of(*h)
	}
	if s := r.Severity; s != nil && s.Per == incident.PerHour {
		return gpuHours(s.GPUHours) + price.of(s.GPUHours) + " in each hour that it goes on"
	}
	return text
}

// lostUnknown says why it is not known what is lost.
func lostUnknown(r *incident.Report) string {
	if r.Verdict.Status == incident.NoFailure || r.Verdict.Ending == incident.EndRunning || r.Action.ResumeFrom != nil {
		return ""
	}
	text := "steps unknown: these logs show no completed checkpoint"
	idle, _ := idled(r)
	if trained := ranFor(r) - idle; trained > 0 && r.Job.ResumedFrom == nil {
		text += "; at most what this run did in " + minutes(trained)
	}
	return text
}

func (p *postmortem) roots(v *view, s Story) {
	r := v.Report
	root := strings.TrimSuffix(withSummary(v, v.Headline, postmortemText), ".")
	p.RootTitle = "Root cause"
	switch r.Verdict.Status {
	case incident.NoFailure:
		p.RootTitle = "Result"
	case incident.Inconclusive:
		p.RootTitle = "Root cause (open)"
	}
	if c := certaintyOf(r); c.apart() {
		root = "Not found. Known: " + root
	}
	p.Roots = append(p.Roots, pair{p.RootTitle, root + "."})
	if why := sentence(capital(flat(r.Verdict.Why))); r.Verdict.Why != "" {
		if i := slices.IndexFunc(r.Chain, func(l incident.Link) bool { return l.Role == incident.Cause }); i >= 0 {
			if at := places(r.Chain[i].Evidence); at != "" {
				why += " See " + at + "."
			}
		}
		p.Roots = append(p.Roots, pair{"How we know", why})
	}
	for _, l := range r.Chain {
		if l.Role == incident.Trigger {
			p.Roots = append(p.Roots, pair{"Contributing", sentence(flat(l.Statement))})
		}
	}
	for _, t := range s.Tests {
		p.Roots = append(p.Roots, pair{"Tested", sentence(flat(t))})
	}
	if s.Cause != "" {
		p.Roots = append(p.Roots, pair{"Cause given at closing", sentence(flat(s.Cause)) + by(s)})
	}
	if s.Fix != "" {
		p.Roots = append(p.Roots, pair{"What fixed it", sentence(flat(s.Fix)) + by(s)})
	}
}

func by(s Story) string {
	if s.By == "" {
		return ""
	}
	return " (" + flat(s.By) + ")"
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

// evidence quotes what the whys rest on.
func (p *postmortem) evidence(v *view) {
	var lists [][]incident.Evidence
	for _, l := range backwards(v.Report) {
		lists = append(lists, l.Evidence)
	}
	if n := v.Report.Narrowing; n != nil {
		for _, f := range slices.Concat(n.RulesOut, n.Lingered) {
			lists = append(lists, f.Evidence)
		}
	}
	seen := map[string]bool{}
	for _, list := range lists {
		of := 0
		for _, pr := range proofs(list) {
			if pr.Quote && !seen[pr.Where] && of < proofsOfLink && len(p.Evidence) < postmortemProofs {
				seen[pr.Where] = true
				of++
				p.Evidence = append(p.Evidence, proof{pr.Where, clip(pr.Text, postmortemText), true})
			}
		}
	}
}
