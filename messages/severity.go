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
		why = gpuHours(s.GPUHours) + " lost an hour: " + flat(s.Why)
	}
	return capital(flat(s.Level)) + " (" + why + ")."
}

func gpuHours(h float64) string { return strconv.FormatFloat(h, 'f', 1, 64) + " GPU hours" }
