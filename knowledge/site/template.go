package site

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"faultline/knowledge"
)

// template is a line as people write it: text that stands there as it is, {name} for a word that varies, {*} for anything.
type template struct {
	parts    []part
	literals []string // from the first that a scanner can look for on, in order
}

// part is text, or what varies.
type part struct {
	text   string
	name   string // "*": anything
	varies bool
}

// minLiteral is the shortest text that a scanner should look for, in bytes without spaces.
const minLiteral = 7

var captureName = regexp.MustCompile(`^[a-z]{1,20}$`)

// template reads a line. What is wrong with it is reported, and what is returned can be asked all the same.
func (r *reader) template(path, v string) *template {
	t := &template{}
	switch {
	case v == "":
		r.bad(path, "write the line's text, with {name} for parts that vary and {*} for anything")
		return t
	case len(v) > maxLine || !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl):
		r.bad(path, "write one line of at most %d bytes, without control characters", maxLine)
		return t
	}
	for rest := v; rest != ""; {
		text, after, more := strings.Cut(rest, "{")
		if more && strings.HasPrefix(after, "{") { // "{{" is a brace
			t.text(text + "{")
			rest = after[1:]
			continue
		}
		t.text(text)
		if !more {
			break
		}
		name, behind, closed := strings.Cut(after, "}")
		switch {
		case !closed:
			r.bad(path, "{%s is not closed; write a literal brace as {{", name)
			return t
		case name != "*" && !captureName.MatchString(name):
			r.bad(path, "{%s} is not a valid name: use at most 20 lowercase letters; write a literal brace as {{", name)
			return t
		case name != "*" && slices.Contains(t.names(), name):
			r.bad(path, "{%s} appears twice", name)
			return t
		case len(t.parts) > 0 && t.parts[len(t.parts)-1].varies:
			r.bad(path, "{%s} directly follows another placeholder, so where it begins is ambiguous", name)
			return t
		}
		t.parts = append(t.parts, part{name: name, varies: true})
		rest = behind
	}
	for _, p := range t.parts {
		if p.varies || strings.TrimSpace(p.text) == "" {
			continue
		}
		if len(t.literals) > 0 || len(strings.Join(strings.Fields(p.text), "")) >= minLiteral {
			t.literals = append(t.literals, p.text)
		}
	}
	if len(t.literals) == 0 {
		r.bad(path, "needs at least %d characters of literal text in a row, for the scanner to search for", minLiteral)
	}
	return t
}

func (t *template) text(s string) {
	if s == "" {
		return
	}
	if n := len(t.parts); n > 0 && !t.parts[n-1].varies {
		t.parts[n-1].text += s
		return
	}
	t.parts = append(t.parts, part{text: s})
}

// names are those of what varies.
func (t *template) names() (all []string) {
	for _, p := range t.parts {
		if p.varies && p.name != "*" {
			all = append(all, p.name)
		}
	}
	return all
}

// pattern is the expression that captures what varies; "" where the literals say everything.
func (t *template) pattern(names []knowledge.Name) string {
	if len(t.literals) == 0 || len(t.names()) == 0 && len(t.literals) == t.texts() {
		return ""
	}
	var b strings.Builder
	for _, p := range t.parts {
		switch {
		case !p.varies:
			b.WriteString(regexp.QuoteMeta(p.text))
		case p.name == "*":
			b.WriteString(".*?")
		default:
			b.WriteString("(?P<" + p.name + ">" + shape(p.name, names) + ")")
		}
	}
	return b.String()
}

// texts is how many parts are text.
func (t *template) texts() (n int) {
	for _, p := range t.parts {
		if !p.varies && strings.TrimSpace(p.text) != "" {
			n++
		}
	}
	return n
}

// shape is what a capture looks like, by what it names.
func shape(capture string, names []knowledge.Name) string {
	for _, n := range names {
		if n.Capture != capture {
			continue
		}
		switch n.Kind {
		case knowledge.AsRank, knowledge.AsMPIRank, knowledge.AsTask, knowledge.AsProcessIndex, knowledge.AsNodeIndex, knowledge.AsPID:
			return `\d+`
		case knowledge.AsHost, knowledge.AsServer:
			return `[A-Za-z0-9](?:[A-Za-z0-9._\-]*[A-Za-z0-9])?`
		case knowledge.AsReason:
			return `.+`
		}
	}
	return `[^\s,;'"()\[\]]+`
}
