// Package mechanism holds the ways to fail that the engine can recognise: each is data plus small predicates over the
// facts of a run. A mechanism proposes itself with what speaks for and against it; which proposal wins is decided
// elsewhere, by an arbiter that knows none of them by name.
package mechanism

import (
	"strings"

	"faultline/analysis/correlate"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge"
)

// Class says what kind of thing a proposal is about. It is all that the arbiter knows of causality between kinds.
type Class int

const (
	Environment Class = iota // befalls nodes or the whole job from outside, with its own evidence
	Local                    // one process or node failed by itself
	Collective               // the picture that counters form
	Ending                   // the scheduler ended the job
	Symptom                  // somebody else failed first
	Degraded                 // nothing failed by it, but the run did not go as it should
	Nothing                  // nothing failed
)

// Scene is what a mechanism may look at.
type Scene struct {
	Facts *resolve.Facts
	Graph *waitfor.Graph
	// Storage is what the logs of the storage daemons say to the question that First raises: what the job's own logs leave
	// standing. It is nil where there are no such logs.
	Storage *correlate.Answer
	First   []*Proposal
	// Here are the kinds of evidence beside the logs that are at hand and of use.
	Here map[string]bool
}

// Mechanism is one way to fail.
type Mechanism struct {
	Slug  knowledge.Slug
	Class Class
	// Propose returns a proposal if the facts hold what the mechanism requires, else nil.
	Propose func(s *Scene) *Proposal
	// Explains lists mechanisms that are this one's consequence whatever order the lines are in, because their cause is
	// reported late or by somebody else.
	Explains []knowledge.Slug
	// AtHome says that it comes of its own node alone: what befell other nodes explains it only by being earlier.
	AtHome bool
	// ByEnd says that all that other processes meet of it is that one of them has ended or answers no more.
	ByEnd bool
	// Needs are what would decide, or prove why.
	Needs []incident.Need
}

// Proposal is a mechanism proposed for this run.
type Proposal struct {
	Mechanism knowledge.Slug
	Class     Class
	// Rivals are mechanisms that the same evidence supports as well: they stand or fall together.
	Rivals []knowledge.Slug
	// Ranks and Nodes are proven roots; empty where nothing proves one. Frontier are ranks among which the root must be.
	Ranks     []int
	Nodes     []string
	Frontier  []int
	Named     string // whom lines name, where that proves nobody's fault
	Component string
	Disk      correlate.Disk // of the daemon that is the component
	Scope     string         // rank, node, group, all, unknown
	// Failures are the lines it rests on (Local, Ending), Groups the groups (Collective).
	Failures []*resolve.Failure
	// First are those of Failures that no other is proven to precede; empty where it was not asked.
	First  []*resolve.Failure
	Groups []*resolve.Group
	// At is when it happened as far as known; From a position to order by where no time is known.
	At     resolve.Moment
	Direct bool
	// Bare is true for an ending that states no reason: then whatever failed before it, even a mere symptom, is why.
	Bare bool
	// Echo is true where all it rests on is also what others print of a process that died of something else.
	Echo   bool
	AtHome bool // see Mechanism
	ByEnd  bool // see Mechanism
	// Own is true where a program made a mistake of its own that it raises whatever became of other processes.
	Own bool
	// Remote are the mechanisms that, on a process of which Failures say nothing, look like this to those at the other end: what the
	// reporters say is of a transfer with a process that did not answer.
	Remote []knowledge.Slug
	Waste  float64 // share of the job's time that it costs while it goes on; 0 where that is not known
	Lost   float64 // GPU hours that it has cost since it began; 0 where that is not known
	Since  string  // when it began, as a clock shows it; "" unknown
	// Machine is true where the node is proven to be at fault, and not only whoever ran on it: it is to be left out.
	Machine bool
	Base    float64 // how often such a proposal, unrivalled, is right
	Summary string  // what broke and where, one sentence
	place   string  // the place with which Summary begins, "n3: "; see Reporter
	Why     string  // how it is known, one sentence
	// For is what speaks for it, the cause itself first; Led is what it led to, which speaks for it as well.
	For []incident.Finding
	// Because is why the first of For came about, as far as its own numbers show.
	Because []incident.Finding
	Led     []incident.Finding
	Against []incident.Finding
	// AgainstRival is what speaks against a rival alone.
	AgainstRival map[knowledge.Slug][]incident.Finding
	// Past is what earlier runs say for it: no part of this run's story.
	Past     []incident.Finding
	Suspects []incident.Suspect
	Needs    []incident.Need
	// Settled is true where what the mechanism asks for in general, and what can be had of a job that hangs, would decide nothing:
	// it is all stated already.
	Settled bool
	// Lasting is true where it comes again unless something is changed, whatever is mostly so of its mechanism.
	Lasting bool
	// Now is what to do first, where this very failure says more than its mechanism.
	Now      []knowledge.Advice
	Explains []knowledge.Slug
	// Moot is what of the mechanism's own advice the evidence makes pointless, by its text.
	Moot []string
	// Stated is the cause that the line it rests on states by itself, where that line is no failure that was read.
	Stated *knowledge.StatedCause
	// Ending is whether the job's end was seen, where nothing failed.
	Ending string
	// Onset is from where on what was saved may be spoilt by it; nil where it spoils nothing.
	Onset *resolve.Point
	// Plausible says why it is worth a suspicion where it gives way to something else (Degraded); "" if it is not.
	Plausible string
}

// Reporter makes the place with which a summary begins that of who reports, where what was found out since leaves nobody there at fault.
func (p *Proposal) Reporter() {
	if p.place != "" && len(p.Ranks)+len(p.Nodes) == 0 && strings.HasPrefix(p.Summary, p.place) {
		p.Summary = "reported by " + p.Summary
	}
}

// Deny states what speaks against one rival.
func (p *Proposal) Deny(rival knowledge.Slug, f incident.Finding) {
	if p.AgainstRival == nil {
		p.AgainstRival = map[knowledge.Slug][]incident.Finding{}
	}
	p.AgainstRival[rival] = []incident.Finding{f}
}
