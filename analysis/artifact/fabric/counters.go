package fabric

import (
	"strconv"
	"strings"
	"time"

	"faultline/analysis/artifact/lines"
	"faultline/analysis/ascii"
	"faultline/pattern"
)

var (
	dotted  = pattern.New(`^([A-Za-z][\w-]{1,60}):\.*(0x[0-9a-fA-F]{1,16}|\d{1,20})$`)
	nicStat = pattern.New(`^([A-Za-z][\w\[\]. -]{0,60}): (\d{1,20})$`)
	ibFile  = pattern.New(`^/sys/class/infiniband/([\w.:-]{1,64})/ports/(\d{1,3})/(?:(?:hw_)?counters(?:_ext)?/(\w{1,64})|(state|phys_state|rate|lid|link_layer)):\s?(.{1,64})$`)
	netFile = pattern.New(`^/sys/class/net/([\w.:-]{1,32})/(?:statistics/(\w{1,64})|(mtu|operstate|carrier|speed|carrier_changes)):\s?(.{1,64})$`)
	errOf   = pattern.New(`\[(\w{1,64}) == (\d{1,20})[^\]]{0,40}\]`)
	guidOf  = pattern.New(`^GUID (0x[0-9a-f]{1,16}) port (\d{1,4}|ALL):(.*)$`)
	refused = pattern.New(`^(?:ping: )?(?:local error: )?(?i:message too long)(?:,? ?mtu ?= ?(\d{1,6}))?$`)
	fragNow = pattern.New(`^From (\S{1,256}) .{0,80}?Frag needed and DF set \(mtu ?= ?(\d{1,6})\)`)
	tally   = pattern.New(`^(\d{1,9}) packets transmitted, (\d{1,9})(?: packets)? received,`)
)

// counterLine reads perfquery's "Name:....value" and ethtool's "name: value".
func (r *reader) counterLine(l lines.Line, trimmed string) bool {
	var m []string
	if r.in == perfquery {
		m = dotted.FindStringSubmatch(trimmed)
	} else {
		m = nicStat.FindStringSubmatch(trimmed)
	}
	if m == nil {
		return false
	}
	v, err := strconv.ParseUint(m[2], 0, 64)
	if err == nil {
		r.reading(l, r.where, r.tool, m[1], v)
	}
	return true
}

// sysfs reads what "grep . /sys/class/infiniband/*/ports/*/counters/*" prints.
func (r *reader) sysfs(l lines.Line, trimmed string) bool {
	if m := ibFile.FindStringSubmatch(trimmed); m != nil {
		r.strong++
		w := Where{Host: r.hostNow(), Device: m[1], Port: atoi(m[2]), LID: -1}
		if m[3] != "" {
			v, err := strconv.ParseUint(strings.TrimSpace(m[5]), 10, 64)
			if err == nil {
				r.fileReading(l, w, m[3], v)
			}
			return true
		}
		p := r.filePort(w)
		switch m[4] {
		case "state":
			p.State = Text{stateWord(m[5]), l.Place}
		case "phys_state":
			p.Phys = Text{stateWord(m[5]), l.Place}
		case "rate":
			if f := rateOf.FindStringSubmatch(m[5]); f != nil {
				p.Rate = number(f[1], l.Place)
				if f[2] != "" {
					p.Width = number(f[2], l.Place)
				}
			}
		case "link_layer":
			p.Layer = m[5]
		}
		return true
	}
	m := netFile.FindStringSubmatch(trimmed)
	if m == nil {
		return false
	}
	r.strong++
	w := Where{Host: r.hostNow(), Device: m[1], Port: -1, LID: -1}
	value := strings.TrimSpace(m[4])
	if m[2] != "" || m[3] == "carrier_changes" {
		name := m[2]
		if name == "" {
			name = m[3]
		}
		if v, err := strconv.ParseUint(value, 10, 64); err == nil {
			r.fileReading(l, w, name, v)
		}
		return true
	}
	p := r.filePort(w)
	p.Loopback = m[1] == "lo"
	switch m[3] {
	case "mtu":
		p.MTU = number(value, l.Place)
	case "operstate":
		p.State = Text{value, l.Place}
		if value == "unknown" {
			p.State.Word = ""
		}
	case "speed":
		if v := number(value, l.Place); v.Stated() {
			p.Rate = Number{v.Value / 1000, v.Literal, l.Place}
		}
	}
	return true
}

// fileReading is a reading of sysfs, whose lines stand in any order: a name seen before begins another snapshot of that port.
func (r *reader) fileReading(l lines.Line, w Where, name string, v uint64) {
	if r.tool != "sysfs" || r.where != w || r.in != none {
		r.flush()
		r.in, r.tool, r.where, r.seen = none, "sysfs", w, nil
	}
	r.reading(l, w, "sysfs", name, v)
}

func (r *reader) filePort(w Where) *Port {
	if r.port == nil || r.port.Where != w || r.port.Tool != "sysfs" {
		r.enter(none)
		r.newPort("sysfs", w.Device, w.Port)
	}
	return r.port
}

// ipLine reads what stands below an interface in ip -s link: a header with the names of columns, then their numbers.
func (r *reader) ipLine(l lines.Line, trimmed string) bool {
	if r.port == nil {
		return false
	}
	for _, dir := range []string{"RX", "TX"} {
		for _, sub := range []string{":", " errors:"} {
			rest, ok := strings.CutPrefix(trimmed, dir+sub)
			if !ok {
				continue
			}
			r.names = nil
			for n := range strings.FieldsSeq(rest) {
				r.names = append(r.names, strings.ToLower(dir)+"_"+n)
			}
			if len(r.names) > 12 {
				r.names = nil
			}
			return true
		}
	}
	cells := strings.Fields(trimmed)
	if len(r.names) > 0 && len(cells) == len(r.names) {
		names := r.names
		r.names = nil
		for i, c := range cells {
			v, err := strconv.ParseUint(c, 10, 64)
			if err != nil {
				return false
			}
			r.reading(l, r.port.Where, "ip", names[i], v)
		}
		return true
	}
	return ascii.Begins(trimmed, "link/", "inet", "valid_lft", "altname ", "vf ")
}

// fabricLine reads below "Errors for …" of ibqueryerrors: "GUID 0x… port 1: [SymbolErrorCounter == 5] [LinkDownedCounter == 2]".
func (r *reader) fabricLine(l lines.Line, trimmed string) bool {
	m := guidOf.FindStringSubmatch(trimmed)
	if m == nil {
		return false
	}
	if m[2] == "ALL" {
		return true // sums over the ports of a switch
	}
	w := Where{Host: r.from.Name, Device: "", Port: atoi(m[2]), LID: -1, GUID: m[1]}
	r.seen = nil
	for _, e := range errOf.FindAllStringSubmatch(m[3], 64) {
		if v, err := strconv.ParseUint(e[2], 10, 64); err == nil {
			r.reading(l, w, "ibqueryerrors", e[1], v)
		}
	}
	return true
}

func (r *reader) pingLine(l lines.Line, trimmed string) bool {
	p := &r.file.Pings[len(r.file.Pings)-1]
	if m := refused.FindStringSubmatch(trimmed); m != nil {
		p.TooLong, p.Local, p.MTU, p.Refusal = true, true, max(atoi(m[1]), 0), l.Place
		return true
	}
	if m := fragNow.FindStringSubmatch(trimmed); m != nil {
		p.TooLong, p.MTU, p.Refusal = true, max(atoi(m[2]), 0), l.Place
		return true
	}
	if m := tally.FindStringSubmatch(trimmed); m != nil {
		p.Sent, p.Received, p.Ended, p.Result = atoi(m[1]), atoi(m[2]), true, l.Place
		return true
	}
	return strings.Contains(trimmed, " bytes from ") || ascii.Begins(trimmed, "--- ", "rtt ", "ping: ", "From ")
}

// layouts of a line that is a moment and nothing else.
var layouts = []string{
	"Mon Jan _2 15:04:05 2006", "Mon 02 Jan 2006 03:04:05 PM", "Mon _2 Jan 15:04:05 2006", "2006-01-02 15:04:05", "2006-01-02T15:04:05",
}

var (
	decorated = pattern.New(`^(?:[#=*>-]{1,10}\s*)?(?:(?i:date|time|at|snapshot \d{1,4}(?: at)?):? )?(.{15,60}?)(?:\s*[#=*<-]{1,10})?$`)
	zoned     = pattern.New(`(?:\.\d{1,9})?(Z|[+-]\d\d:?\d\d)$`)
	zoneWord  = pattern.New(` (UTC|GMT|[A-Z]{3,5})( \d{4})?$`)
	epoch     = pattern.New(`^1[5-9]\d{8}(?:\.\d{1,9})?$`)
)

// stamp reads a line that date printed.
func stamp(s string) (Stamp, bool) {
	if len(s) < 10 || len(s) > 80 {
		return Stamp{}, false
	}
	if epoch.MatchString(s) {
		whole, _, _ := strings.Cut(s, ".")
		n, err := strconv.ParseInt(whole, 10, 64)
		return Stamp{Unix: n, Zone: "UTC", Known: err == nil}, err == nil
	}
	m := decorated.FindStringSubmatch(s)
	if m == nil {
		return Stamp{}, false
	}
	core, zone := m[1], ""
	if z := zoned.FindStringSubmatchIndex(core); z != nil {
		zone = core[z[2]:z[3]]
		core = core[:z[0]]
	} else if z := zoneWord.FindStringSubmatchIndex(core); z != nil {
		if w := core[z[2]:z[3]]; w != "AM" && w != "PM" {
			zone = w
			core = core[:z[2]-1] + core[z[3]:]
		}
	}
	core = strings.TrimSpace(core)
	for _, layout := range layouts {
		if t, err := time.Parse(layout, core); err == nil {
			return Stamp{Unix: t.Unix(), Zone: zone, Known: true}, true
		}
	}
	return Stamp{}, false
}
