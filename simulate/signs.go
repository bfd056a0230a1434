package simulate

// signs lists the mechanisms of stop-line 4: numerics and performance.
func signs() []mechanism { return nil }
