package analysis

import (
	"context"
	"slices"
	"strings"

	"faultline/analysis/artifact/snapshot"
	"faultline/analysis/artifact/timeseries"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// maxSnapshots are the files in which a slow job's machines are compared.
const maxSnapshots = 1 << 10

// snapshots reads what tools print of machines, whatever tools they are, where a job is slow: who differs from all others is where to look.
func (in *Input) snapshots(ctx context.Context, facts *resolve.Facts) {
	if !mechanism.Slow(facts) {
		return
	}
	defer func() {
		var slowed *resolve.Slowdown
		if d, ok := mechanism.SlowedAt(facts); ok {
			slowed = &d
		}
		facts.Contrasts = facts.Comparison(slowed)
	}()
	logs := map[string]bool{}
	for _, f := range []*resolve.Facts{facts, earlierFacts(facts)} {
		for _, c := range f.Courses {
			logs[c.File] = true
		}
		if f.NCCL != nil {
			for _, l := range f.NCCL.Logs {
				logs[l.File] = true
			}
		}
	}
	now := slices.Concat(in.Sources, in.Evidence)
	for _, b := range in.both {
		if !slices.ContainsFunc(now, func(s incident.Source) bool { return s.Name == b.source.Name }) {
			now = append(now, b.source)
		}
	}
	slices.SortFunc(now, func(a, b incident.Source) int { return strings.Compare(a.Name, b.Name) })
	all := slices.Concat(in.earlierLogs, now)
	for i, s := range all {
		if len(facts.Snapshots) >= maxSnapshots || ctx.Err() != nil {
			return
		}
		if logs[s.Name] || s.Bytes > snapshot.MaxBytes {
			continue
		}
		text, err := headOf(in.Opener, s, snapshot.MaxBytes)
		if err != nil || timeseries.Recognise(text) {
			continue
		}
		if x, ok := snapshot.Read(string(text)); ok {
			facts.Snapshots = append(facts.Snapshots, resolve.SnapshotFile{File: s.Name, Earlier: i < len(in.earlierLogs), Snapshot: x})
		}
	}
}

func earlierFacts(f *resolve.Facts) *resolve.Facts {
	if f.Preceding == nil {
		return &resolve.Facts{}
	}
	return f.Preceding.Facts
}
