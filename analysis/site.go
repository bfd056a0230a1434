package analysis

import (
	"context"
	"fmt"
	"slices"

	"faultline/analysis/diagnose"
	"faultline/analysis/resolve"
	"faultline/analysis/verify"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// judge resolves and diagnoses. What a site knows may not replace what is proven without it: where the verdict rests on an entry of the
// site, the same lines are judged once more by Faultline's own.
func judge(ctx context.Context, in Input, obs *worker.Observations, handed resolve.Handed, files verify.Files, earlier diagnose.Earlier) (*incident.Report, error) {
	r, err := opinion(ctx, in, obs, handed, files, earlier)
	if err != nil || !slices.ContainsFunc(r.Site, decides) {
		return r, err
	}
	plain := *obs
	plain.Known, in.Known = in.Known.Base(), in.Known.Base()
	p, err := opinion(ctx, in, &plain, handed, files, earlier)
	if err != nil {
		return nil, err
	}
	if !proves(p) || agrees(p, r) {
		return r, nil
	}
	for _, n := range r.Site {
		if decides(n) {
			n.Part = incident.SiteOutranked
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s (%s) would decide otherwise: %s; what is proven without it stands", knowledge.SiteWord, n.At, n.Statement))
		}
		p.Site = append(p.Site, n)
	}
	for _, w := range r.Warnings {
		if !slices.Contains(p.Warnings, w) {
			p.Warnings = append(p.Warnings, w)
		}
	}
	return p, nil
}

func decides(n incident.SiteNote) bool { return n.Part == incident.SiteDecides }

// proves says that a report proves a cause that Faultline knows. Of an exception that no entry knows, a site may know more.
func proves(r *incident.Report) bool {
	return r.Verdict.Status == incident.Confirmed && r.Verdict.Mechanism != string(knowledge.Exception)
}

// agrees says that a report has the cause of another, and blames nobody whom the other does not blame.
func agrees(p, r *incident.Report) bool {
	if p.Verdict.Mechanism != r.Verdict.Mechanism {
		return false
	}
	for _, rank := range p.Verdict.Root.Ranks {
		if !slices.Contains(r.Verdict.Root.Ranks, rank) {
			return false
		}
	}
	for _, node := range p.Verdict.Root.Nodes {
		if !slices.Contains(r.Verdict.Root.Nodes, node) {
			return false
		}
	}
	return true
}
