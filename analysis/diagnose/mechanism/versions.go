package mechanism

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// versionMismatch: what the signatures say, and NCCLs of different versions that misread each other.
func versionMismatch(s *Scene) *Proposal {
	if p := jobWide(s, fromFailures(s, knowledge.VersionMismatch)); p != nil {
		return p
	}
	return ncclVersions(s)
}

// ncclVersions says that processes of one job stated different versions of NCCL, and one of them received another number of bytes than it had
// to: the versions lay out differently what they exchange while they set up.
func ncclVersions(s *Scene) *Proposal {
	f := s.Facts
	var fls []*resolve.Failure
	for _, fl := range f.Failures {
		if fl.Says(knowledge.UnlikeSizes) {
			fls = append(fls, fl)
		}
	}
	if len(fls) == 0 || f.Job.Training {
		return nil
	}
	var versions []string
	var at []worker.At
	for i := range f.Obs.Facts {
		if x := &f.Obs.Facts[i]; x.Key == "nccl_version" && !slices.Contains(versions, x.Value) {
			versions, at = append(versions, x.Value), append(at, x.At)
		}
	}
	if len(versions) < 2 {
		return nil
	}
	p := propose(s, knowledge.VersionMismatch, Local, fls)
	p.Ranks, p.Nodes, p.Scope, p.Direct = nil, nil, "all", false
	p.Summary = fmt.Sprintf("the job's processes use different NCCL versions: %s", strings.Join(versions, " and "))
	p.Why = "NCCL received the wrong number of bytes before the first step, and its own lines show several versions"
	var ev []incident.Evidence
	for _, a := range at[:2] {
		ev = append(ev, QuoteAt(a, nil))
	}
	p.For = append(p.For, finding("NCCL reports "+strings.Join(versions, " and "), ev...))
	return p
}
