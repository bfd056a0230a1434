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
	a := incident.Artifact{Kind: "flight-recorder", Title: "PyTorch flight-recorder dumps",
		Limits: "They show which collectives each rank started and completed, but not why a rank didn't arrive or which node it was on."}
	ranks := map[int]bool{}
	for _, d := range f.Handed.Dumps {
		a.Files = append(a.Files, d.File)
		ranks[d.Rank] = true
	}
	if len(ranks) == 0 {
		return a, false
	}
	slices.Sort(a.Files)
	have := fmt.Sprintf("dumps from %d ranks", len(ranks))
	if n := f.Job.WorldSize; n > 0 {
		var missing []int
		for r := range n {
			if !ranks[r] {
				missing = append(missing, r)
			}
		}
		have = fmt.Sprintf("dumps from all %d ranks", n)
		if len(missing) > 0 {
			have = fmt.Sprintf("dumps from %d of %d ranks; missing: ranks %s", len(ranks), n, mechanism.Ranges(missing))
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
