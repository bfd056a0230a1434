package simulate

// syncs lists the incidents of stop-line 5: hangs at the synchronisation points of frameworks.
func syncs() []mechanism { return nil }
