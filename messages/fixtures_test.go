package messages

import (
	"fmt"

	"faultline/incident"
)

func ptr[T any](v T) *T { return &v }

func quoteOf(file string, line int64, text string) incident.Evidence {
	return incident.Quote(file, line, line*120, text, nil)
}

// stall is 128 ranks on 16 nodes, of which rank 77 never entered the collective.
func stall() *incident.Report { return stallOf(128, 8, 77) }

func stallOf(ranks, perNode, culprit int) *incident.Report {
	nodes := ranks / perNode
	node := func(r int) string { return fmt.Sprintf("node%0*d", 1+len(fmt.Sprint(nodes-1))/2, r/perNode) }
	r := &incident.Report{Schema: incident.Schema, Engine: incident.Engine{Version: "1.0.0", RulesVersion: "7"}}
	r.Job = incident.Job{ID: ptr("4242"), Run: ptr(0), Runs: 2, Framework: ptr("NeMo"), Task: ptr("training"), DataSource: ptr("ais://speech-shards"),
		StartTime: ptr("2026-07-09T14:01:12"), EndTime: ptr("2026-07-09T17:06:02"), WorldSize: &ranks, NodesCount: &nodes, RanksPerNode: &perNode,
		ResumedFrom: &incident.Step{Step: 10000, Path: "/ckpt/step_10000"}, LastStep: ptr(int64(12311)),
		Versions: []incident.NameOf{{Name: "pytorch", Value: "2.6", Note: "from the watchdog's wording"}, {Name: "nccl", Value: "2.21.5"}}}
	var names []string
	group := incident.Group{Key: "run0/0/default_pg", GUID: "0", Desc: "default_pg", Size: &ranks, MembershipBasis: "config-line",
		Stuck: &incident.Stuck{Seq: 4711, Op: "ALLREDUCE", Size: ptr(int64(1048576)), StartedAt: ptr("2026-07-09T16:55:38")}}
	for i := range ranks {
		if i%perNode == 0 {
			names = append(names, node(i))
		}
		role, enq := incident.Waiter, int64(4711)
		note := "entered ALLREDUCE 4711, waited 600 s"
		if i == culprit {
			role, enq, note = incident.Straggler, 4710, "nothing in flight; last line about a retry"
		}
		r.Ranks = append(r.Ranks, incident.RankState{Rank: i, Node: node(i), LocalRank: ptr(i % perNode), Role: role, Note: note})
		group.Ranks = append(group.Ranks, incident.GroupMember{Rank: ptr(i), GroupRank: ptr(i), Node: node(i), Enqueued: &enq, Completed: ptr(int64(4710)), Role: role, IdentityEvidence: "label"})
	}
	r.Groups = []incident.Group{group}
	at := node(culprit)
	file := at + ".err"
	r.Coverage = incident.Coverage{Files: nodes, Lines: 1893412, Bytes: 412_000_000, NodesExpected: names, NodesSeen: names, RanksExpected: &ranks, RanksSeen: ranks,
		RanksStateKnown: ranks, ExpectedFrom: "world_size in node00.err:14", TimeFrom: ptr("2026-07-09T14:01:12"), TimeTo: ptr("2026-07-09T17:06:02"), Unclassified: 3,
		UnclassifiedTop: []incident.Tally{{Text: "E0709 something odd happened in the frobnicator", Count: 3, First: ptr(quoteOf(file, 88, "E0709 something odd"))}}}
	r.Verdict = incident.Verdict{Status: incident.Probable, Origin: "unknown", Mechanism: "rank-stalled", Confidence: 0.86, Phase: "training", Scope: "rank",
		Summary:    fmt.Sprintf("Rank %d on %s never entered ALLREDUCE number 4711; the %d other ranks waited 10 minutes for it and were shut down by their watchdogs", culprit, at, ranks-1),
		Why:        fmt.Sprintf("All %d ranks state their counters, and rank %d alone has nothing in flight. No line says what held it", ranks, culprit),
		Candidates: []incident.Candidate{{Origin: "unknown", Mechanism: "rank-stalled", Confidence: 0.86}},
		Suspects:   []incident.Suspect{{Mechanism: "dataloader-stall", Why: "its last line is a retry of a shard read, which recovered"}},
		Root:       incident.Root{Ranks: []int{culprit}, Nodes: []string{at}},
		Needs: []incident.Need{{What: "Storage logs of 16:45 to 17:06", Why: "They say whether a read of this rank stalled", Command: "ais cluster download-logs --dest ./ais-logs", Obtainable: "now"},
			{What: "A flight-recorder dump or py-spy stacks", Why: "They show where the rank stood", Obtainable: "next-time"}}}
	r.Action = incident.Action{Resubmit: "yes", ExcludeNodes: []string{at}, ResumeFrom: &incident.Step{Step: 12000, Path: "/ckpt/step_12000"},
		Lost: incident.Lost{Steps: ptr(int64(311)), GPUHours: ptr(42.66)}, Owner: "data", Text: "Resubmit from the last completed checkpoint and leave " + at + " out until it was tested"}
	r.Severity = &incident.Severity{Level: incident.SeverityWarning, GPUHours: 42.66, Per: incident.PerRun, Why: fmt.Sprintf("the work of %d GPUs since the last save", ranks)}
	wd := fmt.Sprintf("[rank%d]:[E709 17:05:38.123456789 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4711, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.", 0)
	count := incident.Evidence{Kind: incident.KindCount, N: int64(ranks - 1), Files: names, Predicate: &incident.Predicate{Literals: []string{"Watchdog caught collective operation timeout"}, Fields: []incident.Field{{Key: "SeqNum=", Value: "4711"}}}}
	absence := incident.Evidence{Kind: incident.KindAbsence, Files: []string{file}, Bytes: 25_000_000, Predicate: &incident.Predicate{Literals: []string{"Traceback (most recent call last)"}}}
	start := incident.Evidence{Kind: incident.KindDerived, Formula: "time-minus-ms", Result: "16:55:38", Inputs: []incident.Evidence{quoteOf("node00.err", 4711, wd)}}
	r.Chain = []incident.Link{
		{Statement: fmt.Sprintf("Rank %d on %s had nothing in flight: it never entered the collective the other ranks were waiting in.", culprit, at), Role: incident.Cause, Evidence: []incident.Evidence{
			quoteOf(file, 20177, fmt.Sprintf("[rank%d]:[E709 17:05:39.5 ProcessGroupNCCL.cpp:1484] [PG ID 0 PG GUID 0(default_pg) Rank %d] Timeout at NCCL work: 4711, last enqueued NCCL work: 4710, last completed NCCL work: 4710.", culprit, culprit)), absence}},
		{Statement: fmt.Sprintf("%d ranks entered ALLREDUCE number 4711 at 16:55:38 and waited.", ranks-1), Role: incident.Consequence, Evidence: []incident.Evidence{count, start,
			quoteOf("node01.err", 4600, wd), quoteOf("node02.err", 4610, wd)}},
		{Statement: "After 600 s their watchdogs took the processes down; SLURM ended the step.", Role: incident.End, Evidence: []incident.Evidence{
			quoteOf("node00.err", 4800, "slurmstepd: error: *** STEP 4242.0 ON node00 CANCELLED AT 2026-07-09T17:06:02 ***")}},
	}
	r.Timeline = []incident.Event{
		{Kind: incident.EventSave, Time: ptr("2026-07-09T16:40:02"), Uncertainty: ptr(1.0), Event: "checkpoint of step 12,000 completed", Node: "node00", Rank: ptr(0), Evidence: []incident.Evidence{quoteOf("node00.err", 4200, "Saved checkpoint /ckpt/step_12000")}},
		{Kind: incident.EventLast, Time: ptr("2026-07-09T16:54:51"), Uncertainty: ptr(1.0), Event: "last line before the silence: retrying 1/5, recovered", Node: at, Rank: &culprit, Evidence: []incident.Evidence{quoteOf(file, 20170, "Retrying 1/5")}},
		{Kind: incident.EventWait, Time: ptr("2026-07-09T16:55:38"), Uncertainty: ptr(1.5), Event: "the other ranks enter ALLREDUCE 4711", Evidence: []incident.Evidence{start}},
		{Kind: incident.EventTimeout, Time: ptr("2026-07-09T17:05:38"), Uncertainty: ptr(1.0), Event: "first watchdog fires", Node: "node00", Rank: ptr(0), Evidence: []incident.Evidence{quoteOf("node00.err", 4711, wd)}},
		{Kind: incident.EventEnd, Event: "step cancelled", Node: "node00"},
	}
	r.Timeline[1].Clock = ptr("2026-07-09T08:54:51")
	r.Clocks = []incident.ClockShift{{Of: incident.ClockPrograms, On: []string{at}, Shift: 28800, Uncertainty: 1.2,
		Statement: "the programs' clock on " + at + " is 8 h behind that of the other nodes, within 2 s", Evidence: []incident.Evidence{quoteOf(file, 20177, "last enqueued NCCL work: 4710"), quoteOf("node00.err", 4711, wd)}}}
	r.Lanes = &incident.Lanes{From: ptr("2026-07-09T16:00:00"), Seconds: 3938, Focus: 2400, Began: ptr(3338.0), Uncertainty: 1.5, Lanes: []incident.Lane{
		{Kind: "rank", Name: fmt.Sprintf("rank %d · %s", culprit, at), Root: true, Marks: []incident.LaneMark{{Kind: incident.EventLast, At: 3291, Uncertainty: 1, Event: 1, Text: "last line before the silence: retrying 1/5, recovered"}},
			Spans: []incident.LaneSpan{{Doing: incident.LaneRuns, To: 3338, Uncertainty: 1.5, Text: "running"}, {Doing: incident.LaneStalls, From: 3338, To: 3938, Uncertainty: 1, Text: "the others wait for it"}}},
		{Kind: "nodes", Name: "other nodes", Marks: []incident.LaneMark{{Kind: incident.EventTimeout, At: 3938, Uncertainty: 1, Event: 3, Text: "first watchdog fires"}},
			Spans: []incident.LaneSpan{{Doing: incident.LaneRuns, To: 3338, Uncertainty: 1.5, Text: "running"}, {Doing: incident.LaneWaits, From: 3338, To: 3938, Uncertainty: 1, Text: "they wait in ALLREDUCE #4711"}}},
		{Kind: "training", Name: "training", Spans: []incident.LaneSpan{}, Marks: []incident.LaneMark{{Kind: incident.EventSave, At: 2402, Uncertainty: 1, Event: 0, Text: "checkpoint of step 12,000 completed"}}},
	}}
	r.Counts.ConnectionResets = incident.Tallies{Total: 4, PerFile: map[string]int{file: 4}, PerRank: map[string]int{fmt.Sprint(culprit): 4}}
	r.Counts.Retries.Recovered = 4
	r.Storage = incident.Storage{Status: "not-provided", Judgement: "open"}
	r.Hypotheses = []incident.Hypothesis{
		{Mechanism: "rank-stalled", Status: "accepted", For: []incident.Finding{{Statement: "one rank of all has nothing in flight", Evidence: []incident.Evidence{count}}}, WouldDecide: []string{"py-spy stacks of the rank"}},
		{Mechanism: "collective-hang", Status: "rejected", Against: []incident.Finding{{Statement: "not every rank was in flight", Evidence: []incident.Evidence{quoteOf(file, 20177, "last enqueued NCCL work: 4710")}}}},
	}
	r.Revisions = []incident.Revision{{Was: "Inconclusive: no log from node09", Now: "One rank stalled: rank 77", Because: "the log of node09 arrived", Evidence: []incident.Evidence{quoteOf(file, 20177, "last enqueued NCCL work: 4710")}}}
	r.Recommendations = []incident.Recommendation{
		{When: "now", Text: "Resubmit without the node, from the last completed checkpoint", Command: "sbatch --exclude=" + at + " train.sbatch --resume /ckpt/step_12000"},
		{When: "structural", Text: "Give the reader of the data a read timeout of 60 s"},
		{When: "next-time", Text: "Enable the flight recorder", Command: "export TORCH_NCCL_TRACE_BUFFER_SIZE=20000\nexport TORCH_NCCL_DUMP_ON_TIMEOUT=1"},
	}
	r.KeyFiles = []incident.KeyFile{{File: file, Line: 20177, Why: "the counters of the stalled rank"}, {File: "node00.err", Line: 4711, Why: "the first watchdog"}}
	r.Verification = incident.Verification{Quotes: incident.Ratio{Held: 41, Checked: 41}, Counts: incident.Ratio{Held: 7, Checked: 7}, Absences: incident.Ratio{Held: 1, Checked: 1}, Derived: incident.Ratio{Held: 1, Checked: 1}}
	return r
}

// gpuOOM is one rank of eight out of memory; the others went down with it.
func gpuOOM() *incident.Report {
	r := stallOf(8, 8, 3)
	for i := range r.Ranks {
		r.Ranks[i].Role, r.Ranks[i].Note = incident.Victim, "SIGTERM from torchrun"
	}
	r.Ranks[3].Role, r.Ranks[3].Note = incident.FirstFailure, "CUDA out of memory"
	r.Groups, r.Revisions, r.Counts = nil, nil, incident.Counts{}
	r.Storage = incident.Storage{Status: "not-needed", Judgement: "cleared"}
	r.Verdict = incident.Verdict{Status: incident.Confirmed, Origin: "gpu", Mechanism: "gpu-oom", Confidence: 0.97, Phase: "training", Scope: "rank",
		Summary: "Rank 3 on node0 asked for 2.50 GiB and 1.31 GiB were free", Why: "Its own log says so, 12 s before any other rank failed",
		Candidates: []incident.Candidate{{Origin: "gpu", Mechanism: "gpu-oom", Confidence: 0.97}}, Root: incident.Root{Ranks: []int{3}, Nodes: []string{"node0"}, Component: ptr("gpu:00000000:3b:00.0")}}
	r.Severity = nil
	r.Action = incident.Action{Resubmit: "after-fix", Owner: "job-config", Text: "Lower the batch or the sequence length first"}
	r.Chain = []incident.Link{{Statement: "Rank 3 ran out of GPU memory.", Role: incident.Cause, Evidence: []incident.Evidence{quoteOf("node0.err", 912, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.")}}}
	return r
}

// undecided has two candidates, two missing nodes and a cut file.
func undecided() *incident.Report {
	r := stallOf(64, 8, 5)
	for i := range r.Ranks {
		r.Ranks[i].Role, r.Ranks[i].Note = incident.Waiter, ""
		if n := i / 8; n == 3 || n == 5 {
			r.Ranks[i].Role = incident.Missing
			r.Coverage.RanksMissing = append(r.Coverage.RanksMissing, i)
		}
		if i/8 == 6 {
			r.Ranks[i].Role = incident.Unobserved
		}
	}
	r.Coverage.NodesMissing, r.Coverage.RanksSeen, r.Coverage.RanksStateKnown = []string{"node3", "node5"}, 48, 40
	r.Coverage.Truncated = []incident.CutFile{{File: "node6.err", How: "truncated-early", Note: "ends 9 min before its peers"}}
	r.Verdict = incident.Verdict{Status: incident.Inconclusive, Origin: "unknown", Mechanism: "collective-hang", Confidence: 0.5, Phase: "training", Scope: "group",
		Summary: "40 of 64 ranks wait in the same ALLREDUCE; 24 cannot be judged", Why: "Two nodes sent no log and one log is cut, so nobody can be excluded",
		Candidates: []incident.Candidate{{Origin: "unknown", Mechanism: "collective-hang", Confidence: 0.5}, {Origin: "gpu", Mechanism: "gpu-hang", Confidence: 0.3}, {Origin: "unknown", Mechanism: "rank-stalled", Confidence: 0.2}},
		Root:       incident.Root{Frontier: r.Coverage.RanksMissing},
		Needs:      []incident.Need{{What: "The logs of node3 and node5", Why: "16 ranks are unseen", Command: "scp login:/logs/4242/error-4242-{3,5}.out logs/", Obtainable: "now"}, {What: "dmesg of node6", Why: "its log stops early", Command: "ssh node6 dmesg -T", Obtainable: "perishing"}}}
	r.Severity = nil
	r.Action = incident.Action{Resubmit: "unknown", Owner: "unknown"}
	r.Revisions = nil
	return r
}

func healthy() *incident.Report {
	r := stallOf(16, 8, 0)
	for i := range r.Ranks {
		r.Ranks[i].Role, r.Ranks[i].Note = "ok", ""
	}
	r.Verdict = incident.Verdict{Status: incident.NoFailure, Origin: "none", Mechanism: "completed", Confidence: 0.98, Phase: "shutdown", Scope: "unknown",
		Summary: "All 16 ranks reached the end of training at step 12,311", Why: "Each rank's last line says so"}
	r.Severity = nil
	r.Action = incident.Action{Resubmit: "no", Owner: "nobody"}
	r.Groups, r.Chain, r.Revisions, r.Recommendations, r.Hypotheses, r.Storage = nil, nil, nil, nil, nil, incident.Storage{Status: "not-needed", Judgement: "cleared"}
	return r
}

// evil puts hostile text wherever a log can put text.
const evilText = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'`` ```\n~~~\n# not a heading\n| a | b | <!channel> @everyone [x](javascript:alert(3)) \x1b[31m\u202egnp.exe\x00\xff \x1b]0;pwn\x07 password=hunter2secret"

func hostile() *incident.Report {
	r := stall()
	for i := range r.Chain {
		r.Chain[i].Statement += evilText
		r.Chain[i].Evidence = append(r.Chain[i].Evidence, quoteOf("dir`|<b>/x.err", 7, evilText))
	}
	r.Verdict.Summary, r.Verdict.Why = evilText, evilText
	r.Ranks[5].Node, r.Ranks[6].Note = evilText, evilText
	r.Groups[0].Desc, r.Groups[0].Stuck.Op = evilText, evilText
	r.Timeline[0].Event, r.Timeline[1].Node = evilText, evilText
	r.Job.ID, r.Job.Framework = ptr(evilText), ptr(evilText)
	r.Recommendations[0].Command = "echo '" + evilText + "'"
	r.KeyFiles[0].File = evilText
	r.Coverage.UnclassifiedTop[0].Text = evilText
	r.Revisions[0].Because = evilText
	r.Severity = &incident.Severity{Level: incident.SeverityCritical, GPUHours: 128, Per: incident.PerHour, Why: evilText}
	r.Warnings = []string{evilText}
	slow := slowed()
	r.Heat, r.Bars = slow.Heat, slow.Bars
	r.Heat.Quantity, r.Heat.Rows[7].Name, r.Heat.Rows[6].Node, r.Heat.Span.File = evilText, evilText, evilText, evilText
	r.Bars[0].Who, r.Bars[0].Parts[1].Name, r.Bars[1].Span.File = evilText, evilText, evilText
	return r
}

func big() *incident.Report { return stallOf(16384, 8, 9999) }

// minimal holds only what the schema cannot do without.
func minimal() *incident.Report {
	return &incident.Report{Schema: incident.Schema,
		Verdict: incident.Verdict{Status: incident.Inconclusive, Origin: "unknown", Mechanism: "unknown", Phase: "unknown", Scope: "unknown"},
		Action:  incident.Action{Resubmit: "unknown", Owner: "unknown"}, Storage: incident.Storage{Status: "not-needed", Judgement: "open"}}
}

// fixtures are the reports every format is tested with.
var fixtures = map[string]func() *incident.Report{
	"stall": stall, "oom": gpuOOM, "undecided": undecided, "healthy": healthy, "hostile": hostile, "minimal": minimal,
}
