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
	// Storage is what the logs of the storage's daemons, beside those of the job, determine; nil where there are none.
	Storage *StorageTruth `json:"storage,omitempty"`
}

// StorageTruth is what the logs of the storage's daemons and those of the job determine together.
type StorageTruth struct {
	// Judgements are what may be said of the storage, the best first: implicated, cleared, open.
	Judgements []string `json:"judgements"`
	// Targets are the daemons at fault, by their ids; one of them must be named as the root. Where none is listed, none need be.
	Targets []string `json:"targets"`
	// Related may be named as involved, and are not at fault.
	Related []string `json:"related"`
	// Sides are what may be said to be at fault: target, proxy, network, remote, client.
	Sides []string `json:"sides"`
	// Affected are the ranks that the fault reached: they may be named, nobody else.
	Affected []int `json:"affected"`
	// Alone are the mechanisms that the job's own logs leave standing where the storage is not implicated.
	Alone []string `json:"alone"`
}

// Implicated says that the storage is at fault.
func (t *StorageTruth) Implicated() bool { return t.Judgements[0] == "implicated" }

// Incident is a generated case.
type Incident struct {
	ID    string
	Title string
	Spec  Spec
	Files []File
	// Storage are the logs of the storage's daemons, with their paths below the folder of all of them.
	Storage []File
	Truth   Truth
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
	// AIS is the storage cluster, of the mechanisms that have one.
	AIS AIS `json:"ais,omitzero"`
}

// AIS selects an AIStore cluster beside the job, and how its logs relate to the job's.
type AIS struct {
	Release          string
	Targets, Proxies int
	// Shape is how the job takes it: "crash" (a rank dies), "stall" (a rank holds the others), "all" (all ranks die).
	Shape   string
	Variant int
	// Zone and Offset (minutes east of UTC) are those of the daemons' clock, Skew (milliseconds) what it is wrong by.
	Zone         string
	Offset, Skew int
	// Unrelated: nothing that both sides saw ties the clocks together.
	Unrelated bool
	Midnight  bool // at the daemons, a few minutes around the fault
	Aged      bool // the daemons started days before
	Rotate    int  // size of a file
	Every     int  // seconds between the counters of a busy daemon
	Errors    bool
	Packed    bool
	Pods      bool
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
