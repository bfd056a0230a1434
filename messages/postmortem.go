package messages

import (
	"html/template"
	"slices"
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
