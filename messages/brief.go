package messages

import (
	"strings"

	"faultline/incident"
)

// briefSentence bounds each part of a summary, in characters.
const briefSentence = 160

// Brief is the report in one line that can be forwarded: problem, cause with its confidence, impact, next step.
func Brief(r *incident.Report) string { return brief(newView(r), "") }

// brief names the job as given, else as the report does.
func brief(v *view, name string) string {
	r := v.Report
	if name == "" && r.Job.ID != nil {
		name = "Job " + flat(*r.Job.ID)
	}
	if name != "" {
		name += ": "
	}
	if t := r.Triage; t != nil {
		return name + sentence(v.Headline) + " " + flat(t.Next.Text)
	}
	parts := []string{outcome(v, name)}
	if severity := severityText(r); severity != "" {
		parts = append(parts, "Severity: "+lowered(severity))
	} else if lost := lostText(r.Action.Lost); lost != "" && r.Verdict.Status != incident.NoFailure {
		parts = append(parts, "Lost: "+lost+".")
	}
	if r.Verdict.Status == incident.NoFailure {
		return strings.Join(parts, " ")
	}
	return strings.Join(append(parts, "Next: "+cutAfter(nextStep(r), briefSentence)), " ")
}

// outcome is what happened and how sure that is; name begins it.
func outcome(v *view, name string) string {
	r := v.Report
	sure := " (" + certaintyOf(r).String() + ")"
	if r.Verdict.Status == incident.Inconclusive { // the headline says so
		sure = ""
	}
	return withSummary(v, name+v.Headline+sure, briefSentence)
}

// withSummary adds the verdict's summary to what begins with the headline, where it says more, without repeating who it is about.
func withSummary(v *view, text string, most int) string {
	r := v.Report
	text += "."
	if s := r.Verdict.Summary; saysMore(s, v.Headline) && len(r.Verdict.Candidates) < 2 {
		s = flat(s)
		if who, rest, ok := strings.Cut(s, ": "); ok && who != "" && strings.HasSuffix(v.Headline, who) {
			s = rest
		}
		text += " " + sentence(capital(cutAfter(s, most)))
	}
	return text
}
