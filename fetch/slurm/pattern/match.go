package pattern

import (
	"regexp"
	"strconv"
	"strings"
)

// suffixes are what people and rotation put behind a name.
var suffixes = []string{".gz", ".zst", ".xz", ".bz2", ".1", ".old"}

// unsuffixed is a name as SLURM made it, and whether something stood behind it.
func unsuffixed(name string) (string, bool) {
	cut := false
	for again := true; again; {
		again = false
		for _, s := range suffixes {
			if rest, ok := strings.CutSuffix(name, s); ok && rest != "" {
				name, again, cut = rest, true, true
			}
		}
	}
	return name, cut
}

// shapes are what an unknown symbol may look like in a name.
var shapes = map[byte]string{
	'j': `\d{1,10}`, 'A': `\d{1,10}`, 'a': `\d{1,10}`, 'b': `\d{1,10}`, 'n': `\d{1,10}`, 't': `\d{1,10}`, 'r': `\d{1,10}`, 's': `(?:\d{1,10}|batch|interactive)`,
	'J': `\d{1,10}(?:\.\d{1,10})?`, 'N': `[A-Za-z0-9][A-Za-z0-9_-]*`, 'u': `[^/]+?`, 'x': `.+?`, 'S': `[A-Za-z0-9]+`, Any[0]: `[^/]*?`,
}

// Matcher reads names of one pattern.
type Matcher struct {
	template Template
	context  Context
	known    Vars
	re       *regexp.Regexp
	free     []token // the symbols of the groups
}

// Matcher prepares the reading of names; what is known has to be so in a name. The release 0 is taken for any.
func (t Template) Matcher(c Context, known Vars) *Matcher {
	m := &Matcher{template: t, context: c, known: known}
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for _, k := range t.tokens {
		s, ok := k.text, true
		if k.sym != 0 {
			s, ok = k.value(c, known)
		}
		if ok {
			b.WriteString(regexp.QuoteMeta(s))
			continue
		}
		m.free = append(m.free, k)
		b.WriteString("(" + shapes[k.sym] + ")")
	}
	b.WriteString("$")
	re, err := regexp.Compile(b.String())
	if err != nil {
		return m // too large: fits nothing
	}
	m.re = re
	return m
}

// Match reads a name, with or without what compression and rotation put behind it. Two places of one symbol have to agree.
func (m *Matcher) Match(name string) (Vars, bool) {
	if m.re == nil {
		return Vars{}, false
	}
	if v, ok := m.exactly(name); ok {
		return v, true
	}
	if stem, cut := unsuffixed(name); cut {
		return m.exactly(stem)
	}
	return Vars{}, false
}

func (m *Matcher) exactly(name string) (Vars, bool) {
	found := m.re.FindStringSubmatch(name)
	if found == nil {
		return Vars{}, false
	}
	v := m.known
	for i, k := range m.free {
		if !k.set(&v, found[i+1], m.context) {
			return Vars{}, false
		}
	}
	// Whatever was read has to give the name again: widths, and symbols that stand in two places.
	if s, ok := m.template.Expand(m.context, v); ok && !strings.EqualFold(s, name) {
		return Vars{}, false
	}
	return v, true
}

// set notes what a symbol stood for; false where that contradicts another place.
func (k token) set(v *Vars, s string, c Context) bool {
	num := func(to *int, s string) bool {
		n, err := strconv.Atoi(s)
		if err != nil || *to != None && *to != n {
			return false
		}
		*to = n
		return true
	}
	word := func(to *string, s string) bool {
		if *to != "" && *to != s {
			return false
		}
		*to = s
		return true
	}
	switch k.sym {
	case 'j':
		return num(&v.Job, s)
	case 'J':
		id, step, ok := strings.Cut(s, ".")
		if ok != (c == Step) {
			return false
		}
		return num(&v.Job, id) && (!ok || word(&v.Step, step))
	case 'A':
		return num(&v.Array, absent(s))
	case 'a':
		return num(&v.Task, absent(s))
	case 'b', Any[0]:
		return true
	case 's':
		if n, err := strconv.Atoi(s); err == nil {
			s = strconv.Itoa(n)
		}
		return word(&v.Step, s)
	case 'n':
		return num(&v.Node, s)
	case 't':
		return num(&v.Rank, s)
	case 'r':
		return num(&v.Restart, s)
	case 'N':
		return word(&v.Host, s)
	case 'u':
		return word(&v.User, s)
	case 'x':
		return word(&v.Name, s)
	}
	return word(&v.SLUID, s)
}

// absent turns what SLURM prints for no array into its number here.
func absent(s string) string {
	if n, err := strconv.Atoi(s); err == nil && n == novalue {
		return strconv.Itoa(NoArray)
	}
	return s
}
