package messages

import (
	"strings"

	"faultline/incident"
)

// mostOfHeading is how many columns of a line that stands out the heading shows.
const mostOfHeading = 100

// mostReasons is how many reasons of a line that stands out the first screen gives.
const mostReasons = 3

// clue is a line that stands out: where it is, who wrote it, what it says, and why somebody should look at it.
func clue(s incident.Standout) string {
	where, who := "", []string{}
	for _, e := range s.Evidence {
		if e.Kind == incident.KindQuote {
			where = proofOf(e).Where
			break
		}
	}
	if s.Rank != nil {
		who = append(who, rankText([]int{*s.Rank}))
	}
	if s.Node != "" {
		who = append(who, flat(s.Node))
	}
	if len(who) > 0 {
		where += " (" + strings.Join(who, ", ") + ")"
	}
	var why []string
	for _, p := range s.Reasons {
		if p.Points > 0 && len(why) < mostReasons {
			why = append(why, flat(p.Text))
		}
	}
	t := where + ": " + clip(flat(s.Statement), mostOfHeading)
	if len(why) > 0 {
		t += " (" + strings.Join(why, "; ") + ")"
	}
	return t
}
