package knowledge

import "fmt"

// warned is how programs mark what they go on without: a cache that cannot be written or locked ends nobody.
var warned = []string{" WARN", "[WARN", "Warning: "}

// storageSignatures: mounted file systems, local and shared.
var storageSignatures = []Signature{
	{
		ID: "storage-full", Mechanism: StorageFull, Role: CauseRole, Tier: DataIO, Direct: true,
		Cases:    []Case{{In: InSharedMemory, Is: ResourceLimit, As: CauseRole, Why: "the full file system is shared memory"}},
		Literals: []string{"No space left on device"}, Not: []string{"/dev/shm", "cgroup", "inotify"}, Pattern: `No space left on device(?:: '(?P<path>[^']{1,240})')?`,
		Meaning: "The file system is full.",
		Source:  "errno ENOSPC",
		Example: "OSError: [Errno 28] No space left on device: '/scratch/ckpt/step_100.pt'",
	},
	{
		ID: "storage-quota", Mechanism: StorageFull, Role: CauseRole, Tier: DataIO, Direct: true,
		Literals: []string{"Disk quota exceeded"}, Pattern: `Disk quota exceeded(?:: '(?P<path>[^']{1,240})')?`,
		Meaning: "The user's or project's quota on the file system is used up.",
		Do:      []Advice{{"Free up space in your own quota: the file system itself is not full.", "quota -s; lfs quota -h -u $USER ."}},
		Source:  "errno EDQUOT",
		Example: "OSError: [Errno 122] Disk quota exceeded: '/home/u/x'",
	},
	{
		ID: "storage-full-before", Mechanism: StorageFull, Role: CauseRole, Tier: DataIO, Direct: true,
		Literals: []string{"Not enough disk space. Needed: "}, Pattern: `Not enough disk space\. Needed: (?P<needed>[\d.]+ ?\w+)`,
		Meaning: "The file system has less space than the dataset needs, so the library did not start.",
		Do:      []Advice{{"Point the library's cache at a file system with more space.", "df -h $HF_HOME; export HF_HOME=/scratch/$USER/hf"}},
		Source:  "Hugging Face datasets, builder.py",
		Example: "OSError: Not enough disk space. Needed: 41.20 GiB (download: 12.00 GiB, generated: 29.20 GiB, post-processed: Unknown size)",
	},
	{
		ID: "storage-full-ray", Mechanism: StorageFull, Role: CauseRole, Tier: DataIO, Direct: true,
		Literals: []string{"OutOfDiskError: "}, Pattern: `OutOfDiskError: (?P<text>.{1,160})`,
		Meaning: "The local disk where Ray stores its objects is full.",
		Scope:   ScopeNode,
		Do:      []Advice{{"Start Ray with its temporary folder on a larger disk.", "ssh {node} 'df -h /tmp; du -sh /tmp/ray'; ray start --temp-dir=/scratch/ray"}},
		Source:  "Ray python/ray/exceptions.py",
		Example: "ray.exceptions.OutOfDiskError: Local disk is full",
	},
	{
		ID: "storage-stale", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		Literals: []string{"Stale file handle"},
		Meaning:  "An open file's handle is no longer valid on the network file system.",
		Do:       []Advice{{"Find who replaced or moved the file while the job had it open; then remount it on {node}.", "ssh {node} 'findmnt -t nfs,nfs4; dmesg -T | grep -i nfs | tail'"}},
		Source:   "errno ESTALE",
		Example:  "OSError: [Errno 116] Stale file handle",
	},
	{
		ID: "storage-no-locks", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		Literals: []string{"No locks available"}, Not: warned, Pattern: ofFile(37, "No locks available"),
		Meaning: "The shared file system couldn't grant a lock: its lock service isn't responding, or the mount has none.",
		Do:      []Advice{{"Keep lock files off that file system; meanwhile let one process fill the cache.", "export HF_DATASETS_CACHE=/tmp/$USER/hf; mount | grep -E 'nolock|noflock'"}},
		Source:  "errno ENOLCK of flock and fcntl on NFS and Lustre mounts",
		Example: "OSError: [Errno 37] No locks available",
	},
	{
		ID: "storage-endpoint", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		// A socket says it, too.
		Literals: []string{"Transport endpoint is not connected"}, Not: []string{"std::system_error", "ocket"}, Pattern: `[^\s(]\W? Transport endpoint is not connected`,
		Meaning: "A mounted file system lost its server or its client process.",
		Do:      []Advice{{"Have the mount on {root} restored: its client process has exited.", "ssh {node} 'findmnt; dmesg -T | tail -20'"}},
		Source:  "errno ENOTCONN on FUSE and Lustre mounts",
		Example: "OSError: [Errno 107] Transport endpoint is not connected: '/data'",
	},
	{
		ID: "storage-shutdown", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		Literals: []string{"Cannot send after transport endpoint shutdown"},
		Meaning:  "The server evicted this file system client.",
		Do:       []Advice{{"Ask the file-system team why the server evicted {node}.", "ssh {node} 'lfs check servers; dmesg -T | grep -i lustre | tail -20'"}},
		Source:   "errno ESHUTDOWN on Lustre mounts",
		Example:  "OSError: [Errno 108] Cannot send after transport endpoint shutdown: '/lustre/x'",
	},
	{
		ID: "storage-io-error", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		Cases:     fileOperation,
		LooksLike: []Slug{StorageUnresponsive}, // on a checkpoint: one damaged file, or the mount
		// UCX uses the same words for the network, so the line must come from a file operation.
		Literals: []string{"Input/output error"}, Not: []string{"UCX"},
		Pattern: ofFile(5, "Input/output error") + `|(?:cp|mv|cat|tar|ls|rsync|dd|rm|mkdir|bash): .{1,300}: Input/output error|\.so[\w.]{0,24}: cannot [a-z ]{1,40}: Input/output error`,
		Meaning: "The storage returned an error for a read or write.",
		Do:      []Advice{{"Read the kernel log of {node}: it shows which disk or mount returned the error.", "ssh {node} 'dmesg -T | grep -iE \"i/o error|nvme|lustre|nfs\" | tail -20'"}},
		Source:  "errno EIO",
		Example: "OSError: [Errno 5] Input/output error",
	},
	{
		ID: "storage-nfs", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		Says:     NoAnswer,
		Literals: []string{"nfs: server ", "not responding"}, Pattern: `nfs: server (?P<server>\S+) not responding`,
		Names:   []Name{{"server", AsServer, Culprit}},
		Meaning: "The NFS server is not responding to this node.",
		Do:      []Advice{{"Check from every node whether {server} responds. If one node can't reach it, suspect its link; if none can, the server.", "clush -w {nodes} 'nc -zv -w 10 {server} 2049'"}},
		Source:  "Linux net/sunrpc",
		Example: "nfs: server nas1 not responding, still trying",
	},
	{
		ID: "storage-nfs-again", Role: InfoRole,
		Says:     Answers,
		Literals: []string{"nfs: server ", " OK"}, Pattern: `nfs: server (?P<server>\S+) OK`,
		Names:   []Name{{"server", AsServer, Mentioned}},
		Meaning: "The NFS server is responding to this node again.",
		Source:  "Linux net/sunrpc",
		Example: "nfs: server nas1 OK",
	},
	{
		ID: "hdfs-block", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		Literals: []string{"Could not obtain block"}, Pattern: `(?:BlockMissingException|IOException): Could not obtain block:? (?P<block>\S+)`,
		Meaning: "No HDFS DataNode has a live copy of one of the file's blocks.",
		Scope:   ScopeStorage,
		Do:      []Advice{{"Check which blocks have no live copy, and bring their DataNodes back.", "hdfs fsck / -list-corruptfileblocks; hdfs dfsadmin -report | head -40"}},
		Source:  "Hadoop hdfs/DFSInputStream.java",
		Example: "org.apache.hadoop.hdfs.BlockMissingException: Could not obtain block: BP-1-10.0.0.1-1:blk_107_1 file=/data/a.tar",
	},
	{
		ID: "storage-hung-task", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO,
		Says:     HungTask,
		Literals: []string{" blocked for more than "}, Pattern: `task (?P<task>[\w./:-]{1,64}):(?P<pid>\d+) blocked for more than (?P<seconds>\d+) seconds`,
		Meaning: "A process was stuck in the kernel, waiting for storage that isn't responding.",
		Source:  "Linux kernel/hung_task.c",
		Example: "INFO: task python:4242 blocked for more than 120 seconds.",
	},
	{
		ID: "storage-timeout-path", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		Cases:     fileOperation,
		LooksLike: []Slug{StorageUnresponsive},
		Literals:  []string{"] Connection timed out: '/"}, Pattern: `\[Errno 110\] Connection timed out: '(?P<path>/[^']{1,240})'`,
		Meaning: "A network file system did not respond in time.",
		Do:      []Advice{adviceMount},
		Source:  "errno ETIMEDOUT of a file operation (NFS soft mounts)",
		Example: "TimeoutError: [Errno 110] Connection timed out: '/mnt/nfs/train/a.tar'",
	},
	{
		ID: "storage-timeout-native", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		Literals: []string{"filesystem error: ", "Connection timed out"},
		Meaning:  "A network file system did not respond in time.",
		Do:       []Advice{adviceMount},
		Source:   "errno ETIMEDOUT, as C++'s std::filesystem prints it",
		Example:  "RuntimeError: filesystem error: cannot create directories: Connection timed out [/mnt/ckpt]",
	},
	{
		// Of a file: Python names it. The same errors of a connection have no path.
		ID: "storage-network-path", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		Literals: []string{"[Errno 1", "] ", ": '/"}, Pattern: `\[Errno (?P<errno>10[0-3]|112|113)\] [^:']{3,60}: '(?P<path>/[^']{1,240})'`,
		Meaning: "A network file system lost its server.",
		Do:      []Advice{adviceMount},
		Source:  "errno ENETDOWN, ENETUNREACH, ENETRESET, ECONNABORTED, EHOSTDOWN, EHOSTUNREACH of a file operation (NFS, SMB, FUSE mounts)",
		Example: "OSError: [Errno 112] Host is down: '/mnt/data/a.tar'",
	},
	{
		ID: "storage-host-down", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		Literals: []string{"Host is down"}, Not: []string{"[Errno"}, Pattern: ofFile(112, "Host is down"),
		Meaning: "A network file system lost its server.",
		Do:      []Advice{adviceMount},
		Source:  "errno EHOSTDOWN of a file operation, as C++ and Rust print it",
		Example: "RuntimeError: filesystem error: cannot create directories: Host is down [/mnt/ckpt]",
	},
	{
		ID: "storage-damaged", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		Literals: []string{"Structure needs cleaning"}, Pattern: ofFile(117, "Structure needs cleaning"),
		Meaning: "The file system detected damage and shut itself down.",
		Owner:   OwnerCluster,
		Do:      []Advice{{"Have the file system on {root} checked; a local cache can be rebuilt elsewhere.", "ssh {node} 'dmesg -T | grep -iE \"xfs|ext4|corrupt\" | tail'"}},
		Source:  "errno EUCLEAN of XFS and ext4",
		Example: "OSError: [Errno 117] Structure needs cleaning: '/local/cache/a.arrow'",
	},
	{
		ID: "storage-read-only", Mechanism: ConfigError, Role: CauseRole, Tier: DataIO,
		Cases:    fileOperation,
		Says:     TurnedReadOnly,
		Literals: []string{"Read-only file system"}, Not: warned, Pattern: ofFile(30, "Read-only file system"),
		Meaning: "The path is read-only: mounted that way, or remounted by the kernel after a disk error.",
		Do:      []Advice{{"Check whether {path} is mounted read-only on purpose, or because of a disk error.", "ssh {node} 'findmnt -T {path}; dmesg -T | grep -i remount'"}},
		Source:  "errno EROFS",
		Example: "OSError: [Errno 30] Read-only file system: '/ckpt/step_100.pt'",
	},
	{
		ID: "storage-communication", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		Literals: []string{"[Errno 70] Communication error on send"},
		Meaning:  "The client of a network file system could not talk to its server.",
		Do:       []Advice{adviceMount},
		Source:   "errno ECOMM, as returned by BeeGFS",
		Example:  "OSError: [Errno 70] Communication error on send: '/mnt/beegfs/a.bin'",
	},
	{
		ID: "storage-remote-io", Mechanism: StorageUnresponsive, Role: CauseRole, Tier: DataIO, Direct: true,
		Cases:     fileOperation,
		LooksLike: []Slug{StorageUnresponsive},
		Literals:  []string{"Remote I/O error"}, Pattern: ofFile(121, "Remote I/O error"),
		Meaning: "The server of a network file system returned an error.",
		Do:      []Advice{adviceMount},
		Source:  "errno EREMOTEIO",
		Example: "OSError: [Errno 121] Remote I/O error: '/lustre/train/a.tar'",
	},
}

// ofFile is how a failed operation on a file is told: by Python and Arrow, by C++'s std::filesystem, by PyTorch's own reading and mapping
// of files (torch/csrc, aten/src/ATen/MapAllocator.cpp), by Rust, by HDF5. The bare words are said of sockets and devices, too.
func ofFile(errno int, text string) string {
	return fmt.Sprintf(`\[[Ee]rrno %[1]d\] %[2]s(?:: '(?P<path>[^']{1,240})')?|filesystem error: [^\[]{1,200}: %[2]s|`+
		`unable to \w[\w ]{0,40} file <[^>]{1,240}>[^:]{0,40}: %[2]s \(%[1]d\)|%[2]s \(os error %[1]d\)|errno = %[1]d, error message = '%[2]s'`, errno, text)
}
