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
		Limits: "For each group it reports the first collective that doesn't match; all earlier ones did. Its culprits are the ranks that differ from the first one it checked, which may itself be wrong. The dumps show more: upload them."}
	for i := range f.Analysed {
		r := &f.Analysed[i]
		if !slices.Contains(a.Files, r.File) {
			a.Files = append(a.Files, r.File)
		}
		a.Findings = append(a.Findings, mechanism.AnalysedFinding(r))
	}
	return a, len(a.Files) > 0
}
