package mechanism

import (
	"faultline/incident"
	"faultline/knowledge"
)

// All lists every mechanism, in the order in which ties are broken.
func All() []Mechanism {
	var all []Mechanism
	for _, family := range [][]Mechanism{aistore(), hangs(), hardware(), memory(), software(), startup(), data(), numerics(), performance(), endings(), symptoms(), nothing()} {
		all = append(all, family...)
	}
	return all
}

func hangs() []Mechanism {
	return []Mechanism{
		{Slug: knowledge.RankStalled, Class: Collective, Propose: first(stoodAt(knowledge.RankStalled), unlessStood(rankStalled), stoodStill), Needs: []incident.Need{needPySpy, needFR}},
		{Slug: knowledge.LoneWaiter, Class: Collective, Propose: unlessStood(loneWaiter), Needs: []incident.Need{needFR}},
		{Slug: knowledge.CollectiveMismatch, Class: Collective, Propose: unlessStood(collectiveMismatch), Needs: []incident.Need{needFR}},
		{Slug: knowledge.GPUHang, Class: Collective, Propose: gpuHang, Needs: []incident.Need{needFR, needDmesg}},
		{Slug: knowledge.CollectiveHang, Class: Collective, Propose: first(allInside, unlessStood(collectiveHang)), Needs: []incident.Need{needFR, needDmesg}},
		{Slug: knowledge.WatchdogStuck, Class: Collective, Propose: watchdogStuck, Needs: []incident.Need{needPySpy}},
	}
}

// data: loading, storage and checkpoints as the workers see them.
func data() []Mechanism {
	return []Mechanism{
		local(knowledge.DataloaderWorkerKilled, knowledge.Exception),
		{Slug: knowledge.DataloaderStall, Class: Collective, Propose: first(failed(knowledge.DataloaderStall), stoodAt(knowledge.DataloaderStall, needStore), stalledFor(knowledge.DataloaderStall, heldLoading, needStore, needPySpy), tracedLoading, lateData, slowData, movedTo(knowledge.DataloaderStall), loadFellOff, episodic(knowledge.DataloaderStall, true)), Explains: []knowledge.Slug{knowledge.Exception}},
		{Slug: knowledge.StorageFull, Class: Local, Propose: storageFull, Explains: []knowledge.Slug{knowledge.Exception, knowledge.CheckpointIO, knowledge.StorageUnresponsive}},
		{Slug: knowledge.StorageUnresponsive, Class: Local, Propose: first(storageUnresponsive, stoodAt(knowledge.StorageUnresponsive)), Explains: []knowledge.Slug{knowledge.Exception, knowledge.CheckpointIO, knowledge.BadSample, knowledge.StorageRetriesExhausted}, Needs: []incident.Need{needKernelMount}},
		{Slug: knowledge.StorageRetriesExhausted, Class: Local, Propose: shared(knowledge.StorageRetriesExhausted), Explains: []knowledge.Slug{knowledge.Exception, knowledge.BadSample, knowledge.AISBatchObjectLoss}, Needs: []incident.Need{needStore}},
		{Slug: knowledge.CheckpointIO, Class: Local, Propose: first(checkpointFailed, stoodAt(knowledge.CheckpointIO, needKernelMount), stalledFor(knowledge.CheckpointIO, heldSaving, needKernelMount, needPySpy)), Explains: []knowledge.Slug{knowledge.Exception}},
		{Slug: knowledge.RankBusy, Class: Collective, Propose: first(stoodAt(knowledge.RankBusy), stalledFor(knowledge.RankBusy, heldWorking, needPySpy), stillWorking)},
		{Slug: knowledge.UnevenData, Class: Local, Propose: first(failed(knowledge.UnevenData), ranOut, stalledFor(knowledge.UnevenData, heldAtEnd)), Explains: []knowledge.Slug{knowledge.Exception}},
		{Slug: knowledge.AISAuth, Class: Local, Propose: tokenRefused, Explains: []knowledge.Slug{knowledge.Exception}},
		{Slug: knowledge.AISBatchObjectLoss, Class: Local, Propose: shortBatch, Explains: []knowledge.Slug{knowledge.Exception}, Needs: []incident.Need{needAIS}},
		{Slug: knowledge.BadSample, Class: Local, Propose: badSample, Explains: []knowledge.Slug{knowledge.Exception}},
	}
}

// performance: runs that did not fail but were slow, or did not move. None of them ends a process: whatever failed
// displaces them, and only a run that was ended from outside, or not at all, is theirs.
func performance() []Mechanism {
	ended := []knowledge.Slug{knowledge.TimeLimit, knowledge.Cancelled}
	return []Mechanism{
		{Slug: knowledge.SlowRank, Class: Degraded, Propose: first(slowRank, lateRank, movedTo(knowledge.SlowRank), tracedSlow, unplacedSlowRank, rankFellOff, lateAllAlong, apartSince(knowledge.SlowRank), nodeFellOff), Explains: append([]knowledge.Slug{knowledge.ThroughputRegression}, ended...), Needs: []incident.Need{needClocks}},
		{Slug: knowledge.SlowCommunication, Class: Degraded, Propose: first(movedTo(knowledge.SlowCommunication), slowCommunication, apartSince(knowledge.SlowCommunication), transportFellOff)},
		{Slug: knowledge.SlowCompute, Class: Degraded, Propose: first(signed(knowledge.SlowCompute), slowCompute, movedTo(knowledge.SlowCompute), computeFellOff), Needs: []incident.Need{needClocks}},
		{Slug: knowledge.SlowHost, Class: Degraded, Propose: first(slowHost, movedTo(knowledge.SlowHost)), Needs: []incident.Need{needNeighbours}},
		{Slug: knowledge.SlowCheckpoint, Class: Degraded, Propose: slowCheckpoint, Needs: []incident.Need{needStore}},
		{Slug: knowledge.ThroughputRegression, Class: Degraded, Propose: first(movedTo(knowledge.ThroughputRegression), regression, regressionFellOff, episodic(knowledge.ThroughputRegression, false)), Explains: ended, Needs: []incident.Need{needClocks, needPerRank, needNeighbours}},
		{Slug: knowledge.LossPlateau, Class: Degraded, Propose: first(spentRate, diverged, plateau), Explains: ended, Needs: []incident.Need{needSchedule}},
	}
}

// numerics: what the printed losses, norms and scales say.
func numerics() []Mechanism {
	return []Mechanism{
		{Slug: knowledge.NonFiniteLoss, Class: Local, Propose: nonFiniteAt, Needs: []incident.Need{needReplay, needAnomaly},
			Explains: []knowledge.Slug{knowledge.Exception, knowledge.TimeLimit, knowledge.Cancelled, knowledge.Preempted, knowledge.ThroughputRegression, knowledge.LossPlateau}},
		{Slug: knowledge.SilentCorruption, Class: Local, Propose: first(computedAgain, replicaDiffers), Explains: []knowledge.Slug{knowledge.NonFiniteLoss, knowledge.Exception},
			Needs: []incident.Need{{What: "a test of the GPU that gave the odd result", Why: "the same step gave two results; a test distinguishes a bad GPU from a non-deterministic program",
				Command: "srun -w {nodes} dcgmi diag -r 4", Obtainable: "now"}}},
	}
}
