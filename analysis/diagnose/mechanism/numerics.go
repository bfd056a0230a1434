package mechanism

// numerics: what the printed losses, norms and scales say.
func numerics() []Mechanism { return nil }
