package aislog

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"faultline/analysis/ascii"
)

const (
	maxText = 480 // of a record that is kept; its place gives the rest
	maxName = 256
	maxID   = 64
)

// clip is b as text, bounded, without what a terminal would obey.
func clip(b []byte, most int) string {
	if len(b) > most {
		b = b[:most]
		for len(b) > 0 && !utf8.Valid(b[max(0, len(b)-utf8.UTFMax):]) && utf8.RuneStart(b[len(b)-1]) {
			b = b[:len(b)-1]
		}
	}
	return strings.ToValidUTF8(string(b), "?")
}

// describe fills in the text, and what of it can be matched with other lines but for the peer and the request.
func (e *Event) describe(raw, msg []byte) {
	e.Text = clip(raw, maxText)
	if e.Kind == Flags {
		return
	}
	e.Object = object(msg)
	if e.Kind == Administration {
		e.Action = action(msg)
	}
	e.Job = between(msg, "x-get-batch[", "]")
	if e.Job == "" {
		e.Job = between(msg, "get-batch[", "]")
	}
	if e.Job == "" {
		e.Job = between(msg, "rebalance[", "]")
	}
	e.Work = token(msg, "wid=")
	if e.Work == "" {
		e.Work = between(msg, `wid="`, `"`)
	}
	if e.Work == "" {
		e.Work = token(msg, "unknown wid ")
	}
	e.Address = token(msg, "dial tcp ")
	if e.Address == "" {
		e.Address = token(msg, "dial tcp4 ")
	}
	if _, to, ok := strings.Cut(token(msg, "write tcp4 "), "->"); ok && e.Address == "" {
		e.Address = to
	}
	e.Address = strings.TrimSuffix(e.Address, ":")
}

// action is the request by which the cluster was changed: "aism[start-maintenance[uuid]]", "x-delete-listrange[uuid]",
// "p[id]: start-maintenance([t[id]]) opts=".
func action(msg []byte) string {
	if _, rest, ok := bytes.Cut(msg, []byte("aism[")); ok {
		if n := bytes.IndexAny(rest, "[],"); n > 0 && n <= maxID {
			return clip(rest[:n], maxID)
		}
	}
	for _, verb := range []string{"start-maintenance", "decommission-node", "shutdown-node", "rm-unsafe", "delete-listrange", "evict-listrange",
		"destroy-bck", "evict-remote-bck", "move-bck", "set-bprops"} {
		if bytes.Contains(msg, []byte(verb)) {
			return verb
		}
	}
	if bytes.Contains(msg, []byte("removed mountpath")) {
		return "detach-mp"
	}
	return ""
}

// subject is the daemon that an administrator's request is about: "aism[decommission[g4], name=id]", "start-maintenance([t[id]]) opts=".
func subject(msg []byte) string {
	if _, rest, ok := bytes.Cut(msg, []byte("aism[")); ok {
		if _, name, ok := bytes.Cut(rest[:min(len(rest), 4*maxID)], []byte(", name=")); ok {
			return bare(strings.TrimRight(token(name, ""), "]"))
		}
		return ""
	}
	if id := bare(between(msg, " reb=false [", "]")); id != "" {
		return id
	}
	return bare(between(msg, "([", "]"))
}

// peer is the other daemon that a record names: the end of a stream that is not the daemon itself, else the last daemon
// named that is not. The call chain at the end names the daemon itself and who had called it.
func (r *reader) peer(msg []byte, has cues) string {
	self := r.self()
	if has.any(cueStream) {
		if s := between(msg, "shared-dm[", "]"); s != "" {
			for _, arrow := range []string{"<=>", "=>", "<="} {
				if a, b, ok := strings.Cut(s, arrow); ok {
					if a = bare(a); a != self && a != "" {
						return a
					}
					return bare(b)
				}
			}
		}
	}
	if has.any(cueReconnect | cueTarget) {
		for _, before := range []string{"failed reconnecting to ", "reconnect/send: shared-dm --> ", "successful reconnect from ", "?tid=", "&tid="} {
			if s := bare(token(msg, before)); s != "" && s != self {
				return s
			}
		}
	}
	id := otherNamed(msg, self)
	if id == nil {
		return ""
	}
	return r.ids.of(id)
}

// peerOf is the daemon that a record of self names, for a record that is no stream's.
func peerOf(msg []byte, self string) string { return string(otherNamed(msg, self)) }

// otherNamed is the first daemon that a record names beside its writer, before the call chain at its end and the cluster map.
func otherNamed(msg []byte, self string) []byte {
	if i := bytes.Index(msg, []byte(" (called by ")); i >= 0 {
		msg = msg[:i]
	}
	if i := bytes.Index(msg, []byte("Smap v")); i > 0 && bytes.Contains(msg[:i], []byte("[")) {
		msg = msg[:i] // it names the primary
	}
	for rest := msg; ; {
		i := bytes.IndexByte(rest, '[')
		if i < 1 || i+1 >= len(rest) {
			return nil
		}
		if c := rest[i-1]; (c == 't' || c == 'p') && (i == 1 || !word(rest[i-2])) {
			if end := bytes.IndexByte(rest[i:], ']'); end > 1 && end <= maxID {
				if id := rest[i+1 : i+end]; string(id) != self && ident(id) {
					return id
				}
			}
		}
		rest = rest[i+1:]
	}
}

// cues are strings without which a record says certain things not: all are looked for in one go, and most records of a storm
// hold none of them.
type cues uint8

const (
	cueStream cues = 1 << iota
	cueReconnect
	cueTarget
	cueRequest
)

func (c cues) any(of cues) bool { return c&of != 0 }

// cueTexts are what the scanner of cues looks for.
var cueTexts = []struct {
	text string
	cue  cues
}{
	{"shared-dm[", cueStream}, {"reconnect", cueReconnect}, {"?tid=", cueTarget}, {"&tid=", cueTarget},
	{" /v1/", cueRequest},
}

func (r *reader) cues(msg []byte) cues {
	r.found = r.hints.Find(r.found[:0], msg)
	out := cues(0)
	for _, id := range r.found {
		out |= cueTexts[id].cue
	}
	return out
}

// interned gives every name one string: a storm names the same few daemons again and again.
type interned map[string]string

func (n *interned) of(b []byte) string {
	const most = 1024
	if s, ok := (*n)[string(b)]; ok {
		return s
	}
	s := string(b)
	if *n == nil {
		*n = interned{}
	}
	if len(*n) < most {
		(*n)[s] = s
	}
	return s
}

func word(c byte) bool {
	return c == '_' || c == '-' || ascii.Alnum(c)
}

// ident says that s can be the id of a daemon.
func ident[T string | []byte](s T) bool {
	for i := range len(s) {
		if !word(s[i]) && s[i] != '.' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= maxID
}

// bare is the id in "t[id]" or "id", "" if it cannot be one.
func bare(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 3 && (s[0] == 't' || s[0] == 'p') && s[1] == '[' {
		s = s[2:]
	}
	s, _, _ = strings.Cut(s, "]")
	if !ident(s) {
		return ""
	}
	return s
}

// object is the first object that a record names: "ais://lab/o/000258", or that of a request for one.
func object(msg []byte) string {
	for from := 0; ; {
		i := bytes.Index(msg[from:], []byte("://"))
		if i < 0 {
			break
		}
		i += from
		from = i + 3
		start := i
		for start > 0 && (word(msg[start-1]) || msg[start-1] == '@' || msg[start-1] == '#') {
			start--
		}
		switch string(msg[start:i]) {
		case "http", "https", "":
			continue
		}
		end := from
		for end < len(msg) && !bytes.ContainsRune([]byte(" ,])(\"\t"), rune(msg[end])) {
			end++
		}
		if name := bytes.TrimRight(msg[start:end], ":"); bytes.IndexByte(name[i-start+3:], '/') > 0 {
			return clip(name, maxName)
		}
	}
	return ""
}

// request is the method and path of a request that failed.
func request(msg []byte, has cues) string {
	if !has.any(cueRequest) {
		return ""
	}
	i := bytes.LastIndex(msg, []byte(" /v1/"))
	if i < 0 {
		return ""
	}
	start := bytes.LastIndexByte(msg[:i], ' ') + 1
	end := i + 1
	for end < len(msg) && msg[end] != ' ' && msg[end] != '?' && msg[end] != '"' {
		end++
	}
	if slices.Contains([]string{"GET", "PUT", "POST", "HEAD", "DELETE", "PATCH"}, string(msg[start:i])) {
		return clip(msg[start:end], maxName)
	}
	return ""
}

// adminRequest says that a request asks about the cluster and not for data.
func adminRequest(r string) bool {
	_, path, _ := strings.Cut(r, " ")
	for _, p := range []string{"/v1/daemon", "/v1/cluster", "/v1/reverse", "/v1/health"} {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// between is what stands between two strings, "" if it is too long for an id.
func between(b []byte, open, end string) string {
	_, rest, ok := bytes.Cut(b, []byte(open))
	if !ok {
		return ""
	}
	i := bytes.Index(rest[:min(len(rest), 2*maxID)], []byte(end))
	if i < 0 {
		return ""
	}
	return clip(rest[:i], 2*maxID)
}

// token is the word after a string.
func token(b []byte, key string) string {
	_, rest, ok := bytes.Cut(b, []byte(key))
	if !ok {
		return ""
	}
	n := 0
	for n < len(rest) && n < 2*maxID && !bytes.ContainsRune([]byte(" ,;)(\t&?\""), rune(rest[n])) {
		n++
	}
	return clip(rest[:n], 2*maxID)
}

// shape is a message without what differs from one record to the next: numbers, names in brackets and quotes, paths.
func shape(msg []byte) string {
	const most = 96
	var out []byte
	for i := 0; i < len(msg) && len(out) < most; {
		switch c := msg[i]; {
		case ascii.Digit(c):
			for i < len(msg) && (ascii.Digit(msg[i]) || msg[i] == '.') {
				i++
			}
			out = append(out, '#')
		case c == '[' || c == '"':
			end := map[byte]byte{'[': ']', '"': '"'}[c]
			j := bytes.IndexByte(msg[i+1:], end)
			if j < 0 {
				j = len(msg) - i - 2
			}
			out = append(out, c, '*', end)
			i += j + 2
		case c == '/':
			for i < len(msg) && msg[i] != ' ' {
				i++
			}
			out = append(out, '/', '*')
		default:
			out = append(out, c)
			i++
		}
	}
	return clip(out, most)
}
