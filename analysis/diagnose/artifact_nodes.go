package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// nodesArtifact says why SLURM, or who looks after it, holds nodes back.
func nodesArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "slurm-nodes", Title: "SLURM node state",
		Limits: "A reason is what a health check or a person wrote, at the time shown: often after the job, because of what the job did."}
	for _, n := range f.Held() {
		c, ok := n.Cell("Reason")
		if !ok {
			continue
		}
		if !slices.Contains(a.Files, c.File) {
			a.Files = append(a.Files, c.File)
		}
		a.Findings = append(a.Findings, incident.Finding{Statement: fmt.Sprintf("%s is %s: %s", n.Name, strings.ToLower(n.State), n.Reason),
			Evidence: []incident.Evidence{mechanism.QuoteAt(resolve.CellAt(c, n.Since), nil)}})
	}
	return a, len(a.Findings) > 0
}
