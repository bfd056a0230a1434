package bundle

import (
	"errors"
	"io"

	"faultline/messages"
	"faultline/workflow"
)

// ErrNoReport says that there is nothing yet to write a post-mortem of.
var ErrNoReport = errors.New("it has no report yet")

// Postmortem writes the page about the incident that a team keeps: as HTML, or as Markdown.
func (inc *Incident) Postmortem(w io.Writer, html bool) error {
	r := inc.snapshot.Report
	if r == nil {
		return ErrNoReport
	}
	if html {
		return messages.PostmortemHTML(w, r, inc.story())
	}
	return messages.Postmortem(w, r, inc.story())
}

// story is the people's side: how long each part of the investigation took, and how it was closed.
func (inc *Incident) story() messages.Story {
	s := messages.Story{ID: inc.Investigation.ID}
	for _, part := range workflow.Parts {
		if d := inc.spent[part]; d > 0 {
			s.Phases = append(s.Phases, messages.Phase{Name: string(part), Took: d})
		}
	}
	if o := inc.Outcome; o != nil {
		s.Cause, s.Fix, s.By = o.Cause, o.Fix, o.By
	}
	return s
}
