package diagnose

import (
	"slices"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/diagnose/syncpoint"
	"faultline/incident"
	"faultline/knowledge"
)

// syncGroups bounds the groups whose synchronisation point is told.
const syncGroups = 3

// syncs tells at which point of the program the groups at the root of the waiting hang, and how far their members are
// apart. It adds to what is said of the verdict and takes nothing back: neither says whose fault it is.
func (b *builder) syncs() {
	var top *mechanism.Proposal
	if len(b.d.winners) > 0 && b.d.winners[0].Class == mechanism.Collective {
		top = b.d.winners[0]
	}
	var told []string
	for i, g := range b.s.Graph.Groups {
		if i == syncGroups {
			break
		}
		at, gap := syncpoint.At(b.s, g), syncpoint.Gap(b.s, g)
		for j := range b.r.Groups {
			if r := &b.r.Groups[j]; r.Key == g.Key {
				r.Gap = gap
				if r.Stuck != nil {
					r.Stuck.Sync = at
				}
			}
		}
		if top == nil {
			continue
		}
		if at != nil && !slices.Contains(told, at.Statement) {
			told = append(told, at.Statement) // releases that name no group may show one hang as two
			top.Led = append(top.Led, incident.Finding{Statement: at.Statement, Kind: incident.LinkPurpose, Evidence: at.Evidence})
		}
		if gap != nil {
			top.Led = append(top.Led, incident.Finding{Statement: gap.Statement, Kind: incident.LinkPurpose, Evidence: gap.Evidence})
		}
		if whole, known := syncpoint.Whole(gap); whole && known && b.s.Graph.IsAhead {
			f := incident.Finding{Statement: "ranks that are whole steps apart made the same calls in each step", Evidence: gap.Evidence}
			top.Deny(knowledge.CollectiveMismatch, f)
		}
	}
	if f, ok := syncpoint.Gloo(b.s); ok && top != nil {
		top.Led = append(top.Led, f)
	}
}
