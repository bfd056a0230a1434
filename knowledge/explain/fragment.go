package explain

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"faultline/knowledge"
)

// A fragment is less than a line: half of a message, or a few of its words. Many entries may hold it, and none of them is what was typed:
// the answer is the most general entry, never the proof that the whole line would be.

const (
	minPhrase   = 8 // bytes of a half message that is looked for as it stands
	maxPhrase   = 240
	maxPieces   = 4  // parts of a note
	maxFragment = 5  // words that are looked for wherever they stand
	stem        = 4  // letters that make a word more than a particle, and two words forms of one
	maxKinds    = 6  // what more failures than this print says nothing
	maxHolding  = 20 // and so does a word of more entries than this
)

// part finds the entries that hold a fragment, and puts the general one first.
func (f *finder) part(text string) (open bool) {
	found, open := general(holding(strings.ToLower(strings.Join(strings.Fields(text), " "))))
	for _, e := range found {
		e.Direct, e.Part = false, true
		f.add(e, byName, 0, "")
	}
	return open
}

// pieces finds what is known of each part of a short note that names something: "unhandled system error, ETIMEDOUT".
func (f *finder) pieces(text string) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' })
	if len(parts) < 2 || len(parts) > maxPieces || len(text) > maxPhrase {
		return
	}
	names := finder{known: f.known}
	for _, p := range parts {
		names.named(p)
	}
	if len(names.found) == 0 {
		return
	}
	for _, p := range parts {
		found, open := general(holding(strings.ToLower(strings.TrimSpace(p))))
		if !open && len(found) > 0 {
			e := found[0]
			e.Direct, e.Part = false, true
			f.add(e, byName, 0, "")
		}
		f.named(p)
	}
}

// holding are the entries that hold the text as it stands, else those that hold all of its words.
func holding(text string) []Entry {
	var out []Entry
	if len(text) >= minPhrase && len(text) <= maxPhrase && strings.Contains(text, " ") {
		for _, e := range all() {
			if strings.Contains(strings.ToLower(e.Example), text) || strings.Contains(strings.ToLower(e.Title), text) {
				out = append(out, e)
			}
		}
	}
	asked := tokens(text)
	tell := slices.ContainsFunc(asked, func(word string) bool { return len(word) >= stem }) && (len(asked) > 1 || asked[0] == text)
	if len(out) > 0 || !tell || len(asked) > maxFragment {
		return out
	}
	for _, s := range sayings() {
		if !slices.ContainsFunc(asked, func(word string) bool { return !s.says(word) }) {
			out = append(out, s.entry)
		}
	}
	if len(asked) == 1 && len(out) > maxHolding {
		return nil
	}
	return out
}

// saying is an entry about failures, with the words of its name, title and example.
type saying struct {
	entry Entry
	words []string
}

var sayings = sync.OnceValue(func() []saying {
	var out []saying
	for _, e := range all() {
		if e.Role != "" { // no term, no variable, no good end
			out = append(out, saying{e, tokens(e.ID + " " + e.Title + " " + e.Example)})
		}
	}
	return out
})

// says tells whether one of the words is the word that was asked for, in another form of it, or in full: OOM is out of memory.
func (s *saying) says(asked string) bool {
	if slices.ContainsFunc(s.words, func(w string) bool { return sameStem(w, asked) }) {
		return true
	}
	t, ok := knowledge.TermByName(asked)
	full := strings.Fields(strings.ToLower(t.Name))
	return ok && len(full) > 1 && !slices.ContainsFunc(full, func(w string) bool { return len(w) >= 3 && !slices.Contains(s.words, w) })
}

// sameStem is true of fail, failed and failure.
func sameStem(a, b string) bool {
	return a == b || min(len(a), len(b)) >= stem && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

// tokens are the words of three and more letters, small; NCCL of ProcessGroupNCCL and oom of oom_kill are words.
func tokens(text string) []string {
	var out []string
	from, last := 0, rune(0)
	take := func(to int) {
		if w := strings.ToLower(text[from:to]); len(w) >= 3 && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	for i, r := range text {
		switch {
		case !unicode.IsLetter(r):
			take(i)
			from = i + len(string(r))
		case unicode.IsUpper(r) && unicode.IsLower(last):
			take(i)
			from = i
		}
		last = r
	}
	take(len(text))
	return out
}

// general puts the most general of the entries that hold a fragment first. Where two thirds of them are of one failure, that is the failure;
// where as many name none, and say to look elsewhere, as name the commonest, it is the shortest of these. Else it is open which failure it is.
func general(held []Entry) (out []Entry, open bool) {
	if len(held) == 1 {
		return held, false
	}
	var elsewhere, failures []Entry
	n := map[knowledge.Slug]int{}
	for _, e := range held {
		m, ok := knowledge.MechanismBySlug(e.Mechanism)
		switch {
		case !ok && e.Role != "":
			elsewhere = append(elsewhere, e)
		case ok && n[m.Slug] == 0:
			failures = append(failures, ofMechanism(m))
			fallthrough
		case ok:
			n[m.Slug]++
		}
	}
	slices.SortStableFunc(elsewhere, func(a, b Entry) int { return len(a.Example) - len(b.Example) })
	slices.SortStableFunc(failures, func(a, b Entry) int { return n[b.Mechanism] - n[a.Mechanism] })
	switch {
	case len(failures) > 0 && 3*n[failures[0].Mechanism] >= 2*len(held):
		lines := slices.DeleteFunc(slices.Clone(held), func(e Entry) bool { return e.Kind == Mechanism || e.Mechanism != failures[0].Mechanism })
		return slices.Concat(failures[:1], lines, failures[1:], elsewhere), false
	case len(failures) == 0, len(elsewhere) >= n[failures[0].Mechanism]:
		return append(elsewhere, failures...), false
	case len(failures) > maxKinds:
		return nil, false
	}
	return failures, len(failures) > 0
}
