package fabric

import (
	"strconv"
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/pattern"
)

var (
	caLine     = pattern.New(`^CA:? '([\w.:-]{1,64})'$`)
	ibPort     = pattern.New(`^Infiniband device '([\w.:-]{1,64})' port (\d{1,3}) status:$`)
	hcaLine    = pattern.New(`^hca_id:\s+([\w.:-]{1,64})$`)
	ipLinkLine = pattern.New(`^(\d{1,7}): ([\w.:-]{1,32})(?:@[\w.:-]{1,32})?: <([A-Z0-9_,-]{0,200})> mtu (\d{1,6}) (?:.*? )?state ([A-Z_]{2,16})\b`)
	settings   = pattern.New(`^Settings for ([\w.:@-]{1,32}):$`)
	perfHead   = pattern.New(`^# Port (?:extended |)counters: (?:Lid (\d{1,7})|DR path .{1,120}?|.{0,60}?)\s?port (\d{1,3})\b`)
	pingHead   = pattern.New(`^PING (\S{1,256}?) ?\((\S{1,64})\)(?: from \S{1,64} \S{1,32})? ?:? (?:\S+ )?(\d{1,7})(?:\((\d{1,7})\))? (?:data )?bytes(?: of data)?\.?$`)
	linkNode   = pattern.New(`^(CA|Switch|Router):? (?:(0x[0-9a-f]{1,16}) )?(.{1,128}?):?$`)
	linkLine   = pattern.New(`^\s*(?:(0x[0-9a-f]{1,16}) )?(?:"\s*([^"]{0,128})" )?\s*(\d{1,6})\s+(\d{1,4})\[\s*\] ==\(\s*(?:(\d{1,2})X\s+([0-9.]{1,12}) Gbps )?\s*(\w{1,16})\s*/\s*(\w{1,24})\s*\)==>\s*(?:(0x[0-9a-f]{1,16})\s+)?(?:(\d{1,6})\s+(\d{1,4}))?\s*\[\s*\] "\s*([^"]{0,128})" \((.{0,80})\)\s*$`)
	errorsFor  = pattern.New(`^Errors for (?:(0x[0-9a-f]{1,16}) )?"\s*([^"]{1,128})"$`)
)

// begins reads the lines that a tool's output begins with.
func (r *reader) begins(l lines.Line, text, trimmed string) bool {
	switch {
	case strings.HasPrefix(trimmed, "CA"):
		if m := caLine.FindStringSubmatch(trimmed); m != nil {
			r.enter(ibstat)
			r.where = Where{Host: r.hostNow(), Device: m[1], Port: -1, LID: -1}
			return true
		}
	case strings.HasPrefix(trimmed, "Infiniband device"):
		if m := ibPort.FindStringSubmatch(trimmed); m != nil {
			r.enter(ibstatus)
			r.newPort("ibstatus", m[1], atoi(m[2]))
			return true
		}
	case strings.HasPrefix(trimmed, "hca_id:"):
		if m := hcaLine.FindStringSubmatch(trimmed); m != nil {
			r.enter(devinfo)
			r.where = Where{Host: r.hostNow(), Device: m[1], Port: -1, LID: -1}
			return true
		}
	case trimmed == "NIC statistics:":
		r.counting()
		return true
	case strings.HasPrefix(trimmed, "Settings for "):
		if m := settings.FindStringSubmatch(trimmed); m != nil {
			r.enter(ethtool)
			r.newPort("ethtool", m[1], -1)
			return true
		}
	case strings.HasPrefix(trimmed, "# Port "):
		if m := perfHead.FindStringSubmatch(trimmed); m != nil {
			r.enter(perfquery)
			r.where = Where{Host: r.hostNow(), Device: r.device, Port: atoi(m[2]), LID: atoi(m[1])}
			r.tool = "perfquery"
			return true
		}
	case strings.HasPrefix(trimmed, "PING "):
		if m := pingHead.FindStringSubmatch(trimmed); m != nil {
			r.enter(pinging)
			if len(r.file.Pings) >= maxPings {
				r.in = none
				return true
			}
			r.file.Pings = append(r.file.Pings, Ping{Host: r.hostNow(), Target: m[1], Address: m[2], Size: atoi(m[3]), Whole: max(atoi(m[4]), atoi(m[3])+8), Place: l.Place})
			return true
		}
	case strings.Contains(text, "]") && strings.Contains(text, "==("):
		return r.link(l, text)
	case strings.HasPrefix(trimmed, "Errors for "):
		if m := errorsFor.FindStringSubmatch(trimmed); m != nil {
			r.enter(queryerrors)
			r.from = End{Name: strings.TrimSpace(m[2]), LID: -1, Port: -1}
			return true
		}
	}
	if trimmed[0] >= '1' && trimmed[0] <= '9' {
		if m := ipLinkLine.FindStringSubmatch(trimmed); m != nil {
			r.enter(iplink)
			p := r.newPort("ip", m[2], -1)
			p.MTU, p.State = number(m[4], l.Place), Text{m[5], l.Place}
			p.Layer = "Ethernet"
			flags := "," + m[3] + ","
			p.NoCarrier, p.Loopback = strings.Contains(flags, ",NO-CARRIER,"), strings.Contains(flags, ",LOOPBACK,")
			if p.State.Word == "UNKNOWN" {
				p.State.Word = "" // drivers that report none
			}
			return true
		}
	}
	// "Switch: 0x… name:" and "CA: node03 mlx5_0:" head the ports of a node in iblinkinfo.
	if strings.HasSuffix(trimmed, ":") {
		if m := linkNode.FindStringSubmatch(trimmed); m != nil && (m[1] == "CA" || m[2] != "") && strings.Contains(trimmed, ": ") {
			r.enter(linkinfo)
			r.node = End{Name: strings.TrimSpace(m[3]), Switch: m[1] == "Switch", LID: -1, Port: -1}
			return true
		}
	}
	return false
}

func number(literal string, at lines.Place) Number {
	v, err := strconv.ParseFloat(literal, 64)
	if err != nil || v < 0 || v > 1e12 {
		return Number{}
	}
	return Number{Value: v, Literal: literal, Place: at}
}

var (
	rateOf  = pattern.New(`^([0-9.]{1,8})(?: Gb/sec)?(?: \((\d{1,2})X(?: \w{1,8})?\))?`)
	speedOf = pattern.New(`^([0-9.]{1,8}) Gbps`)
	widthOf = pattern.New(`^(\d{1,2})X`)
	lidOf   = pattern.New(`^(0x[0-9a-fA-F]{1,8}|\d{1,7})`)
)

// portLine reads "key: value" below a port of ibstat, ibstatus and ibv_devinfo.
func (r *reader) portLine(l lines.Line, trimmed string) bool {
	key, value, ok := strings.Cut(trimmed, ":")
	if !ok || len(key) > 40 {
		return false
	}
	value = strings.TrimSpace(value)
	key = strings.ToLower(strings.ReplaceAll(key, "_", " "))
	if n, found := strings.CutPrefix(key, "port "); found && value == "" && r.in == ibstat {
		r.newPort("ibstat", r.where.Device, atoi(n))
		return true
	}
	if key == "port" && r.in == devinfo {
		r.newPort("ibv_devinfo", r.where.Device, atoi(value))
		return true
	}
	p := r.port
	if p == nil {
		return known[key] || strings.HasPrefix(key, "port ")
	}
	switch key {
	case "state":
		p.State = Text{stateWord(value), l.Place}
	case "physical state", "phys state":
		p.Phys = Text{stateWord(value), l.Place}
	case "rate":
		if m := rateOf.FindStringSubmatch(value); m != nil {
			p.Rate = number(m[1], l.Place)
			if m[2] != "" {
				p.Width = number(m[2], l.Place)
			}
		}
	case "active width":
		if m := widthOf.FindStringSubmatch(value); m != nil {
			p.Width = number(m[1], l.Place)
		}
	case "active speed":
		if m := speedOf.FindStringSubmatch(value); m != nil && p.Width.Stated() {
			if lane := number(m[1], l.Place); lane.Stated() {
				p.Rate = Number{lane.Value * p.Width.Value, lane.Literal, l.Place}
			}
		}
	case "active mtu":
		p.MTU = number(firstWord(value), l.Place)
	case "base lid", "port lid":
		if m := lidOf.FindString(value); m != "" {
			if n, err := strconv.ParseInt(m, 0, 32); err == nil {
				p.LID = int(n)
			}
		}
	case "port guid":
		p.GUID = value[:min(len(value), 32)]
	case "link layer":
		p.Layer = value[:min(len(value), 32)]
	default:
		return known[key] || r.in == devinfo
	}
	return true
}

// known are lines that say nothing of the state of a link.
var known = map[string]bool{"ca type": true, "number of ports": true, "firmware version": true, "hardware version": true, "node guid": true, "system image guid": true,
	"lmc": true, "sm lid": true, "capability mask": true, "default gid": true, "transport": true, "fw ver": true, "node guid ": true, "sys image guid": true, "vendor id": true,
	"vendor part id": true, "hw ver": true, "board id": true, "phys port cnt": true, "max mtu": true, "port lmc": true}

// stateWord cuts "4: ACTIVE", "PORT_ACTIVE (4)" and "LINK_UP (5)" to their word.
func stateWord(v string) string {
	if i := strings.LastIndex(v, ": "); i >= 0 {
		v = v[i+2:]
	}
	v, _, _ = strings.Cut(v, " (")
	v = strings.TrimPrefix(strings.TrimSpace(v), "PORT_")
	return v[:min(len(v), 32)]
}

// ethtoolLine reads below "Settings for eth0:".
func (r *reader) ethtoolLine(l lines.Line, trimmed string) bool {
	key, value, ok := strings.Cut(trimmed, ": ")
	if r.port == nil {
		return false
	}
	switch {
	case !ok:
		return len(trimmed) < 200 // link modes go over several lines
	case key == "Speed":
		if n, found := strings.CutSuffix(value, "Mb/s"); found {
			if v := number(n, l.Place); v.Stated() {
				r.port.Rate = Number{v.Value / 1000, n, l.Place}
			}
		}
	case key == "Link detected":
		r.port.State = Text{firstWord(value), l.Place}
		r.port.Layer = "Ethernet"
	}
	return true
}

// link reads one line of iblinkinfo.
func (r *reader) link(l lines.Line, text string) bool {
	text = strings.TrimPrefix(strings.TrimSpace(text), "Link info:")
	m := linkLine.FindStringSubmatch(text)
	if m == nil {
		// ibqueryerrors leaves the own side's lid out of some lines
		return false
	}
	if r.in != linkinfo && r.in != queryerrors {
		r.enter(linkinfo)
		r.node = End{LID: -1, Port: -1}
	}
	k := Link{A: r.node, B: End{Name: strings.TrimSpace(m[12]), LID: atoi(m[10]), Port: atoi(m[11])}, Width: max(atoi(m[5]), 0), Comment: strings.TrimSpace(m[13]), Place: l.Place}
	if r.in == queryerrors {
		k.A = r.from
	}
	if m[2] != "" {
		k.A = End{Name: strings.TrimSpace(m[2])}
	}
	k.A.LID, k.A.Port = atoi(m[3]), atoi(m[4])
	if v, err := strconv.ParseFloat(m[6], 64); err == nil {
		k.Lane = v
	}
	if len(r.file.Links) < maxLinks {
		r.file.Links = append(r.file.Links, k)
	}
	return true
}
