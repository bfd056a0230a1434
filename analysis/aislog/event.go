package aislog

import (
	"bytes"
	"slices"
	"time"
)

// event takes note of a record that says something.
func (r *reader) event(rec *record, msg []byte, text int, kind Kind) {
	if kind == noise {
		return
	}
	p := r.p
	req, has := "", r.cues(msg)
	switch kind {
	case Stopping:
		p.orderly, p.stopped = rec.at, rec.time
	case Failing:
		p.failed, p.stopped = rec.at, rec.time
	case Refused:
		if req = request(msg, has); req == "" && len(r.refused) < maxRefused {
			r.refused = append(r.refused, held(rec, msg, text))
			return
		}
		r.answer(rec, msg, req)
	default:
		req = request(msg, has)
	}
	r.add(rec, msg, has, text, kind, req)
}

// refusal is a record of a refused token. Which request it was for stands in the record that follows.
type refusal struct {
	record
	msg  []byte
	text int
}

// held copies a record: the text of a line is there only until the next one.
func held(rec *record, msg []byte, text int) refusal {
	f := refusal{record: *rec, text: text}
	f.b = bytes.Clone(rec.b)
	f.msg = f.b[len(f.b)-len(msg):]
	return f
}

const (
	maxRefused   = 32 // at one moment
	refusedApart = 50 * time.Millisecond
)

// answer gives the refusal before this record the request that the record names: "validation failed: token required" and
// "token required: GET /v1/daemon" are one. Refusals that are older have none.
func (r *reader) answer(rec *record, msg []byte, req string) {
	for i := range r.refused {
		f := &r.refused[i]
		_, reason, ok := bytes.Cut(f.msg, []byte("failed: "))
		if ok && len(reason) > 0 && bytes.HasPrefix(msg, reason) && rec.time.Wall.Sub(f.time.Wall).Abs() <= refusedApart {
			r.add(&f.record, f.msg, r.cues(f.msg), f.text, Refused, req)
			r.refused = slices.Delete(r.refused, i, i+1)
			return
		}
	}
}

// release tells refusals that no request was found for, up to a time.
func (r *reader) release(until time.Time) {
	n := 0
	for n < len(r.refused) && until.Sub(r.refused[n].time.Wall) > refusedApart {
		f := &r.refused[n]
		r.add(&f.record, f.msg, r.cues(f.msg), f.text, Refused, "")
		n++
	}
	r.refused = slices.Delete(r.refused, 0, n)
}

// add adds a record to its group.
func (r *reader) add(rec *record, msg []byte, has cues, text int, kind Kind, req string) {
	p := r.p
	e := Event{At: rec.at, Time: rec.time, Kind: kind, Severity: rec.severity, Cut: rec.cut}
	if text >= 0 {
		e.literals, e.not = texts[text].literals, texts[text].not
	}
	key := groupKey{text: text}
	switch kind {
	case Capacity, Alerts, MapChanged, ConfigChanged:
	case Flags:
		e.Note = string(msg)
	case Administration:
		key.peer, e.Request = r.ids.of([]byte(subject(msg))), req
	default:
		key.peer = r.peer(msg, has)
		e.Request = req
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
