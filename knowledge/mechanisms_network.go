package knowledge

// The network between the ranks.
var networkMechanisms = []Mechanism{
	{
		Slug: LinkError, Origin: "network", Owner: "cluster", Resubmit: "yes",
		Alone:    "communication",
		Again:    Again{Machine: true},
		Survived: "a port that went down",
		Title:    "a network link failed",
		Meaning: "The network card reported that data couldn't be delivered, or that its link went down. " +
			"Two endpoints are involved; the one that recurs across failures is the likely culprit.",
		Now: []Advice{
			{"Read the state and error counters on both endpoints.", "clush -w {nodes} 'ibstat | grep -E \"State|Rate\"; perfquery -x | grep -E \"Symbol|LinkDowned|RcvErr|XmitDisc\"'"},
			adviceFabricTest,
			{"Resubmit without either endpoint; return the one that tests clean.", "sbatch --exclude={root} …"},
		},
		Structural: []Advice{
			{"Alert on link flaps and rising symbol errors; replace the cable or optic before the port.", ""},
			{"Give brief flaps time to recover.", "export NCCL_IB_TIMEOUT=22 NCCL_IB_RETRY_CNT=7"},
		},
		NextTime: []Advice{adviceNCCLWarn},
		LookAlikes: []LookAlike{
			{PeerLost, "a network card reports a status (12, 13) or its link went down; a closed connection alone only shows that a peer died."},
			{ResourceLimit, "“Cannot allocate memory” from an ibv_… call is the locked-memory limit, not the network."},
		},
		Collect: transport,
	},
	{
		Slug: PeerLost, Origin: "network", Owner: "unknown", Resubmit: "unknown",
		Nature: MayBeStore | PeerGone | OfOthers,
		Title:  "a peer closed its connection",
		Meaning: "Ranks lost the connection to another process, which had most likely already died. " +
			"This is a symptom: the cause should be in that peer's log, which is missing or doesn't show it.",
		Now: []Advice{
			{"Find the peer from the address or rank in these lines; read its last lines and its node's kernel log.", ""},
			adviceAllLogs,
			adviceSacct,
		},
		Structural: []Advice{{"Keep one log file per rank or node, on storage that survives the node.", ""}},
		NextTime:   []Advice{adviceNCCLWarn},
		LookAlikes: []LookAlike{
			{LinkError, "a network card reports the error itself."},
			{Exception, "read the peer's last lines: it usually died first, for another reason."},
		},
		Collect: append([]string{"NCCL_DEBUG=WARN", "TORCH_NCCL_PROPAGATE_ERROR=1"}, recorder...),
	},
	{
		Slug: InitUnreachable, Origin: "network", Owner: "job-config", Resubmit: "after-fix",
		Nature: OfOthers | BeforeSteps | OutOfReach,
		Title:  "the ranks never connected",
		Meaning: "Before the first training step, processes couldn't reach the rendezvous or each other. " +
			"The usual reasons are a wrong host name, port or network interface, a firewall, an MTU mismatch, or a rank that never started.",
		Now: []Advice{
			{"Check from {node} that the rendezvous address resolves and its port responds.", "srun -w {node} bash -c 'getent hosts $MASTER_ADDR; nc -zv $MASTER_ADDR $MASTER_PORT'"},
			{"Set the interface explicitly if the hosts have several.", "ip -br addr; export NCCL_SOCKET_IFNAME=ib0 GLOO_SOCKET_IFNAME=ib0"},
			{"If small messages pass and large ones don't, the MTU differs along the path.", "ping -M do -s 8972 -c 3 {node}; ping -M do -s 1472 -c 3 {node}"},
		},
		Structural: []Advice{{"Start every job with a connection test across all nodes; it takes seconds and finds the bad pair.", ""}},
		NextTime:   []Advice{{"Have NCCL log which interface it uses.", "export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET"}},
		LookAlikes: []LookAlike{
			{PeerLost, "the failure comes before the first step, and the peer was never there."},
			{ConfigError, "all ranks fail the same way at once: arguments, not the network."},
		},
		Collect: append([]string{"TORCH_CPP_LOG_LEVEL=INFO", "TORCH_DISTRIBUTED_DEBUG=INFO", "LOGLEVEL=INFO"}, transport...),
	},
}
