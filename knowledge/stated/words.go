package stated

import (
	"regexp"

	"faultline/knowledge"
)

// A short phrase states a cause where a thing and what became of it stand close together, in either order: "shard 6 missing", "no such
// bucket", "quota for project x exceeded", "expired certificate". Things and fates are kinds of words; a table says what a pair of kinds means.

// thing is a kind of what a phrase speaks of.
type thing uint8

const (
	clock thing = iota
	credential
	permit
	certificate
	object
	item // words that are objects, and other things as well
	integrity
	space
	allowance
	memory
	handle
	rate
	server
	call
	name
	version
	symbol
	shape
	argument
	number
	resource // of an accelerator, that a program asked too much of
)

// fate is a kind of what became of a thing.
type fate uint8

const (
	gone fate = iota
	unlike
	broken
	usedUp
	refused
	expired
	silent
	skewed
	unfit
	endless // overflowed, negative: no real value
	amiss   // failed, without a word why
	bad
)

// things are the words of each kind, in lower case and in the singular. Words around one of these need no phrase of their own: "tokenizer file"
// is a file.
var things = map[thing][]string{
	clock:       {"clock", "system time", "server time", "current time", "request time", "time difference"},
	credential:  {"credential", "password", "api key", "access key", "access token", "auth token", "api token", "security token", "bearer token", "session token", "refresh token", "id token", "login", "authentication", "authorization", "credential file", "licence", "license", "ticket", "signature", "secret"},
	permit:      {"permission", "access", "privilege", "operation"},
	certificate: {"certificate", "cert", "x509"},
	object: {"file", "shard", "object", "bucket", "path", "directory", "folder", "blob", "checkpoint", "manifest", "container", "dataset", "tarball", "archive", "partition", "prefix", "volume claim",
		"optimizer state", "optim state", "index file", "repository", "repo", "image tag", "mount", "table", "replica", "symlink"},
	item:      {"sample", "record", "chunk", "page", "footer", "header", "block", "parquet", "safetensor", "tfrecord", "pickle", "video", "audio", "jpeg", "png", "stream", "payload", "row group", "metadata", "magic", "zip", "gzip", "tar"},
	integrity: {"checksum", "crc", "crc32", "crc32c", "md5", "sha", "sha1", "sha256", "hash", "digest", "etag", "content length", "file size", "byte count", "parity"},
	space:     {"disk", "disk quota", "filesystem", "file system", "inode", "storage quota", "space", "scratch", "volume"},
	allowance: {"quota", "budget", "hard limit", "soft limit"},
	memory:    {"memory", "ram", "heap", "heap space", "host memory", "swap", "alloc"},
	handle:    {"shared memory", "shm", "file descriptor", "open file", "file handle", "descriptor", "thread", "process", "connection", "semaphore", "pid", "file lock", "lock", "memory map", "watch", "port", "client"},
	rate:      {"api rate", "rate"},
	// A connection that broke is mostly one to another process of the job: it states nothing about a server.
	server:   {"server", "host", "endpoint", "service", "backend", "database", "gateway", "proxy", "broker", "registry", "daemon", "store", "namenode", "datanode", "kdc", "metadata server", "upstream", "api"},
	call:     {"request", "read", "write", "download", "upload", "fetch", "rpc", "query", "lookup", "handshake", "get", "put"},
	name:     {"hostname", "host name", "domain", "dns", "name resolution", "name", "host"},
	version:  {"version", "schema", "protocol", "abi", "opset", "compute capability", "api version", "wire format", "file format"},
	symbol:   {"module", "symbol", "library"},
	shape:    {"shape", "dimension", "tensor size", "dtype", "axis", "tensor", "matrix", "sequence length"},
	argument: {"argument", "parameter", "option", "keyword", "positional argument"},
	resource: {"hardware limit", "register", "hardware resource"},
	number:   {"size", "element", "numel", "index", "offset", "integer", "count"},
}

// fates are the words of each kind, in lower case.
var fates = map[fate][]string{
	gone: {"missing", "not found", "does not exist", "doesn't exist", "do not exist", "no such", "cannot find", "can't find", "could not find", "couldn't find", "unable to find", "cannot be found", "could not be found", "is gone",
		"was deleted", "were deleted", "been deleted", "absent", "nonexistent", "non existent", "not exist", "vanished", "disappeared", "not present", "removed", "failed to find", "cannot locate", "unable to locate", "could not locate", "not loaded", "unresolved", "no longer exists"},
	unlike: {"mismatch", "mismatched", "mismatches", "does not match", "doesn't match", "do not match", "did not match", "not match", "differ", "differs", "unequal", "disagree", "disagrees", "but got", "but found", "but was", "instead got", "inconsistent", "not equal", "must match", "should match", "must be the same", "must have the same", "verification failed", "check failed", "incompatible", "unexpected"},
	broken: {"corrupt", "corrupted", "corruption", "damaged", "truncated", "incomplete", "malformed", "garbled", "premature end", "unexpected end", "unexpected eof", "ends early", "cut short", "short read", "unreadable", "not readable", "undecodable", "out of specification", "not valid", "broken",
		"too short", "cannot be decoded", "could not be decoded", "unable to decode", "failed to decode", "can't decode", "incompletely", "must end with", "must start with", "cannot parse", "failed to parse"},
	usedUp: {"exceeded", "exceeds", "exceed", "exhausted", "exhaustion", "full", "too many", "out of", "no space left", "not enough", "insufficient", "used up", "depleted", "limit reached", "limit exceeded", "limit was reached", "cannot allocate", "can't allocate", "could not allocate", "failed to allocate", "unable to allocate",
		"over limit", "no more", "no free", "can't start new", "cannot start new", "cannot create more", "cannot fork", "reached its limit", "maximum number of", "bad alloc", "none left", "remaining connection slots"},
	refused: {"denied", "forbidden", "not authorized", "not authorised", "unauthorized", "unauthorised", "unauthenticated", "not permitted", "not allowed", "rejected", "refused", "disallowed", "lacks", "not granted", "revoked"},
	expired: {"expired", "has expired", "have expired", "is expired", "expiry", "no longer valid", "not yet valid", "revoked", "lapsed", "stale", "too old", "outdated"},
	silent: {"unreachable", "refused", "timed out", "time out", "timeout", "unavailable", "not responding", "no response", "did not respond", "did not answer", "no answer", "not answer", "reset", "closed", "is down", "was down", "went down", "not reachable", "unresponsive", "cannot connect", "can't connect", "could not connect", "failed to connect", "unable to connect",
		"cannot reach", "could not reach", "can't reach", "failed to reach", "unable to reach", "disconnected", "lost", "cannot contact", "unable to contact", "cannot be reached", "could not be reached", "deadline exceeded", "no route to", "overloaded", "busy", "internal error", "aborted"},
	skewed:  {"skew", "skewed", "out of sync", "not synchronized", "not synchronised", "unsynchronized", "drift", "drifted", "in the future", "ahead", "behind", "backwards", "too far", "too large", "too great", "off by", "not in sync", "differs", "is off"},
	unfit:   {"unsupported", "not supported", "incompatible", "too old", "too new", "unknown", "not compatible", "newer than", "older than", "not recognized", "requires", "undefined", "not defined", "unsatisfied", "cannot open", "mismatch"},
	endless: {"overflow", "overflowed", "overflows", "negative", "out of range", "out of bounds", "exceeds the maximum", "too big", "too large", "equal size"},
	amiss:   {"failed", "failure", "error", "fails"},
	bad:     {"bad", "invalid", "incorrect", "wrong"},
}

// pair is a thing with its fate.
type pair struct {
	of  thing
	now fate
}

// meant is what a pair states; a pair that is not here states nothing.
var meant = meanings(map[knowledge.ID][]pair{
	knowledge.StatesClock:       {{clock, skewed}, {clock, unlike}},
	knowledge.StatesCredentials: {{credential, gone}, {credential, unlike}, {credential, broken}, {credential, refused}, {credential, expired}, {credential, amiss}, {credential, bad}},
	knowledge.StatesPermission:  {{permit, refused}, {object, refused}},
	knowledge.StatesCertificate: {{certificate, gone}, {certificate, unlike}, {certificate, broken}, {certificate, refused}, {certificate, expired}, {certificate, unfit}, {certificate, bad}, {certificate, amiss}},
	knowledge.StatesMissing:     {{object, gone}},
	knowledge.StatesDamaged:     {{integrity, unlike}, {integrity, broken}, {integrity, amiss}, {integrity, bad}, {object, broken}, {item, broken}, {item, bad}},
	knowledge.StatesFull:        {{space, usedUp}},
	knowledge.StatesQuota:       {{allowance, usedUp}},
	knowledge.StatesLimit:       {{handle, usedUp}},
	knowledge.StatesMemory:      {{memory, usedUp}},
	knowledge.StatesThrottled:   {{rate, usedUp}},
	knowledge.StatesUnreachable: {{server, silent}, {call, silent}},
	knowledge.StatesName:        {{name, gone}},
	knowledge.StatesVersion:     {{version, unlike}, {version, unfit}, {version, gone}, {version, bad}, {symbol, gone}, {symbol, unfit}},
	knowledge.StatesArgument:    {{shape, unlike}, {shape, endless}, {argument, gone}, {argument, bad}, {number, endless}, {resource, usedUp}},
})

// alone are words that state a cause without a thing.
var alone = map[string]knowledge.ID{
	"unauthorized": knowledge.StatesCredentials, "unauthenticated": knowledge.StatesCredentials, "not authenticated": knowledge.StatesCredentials,
	"forbidden": knowledge.StatesPermission, "not authorized": knowledge.StatesPermission,
	"throttled": knowledge.StatesThrottled, "throttling": knowledge.StatesThrottled, "rate limited": knowledge.StatesThrottled, "slow down": knowledge.StatesThrottled, "too many requests": knowledge.StatesThrottled,
	"is corrupt": knowledge.StatesDamaged, "is corrupted": knowledge.StatesDamaged, "are corrupted": knowledge.StatesDamaged, "is damaged": knowledge.StatesDamaged, "is incomplete": knowledge.StatesDamaged, "is truncated": knowledge.StatesDamaged, "was truncated": knowledge.StatesDamaged, "data corruption": knowledge.StatesDamaged, "data loss": knowledge.StatesDamaged, "structure needs cleaning": knowledge.StatesDamaged,
	"could not resolve": knowledge.StatesName, "couldn't resolve": knowledge.StatesName, "cannot resolve": knowledge.StatesName, "failed to resolve": knowledge.StatesName, "unable to resolve": knowledge.StatesName,
	"no space left": knowledge.StatesFull, "out of resource": knowledge.StatesArgument, "out of resources": knowledge.StatesArgument, "name resolution": knowledge.StatesName, "name or service not known": knowledge.StatesName, "nxdomain": knowledge.StatesName,
	"bad alloc":               knowledge.StatesMemory,
	"self signed certificate": knowledge.StatesCertificate, "unable to get local issuer": knowledge.StatesCertificate,
	"read only file system": knowledge.StatesPermission,
}

// onDevice are words beside memory by which it is an accelerator's.
var onDevice = []string{"gpu", "cuda", "hip", "hbm", "vram", "device", "xpu", "npu", "tpu", "accelerator", "xla"}

// onHost are words beside memory by which it is the host's.
var onHost = []string{"host", "heap", "ram", "swap", "virtual", "system", "cannot allocate memory", "cant allocate memory", "alloc", "malloc", "mmap", "cgroup", "cpu", "job", "step", "container", "fork", "errno"}

// ofStorage are words and units beside a quota by which it counts what is stored.
var ofStorage = regexp.MustCompile(`(?i)\b(?:disk|storage|space|bytes|inodes?|files?|[kmgtp]i?b|filesystem|volume|write|home|scratch)\b`)

// ofRequests are words beside a quota by which it counts requests.
var ofRequests = []string{"request", "requests", "rate", "api", "query", "queries", "calls", "minute", "second"}

// doubtful are words before a phrase by which a clause tells of what may be.
var doubtful = []string{"if", "unless", "whether", "when", "may", "might", "should", "ensure", "check", "verify that", "make sure", "avoid", "prevent", "try", "trying", "please", "consider",
	"until", "would", "can be", "could be", "possibly", "perhaps", "maybe", "in case", "disable", "disabled", "enable", "e.g", "default"}

// overcome are words anywhere in a clause by which a program went on.
var overcome = []string{"retry", "retrying", "ignore", "ignoring", "ignored", "skip", "skipping", "skipped", "recovered", "resolved", "fallback", "falling back", "warning"}

// denials before a phrase say that it is not so.
var denials = []string{"no", "not", "without", "never", "0", "neither"}

func meanings(by map[knowledge.ID][]pair) map[pair]knowledge.ID {
	out := map[pair]knowledge.ID{}
	for id, pairs := range by {
		for _, p := range pairs {
			out[p] = id
		}
	}
	return out
}
