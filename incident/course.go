package incident

// Course is how the run went, as the step lines of one writer tell it: a picture for people. Each point names the line it
// is read from; what the report concludes from it stands in the chain, with evidence of its own, and in Marks.
type Course struct {
	File string `json:"file"`
	// Points are some of the lines, in their order: the first, the last, and what lies between at even distances.
	Points []CoursePoint `json:"points"`
	Marks  []CourseMark  `json:"marks"`
}

// CoursePoint is one step line; what it does not state is null.
type CoursePoint struct {
	Line int64    `json:"line"`
	Step *int64   `json:"step"`
	Loss *float64 `json:"loss"`
	// Broken is true where the line prints a loss or a gradient that is no number.
	Broken      bool     `json:"broken,omitempty"`
	StepSeconds *float64 `json:"step_seconds"`
}

// CourseMark is a place in the course that the report speaks of.
type CourseMark struct {
	Line     int64      `json:"line"`
	Text     string     `json:"text"`
	Evidence []Evidence `json:"evidence"`
}
