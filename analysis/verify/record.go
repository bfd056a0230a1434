package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"faultline/incident"
)

// record is what a predicate asks of the members of a segment that is a JSON object.
type record struct {
	all, none []incident.Member
	capture   string
}

// compileRecord is nil where nothing is asked of members.
func compileRecord(p *incident.Predicate, c *incident.Capture) (*record, error) {
	out := &record{all: p.Members, none: p.NotMembers}
	if c != nil {
		out.capture = c.Member
	}
	if len(out.all)+len(out.none) == 0 && out.capture == "" {
		return nil, nil
	}
	for _, m := range slices.Concat(p.Members, p.NotMembers) {
		if m.Name == "" || m.Value == "" {
			return nil, errors.New("a member without a name or a value")
		}
	}
	switch {
	case len(out.all) == 0:
		return nil, errors.New("members are excluded or captured, and none is asked for")
	case c != nil && (c.Key == "") == (c.Member == ""):
		return nil, errors.New("a capture takes either a key or a member")
	}
	return out, nil
}

// holds evaluates the members of a segment; value is what is captured.
func (r *record) holds(segment []byte) (ok bool, value string) {
	if len(segment) > incident.MaxRecord {
		return false, ""
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(segment, &members) != nil {
		return false, ""
	}
	is := func(m incident.Member) bool { return has(members[m.Name], m.Value) }
	if slices.ContainsFunc(r.none, is) || slices.ContainsFunc(r.all, func(m incident.Member) bool { return !is(m) }) {
		return false, ""
	}
	value, _ = scalar(members[r.capture])
	return true, value
}

// has says that a JSON value is the one wanted, or a list with it.
func has(raw json.RawMessage, want string) bool {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '[' {
		var list []json.RawMessage
		return json.Unmarshal(raw, &list) == nil && slices.ContainsFunc(list, func(e json.RawMessage) bool {
			v, ok := scalar(e)
			return ok && v == want
		})
	}
	v, ok := scalar(raw)
	return ok && v == want
}

// scalar is the text of a string, or a number, true or false as written.
func scalar(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n':
		return "", false
	case raw[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	}
	return string(raw), true
}
