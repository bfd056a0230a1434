package incident

// Storage is the state of the storage question.
type Storage struct {
	Status    string   `json:"status"`    // not-needed, not-provided, partial, examined
	Judgement string   `json:"judgement"` // implicated, cleared, open
	Side      *string  `json:"side"`
	Targets   []string `json:"targets"`
	// Window is the stretch that was looked at in the daemons' logs, "FROM/TO" by the job's clock.
	Window *string `json:"window"`
	// Clocks says how well the daemons' times are related to the job's: proven, likely, unproven; absent where no logs of
	// daemons were read.
	Clocks string `json:"clocks,omitempty"`
	// Clock is that relation.
	Clock *StorageClock `json:"clock,omitempty"`
	// Why is the judgement in one sentence, where logs of daemons were read.
	Why string `json:"why,omitempty"`
	// Missing says what of the window the daemons' logs do not cover.
	Missing []string `json:"missing,omitempty"`
	// Episodes are the daemons' troubles, and how each stands to the job's trouble.
	Episodes []StorageEpisode `json:"episodes,omitempty"`
	// Daemons are those whose logs were read.
	Daemons []StorageDaemon `json:"daemons,omitempty"`
	// Signs are lines of the job that lead to its storage; Buckets are those that the job itself names.
	Signs   []StorageSign `json:"signs,omitempty"`
	Buckets []string      `json:"buckets,omitempty"`
}

// What a sign says.
const (
	SignTrouble = "trouble" // a loader or a storage client tells of a read that did not go as asked, and it is no noise
	SignUse     = "use"     // the job reads its data from AIStore, or by Lhotse
)

// StorageSign is a line of the job that leads to its storage.
type StorageSign struct {
	Kind      string     `json:"kind"`
	Statement string     `json:"statement"`
	Evidence  []Evidence `json:"evidence"`
}

// StorageDaemon is what the logs of one storage daemon say. Times are those of its own clock, without zone; where only the time
// of day is known, the date is left out.
type StorageDaemon struct {
	Name         string           `json:"name"`
	ID           *string          `json:"id"`
	Role         *string          `json:"role"`          // target, proxy
	IdentifiedBy *string          `json:"identified_by"` // title: its own line; archive: the name that the cluster map gives it
	Cluster      *string          `json:"cluster"`       // id of its cluster map
	Zone         *string          `json:"zone"`          // as it abbreviates it
	CoveredFrom  *string          `json:"covered_from"`
	CoveredTo    *string          `json:"covered_to"`
	Files        []StorageFile    `json:"files"`
	NotCovered   []StorageGap     `json:"not_covered"`
	Lives        []StorageLife    `json:"lives"`
	Events       []StorageEvent   `json:"events"`
	Counters     []StorageCounter `json:"counters"`
	Compared     *StorageSpans    `json:"compared"` // null where the clocks are not related, or the trouble has no time
	Stalls       []StorageStall   `json:"stalls"`
	Warnings     []string         `json:"warnings"`
}

// StorageFile is one file of a daemon.
type StorageFile struct {
	Name         string  `json:"name"`
	Begins       string  `json:"begins"` // started, rotated, headless
	From         *string `json:"from"`
	To           *string `json:"to"`
	WarningsOnly bool    `json:"warnings_only"` // it repeats what another file holds
	CopyOf       *string `json:"copy_of"`
	ReadError    *string `json:"read_error"`
}

// StorageGap is a stretch that no file covers.
type StorageGap struct {
	From *string `json:"from"`
	To   *string `json:"to"`
	Why  string  `json:"why"` // before-first-file, between-files, lost-tail, not-written-out, warnings-only
	Text string  `json:"text"`
}

// StorageLife is one run of a daemon.
type StorageLife struct {
	Start     string     `json:"start"`
	StartSeen bool       `json:"start_seen"`
	Last      string     `json:"last"`
	Ended     string     `json:"ended"` // orderly, failed, killed, unclear, open
	Version   *string    `json:"version"`
	Text      string     `json:"text"`
	Evidence  []Evidence `json:"evidence"`
}

// StorageEvent are all records of one text about one other daemon.
type StorageEvent struct {
	Kind      string  `json:"kind"`
	What      string  `json:"what"`
	Level     string  `json:"level"` // alarm, notice, background: how much it says by itself, never that it is a cause
	Peer      *string `json:"peer"`
	First     string  `json:"first"`
	Last      string  `json:"last"`
	TimeProof string  `json:"time_proof"` // first-line, midnight, marker, time-of-day: how the day of First is known
	Count     int     `json:"count"`      // records
	InWindow  *int    `json:"in_window"`  // those within the window, if both clocks showed the same; null without a window
	// Administrative: the request asked about the cluster, as people and this program do, not for data.
	Administrative bool       `json:"administrative"`
	Objects        []string   `json:"objects"`   // some that the records name
	Addresses      []string   `json:"addresses"` // likewise
	Requests       []string   `json:"requests"`  // likewise
	Evidence       []Evidence `json:"evidence"`
}

// StorageCounter is what one counter of a daemon grew by.
type StorageCounter struct {
	Name     string `json:"name"`
	Grew     int64  `json:"grew"`      // in what is covered
	InWindow *int64 `json:"in_window"` // in the intervals that touch the window
	Since    *int64 `json:"since"`     // since the job's trouble began, within Compared.Since
	Before   *int64 `json:"before"`    // within Compared.Before before it
}

// StorageSpans are for how many seconds a daemon's counters are covered since the job's trouble began, and before that.
type StorageSpans struct {
	Since  int64 `json:"since_s"`
	Before int64 `json:"before_s"`
}

// StorageStall is a stretch in which batches ran and a daemon received nothing by stream.
type StorageStall struct {
	From     string     `json:"from"`
	To       string     `json:"to"`
	Text     string     `json:"text"`
	InWindow *bool      `json:"in_window"`
	Evidence []Evidence `json:"evidence"`
}

// StorageClock relates the daemons' clocks to the job's: job = daemon + shift.
type StorageClock struct {
	Shift       *float64  `json:"shift_s"` // null where no relation is known
	Uncertainty *float64  `json:"uncertainty_s"`
	Text        string    `json:"text"`
	Basis       []Finding `json:"basis"`
	Against     []Finding `json:"against"`
}

// StorageEpisode is one trouble of the storage, put to the tests of a cause: before the job's trouble, met by its requests,
// standing out. Times are by the job's clock; null where the clocks are not related.
type StorageEpisode struct {
	Mechanism string     `json:"mechanism"`
	Daemon    *string    `json:"daemon"` // null: the cluster
	Role      *string    `json:"role"`   // target, proxy
	Side      string     `json:"side"`   // target, proxy, client, network, remote
	From      *string    `json:"from"`
	To        *string    `json:"to"`
	Standing  string     `json:"standing"` // cause, coincident, undecided
	Statement string     `json:"statement"`
	Why       string     `json:"why"`
	Evidence  []Evidence `json:"evidence"`
	Met       []Finding  `json:"met"` // the job's lines that it meets
	Led       []Finding  `json:"led"` // what it led to among the daemons
}
