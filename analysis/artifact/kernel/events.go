package kernel

import (
	"bytes"
	"strconv"
	"strings"

	"faultline/analysis/ascii"
	"faultline/pattern"
)

// form is one wording: a word that the line must hold, and what it says.
type form struct {
	word []byte
	re   *pattern.Regexp
	make func(m [][]byte, msg []byte) (Event, bool)
}

func re(s string) *pattern.Regexp { return pattern.New(s) }

// forms are tried in order; the first that fits counts.
var forms = []form{
	{[]byte("NVRM: Xid ("), re(`NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]{5,20})(?: GPU-I:\d{1,3})?\): (\d{1,4})(?:[, ]|$)(?: ?pid=([^,]{1,40}))?(?:,? ?name=([^,]{0,64}))?`), xid},
	{[]byte("SXid ("), re(`SXid \((?:PCI:)?([0-9a-fA-F:.]{5,20})\): (\d{5})(?:, ([A-Za-z-]+))?`), sxid},
	{[]byte("fallen off the bus"), re(`NVRM: .*?(?:GPU (?:at )?(?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}))?.*fallen off the bus`), func(m [][]byte, _ []byte) (Event, bool) {
		return Event{Kind: OffBus, PCI: Address(string(m[1]))}, true
	}},
	{[]byte("RmInitAdapter failed"), re(`NVRM: .*?(?:GPU (?:at )?(?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}))?.*RmInitAdapter failed`), func(m [][]byte, _ []byte) (Event, bool) {
		return Event{Kind: OffBus, PCI: Address(string(m[1])), Name: NotStarted}, true
	}},
	{[]byte("PCIe Bus Error: severity="), re(`([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?): (?:AER: )?PCIe Bus Error: severity=([A-Za-z]+(?: \([A-Za-z-]+\))?)`), aer},
	{[]byte("AER: "), re(`([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?): AER: (?:Multiple )?(Corrected|Correctable|Uncorrected|Uncorrectable)( \((?:Non-)?Fatal\))? error(?: message)? received`), func(m [][]byte, _ []byte) (Event, bool) {
		return aer([][]byte{nil, m[1], append(append([]byte{}, m[2]...), m[3]...)}, nil)
	}},
	{[]byte("amdgpu"), re(`amdgpu ([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d):.*?(ring \S+ timeout|GPU reset begin|GPU reset(?:\(\d+\))? succeeded|GPU reset(?:\(\d+\))? failed|uncorrectable hardware error|page fault|device lost from bus)`), amd},
	{[]byte("amdgpu_job_timedout"), re(`(ring \S+ timeout)`), func([][]byte, []byte) (Event, bool) { return Event{Kind: AMDGPU, Name: "ring timeout"}, true }},
	{[]byte("oom-kill:constraint="), re(`oom-kill:constraint=(CONSTRAINT_\w+),.*?(?:oom_memcg=([^,]*))?,(?:global_oom,)?task_memcg=([^,]*),task=([^,]*),pid=(\d{1,9})`), oomRecord},
	{[]byte("Killed process "), re(`(Memory cgroup out of memory|Out of memory(?: \([^)]*\))?|memory allocation failure|Tasks in \S+)?.*?Killed process (\d{1,9}) \(([^)]{1,64})\)`), oomKill},
	{[]byte("blocked for more than "), re(`INFO: task (.{1,64}):(\d{1,9}) blocked for more than (\d+) seconds`), func(m [][]byte, _ []byte) (Event, bool) {
		return Event{Kind: HungTask, Name: string(m[1]), Pid: atoi(m[2])}, true
	}},
	{[]byte("lockup"), re(`watchdog: BUG: (soft|hard) lockup - CPU#\d+ stuck for \d+s! \[([^:\]]{1,64}):(\d{1,9})\]|(Watchdog) detected (hard) LOCKUP`), func(m [][]byte, _ []byte) (Event, bool) {
		e := Event{Kind: Lockup, Name: string(m[2]), Pid: -1}
		if len(m[3]) > 0 {
			e.Pid = atoi(m[3])
		}
		return e, true
	}},
	{[]byte("LOCKUP"), re(`Watchdog detected hard LOCKUP on cpu`), func([][]byte, []byte) (Event, bool) { return Event{Kind: Lockup, Pid: -1}, true }},
	{[]byte("[Hardware Error]"), re(`\[Hardware Error\]: (.*)`), machine},
	{[]byte("EDAC "), re(`EDAC (?:\w+: )?(?:\S+ )?(?:MC\d+|\S+): (\d+) (UE|CE) `), func(m [][]byte, _ []byte) (Event, bool) {
		return Event{Kind: Machine, Pid: -1, Fatal: string(m[2]) == "UE", NonFatal: string(m[2]) == "CE"}, true
	}},
	{[]byte("mlx"), re(`mlx[45]\w* ([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d)(?: (\S+))?: .*?(Link down|Link up|health compromised|Port module event.*?(?:Cable unplugged|Cable error)|ibdev.*port \d+ (?:down|error)|device's health compromised|assert_var|Health issue observed)`), mlx},
	{[]byte("Link is Down"), re(`(?:([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d) )?(\S+): (?:NIC )?Link is (Down|Up)`), func(m [][]byte, _ []byte) (Event, bool) {
		return Event{Kind: Link, PCI: Address(string(m[1])), Name: string(m[2]), Down: true}, true
	}},
	{[]byte("not responding, "), re(`(?:nfs: server (\S+) not responding)`), func(m [][]byte, _ []byte) (Event, bool) {
		return Event{Kind: Storage, Name: "nfs " + string(m[1]), Down: true}, true
	}},
	{[]byte("LustreError"), re(`LustreError: .*?(?:(evicted|was lost|operation \S+ to node|timed out|in progress operations using this service will))`), func([][]byte, []byte) (Event, bool) {
		return Event{Kind: Storage, Name: "lustre", Down: true}, true
	}},
	{[]byte("Lustre: "), re(`Lustre: .*?Connection to (\S+?),? .*was lost`), func(m [][]byte, _ []byte) (Event, bool) {
		return Event{Kind: Storage, Name: "lustre " + string(m[1]), Down: true}, true
	}},
	{[]byte("ceph: "), re(`(?:lib)?ceph: (?:mds\d+|osd\d+|mon\d+) .*(?:hung|socket closed|down)`), func([][]byte, []byte) (Event, bool) {
		return Event{Kind: Storage, Name: "ceph", Down: true}, true
	}},
	{[]byte("I/O error, dev "), re(`I/O error, dev (\w+), sector`), disk},
	{[]byte("-fs error (device "), re(`-fs error \(device ([\w-]+)\)`), disk},
	{[]byte("Remounting filesystem read-only"), re(`-fs \(([\w-]+)\): Remounting filesystem read-only`), disk},
	{[]byte("XFS ("), re(`XFS \(([\w-]+)\): .*(?:[Ss]hutting down filesystem|[Ff]ilesystem has been shut down|log I/O error|metadata I/O error)`), disk},
	{[]byte("nvme nvme"), re(`nvme (nvme\d+): (?:I/O .*timeout|controller is down|Removing after probe failure|Device not ready)`), disk},
	{[]byte("Disk failure on "), re(`md/raid[^:]*:.*Disk failure on (\w+), disabling`), disk},
	{[]byte("Linux version "), re(`^Linux version \d`), func([][]byte, []byte) (Event, bool) { return Event{Kind: Booted, Pid: -1}, true }},
}

func disk(m [][]byte, _ []byte) (Event, bool) {
	return Event{Kind: Disk, Name: string(m[1]), Down: true}, true
}

// event reads a message; false where it says nothing of interest.
func event(msg []byte) (Event, bool) {
	e, ok, _ := reading(msg)
	return e, ok
}

// reading says as well whether it had to be looked at closely.
func reading(msg []byte) (e Event, ok, near bool) {
	if len(msg) > 4096 {
		msg = msg[:4096]
	}
	for i := range forms {
		f := &forms[i]
		if !bytes.Contains(msg, f.word) {
			continue
		}
		near = true
		m := f.re.FindSubmatch(msg)
		if m == nil {
			continue
		}
		e, ok := f.make(m, msg)
		if !ok {
			continue
		}
		if e.Pid == 0 {
			e.Pid = -1
		}
		if e.Kind != Xid && e.Kind != SXid {
			e.Links = -1
		}
		e.Name, e.Message = clip(e.Name, maxName), clip(string(msg), maxMessage)
		e.Count = 1
		return e, true, true
	}
	return Event{}, false, near
}

func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "?")
}

var (
	previous = re(`caused by previous Xid (\d{1,3})`)
	linkNo   = re(`\b[Ll]ink (-?\d{1,3})\b`)
)

func xid(m [][]byte, msg []byte) (Event, bool) {
	e := Event{Kind: Xid, PCI: Address(string(m[1])), Number: atoi(m[2]), Pid: -1, Links: -1}
	if e.PCI == "" {
		return e, false
	}
	if p := strings.Trim(string(m[3]), " '\""); p != "" {
		if n, err := strconv.Atoi(p); err == nil && n > 0 {
			e.Pid = n
		}
	}
	if name := strings.Trim(string(m[4]), " '\""); name != "" && !strings.HasPrefix(name, "<") {
		e.Name = name
	}
	if p := previous.FindSubmatch(msg); p != nil {
		e.Previous = atoi(p[1])
	}
	if l := linkNo.FindSubmatch(msg); l != nil {
		if n, err := strconv.Atoi(string(l[1])); err == nil {
			e.Links = n
		}
	}
	if e.Number >= 144 && e.Number <= 150 {
		e.Fatal, e.NonFatal = bytes.Contains(msg, []byte(" Fatal ")), bytes.Contains(msg, []byte(" Nonfatal "))
	}
	return e, true
}

func sxid(m [][]byte, msg []byte) (Event, bool) {
	e := Event{Kind: SXid, PCI: Address(string(m[1])), Number: atoi(m[2]), Pid: -1, Links: -1}
	switch strings.ToLower(string(m[3])) {
	case "fatal":
		e.Fatal = true
	case "non-fatal", "nonfatal":
		e.NonFatal = true
	case "data", "severity":
		return e, false // the record behind an error, not another one
	}
	if l := linkNo.FindSubmatch(msg); l != nil {
		e.Links = atoi(l[1])
	}
	return e, e.PCI != ""
}

func aer(m [][]byte, _ []byte) (Event, bool) {
	e := Event{Kind: AER, PCI: Address(string(m[1])), Name: string(m[2]), Pid: -1}
	word := strings.ToLower(e.Name)
	e.Fatal, e.NonFatal = strings.HasPrefix(word, "uncorrect") && !strings.Contains(word, "non-fatal"), strings.HasPrefix(word, "correct")
	return e, true
}

func amd(m [][]byte, _ []byte) (Event, bool) {
	e := Event{Kind: AMDGPU, PCI: Address(string(m[1])), Pid: -1}
	switch what := string(m[2]); {
	case strings.HasPrefix(what, "ring"):
		e.Name = "ring timeout"
	case strings.HasSuffix(what, "begin"):
		e.Name = "reset"
	case strings.HasSuffix(what, "succeeded"):
		e.Name = "reset succeeded"
	case strings.HasSuffix(what, "failed"):
		e.Name = "reset failed"
	case strings.HasPrefix(what, "uncorrectable"):
		e.Name = "uncorrectable"
	case strings.HasPrefix(what, "device lost"):
		e.Name = "lost"
	default:
		e.Name = "page fault"
	}
	return e, true
}

var slurmJob = re(`/job_(\d{1,10})(?:/|$)`)

func oomRecord(m [][]byte, _ []byte) (Event, bool) {
	e := Event{Kind: OOM, Global: string(m[1]) == "CONSTRAINT_NONE", Cgroup: clip(string(m[3]), 256), Name: string(m[4]), Pid: atoi(m[5])}
	if j := slurmJob.FindSubmatch(m[3]); j != nil {
		e.Job = string(j[1])
	}
	return e, true
}

func oomKill(m [][]byte, msg []byte) (Event, bool) {
	if !bytes.Contains(msg, []byte("ut of memory")) && !bytes.Contains(msg, []byte("total-vm:")) {
		return Event{}, false
	}
	return Event{Kind: OOM, Pid: atoi(m[2]), Name: string(m[3]), Global: bytes.HasPrefix(m[1], []byte("Out of memory"))}, true
}

func machine(m [][]byte, _ []byte) (Event, bool) {
	text := strings.ToLower(string(m[1]))
	e := Event{Kind: Machine, Pid: -1}
	switch {
	case strings.Contains(text, "event severity: fatal"), strings.Contains(text, "uncorrected"), strings.Contains(text, "machine check exception"):
		e.Fatal = true
	case strings.Contains(text, "event severity: corrected"), strings.Contains(text, "corrected error"):
		e.NonFatal = true
	default:
		return e, false
	}
	return e, true
}

func mlx(m [][]byte, _ []byte) (Event, bool) {
	e := Event{Kind: Link, PCI: Address(string(m[1])), Name: strings.TrimSuffix(string(m[2]), ":"), Pid: -1}
	e.Down = !strings.HasPrefix(string(m[3]), "Link up")
	return e, true
}

// Address is a PCI address as domain, bus and device in small letters ("0000:65:00"), however it is written: "PCI:0000:65:00",
// "00000000:65:00.0", "65:00.0"; "" where it is none.
func Address(s string) string {
	s = strings.ToLower(strings.TrimPrefix(s, "PCI:"))
	s, _, _ = strings.Cut(s, ".")
	parts := strings.Split(s, ":")
	if len(parts) == 2 {
		parts = append([]string{"0000"}, parts...)
	}
	if len(parts) != 3 || len(parts[1]) != 2 || len(parts[2]) != 2 || len(parts[0]) < 4 || len(parts[0]) > 8 {
		return ""
	}
	domain := parts[0]
	for len(domain) > 4 && domain[0] == '0' {
		domain = domain[1:]
	}
	for _, p := range []string{domain, parts[1], parts[2]} {
		for i := range len(p) {
			if c := p[i]; !(ascii.Digit(c) || c >= 'a' && c <= 'f') {
				return ""
			}
		}
	}
	return domain + ":" + parts[1] + ":" + parts[2]
}

// BusID is the address behind NCCL's busId, which is hexadecimal without colons: "5d000" is 0000:5d:00.
func BusID(s string) string {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || n > 1<<48 {
		return ""
	}
	return hex(n>>20, 4) + ":" + hex(n>>12&0xff, 2) + ":" + hex(n>>4&0xff, 2)
}

func hex(n uint64, width int) string {
	s := strconv.FormatUint(n, 16)
	for len(s) < width {
		s = "0" + s
	}
	return s
}
