package mechanism

import "faultline/incident"

// needAIS is what tells a store that dropped objects from a client that lost them.
var needAIS = incident.Need{What: "the logs of all AIStore daemons over the failure and the half hour before",
	Why: "only a target's own lines tell pressure, a broken stream, a restart or a rebalance from a fault of the client", Command: "ais log get cluster ./ais-logs", Obtainable: "perishing"}

// shortBatch: a batch that AIStore answered with fewer objects than were asked for. Without the daemons' logs it may as
// well be the client that lost them.
func shortBatch(s *Scene) *Proposal {
	p := fromFailures(s, "ais-batch-object-loss")
	if p == nil {
		return nil
	}
	p.Rivals, p.Base, p.Direct = []string{"exception"}, 0.9, false
	p.Why = "the loader got fewer objects than it asked for; whether the store dropped them or the client did only the daemons' logs tell"
	return p
}

// data: loading, storage and checkpoints as the workers see them. Only what a line states outright is proposed here.
func data() []Mechanism {
	return []Mechanism{
		local("dataloader-worker-killed", "exception"),
		local("dataloader-stall", "exception"),
		local("storage-full", "exception", "checkpoint-io"),
		local("storage-unresponsive", "exception", "checkpoint-io"),
		local("storage-retries-exhausted", "exception"),
		local("checkpoint-io", "exception"),
		local("uneven-data", "exception"),
		local("ais-auth", "exception"),
		{Slug: "ais-batch-object-loss", Class: Local, Propose: shortBatch, Explains: []string{"exception"}, Needs: []incident.Need{needAIS}},
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
