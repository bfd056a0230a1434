package incident

// Span is what a picture shows from left to right: steps, or seconds since Start where no step is known.
type Span struct {
	Axis  string  `json:"axis"` // step, seconds
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Start *string `json:"start"` // the time of From, as in Event; null where it is steps
	// Onset is the first column since the steps take longer; null where they do not, or where that was not in this span.
	Onset *int `json:"onset"`
	// Since is what Onset stands for, as on the axis.
	Since *float64 `json:"since"`
	Files int      `json:"files"` // how many the numbers are from
	File  string   `json:"file"`  // the first of them by name
}

// Axes of a picture.
const (
	AxisStep    = "step"
	AxisSeconds = "seconds"
)

// Heat is how long ranks took for the same thing, beside each other and moment by moment: a picture for people. It is bounded however large
// the job is, and it accuses nobody: that is the verdict's.
type Heat struct {
	Span     Span   `json:"span"`
	Quantity string `json:"quantity"` // "step time", or the name of a phase as it is printed
	Unit     string `json:"unit"`     // s, TFLOP/s; "" for a score
	// Less is true where a smaller number is the slower one.
	Less bool      `json:"less_is_slower,omitempty"`
	Rows []HeatRow `json:"rows"`
}

// HeatRow is one rank, or several that did alike.
type HeatRow struct {
	Name  string     `json:"name"` // "rank 42", "node07", "ranks 64-127"
	Node  string     `json:"node"` // "" where it is not known, or where there are several
	Ranks int        `json:"ranks"`
	Root  bool       `json:"root"`  // the verdict names it
	Cells []*float64 `json:"cells"` // the median of each column; null where nothing was printed
}

// Bars are what the time of a step is made of, moment by moment: a picture for people.
type Bars struct {
	Span  Span       `json:"span"`
	Who   string     `json:"who"`   // "rank 3", "the median of 7 ranks", "all ranks"
	Parts []BarsPart `json:"parts"` // as they lie upon each other, the lowest first
}

// BarsPart is one part of a step, in seconds by column.
type BarsPart struct {
	Name    string     `json:"name"`
	Seconds []*float64 `json:"seconds"`
}
