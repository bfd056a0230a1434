package fabric

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/pattern"
)

// Recognise says that a file is the output of these tools: lines that only they print, and little else.
func Recognise(head []byte) bool { return share(head, true) }

// Pasted finds it within other text: whole blocks, as somebody copied them from a terminal.
func Pasted(text []byte) bool { return share(text, false) }

// marks are what some line of each tool's output holds: text without any of them is not looked at more closely.
var marks = [][]byte{[]byte("CA '"), []byte("CA: '"), []byte("Infiniband device '"), []byte("hca_id:"), []byte("NIC statistics:"), []byte("ethtool -S "), []byte("_phy: "), []byte("Settings for "), []byte("# Port "), []byte("PING "), []byte("==("),
	[]byte("Errors for "), []byte("/sys/class/infiniband/"), []byte("/sys/class/net/"), []byte("> mtu "), []byte(" out_of_sequence ")}

// share reads text and weighs what of it was understood.
func share(text []byte, whole bool) bool {
	if !slices.ContainsFunc(marks, func(m []byte) bool { return bytes.Contains(text, m) }) {
		return false
	}
	r := newReader()
	known, all := 0, 0
	for len(text) > 0 {
		var l []byte
		l, text, _ = bytes.Cut(text, []byte("\n"))
		l = bytes.TrimRight(l[:min(len(l), lines.Max)], "\r")
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		all++
		if r.take(lines.Line{Text: string(l), Place: lines.Place{Line: int64(all), Len: len(l)}}) {
			known++
		}
	}
	r.finish()
	if r.file.Empty() || known < 3 && len(r.file.Readings) < 3 {
		return false
	}
	if !whole {
		return r.strong > 0
	}
	return r.strong > 0 && known*2 >= all
}

var errNothing = errors.New("nothing of it could be read: no port, counter, link or ping")

// Read reads all of a file.
func Read(ctx context.Context, in io.Reader) (*File, error) {
	r := newReader()
	err := lines.Each(ctx, in, func(l lines.Line) error {
		r.take(l)
		return nil
	})
	r.finish()
	if err == nil && r.file.Empty() {
		err = errNothing
	}
	return &r.file, err
}

// section is whose output the present lines are.
type section int

const (
	none section = iota
	ibstat
	ibstatus
	devinfo
	iplink
	ethtool
	statistics // ethtool -S
	perfquery
	pinging
	linkinfo
	queryerrors
)

type reader struct {
	file   File
	strong int // lines that nothing else prints
	in     section
	host   string // of the prompt or the block
	label  string // of the line
	dash   bool   // the line before was a rule: "---------------"
	block  string // the name between two rules
	at     Stamp
	ask    string // the command was hostname or date: the next line answers
	port   *Port
	where  Where
	tool   string
	device string // that the command names
	names  []string
	shots  map[shot]int
	seen   map[string]bool // counters of the present snapshot
	shot   int
	node   End // of iblinkinfo
	from   End // of ibqueryerrors
}

type shot struct {
	w    Where
	tool string
}

func newReader() *reader { return &reader{shots: map[shot]int{}} }

func (r *reader) finish() { r.flush() }

// flush keeps the port that was read.
func (r *reader) flush() {
	if r.port != nil && len(r.file.Ports) < maxPorts {
		r.file.Ports = append(r.file.Ports, *r.port)
	}
	r.port = nil
}

// enter begins the output of a tool.
func (r *reader) enter(s section) {
	r.flush()
	r.in, r.names, r.seen = s, nil, nil
}

func (r *reader) hostNow() string {
	if r.label != "" {
		return r.label
	}
	return r.host
}

// take reads one line, as it is or behind the label of a launcher; it says whether it was understood.
func (r *reader) take(l lines.Line) bool {
	r.label = ""
	if r.line(l, l.Text) {
		return true
	}
	rest, host, ok := lines.Peel(l.Text)
	if !ok {
		r.dash = false
		return false
	}
	r.label = host
	return r.line(l, rest)
}

var (
	rule     = pattern.New(`^-{4,}\s*$`)
	hostName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$`)
	banner   = pattern.New(`^(?:={2,}|#{2,}|-{2,}|\*{2,})\s*(?:host(?:name)?:? )?([A-Za-z][A-Za-z0-9.-]{1,62})\s*(?:={2,}|#{2,}|-{2,}|\*{2,})?:?\s*$`)
)

// toolWords are no hosts where they stand in a banner.
var toolWords = map[string]bool{"ibstat": true, "ibstatus": true, "perfquery": true, "ethtool": true, "ping": true, "ip": true, "date": true, "counters": true, "iblinkinfo": true, "link": true,
	"network": true, "nic": true, "infiniband": true, "before": true, "after": true, "start": true, "end": true, "stats": true, "statistics": true}

func (r *reader) line(l lines.Line, text string) bool {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return true
	}
	if r.ask != "" {
		ask := r.ask
		r.ask = ""
		if ask == "hostname" && hostName.MatchString(trimmed) {
			r.host = trimmed
			return true
		}
	}
	if rule.MatchString(text) {
		if r.block != "" {
			r.host, r.block = r.block, ""
			r.enter(none)
		} else {
			r.dash = true
		}
		return true
	}
	if r.dash {
		r.dash = false
		if hostName.MatchString(trimmed) && !toolWords[strings.ToLower(trimmed)] {
			r.block = trimmed
			return true
		}
	}
	if host, at, command, ok := noted(trimmed); ok {
		r.command(host, command)
		r.at = at
		return true
	}
	if host, command, ok := lines.Prompt(text); ok && (host != "" || tools[firstWord(command)]) {
		r.command(host, command)
		return true
	}
	if at, ok := stamp(trimmed); ok {
		r.at = at
		r.enter(none)
		return true
	}
	if r.known(l, text, trimmed) {
		return true
	}
	if m := banner.FindStringSubmatch(trimmed); m != nil && !toolWords[strings.ToLower(m[1])] && !strings.HasPrefix(m[1], "mlx") {
		r.host = m[1]
		r.enter(none)
		return true
	}
	return false
}

// noted reads a remark that people put above an output: "# node03 2026-03-11T04:16:40 perfquery -x -C mlx5_4 -P 1".
func noted(text string) (host string, at Stamp, command string, ok bool) {
	rest := strings.TrimLeft(text, "#")
	if rest == text {
		return "", at, "", false
	}
	words := strings.Fields(rest)
	if len(words) < 2 || !hostName.MatchString(words[0]) || toolWords[strings.ToLower(words[0])] {
		return "", at, "", false
	}
	for n := 2; n <= min(3, len(words)); n++ { // a moment is one word, or two
		if at, ok = stamp(strings.Join(words[1:n], " ")); !ok {
			continue
		}
		command = strings.Join(words[n:], " ")
		return words[0], at, command, command == "" || tools[firstWord(command)]
	}
	return "", at, "", false
}

// What ethtool -S begins with where its heading was not copied, and the names that only drivers of adapters have.
var (
	unheaded = pattern.New(`^(?:[rt]x_(?:packets|bytes)|[rt]x_[a-z0-9_]{1,48}_phy): \d{1,20}$`)
	physical = pattern.New(`^[rt]x_[a-z0-9_]{1,48}_phy: \d{1,20}$|^link_down_events_phy: \d{1,20}$`)
)

var tools = map[string]bool{"ibstat": true, "ibstatus": true, "perfquery": true, "ethtool": true, "ping": true, "ip": true, "ibv_devinfo": true, "iblinkinfo": true, "ibqueryerrors": true,
	"grep": true, "hostname": true, "date": true, "sudo": true, "cat": true, "rdma": true}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	if w == "sudo" {
		_, rest, _ := strings.Cut(s, " ")
		w, _, _ = strings.Cut(rest, " ")
	}
	return w
}

// command reads what was typed: the output below is its answer.
func (r *reader) command(host, command string) {
	r.enter(none)
	if host != "" {
		r.host = host
	}
	r.device, r.ask, r.where = "", "", Where{Port: -1, LID: -1}
	command, _, _ = strings.Cut(command, "|") // what comes behind it only selects lines
	args := strings.Fields(command)
	for len(args) > 0 && args[0] == "sudo" {
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	switch args[0] {
	case "hostname":
		r.ask = "hostname"
	case "ethtool":
		if last := args[len(args)-1]; len(args) > 1 && !strings.HasPrefix(last, "-") {
			r.device = last
		}
		if len(args) == 3 && (args[1] == "-S" || args[1] == "--statistics") && r.device != "" {
			r.counting() // grep may have left the heading out
			r.strong++
		}
	case "perfquery":
		for i, a := range args[:len(args)-1] {
			if a == "-C" || a == "--Ca" {
				r.device = args[i+1]
			}
		}
	}
}

// counting begins the output of ethtool -S.
func (r *reader) counting() {
	r.enter(statistics)
	r.where = Where{Host: r.hostNow(), Device: r.device, Port: -1, LID: -1}
	r.tool = "ethtool"
}

// known reads the lines of the tools.
func (r *reader) known(l lines.Line, text, trimmed string) bool {
	if trimmed[0] == '/' {
		return r.sysfs(l, trimmed)
	}
	if r.rdma(l, trimmed) || r.begins(l, text, trimmed) {
		r.strong++
		return true
	}
	if r.in == none && unheaded.MatchString(trimmed) {
		r.counting()
	}
	if r.in == statistics && physical.MatchString(trimmed) {
		r.strong++
	}
	switch r.in {
	case ibstat, ibstatus, devinfo:
		return r.portLine(l, trimmed)
	case iplink:
		return r.ipLine(l, trimmed)
	case ethtool:
		return r.ethtoolLine(l, trimmed)
	case statistics, perfquery:
		return r.counterLine(l, trimmed)
	case pinging:
		return r.pingLine(l, trimmed)
	case queryerrors, linkinfo:
		return r.fabricLine(l, trimmed)
	}
	return false
}

// statLine is what "rdma statistic" prints of one port: all its counters on one line.
var statLine = pattern.New(`^link ([A-Za-z0-9_.-]{1,40})/(\d{1,3})((?: [a-z][a-z0-9_]{1,60} \d{1,20})+)$`)

func (r *reader) rdma(l lines.Line, trimmed string) bool {
	m := statLine.FindStringSubmatch(trimmed)
	if m == nil {
		return false
	}
	r.enter(none)
	where := Where{Host: r.hostNow(), Device: m[1], Port: atoi(m[2]), LID: -1}
	fields := strings.Fields(m[3])
	for i := 0; i+1 < len(fields); i += 2 {
		if n, err := strconv.ParseUint(fields[i+1], 10, 64); err == nil {
			r.reading(l, where, "rdma statistic", fields[i], n)
		}
	}
	return true
}

func (r *reader) newPort(tool, device string, port int) *Port {
	r.flush()
	r.port = &Port{Where: Where{Host: r.hostNow(), Device: device, Port: port, LID: -1}, Tool: tool, At: r.at}
	return r.port
}

func (r *reader) reading(l lines.Line, w Where, tool, name string, value uint64) {
	if _, ok := MeaningOf(name); !ok || l.Cut {
		return
	}
	if r.seen == nil || r.seen[name] {
		key := shot{w, tool}
		r.seen = map[string]bool{}
		r.shot = r.shots[key]
		r.shots[key]++
	}
	r.seen[name] = true
	if len(r.file.Readings) < maxReadings {
		r.file.Readings = append(r.file.Readings, Reading{Where: w, Tool: tool, Name: name, Value: value, Snapshot: r.shot, At: r.at, Place: l.Place})
	}
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
