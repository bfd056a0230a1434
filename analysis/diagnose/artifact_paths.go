package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// pathName names a test of a path.
func pathName(p *resolve.PathTest) string {
	from, to := cmp.Or(p.Host, p.Local), p.Remote
	switch {
	case from != "" && to != "":
		return fmt.Sprintf("%s from %s to %s", p.Tool, from, to)
	case from != "":
		return fmt.Sprintf("%s on %s", p.Tool, from)
	case to != "":
		return fmt.Sprintf("%s to %s", p.Tool, to)
	}
	return p.Tool
}

// pathsArtifact says what iperf3 and perftest measured.
func pathsArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "path-tests", Title: "Network path tests (iperf3, perftest)",
		Limits: "Each measures one path between two hosts at the time of the test: if it is slow, either end or anything in between may be at fault. iperf3 uses TCP, and one stream rarely fills a link; RDMA takes a different path."}
	tests := f.PathTests()
	for i := range f.Handed.Paths {
		a.Files = append(a.Files, f.Handed.Paths[i].File)
	}
	if len(tests) == 0 {
		return a, false
	}
	slices.Sort(a.Files)
	for i := range tests {
		t := &tests[i]
		if t.Error == "" || len(a.Findings) == 3 {
			continue
		}
		e := mechanism.QuotePlace(t.File, t.Place, nil)
		if t.JSON {
			e = incident.Evidence{Kind: incident.KindRecord, File: t.File, Predicate: &incident.Predicate{Members: []incident.Member{{Name: "error", Value: t.Error}}}}
		}
		a.Findings = append(a.Findings, incident.Finding{Statement: pathName(t) + " failed", Evidence: []incident.Evidence{e}})
	}
	a.Findings = append(a.Findings, slowPaths(f)...)
	for i := range tests {
		t := &tests[i]
		if len(a.Findings) >= maxFindings || !t.Ended {
			continue
		}
		text := fmt.Sprintf("%s: %s Gb/s", pathName(t), decimal(t.Gbits))
		if t.Both {
			text += ", both directions together"
		}
		ev := []incident.Evidence{mechanism.PathEvidence(t)}
		if t.Retransmits > 0 {
			text += fmt.Sprintf(", %d segments retransmitted", t.Retransmits)
			if t.JSON {
				ev = append(ev, incident.Evidence{Kind: incident.KindRecord, File: t.File, Place: "end.sum_sent", Predicate: &incident.Predicate{Members: []incident.Member{{Name: "retransmits", Value: t.RetransValue}}}})
			} else {
				ev[0].Predicate = nil
			}
		}
		a.Findings = append(a.Findings, incident.Finding{Statement: text, Evidence: ev})
	}
	return a, true
}

// slowPaths says which tests of a kind are slow, and who explains them.
func slowPaths(f *resolve.Facts) []incident.Finding {
	var out []incident.Finding
	for _, c := range f.ComparePaths() {
		worst := &c.Slow[len(c.Slow)-1]
		text := fmt.Sprintf("%s measured %s Gb/s; the best comparable test measured %s Gb/s", pathName(worst), decimal(worst.Gbits), decimal(c.Best.Gbits))
		if len(c.Slow) > 1 {
			text += fmt.Sprintf("; %d of %d are slow", len(c.Slow), c.N)
		}
		out = append(out, incident.Finding{Statement: text + ". " + capitalised(accuseWords(c.Culprit, "slow")), Evidence: []incident.Evidence{mechanism.PathEvidence(worst), mechanism.PathEvidence(&c.Best)}})
	}
	return out
}
