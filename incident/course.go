package incident

// Course is how the run went, as the step lines of one writer tell it: a picture for people. Each point names the line it
// is read from; what the report concludes from it stands in the chain, with evidence of its own, and in Marks.
type Course struct {
	File string `json:"file"`
	// Throughput and Memory are the units of what the points state of them; "" where the lines state none, or nothing that a straight line or
	// the step times don't show.
	Throughput string `json:"throughput_unit,omitempty"`
	Memory     string `json:"memory_unit,omitempty"`
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
	Throughput  *float64 `json:"throughput,omitempty"`
	Memory      *float64 `json:"memory,omitempty"`
}

// CourseMark is a place in the course that the report speaks of.
type CourseMark struct {
	Line     int64      `json:"line"`
	Text     string     `json:"text"`
	Evidence []Evidence `json:"evidence"`
}
