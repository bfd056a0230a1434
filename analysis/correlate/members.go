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
	if x.known == nil {
		x.known = &members{roles: map[string]string{}, buckets: map[string][]bucket{}}
		peers := map[string]bool{}
		for _, d := range x.daemons {
			for i := range d.Groups {
				peers[d.Groups[i].Peer] = true
				x.known.add(d.Groups[i].Events)
			}
		}
		x.known.targets = x.allTargets(peers)
	}
	return x.known
}

// allTargets are those whose logs are here and those that others name, nil where a cluster map counts more.
func (x *inquiry) allTargets(peers map[string]bool) []string {
	var out []string
	most := 0
	for i, d := range x.daemons {
		most = max(most, d.Targets)
		if d.Role == aislog.Target && d.ID != "" {
			out = append(out, x.self(i))
		}
	}
	for id := range peers {
		if x.role(id) == string(aislog.Target) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) != most {
		return nil
	}
	return out
}

// role is what a daemon is, by its own log or by what others call it.
func (x *inquiry) role(id string) string {
	if d := x.find(id); d >= 0 {
		return string(x.daemons[d].Role)
	}
	return x.members().roles[id]
}

// add takes what records name.
func (m *members) add(events []aislog.Event) {
	for i := range events {
		if b := bucketOf(events[i].Object); b.name != "" && !slices.Contains(m.buckets[b.name], b) {
			m.buckets[b.name] = append(m.buckets[b.name], b)
		}
		m.addRoles(events[i].Text)
	}
}

func (m *members) addRoles(rest string) {
	for {
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
