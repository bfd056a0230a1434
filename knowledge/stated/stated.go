// Package stated reads what the message of an error states about its cause: codes of public vocabularies, and short phrases in English.
// It reads one message, whoever raised it; whether that message ended a job is the engine's business.
package stated

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"faultline/knowledge"
	"faultline/pattern"
)

// Codes is the name under which a catalogue leaves out the codes of public vocabularies.
const Codes = "codes"

// Statement is what a message states.
type Statement struct {
	Cause knowledge.ID
	// Code is the code that states it, with its vocabulary; "" where words do.
	Code, Of string
	Store    bool // the vocabulary is one of stores
}

// Named is the code with its vocabulary; "" where words state the cause.
func (s Statement) Named() string { return strings.TrimSpace(s.Of + " " + s.Code) }

// mostText is how many bytes of a message are looked at: what is longer is a dump of data.
const mostText = 2 << 10

// Read tells what an error states, by its class as printed and its message. Words behind a code that names only a kind of error say
// more than that code; the name of the class says least. Without codes only words are read.
func Read(class, message string, codes bool) (Statement, bool) {
	message = message[:min(len(message), mostText)]
	if codes {
		if s, ok := coded(class+": "+message, false); ok {
			return s, true
		}
	}
	if s, ok := phrased(message); ok {
		return s.specific(class + " " + message), true
	}
	if codes {
		if s, ok := coded(message, true); ok {
			return s, true
		}
	}
	s, ok := phrased(class[strings.LastIndexAny(class, ".:")+1:])
	return s.specific(class + " " + message), ok
}

// HoldsCode says that a text holds a code of a vocabulary.
func HoldsCode(text string) bool {
	_, narrow := coded(text, false)
	_, wide := coded(text, true)
	return narrow || wide
}

// book is a vocabulary fit for look-up.
type book struct {
	*vocabulary
	after []*pattern.Regexp
	means map[string]knowledge.ID
}

var books = sync.OnceValue(func() []book {
	var out []book
	for i := range vocabularies {
		b := book{vocabulary: &vocabularies[i], means: map[string]knowledge.ID{}}
		for _, expr := range b.vocabulary.after {
			b.after = append(b.after, pattern.New(expr))
		}
		for id, codes := range b.codes {
			for code := range strings.FieldsSeq(codes) {
				b.means[code] = id
			}
		}
		out = append(out, b)
	}
	return out
})

var identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]{3,63}`)

// coded finds the first code that a vocabulary knows.
func coded(text string, wide bool) (Statement, bool) {
	names := sync.OnceValue(func() []string { return identifier.FindAllString(text, -1) })
	for _, b := range books() {
		if b.wide != wide {
			continue
		}
		codes := captured(b.after, text)
		if b.after == nil {
			codes = names()
		}
		for _, code := range codes {
			if id := b.means[code]; id != "" {
				return Statement{Cause: id, Code: code, Of: b.name, Store: b.store}, true
			}
		}
	}
	return Statement{}, false
}

func captured(exprs []*pattern.Regexp, text string) (out []string) {
	for _, e := range exprs {
		if m := e.FindStringSubmatch(text); m != nil {
			out = append(out, m[1])
		}
	}
	return out
}

// near is how many words may stand between a fate and its thing behind it: a name, a number; far how many behind a thing, which may have
// more words of its own: "the token of account x has expired".
const near, far = 3, 5

// phrased finds the first clause that states a cause in words, the last such part of it: behind a colon stands what happened.
func phrased(text string) (Statement, bool) {
	for _, sentence := range sentenceEnd.Split(text, -1) {
		var last knowledge.ID
		for _, clause := range clauseEnd.Split(sentence, -1) {
			last = cmp.Or(clausal(clause), last)
		}
		if last != "" {
			return Statement{Cause: last}, true
		}
	}
	return Statement{}, false
}

var (
	sentenceEnd = regexp.MustCompile(`[.;!?](?:\s|$)|\n`)
	clauseEnd   = regexp.MustCompile(`: |, | \(|\)|\]|\[| - | — `)
)

// found is a kind of word at some words of a clause.
type found[K any] struct {
	kind     K
	from, to int
	after    bool // the thing stands behind it: "no such", "out of"
}

func clausal(text string) knowledge.ID {
	words := wordsOf(text)
	if holdsAny(words, overcome) {
		return ""
	}
	lex := lexicon()
	ts, fs := occurrences(words, lex.things), occurrences(words, lex.fates)
	best, gap := knowledge.ID(""), far+1
	for _, f := range fs {
		f.after = opens[words[f.to-1]]
		for _, t := range ts {
			d, ok := apart(&t, &f)
			if !ok || d > gap || d == gap && t.from < f.from {
				continue
			}
			if id := meant[pair{t.kind, f.kind}]; id != "" && asserted(words, min(t.from, f.from)) {
				best, gap = id, d
			}
		}
	}
	if best != "" {
		return best
	}
	for _, a := range occurrences(words, lex.alone) {
		if asserted(words, a.from) {
			return a.kind
		}
	}
	return ""
}

// opens are the last words of fates behind which their thing stands.
var opens = map[string]bool{"of": true, "many": true, "such": true, "enough": true, "more": true, "free": true, "to": true, "find": true, "allocate": true, "connect": true, "reach": true, "contact": true,
	"locate": true, "new": true, "insufficient": true, "decode": true, "parse": true, "lacks": true, "requires": true}

// reach is how many words may stand between a fate and its thing behind it. Behind an adjective there is at most one more: "invalid token from
// the header" says nothing about a header.
func reach(f fate) int {
	switch f {
	case broken, bad, expired, skewed:
		return 1
	}
	return near
}

// apart is how many words stand between a thing and its fate.
func apart(t *found[thing], f *found[fate]) (int, bool) {
	switch {
	case t.from >= f.to:
		return t.from - f.to, t.from-f.to <= reach(f.kind)
	case f.from >= t.to && !f.after:
		return f.from - t.to, true
	}
	return 0, false
}

// specific tells memory of an accelerator, and quotas of requests, from others, by all of what an error says.
func (s Statement) specific(all string) Statement {
	if s.Cause != knowledge.StatesMemory && s.Cause != knowledge.StatesQuota {
		return s
	}
	words := wordsOf(all)
	switch {
	case s.Cause == knowledge.StatesMemory && holdsAny(words, onDevice):
		s.Cause = knowledge.StatesGPUMemory
	case s.Cause == knowledge.StatesMemory && !holdsAny(words, onHost):
		s.Cause = knowledge.StatesSomeMemory
	case s.Cause == knowledge.StatesQuota && holdsAny(words, ofRequests):
		s.Cause = knowledge.StatesThrottled
	case s.Cause == knowledge.StatesQuota && ofStorage.MatchString(all):
		s.Cause = knowledge.StatesFull
	}
	return s
}

// asserted says that no word before a phrase denies it or leaves it open. "No" is a part of some phrases, and then stands in them.
func asserted(words []string, at int) bool {
	return !holdsAny(words[:at], doubtful) && (at == 0 || !slices.Contains(denials, words[at-1]))
}

func holdsAny(words, list []string) bool {
	return slices.ContainsFunc(list, func(l string) bool {
		parts := strings.Fields(l)
		for i := range words {
			if matches(words[i:], parts) {
				return true
			}
		}
		return false
	})
}

func matches(words, parts []string) bool {
	return len(words) >= len(parts) && slices.Equal(words[:len(parts)], parts)
}

// lexicons are the phrases of all kinds by their first word, the longest first.
type lexicons struct {
	things byFirst[thing]
	fates  byFirst[fate]
	alone  byFirst[knowledge.ID]
}

type byFirst[K cmp.Ordered] map[string][]entry[K]

type entry[K any] struct {
	kind  K
	parts []string
}

var lexicon = sync.OnceValue(func() lexicons {
	l := lexicons{byFirst[thing]{}, byFirst[fate]{}, byFirst[knowledge.ID]{}}
	for k, list := range things {
		for _, p := range list {
			l.things.enter(k, p)
			l.things.enter(k, p+"s")
		}
	}
	for k, list := range fates {
		for _, p := range list {
			l.fates.enter(k, p)
		}
	}
	for p, id := range alone {
		l.alone.enter(id, p)
	}
	return l
})

func (in byFirst[K]) enter(kind K, phrase string) {
	parts := strings.Fields(strings.ReplaceAll(phrase, "'", ""))
	in[parts[0]] = append(in[parts[0]], entry[K]{kind, parts})
	slices.SortFunc(in[parts[0]], func(a, b entry[K]) int {
		return cmp.Or(cmp.Compare(len(b.parts), len(a.parts)), slices.Compare(a.parts, b.parts), cmp.Compare(a.kind, b.kind))
	})
}

// occurrences finds phrases in words. Only the longest of those that begin at a word count, in all their kinds.
func occurrences[K cmp.Ordered](words []string, in byFirst[K]) (out []found[K]) {
	for i := 0; i < len(words); i++ {
		longest := 0
		for _, e := range in[words[i]] {
			if len(e.parts) < longest || !matches(words[i:], e.parts) {
				continue
			}
			longest = len(e.parts)
			out = append(out, found[K]{kind: e.kind, from: i, to: i + longest})
		}
		i += max(0, longest-1)
	}
	return out
}

var token = regexp.MustCompile(`'[^']{3,}'|"[^"]*"|[\w./:\\@%+=~-]*[/\\][\w./:\\@%+=~-]*|\w+(?:'\w+)?`)

// wordsOf splits a clause into words in lower case: names in camel case and with underscores into theirs. A number other than 0, a path or a
// quotation is an empty word, so that a phrase reaches across it.
func wordsOf(text string) (out []string) {
	for _, t := range token.FindAllString(text, 200) {
		if t[0] == '\'' || t[0] == '"' || strings.ContainsAny(t, `/\`) || t[0] >= '1' && t[0] <= '9' || t[0] == '0' && t != "0" {
			out = append(out, "")
			continue
		}
		from := 0
		for i := 1; i <= len(t); i++ {
			if i < len(t) && t[i] != '_' && t[i-1] != '_' && !humped(t, i) {
				continue
			}
			if part := strings.Trim(t[from:i], "_'"); part != "" {
				out = append(out, strings.ReplaceAll(strings.ToLower(part), "'", ""))
			}
			from = i
		}
	}
	return out
}

// humped says that a word in camel case begins at a letter: "ShardMissing", "HTTPServer".
func humped(t string, i int) bool {
	upper := func(c byte) bool { return c >= 'A' && c <= 'Z' }
	lower := func(c byte) bool { return c >= 'a' && c <= 'z' }
	return upper(t[i]) && (lower(t[i-1]) || i+1 < len(t) && upper(t[i-1]) && lower(t[i+1]))
}
