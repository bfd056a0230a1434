package diagnose

import (
	"strings"

	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
	message "faultline/knowledge/stated"
)

// states says in the verdict what the message of the root states about its cause, where all its first failures state the same.
func (b *builder) states() {
	if len(b.d.winners) != 1 {
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

// statesClue says what the most suspicious of lines that nobody knows states, and who acts then.
func (b *builder) statesClue() {
	if b.r.Verdict.Stated != nil {
		return
	}
	for _, s := range b.r.Standouts {
		st, ok := message.Read("", s.Statement, b.s.Facts.Known.Reads(message.Codes))
		if !ok {
			continue
		}
		if cause, ok := knowledge.CauseStated(st.Cause); ok {
			b.r.Verdict.Stated = statement(cause, code(st))
			return
		}
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
