package diagnose

import (
	"fmt"
	"slices"
	"strconv"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// recorderArtifact says whose dumps of the flight recorder there are, and what the last of them wait in.
func recorderArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "flight-recorder", Title: "Dumps of PyTorch's flight recorder",
		Limits: "They say which collectives each rank has begun and completed. They do not say why a rank did not come, nor on which node it was."}
	ranks := map[int]bool{}
	for _, d := range f.Handed.Dumps {
		a.Files = append(a.Files, d.File)
		ranks[d.Rank] = true
	}
	if len(ranks) == 0 {
		return a, false
	}
	slices.Sort(a.Files)
	have := fmt.Sprintf("dumps of %d ranks are here", len(ranks))
	if n := f.Job.WorldSize; n > 0 {
		var missing []int
		for r := range n {
			if !ranks[r] {
				missing = append(missing, r)
			}
		}
		have = fmt.Sprintf("dumps of all %d ranks are here", n)
		if len(missing) > 0 {
			have = fmt.Sprintf("dumps of %d of %d ranks are here; those of ranks %s are not", len(ranks), n, mechanism.Ranges(missing))
		}
	}
	if e, ok := whose(f, ranks, a.Files); ok {
		a.Findings = append(a.Findings, incident.Finding{Statement: have, Evidence: []incident.Evidence{e}})
	}
	return a, true
}

// maxListed is how many files an inventory lists.
const maxListed = 1024

// whose compares the ranks that the files are named for with those of the job; false where that proves nothing.
func whose(f *resolve.Facts, ranks map[int]bool, files []string) (incident.Evidence, bool) {
	e := incident.Evidence{Kind: incident.KindInventory, From: f.Job.WorldFrom, Files: files}
	if f.Job.WorldSize == 0 || e.From == "" || f.Job.WorldSize > maxListed || len(files) > maxListed || len(files) != len(ranks) {
		return e, false
	}
	for r := range f.Job.WorldSize {
		e.Expected = append(e.Expected, strconv.Itoa(r))
		if ranks[r] {
			e.Seen = append(e.Seen, strconv.Itoa(r))
		}
	}
	return e, true
}
