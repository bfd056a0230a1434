package desk

import (
	"slices"
	"time"

	"faultline/incident"
	"faultline/workflow"
)

// channelState is what is remembered of the jobs that were taken up for one channel. The functions of this file decide by it
// and do nothing else.
type channelState struct {
	Cases   []caseState      `json:"cases,omitempty"`   // oldest first
	Muted   map[string]pause `json:"muted,omitempty"`   // by job name
	Running *pause           `json:"running,omitempty"` // who wants every running job watched that is asked about here; nil: nobody
	Lost    int              `json:"lost,omitempty"`    // lines of the digest that there was no room for
}

// What became of a case.
const (
	fateOpen   = ""       // it is being looked at
	fateTold   = "told"   // it is posted
	fateDigest = "digest" // it concerns only its owner, or nothing was found
)

// Reasons for the digest besides mechanisms.
const (
	whyLimit     = "limit"      // too much was posted in this hour: it was not looked at
	whyNoLogs    = "no-logs"    // there was nothing to read
	whyFailed    = "failed"     // the investigation could not be finished
	whyNoFailure = "no-failure" // the logs show none
)

// caseState is the first job of an incident.
type caseState struct {
	ID      string    `json:"id,omitempty"` // of the investigation; "" where none was begun
	Key     string    `json:"key"`
	Cluster string    `json:"cluster"`
	Job     string    `json:"job"`
	Raw     string    `json:"raw"`
	Of      string    `json:"of,omitempty"`
	Name    string    `json:"name,omitempty"`
	State   string    `json:"state"`
	Nodes   []string  `json:"nodes,omitempty"` // where the same again is a repeat
	At      time.Time `json:"at"`              // when it, or the last repeat, was taken up
	Fate    string    `json:"fate,omitempty"`
	Why     string    `json:"why,omitempty"`
	Told    time.Time `json:"told,omitzero"`
	Listed  bool      `json:"listed,omitempty"` // was in a digest
	Repeats int       `json:"repeats,omitempty"`
	Recent  []string  `json:"recent,omitempty"` // the newest repeats, in words
	Posted  bool      `json:"posted,omitempty"` // the list of repeats is in the thread
	Owners  []string  `json:"owners,omitempty"` // who were told in direct messages
}

const (
	remembered = 24 * time.Hour // how long a run of the same job, or of the same array, is a repeat
	together   = time.Hour      // how long the same node is
	maxCases   = 500
	maxRecent  = 5
)

// tidy forgets what no repeat and no digest can need, and what there is no room for.
func (s *channelState) tidy(now time.Time) {
	done := func(c caseState) bool { return c.Fate == fateTold || c.Fate == fateDigest && c.Listed }
	s.Cases = slices.DeleteFunc(s.Cases, func(c caseState) bool {
		age := now.Sub(c.At)
		return age >= remembered && done(c) || age >= 8*24*time.Hour
	})
	for len(s.Cases) > maxCases {
		i := max(slices.IndexFunc(s.Cases, done), 0)
		if !done(s.Cases[i]) {
			s.Lost++
		}
		s.Cases = slices.Delete(s.Cases, i, i+1)
	}
}

// repeats says of which case a run is a repeat, −1 for none: another run of the same job, another part of the same array or
// heterogeneous job, or a job on a node that the case is about, soon after.
func (s *channelState) repeats(e workflow.Ended, now time.Time) int {
	for i := len(s.Cases) - 1; i >= 0; i-- {
		c := &s.Cases[i]
		age := now.Sub(c.At)
		switch {
		case c.Cluster != e.Cluster || age >= remembered:
		case c.Raw == e.Raw, c.Of != "" && c.Of == e.Of:
			return i
		case age < together && slices.ContainsFunc(c.Nodes, func(n string) bool { return slices.Contains(e.Nodes, n) }):
			return i
		}
	}
	return -1
}

// room says whether one more may be begun: what was posted within the hour and what may yet be posted stay within the limit.
func (s *channelState) room(limit int, now time.Time) bool {
	n := 0
	for _, c := range s.Cases {
		if c.Fate == fateOpen || c.Fate == fateTold && now.Sub(c.Told) < time.Hour {
			n++
		}
	}
	return n < limit
}

func (s *channelState) known(key string) bool {
	return slices.ContainsFunc(s.Cases, func(c caseState) bool { return c.Key == key })
}

// of is the case of an investigation; nil where it is forgotten.
func (s *channelState) of(id string) *caseState {
	i := slices.IndexFunc(s.Cases, func(c caseState) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Cases[i]
}

func newCase(id string, e workflow.Ended, now time.Time) caseState {
	return caseState{ID: id, Key: e.Key(), Cluster: e.Cluster, Job: e.Job, Raw: e.Raw, Of: e.Of, Name: e.Name, State: e.State, Nodes: e.Nodes, At: now}
}

// again adds a repeat.
func (c *caseState) again(e workflow.Ended, now time.Time) {
	c.Repeats++
	c.At = now
	c.Recent = append(c.Recent, fill("%s ended with %s at %s", e.Job, e.State, e.End.UTC().Format("15:04")))
	c.Recent = c.Recent[max(0, len(c.Recent)-maxRecent):]
}

// pending are the lines that a digest of now has: of what was taken up before a time.
func (s *channelState) pending(before time.Time) []*caseState {
	var out []*caseState
	for i := range s.Cases {
		if c := &s.Cases[i]; c.Fate == fateDigest && !c.Listed && c.At.Before(before) {
			out = append(out, c)
		}
	}
	return out
}

// ownersOnly are mechanisms that concern nobody but the job's owner.
var ownersOnly = []string{"exception", "config-error", "cancelled", "time-limit"}

// privately says why an investigation is not for the channel; "" where it is.
func privately(inv *workflow.Investigation) string {
	r := inv.Report
	switch {
	case inv.State == workflow.Failed:
		return whyFailed
	case r == nil:
		return whyNoLogs
	case r.Verdict.Status == incident.NoFailure:
		return orElse(mechanismIn(r, ownersOnly), whyNoFailure)
	}
	return mechanismIn(r, ownersOnly)
}

// mechanismIn is the verdict's first mechanism where every one that the evidence leaves standing is among the list.
func mechanismIn(r *incident.Report, list []string) string {
	if len(r.Verdict.Candidates) == 0 {
		if slices.Contains(list, r.Verdict.Mechanism) {
			return r.Verdict.Mechanism
		}
		return ""
	}
	for _, c := range r.Verdict.Candidates {
		if !slices.Contains(list, c.Mechanism) {
			return ""
		}
	}
	return r.Verdict.Candidates[0].Mechanism
}

// dueDigest is the newest time of day that has passed.
func dueDigest(at time.Duration, now time.Time) time.Time {
	now = now.UTC()
	due := now.Truncate(24 * time.Hour).Add(at)
	if due.After(now) {
		due = due.Add(-24 * time.Hour)
	}
	return due
}
