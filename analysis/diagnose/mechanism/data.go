package mechanism

// data: loading, storage and checkpoints as the workers see them. Only what a line states outright is proposed here.
func data() []Mechanism {
	return []Mechanism{
		local("dataloader-worker-killed", "exception"),
		local("dataloader-stall", "exception"),
		local("storage-full", "exception", "checkpoint-io"),
		local("storage-unresponsive", "exception", "checkpoint-io"),
		local("storage-retries-exhausted", "exception"),
		local("checkpoint-io", "exception"),
		{Slug: "bad-sample", Class: Local, Propose: badSample, Explains: []string{"exception"}},
	}
}

// missingItem is the signature of a file that a data-loading process did not find.
const missingItem = "loader-file-missing"

// badSample: an item that cannot be read. A file that is missing before the first step says as much of a root directory
// that is wrong for all items.
func badSample(s *Scene) *Proposal {
	p := fromFailures(s, "bad-sample")
	if p == nil || s.Facts.Job.Training {
		return p
	}
	for _, fl := range p.Failures {
		if fl.Sign != missingItem {
			return p
		}
	}
	p.Rivals, p.Base = []string{"config-error"}, 0.88
	p.Why = "a data-loading process found no such file, before the first step: one item is gone, or the path is wrong for all"
	return p
}
