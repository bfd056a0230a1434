package workflow

import (
	"fmt"
	"time"

	"faultline/messages"
	"faultline/messages/redact"
)

// Part is a part of an investigation as its time is counted afterwards.
type Part string

// The parts, in their order.
const (
	PartCollect Part = "Collecting logs"
	PartWait    Part = "Waiting for people or the job"
	PartAnalyse Part = "Analysis"
	PartAfter   Part = "After the verdict"
)

// Parts are all of them, in their order.
var Parts = []Part{PartCollect, PartWait, PartAnalyse, PartAfter}

// partOf says to which part a state belongs.
var partOf = map[State]Part{
	Requested: PartCollect, LocatingJob: PartCollect, FetchingLogs: PartCollect, FetchingAIS: PartCollect,
	AwaitingLogs: PartWait, AwaitingEnd: PartWait, AwaitingAIS: PartWait,
	Triaging: PartAnalyse, Correlating: PartAnalyse, Verifying: PartAnalyse,
}

// Spent is how long each part took, by the transitions in a ledger; the state that lasts now is not counted.
func Spent(ledger []Entry) map[Part]time.Duration {
	out := map[Part]time.Duration{}
	var last *Entry
	for i := range ledger {
		e := &ledger[i]
		if e.Kind != "transition" {
			continue
		}
		if last != nil {
			part, ok := partOf[last.To]
			if !ok {
				part = PartAfter
			}
			out[part] += e.At.Sub(last.At)
		}
		last = e
	}
	return out
}

// StoryOf is the people's side of an incident, for its post-mortem.
func StoryOf(inv Investigation, ledger []Entry) messages.Story {
	s := messages.Story{ID: inv.ID}
	spent := Spent(ledger)
	for _, part := range Parts {
		if d := spent[part]; d > 0 {
			s.Phases = append(s.Phases, messages.Phase{Name: string(part), Took: d})
		}
	}
	if o := inv.Outcome; o != nil {
		s.Cause, s.Fix, s.By = redact.String(o.Cause), redact.String(o.Fix), o.By
	}
	if f := inv.Fix; f != nil && s.Fix == "" {
		s.Fix, s.By = redact.String(f.Text), f.By
	}
	inv.Work.tell(&s)
	return s
}

// tell adds what people did to the story of an incident.
func (w *Work) tell(s *messages.Story) {
	s.Answers = map[string]messages.Said{}
	for _, y := range w.Whys {
		if y.By != "" {
			s.Answers[y.Question] = messages.Said{Text: redact.String(y.Answer), By: y.By}
		}
	}
	for _, t := range w.Tasks {
		due := t.When
		if !t.Due.IsZero() {
			due = t.Due.Format(time.DateOnly)
		}
		s.Tasks = append(s.Tasks, messages.TeamTask{Text: redact.String(t.Text), Owner: t.Owner, Due: due, Done: !t.Done.IsZero()})
	}
	for _, c := range w.Causes {
		if c.By != "" {
			s.Tests = append(s.Tests, redact.String(fmt.Sprintf("%s: %s, according to %s. %s", c.Title, c.State, c.By, c.Text)))
		}
	}
}
