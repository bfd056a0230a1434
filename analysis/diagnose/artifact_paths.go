package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"faultline/analysis/artifact/bandwidth"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// slowPath is what share of the best of its kind the test of a path must reach.
const slowPath = 0.8

// pathTest is one test with its file.
type pathTest struct {
	*bandwidth.Test
	file string
}

func (p pathTest) name() string {
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

func (p pathTest) evidence() incident.Evidence {
	if !p.JSON {
		return mechanism.QuotePlace(p.file, p.Place, nil)
	}
	return incident.Evidence{Kind: incident.KindRecord, File: p.file, Place: p.Record, Predicate: &incident.Predicate{Members: []incident.Member{{Name: p.Member, Value: p.Value}}}}
}

// pathsArtifact says what iperf3 and perftest measured.
func pathsArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "path-tests", Title: "Network path tests (iperf3, perftest)",
		Limits: "Each measures one path between two hosts at the time of the test: if it is slow, either end or anything in between may be at fault. iperf3 uses TCP, and one stream rarely fills a link; RDMA takes a different path."}
	var tests []pathTest
	for i := range f.Handed.Paths {
		p := &f.Handed.Paths[i]
		for k := range p.Tests {
			tests = append(tests, pathTest{&p.Tests[k], p.File})
		}
		a.Files = append(a.Files, p.File)
	}
	if len(tests) == 0 {
		return a, false
	}
	slices.Sort(a.Files)
	for _, t := range tests {
		if t.Error == "" || len(a.Findings) == 3 {
			continue
		}
		e := mechanism.QuotePlace(t.file, t.Place, nil)
		if t.JSON {
			e = incident.Evidence{Kind: incident.KindRecord, File: t.file, Predicate: &incident.Predicate{Members: []incident.Member{{Name: "error", Value: t.Error}}}}
		}
		a.Findings = append(a.Findings, incident.Finding{Statement: t.name() + " failed", Evidence: []incident.Evidence{e}})
	}
	a.Findings = append(a.Findings, slowPaths(tests)...)
	for _, t := range tests {
		if len(a.Findings) >= maxFindings || !t.Ended {
			continue
		}
		text := fmt.Sprintf("%s: %s Gb/s", t.name(), decimal(t.Gbits))
		if t.Both {
			text += ", both directions together"
		}
		ev := []incident.Evidence{t.evidence()}
		if t.Retransmits > 0 {
			text += fmt.Sprintf(", %d segments retransmitted", t.Retransmits)
			if t.JSON {
				ev = append(ev, incident.Evidence{Kind: incident.KindRecord, File: t.file, Place: "end.sum_sent", Predicate: &incident.Predicate{Members: []incident.Member{{Name: "retransmits", Value: t.RetransValue}}}})
			} else {
				ev[0].Predicate = nil
			}
		}
		a.Findings = append(a.Findings, incident.Finding{Statement: text, Evidence: ev})
	}
	return a, true
}

// slowPaths compares tests of one tool, device and size.
func slowPaths(tests []pathTest) []incident.Finding {
	by := map[string][]pathTest{}
	var kinds []string
	for _, t := range tests {
		if !t.Ended || cmp.Or(t.Host, t.Local) == "" || t.Remote == "" {
			continue
		}
		k := fmt.Sprint(t.Tool, "\x00", t.Both, "\x00", t.Bytes, "\x00", strconv.Itoa(t.Streams))
		if by[k] == nil {
			kinds = append(kinds, k)
		}
		by[k] = append(by[k], t)
	}
	var out []incident.Finding
	for _, k := range kinds {
		list := by[k]
		slices.SortStableFunc(list, func(a, b pathTest) int { return cmp.Compare(b.Gbits, a.Gbits) })
		best := list[0]
		var bad, good [][]string
		var slow []pathTest
		for _, t := range list {
			ends := []string{cmp.Or(t.Local, t.Host), t.Remote}
			if t.Gbits < slowPath*best.Gbits {
				bad, slow = append(bad, ends), append(slow, t)
			} else {
				good = append(good, ends)
			}
		}
		if len(slow) == 0 {
			continue
		}
		worst := slow[len(slow)-1]
		text := fmt.Sprintf("%s measured %s Gb/s; the best comparable test measured %s Gb/s", worst.name(), decimal(worst.Gbits), decimal(best.Gbits))
		if len(slow) > 1 {
			text += fmt.Sprintf("; %d of %d are slow", len(slow), len(list))
		}
		out = append(out, incident.Finding{Statement: text + ". " + capitalised(accuseWords(resolve.Accuse(bad, good), "slow")), Evidence: []incident.Evidence{worst.evidence(), best.evidence()}})
	}
	return out
}
