package messages

import (
	"slices"

	"faultline/incident"
	"faultline/messages/blockkit"
)

// GlossaryView explains this case to somebody who never met its words: what the mechanism means, and the terms that the
// report uses, no others.
func GlossaryView(r *incident.Report) blockkit.View {
	const title = "What does this mean?"
	if r == nil {
		return modal(ViewGlossary, "", title, "", says("There's no verdict yet. Try again once there is one."))
	}
	v := newView(r)
	var es []blockkit.RichElement
	for _, slug := range slugsOf(v.Report.Verdict) {
		if m, ok := mechanism(slug); ok && m.Meaning != "" {
			es = append(es, para(strong(capital(m.Title))), para(run(m.Meaning)))
		}
	}
	var words []blockkit.RichElement
	for _, t := range termsIn(v) {
		words = append(words, labelled(t.Label, t.Text))
	}
	groups := []blockkit.Blocks{rich(es...)}
	if len(words) > 0 {
		groups = append(groups, blockkit.Blocks{heading("Terms used in this case")}, rich(words...))
	}
	if len(es)+len(words) == 0 {
		groups = append(groups, says("This report uses no terms that need explaining."))
	}
	return modal(ViewGlossary, "", title, "", groups...)
}

// slugsOf are the mechanisms that the verdict names: its own, or those of its set.
func slugsOf(v incident.Verdict) []string {
	out := []string{v.Mechanism}
	if v.Status == incident.Inconclusive && len(v.Candidates) > 1 {
		out = nil
	}
	for _, c := range v.Candidates {
		if !slices.Contains(out, c.Mechanism) {
			out = append(out, c.Mechanism)
		}
	}
	return out
}

// sortedFields are the keys of a map in order, so that the same view comes out the same.
func sortedFields(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
