package incident

// Triage is what a job that still runs looks like at one moment: is it alive, does it learn, is it as fast as it was, and what to do.
type Triage struct {
	At    string `json:"at"`    // the moment, RFC 3339; without a zone where it is by the logs' own clock
	Clock string `json:"clock"` // how the moment is related to the times in the logs; see the Clock constants
	State string `json:"state"` // see the states
	// Severity is critical, warning, note or none, and Summary says why in one sentence.
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	// Wastes is how many GPU hours an hour the job does not use as it did; null where that is not known.
	Wastes *float64 `json:"gpu_hours_an_hour"`
	// Signs are the answers, in the order in which one asks. Absent are the names of those that these logs do not print.
	Signs  []TriageSign `json:"signs"`
	Absent []string     `json:"not_in_logs"`
	Next   TriageNext   `json:"next"`
}

// States of a job at the moment of its triage.
const (
	StateStarting = "starting" // no step yet
	StateRunning  = "running"
	StatePausing  = "pausing" // saves or evaluates
	StateLate     = "late"    // the next step is overdue
	StateStalled  = "stalled" // so long that a pause does not explain it, or it is seen who holds the job
	StateFailing  = "failing" // a failure is in the logs already
	StateEnded    = "ended"
)

// How the moment of a triage is related to the logs.
const (
	ClockLogs    = "logs"       // it was given by the logs' own clock
	ClockZone    = "zone"       // the zone of the logs is known
	ClockFiles   = "file-times" // by when the files were last written
	ClockAssumed = "assumed"    // but for whole quarters of an hour, because the zone of the logs is not known: ages are the least
	ClockNone    = "none"       // neither the logs nor the files have a time
)

// Severities of a triage and levels of its signs.
const (
	TriageCritical = "critical"
	TriageWarning  = "warning"
	TriageNote     = "note"
	TriageNone     = "none"
)

// Names of signs.
const (
	SignAge        = "running"
	SignStep       = "step"
	SignLoss       = "loss"
	SignStepTime   = "step-time"
	SignThroughput = "throughput"
	SignMemory     = "memory"
	SignSave       = "save"
	SignLines      = "last-lines"
	SignWaiting    = "waiting"
	SignFailure    = "failure"
)

// TriageSign is one answer. Value and Base are what it states in Unit, now and at the job's own start; null where it states none.
type TriageSign struct {
	Name     string     `json:"name"`
	Level    string     `json:"level"`
	Text     string     `json:"text"`
	Value    *float64   `json:"value"`
	Base     *float64   `json:"base"`
	Unit     string     `json:"unit"`
	Ranks    []int      `json:"ranks,omitempty"` // whom it names
	Nodes    []string   `json:"nodes,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"` // absent where only the times of files say so
}

// TriageNext is the branch to take, with the one command that begins it; "" where there is nothing to do.
type TriageNext struct {
	Text    string `json:"text"`
	Command string `json:"command"`
}
