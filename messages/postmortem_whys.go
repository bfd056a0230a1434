package messages

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
)

// whyLevel is one level of the five whys.
type whyLevel struct {
	N                int
	Question, Answer string
	Proof            string // where the answer stands in the logs
	Open             bool   // for people to answer
}

// ruledOut is one statement of what the lines rule out.
type ruledOut struct{ Text, Proof string }

// ruledTitle stands above them.
const ruledTitle = "What the lines rule out"

const (
	// toBeAnswered stands where only people can answer.
	toBeAnswered = "To be answered by the team."
	// mostRuledOut is how many statements a page has of what the lines rule out.
	mostRuledOut = 3
)

// whys goes from the end back to the cause, puts what the lines rule out beside it, and ends in the one question that they leave.
func (p *postmortem) whys(v *view) {
	r := v.Report
	if r.Verdict.Status == incident.NoFailure {
		return
	}
	question := "Why did the job end?"
	if r.Verdict.Ending == incident.EndRunning || r.Verdict.Origin == knowledge.Performance {
		question = "What was seen?"
	}
	for _, l := range backwards(r) {
		if n := len(p.Whys); l.Kind == incident.LinkHeld && n > 0 { // of the rank that the answer before names
			w := &p.Whys[n-1]
			w.Answer, w.Proof = w.Answer+" "+sentence(flat(l.Statement)), w.Proof+", "+places(l.Evidence)
			continue
		}
		p.ask(question, sentence(flat(l.Statement)), places(l.Evidence))
		question = "Why did that happen?"
	}
	if len(p.Whys) == 0 {
		p.ask(question, v.Headline+".", "")
	}
	open := knowledge.Whys(knowledge.Slug(r.Verdict.Mechanism))[0]
	if n := r.Narrowing; n != nil {
		for _, f := range n.RulesOut[:min(len(n.RulesOut), mostRuledOut)] {
			p.Ruled = append(p.Ruled, ruledOut{sentence(capital(flat(f.Statement))), places(f.Evidence[:min(len(f.Evidence), 1)])})
		}
		for _, f := range n.Lingered[:min(len(n.Lingered), 1)] {
			p.ask("Why did the job run on after the failure?", sentence(capital(flat(f.Statement))), places(f.Evidence[:min(len(f.Evidence), 1)]))
		}
		if n.Open != "" {
			open = flat(n.Open)
		}
	}
	p.ask(open, toBeAnswered, "")
}

func (p *postmortem) ask(question, answer, proof string) {
	p.Whys = append(p.Whys, whyLevel{N: len(p.Whys) + 1, Question: question, Answer: answer, Proof: proof, Open: answer == toBeAnswered})
}

// backwards are the links of the chain from the end to the trigger, one of each: what made the job stand still comes first, then what led
// there, if the chain tells of that, then the cause. A cause that is itself the wait, or the end, needs nothing in front.
func backwards(r *incident.Report) []incident.Link {
	of := func(role string) int {
		return slices.IndexFunc(r.Chain, func(l incident.Link) bool { return l.Role == role && l.Kind != incident.LinkPurpose })
	}
	kind := func(kind string) int {
		return slices.IndexFunc(r.Chain, func(l incident.Link) bool { return l.Role == incident.Consequence && l.Kind == kind })
	}
	var out []incident.Link
	add := func(i int) {
		if i >= 0 {
			out = append(out, r.Chain[i])
		}
	}
	cause := of(incident.Cause)
	switch {
	case len(r.Chain) > 0 && r.Chain[0].Role == incident.End:
		add(0)
	case cause < 0 || r.Chain[cause].Kind != incident.LinkWait:
		first, end := of(incident.Consequence), kind(incident.LinkWait)
		if end < 0 {
			end = first
		}
		add(end)
		away, held := kind(incident.LinkAway), kind(incident.LinkHeld)
		if end >= 0 && r.Chain[end].Kind == incident.LinkWait {
			add(away)
		}
		add(held)
		if first < end && first != away && first != held {
			add(first)
		}
	}
	if cause >= 0 && len(out) > 0 && saidOf(out[0]) == saidOf(r.Chain[cause]) {
		out = out[:0] // the same of another rank
	}
	add(cause)
	add(of(incident.Trigger))
	return out
}

// saidOf is what a link says, without of whom.
func saidOf(l incident.Link) string {
	if _, said, ok := strings.Cut(l.Statement, ": "); ok {
		return said
	}
	return l.Statement
}

// answered puts people's answers under their questions, marked as theirs; an answer whose question is not asked any more stays, behind them.
func (p *postmortem) answered(s Story) {
	asked := map[string]bool{}
	for i := range p.Whys {
		w := &p.Whys[i]
		asked[w.Question] = true
		if said, ok := s.Answers[w.Question]; ok && w.Open {
			w.Answer, w.Open = saidBy(said), false
		}
	}
	var rest []string
	for q := range s.Answers {
		if !asked[q] {
			rest = append(rest, q)
		}
	}
	slices.Sort(rest)
	for _, q := range rest {
		p.ask(flat(q), saidBy(s.Answers[q]), "")
	}
}

func saidBy(s Said) string { return sentence(flat(s.Text)) + " (said by " + flat(s.By) + ")" }

// places names the first lines of a piece of evidence.
func places(list []incident.Evidence) string {
	const most = 3
	var out []string
	for _, e := range list {
		if e.Kind != incident.KindQuote || len(out) == most {
			continue
		}
		at := path.Base(flat(e.File)) + ":" + strconv.FormatInt(e.Line, 10)
		if !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return strings.Join(out, ", ")
}
