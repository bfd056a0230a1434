package incident

// Rerun says of two runs of one job what became of the first one's trouble in the second, and what the second does better or worse.
type Rerun struct {
	// Outcome is fixed, not-fixed, regression, same or open, and Summary says why in one sentence.
	Outcome string   `json:"outcome"`
	Summary string   `json:"summary"`
	Before  RerunOf  `json:"before"`
	After   RerunOf  `json:"after"`
	Checks  []Check  `json:"checks"`
	Needs   []string `json:"needs,omitempty"` // what would tell, where the outcome is open
	// Differences are what the two were set up with that is not the same. They are a list of what changed, not of causes.
	Differences []Difference `json:"differences"`
}

// Outcomes of a comparison of two runs.
const (
	Fixed      = "fixed"      // the trouble is gone, and nothing became worse
	NotFixed   = "not-fixed"  // it came again
	Regression = "regression" // it is gone, or there was none, and something else became worse
	Same       = "same"       // there was no trouble, and nothing became worse
	OpenFix    = "open"       // these logs do not tell
)

// RerunOf names one of the two runs.
type RerunOf struct {
	Job       string `json:"job"` // "" unknown
	Status    string `json:"status"`
	Mechanism string `json:"mechanism"`
	Summary   string `json:"summary"`
	LastStep  *int64 `json:"last_step"`
}

// Check is one thing that is compared.
type Check struct {
	Name   string   `json:"name"` // problem, step-time, throughput, memory, loss
	Level  string   `json:"level"`
	Text   string   `json:"text"`
	Was    *float64 `json:"was"`
	Now    *float64 `json:"now"`
	Change *float64 `json:"change_percent"` // null where there is no change to state
	Unit   string   `json:"unit,omitempty"`
}

// CheckProblem is the name of the check whether the trouble came again; the others have the names of figures.
const CheckProblem = "problem"

// Levels of a check.
const (
	CheckGood  = "good"
	CheckWorse = "worse"
	CheckOpen  = "open" // nothing to compare, or too few steps
)
