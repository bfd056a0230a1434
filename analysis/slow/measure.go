package slow

import (
	"slices"
	"strings"
	"unicode"

	"faultline/pattern"
)

// Role is what it tells of a process, a device or a node that a quantity of its own changed when the steps slowed down.
type Role int

// Roles.
const (
	Unclear Role = iota
	Cause        // it, or what it measures, takes longer or can do less
	Waiting      // it waits for others
	Effect       // it changes with the pace of the job, whoever is at fault
)

// words are what quantities are called by tools: nvidia-smi and dcgmi, iostat, vmstat, sar, ethtool -S, mlx5's and switches' counters, Lustre's, and
// by people in tables of their own.
var words = map[Class][]string{
	Data:          {"data", "loader", "dataloader", "fetch", "read", "await", "aqu", "rkb", "svctm", "ost", "lustre", "nfs", "disk"},
	Save:          {"ckpt", "checkpoint", "save"},
	Communication: {"allreduce", "reduce", "gather", "allgather", "alltoall", "comm", "nccl", "ecn", "cnp", "pause", "pfc", "fcs", "crc", "symbol", "retrans", "retry", "retries", "xmit", "rcv", "rx", "tx", "discard", "discards", "drop", "drops", "dropped", "port", "roce", "rdma", "bw", "bandwidth", "busbw", "link", "ber", "align", "seq", "icrc", "nack", "replay"},
	Host:          {"swap", "swpd", "si", "so", "swpin", "swpout", "pswpin", "pswpout", "steal", "st", "majflt", "pgmajfault", "iowait", "wa", "free", "avail", "available", "gc", "runq", "ldavg", "blocked", "rss"},
	Experts:       {"moe", "expert", "experts", "router", "routing", "aux", "balancing"},
	Compute:       {"clock", "clocks", "pclk", "gclk", "sclk", "throttle", "thermal", "slowdown", "cap", "limit", "pviol", "tviol", "gtemp", "mtemp", "temp", "temperature", "compile", "compilations", "recompile", "recompiles", "uncached", "fwd", "bwd", "forward", "backward", "compute", "kernel", "gemm"},
}

// waits and effects are words of quantities that tell nothing of who is at fault.
var (
	waits   = []string{"wait", "waiting", "sync", "barrier", "idle", "bubble", "stall"}
	effects = []string{"util", "utilization", "utilisation", "sm", "draw", "pwr", "power", "throughput", "tokens", "tps", "tflops", "mfu", "samples", "loss", "lr", "norm", "step", "iter", "iteration", "total", "elapsed", "duration", "busy", "user", "us", "id", "dt"}
)

// work are words of quantities that say how much there is to do.
var work = []string{"tokens", "token", "samples", "items", "seqlen", "length", "rows"}

// Work says that a quantity is how much its member has to do, and not how fast that is done.
func Work(name string) bool {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	has := func(p string) bool { return slices.Contains(work, p) }
	return slices.ContainsFunc(parts, has) && !slices.Contains(parts, "sec") && !slices.Contains(parts, "s") && !slices.Contains(parts, "per")
}

// Timed says that a quantity is a time in seconds, by its name.
func Timed(name string) bool {
	unit, ok := Scale(name)
	return ok && unit == 1
}

// units are the words at the end of a name that make it a time, and their seconds.
var units = map[string]float64{"s": 1, "sec": 1, "secs": 1, "seconds": 1, "time": 1, "duration": 1, "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6}

// Scale is how many seconds one of a quantity is that is a time by its name.
func Scale(name string) (seconds float64, ok bool) {
	parts := wordsOf(name)
	seconds, ok = units[strings.Join(parts[max(0, len(parts)-1):], "")]
	return seconds, ok
}

// capital begins a word within a name: PortXmitWait.
var capital = pattern.New(`([a-z])([A-Z])`)

// wordsOf are the words of a name, in lower case.
func wordsOf(name string) []string {
	name = capital.ReplaceAllString(name, "$1 $2")
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
}

// order is that of the classes: the first of which a name has a word counts.
var order = []Class{Experts, Data, Save, Communication, Host, Compute}

// Measure says what the quantity of a table is about, and what its change tells.
func Measure(name string) (Class, Role) {
	if c := ClassOf(strings.ToLower(name)); c != "" {
		return c, Cause
	}
	parts := wordsOf(name)
	has := func(list []string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(list, p) })
	}
	for _, c := range order {
		if has(words[c]) {
			return c, Cause
		}
	}
	switch {
	case has(waits):
		return "", Waiting
	case has(effects):
		return "", Effect
	}
	return "", Unclear
}
