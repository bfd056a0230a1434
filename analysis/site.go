package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

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
	in.Known = in.Known.WithoutSiteFailures()
	plain.Known = in.Known
	p, err := opinion(ctx, in, &plain, handed, files, earlier)
	if err != nil {
		return nil, err
	}
	if !proves(p) || agree(p, r) {
		return r, nil
	}
	p.Site = nil // what it says of suppressions stands in the other report as well
	for _, n := range r.Site {
		if decides(n) {
			n.Part = incident.SiteOutranked
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s (%s) would change the verdict: %s; what is proven without it stands", knowledge.SiteWord, n.At, strings.TrimSuffix(n.Statement, ".")))
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

// agree says that two reports accuse the same of the same.
func agree(a, b *incident.Report) bool {
	x, y := &a.Verdict, &b.Verdict
	return x.Status == y.Status && x.Mechanism == y.Mechanism && same(x.Root.Ranks, y.Root.Ranks) && same(x.Root.Nodes, y.Root.Nodes)
}

// same says that two lists hold the same, in any order.
func same[T cmp.Ordered](a, b []T) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
}
