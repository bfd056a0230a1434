package correlate

import (
	"net/url"
	"slices"
	"strings"

	"faultline/analysis/ascii"
)

// MarkKind is a kind of thing that a client's line and a daemon's line may both name.
type MarkKind uint8

// Kinds of marks, the more telling ones first.
const (
	Work    MarkKind = iota // a work item of a batch: one request, nowhere else in the world
	Object                  // bucket/name
	Breach                  // a broken stream and where in it: "A<=B 24576"
	Address                 // host:port
	Node                    // id of a daemon
	Reason                  // words by which a request is refused
)

// Mark is one such thing.
type Mark struct {
	Kind  MarkKind
	Value string
}

const (
	maxMarks = 24 // of one line
	maxValue = 256
)

// reasons are words that a server puts into its answer and into its log.
var reasons = []string{"token expired", "token required", "signature is invalid", "token is malformed", "insufficient permissions", "out of space",
	"no space left on device", "resource pressure", "ErrTooManyRequests", "ErrRateLimitFrontend", "SlowDown", "not ready yet"}

// broken are words for an answer that ended too early: the loader's and the daemon's of one moment.
var broken = []string{"Batch stream truncated at index", "IncompleteRead", "failed to transmit GET response", "(transmit) "}

// answerCut is what both sides tell of such an answer.
const answerCut = "answer cut off"

// marksOf finds what a line names that the other side may name, too.
func marksOf(s string) []Mark {
	m := marker{}
	for _, key := range []string{"wid=", "unknown wid ", "work item "} {
		m.each(s, key, func(rest string) { m.add(Work, workOf(rest)) })
	}
	m.each(s, "/noxid/", func(rest string) { m.add(Work, workOf(rest)) })
	m.each(s, "/t2tctrl/get-batch/", func(rest string) {
		if _, rest, ok := strings.Cut(rest[:min(len(rest), maxValue)], "/"); ok {
			m.add(Work, workOf(rest))
		}
	})
	m.each(s, "/v1/objects/", func(rest string) { m.add(Object, objectName(rest)) })
	m.urls(s)
	m.each(s, "bject ", m.lhotse)
	m.each(s, "dial tcp", func(rest string) {
		_, rest, _ = strings.Cut(rest, " ")
		m.add(Address, address(strings.TrimRight(until(rest, " ,;\"')]"), ":")))
	})
	m.each(s, "host='", func(rest string) {
		host, rest, ok := strings.Cut(rest[:min(len(rest), maxValue)], "', port=")
		if ok {
			m.add(Address, address(host+":"+digitsOf(rest)))
		}
	})
	m.nodes(s, "t[")
	m.nodes(s, "p[")
	m.each(s, "tid=", func(rest string) { m.add(Node, idOf(rest)) })
	m.each(s, "shared-dm[", m.stream)
	for _, r := range reasons {
		if strings.Contains(s, r) {
			m.add(Reason, r)
		}
	}
	if slices.ContainsFunc(broken, func(r string) bool { return strings.Contains(s, r) }) {
		m.add(Reason, answerCut)
	}
	return m.out
}

// urls reads "ais://lab/o/1" and "http://host:port/…".
func (m *marker) urls(s string) {
	for at := 0; ; {
		i := strings.Index(s[at:], "://")
		if i < 0 {
			return
		}
		i += at
		at = i + len("://")
		switch s[schemeAt(s, i):i] {
		case "":
		case "http", "https":
			host, _, _ := strings.Cut(until(s[at:], " \"'/?,)]>;"), "/")
			m.add(Address, address(host))
		default:
			m.add(Object, objectName(s[at:]))
		}
	}
}

// lhotse reads "object o/1 from bucket ais://lab", from the name on.
func (m *marker) lhotse(rest string) {
	name := until(rest, " ")
	_, bucket, ok := strings.Cut(rest[:min(len(rest), 2*maxValue)], " from bucket ")
	if !ok || name == "" {
		return
	}
	if _, b, ok := strings.Cut(bucket, "://"); ok {
		_, bucket = namespace(b)
	}
	if bucket = strings.TrimRight(until(bucket, " ,;\"')]"), ":."); bucket != "" && !strings.Contains(bucket, "/") {
		m.add(Object, bucket+"/"+name)
	}
}

// nodes reads "t[id]" where it is no end of a longer word.
func (m *marker) nodes(s, key string) {
	for at := 0; ; {
		i := strings.Index(s[at:], key)
		if i < 0 {
			return
		}
		i += at
		at = i + len(key)
		if i > 0 && wordByte(s[i-1]) {
			continue
		}
		if id, _, ok := strings.Cut(s[at:min(len(s), at+maxValue)], "]"); ok && idOf(id) == id {
			m.add(Node, id)
		}
	}
}

// stream reads "A<=B] … [ctx: n=24576", the ends of a data mover's stream and how far it came.
func (m *marker) stream(rest string) {
	ends, rest, ok := strings.Cut(rest[:min(len(rest), maxValue)], "]")
	_, n, counted := strings.Cut(rest, "[ctx: n=")
	if n = digitsOf(n); n == "0" {
		n = ""
	}
	if ok && counted && n != "" && strings.Contains(ends, "=") {
		m.add(Breach, ends+" "+n)
	}
	for _, id := range strings.FieldsFunc(ends, func(r rune) bool { return r == '<' || r == '=' || r == '>' }) {
		m.add(Node, idOf(id))
	}
}

type marker struct{ out []Mark }

func (m *marker) add(k MarkKind, v string) {
	if v != "" && len(v) <= maxValue && len(m.out) < maxMarks && !slices.Contains(m.out, Mark{k, v}) {
		m.out = append(m.out, Mark{k, v})
	}
}

// each visits what stands behind each occurrence of a key.
func (m *marker) each(s, key string, visit func(rest string)) {
	for range maxMarks {
		_, rest, ok := strings.Cut(s, key)
		if !ok {
			return
		}
		visit(rest)
		s = rest
	}
}

// until is s up to the first of some bytes, bounded.
func until(s, stops string) string {
	s = s[:min(len(s), maxValue)]
	if i := strings.IndexAny(s, stops); i >= 0 {
		return s[:i]
	}
	return s
}

func wordByte(c byte) bool {
	return c == '_' || c == '-' || ascii.Alnum(c)
}

// idOf is the identifier at the start of s.
func idOf(s string) string {
	n := 0
	for n < len(s) && n < maxValue && (wordByte(s[n]) || s[n] == '.') {
		n++
	}
	return strings.Trim(s[:n], ".")
}

// workOf is the work item at the start of s, with or without quotes. Short words are no ids.
func workOf(s string) string {
	id := idOf(strings.TrimLeft(s[:min(len(s), maxValue)], "\\\"'"))
	if len(id) < 5 {
		return ""
	}
	return id
}

func schemeAt(s string, end int) int {
	i := end
	for i > 0 && wordByte(s[i-1]) {
		i--
	}
	return i
}

// objectName is "bucket/name" at the start of s, without what an archive holds and how a URL writes it.
func objectName(s string) string {
	name := strings.TrimRight(until(s, " ?,\"'()[]<>|;\t"), ":.")
	_, name = namespace(name) // a URL states it elsewhere
	if strings.Contains(name, "%") {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
	}
	bucket, rest, ok := strings.Cut(name, "/")
	if !ok || bucket == "" || rest == "" {
		return ""
	}
	return name
}

// namespace takes the namespace off the front of a bucket's name: "@cluster#space/speech".
func namespace(s string) (space, rest string) {
	if s == "" || s[0] != '@' && s[0] != '#' {
		return "", s
	}
	n := strings.IndexAny(s[:min(len(s), maxValue)], "/ ")
	if n < 0 || s[n] == ' ' {
		return "", s
	}
	return s[:n], s[n+1:]
}

// address is host:port, "" if it is none.
func address(s string) string {
	i := strings.LastIndexByte(s, ':')
	if i < 1 || i+1 == len(s) || digitsOf(s[i+1:]) != s[i+1:] || len(s)-i > len(":65535") {
		return ""
	}
	return s
}

func digitsOf(s string) string {
	n := 0
	for n < len(s) && ascii.Digit(s[n]) {
		n++
	}
	return s[:n]
}
