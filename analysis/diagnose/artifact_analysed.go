package diagnose

import (
	"slices"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// analysedArtifact says what torchfrtrace printed.
func analysedArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "flight-recorder-analysis", Title: "PyTorch's analysis of flight recorders",
		Limits: "For each group it tells of the first collective that does not match, and all before did. Whom it calls the culprit differs from the first rank that it looked at, which may be the one that is wrong. The dumps themselves say more: hand them in."}
	for i := range f.Analysed {
		r := &f.Analysed[i]
		if !slices.Contains(a.Files, r.File) {
			a.Files = append(a.Files, r.File)
		}
		a.Findings = append(a.Findings, mechanism.AnalysedFinding(r))
	}
	return a, len(a.Files) > 0
}
