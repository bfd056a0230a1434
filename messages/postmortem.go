package messages

import (
	"bufio"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"strconv"
	"strings"
	"sync"
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
	Phases         []pair
	Whys           []whyLevel
	RootTitle      string
	Roots          []pair
	Well, Badly    []string
	Actions        []actionItem
	Evidence       []proof
	CSS            template.CSS
}

// whyLevel is one level of the five whys.
type whyLevel struct {
	N                int
	Question, Answer string
	Proof            string // where the answer stands in the logs
	Open             bool   // for people to answer
}

type actionItem struct {
	Text, Owner, Due string
	Done             bool
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
	postmortemEvents  = 12
	postmortemProofs  = 10
	postmortemActions = 6
	postmortemWhys    = 5
	postmortemText    = 420
)

// toBeAnswered stands where only people can answer.
const toBeAnswered = "To be answered by the team."

func postmortemOf(r *incident.Report, s Story) *postmortem {
	v := newView(r)
	r = v.Report
	p := &postmortem{Title: "Post-mortem: " + v.Headline, Summary: brief(v, "")}
	if r.Job.ID != nil {
		p.Title = "Post-mortem of job " + flat(*r.Job.ID) + ": " + v.Headline
	}
	p.impact(v, s)
	for i, e := range v.Timeline {
		if i == postmortemEvents {
			p.More = len(v.Timeline) - i
			break
		}
		p.Timeline = append(p.Timeline, e)
	}
	for _, ph := range s.Phases {
		p.Phases = append(p.Phases, pair{flat(ph.Name), minutes(ph.Took)})
	}
	p.whys(v)
	p.answered(s)
	p.roots(v, s)
	p.lessons(v)
	p.actions(v)
	if s.Tasks != nil {
		p.Actions = nil
	}
	for _, t := range s.Tasks {
		p.Actions = append(p.Actions, actionItem{sentence(flat(t.Text)), flat(t.Owner), flat(t.Due), t.Done})
	}
	p.evidence(v)
	return p
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
	add(labelConfidence, confidenceWord(r.Verdict.Status))
	add(labelSeverity, severityText(r))
	add("Lost", lostText(r.Action.Lost))
	if w := r.Job.WorldSize; w != nil {
		add("Job", count(*w, "rank")+onNodes(r))
	} else if n := len(r.Ranks); n > 0 {
		add("Job", "at least "+count(n, "rank")+onNodes(r))
	}
	if from, to := r.Job.StartTime, r.Job.EndTime; from != nil && to != nil {
		add("Ran", flat(*from)+" to "+flat(*to))
	}
	if idle, ok := idled(r); ok {
		add("GPUs idle", minutes(idle)+" from the first failure to the end of the job"+idleCost(r, idle))
	}
	if a := r.Action.ResumeFrom; a != nil {
		add("Resume from", stepText(a))
	}
}

func onNodes(r *incident.Report) string {
	if n := r.Job.NodesCount; n != nil && *n > 0 {
		return " on " + count(*n, "node")
	}
	return ""
}

// idled is the time from the first event of the cause to the last line, where both have a time and it is worth a word.
func idled(r *incident.Report) (time.Duration, bool) {
	if r.Job.EndTime == nil || len(r.Chain) == 0 {
		return 0, false
	}
	end, ok := wallClock(*r.Job.EndTime)
	if !ok {
		return 0, false
	}
	for _, e := range r.Timeline {
		if e.Time == nil || !cites(r.Chain[0].Evidence, e.Evidence) {
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

func idleCost(r *incident.Report, d time.Duration) string {
	switch {
	case r.Job.WorldSize != nil:
		return " (" + gpuHours(d.Hours()*float64(*r.Job.WorldSize)) + ")"
	case len(r.Ranks) > 0:
		return " (at least " + gpuHours(d.Hours()*float64(len(r.Ranks))) + ")"
	}
	return ""
}

// whys goes from the end back to the cause, as far as the logs tell, and asks on from there.
func (p *postmortem) whys(v *view) {
	r := v.Report
	if r.Verdict.Status == incident.NoFailure {
		return
	}
	ask := func(question, answer, proof string) {
		p.Whys = append(p.Whys, whyLevel{N: len(p.Whys) + 1, Question: question, Answer: answer, Proof: proof, Open: answer == toBeAnswered})
	}
	question := "Why did the job end?"
	if r.Verdict.Ending == incident.EndRunning || r.Verdict.Origin == knowledge.Performance {
		question = "What was seen?"
	}
	for _, role := range []string{incident.Consequence, incident.Cause, incident.Trigger} {
		for i := range r.Chain {
			l := &r.Chain[i]
			if l.Role != role || len(p.Whys) >= 3 {
				continue
			}
			ask(question, sentence(flat(l.Statement)), places(l.Evidence))
			question = "Why did that happen?"
			break
		}
	}
	if len(p.Whys) == 0 {
		ask(question, v.Headline+".", "")
	}
	for _, q := range knowledge.Whys(knowledge.Slug(r.Verdict.Mechanism)) {
		if len(p.Whys) < postmortemWhys {
			ask(q, toBeAnswered, "")
		}
	}
	if len(p.Whys) < postmortemWhys {
		ask("Why wasn't it noticed or prevented earlier?", toBeAnswered, "")
	}
}

// answered puts people's answers under their questions, marked as theirs.
func (p *postmortem) answered(s Story) {
	for i := range p.Whys {
		w := &p.Whys[i]
		if said, ok := s.Answers[w.Question]; ok && w.Open {
			w.Answer, w.Open = sentence(flat(said.Text))+" (said by "+flat(said.By)+")", false
		}
	}
}

// places names the first lines of a piece of evidence.
func places(list []incident.Evidence) string {
	const most = 2
	var out []string
	for _, e := range list {
		if e.Kind == incident.KindQuote && len(out) < most {
			out = append(out, path.Base(flat(e.File))+":"+strconv.FormatInt(e.Line, 10))
		}
	}
	return strings.Join(out, ", ")
}

func (p *postmortem) roots(v *view, s Story) {
	r := v.Report
	root := v.Headline
	if saysMore(r.Verdict.Summary, v.Headline) && len(r.Verdict.Candidates) < 2 {
		root += ". " + strings.TrimSuffix(sentence(flat(r.Verdict.Summary)), ".")
	}
	p.RootTitle = "Root cause"
	switch r.Verdict.Status {
	case incident.NoFailure:
		p.RootTitle = "Result"
	case incident.Inconclusive:
		p.RootTitle = "Root cause (open)"
	}
	p.Roots = append(p.Roots, pair{p.RootTitle, root + "."})
	if r.Verdict.Why != "" {
		p.Roots = append(p.Roots, pair{"How we know", sentence(flat(r.Verdict.Why))})
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
func (p *postmortem) lessons(v *view) {
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
	if idle, ok := idled(r); ok && idle >= 5*time.Minute {
		badly(true, "The job kept its GPUs for "+minutes(idle)+" after the failure.")
	}
	badly(len(r.Revisions) > 0, "An earlier conclusion was wrong and was corrected.")
}

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

// dues are by when the items of each kind should be done.
var dues = map[string]string{"now": "before the next run", "structural": "to be decided", "next-time": "before the next long run"}

func (p *postmortem) actions(v *view) {
	r := v.Report
	owner := capital(ownerText(r.Action.Owner))
	each := map[string]int{}
	for _, a := range r.Recommendations {
		if each[a.When]++; each[a.When] > postmortemActions/len(dues) {
			continue
		}
		who := owner
		if a.When == "next-time" { // what is switched on in the job
			who = capital(ownerText(""))
		}
		p.Actions = append(p.Actions, actionItem{sentence(flat(a.Text)), who, dues[a.When], false})
	}
	for _, w := range p.Whys {
		if w.Open {
			p.Actions = append(p.Actions, actionItem{"Answer why " + strconv.Itoa(w.N) + ": " + w.Question, "TBD", "at the review", false})
			break
		}
	}
}

func (p *postmortem) evidence(v *view) {
	seen := map[string]bool{}
	for _, l := range v.Chain {
		for _, pr := range l.Proofs {
			if pr.Quote && !seen[pr.Where] && len(p.Evidence) < postmortemProofs {
				seen[pr.Where] = true
				p.Evidence = append(p.Evidence, proof{pr.Where, clip(pr.Text, postmortemText), true})
			}
		}
	}
}

// Postmortem writes the page as Markdown.
func Postmortem(w io.Writer, r *incident.Report, s Story) error {
	m := &md{w: bufio.NewWriter(w)}
	p := postmortemOf(r, s)
	m.f("# %s\n\n%s\n", esc(p.Title), esc(p.Summary))
	m.heading("Impact")
	m.pairs(p.Impact)
	m.heading("Timeline")
	m.f("| time | who | event | source |\n|---|---|---|---|\n")
	for _, e := range p.Timeline {
		m.f("| %s | %s | %s | %s |\n", esc(e.Time), esc(e.Who), esc(e.Event), code(e.Source()))
	}
	if p.More > 0 {
		m.f("\n%s in the report.\n", count(p.More, "more event"))
	}
	if len(p.Phases) > 0 {
		m.heading("Time spent")
		m.pairs(p.Phases)
	}
	if len(p.Whys) > 0 {
		m.heading("Five whys")
	}
	for _, x := range p.Whys {
		m.f("%d. **%s** %s", x.N, esc(x.Question), esc(x.Answer))
		if x.Proof != "" {
			m.f(" (%s)", code(x.Proof))
		}
		m.f("\n")
	}
	m.heading(p.RootTitle)
	m.pairs(p.Roots)
	for _, part := range []struct {
		name string
		list []string
	}{{"What went well", p.Well}, {"What went wrong", p.Badly}} {
		if len(part.list) == 0 {
			continue
		}
		m.heading(part.name)
		for _, l := range part.list {
			m.f("- %s\n", esc(l))
		}
	}
	if len(p.Actions) > 0 {
		m.heading("Action items")
		m.f("| done | what | owner | due |\n|---|---|---|---|\n")
	}
	for _, a := range p.Actions {
		m.f("| %s | %s | %s | %s |\n", a.Box(), esc(a.Text), esc(a.Owner), esc(a.Due))
	}
	if len(p.Evidence) > 0 {
		m.heading("Evidence")
		m.proofs("", p.Evidence)
	}
	if err := m.w.Flush(); err != nil {
		return fmt.Errorf("write the post-mortem as Markdown: %w", err)
	}
	return nil
}

// Source is the first line that an event rests on.
func (e eventView) Source() string {
	for _, p := range e.Proofs {
		if p.Quote {
			return p.Where
		}
	}
	return ""
}

//go:embed postmortem.html.tmpl
var postmortemTemplate string

var postmortemPage = sync.OnceValue(func() *template.Template { return template.Must(template.New("postmortem").Parse(postmortemTemplate)) })

// PostmortemHTML writes the page as one self-contained file without a script.
func PostmortemHTML(w io.Writer, r *incident.Report, s Story) error {
	p := postmortemOf(r, s)
	p.CSS = template.CSS(style()) //nolint:gosec // the style is a constant of the program
	if err := postmortemPage().Execute(w, p); err != nil {
		return fmt.Errorf("write the post-mortem as HTML: %w", err)
	}
	return nil
}
