package diagnose

import (
	"strings"

	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/knowledge/severity"
	message "faultline/knowledge/stated"
)

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
	if same == nil {
		return
	}
	fl := b.d.winners[0].First[0]
	b.r.Verdict.Stated = statement(same, codeOf(fl))
	if fl.Mechanism == same.Mechanism && len(b.r.Verdict.Candidates) == 1 {
		b.r.Verdict.Stated.Title = same.Title
	}
}

// statesClue says what the most suspicious line states, where it is an error and nothing is known that explains the run.
func (b *builder) statesClue() {
	v := &b.r.Verdict
	if v.Stated != nil || v.Mechanism != unknown || v.Ending != "" || len(b.r.Standouts) == 0 {
		return
	}
	first := b.r.Standouts[0]
	st, ok := message.Read("", first.Statement, b.s.Facts.Known.Reads(message.Codes))
	bad := first.Severity == severity.Failed.String() || first.Severity == severity.Crash.String()
	if cause, known := knowledge.CauseStated(st.Cause); ok && known && !cause.Open && bad {
		v.Stated = statement(cause, code(st))
	}
}

func statement(c *knowledge.StatedCause, code string) *incident.Stated {
	return &incident.Stated{Cause: strings.TrimPrefix(string(c.ID), knowledge.StatesPrefix), Meaning: c.Meaning, Code: code}
}

// codeOf is the code in the message of an exception, with its vocabulary.
func codeOf(fl *resolve.Failure) string {
	if fl.Exc == nil {
		return ""
	}
	st, _ := message.Read(fl.Exc.Type, fl.Exc.Message, true)
	return code(st)
}

func code(s message.Statement) string { return strings.TrimSpace(s.Of + " " + s.Code) }
