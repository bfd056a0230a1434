package aislog

// Kind is what a record says.
type Kind string

// Kinds. What of them are causes and what are consequences is decided elsewhere.
const (
	Ready              Kind = "ready"
	NotReady           Kind = "not-ready"        // a request came before the daemon had started up, or with another cluster map
	Stopping           Kind = "stopping"         // orderly
	Failing            Kind = "failing"          // a fatal error
	Joined             Kind = "joined"           // a daemon (re)joined the cluster
	MapChanged         Kind = "map-changed"      // another version of the cluster map
	Removed            Kind = "removed"          // a daemon was taken out of the cluster map: evicted
	Left               Kind = "left"             // a daemon left the cluster by itself: it was stopped, or lost its last mountpath
	KeepAliveFailed    Kind = "keepalive-failed" // a daemon did not answer
	KeepAliveBack      Kind = "keepalive-back"   // it does again
	PrimaryDown        Kind = "primary-down"     // the primary proxy does not answer: another one is elected
	Election           Kind = "election"         // of another primary
	ConfigChanged      Kind = "config-changed"   // the configuration was changed
	Administration     Kind = "administration"   // what the cluster serves was changed on request: its members, buckets, objects
	RebalanceBegan     Kind = "rebalance-began"
	RebalanceEnded     Kind = "rebalance-ended"
	RebalanceTrouble   Kind = "rebalance-trouble"
	Resilver           Kind = "resilver"
	OutOfSpace         Kind = "out-of-space"
	LowSpace           Kind = "low-space"
	Reclaiming         Kind = "reclaiming" // clean-up and eviction, because space is low
	Capacity           Kind = "capacity"   // a mountpath's use
	DiskFault          Kind = "disk-fault"
	MountpathOff       Kind = "mountpath-off"
	DiskBusy           Kind = "disk-busy"
	MemoryPressure     Kind = "memory-pressure"
	CPUPressure        Kind = "cpu-pressure"
	Goroutines         Kind = "goroutines"
	LimitReached       Kind = "limit-reached" // the operating system refused this daemon something: it had reached a limit
	Alerts             Kind = "alerts"        // the node's own list
	Flags              Kind = "flags"         // its state flags changed
	BatchBegan         Kind = "batch-began"
	BatchIdle          Kind = "batch-idle" // a batch job ended because nobody asked any more
	BatchAborted       Kind = "batch-aborted"
	BatchTimedOut      Kind = "batch-timed-out" // waiting for an entry of another daemon
	BatchFailed        Kind = "batch-failed"
	BatchIndex         Kind = "batch-index" // an entry for a batch that is gone
	BatchStale         Kind = "batch-stale"
	BatchRejected      Kind = "batch-rejected" // 429
	BatchThrottled     Kind = "batch-throttled"
	BatchSoftErrors    Kind = "batch-soft-errors"
	BatchAbandoned     Kind = "batch-abandoned"
	RecoveryFailed     Kind = "recovery-failed" // an entry could not be had from a neighbour either
	Recovered          Kind = "recovered"
	StreamBroken       Kind = "stream-broken"
	StreamDropped      Kind = "stream-dropped" // entries for a job that has ended
	StreamReconnecting Kind = "stream-reconnecting"
	StreamGivenUp      Kind = "stream-given-up"
	ClientGone         Kind = "client-gone"
	RemoteThrottled    Kind = "remote-throttled" // the store behind
	RateLimited        Kind = "rate-limited"     // AIS's own limit
	Busy               Kind = "busy"             // one object, fetched by several at once
	NotFound           Kind = "not-found"
	Corrupt            Kind = "corrupt"
	Refused            Kind = "refused" // token or rights
	TLS                Kind = "tls"
	ClockDrift         Kind = "clock-drift"
	Unreachable        Kind = "unreachable" // a request failed because another daemon took no connection
	RequestError       Kind = "request-error"
	Other              Kind = "other" // a warning or an error that no text is known of
	noise              Kind = ""
)

// text is one way to say something. All literals must stand in the record, in this order, and none of not. The first text
// of the table that fits is what the record says. since is the oldest version known to say it so; from names how it is
// known: S the source at the tags 3.20 to 5.0, R a real cluster of 5.0, I an issue.
type text struct {
	kind     Kind
	literals []string
	not      []string
	since    string
	from     string
}

// texts is everything that records are told by. Texts that quote the reason of another stand before the texts of that reason.
var texts = []text{
	// What every configuration of a small cluster prints, and what is known to be harmless.
	{noise, []string{"share the same IP/host:"}, nil, "3.20", "R"},
	{noise, []string{"share the same network", "with distinct ports:"}, nil, "3.20", "R"},
	{noise, []string{"Warning: load initial global config from"}, nil, "3.20", "R"},
	{noise, []string{"cgroup v2: found /proc/self/cgroup"}, nil, "5.0", "R"},
	{noise, []string{"file descriptor limit is low"}, nil, "3.20", "R"},
	{noise, []string{" ID from command-line"}, nil, "3.20", "R"},
	{noise, []string{"creating new VMD from"}, nil, "3.20", "R"},
	{noise, []string{" VMD v", "initialized"}, nil, "3.20", "R"},
	{noise, []string{"initializing new BMD v"}, nil, "3.20", "R"},
	{noise, []string{"max xattr size ["}, nil, "5.0", "R"},
	{noise, []string{"shared between (labeled) mp["}, nil, "5.0", "R"},
	{noise, []string{"(same version w/ txn commit): receive"}, nil, "3.20", "R"},
	{noise, []string{"duplicated name [ shared-dm.gc ]"}, nil, "5.0", "R"},

	{OutOfSpace, []string{"missing: disk.", "(out-of-space)"}, nil, "5.0", "R"},
	{LowSpace, []string{"missing: disk.", "(low-free-space)"}, nil, "5.0", "R"},
	{DiskFault, []string{"missing: disk."}, []string{"(out-of-space)", "(low-free-space)"}, "5.0", "S"},

	// Life of a daemon.
	{Failing, []string{"FATAL ERROR:"}, nil, "3.20", "S"},
	{Failing, []string{"Terminated with err:"}, nil, "3.20", "S"},
	{Stopping, []string{"Terminated OK via Signal"}, nil, "3.20", "R"},
	{Stopping, []string{"Shutting down HTTP"}, nil, "3.20", "R"},
	{Ready, []string{"] is ready"}, nil, "3.20", "R"},
	{NotReady, []string{"not ready yet: "}, nil, "3.20", "R"},
	{NotReady, []string{"different Smap version from"}, nil, "3.20", "R"},
	{NotReady, []string{"cluster startup is taking unusually long time"}, nil, "3.20", "S"},
	{NotReady, []string{"Timed-out while starting up"}, nil, "3.20", "S"},
	{ClockDrift, []string{"Warning: clock drift "}, nil, "3.20", "S"},

	// Administration. Every change of the cluster's metadata names the request it comes from: "aism[start-maintenance[uuid]]".
	// It stands before the texts of the metadata that changed.
	{Administration, []string{"aism[start-maintenance"}, nil, "3.20", "R"},
	{Administration, []string{"aism[stop-maintenance"}, nil, "3.20", "S"},
	{Administration, []string{"aism[decommission"}, nil, "3.20", "S"},
	{Administration, []string{"aism[shutdown"}, nil, "3.20", "S"},
	{Administration, []string{"aism[rm-unsafe"}, nil, "3.20", "S"},
	{Administration, []string{"aism[destroy-bck"}, nil, "3.20", "S"},
	{Administration, []string{"txn-destroy-bck["}, nil, "5.0", "R"},
	{Administration, []string{"txn-evict-remote-bck["}, nil, "5.0", "S"},
	{Administration, []string{"txn-move-bck["}, nil, "5.0", "S"},
	{Administration, []string{"aism[evict-remote-bck"}, nil, "3.20", "S"},
	{Administration, []string{"aism[move-bck"}, nil, "3.20", "S"},
	{Administration, []string{"aism[new-primary"}, nil, "3.20", "S"},
	{Administration, []string{"aism[primary-force"}, nil, "3.24", "S"},
	{Administration, []string{": start-maintenance([", " opts={"}, nil, "5.0", "R"},
	{Administration, []string{": decommission-node([", " opts={"}, nil, "5.0", "S"},
	{Administration, []string{": shutdown-node([", " opts={"}, nil, "5.0", "S"},
	{Administration, []string{": rm-unsafe([", " opts={"}, nil, "5.0", "S"},
	{Administration, []string{"start-maintenance reb=false [", "_and_ not running global rebalance"}, nil, "5.0", "R"},
	{Administration, []string{"decommission-node reb=false [", "_and_ not running global rebalance"}, nil, "5.0", "S"},
	{Administration, []string{"x-delete-listrange["}, nil, "3.20", "R"},
	{Administration, []string{"x-evict-listrange["}, nil, "3.20", "S"},
	{Administration, []string{"aism[set-bprops"}, nil, "3.20", "R"},
	{Administration, []string{"txn-set-bprops["}, nil, "5.0", "R"},
	{Administration, []string{"removed mountpath mp["}, nil, "3.20", "S"},

	// What the operating system refused this daemon itself (Go prints errno texts in lower case): whom it wanted to reach then is not to
	// blame. They stand before the texts of whom it could not reach.
	{LimitReached, []string{"accept", ": too many open files"}, nil, "3.20", "R"},
	{LimitReached, []string{"socket: too many open files"}, nil, "3.20", "R"},
	{LimitReached, []string{"open /proc/", ": too many open files"}, nil, "3.20", "R"},
	{LimitReached, []string{"socket: no buffer space available"}, nil, "3.20", "S"},
	{LimitReached, []string{"connect: cannot assign requested address"}, nil, "3.20", "S"},
	{LimitReached, []string{"fork/exec ", ": resource temporarily unavailable"}, nil, "3.20", "S"},

	// Membership.
	{Removed, []string{"slow-kalive failure after ", " removing ", "] from Smap"}, nil, "3.20", "R"},
	{Left, []string{"mcast-unreg: actm[self-initiated-removal], [t["}, nil, "5.0", "R"},
	{KeepAliveFailed, []string{"failed to fast-kalive "}, nil, "3.20", "R"},
	{KeepAliveFailed, []string{"failed to slow-kalive "}, nil, "3.20", "R"},
	{KeepAliveFailed, []string{"] failure - retrying: ["}, nil, "3.20", "S"},
	{KeepAliveFailed, []string{"failed req-health:"}, nil, "3.20", "S"},
	{KeepAliveFailed, []string{"failed after ", " attempts"}, nil, "3.20", "S"},
	{KeepAliveBack, []string{"OK after ", " attempts"}, nil, "3.20", "S"},
	{Joined, []string{"joined ", "] -> Smap v"}, nil, "3.20", "R"},
	{Joined, []string{"autoreg(\"self-join-"}, nil, "3.20", "R"},
	{PrimaryDown, []string{"is no longer online and must be reelected"}, nil, "3.20", "S"},
	{PrimaryDown, []string{"is confirmed down: ["}, nil, "3.20", "S"},
	{Election, []string{"moving to election state phase"}, nil, "3.20", "S"},
	{Election, []string{"received vote result: new primary"}, nil, "3.20", "S"},
	{Election, []string{": becoming primary"}, nil, "3.20", "S"},
	{Election, []string{"Vote Results:"}, nil, "3.20", "S"},
	{MapChanged, []string{"msync Rx: new Smap v"}, nil, "3.20", "R"},
	{MapChanged, []string{"]: Smap v"}, []string{"health-ping", "failed to", "reconnect"}, "3.20", "R"},
	{MapChanged, []string{"health-ping from (", " with newer Smap"}, nil, "3.20", "R"},
	{ConfigChanged, []string{"msync Rx: new Conf v", "aism[set-config"}, nil, "3.20", "R"},
	{ConfigChanged, []string{"]: Conf v", "aism[set-config"}, nil, "3.20", "R"},

	// Batches. An abort quotes its reason.
	{BatchTimedOut, []string{"timed out waiting for missing entry"}, nil, "4.1", "R"},
	{BatchRejected, []string{" rejected due to resource pressure ("}, nil, "4.1", "R"},
	{BatchRejected, []string{"wid=", " rejected: pending="}, nil, "4.5", "S"},
	{BatchThrottled, []string{"resource pressure: load="}, nil, "4.1", "S"},
	{BatchSoftErrors, []string{"exceeded soft-errors limit:"}, nil, "4.0", "S"},
	{BatchAborted, []string{"detected cluster membership change"}, nil, "4.0", "R"},
	{BatchAborted, []string{" senders did not ack start within"}, nil, "4.5", "S"},
	{BatchAborted, []string{" bcast abort ["}, nil, "4.0", "R"},
	{BatchAborted, []string{"x-get-batch[", " aborting: "}, nil, "4.0", "R"},
	{BatchAborted, []string{" abortWI t["}, nil, "5.0", "R"},
	{BatchIndex, []string{"out-of-bounds index "}, nil, "3.30", "S"},
	{BatchStale, []string{"stale or unknown wid "}, nil, "4.5", "R"},
	{BatchAbandoned, []string{"GC cleaned abandoned wi"}, nil, "4.6", "S"},
	{BatchAbandoned, []string{" abandoned (age "}, nil, "4.6", "S"},
	{BatchAbandoned, []string{"wi.quiesce timed out"}, nil, "4.6", "S"},
	{BatchAbandoned, []string{"wedged ", " for wi "}, nil, "4.6", "S"},
	{BatchFailed, []string{"network error while retrieving entry"}, nil, "4.0", "S"},
	{BatchFailed, []string{"get-batch[", "] err: "}, nil, "5.0", "R"},
	{BatchFailed, []string{"[ assemble wid="}, nil, "5.0", "R"},
	{BatchBegan, []string{" run: x-get-batch["}, nil, "4.0", "R"},
	{BatchIdle, []string{"get-batch[", "] idle expired ["}, nil, "4.0", "R"},
	{Recovered, []string{"GFN ok: "}, nil, "4.1", "S"},
	{RecoveryFailed, []string{"GFN fail"}, nil, "4.1", "S"},
	{RecoveryFailed, []string{"wrapError: GFN("}, nil, "4.1", "R"},
	{RecoveryFailed, []string{": gfn failure, "}, nil, "3.30", "S"},

	// Streams between daemons.
	{StreamDropped, []string{"shared-dm", "xid ", " not found", "dropping"}, nil, "3.30", "S"},
	{StreamDropped, []string{"shared-dm is closed (dropping all Rx)"}, nil, "4.6", "S"},
	{StreamDropped, []string{" is closed, dropping recv [xid:"}, nil, "3.30", "S"},
	{StreamGivenUp, []string{"shared-dm: failed reconnecting to "}, nil, "4.0", "R"},
	{StreamGivenUp, []string{"closing shared-dm["}, nil, "4.1", "R"},
	{StreamGivenUp, []string{"... closing despite xid"}, nil, "4.1", "S"},
	{StreamReconnecting, []string{"reconnect/send: shared-dm"}, nil, "4.0", "R"},
	{StreamReconnecting, []string{"successful reconnect from "}, nil, "4.0", "R"},
	// It is printed every two seconds while the peer is dead: it proves nothing (5.0).
	{noise, []string{"successfully restablished connectivity to "}, nil, "5.0", "R"},
	{StreamBroken, []string{"shared-dm[", "] sbr_"}, nil, "4.0", "R"},
	{StreamBroken, []string{"Error: shared-dm["}, nil, "4.0", "R"},
	{StreamBroken, []string{"ErrSBR: "}, nil, "4.0", "R"},
	{StreamBroken, []string{"shared-dm", "] terminated"}, nil, "3.30", "S"},
	{StreamBroken, []string{" terminated(\"", "): "}, nil, "3.28", "S"},
	{StreamBroken, []string{"shared-dm stats: drops "}, []string{"drops 0 rxerr 0 sbrs 0"}, "4.3", "S"},

	// Rebalance and resilver.
	{RebalanceTrouble, []string{"duplicate transport endpoint \"reb\""}, nil, "4.3", "I"},
	{RebalanceTrouble, []string{"rx-ready num-fail:"}, nil, "3.20", "S"},
	{RebalanceTrouble, []string{"post-traverse num-fail"}, nil, "3.20", "S"},
	{RebalanceTrouble, []string{"abort joggers: ["}, nil, "3.20", "S"},
	{RebalanceTrouble, []string{"failed to preempt:"}, nil, "3.20", "S"},
	{RebalanceTrouble, []string{"stream term-ed: ["}, nil, "3.20", "S"},
	{RebalanceTrouble, []string{"][g", "waiting for: t["}, nil, "3.20", "R"},
	{RebalanceTrouble, []string{"][g", "starting up - joining"}, nil, "3.20", "R"},
	{RebalanceTrouble, []string{"transitioning(?) from older rebalance"}, nil, "3.20", "R"},
	{RebalanceTrouble, []string{"timed out waiting for: t["}, nil, "3.20", "S"},
	{RebalanceEnded, []string{"] done x-rebalance["}, nil, "3.28", "R"},
	{RebalanceEnded, []string{" rebalance[g", "] done"}, nil, "3.28", "R"},
	{noise, []string{" starting rebalance["}, nil, "3.20", "R"},
	{RebalanceBegan, []string{"- running ", "rebalance[g"}, nil, "3.20", "R"},
	{Resilver, []string{"x-resilver[", "], action "}, nil, "3.20", "R"},
	{Resilver, []string{"x-resilver[", "] done ["}, nil, "3.20", "R"},

	// Disks and space.
	{DiskFault, []string{"IO errors (", ") exceeded configured limit"}, nil, "3.24", "S"},
	{OutOfSpace, []string{"OOS (cap(", ") via FSHC"}, nil, "3.28", "R"},
	{DiskFault, []string{"waking up FSHC"}, nil, "3.20", "S"},
	{DiskFault, []string{" FAULTED"}, []string{"now disabled"}, "3.20", "S"},
	{DiskFault, []string{": lost disk"}, nil, "3.28", "S"},
	{DiskFault, []string{"read/write errors"}, nil, "3.20", "S"},
	{DiskFault, []string{"exceeded I/O error limit: "}, nil, "3.30", "S"},
	{MountpathOff, []string{"proceeding to disable mp["}, nil, "3.20", "S"},
	{MountpathOff, []string{"now disabled, reason:"}, nil, "4.2", "S"},
	{MountpathOff, []string{"] now disabled"}, nil, "3.30", "S"},
	{MountpathOff, []string{"disabled mountpath mp["}, nil, "3.20", "R"},
	{MountpathOff, []string{"disabled the last available mountpath"}, nil, "3.20", "S"},
	{MountpathOff, []string{"no mountpaths"}, nil, "3.20", "S"},
	{MountpathOff, []string{"mountpath ", " is disabled"}, nil, "3.20", "S"},
	{MountpathOff, []string{" has no disks"}, nil, "3.20", "S"},
	{OutOfSpace, []string{"ErrCapExceeded: "}, nil, "3.20", "R"},
	{OutOfSpace, []string{"no space left on device"}, nil, "3.20", "R"},
	{DiskFault, []string{"PathError: [fs-path] ", ": read-only file system"}, nil, "5.0", "R"},
	{DiskFault, []string{"PathError: [fs-path] ", ": input/output error"}, nil, "5.0", "S"},
	{DiskFault, []string{" GET local I/O error: "}, nil, "5.0", "R"},
	{Reclaiming, []string{"still out of space, running LRU eviction"}, nil, "3.20", "R"},
	{Reclaiming, []string{"running store cleanup: cap("}, nil, "3.20", "R"},
	{Reclaiming, []string{"_not_ running store cleanup:"}, nil, "3.20", "R"},
	{Reclaiming, []string{"x-cleanup-store[", "post-rm("}, nil, "3.28", "R"},
	{Reclaiming, []string{"finished w/err: [ out of space:"}, nil, "3.28", "R"},
	{Reclaiming, []string{"finished with cap error: out of space"}, nil, "3.28", "R"},
	{OutOfSpace, []string{"out of space: used "}, nil, "3.20", "R"},
	{LowSpace, []string{"low on free space: used capacity"}, nil, "3.20", "S"},
	{Capacity, []string{"\": (out-of-space)"}, nil, "3.20", "R"},
	{Capacity, []string{"\": used ", "%, avail "}, nil, "3.20", "R"},
	{DiskBusy, []string{"iB/s, ", "iB, ", "%"}, nil, "3.20", "R"},

	// Pressure.
	{MemoryPressure, []string{"extreme memory pressure"}, nil, "3.20", "S"},
	{MemoryPressure, []string{"high memory pressure"}, nil, "3.20", "S"},
	{MemoryPressure, []string{"alert: oom"}, nil, "3.24", "S"},
	{MemoryPressure, []string{"alert: low memory"}, nil, "3.24", "S"},
	{MemoryPressure, []string{"free mem to OS("}, nil, "3.20", "S"},
	{CPUPressure, []string{"CPU utilization: extremely high"}, nil, "4.0", "S"},
	{CPUPressure, []string{"CPU utilization: high"}, nil, "4.0", "R"},
	{Goroutines, []string{"number of goroutines ", " alert)"}, nil, "4.5", "S"},
	{Goroutines, []string{"Number of goroutines ", " alert)"}, nil, "4.2", "S"},
	{Goroutines, []string{"High number of goroutines: "}, nil, "3.30", "S"},

	// Requests and clients.
	{ClientGone, []string{"[client gone]"}, nil, "4.1", "S"},
	{ClientGone, []string{"client gone before first write"}, nil, "4.6", "S"},
	{ClientGone, []string{"failed to transmit GET response"}, nil, "3.20", "S"},
	{RateLimited, []string{"ErrRateLimitFrontend"}, nil, "3.28", "S"},
	{RemoteThrottled, []string{"backend rate limiter: request still throttled"}, nil, "3.28", "S"},
	{RemoteThrottled, []string{"aws-error[SlowDown"}, nil, "3.28", "S"},
	{RemoteThrottled, []string{"ErrTooManyRequests"}, nil, "3.28", "S"},
	{Busy, []string{" is currently busy", "please try again"}, nil, "3.20", "S"},
	{Corrupt, []string{"checksum: expected [", "], actual ["}, nil, "3.20", "S"},
	{Corrupt, []string{"failed to remove corrupted "}, nil, "3.20", "S"},
	{Corrupt, []string{"recovered corrupted "}, nil, "3.20", "S"},
	{Corrupt, []string{"(transmit) ", ": invalid size "}, nil, "5.0", "R"},
	{Corrupt, []string{"ErrLmetaCorrupted: "}, nil, "5.0", "R"},
	{Refused, []string{"token validation failed:"}, nil, "4.2", "R"},
	{Refused, []string{"cluster access check failed:"}, nil, "4.2", "S"},
	{Refused, []string{"bucket access check failed"}, nil, "3.28", "S"},
	{Refused, []string{"insufficient permissions"}, nil, "4.2", "R"},
	{Refused, []string{"token expired: "}, nil, "3.30", "S"},
	{Refused, []string{"invalid token"}, nil, "4.2", "R"},
	{Refused, []string{"token required: "}, nil, "4.2", "R"},
	{Refused, []string{"token expired", " /v1/"}, nil, "3.20", "S"},
	{TLS, []string{"http: TLS handshake error"}, nil, "3.20", "S"},
	{TLS, []string{"will soon expire"}, nil, "3.24", "S"},
	{TLS, []string{"tls-cert-"}, nil, "3.24", "S"},
	{NotFound, []string{"remote bucket \"", "does not exist"}, nil, "3.20", "S"},
	{NotFound, []string{"ErrNotFound: "}, nil, "3.20", "R"},
	{Unreachable, []string{"connect: connection refused", "htrun.go:"}, nil, "3.20", "R"},
	{RequestError, []string{" /v1/", "htrun.go:"}, nil, "3.20", "R"},
	{RequestError, []string{" /v1/", "(stack: ["}, nil, "3.20", "R"},
}

// Literals of lines that are not events by themselves.
const (
	litStarted = "Started up at 20"
	litRotated = "Rotated at 20"
	litMarker  = " ============="
	litFlags   = "state.flags:"
	litTotal   = ".ns.total:"
	litKalive  = "kalive.ns:"
	litAlerts  = "Warning: state alerts:"
	litRunning = "running("
	litTitle   = ", Version "
	litTarget  = "initialized tid t["
	litProxy   = "Initialized p["
	litCluster = "new cluster UUID: "
	litAccess  = " access: {"
)

// marks of the lines that are not events by themselves.
var plumbing = []string{litStarted, litRotated, litMarker, litFlags, litTotal, litKalive, litAlerts, litRunning, litTitle, litTarget, litProxy, litCluster, litAccess}

// flagNames are the bits of state.flags. Those from keep-alive-errors on exist since 3.24, disk-* since 3.30.
var flagNames = []struct {
	bit  int64
	name string
}{
	{1, "vote-in-progress"}, {8, "rebalancing"}, {16, "rebalance-interrupted"}, {32, "resilvering"},
	{64, "resilver-interrupted"}, {128, "restarted"}, {256, "out-of-space"}, {512, "out-of-memory"},
	{1024, "in-maintenance-mode"}, {2048, "low-usable-capacity"}, {4096, "low-memory"}, {8192, "disk-fault"},
	{16384, "number-of-goroutines"}, {32768, "high-number-of-goroutines"}, {65536, "tls-cert-will-soon-expire"},
	{131072, "tls-cert-expired"}, {262144, "tls-cert-invalid"}, {524288, "keep-alive-errors"},
	{1048576, "out-of-cpu"}, {2097152, "low-cpu"}, {4194304, "disk-out-of-space"}, {8388608, "disk-low-capacity"},
}

// Bits of flagNames that say that all is well: their absence is what matters.
const (
	bitClusterStarted = 2
	bitNodeStarted    = 4
)
