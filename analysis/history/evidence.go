package history

import (
	"bytes"
	"encoding/json"
	"slices"

	"faultline/incident"
)

// maxExcluded bounds how many runs a count may leave out by name.
const maxExcluded = 40

// count is evidence that the wanted runs are those whose lines have all of these members. Lines that have them and are not
// wanted (this run's own, runs that a surer line tells of) are left out by their ids. It has no answer where that does not
// come out even: then nobody may claim the number.
func (b *Book) count(wanted []*Run, members ...incident.Member) (incident.Evidence, bool) {
	if len(wanted) == 0 {
		return incident.Evidence{}, false
	}
	want := map[string]bool{}
	for _, r := range wanted {
		want[r.ID] = true
	}
	p := &incident.Predicate{Members: append([]incident.Member{{Name: "schema", Value: Schema}}, members...)}
	found, lines, out := map[string]bool{}, 0, map[string]bool{}
	for _, l := range b.lines {
		if slices.ContainsFunc(p.Members, func(m incident.Member) bool { return !l.has(m) }) {
			continue
		}
		id, ok := l.scalar("id")
		switch {
		case !ok || id == "":
			return incident.Evidence{}, false // it cannot be left out
		case want[id]:
			found[id] = true
			lines++
		default:
			out[id] = true
		}
	}
	if len(found) != len(want) || len(out) > maxExcluded {
		return incident.Evidence{}, false
	}
	for id := range out {
		p.NotMembers = append(p.NotMembers, incident.Member{Name: "id", Value: id})
	}
	slices.SortFunc(p.NotMembers, func(x, y incident.Member) int { return bytes.Compare([]byte(x.Value), []byte(y.Value)) })
	e := incident.Evidence{Kind: incident.KindCount, Files: slices.Clone(b.Files), N: int64(lines), Predicate: p}
	if lines != len(found) { // several lines tell of one run: the runs are counted by their names
		e = incident.Evidence{Kind: incident.KindSet, Files: e.Files, Predicate: p, Capture: &incident.Capture{Member: "id"}}
		for id := range found {
			e.Values = append(e.Values, id)
		}
		slices.Sort(e.Values)
	}
	return e, true
}

// has says what the verifier will find: the member is the value, or a list that holds it.
func (r *Run) has(m incident.Member) bool {
	raw := bytes.TrimSpace(r.members[m.Name].value)
	if len(raw) > 0 && raw[0] == '[' {
		var list []json.RawMessage
		return json.Unmarshal(raw, &list) == nil && slices.ContainsFunc(list, func(e json.RawMessage) bool {
			s, ok := plainValue(e)
			return ok && s == m.Value
		})
	}
	s, ok := plainValue(raw)
	return ok && s == m.Value
}

func (r *Run) scalar(name string) (string, bool) { return plainValue(r.members[name].value) }

func plainValue(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] == '[' || raw[0] == '{' || raw[0] == 'n' {
		return "", false
	}
	if raw[0] != '"' {
		return string(raw), true
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

// maxQuote bounds the part of a line that is quoted.
const maxQuote = 480

// quote quotes the part of a run's line that holds these members, beginning with the job where that is near. What names the
// submitter is never part of it.
func (r *Run) quote(names ...string) incident.Evidence {
	from, to := -1, -1
	for _, n := range names {
		m, ok := r.members[n]
		if !ok {
			continue
		}
		if from < 0 || m.from < from {
			from = m.from
		}
		to = max(to, m.to)
	}
	if from < 0 || to-from > maxQuote || r.personal(from, to) {
		m := r.members["id"]
		from, to = m.from, m.to
		if l, ok := r.members[first(names)]; ok && l.to-l.from <= maxQuote {
			from, to = l.from, l.to
		}
	}
	if m, ok := r.members["id"]; ok && m.from < from && to-m.from <= maxQuote && !r.personal(m.from, to) {
		from = m.from
	}
	return r.at(from, to)
}

func first(names []string) string {
	if len(names) == 0 {
		return "id"
	}
	return names[0]
}

func (r *Run) personal(from, to int) bool {
	m, ok := r.members["user"]
	return ok && m.from < to && from < m.to
}

// at quotes bytes of the line as they are.
func (r *Run) at(from, to int) incident.Evidence {
	e := incident.Quote(r.File, r.Line, r.Off+int64(from), "", nil)
	e.Span = to - from
	return e
}

// inner quotes one entry of a member that is an object: an argument, a version.
func (r *Run) inner(name, entry string) incident.Evidence {
	outer := r.members[name]
	base := outer.to - len(outer.value)
	ms, err := split(outer.value)
	if err == nil {
		for _, m := range ms {
			if m.name == entry && m.to-m.from <= maxQuote {
				return r.at(base+m.from, base+m.to)
			}
		}
	}
	return r.quote("id")
}
