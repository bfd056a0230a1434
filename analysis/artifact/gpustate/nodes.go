package gpustate

import (
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/pattern"
)

// nodes are the readers of one file: one for each node whose output stands in it.
type nodes struct {
	lines int64
	by    map[string]*reader
	order []string
	host  string // by the last prompt or heading
	// rule is true below a line of dashes, block the name between two of them (clush -b).
	rule  bool
	block string
}

const maxNodes = 4096

var (
	dashes    = pattern.New(`^-{4,}$`)
	heading   = pattern.New(`^(?:={2,}|#{2,}|\*{2,}|-{2,} )\s*(?:host(?:name)?:? |node:? )?([A-Za-z][A-Za-z0-9.-]{1,62})\s*(?:={2,}|#{2,}|\*{2,}| -{2,})?:?$`)
	blockHost = pattern.New(`^[A-Za-z][A-Za-z0-9.-]{0,62}\d[A-Za-z0-9.-]{0,62}$`)
)

// named is the host of a heading above what it printed, as "==== node03 ====", "" none.
func named(s string) string {
	if m := heading.FindStringSubmatch(s); m != nil && strings.ContainsAny(m[1], "0123456789") {
		return m[1]
	}
	return ""
}

// line hands a line to the reader of its node: by the label of srun -l, pdsh or clush in front of it, or by what stood above it.
func (f *nodes) line(b []byte, off int64) {
	raw := string(b[:min(len(b), 4096)])
	p := Place{Line: f.lines, Off: off, Len: len(b)}
	s := strings.TrimSpace(raw)
	if rest, host, ok := lines.Peel(raw); ok && form(s) == "" {
		key := raw[:len(raw)-len(rest)]
		if f.by[key] != nil || form(strings.TrimSpace(rest)) != "" {
			if r := f.reader(key, host); r != nil {
				r.line(rest, p)
			}
			return
		}
	}
	switch {
	case dashes.MatchString(s):
		if f.block != "" {
			f.host, f.block = f.block, ""
		} else {
			f.rule = true
		}
		return
	case f.rule:
		if f.rule = false; blockHost.MatchString(s) {
			f.block = s
			return
		}
	}
	if host, _, ok := lines.Prompt(raw); ok && host != "" {
		f.host = host
	} else if h := named(s); h != "" {
		f.host = h
		return
	}
	if r := f.reader("", f.host); r != nil {
		r.line(raw, p)
	}
}

// reader is the one of a label, or of a host that is named above; nil where there are too many.
func (f *nodes) reader(label, host string) *reader {
	key := label
	if key == "" {
		key = "\x00" + host
	}
	r := f.by[key]
	if r == nil {
		if len(f.by) == maxNodes {
			return nil
		}
		r = &reader{s: &State{Host: host}, of: -1}
		f.by[key] = r
		f.order = append(f.order, key)
	}
	return r
}

var (
	linkStatus = pattern.New(`^\| +NvLink Link Status +\|$`)
	monHead    = pattern.New(`^# gpu +(?:pwr|gtemp|sm|mclk|rxpci)\b`)
	linkGPU    = pattern.New(`^gpuId (\d{1,4}):$`)
	linkRow    = pattern.New(`^(?:[UDX_] ){1,35}[UDX_]$`)
)

// links reads dcgmi nvlink --link-status: U is up, D down, X switched off, _ not there.
func (r *reader) links(s string, p Place) {
	switch m := linkGPU.FindStringSubmatch(s); {
	case m != nil:
		r.row = r.gpu(GPU{Index: number(m[1]), Place: p})
	case strings.HasPrefix(s, "NvSwitches:"):
		r.row = nil
	case r.row != nil && linkRow.MatchString(s):
		if n := strings.Count(s, "D"); n > 0 {
			r.row.add(NVLinkOff, int64(n), p)
		}
		r.row = nil
	}
}

var monKeys = map[string]Key{"pwr": Power, "gtemp": Heat, "sm": Busy}

// monitor reads a line of nvidia-smi dmon: the columns that its heading names, of one GPU. The largest of several counts.
func (r *reader) monitor(s string, p Place) {
	cells := strings.Fields(s)
	if len(cells) != len(r.names) || len(cells) == 0 || cells[0] == "#" {
		return
	}
	index := number(cells[0])
	if index < 0 {
		return
	}
	var g *GPU
	for i := range r.s.GPUs {
		if r.s.GPUs[i].Index == index {
			g = &r.s.GPUs[i]
		}
	}
	if g == nil {
		if g = r.gpu(GPU{Index: index, Place: p}); g == nil {
			return
		}
	}
	for i, name := range r.names {
		if k := monKeys[name]; k != "" && i > 0 {
			if n, ok := count(cells[i]); ok {
				g.add(k, n, p)
			}
		}
	}
}
