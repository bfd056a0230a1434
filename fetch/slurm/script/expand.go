package script

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// words expands words to the commands that they may be.
func (in *reader) words(s *state, list []*syntax.Word) [][]string {
	out := [][]string{nil}
	for _, w := range list {
		var next [][]string
		for _, alt := range in.word(s, w) {
			for _, have := range out {
				if len(next) < mostVariants && len(have)+len(alt) <= mostFields {
					next = append(next, append(slices.Clone(have), alt...))
				}
			}
		}
		if len(next) > 0 {
			out = next
		}
	}
	return out
}

// one expands a word that is not split: the value of an assignment, the target of a redirection.
func (in *reader) one(s *state, w *syntax.Word) []string {
	if w == nil {
		return []string{""}
	}
	var out []string
	for _, p := range in.parts(s, w.Parts, true) {
		if t := strings.Join(p.list(), " "); !slices.Contains(out, t) && len(out) < mostValues {
			out = append(out, t)
		}
	}
	return out
}

// word expands a word to fields.
func (in *reader) word(s *state, w *syntax.Word) (alts [][]string) {
	if braced(w) {
		var fields []string
		for _, v := range braces(w) {
			for _, alt := range in.parts(s, v.Parts, false)[:1] {
				fields = append(fields, alt.list()...)
			}
		}
		return [][]string{fields}
	}
	for _, p := range in.parts(s, w.Parts, false) {
		alts = append(alts, p.list())
	}
	return alts
}

func braced(w *syntax.Word) bool {
	syntax.SplitBraces(w)
	return slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool { _, ok := p.(*syntax.BraceExp); return ok })
}

// braces are the words that a word with {a,b} or {1..4} stands for.
func braces(w *syntax.Word) []*syntax.Word {
	i := slices.IndexFunc(w.Parts, func(p syntax.WordPart) bool { _, ok := p.(*syntax.BraceExp); return ok })
	if i < 0 {
		return []*syntax.Word{w}
	}
	b := w.Parts[i].(*syntax.BraceExp) //nolint:forcetypeassert // IndexFunc saw it
	elems := b.Elems
	if b.Sequence {
		elems = sequence(b)
	}
	var out []*syntax.Word
	for _, e := range elems {
		v := &syntax.Word{Parts: slices.Concat(w.Parts[:i], e.Parts, w.Parts[i+1:])}
		for _, x := range braces(v) {
			if len(out) < mostTurns {
				out = append(out, x)
			}
		}
	}
	return out
}

func sequence(b *syntax.BraceExp) (list []*syntax.Word) {
	from, err := strconv.Atoi(b.Elems[0].Lit())
	to, err2 := strconv.Atoi(b.Elems[1].Lit())
	if err != nil || err2 != nil || from > to {
		return b.Elems[:1]
	}
	for n := from; n <= to && len(list) < mostTurns; n++ {
		list = append(list, &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: strconv.Itoa(n)}}})
	}
	return list
}

// piece is a word that is being put together.
type piece struct {
	fields []string
	cur    string
	in     bool
}

func (p piece) list() []string {
	if p.in {
		return append(slices.Clone(p.fields), p.cur)
	}
	return p.fields
}

// add puts a text behind what there is, quoted or where it is not split.
func (p piece) add(t string) piece {
	if len(p.cur)+len(t) <= mostText {
		p.cur += t
	}
	p.in = true
	return p
}

// split puts an expansion behind what there is, cut at its spaces.
func (p piece) split(t string) piece {
	if t == "" {
		return p
	}
	fields := strings.Fields(t)
	if strings.TrimLeft(t, " \t\n") != t || len(fields) == 0 {
		p = p.end()
	}
	for i, f := range fields {
		if i > 0 {
			p = p.end()
		}
		p = p.add(f)
	}
	if strings.TrimRight(t, " \t\n") != t {
		p = p.end()
	}
	return p
}

func (p piece) end() piece {
	if p.in {
		p.fields = append(slices.Clone(p.fields), p.cur)
	}
	p.cur, p.in = "", false
	return p
}

// parts expands the parts of a word. quoted: nothing is split.
func (in *reader) parts(s *state, parts []syntax.WordPart, quoted bool) []piece {
	alts := []piece{{}}
	if quoted {
		alts[0].in = true
	}
	// every applies the alternatives of one part to all that there are.
	every := func(values [][]string, put func(piece, []string) piece) {
		var next []piece
		for _, v := range values {
			for _, p := range alts {
				if len(next) < mostVariants {
					next = append(next, put(p, v))
				}
			}
		}
		if len(next) > 0 {
			alts = next
		}
	}
	put := func(p piece, list []string) piece {
		if quoted {
			return p.add(strings.Join(list, " "))
		}
		for i, t := range list {
			if i > 0 {
				p = p.end()
			}
			p = p.split(t)
		}
		return p
	}
	for i, part := range parts {
		switch x := part.(type) {
		case *syntax.Lit:
			t := literal(x.Value, false)
			if i == 0 && strings.HasPrefix(t, "~") {
				t = in.tilde(s, t)
			}
			every([][]string{{t}}, func(p piece, l []string) piece { return p.add(l[0]) })
		case *syntax.SglQuoted:
			every([][]string{{x.Value}}, func(p piece, l []string) piece { return p.add(l[0]) })
		case *syntax.DblQuoted:
			every(in.inQuotes(s, x), func(p piece, l []string) piece {
				for i, t := range l {
					if i > 0 {
						p = p.end()
					}
					p = p.add(t)
				}
				return p
			})
		case *syntax.ParamExp:
			values := in.param(s, x)
			if quoted && isStar(x) {
				values = joined(values, separator(s))
			}
			every(values, put)
		case *syntax.CmdSubst:
			every(lists(in.output(s, x.Stmts)), put)
		case *syntax.ArithmExp:
			every([][]string{{in.arithmetic(s, x.X)}}, put)
		case *syntax.ProcSubst:
			in.stmts(s.clone(), x.Stmts)
			every([][]string{{"/dev/fd/63"}}, put)
		default:
			every([][]string{{string(anything)}}, put)
		}
	}
	return alts
}

// inQuotes is what stands between double quotes: one field, or those of "${list[@]}".
func (in *reader) inQuotes(s *state, q *syntax.DblQuoted) [][]string {
	if len(q.Parts) == 1 {
		if p, ok := q.Parts[0].(*syntax.ParamExp); ok && (p.Param != nil && p.Param.Value == "@" || isAt(p.Index)) && !isStar(p) {
			return in.param(s, p)
		}
	}
	out := [][]string{{""}}
	for _, part := range q.Parts {
		var values []string
		if l, ok := part.(*syntax.Lit); ok {
			values = []string{literal(l.Value, true)}
		} else {
			for _, p := range in.parts(s, []syntax.WordPart{part}, true) {
				values = append(values, strings.Join(p.list(), " "))
			}
		}
		var next [][]string
		for _, v := range values {
			for _, have := range out {
				if len(next) < mostVariants {
					next = append(next, []string{have[0] + v})
				}
			}
		}
		out = next
	}
	return out
}

func isAt(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// isStar says that an expansion between quotes is one word: "$*", "${list[*]}".
func isStar(p *syntax.ParamExp) bool {
	w, ok := p.Index.(*syntax.Word)
	return p.Param != nil && p.Param.Value == "*" || ok && w.Lit() == "*"
}

// separator is what "$*" puts between words.
func separator(s *state) string {
	if ifs, ok := s.vars["IFS"]; ok && len(ifs.alts) > 0 && len(ifs.alts[0]) > 0 {
		for _, r := range ifs.alts[0][0] {
			return string(r)
		}
		return ""
	}
	return " "
}

func joined(alts [][]string, by string) (out [][]string) {
	for _, a := range alts {
		out = append(out, []string{strings.Join(a, by)})
	}
	return out
}

// longestPath is PATH_MAX of Linux.
const longestPath = 4096

// bounded keeps a few alternatives; of more it keeps what they have in common.
func (in *reader) bounded(alts [][]string) [][]string {
	if len(alts) <= mostValues {
		return alts
	}
	in.steps += len(alts) / 64 // a script may compare a long list in every statement
	texts := make([]string, len(alts))
	for i, a := range alts {
		switch {
		case len(a) != 1:
			return alts[:mostValues]
		case len(a[0]) > longestPath:
			return [][]string{{in.outside("a value of the script that is too long for a path")}}
		}
		texts[i] = strings.ToValidUTF8(a[0], string(anything)) // runes are compared, and bytes are cut
	}
	first, last := texts[0], texts[0]
	for _, t := range texts[1:] {
		first, last = commonStart(first, t), reverse(commonStart(reverse(last), reverse(t)))
	}
	for _, t := range texts {
		if over := len(first) + len(last) - len(t); over > 0 {
			last = last[over:]
		}
	}
	between := string(anything)
	if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t[len(first):len(t)-len(last)], "/") }) {
		between = in.outside("one of " + strconv.Itoa(len(alts)) + " values in the script")
	}
	return [][]string{{first + between + last}}
}

func commonStart(a, b string) string {
	ra, rb := []rune(a), []rune(b)
	n := 0
	for n < len(ra) && n < len(rb) && ra[n] == rb[n] {
		n++
	}
	return string(ra[:n])
}

func reverse(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}

// literal takes the backslashes away as bash does.
func literal(t string, quoted bool) string {
	if !strings.Contains(t, `\`) {
		return t
	}
	var b strings.Builder
	for i := 0; i < len(t); i++ {
		if t[i] != '\\' || i+1 == len(t) || quoted && strings.IndexByte("$`\"\\\n", t[i+1]) < 0 {
			b.WriteByte(t[i])
			continue
		}
		if i++; t[i] != '\n' {
			b.WriteByte(t[i])
		}
	}
	return b.String()
}

func (in *reader) tilde(s *state, t string) string {
	who, rest, cut := strings.Cut(t[1:], "/")
	if cut {
		rest = "/" + rest
	}
	if who == "" {
		return in.homeOf(s) + rest
	}
	return in.outside("~"+who) + rest
}

func (in *reader) homeOf(s *state) string {
	if s.home != "" {
		return s.home
	}
	return in.outside("$HOME")
}

func lists(texts []string) (out [][]string) {
	for _, t := range texts {
		out = append(out, []string{t})
	}
	return out
}

// plain shows a value to a person.
func (in *reader) plain(s string) string {
	p, outside := in.toPattern(s, Step)
	for _, o := range outside {
		p = strings.Replace(p, "\x1a", o, 1)
	}
	return strings.ReplaceAll(p, "\x1a", "*")
}
