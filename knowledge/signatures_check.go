package knowledge

// check is what this program itself says of a node that must not start a job.
func check(id ID, slug Slug, check, text, meaning, example string, do ...Advice) Signature {
	return Signature{
		ID: id, Mechanism: slug, Role: CauseRole, Tier: ProcessKiller, Direct: true, Says: AtStart,
		Literals: []string{"bot check: FAIL "}, Pattern: `bot check: FAIL (?P<host>[A-Za-z0-9][\w.-]*): ` + check + `: ` + text,
		Names:   []Name{{"host", AsHost, Culprit}},
		Meaning: meaning,
		Do:      do,
		Source:  "Faultline preflight/judge.go",
		Example: "bot check: FAIL n2: " + example,
	}
}

// doubted adds what else a line may mean.
func doubted(s Signature, looksLike ...Slug) Signature {
	s.LooksLike = looksLike
	return s
}

// checkSignatures: findings of "bot check", which says of each what is wrong and where. They come before all others: what a finding
// quotes is the reason of that node, and not an error of the job.
var checkSignatures = []Signature{
	check("check-gpu", GPUOffBus, "GPU", `nvidia-smi: (?P<error>.{1,200})`,
		"Before the job started, the driver of this node could not use its GPUs.", "GPU: nvidia-smi: exit status 9  [nvidia-smi; dmesg | grep -i xid]",
		Advice{"Look at the GPUs of {node}, or leave the node out.", "ssh {node} 'nvidia-smi -L; dmesg | grep -i xid'"}),
	doubted(check("check-gpus", GPUOffBus, "GPU", `(?P<error>\d+ of \d+ GPUs)`,
		"Before the job started, this node showed fewer GPUs than the job needs.", "GPU: 7 of 8 GPUs  [nvidia-smi -L; dmesg | grep -i xid]",
		Advice{"Compare the GPUs of {node} with what SLURM gave the job.", "ssh {node} 'nvidia-smi -L; dmesg | grep -i xid'; scontrol show job {job} -d | grep -i gres"}), ConfigError),
	check("check-absent", InitUnreachable, "rendezvous(?: port)?", `(?P<error>.{1,200})`,
		"Before the job started, this node did not reach the others, or the rendezvous port was not free.", "rendezvous: did not reach the rendezvous  [scontrol show node n2]",
		Advice{"See whether {node} is up and reachable, or leave it out.", "scontrol show node {node}"}),
	check("check-name", InitUnreachable, "name resolution", `(?P<error>.{1,200})`,
		"Before the job started, this node could not resolve a name that the job needs.", "name resolution: n1: no such host  [getent hosts n1]",
		Advice{"Look the name up on {node}, or use its address.", "ssh {node} 'cat /etc/resolv.conf /etc/hosts'"}),
	check("check-network", LinkError, "network", `(?P<error>.{1,300})`,
		"Before the job started, this node's network was slow, lost large packets or carried nothing.", "network: sends 1.9 GiB/s to n3; most nodes reach 18.6 GiB/s  [find which end with bot isolate --for link]",
		Advice{"Find which end is slow, or leave {node} out.", "bot isolate --ledger link.json --nodes {nodes} --for link"}),
	check("check-full", StorageFull, "directory", `(?P<error>.{1,80} free in .{1,200}|.{1,300}(?:no space left on device|disk quota exceeded).*)`,
		"Before the job started, a directory that it writes to had no room for a checkpoint.", "directory: 1.0 GiB free in /ckpt: a checkpoint needs 1.0 TiB  [df -h /ckpt]",
		Advice{"Make room for two checkpoints.", "ssh {node} df -h"}),
	check("check-directory", ConfigError, "directory", `(?P<error>cannot (?:read|write) .{1,300})`,
		"Before the job started, this node could not use a directory that the job needs.", "directory: cannot write /ckpt: permission denied  [ls -ld /ckpt]",
		Advice{"Check on {node} that the path exists, is mounted and is yours.", "ssh {node} 'mount; df -h'"}),
	check("check-library", ConfigError, "library", `(?P<error>.{1,300})`,
		"Before the job started, this node could not load a library that the job needs.", "library: libnccl.so.2: it needs libcudart.so.12, which was not found  [ldconfig -p | grep libnccl.so.2]",
		Advice{"Install the library on {node}, or set LD_LIBRARY_PATH.", "ssh {node} 'ldconfig -p | grep -E \"nccl|cudart\"'"}),
	check("check-variable", ConfigError, `[A-Z][A-Z0-9_]+`, `(?P<error>.{1,200}, and .{1,200} on \d+ other nodes)`,
		"Before the job started, this node had another value of a variable than the other nodes.", "MASTER_ADDR: n9, and n1 on 3 other nodes",
		Advice{"Set the variable once, in the batch script, so that every node has it.", "grep -n export SCRIPT"}),
	check("check-version", VersionMismatch, `[\w. +-]*[a-z][\w. +-]*`, `(?P<error>.{1,200}, and .{1,200} on \d+ other nodes)`,
		"Before the job started, this node had another version than the other nodes.", "driver: 535.1, and 550.90.07 on 3 other nodes",
		Advice{"Run on nodes that are alike, or leave {node} out.", "clush -w {nodes} 'nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1'"}),
	check("check-locked", ResourceLimit, "locked memory", `(?P<error>.{1,200})`,
		"Before the job started, this node's limit of locked memory was too low for RDMA.", "locked memory: ulimit -l is 64.0 KiB: RDMA can't register memory",
		Advice{"Raise the limit on {node}.", "ssh {node} cat /etc/security/limits.conf"}),
	{
		ID: "check-differ", Mechanism: VersionMismatch, Role: CauseRole, Tier: ProcessKiller, Direct: true, Says: AtStart,
		Literals: []string{"bot check: FAIL all nodes: ", ": the nodes differ: "},
		Meaning:  "Before the job started, its nodes were not alike, and no version was on most of them.",
		Scope:    ScopeJob,
		Do:       []Advice{{"Run on nodes that are alike.", "clush -w {nodes} 'nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1'"}},
		Source:   "Faultline preflight/judge.go",
		Example:  "bot check: FAIL all nodes: driver: the nodes differ: 535.1 on 2, 550.90.07 on 2",
	},
	{
		ID: "check-list", Mechanism: ConfigError, Role: CauseRole, Tier: ProcessKiller, Direct: true, Says: AtStart,
		Literals: []string{"bot check: FAIL all nodes: checklist: "},
		Meaning:  "A critical item of the checklist in front of the job was not passed.",
		Scope:    ScopeJob,
		Do:       []Advice{{"Do what the item asks, then tick it.", "bot check --checklist NAME --tick ITEM"}},
		Source:   "Faultline preflight/checklist.go",
		Example:  "bot check: FAIL all nodes: checklist: Checkpoints are saved automatically: open (tick it with --tick auto-checkpoint)",
	},
	noise("check-warning", "bot check: WARN ", "The check before the job warns of something that did not stop it.", "Faultline preflight/judge.go",
		"bot check: WARN n2: port: mlx5_3 port 1 is DOWN  [ibstat mlx5_3]"),
}
