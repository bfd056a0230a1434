package diagnose

import "faultline/analysis/aislog"

// Levels of what a daemon's log says: how much it says by itself. None of them makes it a cause.
const (
	alarm      = "alarm"
	notice     = "notice"
	background = "background"
)

// daemonWords are what the kinds of records mean, for people.
var daemonWords = map[aislog.Kind]struct{ what, level string }{
	aislog.Ready:              {"ready to serve", background},
	aislog.NotReady:           {"refused requests: not ready, or using a different cluster map", alarm},
	aislog.Stopping:           {"stopping on request", background},
	aislog.Failing:            {"stopping because of an error", alarm},
	aislog.Joined:             {"another daemon joined the cluster", notice},
	aislog.MapChanged:         {"different cluster map version", background},
	aislog.Removed:            {"removed another daemon from the cluster map", alarm},
	aislog.Left:               {"another daemon left the cluster by itself", alarm},
	aislog.KeepAliveFailed:    {"another daemon did not respond", alarm},
	aislog.KeepAliveBack:      {"another daemon responds again", background},
	aislog.PrimaryDown:        {"the primary proxy no longer responds", alarm},
	aislog.Election:           {"a new primary proxy is elected", notice},
	aislog.ConfigChanged:      {"the configuration was changed", notice},
	aislog.Administration:     {"the cluster was changed by an administrator", notice},
	aislog.RebalanceBegan:     {"rebalance started", notice},
	aislog.RebalanceEnded:     {"rebalance finished", notice},
	aislog.RebalanceTrouble:   {"rebalance had errors", alarm},
	aislog.Resilver:           {"resilvering", notice},
	aislog.OutOfSpace:         {"out of space", alarm},
	aislog.LowSpace:           {"low on space", notice},
	aislog.Reclaiming:         {"reclaiming space", background},
	aislog.Capacity:           {"mountpath usage", background},
	aislog.DiskFault:          {"disk errors", alarm},
	aislog.MountpathOff:       {"a mountpath was being disabled", alarm},
	aislog.DiskBusy:           {"disk load", background},
	aislog.MemoryPressure:     {"low on memory", alarm},
	aislog.CPUPressure:        {"high CPU load", notice},
	aislog.Goroutines:         {"too many goroutines", notice},
	aislog.LimitReached:       {"refused something by its operating system: at a limit", alarm},
	aislog.Alerts:             {"alerts it raised", notice},
	aislog.Flags:              {"its state changed", notice},
	aislog.BatchBegan:         {"a batch job started", background},
	aislog.BatchIdle:          {"a batch job ended because it was idle", background},
	aislog.BatchAborted:       {"a batch was aborted", alarm},
	aislog.BatchTimedOut:      {"a batch timed out waiting for an entry", alarm},
	aislog.BatchFailed:        {"a batch failed", alarm},
	aislog.BatchIndex:         {"an entry arrived for a batch that no longer exists", notice},
	aislog.BatchStale:         {"a message arrived for a batch that no longer exists", notice},
	aislog.BatchRejected:      {"a batch was rejected under pressure", alarm},
	aislog.BatchThrottled:     {"batches were slowed down under pressure", alarm},
	aislog.BatchSoftErrors:    {"a batch failed: too many missing entries", alarm},
	aislog.BatchAbandoned:     {"an abandoned batch was cleaned up", alarm},
	aislog.RecoveryFailed:     {"an entry could not be fetched from a neighbor either", alarm},
	aislog.Recovered:          {"an entry was fetched from a neighbor instead", background},
	aislog.StreamBroken:       {"a stream between daemons broke", alarm},
	aislog.StreamDropped:      {"entries for a job that has ended were dropped", notice},
	aislog.StreamReconnecting: {"retrying a stream", notice},
	aislog.StreamGivenUp:      {"gave up on a stream", alarm},
	aislog.ClientGone:         {"a client disconnected before getting its response", notice},
	aislog.RemoteThrottled:    {"the remote store is throttling", alarm},
	aislog.RateLimited:        {"requests over the configured rate limit", alarm},
	aislog.Busy:               {"an object is already being fetched by another request", notice},
	aislog.NotFound:           {"a requested object or bucket does not exist", notice},
	aislog.Corrupt:            {"data has the wrong size or checksum", alarm},
	aislog.Refused:            {"a request was refused: token or permissions", alarm},
	aislog.TLS:                {"certificate problems", alarm},
	aislog.ClockDrift:         {"daemons' clocks differ", alarm},
	aislog.Unreachable:        {"a request failed: another daemon refused the connection", alarm},
	aislog.RequestError:       {"a request failed", notice},
	aislog.Other:              {"an unrecognized warning or error", notice},
}

// gapWords say what is not covered.
var gapWords = map[aislog.Gap]string{
	aislog.BeforeFirst:  "lines before the first file were removed or not provided",
	aislog.BetweenFiles: "it has no lines here: a file is missing, or the daemon logged nothing",
	aislog.LostTail:     "it exited without flushing its last lines (buffered up to a minute by default)",
	aislog.NotFlushed:   "the last lines may not have been flushed when the log was taken",
	aislog.WarningsOnly: "only warnings and errors were provided, no counters or info lines",
}

// endWords say how a life ended.
var endWords = map[aislog.Ending]string{
	aislog.Orderly: "stopped on request",
	aislog.Failed:  "stopped because of an error",
	aislog.Killed:  "no shutdown message: killed or crashed, unless a file is missing",
	aislog.Unclear: "how it ended is unknown: the end of its log is missing",
	aislog.Open:    "its log continues to the end of what was provided",
}
