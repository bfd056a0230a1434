package bundle

import (
	"errors"
	"io"

	"faultline/messages"
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
		return messages.PostmortemHTML(w, r, inc.story)
	}
	return messages.Postmortem(w, r, inc.story)
}
