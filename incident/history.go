package incident

// Kinds of recurrence.
const (
	SameItem = "item" // the failure names the same file, shard, sample or object
	SameHost = "host" // the same node was the root
	SameStep = "step" // it ended after the same step
)

// History is what earlier runs say about this one. Counts are of runs: a job that was requeued is several.
type History struct {
	Files       []string     `json:"files"`        // where the earlier runs were read
	Runs        int          `json:"runs"`         // earlier runs read, this one not among them
	SameName    int          `json:"same_name"`    // of those, of the same job name (and user, where both are known)
	SharedNodes int          `json:"shared_nodes"` // of those, on some node of this run
	Recurrences []Recurrence `json:"recurrences"`
	LastGood    *LastGood    `json:"last_good"` // the newest run of the same name that completed
}

// Recurrence is something of this failure that earlier runs met as well.
type Recurrence struct {
	Kind  string `json:"kind"`  // item, host, step
	What  string `json:"what"`  // the item, node or step
	Times int    `json:"times"` // in so many earlier runs
	Of    int    `json:"of"`    // of so many that could have met it
	// Weighs says that chance is no good explanation: only then it bears on the verdict or the advice.
	Weighs    bool       `json:"weighs"`
	Statement string     `json:"statement"`
	Runs      []string   `json:"runs"` // the earlier runs, at most 20
	Evidence  []Evidence `json:"evidence"`
}

// LastGood is the newest comparable run that completed, and in what this one differs from it.
type LastGood struct {
	Run         string       `json:"run"`
	End         string       `json:"end"` // as the history states it; "" if it does not
	Differences []Difference `json:"differences"`
	More        int          `json:"more"` // differences that are not listed
	Figures     []GoodFigure `json:"figures,omitempty"`
	Evidence    []Evidence   `json:"evidence"`
}

// GoodFigure is what the last good run printed again and again, as Figure has it of this run.
type GoodFigure struct {
	Name     string     `json:"name"`
	Unit     string     `json:"unit"`
	Median   float64    `json:"median"`
	Spread   float64    `json:"spread"`
	Evidence []Evidence `json:"evidence"`
}

// Difference is one thing that is not as it was.
type Difference struct {
	What     string     `json:"what"` // nodes-added, nodes-removed, world-size, framework, version, argument
	Name     string     `json:"name"` // of the version or argument
	Was      string     `json:"was"`  // "" = not there
	Now      string     `json:"now"`
	Evidence []Evidence `json:"evidence"`
}
