package simulate

import "fmt"

// groupStyle is how ProcessGroupNCCL::logPrefix names the group.
type groupStyle int

const (
	groupRankOnly groupStyle = iota // [Rank 3]                              ≤ 2.2
	groupName                       // [PG 1 Rank 1]                         2.3
	groupNameDesc                   // [PG 0 (default_pg) Rank 2]            2.4
	groupGUID                       // [PG ID 0 PG GUID 0(default_pg) Rank 1] ≥ 2.5
)

// stateStyle is how the watchdog prints a group's counters.
type stateStyle int

const (
	stateNone    stateStyle = iota // ≤ 2.2
	stateTimeout                   // 2.3: Timeout at NCCL work: W, …
	stateTwo                       // 2.4, 2.5: Exception (either …) and Timeout at NCCL work
	stateFailure                   // ≥ 2.6:  failure detected by watchdog at work sequence id: W PG status: …
)

// dumpStyle is the wording of the heartbeat monitor's dump lines.
type dumpStyle int

const (
	dumpNone   dumpStyle = iota // ≤ 2.3
	dumpGlobal                  // 2.4: Received a global dump signal from rank R, and will start …
	dumpDue                     // 2.5: Received a dump signal due to a collective timeout from  rank R …
	dumpObs                     // 2.6: with Observed …, without First PG
	dumpFirst                   // ≥ 2.7: First PG on this rank to signal dumping.
)

// generation is the set of line formats of one PyTorch release. Source lines are those of the release's
// ProcessGroupNCCL.cpp where a source or a public log shows them (the comment says which); the others are near them.
type generation struct {
	name      string
	year      int  // in which jobs begin to run on it
	rank      bool // [rankN]: in front of C++ log lines (2.2 and later)
	stamp     bool // [E603 17:48:01.005271823 File.cpp:1] (2.4 and later), else [E File.cpp:1]
	group     groupStyle
	sticky    bool // WorkNCCL::logPrefix is a function-local static
	numel     bool // NumelIn, NumelOut in WorkNCCL(…)
	seqNum    bool
	state     stateStyle
	dump      dumpStyle
	twoSeq    bool // collectives and point-to-point count apart
	pyRank    bool // [rankN]: in front of Python tracebacks
	timeoutMS int  // PyTorch's own default for NCCL
	heartbeat int  // TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC
	exception string
	nccl      string
	cuda      string
	elastic   int // 0: WARNING:torch…: (≤ 2.0), 1: [date] torch…: [WARNING] (2.1, 2.2), 2: W0801 … dotted module, 3: W0801 … path
	at        sourceLines
}

// sourceLines are the line numbers printed after ProcessGroupNCCL.cpp:.
type sourceLines struct {
	caught, state, stack, some, avoid, terminated          int
	first, observed, received, preparing, stuck, terminate int
	check                                                  int // Exception raised from checkTimeout at …:check
}

var generations = []generation{
	{name: "1.13", year: 2022, seqNum: true, timeoutMS: 1800000, exception: "std::runtime_error", nccl: "2.14.3", cuda: "11.7",
		at: sourceLines{caught: 821, some: 455, avoid: 460}}, // 821: source of 1.13.1
	{name: "2.0", year: 2023, seqNum: true, timeoutMS: 1800000, exception: "std::runtime_error", nccl: "2.14.3", cuda: "11.8",
		at: sourceLines{caught: 828, some: 455, avoid: 460}}, // 828: source of 2.0.0
	{name: "2.1", year: 2023, seqNum: true, numel: true, timeoutMS: 1800000, exception: "c10::DistBackendError", nccl: "2.18.1", cuda: "12.1", elastic: 1,
		at: sourceLines{caught: 475, some: 489, avoid: 495, terminated: 916, check: 470}}, // 475: pytorch#118369
	{name: "2.2", year: 2024, rank: true, seqNum: true, numel: true, timeoutMS: 600000, heartbeat: 120, exception: "c10::DistBackendError", nccl: "2.19.3", cuda: "12.1", elastic: 1,
		at: sourceLines{caught: 523, some: 537, avoid: 543, terminated: 1182, check: 525, stuck: 1106}}, // 523: llama-cookbook#543
	{name: "2.3", year: 2024, rank: true, seqNum: true, numel: true, group: groupName, sticky: true, state: stateTimeout, timeoutMS: 600000, heartbeat: 600,
		exception: "c10::DistBackendError", nccl: "2.20.5", cuda: "12.1", elastic: 2,
		at: sourceLines{caught: 563, state: 1537, some: 577, avoid: 583, terminated: 1414, check: 565, stuck: 1184}}, // vllm#6042
	{name: "2.4", year: 2024, rank: true, stamp: true, seqNum: true, numel: true, group: groupNameDesc, sticky: true, state: stateTwo, dump: dumpGlobal, twoSeq: true, pyRank: true,
		timeoutMS: 600000, heartbeat: 600, exception: "c10::DistBackendError", nccl: "2.20.5", cuda: "12.4", elastic: 2,
		at: sourceLines{caught: 607, state: 1664, some: 621, avoid: 627, terminated: 1515, check: 609, first: 1724, received: 1375, preparing: 1230, stuck: 1287}}, // source of 2.4.0
	{name: "2.5", year: 2024, rank: true, stamp: true, seqNum: true, numel: true, group: groupGUID, sticky: true, state: stateTwo, dump: dumpDue, twoSeq: true, pyRank: true,
		timeoutMS: 600000, heartbeat: 600, exception: "c10::DistBackendError", nccl: "2.21.5", cuda: "12.4", elastic: 3,
		at: sourceLines{caught: 616, state: 1785, some: 630, avoid: 636, terminated: 1595, check: 618, first: 1845, received: 1434, preparing: 1288, stuck: 1348}}, // BasicSR#737
	{name: "2.6", year: 2025, rank: true, stamp: true, seqNum: true, numel: true, group: groupGUID, sticky: true, state: stateFailure, dump: dumpObs, twoSeq: true, pyRank: true,
		timeoutMS: 600000, heartbeat: 480, exception: "c10::DistBackendError", nccl: "2.21.5", cuda: "12.4", elastic: 3,
		at: sourceLines{caught: 629, state: 2168, stack: 667, some: 681, avoid: 695, terminated: 1895, check: 632, observed: 1569, received: 1632, preparing: 1405, stuck: 1653, terminate: 1450}}, // source of 2.6.0
	{name: "2.7", year: 2025, rank: true, stamp: true, seqNum: true, numel: true, group: groupGUID, sticky: true, state: stateFailure, dump: dumpFirst, twoSeq: true, pyRank: true,
		timeoutMS: 600000, heartbeat: 480, exception: "c10::DistBackendError", nccl: "2.26.2", cuda: "12.6", elastic: 3,
		at: sourceLines{caught: 632, state: 2268, stack: 670, some: 684, avoid: 698, terminated: 1896, check: 635, first: 2103, observed: 1682, received: 1743, preparing: 1533, stuck: 1743, terminate: 1557}}, // LlamaFactory#8261
	{name: "2.8", year: 2025, rank: true, stamp: true, seqNum: true, numel: true, group: groupGUID, sticky: true, state: stateFailure, dump: dumpFirst, twoSeq: true, pyRank: true,
		timeoutMS: 600000, heartbeat: 480, exception: "c10::DistBackendError", nccl: "2.27.3", cuda: "12.8", elastic: 3,
		at: sourceLines{caught: 676, state: 2315, stack: 717, some: 731, avoid: 745, terminated: 1950, check: 679, first: 2150, observed: 1733, received: 1797, preparing: 1587, stuck: 1797, terminate: 1611}},
	{name: "recent", year: 2026, rank: true, stamp: true, seqNum: true, numel: true, group: groupGUID, sticky: true, state: stateFailure, dump: dumpFirst, twoSeq: true, pyRank: true,
		timeoutMS: 600000, heartbeat: 480, exception: "c10::DistBackendError", nccl: "2.27.5", cuda: "12.9", elastic: 3,
		at: sourceLines{caught: 683, state: 2241, stack: 730, some: 744, avoid: 758, terminated: 2057, check: 686, first: 2573, observed: 1794, received: 1858, preparing: 1575, stuck: 1870, terminate: 1612}}, // HeartbeatMonitor layout
}

func findGeneration(name string) (*generation, error) {
	for i := range generations {
		if generations[i].name == name {
			return &generations[i], nil
		}
	}
	return nil, fmt.Errorf("simulate: unknown PyTorch generation %q", name)
}

// groupPrefix is ProcessGroupNCCL::logPrefix: the true group and rank within it.
func (v *generation) groupPrefix(g *group, rank int) string {
	in := g.rankIn(rank)
	switch v.group {
	case groupName:
		return fmt.Sprintf("[PG %s Rank %d] ", g.guid, in)
	case groupNameDesc:
		if g.desc == "" {
			return fmt.Sprintf("[PG %s Rank %d] ", g.guid, in)
		}
		return fmt.Sprintf("[PG %s (%s) Rank %d] ", g.guid, g.desc, in)
	case groupGUID:
		desc := ""
		if g.desc != "" {
			desc = "(" + g.desc + ")"
		}
		return fmt.Sprintf("[PG ID %d PG GUID %s%s Rank %d] ", g.localID(rank), g.guid, desc, in)
	}
	return fmt.Sprintf("[Rank %d] ", in)
}
