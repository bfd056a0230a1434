package incident

// Lanes is the run as swim lanes, for a picture: who ran, waited, held the others up and ended, beside each other. Seconds count
// from the left end.
type Lanes struct {
	From    *string `json:"from"`    // the time of the left end, as in Event
	Seconds float64 `json:"seconds"` // the right end
	Focus   float64 `json:"focus"`   // where the part begins that tells of the incident
	// Began is when the trouble began, as far as the logs tell: null where no line has a time for it.
	Began       *float64 `json:"began"`
	Uncertainty float64  `json:"uncertainty_s"` // of Began
	Lanes       []Lane   `json:"lanes"`         // what broke first, then ranks and nodes, storage, kernel and scheduler
}

// Lane is one rank or node, or several that did alike, or what works beside the job.
type Lane struct {
	Kind  string     `json:"kind"` // rank, node, nodes, training, storage, kernel, scheduler
	Name  string     `json:"name"` // "rank 103", "cn-a38", "15 other nodes"
	Root  bool       `json:"root"` // the verdict names it
	Spans []LaneSpan `json:"spans"`
	Marks []LaneMark `json:"marks"`
}

// LaneSpan is what a lane did for some time.
type LaneSpan struct {
	Doing       string  `json:"doing"` // runs, waits, stalls, troubled, quiet, goes-down
	From        float64 `json:"from"`
	To          float64 `json:"to"`
	Uncertainty float64 `json:"uncertainty_s"`
	Text        string  `json:"text"` // "127 ranks wait in BROADCAST #297"
}

// LaneMark puts an event on a lane.
type LaneMark struct {
	Kind        string  `json:"kind"` // as in Event
	At          float64 `json:"at"`
	Uncertainty float64 `json:"uncertainty_s"`
	Event       int     `json:"event"` // its row in the timeline, from 0; −1: none
	Text        string  `json:"text"`
}

// What a lane does.
const (
	LaneRuns     = "runs"      // its lines go on
	LaneWaits    = "waits"     // in a collective
	LaneStalls   = "stalls"    // others wait for it, and it does not come
	LaneTroubled = "troubled"  // a storage daemon's trouble
	LaneBeside   = "beside"    // a storage daemon's trouble that had no part in the incident
	LaneQuiet    = "quiet"     // no line of it, and no end
	LaneDown     = "goes-down" // after the failure
)
