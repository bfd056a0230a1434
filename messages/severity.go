package messages

import (
	"cmp"
	"strconv"

	"faultline/incident"
)

// severityText is how much the incident loses: one word and its reason; "" where that is not known.
func severityText(r *incident.Report) string {
	s := r.Severity
	if s == nil {
		return ""
	}
	why := cmp.Or(lostText(r.Action.Lost), gpuHours(s.GPUHours)) + " lost"
	if s.Per == incident.PerHour {
		why = gpuHours(s.GPUHours) + " per hour: " + flat(s.Why)
	}
	return severityWord(s.Level) + " (" + why + ")."
}

func gpuHours(h float64) string { return strconv.FormatFloat(h, 'f', 1, 64) + " GPU hours" }

// severityWord is a level for people: "note" reads like a remark.
func severityWord(level string) string {
	if level == "note" {
		return "Minor"
	}
	return capital(flat(level))
}
