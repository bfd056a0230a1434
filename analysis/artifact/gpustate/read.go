package gpustate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"faultline/analysis/artifact/kernel"
	"faultline/analysis/artifact/lines"
	"faultline/analysis/ascii"
	"faultline/analysis/line"
	"faultline/pattern"
)

// Recognise says whether a file that begins so is the output of one of the tools, and of nothing else: its first line that is neither a
// time nor a prompt with the command is one that only the tool prints.
func Recognise(head []byte) bool {
	if diagJSON(head) {
		return true
	}
	n := 0
	for l := range bytes.SplitSeq(head, []byte("\n")) {
		s := strings.TrimSpace(string(l[:min(len(l), 1024)]))
		if s == "" || strings.Trim(s, "+-=| ") == "" {
			continue
		}
		if n++; n > 4 {
			return false
		}
		if form(s) != "" {
			return true
		}
		if moment(s) || prompt(s) || xmlFirst.MatchString(s) || blockHost.MatchString(s) || named(s) != "" {
			continue
		}
		if rest, _, ok := lines.Peel(s); ok {
			rest = strings.TrimSpace(rest)
			if form(rest) != "" {
				return true
			}
			if moment(rest) || strings.Trim(rest, "+-=| ") == "" {
				continue
			}
		}
		return false
	}
	return false
}

// Pasted finds such output anywhere in a text.
func Pasted(text []byte) bool {
	for _, w := range [][]byte{[]byte("| NVIDIA-SMI "), []byte("==NVSMI LOG=="), []byte("Unable to determine the device handle for"), []byte("| Overall Health"), []byte("<nvidia_smi_log>"), []byte("index, name, "), []byte("|  NvLink Link Status")} {
		if bytes.Contains(text, w) {
			return true
		}
	}
	return false
}

var command = pattern.New(`^(?:\S{1,64}[$#] |[$#] )?(?:sudo |srun [^|;]{0,120})?(?:nvidia-smi|dcgmi|rocm-smi)\b[^|]{0,160}$`)

func prompt(s string) bool { return command.MatchString(s) }

var (
	tableHead = pattern.New(`^\| NVIDIA-SMI +\S+ +Driver Version: +(\S+)`)
	listLine  = pattern.New(`^GPU (\d{1,4}): (.{1,80}?) \(UUID: (?:GPU|MIG)-[0-9a-f-]{8,60}\)`)
	handle    = pattern.New(`^Unable to determine the device handle for (?:GPU ?(\d{1,4}: )?|gpu )?([0-9A-Fa-f:.]{5,20})?:? `)
	queryGPU  = pattern.New(`^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])$`)
	rocmHead  = pattern.New(`^(?:Device +Node +IDs|Device +\[?(?:Node|Model)|GPU +Temp.*Perf.*PwrCap)`)
	diagHead  = pattern.New(`^\| Diagnostic +\| Result`)
	topoHead  = pattern.New(`^GPU0\s+GPU1\s|^GPU0\s+.*CPU Affinity`)
)

// form knows a tool by one line.
func form(s string) Form {
	switch {
	case tableHead.MatchString(s):
		return Table
	case linkStatus.MatchString(s):
		return LinkStatus
	case monHead.MatchString(s):
		return Monitor
	case strings.Contains(s, "==NVSMI LOG=="):
		return Query
	case strings.HasPrefix(s, "\"DCGM ") && strings.Contains(s, "Diagnostic\""):
		return DiagJSON
	case xmlHead.MatchString(s):
		return XML
	case strings.HasPrefix(s, "Successfully ran diagnostic"), diagHead.MatchString(s):
		return Diag
	case strings.HasPrefix(s, "| Health Monitor Report"), strings.HasPrefix(s, "| Overall Health"):
		return Health
	case listLine.MatchString(s):
		return List
	case topoHead.MatchString(s):
		return Topology
	case rocmHead.MatchString(s), strings.Contains(s, "ROCm System Management Interface"):
		return ROCm
	case refusal(s) != "":
		return Refusal
	case len(columns(s)) > 1:
		return CSV
	}
	return ""
}

// refusal is the kind of trouble that a line of nvidia-smi tells, "" none. Source: nvidia-smi of drivers 418 to 570, NVML's error strings.
func refusal(s string) string {
	switch {
	case handle.MatchString(s) && strings.Contains(s, "GPU is lost"):
		return "lost"
	case handle.MatchString(s):
		return "handle"
	case s == "No devices were found", strings.HasPrefix(s, "No devices found"):
		return "none"
	case strings.HasPrefix(s, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver"), strings.HasPrefix(s, "Failed to initialize NVML: "):
		return "driver"
	}
	return ""
}

// Read reads the output of one or several of the tools, of one node or several: then there is a state for each, in order of appearance.
func Read(ctx context.Context, in io.Reader) ([]*State, error) {
	f := &nodes{by: map[string]*reader{}}
	br := bufio.NewReaderSize(in, maxLine)
	off := int64(0)
	for {
		if f.lines&0x3ff == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		l, err := br.ReadSlice('\n')
		size := int64(len(l))
		if len(l) > 0 {
			f.lines++
			f.line(bytes.TrimRight(l, "\r\n"), off)
		}
		off += size
		for errors.Is(err, bufio.ErrBufferFull) {
			l, err = br.ReadSlice('\n')
			off += int64(len(l))
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	var out []*State
	for _, k := range f.order {
		if s := f.by[k].s; s.Form != "" {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it is no output of nvidia-smi, dcgmi or rocm-smi")
	}
	return out, nil
}

type reader struct {
	s       *State
	now     Form
	columns []Key
	names   []string
	row     *GPU     // of the table, until its second line is read
	list    bool     // the table of processes
	path    []string // of -q: the headings above
	depth   []int
	test    string // of dcgmi diag -j
	of      int    // the GPU of its result, −1 none
}

// line reads one line of one node; p is where all of it stands.
func (r *reader) line(raw string, p Place) {
	s := strings.TrimSpace(raw)
	p.Text = strings.ToValidUTF8(s[:min(len(s), maxText)], "?")
	if f := form(s); f != "" {
		r.begin(f, s, p)
		if f != List && f != Refusal {
			return
		}
	}
	switch r.now {
	case Table:
		r.table(s, p)
	case Query:
		r.query(raw, p)
	case CSV:
		r.csv(s, p)
	case List:
		if m := listLine.FindStringSubmatch(s); m != nil {
			r.row = r.gpu(GPU{Index: number(m[1]), Place: p})
			return
		}
		r.nvlink(s, p)
	case XML:
		r.xml(s, p)
	case DiagJSON:
		r.member(s, p)
	case Topology:
		if strings.HasPrefix(s, "GPU") && strings.Contains(s, "\t") {
			if n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(strings.SplitN(s, "\t", 2)[0], "GPU"))); err == nil {
				r.gpu(GPU{Index: n, Place: p})
			}
		}
	case Diag, Health:
		r.dcgm(s, p)
	case LinkStatus:
		r.links(s, p)
	case Monitor:
		r.monitor(s, p)
	case ROCm:
		r.rocm(s, p)
	}
	r.when(s)
}

var (
	stated   = pattern.New(`^(?:Timestamp +: |<timestamp>)`)
	dateZone = pattern.New(` [A-Z]{3,5}( \d{4})$`) // of date
)

// moment says that a line is a time and nothing else.
func moment(s string) bool {
	s = dateZone.ReplaceAllString(s, "$1")
	_, n := line.ParseStamp([]byte(s))
	return n == len(s)
}

// when notes when the tool ran, if a line says nothing else.
func (r *reader) when(s string) {
	if r.s.Stamp.Kind != line.NoStamp || len(s) < 15 || len(s) > 80 {
		return
	}
	s = strings.TrimSuffix(s[len(stated.FindString(s)):], "</timestamp>")
	s = dateZone.ReplaceAllString(s, "$1")
	if st, n := line.ParseStamp([]byte(s)); n > 0 && n == len(s) && st.Kind != line.TimeOnly {
		st.Emitter = line.Kernel // the node's local time, as dmesg -T writes it
		r.s.Stamp = st
	}
}

func (r *reader) begin(f Form, s string, p Place) {
	r.now, r.row, r.list, r.path, r.depth = f, nil, false, nil, nil
	if r.s.Form == "" {
		r.s.Form = f
	}
	switch f {
	case Table:
	case Monitor:
		r.names = strings.Fields(strings.TrimPrefix(s, "#"))
	case CSV:
		r.names = columns(s)
		r.columns = make([]Key, len(r.names))
		for i, n := range r.names {
			r.columns[i] = csvKeys[n]
		}
	case Refusal:
		t := Trouble{Kind: refusal(s), GPU: -1, Place: p}
		if m := handle.FindStringSubmatch(s); m != nil {
			t.PCI = kernel.Address(m[2])
			if m[1] != "" {
				t.GPU = number(strings.TrimSuffix(m[1], ": "))
			}
		}
		r.trouble(t)
	}
}

func (r *reader) gpu(g GPU) *GPU {
	if len(r.s.GPUs) >= maxGPUs {
		return nil
	}
	r.s.GPUs = append(r.s.GPUs, g)
	return &r.s.GPUs[len(r.s.GPUs)-1]
}

func (r *reader) trouble(t Trouble) {
	if len(r.s.Troubles) >= maxTroubles {
		return
	}
	r.s.Troubles = append(r.s.Troubles, t)
}

func (g *GPU) add(k Key, n int64, p Place) {
	if v := g.Of(k); v != nil {
		if n > v.N {
			v.N, v.Place = n, p
		}
		return
	}
	g.Values = append(g.Values, Value{k, n, p})
}

var (
	rowOne  = pattern.New(`^\| +(\d{1,4}) +(.{1,40}?) +(?:On|Off|N/A|ERR!)? *\| +([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9]) +(?:On|Off|N/A|ERR!) *\| +(\S+) *\|`)
	rowTwo  = pattern.New(`^\| *(\S+) +(\d+C|N/A|ERR!) +(\S+) +(\d+W|N/A|ERR!|Unknown Error) ?/ ?(\d+W|N/A|ERR!)? *\| +(\d+)?(?:MiB)?[^|]*\| +(\d+%|N/A|ERR!)`)
	process = pattern.New(`^\| +(\d{1,4}) +(?:\S+ +\S+ +)?(\d{1,9}) +([CGM+]{1,3}) +(\S.*?) +(?:\d+MiB|N/A) *\|`)
)

// table reads nvidia-smi's table: two or three lines for each GPU, then the processes.
func (r *reader) table(s string, p Place) {
	if strings.HasPrefix(s, "| Processes:") {
		r.list, r.row = true, nil
	}
	if r.list {
		if m := process.FindStringSubmatch(s); m != nil && len(r.s.Processes) < maxProcesses {
			r.s.Processes = append(r.s.Processes, Process{GPU: number(m[1]), Pid: number(m[2]), Place: p})
		}
		return
	}
	if m := rowOne.FindStringSubmatch(s); m != nil {
		r.row = r.gpu(GPU{Index: number(m[1]), PCI: kernel.Address(m[3]), Place: p})
		if r.row == nil {
			return
		}
		if n, ok := count(m[4]); ok {
			r.row.add(Volatile, n, p)
		}
		r.unread(s, p)
		return
	}
	if r.row == nil {
		return
	}
	if m := rowTwo.FindStringSubmatch(s); m != nil {
		r.row.cells(m, p, []Key{2: Heat, 4: Power, 5: Limit, 6: Used, 7: Busy})
	}
	r.unread(s, p)
	if strings.Trim(s, "+-=| ") == "" {
		r.row = nil
	}
}

var (
	linkErrors = pattern.New(`^Link (\d{1,3}): (Replay|Recovery|CRC) Errors: (\d{1,15})$`)
	linkOn     = pattern.New(`^Link (\d{1,3}): [\d.]{1,9} GB/s$`)
	linkOff    = pattern.New(`^Link (\d{1,3}): <inactive>$`)
)

// nvlink reads a line of nvidia-smi nvlink -e or -s below its GPU.
func (r *reader) nvlink(s string, p Place) {
	if r.row == nil {
		return
	}
	if m := linkErrors.FindStringSubmatch(s); m != nil {
		n, _ := strconv.ParseInt(m[3], 10, 64)
		k := NVLink
		if m[2] == "Recovery" {
			k = Relinked
		}
		r.row.sum(k, n, p)
	} else if linkOff.MatchString(s) {
		r.row.sum(NVLinkOff, 1, p)
	} else if linkOn.MatchString(s) {
		r.row.sum(NVLinkOn, 1, p)
	}
}

// cells adds what the groups of a match hold.
func (g *GPU) cells(m []string, p Place, keys []Key) {
	for i, k := range keys {
		if n, ok := count(m[i]); ok && k != "" {
			g.add(k, n, p)
		}
	}
}

// unread notes values that the driver could not read.
func (r *reader) unread(s string, p Place) {
	if n := strings.Count(s, "ERR!") + strings.Count(s, "Unknown Error") + strings.Count(s, "GPU is lost"); n > 0 && r.row != nil {
		r.row.add(Unread, int64(n), p)
	}
}

// count is the number that a cell begins with ("0", "12C", "87.12 W", "1 %").
func count(s string) (int64, bool) {
	s = strings.TrimSpace(s)
	i := 0
	for i < len(s) && ascii.Digit(s[i]) {
		i++
	}
	if i == 0 || i > 15 {
		return 0, false
	}
	n, err := strconv.ParseInt(s[:i], 10, 64)
	return n, err == nil
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
