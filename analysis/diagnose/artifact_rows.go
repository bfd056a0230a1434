package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// rowsArtifacts says what evidence tells of which each row speaks for itself: a section for each kind, in the order of their first files. Such
// logs go on for years, so the last rows of a file come first.
func rowsArtifacts(f *resolve.Facts) []incident.Artifact {
	var out []incident.Artifact
	node := f.NodeNamer()
	for _, told := range f.Handed.Rows {
		i := slices.IndexFunc(out, func(a incident.Artifact) bool { return a.Kind == told.Kind.Slug })
		if i < 0 {
			i = len(out)
			out = append(out, incident.Artifact{Kind: told.Kind.Slug, Title: told.Kind.Title, Limits: told.Kind.Limits})
		}
		a := &out[i]
		a.Files = append(a.Files, told.File)
		for _, row := range slices.Backward(told.Rows) {
			text := row.Says
			if n := cmp.Or(row.Of, resolve.ShortHost(row.Host), resolve.ShortHost(f.Handed.Origins[told.File]), node(told.File)); n != "" {
				text = fmt.Sprintf("%s: %s", n, text)
			}
			a.Findings = append(a.Findings, incident.Finding{Statement: text,
				Evidence: []incident.Evidence{mechanism.QuotePlace(told.File, row.Place, &incident.Predicate{Literals: row.Literals})}})
		}
	}
	return out
}
