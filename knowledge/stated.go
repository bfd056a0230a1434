package knowledge

import "strings"

// Causes that the message of an error may state by itself, in a code of a public vocabulary or in words, whatever raised it.
// No line is matched against these entries: package stated reads messages.
const (
	StatesClock       ID = "states-clock"
	StatesCredentials ID = "states-credentials"
	StatesPermission  ID = "states-permission"
	StatesCertificate ID = "states-certificate"
	StatesMissing     ID = "states-missing"
	StatesDamaged     ID = "states-damaged"
	StatesFull        ID = "states-full"
	StatesQuota       ID = "states-quota"
	StatesLimit       ID = "states-limit"
	StatesMemory      ID = "states-memory"
	StatesGPUMemory   ID = "states-gpu-memory"
	StatesSomeMemory  ID = "states-some-memory"
	StatesThrottled   ID = "states-throttled"
	StatesUnreachable ID = "states-unreachable"
	StatesName        ID = "states-name"
	StatesVersion     ID = "states-version"
	StatesArgument    ID = "states-argument"
	StatesAccelerator ID = "states-accelerator"
)

// StatesPrefix begins the ids of such causes.
const StatesPrefix = "states-"

// StatedCause is one of them.
type StatedCause struct {
	Title string // for a heading, at most six words
	Signature
}

// Name is the cause as reports write it: "clock".
func (c *StatedCause) Name() string { return strings.TrimPrefix(string(c.ID), StatesPrefix) }

// itemCases say which item is missing or damaged.
var itemCases = []Case{
	{In: WithCheckpoint, Is: CheckpointIO, Why: "its message states what is wrong with a checkpoint"},
	{In: WithData, Is: BadSample, Why: "its message states what is wrong with an item of the data"},
}

// serverCases say whose server it is.
var serverCases = []Case{{In: WithStore | WithData | WithCheckpoint, Is: StorageRetriesExhausted, Why: "it was accessing a store"}}

// statedCauses are the closed list. The engine confirms none of them by these words alone, but for what a program says in its own code of its own values.
var statedCauses = []StatedCause{
	{"a machine's clock is off", Signature{
		ID: StatesClock, Mechanism: Exception, Role: CauseRole, Owner: OwnerCluster, Scope: ScopeNode, Blames: WritersNode,
		Meaning: "Two machines disagree about the time, so one refused the other's request.",
		Do:      []Advice{{"Compare the clock of {node} with other nodes and with the server, and restart its time service.", "ssh {node} 'date -u; chronyc tracking'"}},
	}},
	{"credentials were refused or have expired", Signature{
		ID: StatesCredentials, Mechanism: ConfigError, Role: CauseRole, Owner: OwnerConfig,
		Meaning: "A server did not accept the credentials that the job showed.",
		Do:      []Advice{{"Renew the token or key that the job uses, and check that every process gets it.", ""}},
	}},
	{"permission was denied", Signature{
		ID: StatesPermission, Mechanism: ConfigError, Role: CauseRole, Owner: OwnerConfig,
		Meaning: "The job's user may not do what it tried to do.",
		Do:      []Advice{{"Compare the rights on what the message names with the user the job runs as.", ""}},
	}},
	{"a certificate was not accepted", Signature{
		ID: StatesCertificate, Mechanism: ConfigError, Role: CauseRole, Owner: OwnerConfig,
		Meaning: "One side of a connection did not accept the other's certificate.",
		Do: []Advice{{"Check the dates and issuer of the server's certificate, the CA file of the job, and the clock of {node}.",
			"openssl s_client -connect HOST:PORT </dev/null 2>/dev/null | openssl x509 -noout -dates -issuer"}},
	}},
	{"a file or object is missing", Signature{
		ID: StatesMissing, Mechanism: Exception, Role: CauseRole, Owner: OwnerData, Cases: itemCases,
		Meaning: "Something that the program needs to read is not there.",
		Do:      []Advice{{"Look for what the message names, on the node that reports it and on another one; restore it or correct its name.", ""}},
	}},
	{"stored data is damaged or incomplete", Signature{
		ID: StatesDamaged, Mechanism: Exception, Role: CauseRole, Owner: OwnerData, Cases: itemCases,
		Meaning: "What was read is not what was written: it is damaged, cut short, or only partly copied.",
		Do:      []Advice{{"Compare the size and checksum of what the message names with its source; copy it again, or use an older one.", ""}},
	}},
	{"no space is left", Signature{
		ID: StatesFull, Mechanism: StorageFull, Role: CauseRole,
		Meaning: "There was no room left for what the program wrote.",
		Do:      []Advice{{"Free space where the message says, or have the quota there raised.", ""}},
	}},
	{"a quota is used up", Signature{
		ID: StatesQuota, Mechanism: Exception, Role: CauseRole, Owner: OwnerConfig,
		Cases:   []Case{{In: WithStore | WithData | WithCheckpoint, Is: StorageFull, Why: "its message states that a quota of what is stored is used up"}},
		Meaning: "The job or its project has used all that it may use of something.",
		Do:      []Advice{{"Find out which quota the message means and how much of it is left; have it raised, or use less.", ""}},
	}},
	{"a system limit was reached", Signature{
		ID: StatesLimit, Mechanism: ResourceLimit, Role: CauseRole,
		Meaning: "A limit on files, connections, processes or threads was reached.",
	}},
	{"host memory ran out", Signature{
		ID: StatesMemory, Mechanism: HostOOM, Role: CauseRole,
		Meaning: "The process could not get host memory.",
	}},
	{"accelerator memory ran out", Signature{
		ID: StatesGPUMemory, Mechanism: GPUOOM, Role: CauseRole,
		Meaning: "The process could not get memory on its accelerator.",
	}},
	{"memory ran out", Signature{
		ID: StatesSomeMemory, Mechanism: Exception, Role: CauseRole, Open: true, LooksLike: []Slug{GPUOOM, HostOOM},
		Meaning: "The process ran out of memory; the message doesn't say whether on the accelerator or on the host.",
		Do:      []Advice{{"Find out from {frame} which memory it asked for, and compare with the peaks of earlier steps.", ""}},
	}},
	{"a server turned requests away", Signature{
		ID: StatesThrottled, Mechanism: Exception, Role: CauseRole, Owner: OwnerConfig, Cases: serverCases, LooksLike: []Slug{Unknown},
		Meaning: "A server turned requests away because there were too many, or because a quota for them was used up.",
		Do:      []Advice{{"Send fewer requests at a time and retry with growing pauses, or have the server's limit raised.", ""}},
	}},
	{"a server did not respond", Signature{
		ID: StatesUnreachable, Mechanism: Exception, Role: CauseRole, Open: true, Cases: serverCases, LooksLike: []Slug{Unknown},
		Meaning: "A server that the program called could not be reached, or failed.",
		Do:      []Advice{{"Check that the server the message names is up, and that {node} can reach it.", ""}},
	}},
	{"a host name did not resolve", Signature{
		ID: StatesName, Mechanism: Exception, Role: CauseRole, Owner: OwnerCluster, Cases: serverCases,
		Meaning: "The name of a server could not be turned into an address.",
		Do:      []Advice{{"Look the name up on {node} and on another one, and check the node's name service.", "ssh {node} 'getent hosts HOST; cat /etc/resolv.conf'"}},
	}},
	{"versions don't match", Signature{
		ID: StatesVersion, Mechanism: VersionMismatch, Role: CauseRole,
		Meaning: "Two parts have versions or formats that don't fit together.",
		Do:      []Advice{{"Compare the versions that the message names with those of the last run that worked.", ""}},
	}},
	{"a size or value doesn't fit", Signature{
		ID: StatesArgument, Mechanism: Exception, Role: CauseRole, Direct: true, Owner: OwnerCode,
		Meaning: "The program passed a size, shape or value that doesn't fit.",
		Do:      []Advice{{"Print the sizes that the message names just before {frame}; look for a wrong setting or an odd sample.", ""}},
	}},
	{"the accelerator reported an error", Signature{
		ID: StatesAccelerator, Mechanism: CUDAError, Role: CauseRole, Open: true,
		Meaning: "The accelerator or its driver reported an error.",
		Do:      []Advice{{"Read the kernel log of {node} for that time, and rerun elsewhere to tell the machine from the program.", "ssh {node} 'dmesg -T | tail -50'"}},
	}},
}

// StatedCauses returns the closed list. The caller must not change it.
func StatedCauses() []StatedCause { return statedCauses }

// CauseStated finds one by its id.
func CauseStated(id ID) (*StatedCause, bool) {
	for i := range statedCauses {
		if statedCauses[i].ID == id {
			return &statedCauses[i], true
		}
	}
	return nil, false
}
