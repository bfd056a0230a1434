package script

import (
	"path"
	"regexp"
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

// byTask are variables that differ between what srun starts; in the batch script itself they are those of its first task.
var byTask = map[string][2]string{
	"SLURM_PROCID": {symbol('t'), "0"}, "SLURM_NODEID": {symbol('n'), "0"}, "SLURM_LOCALID": {string(anything), "0"}, "SLURM_GTIDS": {string(anything), "0"},
	"SLURMD_NODENAME": {symbol('N'), string(anything)}, "HOSTNAME": {symbol('N'), string(anything)}, "SLURM_TOPOLOGY_ADDR": {string(anything), string(anything)},
	"SLURM_STEP_ID": {symbol('s'), string(anything)}, "SLURM_STEPID": {symbol('s'), string(anything)},
	"RANK": {string(anything), ""}, "LOCAL_RANK": {string(anything), ""}, "GROUP_RANK": {string(anything), ""}, "NODE_RANK": {string(anything), ""},
	"OMPI_COMM_WORLD_RANK": {string(anything), ""}, "OMPI_COMM_WORLD_LOCAL_RANK": {string(anything), ""}, "PMI_RANK": {string(anything), ""}, "PMIX_RANK": {string(anything), ""},
}

// computed are variables whose values never hold a slash.
var computed = regexp.MustCompile(`^(?:SLURM_|CUDA_VISIBLE|BASHPID$|PPID$|RANDOM$|EPOCH|SECONDS$|UID$|EUID$|LINENO$|MASTER_|OMP_|HOSTTYPE$|OSTYPE$)`)

// lookup is what a variable may hold; ok is false where it is known not to be set.
func (in *reader) lookup(s *state, name string) (alts [][]string, ok bool) {
	if v, ok := s.vars[name]; ok {
		return v.alts, true
	}
	if v, ok := byTask[name]; ok && (s.step || v[1] != "") {
		if s.step {
			return [][]string{{v[0]}}, true
		}
		return [][]string{{v[1]}}, true
	}
	switch {
	case name == "@" || name == "*":
		return [][]string{s.args}, len(s.args) > 0
	case name == "0":
		if s.zero != "" {
			return [][]string{{s.zero}}, true
		}
		return [][]string{{in.outside("$0")}}, true
	case len(name) == 1 && name[0] >= '1' && name[0] <= '9':
		if n := int(name[0] - '0'); n <= len(s.args) {
			return [][]string{{s.args[n-1]}}, true
		}
		return nil, false
	case name == "#":
		return [][]string{{strconv.Itoa(len(s.args))}}, true
	case name == "?" || name == "$" || name == "!" || name == "-":
		return [][]string{{string(anything)}}, true
	case name == "PWD" || name == "SLURM_SUBMIT_DIR" && s.dir != "":
		return [][]string{{s.dir}}, s.dir != ""
	case name == "HOME":
		return [][]string{{in.homeOf(s)}}, true
	case s.unset[name]:
		return nil, false
	case computed.MatchString(name) && !strings.HasSuffix(name, "DIR"):
		return [][]string{{string(anything)}}, true
	}
	return [][]string{{in.outside("$" + name)}}, true
}

// given says that a variable is set by the script or a fact, and not just perhaps from outside.
func (in *reader) given(alts [][]string, ok bool) bool {
	return ok && !(len(alts) == 1 && len(alts[0]) == 1 && len([]rune(alts[0][0])) == 1 && open(alts[0][0]))
}

// param is what ${…} may stand for.
func (in *reader) param(s *state, p *syntax.ParamExp) [][]string {
	if p.Param == nil || p.Names != 0 || p.Length || p.Width || p.IsSet || p.Slice != nil {
		return [][]string{{string(anything)}}
	}
	alts, ok := in.lookup(s, p.Param.Value)
	if p.Excl {
		return in.indirect(s, alts)
	}
	if p.Param.Value == "BASH_SOURCE" && s.zero != "" {
		alts, ok = [][]string{{s.zero}}, true
	}
	switch {
	case p.Index == nil && p.Param.Value != "@" && p.Param.Value != "*":
		alts = firsts(alts)
	case p.Index != nil && !isAt(p.Index):
		alts = in.elements(alts, in.arithmetic(s, p.Index))
	}
	if p.Repl != nil {
		return in.replaced(s, alts, p.Repl)
	}
	if p.Exp == nil {
		if !ok {
			return [][]string{{""}}
		}
		return alts
	}
	return in.expansion(s, p.Exp, alts, ok)
}

func (in *reader) indirect(s *state, alts [][]string) [][]string {
	if len(alts) == 1 && len(alts[0]) == 1 && syntax.ValidName(alts[0][0]) {
		if alts, ok := in.lookup(s, alts[0][0]); ok {
			return alts
		}
	}
	return [][]string{{string(anything)}}
}

// firsts are the first elements, which $list stands for.
func firsts(alts [][]string) (out [][]string) {
	for _, a := range alts {
		if len(a) == 0 {
			a = []string{""}
		}
		out = append(out, a[:1])
	}
	return out
}

// elements are those with an index, all of them where it is not known.
func (in *reader) elements(alts [][]string, index string) (out [][]string) {
	n, err := strconv.Atoi(index)
	for _, a := range alts {
		switch {
		case err == nil && n < len(a) && n >= 0:
			out = append(out, a[n:n+1])
		case err != nil:
			for _, e := range a {
				out = append(out, []string{e})
			}
		}
	}
	if len(out) == 0 {
		return [][]string{{string(anything)}}
	}
	return in.bounded(out)
}

// expansion is ${a:-b} and its like.
func (in *reader) expansion(s *state, e *syntax.Expansion, alts [][]string, ok bool) [][]string {
	switch e.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !in.given(alts, ok) {
			return lists(in.one(s, e.Word))
		}
		var out [][]string
		for _, a := range alts {
			if len(a) == 1 && a[0] == "" {
				out = append(out, lists(in.one(s, e.Word))...)
			} else {
				out = append(out, a)
			}
		}
		return out
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		switch {
		case !ok:
			return [][]string{{""}}
		case in.given(alts, ok):
			return lists(in.one(s, e.Word))
		}
		return append(lists(in.one(s, e.Word)), []string{""})
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if !ok {
			return [][]string{{""}}
		}
		return alts
	}
	op := e.Op.String()
	var out [][]string
	for _, a := range alts {
		t := strings.Join(a, " ")
		word := in.one(s, e.Word)
		if !ok || t == "" {
			out = append(out, []string{""})
		} else {
			out = append(out, []string{in.trimmed(t, op, word[0])})
		}
	}
	return out
}

// trimmed is ${a#b}, ${a%b} and the like, where it can be told.
func (in *reader) trimmed(t, op, glob string) string {
	if marked(t) && strings.ContainsAny(glob, "*?[") && !(glob == "*/" && op == "##") && !(glob == "/*" && op == "%") {
		return string(anything)
	}
	switch op {
	case "##":
		if glob == "*/" {
			return path.Base(t)
		}
	case "%":
		if glob == "/*" {
			return path.Dir(t)
		}
		if !strings.ContainsAny(glob, "*?[") {
			return strings.TrimSuffix(t, glob)
		}
		if rest, ok := strings.CutSuffix(glob, "*"); ok {
			if i := strings.LastIndex(t, rest); i >= 0 {
				return t[:i]
			}
		}
	case "#":
		if !strings.ContainsAny(glob, "*?[") {
			return strings.TrimPrefix(t, glob)
		}
	case "%%":
		if rest, ok := strings.CutSuffix(glob, "*"); ok && !strings.ContainsAny(rest, "*?[") {
			before, _, _ := strings.Cut(t, rest)
			return before
		}
	case ",,", "^^":
		if !marked(t) {
			return map[string]func(string) string{",,": strings.ToLower, "^^": strings.ToUpper}[op](t)
		}
	}
	if strings.Contains(t, "/") {
		return in.outside("a part of " + in.plain(t))
	}
	return string(anything)
}

func (in *reader) replaced(s *state, alts [][]string, r *syntax.Replace) (out [][]string) {
	from, to := in.one(s, r.Orig)[0], in.one(s, r.With)[0]
	for _, a := range alts {
		t := strings.Join(a, " ")
		switch {
		case strings.ContainsAny(from, "*?[") || marked(from):
			out = append(out, []string{string(anything)})
		case r.All:
			out = append(out, []string{strings.ReplaceAll(t, from, to)})
		default:
			out = append(out, []string{strings.Replace(t, from, to, 1)})
		}
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

// arithmetic is the number of an expression that holds nothing but known numbers.
func (in *reader) arithmetic(s *state, x syntax.ArithmExpr) string {
	n, ok := in.sum(s, x)
	if !ok {
		return string(anything)
	}
	return strconv.Itoa(n)
}

func (in *reader) sum(s *state, x syntax.ArithmExpr) (int, bool) {
	switch x := x.(type) {
	case *syntax.Word:
		t := in.one(s, x)[0]
		if syntax.ValidName(t) {
			alts, ok := in.lookup(s, t)
			if !ok || len(alts) != 1 || len(alts[0]) != 1 {
				return 0, false
			}
			t = alts[0][0]
		}
		t = in.index(t)
		n, err := strconv.Atoi(strings.TrimSpace(t))
		return n, err == nil
	case *syntax.ParenArithm:
		return in.sum(s, x.X)
	case *syntax.BinaryArithm:
		a, ok := in.sum(s, x.X)
		b, ok2 := in.sum(s, x.Y)
		if !ok || !ok2 {
			return 0, false
		}
		switch x.Op.String() {
		case "+":
			return a + b, true
		case "-":
			return a - b, true
		case "*":
			return a * b, true
		case "/":
			if b != 0 {
				return a / b, true
			}
		case "%":
			if b != 0 {
				return a % b, true
			}
		case "<":
			return truth(a < b), true
		case "<=":
			return truth(a <= b), true
		case ">":
			return truth(a > b), true
		case ">=":
			return truth(a >= b), true
		case "==":
			return truth(a == b), true
		case "!=":
			return truth(a != b), true
		}
	}
	return 0, false
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// index is the job's number within its array where a text is nothing else, and the text itself otherwise.
func (in *reader) index(t string) string {
	if t == symbol('a') && in.facts.Task != "" {
		return in.facts.Task
	}
	return t
}

// compute follows an expression that sets variables: ((n = 3)), let "n = 2 * m".
func (in *reader) compute(s *state, x syntax.ArithmExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		t := in.one(s, x)[0]
		if e, err := syntax.NewParser().Arithmetic(strings.NewReader(t)); err == nil && strings.Contains(t, "=") {
			if _, again := e.(*syntax.Word); !again {
				in.compute(s, e)
			}
		}
	case *syntax.ParenArithm:
		in.compute(s, x.X)
	case *syntax.UnaryArithm:
		if w, ok := x.X.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
			s.set(w.Lit(), text(string(anything)))
		}
	case *syntax.BinaryArithm:
		w, ok := x.X.(*syntax.Word)
		switch {
		case x.Op == syntax.Comma:
			in.compute(s, x.X)
			in.compute(s, x.Y)
		case !ok || !strings.HasSuffix(x.Op.String(), "=") || !syntax.ValidName(w.Lit()) || isComparison(x.Op):
		case x.Op == syntax.Assgn:
			s.set(w.Lit(), text(in.arithmetic(s, x.Y)))
		default: // +=
			s.set(w.Lit(), text(string(anything)))
		}
	}
}

func isComparison(op syntax.BinAritOperator) bool {
	return op == syntax.Eql || op == syntax.Neq || op == syntax.Leq || op == syntax.Geq
}
