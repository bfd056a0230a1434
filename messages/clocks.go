package messages

import (
	"strings"

	"faultline/incident"
)

// clockNotes tell which clocks show another time than the report, beside each timeline: whoever opens a log of theirs finds its lines at that time.
func clockNotes(r *incident.Report) []linkView {
	var out []linkView
	for _, c := range r.Clocks {
		out = append(out, linkView{Statement: sentence(capital(flat(c.Statement))) + " Times here are corrected.", Proofs: proofs(c.Evidence)})
	}
	return out
}

// ownClock is what an event's own clock shows, behind its text.
func ownClock(e incident.Event) string {
	if e.Clock == nil {
		return ""
	}
	_, clock, _ := strings.Cut(flat(*e.Clock), "T")
	return " (" + clock + " by its own clock)"
}

// compared is a note with the two lines to look at.
func compared(note linkView) string {
	var at []string
	for _, p := range note.Proofs {
		if p.Quote {
			at = append(at, p.Where)
		}
	}
	if len(at) < 2 {
		return note.Statement
	}
	return note.Statement + " Compare " + at[0] + " with " + at[1] + "."
}
