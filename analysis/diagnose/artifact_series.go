package diagnose

import (
	"fmt"
	"slices"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// seriesArtifact says what changed in tables over time when the steps slowed down.
func seriesArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "series", Title: "Tables over time",
		Limits: "Values are compared before and after the steps slowed down. A change at that time is no proof of a cause, and a table shows only what it measures."}
	if len(f.Handed.Series) == 0 {
		return a, false
	}
	for i := range f.Handed.Series {
		a.Files = append(a.Files, f.Handed.Series[i].File)
	}
	list, compared := f.Contrasts.Moved, f.Contrasts.Quantities
	for i := range list {
		a.Findings = append(a.Findings, mechanism.QuantityFinding(&list[i]))
	}
	apart := slices.IndexFunc(f.Handed.Series, func(x resolve.SeriesFile) bool {
		return !slices.ContainsFunc(f.Tails, func(t worker.Tail) bool { return t.File == x.File && !t.Silent })
	})
	if len(list) == 0 && compared > 0 && apart >= 0 { // of a log nobody asks
		first := &f.Handed.Series[apart]
		p := first.Table.Series[0].Points[0]
		a.Findings = append(a.Findings, incident.Finding{Statement: fmt.Sprintf("none of %d quantities left its course when the steps slowed down in a way that names a cause", compared),
			Evidence: []incident.Evidence{mechanism.QuotePlace(first.File, p.Place, nil)}})
	}
	return a, true
}
