package incident

// Figure is a number that a run's step lines print, or that follows from their times, summed up: what the next run is compared by.
type Figure struct {
	Name string `json:"name"` // step-time, throughput, memory, loss
	Unit string `json:"unit"`
	// N is how many values it rests on, and Median and Spread are theirs: the spread is what a standard deviation would be without outliers.
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Spread float64 `json:"spread"`
	// First and Last are the medians of its first and of its last values; where the run became slower, before and after that.
	First float64 `json:"first"`
	Last  float64 `json:"last"`
	File  string  `json:"file"`
	Line  int64   `json:"line"` // the last line that states it
}
