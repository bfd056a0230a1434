package diagnose

import (
	"slices"

	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/knowledge/severity"
)

// onItsWord is the confidence in a verdict that rests on what a message states alone: how often such words are right was not measured.
const onItsWord = 0.8

// states says in the verdict what the message of the root states about its cause, where all its first failures state the same.
func (b *builder) states() {
	if len(b.d.winners) != 1 {
		return
	}
	if s := b.d.winners[0].Stated; s != nil {
		b.r.Verdict.Stated = statement(s, "")
		return
	}
	var same *knowledge.StatedCause
	for _, fl := range b.d.winners[0].First {
		s, ok := fl.Stated()
		if !ok || same != nil && s.ID != same.ID {
			return
		}
		same = s
	}
	if same == nil || same.Open && len(b.r.Verdict.Candidates) > 1 {
		return // a server that did not respond may be a peer that is gone
	}
	fl := b.d.winners[0].First[0]
	v := &b.r.Verdict
	v.Stated = statement(same, fl.Code)
	if len(v.Candidates) == 1 && v.Status == incident.Probable {
		v.Confidence = min(v.Confidence, onItsWord)
		v.Candidates[0].Confidence = v.Confidence
	}
	if fl.Mechanism == same.Mechanism && len(v.Candidates) == 1 {
		v.Stated.Title = same.Title
	}
}

// statesClue says what the most suspicious line states, where it is an error and nothing is known that explains the run.
func (b *builder) statesClue() {
	v := &b.r.Verdict
	switch {
	case v.Stated != nil, v.Mechanism != unknown, v.Ending != "", len(b.r.Standouts) == 0:
		return
	}
	first := b.r.Standouts[0]
	c, _ := resolve.Stated(b.s.Facts.Known, first.Statement)
	switch {
	case c == nil, c.Open, !slices.Contains([]string{severity.Failed.String(), severity.Crash.String()}, first.Severity):
		return
	}
	v.Stated = statement(c, "")
}

func statement(c *knowledge.StatedCause, code string) *incident.Stated {
	return &incident.Stated{Cause: c.Name(), Meaning: c.Meaning, Code: code}
}
