package knowledge

// The network between the ranks.
var networkMechanisms = []Mechanism{
	{
		Slug: LinkError, Origin: "network", Owner: "cluster", Resubmit: "yes",
		Again: Again{Machine: true},
		Title: "a network link failed",
		Meaning: "The network card reported that data could not be delivered, or that its link went down. " +
			"Two endpoints are involved; the one that recurs over several failures is the likely culprit.",
		Now: []Advice{
			{"Read the state and the error counters of both endpoints.", "clush -w {nodes} 'ibstat | grep -E \"State|Rate\"; perfquery -x | grep -E \"Symbol|LinkDowned|RcvErr|XmitDisc\"'"},
			adviceFabricTest,
			{"Resubmit without the two endpoints; give back the one that tests clean.", "sbatch --exclude={root} …"},
		},
		Structural: []Advice{
			{"Alert on link flaps and rising symbol errors; replace the cable or optic before the port.", ""},
			{"Give brief flaps time to recover.", "export NCCL_IB_TIMEOUT=22 NCCL_IB_RETRY_CNT=7"},
		},
		NextTime: []Advice{adviceNCCLWarn},
		LookAlikes: []LookAlike{
			{PeerLost, "a network card names a status (12, 13) or its link went down; a closed connection alone is only the echo of a dead peer."},
			{ResourceLimit, "“Cannot allocate memory” in an ibv_… call is the limit of locked memory, not the network."},
		},
		Collect: transport,
	},
	{
		Slug: PeerLost, Origin: "network", Owner: "unknown", Resubmit: "unknown",
		Nature: MayBeStore | PeerGone | OfOthers,
		Title:  "a peer closed its connection",
		Meaning: "Ranks lost the connection to another process, which had most likely died before. " +
			"This is a symptom: the cause is in the log of that peer, which is not here or says nothing.",
		Now: []Advice{
			{"Follow the peer: the address or rank in these lines names it; read its last lines and the kernel log of its node.", ""},
			adviceAllLogs,
			adviceSacct,
		},
		Structural: []Advice{{"Keep one log file for each rank or node, on storage that survives the node.", ""}},
		NextTime:   []Advice{adviceNCCLWarn},
		LookAlikes: []LookAlike{
			{LinkError, "there a network card reports the error itself."},
			{Exception, "read the last lines of the peer that is named: it usually died first, of something else."},
		},
		Collect: append([]string{"NCCL_DEBUG=WARN", "TORCH_NCCL_PROPAGATE_ERROR=1"}, recorder...),
	},
	{
		Slug: InitUnreachable, Origin: "network", Owner: "job-config", Resubmit: "after-fix",
		Nature: OfOthers | BeforeSteps,
		Title:  "the ranks never connected",
		Meaning: "Before the first training step, processes could not reach the rendezvous or each other. " +
			"Usual reasons are a wrong host name, port or network interface, a firewall, an MTU that differs, or a rank that never started.",
		Now: []Advice{
			{"Check from {node} that the address of the rendezvous resolves and that its port answers.", "srun -w {node} bash -c 'getent hosts $MASTER_ADDR; nc -zv $MASTER_ADDR $MASTER_PORT'"},
			{"Choose the interface explicitly if the hosts have several.", "ip -br addr; export NCCL_SOCKET_IFNAME=ib0 GLOO_SOCKET_IFNAME=ib0"},
			{"Small messages pass and large ones do not: the MTU differs on the way.", "ping -M do -s 8972 -c 3 {node}; ping -M do -s 1472 -c 3 {node}"},
		},
		Structural: []Advice{{"Start every job with a connection test over all nodes; it costs seconds and names the bad pair.", ""}},
		NextTime:   []Advice{{"Let NCCL say which interface it takes.", "export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET"}},
		LookAlikes: []LookAlike{
			{PeerLost, "the failure comes before the first step, and the peer never was there."},
			{ConfigError, "all ranks fail alike and at once: arguments, not the network."},
		},
		Collect: append([]string{"TORCH_CPP_LOG_LEVEL=INFO", "TORCH_DISTRIBUTED_DEBUG=INFO", "LOGLEVEL=INFO"}, transport...),
	},
}
