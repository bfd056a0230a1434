package simulate

// stores lists the mechanisms of stop-line 3: data, storage and checkpoints as workers see them.
func stores() []mechanism { return nil }
