// Package simulate writes incidents with known truth, in the line formats of real systems. Its templates come from the
// projects that print the lines, never from our readers; it imports nothing of ours but the standard library.
package simulate

import "time"

// File is one log file of an incident.
type File struct {
	Name string
	Data []byte
}

// Truth is what the emitted bytes determine, no more.
type Truth struct {
	// World is what really happened in the simulation, for the title; Candidates may be wider.
	World string `json:"world"`
	// Candidates is the exact set of mechanism slugs that the bytes leave standing; one slug where they determine it.
	Candidates []string `json:"candidates"`
	// RootRanks and RootNodes are global ranks and nodes that the bytes prove; empty: naming one is wrong.
	RootRanks []int    `json:"root_ranks"`
	RootNodes []string `json:"root_nodes"`
	// Intermediates are ranks that hold others while being held themselves; accusing one is wrong.
	Intermediates []int `json:"intermediates"`
	NoFailure     bool  `json:"no_failure"`
	// MissingNodes and MissingRanks are what coverage must report as missing (expectation known, file removed).
	MissingNodes []string `json:"missing_nodes"`
	MissingRanks []int    `json:"missing_ranks"`
	// Forbidden first mechanisms.
	ForbidMechanisms []string `json:"forbid_mechanisms"`
	Action           string   `json:"action,omitempty"` // expected action.resubmit, where determined
	// Sync is a part of the name of the synchronisation point at which the group waits, which the report must name among
	// others; empty: none is determined.
	Sync string `json:"sync,omitempty"`
	// PerStep is how many collectives a step makes in the group, where samples prove it; Gap how many its members are
	// apart, StepsApart how many whole steps that is (0: no whole number).
	PerStep    int `json:"per_step,omitempty"`
	Gap        int `json:"gap,omitempty"`
	StepsApart int `json:"steps_apart,omitempty"`
}

// Incident is a generated case.
type Incident struct {
	ID    string
	Title string
	Spec  Spec
	Files []File
	Truth Truth
	// Played is what the play knows of itself, whether or not a line states it.
	Played Played
	// Flags are what an operator would pass: --world-size, --nodes; empty when nobody states them.
	WorldSize int
	Nodes     string // hostlist
}

// Played are facts of the run that was played.
type Played struct {
	Job   int
	Nodes []string
	Step  int // the last optimizer step
	Root  int // the rank at fault, −1 for none
	Start time.Time
	End   time.Time // of the last line
}

// Layout is how ranks are arranged. Products must equal the world size. Group construction follows Megatron-Core's order
// tp-cp-ep-dp-pp (tp varies fastest), or one default group for DDP/FSDP, or shard × replicate for HSDP.
type Layout struct {
	Kind               string // ddp, fsdp, hsdp, megatron
	TP, CP, EP, DP, PP int    // 1 where unused; for hsdp DP = replicas and TP = shards
}

// Spec selects one incident; the same Spec always gives the same bytes.
type Spec struct {
	Seed      uint64
	Mechanism string // one of Mechanisms()
	Torch     string // "1.13", "2.0", … "2.8", "recent"
	Layout    Layout
	NodeCount int
	PerNode   int
	FileMode  string   // node (error-<job>-<n>.out), rank, single, task
	Prefixes  []string // any of: srun-label, torchrun-default, ray, ansi, collector
	ZoneMix   bool     // emitters and nodes in different zones, clocks skewed by seconds
	Noise     int      // 0…3
	Damage    string   // "", missing-root-file, missing-other-file, truncated-root, truncated-other, glued, wrapped, crlf, nul, gz, zst, …
	Ablate    string   // "", or what was removed: see Ablations(mechanism)
}

// The API of this package:
//
//	func Lines() []string; func Mechanisms(line int) []string
//	func Ablations(mechanism string) []string
//	func Generate(spec Spec) (*Incident, error)
//	func History(inc *Incident, spec HistorySpec) ([]byte, HistoryTruth)
//	func Accounting(inc *Incident) (File, bool)
//	func Grid(n int, seed uint64, line int) []Spec   // n varied specs over all axes
//	func Write(dir string, inc *Incident) error      // dir/<ID>/logs/* and dir/<ID>/case.json
