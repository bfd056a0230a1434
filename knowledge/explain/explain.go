// Package explain looks up what a person pastes (an error line, a traceback, an exit code, a word) in the tables of
// package knowledge. It explains wordings, never an incident: which rank broke a job is the engine's business.
package explain

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"faultline/knowledge"
	"faultline/knowledge/severity"
	"faultline/knowledge/stated"
)

// Kind says which table an entry is from.
type Kind string

const (
	Line      Kind = "line"      // the wording of a line
	Exception Kind = "exception" // the type of a Python exception
	Mechanism Kind = "mechanism"
	Exit      Kind = "exit" // an exit code or a signal
	Xid       Kind = "xid"
	Errno     Kind = "errno"
	Variable  Kind = "variable"
	Scheduler Kind = "scheduler" // a state of a job, or a reason why it waits or ended
	Term      Kind = "term"
	Cause     Kind = "cause" // of the closed list that messages state in words and codes of their own
)

// Entry is one thing that is known.
type Entry struct {
	Kind Kind
	// ID leads to this entry again when it is asked for: "gpu-oom-allocator", "exit code 137", "Xid 79".
	ID      string
	Title   string
	Meaning string
	// Role is empty where the question "cause or consequence?" makes no sense: a term, a variable.
	Role      knowledge.Role
	Direct    bool
	Mechanism knowledge.Slug  // slug, or ""
	Default   string          // of a variable
	Trap      string          // of a variable
	Cost      string          // of a variable, where it collects something
	Action    string          // what NVIDIA's catalogue tells to do about an Xid
	Cause     string          // what mostly brings a line about, where that is known
	Check     string          // what to look at first, beside the mechanism's advice; a second line is a command
	Owner     knowledge.Owner // who acts, where that differs from the mechanism's
	// Collect are settings that make the next run say more of it ("NAME=VALUE"); empty: those of the mechanism.
	Collect []string
	Source  string

	// Part: only a part of what the entry knows was asked about.
	Part bool

	Example string            // of a line
	Fields  map[string]string // what the pasted line says; nil where it says nothing more
	At      int               // number of the first pasted line that led here, from 1; 0 where the whole text did
	Count   int               // how many lines did
	Text    string            // that first line, clipped
}

// Answer is what is known about a text.
type Answer struct {
	Lines   int // how many lines were looked at
	Cut     bool
	Entries []Entry // best first
	More    int     // entries left out of Entries
	// Open: the text is part of what several failures print; the entries are those failures.
	Open bool
	// Nearest are the entries most similar to the text, where nothing matched. They are no answer.
	Nearest []Entry
	// Sounds is how bad the text sounds, in whatever software, where nothing matched.
	Sounds severity.Sign
}

// Bounds. What is pasted is hostile as a log is.
const (
	MaxText    = 256 << 10 // bytes that are looked at
	maxEntries = 40
	maxNearest = 5
	maxBroken  = 3   // so few lines may be one that a terminal broke, even where a part of it is known
	maxShown   = 400 // bytes of a pasted line that an entry repeats
)

// Text explains what somebody pasted. It must have been through the redactor: it is free of control sequences and secrets.
func Text(text string) Answer { return TextBy(knowledge.Whole(), text) }

// TextBy is Text by another catalogue.
func TextBy(known *knowledge.Catalogue, text string) Answer {
	var a Answer
	if len(text) > MaxText {
		text, a.Cut = strings.ToValidUTF8(text[:MaxText], ""), true
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	a.Lines = len(lines)
	f := finder{known: known}
	if len(lines) == 1 {
		f.named(lines[0])
	}
	traceback := strings.Contains(text, "Traceback (most recent call last)")
	for i, line := range lines {
		f.line(i+1, line, traceback)
		if sign := severity.Of([]byte(line)); sign.English != "" {
			f.line(i+1, sign.InEnglish(line), traceback)
		}
	}
	if len(lines) > 1 && (len(f.found) == 0 || len(lines) <= maxBroken) {
		f.line(0, strings.Join(strings.Fields(text), " "), traceback) // a terminal or a chat broke one line into several
	}
	if len(f.found) == 0 {
		a.Open = f.part(text)
	}
	if len(f.found) == 0 && len(lines) == 1 {
		f.pieces(lines[0])
	}
	a.Entries = f.sorted()
	if len(a.Entries) > maxEntries {
		a.More = len(a.Entries) - maxEntries
		a.Entries = a.Entries[:maxEntries]
	}
	if len(a.Entries) == 0 {
		a.Entries = stating(known, lines)
	}
	if len(lines) == 1 { // nobody needs to be told where
		for i := range a.Entries {
			a.Entries[i].At, a.Entries[i].Text = 0, ""
		}
	}
	if len(a.Entries) == 0 {
		a.Nearest = nearest(text)
		for _, line := range lines {
			if sign := severity.Of([]byte(line)); sign.Level > a.Sounds.Level {
				a.Sounds = sign
			}
		}
	}
	return a
}

// stating is what the first line that states a cause by itself means, where no table knows any of them.
func stating(known *knowledge.Catalogue, lines []string) []Entry {
	for i, line := range lines {
		st, ok := stated.Read("", line, known.Reads(stated.Codes))
		if c, listed := knowledge.CauseStated(st.Cause); ok && listed {
			e := Entry{Kind: Cause, ID: string(c.ID), Title: c.Title, Meaning: c.Meaning, Role: c.Role, Mechanism: c.Mechanism, Owner: c.Owner, Source: st.Of, At: i + 1, Text: line}
			e.Check = checkOf(&c.Signature, nil)
			return []Entry{e}
		}
	}
	return nil
}

// finder collects entries; each stands once, however many lines lead to it.
type finder struct {
	known *knowledge.Catalogue
	found []hit
	at    map[string]int // by kind and id: place in found
}

// atSite is an entry with who acts, and what to look at first, by the site's own word.
func (f *finder) atSite(e Entry) Entry {
	a, ok := f.known.Acts(knowledge.ID(e.ID), e.Mechanism)
	if !ok {
		return e
	}
	e.Owner = cmp.Or(a.Owner, e.Owner)
	for _, do := range a.Do[:min(len(a.Do), 1)] {
		filled := do.Fill(knowledge.WithCaptures(map[string]string{}, e.Fields))
		e.Check = filled.Text + " (" + knowledge.SiteWord + ": " + a.Site + ")\n" + filled.Command
	}
	return e
}

type hit struct {
	Entry
	rank  int // how the entry was reached: exact first
	order int // of finding
}

// Ways to an entry, best first.
const (
	byName = iota
	byNumber
	byWording
	byException
	byMention
)

func (f *finder) add(e Entry, rank, line int, text string) {
	key := string(e.Kind) + " " + e.ID
	if i, ok := f.at[key]; ok {
		if line > 0 { // not the lines once more, joined
			f.found[i].Count++
		}
		f.found[i].rank = min(f.found[i].rank, rank)
		return
	}
	if f.at == nil {
		f.at = map[string]int{}
	}
	e = f.atSite(e)
	e.At, e.Count, e.Text = line, 1, clip(text)
	f.at[key] = len(f.found)
	f.found = append(f.found, hit{e, rank, len(f.found)})
}

// weight orders by what a line can be: the cause first, noise last.
func weight(e Entry) int {
	switch e.Role {
	case knowledge.CauseRole:
		if e.Direct {
			return 0
		}
		return 1
	case knowledge.SymptomRole:
		if e.Kind == Exit { // how something ended says less than any line before it
			return 3
		}
		return 2
	case knowledge.ConsequenceRole:
		return 3
	case knowledge.NoiseRole:
		return 5
	}
	return 4
}

// sorted orders what was found: what was asked for by name; then causes before symptoms before consequences; then the
// earlier line, and on one line the wording before the number in it.
func (f *finder) sorted() []Entry {
	slices.SortStableFunc(f.found, func(a, b hit) int {
		named := func(h hit) bool { return h.rank <= byNumber && h.At == 0 }
		if named(a) != named(b) {
			return cmp.Compare(boolean(named(b)), boolean(named(a)))
		}
		if named(a) {
			return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.order, b.order))
		}
		if mention := cmp.Compare(boolean(a.rank == byMention), boolean(b.rank == byMention)); mention != 0 {
			return mention
		}
		return cmp.Or(cmp.Compare(weight(a.Entry), weight(b.Entry)), cmp.Compare(a.At, b.At),
			cmp.Compare(boolean(a.rank != byWording), boolean(b.rank != byWording)), cmp.Compare(a.order, b.order))
	})
	var out []Entry
	for _, h := range f.found {
		out = append(out, h.Entry)
	}
	return out
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func clip(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}

// List returns every entry there is, table by table: mechanisms, lines, exceptions, exits, Xids, errnos, the scheduler's words,
// variables, terms. The caller must not change it.
func List() []Entry { return all() }

// ListBy is List by another catalogue: what a site added stands in front.
func ListBy(known *knowledge.Catalogue) []Entry {
	var own []Entry
	for _, s := range known.Site().Entries {
		own = append(own, ofLine(s, nil))
	}
	return slices.Concat(own, all())
}

var all = sync.OnceValue(func() []Entry {
	var out []Entry
	for _, m := range knowledge.Mechanisms() {
		out = append(out, ofMechanism(m))
	}
	for _, s := range slices.Concat(knowledge.Whole().Signatures(), knowledge.Readings()) {
		out = append(out, ofLine(s, nil))
	}
	for _, m := range knowledge.Whole().Messages() {
		out = append(out, ofMessage(m))
	}
	for _, name := range knowledge.ExceptionTypes() {
		out = append(out, ofException(name))
	}
	for _, e := range knowledge.ExitCodes() {
		out = append(out, ofExit(e))
	}
	out = append(out, ofSlurmExit(0, 53), ofSlurmExit(0, 125))
	for _, x := range knowledge.Xids() {
		out = append(out, ofXid(x))
	}
	for _, e := range knowledge.Errnos() {
		out = append(out, ofErrno(e))
	}
	for _, w := range knowledge.SlurmWords() {
		out = append(out, ofWord(w, w.Name))
	}
	for _, v := range knowledge.Variables() {
		out = append(out, ofVariable(v))
	}
	for _, t := range knowledge.Glossary() {
		out = append(out, Entry{Kind: Term, ID: t.Name, Title: t.Name, Meaning: t.Text, Source: glossarySource})
	}
	for _, l := range knowledge.Links() {
		out = append(out, ofLink(&l))
	}
	return out
})
