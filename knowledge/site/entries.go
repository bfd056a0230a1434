package site

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"faultline/config/strict"
	"faultline/knowledge"
)

// choice is one of the words that a key may have, with what it stands for.
type choice[T any] struct {
	word string
	is   T
}

var (
	roles = []choice[knowledge.Role]{{"cause", knowledge.CauseRole}, {"symptom", knowledge.SymptomRole}, {"consequence", knowledge.ConsequenceRole}, {"info", knowledge.InfoRole}}
	// proofs say whether a line confirms its mechanism.
	proofs = []choice[bool]{{"alone", true}, {"with-others", false}}
	blames = []choice[knowledge.Blame]{{"rank", knowledge.WritersRank}, {"node", knowledge.WritersNode}, {"either-end", knowledge.EitherEnd}}
	scopes = []choice[knowledge.Scope]{{"process", knowledge.ScopeProcess}, {"node", knowledge.ScopeNode}, {"fabric", knowledge.ScopeFabric}, {"storage", knowledge.ScopeStorage}, {"job", knowledge.ScopeJob}}
	kinds  = []choice[knowledge.NameKind]{{"rank", knowledge.AsRank}, {"mpi-rank", knowledge.AsMPIRank}, {"task", knowledge.AsTask}, {"process-index", knowledge.AsProcessIndex},
		{"node-index", knowledge.AsNodeIndex}, {"host", knowledge.AsHost}, {"address", knowledge.AsAddress}, {"pid", knowledge.AsPID}, {"server", knowledge.AsServer},
		{"gpu", knowledge.AsGPU}, {"device", knowledge.AsDevice}, {"path", knowledge.AsPath}, {"reason", knowledge.AsReason}}
	whose = []choice[knowledge.Whose]{{"writer", knowledge.Writer}, {"unheard", knowledge.Unheard}, {"lost", knowledge.Lost}, {"awaited", knowledge.Awaited},
		{"first-out", knowledge.FirstOut}, {"culprit", knowledge.Culprit}, {"mentioned", knowledge.Mentioned}}
)

// one finds what a word stands for; "" is the zero value.
func one[T any](r *reader, path, word string, choices []choice[T]) (is T) {
	if word == "" {
		return is
	}
	var words []string
	for _, c := range choices {
		if c.word == word {
			return c.is
		}
		words = append(words, c.word)
	}
	r.bad(path, "%q is not one of %s%s", word, strings.Join(words, ", "), strict.DidYouMean(word, words))
	return is
}

var id = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func (r *reader) failure(path string, f *failure) {
	s := knowledge.Signature{
		ID: r.id(path+".id", f.ID), Site: r.at(path), Not: r.nots(path, f.Not),
		Mechanism: r.mechanism(path+".mechanism", f.Mechanism), Role: one(r, path+".role", f.Role, roles),
		Direct: one(r, path+".proves", f.Proves, proofs), Blames: one(r, path+".blames", f.Blames, blames), Scope: one(r, path+".scope", f.Scope, scopes),
		Owner: r.owner(path+".owner", f.Owner), Meaning: r.plain(path+".meaning", f.Meaning),
	}
	if s.Role == "" {
		s.Role = knowledge.CauseRole
	}
	t := r.template(path+".line", f.Line)
	s.Names = r.names(path, f.Names, t)
	s.Literals, s.Pattern = t.literals, t.pattern(s.Names)
	for i, o := range f.LooksLike {
		s.LooksLike = append(s.LooksLike, r.mechanism(fmt.Sprintf("%s.looks_like[%d]", path, i), o))
	}
	s.Do = r.advice(path, f.Do, t)
	if s.Meaning == "" {
		r.bad(path+".meaning", "explain in one sentence what the line means")
	}
	switch {
	case s.Role == knowledge.CauseRole && f.Mechanism == "":
		r.bad(path+".mechanism", "a cause needs a mechanism; `bot explain --list` shows them")
	case s.Role != knowledge.CauseRole && s.Direct:
		r.bad(path+".proves", "only a cause can prove anything")
	case s.Blames == knowledge.WritersNode && !s.Direct:
		r.bad(path+".blames", "a line that blames its node must be a proof: proves: alone")
	}
	r.add(path, s, f.Examples)
}

func (r *reader) suppression(path string, f *suppression) {
	s := knowledge.Signature{
		ID: r.id(path+".id", f.ID), Site: r.at(path), Not: r.nots(path, f.Not), Role: knowledge.NoiseRole, Meaning: r.plain(path+".why", f.Why), Mutes: &knowledge.Mute{},
	}
	t := r.template(path+".line", f.Line)
	s.Literals, s.Pattern = t.literals, t.pattern(nil)
	if s.Meaning == "" {
		r.bad(path+".why", "explain in one sentence why these lines are noise here")
	}
	for i, c := range f.Causes {
		at := fmt.Sprintf("%s.causes[%d]", path, i)
		if o, ok := knowledge.Whole().Lookup(knowledge.ID(c)); !ok || !o.Proven() {
			r.bad(at, "%q is not a Faultline entry that proves a cause%s", c, strict.DidYouMean(c, r.allIDs()))
			continue
		}
		s.Mutes.Causes = append(s.Mutes.Causes, knowledge.ID(c))
	}
	r.add(path, s, f.Examples)
}

func (r *reader) action(path string, a *action) {
	act := knowledge.Act{Mechanism: r.mechanism(path+".mechanism", a.Mechanism), Entry: knowledge.ID(a.Entry), Owner: r.owner(path+".owner", a.Owner), Site: r.at(path)}
	act.Do = r.advice(path, a.Do, nil)
	switch {
	case (a.Mechanism == "") == (a.Entry == ""):
		r.bad(path, "give either a mechanism or an entry")
	case a.Owner == "" && len(a.Do) == 0:
		r.bad(path, "give an owner, or what to do first")
	}
	file, where := r.file, r.where
	r.late = append(r.late, func() {
		if r.file, r.where = file, where; a.Entry != "" && !r.known(a.Entry) {
			r.bad(path+".entry", "there is no entry %q%s", a.Entry, strict.DidYouMean(a.Entry, r.allIDs()))
		}
	})
	r.out.Acts = append(r.out.Acts, act)
}

// add takes an entry, and holds it to its examples.
func (r *reader) add(path string, s knowledge.Signature, examples []example) {
	if len(examples) == 0 {
		r.bad(path+".examples", "give at least one line exactly as logged; it serves as the entry's test")
	}
	if len(examples) > maxExamples {
		r.bad(path+".examples", "%d examples are more than %d", len(examples), maxExamples)
		return
	}
	var alone *knowledge.Catalogue
	if len(s.Literals) > 0 {
		alone = knowledge.Only(s)
	}
	for i, e := range examples {
		at := fmt.Sprintf("%s.examples[%d]", path, i)
		text := strings.TrimRight(e.Text, "\n")
		if text == "" || len(text) > maxExample {
			r.bad(at+".text", "write a line of 1 to %d bytes", maxExample)
			continue
		}
		out := Example{Entry: s.ID, Site: r.at(at), Text: text, Rank: NoRank, Expect: e.Expect}
		if e.Rank != nil {
			if out.Rank = *e.Rank; out.Rank < 0 || out.Rank > maxRank {
				r.bad(at+".rank", "%d is not between 0 and %d", out.Rank, maxRank)
			}
		}
		switch out.Expect {
		case Match, Nothing:
		case "":
			if out.Expect = Match; s.Role == knowledge.CauseRole && s.Direct {
				out.Expect = string(s.Mechanism)
			}
		default:
			r.mechanism(at+".expect", out.Expect)
		}
		if alone != nil {
			switch matches := knows(alone, text); {
			case matches && out.Expect == Nothing:
				r.bad(at+".text", "the line above matches this text but shouldn't")
			case !matches && out.Expect != Nothing:
				r.bad(at+".text", "the line above doesn't match this text")
			}
		}
		if s.Example == "" && out.Expect != Nothing {
			s.Example, _, _ = strings.Cut(text, "\n")
		}
		r.out.Examples = append(r.out.Examples, out)
	}
	r.out.Entries = append(r.out.Entries, s)
}

// maxRank bounds the rank of an example: one job of eight processes tries it out.
const maxRank = 7

// knows says that a line of a text is one of the catalogue's.
func knows(k *knowledge.Catalogue, text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if len(k.Match(nil, []byte(line))) > 0 {
			return true
		}
	}
	return false
}

func (r *reader) id(path, v string) knowledge.ID {
	if !id.MatchString(v) || len(v) > 64 {
		r.bad(path, "%q is not a valid id: use at most 64 lowercase letters, digits and hyphens", v)
		return ""
	}
	if _, taken := knowledge.Whole().Lookup(knowledge.ID(v)); taken {
		r.bad(path, "Faultline already has an entry %q: choose another id, or add an action for it", v)
	}
	if at, taken := r.ids[v]; taken {
		r.bad(path, "%s also defines %q", at, v)
	}
	r.ids[v] = r.at(path)
	return knowledge.ID(v)
}

func (r *reader) mechanism(path, v string) knowledge.Slug {
	if v == "" {
		return ""
	}
	if _, ok := knowledge.MechanismBySlug(knowledge.Slug(v)); !ok {
		var all []string
		for _, m := range knowledge.Mechanisms() {
			all = append(all, string(m.Slug))
		}
		r.bad(path, "there is no mechanism %q%s", v, strict.DidYouMean(v, all))
		return ""
	}
	return knowledge.Slug(v)
}

func (r *reader) owner(path, v string) knowledge.Owner {
	var owners []choice[knowledge.Owner]
	for _, o := range knowledge.Owners {
		owners = append(owners, choice[knowledge.Owner]{string(o), o})
	}
	return one(r, path, v, owners)
}

// text checks a sentence that people read.
func (r *reader) text(path, v string) string {
	v = strings.TrimSpace(v)
	switch {
	case len(v) > maxText:
		r.bad(path, "%d bytes are more than %d", len(v), maxText)
	case strings.ContainsFunc(v, unicode.IsControl):
		r.bad(path, "write it on one line, without control characters")
	}
	return v
}

// plain checks a sentence in which nothing is filled in.
func (r *reader) plain(path, v string) string {
	for _, name := range (knowledge.Advice{Text: v}).Unfilled() {
		r.bad(path, "{%s} isn't filled in here; only do and its command may contain it", name)
	}
	return r.text(path, v)
}

func (r *reader) nots(path string, list []string) []string {
	for i, not := range list {
		if r.text(fmt.Sprintf("%s.not[%d]", path, i), not); strings.TrimSpace(not) == "" {
			r.bad(fmt.Sprintf("%s.not[%d]", path, i), "is empty, so no line would match")
		}
	}
	return list
}

// advice checks what to do first. t is the line whose captures it may hold; nil where there is none.
func (r *reader) advice(path string, list []advice, t *template) (out []knowledge.Advice) {
	if len(list) > maxDo {
		r.bad(path+".do", "%d steps are more than %d: list only the first things to do", len(list), maxDo)
	}
	for i, a := range list {
		at := fmt.Sprintf("%s.do[%d]", path, i)
		d := knowledge.Advice{Text: r.text(at+".text", a.Text), Command: r.text(at+".command", a.Command)}
		if d.Text == "" {
			r.bad(at+".text", "say what to do")
		}
		for _, name := range d.Unfilled() {
			fills := knowledge.Placeholders
			if t != nil {
				fills = slices.Concat(fills, t.names())
			}
			if !slices.Contains(fills, name) {
				r.bad(at, "{%s} is unknown; you can use {%s}%s", name, strings.Join(fills, "}, {"), strict.DidYouMean(name, fills))
			}
		}
		out = append(out, d)
	}
	return out
}

func (r *reader) names(path string, list []name, t *template) (out []knowledge.Name) {
	for i, n := range list {
		at := fmt.Sprintf("%s.names[%d]", path, i)
		if !slices.Contains(t.names(), n.Capture) {
			r.bad(at+".capture", "the line has no {%s}%s", n.Capture, strict.DidYouMean(n.Capture, t.names()))
		}
		if n.Is == "" || n.Whose == "" {
			r.bad(at, "say what it is (is: host) and what the line says about it (whose: lost)")
		}
		out = append(out, knowledge.Name{Capture: n.Capture, Kind: one(r, at+".is", n.Is, kinds), Whose: one(r, at+".whose", n.Whose, whose)})
	}
	return out
}
