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
	aislog.NotReady:           {"refused requests: not ready, or with another cluster map", alarm},
	aislog.Stopping:           {"stops, as it was told to", background},
	aislog.Failing:            {"stops because of an error", alarm},
	aislog.Joined:             {"another daemon joined the cluster", notice},
	aislog.MapChanged:         {"another version of the cluster map", background},
	aislog.Removed:            {"took another daemon out of the cluster map", alarm},
	aislog.KeepAliveFailed:    {"another daemon did not answer", alarm},
	aislog.KeepAliveBack:      {"another daemon answers again", background},
	aislog.PrimaryDown:        {"the primary proxy no longer answers", alarm},
	aislog.Election:           {"another primary proxy is elected", notice},
	aislog.ConfigChanged:      {"the configuration was changed", notice},
	aislog.Administration:     {"the cluster was changed on request", notice},
	aislog.RebalanceBegan:     {"rebalancing began", notice},
	aislog.RebalanceEnded:     {"rebalancing ended", notice},
	aislog.RebalanceTrouble:   {"rebalancing met trouble", alarm},
	aislog.Resilver:           {"resilvering", notice},
	aislog.OutOfSpace:         {"out of space", alarm},
	aislog.LowSpace:           {"low on space", notice},
	aislog.Reclaiming:         {"tries to reclaim space", background},
	aislog.Capacity:           {"use of a mountpath", background},
	aislog.DiskFault:          {"a disk fails", alarm},
	aislog.MountpathOff:       {"a mountpath was disabled", alarm},
	aislog.DiskBusy:           {"load of a disk", background},
	aislog.MemoryPressure:     {"short of memory", alarm},
	aislog.CPUPressure:        {"high load of the processors", notice},
	aislog.Goroutines:         {"very many goroutines", notice},
	aislog.Alerts:             {"alerts that it raises", notice},
	aislog.Flags:              {"its state changed", notice},
	aislog.BatchBegan:         {"a batch job began", background},
	aislog.BatchIdle:          {"a batch job ended, nobody asked any more", background},
	aislog.BatchAborted:       {"a batch was aborted", alarm},
	aislog.BatchTimedOut:      {"a batch waited in vain for an entry", alarm},
	aislog.BatchFailed:        {"a batch failed", alarm},
	aislog.BatchIndex:         {"an entry came for a batch that is gone", notice},
	aislog.BatchStale:         {"a message came for a batch that is gone", notice},
	aislog.BatchRejected:      {"a batch was rejected under pressure", alarm},
	aislog.BatchThrottled:     {"batches are slowed down under pressure", alarm},
	aislog.BatchSoftErrors:    {"a batch failed: too many missing entries", alarm},
	aislog.BatchAbandoned:     {"a batch was left behind", alarm},
	aislog.RecoveryFailed:     {"an entry could not be had from a neighbour either", alarm},
	aislog.Recovered:          {"an entry was had from a neighbour instead", background},
	aislog.StreamBroken:       {"a stream between daemons broke", alarm},
	aislog.StreamDropped:      {"entries for a job that has ended were dropped", notice},
	aislog.StreamReconnecting: {"tries to repair a stream", notice},
	aislog.StreamGivenUp:      {"gave a stream up", alarm},
	aislog.ClientGone:         {"a client left before it had its answer", notice},
	aislog.RemoteThrottled:    {"the store behind throttles", alarm},
	aislog.RateLimited:        {"requests beyond the configured rate", alarm},
	aislog.Busy:               {"an object is being fetched by somebody else", notice},
	aislog.NotFound:           {"something that was asked for does not exist", notice},
	aislog.Corrupt:            {"data do not match their checksum", alarm},
	aislog.Refused:            {"a request was refused: token or rights", alarm},
	aislog.TLS:                {"trouble with certificates", alarm},
	aislog.ClockDrift:         {"clocks of daemons differ", alarm},
	aislog.Unreachable:        {"a request failed: another daemon took no connection", alarm},
	aislog.RequestError:       {"a request failed", notice},
	aislog.Other:              {"a warning or an error that is not known", notice},
}

// gapWords say what is not covered.
var gapWords = map[aislog.Gap]string{
	aislog.BeforeFirst:  "what was before the first file was removed, or was not handed in",
	aislog.BetweenFiles: "no line of it is here: a file is missing, or the daemon had nothing to say",
	aislog.LostTail:     "it ended without writing out its last lines, which wait up to a minute unless configured otherwise",
	aislog.NotFlushed:   "the last lines may not have been written out when the log was taken",
	aislog.WarningsOnly: "only warnings and errors were handed in, no counters and no information",
}

// endWords say how a life ended.
var endWords = map[aislog.Ending]string{
	aislog.Orderly: "stopped as it was told to",
	aislog.Failed:  "stopped because of an error",
	aislog.Killed:  "its files hold no word of an end: killed or crashed, unless a file is missing",
	aislog.Unclear: "how it ended is not known: the end of what it wrote is missing",
	aislog.Open:    "its log goes on to the end of what was handed in",
}
