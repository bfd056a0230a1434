package correlate

import (
	"slices"
	"strings"

	"faultline/analysis/aislog"
)

// members are the daemons of a cluster and its buckets, as far as its records name them.
type members struct {
	targets []string          // all of them, nil where some are not known
	roles   map[string]string // of those whose logs are not here
	buckets map[string][]bucket
}

// members reads them once: they are asked for line by line.
func (x *inquiry) members() *members {
	if x.known != nil {
		return x.known
	}
	m := &members{roles: map[string]string{}, buckets: map[string][]bucket{}}
	x.known = m
	peers := map[string]bool{}
	for _, d := range x.daemons {
		for i := range d.Groups {
			g := &d.Groups[i]
			if g.Peer != "" {
				peers[g.Peer] = true
			}
			for k := range g.Events {
				m.add(&g.Events[k])
			}
		}
	}
	most := 0
	for i, d := range x.daemons {
		most = max(most, d.Targets)
		if d.Role == aislog.Target && d.ID != "" {
			m.targets = append(m.targets, x.self(i))
		}
	}
	for id := range peers {
		if x.role(id) == string(aislog.Target) {
			m.targets = append(m.targets, id)
		}
	}
	slices.Sort(m.targets)
	if m.targets = slices.Compact(m.targets); len(m.targets) != most {
		m.targets = nil
	}
	return m
}

// add takes what a record names.
func (m *members) add(e *aislog.Event) {
	if b := bucketOf(e.Object); b.name != "" && !slices.Contains(m.buckets[b.name], b) {
		m.buckets[b.name] = append(m.buckets[b.name], b)
	}
	for rest := e.Text; ; {
		i := strings.IndexByte(rest, '[')
		if i < 0 {
			return
		}
		role := roleBefore(rest[:i])
		rest = rest[i+1:]
		id, _, closed := strings.Cut(rest[:min(len(rest), maxValue)], "]")
		if _, seen := m.roles[id]; role != "" && closed && !seen {
			m.roles[id] = string(role)
		}
	}
}

// roleBefore is the role that the letter before an id in brackets stands for: "t[id]", "p[id]".
func roleBefore(s string) aislog.Role {
	n := len(s)
	switch {
	case n == 0 || n > 1 && wordByte(s[n-2]):
		return ""
	case s[n-1] == 't':
		return aislog.Target
	case s[n-1] == 'p':
		return aislog.Proxy
	}
	return ""
}

// marksOf are the marks of a daemon's record, read once.
func (x *inquiry) marksOf(e *aislog.Event) []Mark {
	if m, seen := x.marked[e]; seen {
		return m
	}
	if x.marked == nil {
		x.marked = map[*aislog.Event][]Mark{}
	}
	m := marksOf(e.Text)
	x.marked[e] = m
	return m
}
