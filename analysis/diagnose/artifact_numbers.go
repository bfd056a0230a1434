package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/numbers"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// numbersArtifact says what tables of losses, norms and checksums show.
func numbersArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "numbers", Title: "Losses, norms and checksums by step"}
	m := f.Tabled
	if m == nil {
		return a, false
	}
	a.Files = m.Files
	limits := []string{"They show when the numbers went wrong and on which rank first, but not why: bad data, a code bug and faulty hardware look alike."}
	if m.Origin != nil {
		a.Findings = append(a.Findings, mechanism.OriginFinding(f, m.Origin))
	} else if p, ok := firstBad(m); ok {
		a.Findings = append(a.Findings, incident.Finding{Statement: fmt.Sprintf("the first non-finite value: %s %s at step %d", p.Name, p.Text, p.Step), Evidence: []incident.Evidence{mechanism.PointEvidence(p)}})
	}
	for i := range m.Splits {
		s := &m.Splits[i]
		x := mechanism.SplitFinding(s)
		x.Statement += mechanism.SplitWhere(m, s)
		a.Findings = append(a.Findings, x)
		if s.What == numbers.Checksum && !f.Replicas(s) {
			limits = append(limits, "No column shows which ranks hold the same parameters (replica_group), and the job may not be purely data-parallel: checksums of shards are supposed to differ.")
		}
	}
	if p, q, ok := ends(m); ok {
		a.Findings = append(a.Findings, incident.Finding{Statement: fmt.Sprintf("%s: %s at step %d, %s at step %d", p.Name, p.Text, p.Step, q.Text, q.Step), Evidence: []incident.Evidence{mechanism.PointEvidence(p), mechanism.PointEvidence(q)}})
	}
	if m.Ranks == 0 {
		limits = append(limits, "No line or file name shows a rank, so ranks are not compared.")
	}
	if s := anyWithin(m); s && !m.Placed {
		limits = append(limits, "Groups are derived from the job's parallel sizes in Megatron's rank order; columns such as tp_rank and dp_rank would state them.")
	}
	a.Limits = strings.Join(limits, " ")
	return a, true
}

// firstBad is the first value that is none, by step.
func firstBad(m *resolve.Tabled) (best numbers.Point, ok bool) {
	for _, p := range m.Points {
		if p.NaN && (!ok || p.Step < best.Step) {
			best, ok = p, true
		}
	}
	return best, ok
}

// ends are the first and the last sound loss of one series.
func ends(m *resolve.Tabled) (first, last numbers.Point, ok bool) {
	for _, p := range m.Points {
		if p.What != numbers.Loss || p.NaN || ok && (p.Name != first.Name || p.Rank != first.Rank) {
			continue
		}
		if !ok {
			first, ok = p, true
		}
		if p.Step >= last.Step {
			last = p
		}
	}
	return first, last, ok && last.Step > first.Step
}

// anyWithin says that a split inside a group is told.
func anyWithin(m *resolve.Tabled) bool {
	return slices.ContainsFunc(m.Splits, func(s numbers.Split) bool { return s.Axis != numbers.Unplaced })
}
