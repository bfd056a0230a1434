package messages

import (
	"strings"

	"faultline/incident"
)

// mostOfHeading is how many columns of a line that stands out the heading shows.
const mostOfHeading = 100

// The first screen gives the heaviest reasons why a line stands out, and none that weighs little beside them: that it is printed once.
const (
	mostReasons = 2
	leastReason = 10 // points
)

// clue is a line that stands out: where it is, who wrote it, what it says unless the headline does, and so many reasons why somebody should look at it.
func clue(s incident.Standout, headline string, reasons int) string {
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
		if p.Points >= leastReason && len(why) < reasons {
			why = append(why, flat(p.Text))
		}
	}
	says, because := excerpt(flat(s.Statement), mostOfHeading), strings.Join(why, "; ")
	switch {
	case because != "" && strings.Contains(headline, says):
		return where + ": " + because
	case because != "":
		because = " (" + because + ")"
	}
	return where + ": " + says + because
}
