package aislog

import (
	"bytes"
	"slices"
)

// event adds a record to its group.
func (r *reader) event(rec *record, msg []byte, text int, kind Kind) {
	p := r.p
	switch kind {
	case noise:
		return
	case Stopping:
		if p.orderly == (At{}) {
			p.orderly = rec.at
		}
	case Failing:
		if p.failed == (At{}) {
			p.failed = rec.at
		}
	}
	e := Event{At: rec.at, Time: rec.time, Kind: kind, Severity: rec.severity, Cut: rec.cut}
	if text >= 0 {
		e.literals, e.not = texts[text].literals, texts[text].not
	}
	key := groupKey{text: text}
	switch kind {
	case Capacity, Alerts, MapChanged, ConfigChanged:
	case Flags:
		e.Note = string(msg)
	default:
		key.peer = peer(msg, r.self())
		e.Request = request(msg)
	}
	e.Peer = key.peer
	if e.Admin() {
		key.shape = "admin"
	}
	if text < 0 {
		if key.shape = string(kind); kind == Other {
			key.shape = shape(msg)
			if _, known := p.byKey[key]; !known {
				if p.shapes++; p.shapes > maxShapes {
					key.shape, key.peer = "", ""
				}
			}
		}
	}
	if kind == Capacity { // one group for each mountpath
		key.shape = clip(msg[:max(0, bytes.IndexByte(msg, ':'))], maxID)
	}
	g := p.byKey[key]
	if g == nil && len(p.groups) >= maxGroups {
		key.peer, key.shape = "", ""
		g = p.byKey[key]
	}
	if g == nil {
		g = &Group{Kind: kind, Peer: key.peer, text: text, shape: key.shape}
		p.byKey[key] = g
		p.groups = append(p.groups, g)
	}
	g.Count++
	minute := rec.time.Wall.Unix() / 60 * 60
	if n := len(g.Minutes); n > 0 && g.Minutes[n-1].Unix == minute {
		g.Minutes[n-1].Count++
	} else if i, found := slices.BinarySearchFunc(g.Minutes, minute, func(m Minute, t int64) int { return int(m.Unix - t) }); found {
		g.Minutes[i].Count++
	} else {
		g.Minutes = slices.Insert(g.Minutes, i, Minute{minute, 1})
	}
	if len(g.Events) < edge {
		e.describe(rec.b, msg)
		g.Events = append(g.Events, e)
		return
	}
	// Of the last ones only those that stay the last are looked at closely.
	if len(g.late) < edge {
		g.late = append(g.late, late{})
	}
	l := &g.late[g.next]
	l.event, l.raw, l.msg = e, append(l.raw[:0], rec.b...), len(rec.b)-len(msg)
	g.next = (g.next + 1) % edge
}

// late is one of the last records of a group.
type late struct {
	event Event
	raw   []byte
	msg   int // where its message begins
}

// settle puts the last records behind the first ones.
func (g *Group) settle() {
	for i := range g.late {
		if len(g.late) == edge {
			i = (g.next + i) % edge
		}
		l := &g.late[i]
		l.event.describe(l.raw, l.raw[min(max(l.msg, 0), len(l.raw)):])
		g.Events = append(g.Events, l.event)
	}
	g.late = nil
}
