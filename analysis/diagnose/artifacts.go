package diagnose

import (
	"slices"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// artifacts are the kinds of evidence beside the logs, in the order in which a report shows them; false where there is none of a kind.
var artifacts = []func(*resolve.Facts) (incident.Artifact, bool){
	recorderArtifact,
	analysedArtifact,
	stacksArtifact,
	profilesArtifact,
	testsArtifact,
	pathsArtifact,
	fabricArtifact,
	packetsArtifact,
	traceArtifact,
	ddpArtifact,
	ncclArtifact,
	rasArtifact,
	numbersArtifact,
	kernelArtifact,
	gpuArtifact,
	memoryArtifact,
	seriesArtifact,
	nodesArtifact,
	collectedArtifact,
}

// besideLogs is what the evidence beside the logs says by itself, by kind.
func besideLogs(f *resolve.Facts) []incident.Artifact {
	var out []incident.Artifact
	for _, of := range artifacts {
		if a, ok := of(f); ok && (len(a.Findings) > 0 || !shownBy(out, a.Files)) {
			out = append(out, a)
		}
	}
	return append(out, rowsArtifacts(f)...)
}

// shownBy says that each of the files is read as another kind of evidence, too.
func shownBy(others []incident.Artifact, files []string) bool {
	for _, file := range files {
		if !slices.ContainsFunc(others, func(a incident.Artifact) bool { return slices.Contains(a.Files, file) }) {
			return false
		}
	}
	return len(files) > 0
}

// handed says that one of the files is no log, or one that says nothing of a job: somebody handed it in, and wants to see that it was read.
func (b *builder) handed(files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		return !slices.ContainsFunc(worker.Within(b.s.Facts.Tails, file), func(t worker.Tail) bool { return !t.Silent })
	})
}

func (b *builder) artifacts() {
	for _, a := range b.beside {
		a.Inline = !b.handed(a.Files)
		if len(a.Findings) == 0 && a.Inline {
			continue // what a log holds by the way and says nothing of the job needs no section
		}
		a.Files, a.Findings = orEmpty(a.Files), append([]incident.Finding{}, a.Findings[:min(len(a.Findings), maxFindings)]...)
		b.r.Artifacts = append(b.r.Artifacts, a)
	}
}
