// Package knowledge holds what people should know: mechanisms with their origin, owner and advice, signatures of
// log lines, meanings, fixes, and the glossary. It is data with look-up; it decides nothing.
package knowledge

import (
	"slices"
	"strings"
)

// Mechanism is one way to fail (reference: the taxonomy of the design). Slugs are the contract of the JSON report.
type Mechanism struct {
	Slug   Slug
	Origin string // storage, data-loading-stall, data, network, gpu, software, infrastructure, performance, unknown, none
	Owner  Owner  // default answer to "who acts"
	Title  string // five words for a heading: "one rank stalled"
	// Meaning explains it to a researcher who never met it, in two sentences, without jargon that the glossary lacks.
	Meaning                   string
	Now, Structural, NextTime []Advice
	// Resubmit is the default decision: yes, no, after-fix, unknown.
	Resubmit string
	Nature   Nature
	// Again is what it means when earlier runs met the same.
	Again Again
	// LookAlikes are the mechanisms that a person may mistake it for, and how to tell.
	LookAlikes []LookAlike
	// Collect are settings that make the next run say more of it, best first; none where logs would not.
	Collect []string
	// Survived is what it is called where training went on after it; "" is an exception, or failing to read or write.
	Survived string
	// Play is how a small program shows it.
	Play Play
	// Alone is the component of a job whose test alone tells the machine from the program (package probe); "" where none does.
	Alone string
	// Trouble is how the daemons of a store show it; nil where they do not.
	Trouble *Trouble
	// OfAIStore is what differs where a daemon of AIStore is what it befell; nil where nothing does.
	OfAIStore *Aside
}

// Aside is who acts, and what to do, where that depends on what is at fault.
type Aside struct {
	Owner                     Owner
	Now, Structural, NextTime []Advice
}

// DaemonPrefix begins the name of a component that is a daemon of AIStore.
const DaemonPrefix = "ais:"

// For is the mechanism where this component is at fault, as reports write it ("ais:<daemon>"); "" where none is known.
func (m Mechanism) For(component string) Mechanism {
	if a := m.OfAIStore; a != nil && strings.HasPrefix(component, DaemonPrefix) {
		m.Owner, m.Now, m.Structural, m.NextTime = a.Owner, a.Now, a.Structural, a.NextTime
	}
	return m
}

// Advice is one thing to do, with a command that can be pasted where there is one. {job}, {node}, {nodes}, {rank},
// {pid} in Text and Command are filled in by the caller.
type Advice struct {
	Text, Command string
}

// SameDo tells whether two entries ask for the same first action of the same owner.
func SameDo(a, b *Signature) bool { return a.Owner == b.Owner && slices.Equal(a.Do, b.Do) }

// Owner is who acts.
type Owner string

const (
	OwnerCode      Owner = "job-code"
	OwnerConfig    Owner = "job-config"
	OwnerData      Owner = "data"
	OwnerStorage   Owner = "storage"
	OwnerCluster   Owner = "cluster"
	OwnerScheduler Owner = "scheduler"
	OwnerNobody    Owner = "nobody"
	OwnerUnknown   Owner = "unknown"
)

// Owners are all of them.
var Owners = []Owner{OwnerCode, OwnerConfig, OwnerData, OwnerStorage, OwnerCluster, OwnerScheduler, OwnerNobody, OwnerUnknown}

// Scope is how much a condition reaches. What reaches further than one process names no rank; further than one node, no node either.
type Scope string

const (
	ScopeProcess Scope = "process"
	ScopeNode    Scope = "node"
	ScopeFabric  Scope = "fabric"
	ScopeStorage Scope = "storage"
	ScopeJob     Scope = "job"
)

// NamesRank says whether a rank may be blamed for a condition of this scope; an undecided one leaves that to the evidence.
func (s Scope) NamesRank() bool { return s == "" || s == ScopeProcess }

// NamesNode says whether a node may be blamed for it.
func (s Scope) NamesNode() bool { return s.NamesRank() || s == ScopeNode }

// Role of a signature in reasoning.
type Role string

const (
	CauseRole       Role = "cause"       // can be the first failure of its rank or node
	SymptomRole     Role = "symptom"     // names a peer or a state; follow it
	ConsequenceRole Role = "consequence" // explained by something else whenever something else is there
	NoiseRole       Role = "noise"       // harmless, also in healthy jobs
	InfoRole        Role = "info"
)

// Tier of the method: process killers, training-loop crashes, data and I/O.
type Tier int

const (
	NoTier Tier = iota
	ProcessKiller
	LoopCrash
	DataIO
)

// Signature is the wording of one kind of line.
type Signature struct {
	ID ID
	// Literals: the line must contain all of them, in order. The first is what the scanner looks for and should be at
	// least 7 bytes long and rare in healthy logs.
	Literals []string
	// Pattern is an optional RE2 expression that the segment must also match; its named groups become the fields.
	Pattern string
	// Not: the segment must contain none of these.
	Not       []string
	Mechanism Slug // slug this line speaks for, or ""
	Role      Role
	Tier      Tier
	// Names are what captures of Pattern name, and what the line says of that.
	Names []Name
	// Between is true where the line tells that its writer and another do not agree, and not which of them is at fault.
	Between bool
	// Open is true where the line leaves open who has to act, and whether a change is needed, whatever is mostly so of its mechanism.
	Open bool
	// Direct is true where the line alone, on the root's own rank or node, confirms the mechanism.
	Direct bool
	// Says: facts that the line states beside its mechanism.
	Says Trait
	// Exchange is in what the writer waited in vain for others; "" in a collective of Gloo.
	Exchange string
	// System: the batch system that says so; "" where it is none of those.
	System string
	// Blames: whom the line accuses.
	Blames Blame
	// LooksLike: what else the line may mean, where nothing but the store, the kernel or a second run decides.
	LooksLike []Slug
	// Cases: what the line means where something else holds.
	Cases []Case
	// Owner is who acts where that differs from the mechanism's; "" where it does not.
	Owner Owner
	// Scope is how much the line's condition reaches; "" where the line leaves that open.
	Scope Scope
	// Do is what to do first about this very line, where that is more than its mechanism's advice. Beside Placeholders it may
	// hold captures of Pattern, see Advice.Captures.
	Do      []Advice
	Meaning string // one sentence for people
	Source  string // project, file, version the wording comes from
	// Example is a real line; tests hold Literals and Pattern to it.
	Example string
	// Site is the place in a site's own file that states the entry; "" where this package does.
	Site string
	// Mutes: such lines say nothing at the site. Of what else is known of them it leaves direct causes, but for those named.
	Mutes *Mute
}

// Mute is what a site's entry silences.
type Mute struct {
	// Causes are entries that prove something by themselves and are silenced all the same.
	Causes []ID
}

// Term is one entry of the glossary.
type Term struct {
	Name, Text string
}
