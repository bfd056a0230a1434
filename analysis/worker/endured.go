package worker

import (
	"faultline/knowledge"
	"faultline/pattern"
)

// Words by which a program says in the same line that it goes on, and those by which it says that it does not.
var (
	// Not parts of a path or an option: "/data/skipped/a.tar", "--ignored-layers".
	goingOn = pattern.New(`(?i)(?:^|[^\w/.-])(?:skip(?:ping|ped)|ignor(?:ing|ed)|retrying)(?:$|[^\w/-])|\bwill (?:be )?(?:retry|retried|try again)\b|\btrying again\b|\bfall(?:s|ing)? back\b|\bfell back\b|\bcontinuing\b|\bnon-fatal\b`)
	over    = pattern.New(`(?i)\b(?:abort|exiting\b|giving up|gave up|after (?:re)?trying|(?:not|cannot|can't|never|many|stop(?:ped)?) (?:be )?(?:skip|ignor|retry|retri)|no more (?:retries|attempts)|fatal error|cannot (?:continue|recover))`)
)

// endurance bounds what is looked at of one line.
const endurance = 2 << 10

// endured says that a line tells of a failure that its program came past.
func endured(text []byte) bool {
	text = text[:min(len(text), endurance)]
	return goingOn.Match(text) && !over.Match(text)
}

// mostEndured is how many failures to read or write a program may come past from one step to the next: of more it is not known.
const mostEndured = 16

// pastStep counts those since a step.
type pastStep struct {
	step int64
	n    int
}

// came says that a signature's line is no cause, because its program says in it that it goes on.
func (r *reader) came(s *knowledge.Signature, text []byte) bool {
	if s.Role != knowledge.CauseRole || !s.Mechanism.Is(knowledge.Endurable) || !endured(text) {
		return false
	}
	if s.Tier != knowledge.DataIO {
		return true
	}
	if r.past.step != r.stepOff {
		r.past = pastStep{step: r.stepOff}
	}
	r.does |= other
	r.past.n++
	return r.past.n <= mostEndured
}
