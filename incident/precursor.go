package incident

// Precursor is one kind of thing that a run did before its failure began. One run tells nothing by it: it is what runs are compared by.
type Precursor struct {
	Kind string  `json:"kind"`
	N    int     `json:"n"`      // how often
	Last float64 `json:"last_s"` // how long before the failure the last one began
	Over float64 `json:"over_s"` // from the start of the run to the failure
}

// Kinds of precursors.
const (
	BeforeSave       = "save"
	BeforeEvaluation = "evaluation"
)
