package mechanism

// performance: runs that did not fail but were slow, or did not move.
func performance() []Mechanism { return nil }
