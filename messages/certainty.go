package messages

import (
	"slices"

	"faultline/incident"
)

// certainty is how sure a report is of who failed and of why, each in one of three words. Counters may prove which rank stayed away where
// nothing shows what held it.
type certainty struct{ Who, Why string }

func certaintyOf(r *incident.Report) certainty {
	word := confidenceWord(r.Verdict.Status)
	c := certainty{word, word}
	if r.Verdict.Status != incident.Probable || r.Verdict.Origin != originUnknown || len(r.Verdict.Root.Ranks) == 0 {
		return c
	}
	c.Why = confidenceWord(incident.Inconclusive)
	if stayedAway(r) {
		c.Who = confidenceWord(incident.Confirmed)
	}
	return c
}

// originUnknown is the origin of a mechanism that says who, and not what broke.
const originUnknown = "unknown"

// apart says that who and why are not equally sure.
func (c certainty) apart() bool { return c.Who != c.Why }

// String is both in a few words.
func (c certainty) String() string {
	if c.apart() {
		return "who: " + c.Who + "; why: " + c.Why
	}
	return c.Who
}

// stayedAway says that each rank at the root is shown by its own counters not to have entered what its group waited in.
func stayedAway(r *incident.Report) bool {
	if len(r.Verdict.Root.Frontier) > 0 {
		return false
	}
	for _, id := range r.Verdict.Root.Ranks {
		if !slices.ContainsFunc(r.Groups, func(g incident.Group) bool {
			return g.Stuck != nil && slices.ContainsFunc(g.Ranks, heldBack(id, g.Stuck.Seq))
		}) {
			return false
		}
	}
	return true
}

// heldBack finds a rank of a group that had not come to an operation.
func heldBack(rank int, seq int64) func(incident.GroupMember) bool {
	return func(m incident.GroupMember) bool {
		own := m.Rank != nil && *m.Rank == rank && m.Role == incident.Straggler
		return own && m.Enqueued != nil && *m.Enqueued < seq
	}
}
