package script

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// reader follows a script. It starts nothing and touches nothing: all that it reads comes through Facts.Open.
type reader struct {
	facts   Facts
	reading *Reading
	files   map[string]string // that the script itself writes, to run them
	names   map[rune]string   // of what comes from outside
	asked   map[string]bool   // functions whose output is being judged: one may call itself
	steps   int
	sruns   int
	emitted map[string]bool // keys of what a variant of a command writes, nil = none is followed
	left    leaving
	unsure  bool // an srun may not have been reached, or not in order: those behind it have no number
}

// function is one of the script's own.
type function struct{ body *syntax.Stmt }

// program follows a whole script. Where its text is no shell, it goes on below the line that is not.
func (in *reader) program(text string, s *state) {
	for tries := 0; tries < 8 && text != ""; tries++ {
		bad := uint(0)
		for stmt, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(strings.NewReader(text)) {
			if err != nil {
				bad = lineOf(err)
				break
			}
			if in.stmt(s, stmt); s.over {
				return // bash reads no further: what follows may be another language's
			}
		}
		if bad == 0 {
			return
		}
		if tries == 0 {
			in.unknown("a line of the script is not bash, so what it does is not known")
		}
		lines := strings.SplitAfterN(text, "\n", int(bad)+1)
		if len(lines) <= int(bad) {
			return
		}
		text = lines[bad]
	}
}

func lineOf(err error) uint {
	switch e := err.(type) { //nolint:errorlint // the parser returns these as they are
	case syntax.ParseError:
		return max(e.Pos.Line(), 1)
	case syntax.LangError:
		return max(e.Pos.Line(), 1)
	}
	return 1
}

func (in *reader) unknown(text string) {
	switch n := len(in.reading.Unknown); {
	case n > mostUnknown || slices.Contains(in.reading.Unknown, text):
	case n == mostUnknown:
		in.reading.Unknown = append(in.reading.Unknown, "the script leaves more open than these "+strconv.Itoa(mostUnknown)+" parts")
	default:
		in.reading.Unknown = append(in.reading.Unknown, text)
	}
}

// step counts a statement, and says where a script is too long to be followed to its end.
func (in *reader) step() bool {
	if in.steps++; in.steps <= mostSteps {
		return true
	}
	in.unknown("the script has too many statements to follow all of them")
	return false
}

func (in *reader) stmts(s *state, list []*syntax.Stmt) {
	for _, stmt := range list {
		in.stmt(s, stmt)
	}
}

func (in *reader) stmt(s *state, stmt *syntax.Stmt) {
	if s.over || stmt == nil || !in.step() {
		return
	}
	in.redirections(s, stmt)
	if stmt.Background && callsSrun(stmt) {
		in.unsure = true
	}
	switch x := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		in.callExpr(s, x, stmt.Redirs)
	case *syntax.BinaryCmd:
		in.binary(s, x)
	case *syntax.Block:
		in.stmts(s, x.Stmts)
	case *syntax.Subshell:
		in.stmts(s.clone(), x.Stmts)
	case *syntax.IfClause:
		in.ifClause(s, x)
	case *syntax.WhileClause:
		s.stdin = input{} // of which each turn reads a part
		if !in.counted(s, x) {
			in.stmts(s, x.Cond)
			in.turns(s, x.Do, x.Until || !always(x.Cond))
		}
	case *syntax.ForClause:
		in.forClause(s, x)
	case *syntax.CaseClause:
		in.caseClause(s, x)
	case *syntax.FuncDecl:
		if x.Name != nil {
			s.funcs[x.Name.Value] = function{x.Body}
		}
	case *syntax.DeclClause:
		in.declare(s, x)
	case *syntax.ArithmCmd:
		in.compute(s, x.X)
	case *syntax.LetClause:
		for _, e := range x.Exprs {
			in.compute(s, e)
		}
	case *syntax.TimeClause:
		in.stmt(s, x.Stmt)
	case *syntax.CoprocClause:
		in.stmt(s.clone(), x.Stmt)
	}
}

func callsSrun(stmt *syntax.Stmt) bool {
	for n := range syntax.Preorder(stmt) {
		if l, ok := n.(*syntax.Lit); ok && path.Base(l.Value) == "srun" {
			return true
		}
	}
	return false
}

func (in *reader) binary(s *state, x *syntax.BinaryCmd) {
	switch x.Op {
	case syntax.AndStmt:
		known, truth := in.condition(s, x.X)
		in.stmt(s, x.X)
		if known && !truth {
			return
		}
		in.branch(s, func(b *state) { in.stmt(b, x.Y) }, isTest(x.X) && !known)
	case syntax.OrStmt:
		known, truth := in.condition(s, x.X)
		in.stmt(s, x.X)
		if !known || !truth {
			in.branch(s, func(b *state) { in.stmt(b, x.Y) }, !known)
		}
	default: // a pipe
		in.stmt(s.clone(), x.X)
		to := s.clone()
		to.stdin, to.fed = input{}, s.fed || in.speaks(s, x.X)
		if call, ok := x.X.Cmd.(*syntax.CallExpr); ok {
			to.stdin = in.piped(s, call, x.X.Redirs)
		}
		in.stmt(to, x.Y)
	}
}

// branch follows what may or may not be done.
func (in *reader) branch(s *state, do func(*state), maybe bool) {
	if !maybe {
		do(s)
		return
	}
	b := s.clone()
	b.maybe = true
	do(b)
	kept := s.maybe
	*s = *in.join(s, b)
	s.maybe = kept
}

func (in *reader) ifClause(s *state, x *syntax.IfClause) {
	in.stmts(s, x.Cond)
	known, truth := false, false
	if len(x.Cond) == 1 {
		known, truth = in.condition(s, x.Cond[0])
	}
	switch {
	case known && truth, len(x.Cond) == 0: // else
		in.stmts(s, x.Then)
		return
	case known:
		if x.Else != nil {
			in.ifClause(s, x.Else)
		}
		return
	}
	yes, no, maybe := s.clone(), s.clone(), s.maybe
	yes.maybe, no.maybe = true, true
	in.stmts(yes, x.Then)
	if x.Else != nil {
		in.ifClause(no, x.Else)
	}
	*s = *in.join(yes, no)
	s.maybe = maybe
}

func (in *reader) caseClause(s *state, x *syntax.CaseClause) {
	subject := in.one(s, x.Word)
	maybe := s.maybe
	out := s.clone()
	for _, item := range x.Items {
		if len(subject) == 1 && !marked(in.index(subject[0])) {
			subject[0] = in.index(subject[0])
			hit := slices.ContainsFunc(item.Patterns, func(w *syntax.Word) bool { p := in.one(s, w)[0]; return p == subject[0] || p == "*" })
			if hit {
				in.stmts(s, item.Stmts)
				return
			}
			if slices.ContainsFunc(item.Patterns, func(w *syntax.Word) bool { return strings.ContainsAny(in.one(s, w)[0], "*?[") }) {
				subject = nil // decides differently than is looked at here
			}
			continue
		}
		b := s.clone()
		b.maybe = true
		in.stmts(b, item.Stmts)
		out = in.join(out, b)
	}
	*s = *out
	s.maybe = maybe
}

func (in *reader) forClause(s *state, x *syntax.ForClause) {
	loop, ok := x.Loop.(*syntax.WordIter)
	if !ok {
		entered := false
		if c, ok := x.Loop.(*syntax.CStyleLoop); ok {
			in.compute(s, c.Init)
			n, known := in.sum(s, c.Cond)
			entered = known && n != 0
			for w := range syntax.Preorder(c) {
				if word, ok := w.(*syntax.Word); ok && syntax.ValidName(word.Lit()) {
					s.set(word.Lit(), text(string(anything)))
				}
			}
		}
		in.turns(s, x.Do, !entered)
		return
	}
	items := s.args
	if loop.InPos.IsValid() {
		items = in.words(s, loop.Items)[0]
	}
	if len(items) > mostTurns {
		items = []string{string(anything)}
	}
	changes, early := changed(x.Do), false
	for _, item := range items {
		s.set(loop.Name.Value, text(item))
		if len(items) > 1 && len(changes) > 0 {
			in.forget(s, changes)
		}
		early = in.turn(s, x.Do, early)
	}
}

// leaving is how often the words were met that leave a loop, a function or the script before its end.
type leaving struct{ breaks, returns, exits int }

// turn follows one turn of a loop, which is not certain if one before it may have left the loop, and says whether one has by now.
func (in *reader) turn(s *state, body []*syntax.Stmt, early bool) bool {
	before := in.left
	in.branch(s, func(b *state) { in.stmts(b, body) }, early)
	early = early || in.left != before
	in.left.breaks = before.breaks // of this loop, and not of one around it
	return early
}

// counted goes round a loop as often as bash would, where its condition is known each time. It is false where the rest is not.
func (in *reader) counted(s *state, x *syntax.WhileClause) bool {
	if len(x.Cond) != 1 {
		return false
	}
	call, ok := x.Cond[0].Cmd.(*syntax.CallExpr)
	if ok && len(call.Args) > 2 && call.Args[0].Lit() == "getopts" {
		in.getopts(s, in.one(s, call.Args[1])[0], call.Args[2].Lit(), x.Do)
		return true
	}
	early := false
	for range mostTurns {
		known, truth := in.condition(s, x.Cond[0])
		switch {
		case !known:
			return false
		case truth == x.Until || s.over:
			return true
		}
		early = in.turn(s, x.Do, early)
	}
	return false
}

// getopts follows the turns of a loop over the script's own options, and leaves $OPTIND behind them.
func (in *reader) getopts(s *state, spec, name string, body []*syntax.Stmt) {
	at := 0
	for at < len(s.args) && len(s.args[at]) > 1 && s.args[at][0] == '-' && s.args[at] != "--" {
		letters := s.args[at][1:]
		at++
		for letters != "" {
			letter := letters[:1]
			letters = letters[1:]
			i := strings.Index(strings.TrimPrefix(spec, ":"), letter)
			if i < 0 {
				letter = "?"
			}
			if takes := i >= 0 && strings.HasPrefix(strings.TrimPrefix(spec, ":")[i+1:], ":"); takes {
				if letters == "" && at < len(s.args) {
					letters = s.args[at]
					at++
				}
				s.set("OPTARG", text(letters))
				letters = ""
			}
			s.set(name, text(letter))
			in.stmts(s, body)
		}
	}
	s.set("OPTIND", text(strconv.Itoa(at+1)))
}

// always says that the condition of a loop holds whatever happens.
func always(cond []*syntax.Stmt) bool {
	if len(cond) != 1 || cond[0].Negated {
		return false
	}
	call, ok := cond[0].Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) > 0 && (call.Args[0].Lit() == "true" || call.Args[0].Lit() == ":")
}

// turns follows a loop of which nobody knows how often it goes round; maybe: it may not be entered.
func (in *reader) turns(s *state, body []*syntax.Stmt, maybe bool) {
	in.forget(s, changed(body))
	in.branch(s, func(b *state) { in.stmts(b, body) }, maybe)
}

func (in *reader) forget(s *state, names []string) {
	for _, n := range names {
		s.set(n, text(string(anything)))
	}
}

// changed are variables that a loop counts or reads, and which differ each time.
func changed(body []*syntax.Stmt) (names []string) {
	for _, stmt := range body {
		for n := range syntax.Preorder(stmt) {
			switch x := n.(type) {
			case *syntax.UnaryArithm:
				if w, ok := x.X.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
					names = append(names, w.Lit())
				}
			case *syntax.Assign:
				if x.Name != nil && x.Value != nil && counts(x.Value, x.Name.Value) {
					names = append(names, x.Name.Value)
				}
			}
		}
	}
	return names
}

// counts says that a value is computed from the variable's own.
func counts(w *syntax.Word, name string) bool {
	arithmetic := false
	for n := range syntax.Preorder(w) {
		switch x := n.(type) {
		case *syntax.ArithmExp:
			arithmetic = true
		case *syntax.Lit:
			if arithmetic && x.Value == name {
				return true
			}
		}
	}
	return false
}

// declare is export, local, readonly, declare.
func (in *reader) declare(s *state, x *syntax.DeclClause) {
	exports := x.Variant.Value == "export"
	for _, a := range x.Args {
		if a.Naked && a.Name == nil {
			exports = exports || strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "x")
			continue
		}
		if a.Naked {
			if v, ok := s.vars[a.Name.Value]; ok && exports {
				v.exported = true
				s.vars[a.Name.Value] = v
			}
			continue
		}
		in.assign(s, a, exports)
	}
}

func (in *reader) assign(s *state, a *syntax.Assign, export bool) {
	name := a.Name.Value
	v := value{exported: export}
	switch {
	case a.Array != nil:
		var list []*syntax.Word
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				list = append(list, e.Value)
			}
		}
		v.alts = in.words(s, list)
	case a.Index != nil:
		v.alts = [][]string{{string(anything)}}
		if old, ok := s.vars[name]; ok {
			v.alts = old.alts
		}
	default:
		v.alts = lists(in.one(s, a.Value))
	}
	if a.Append {
		v.alts = appended(s.vars[name].alts, v.alts, a.Array != nil)
	}
	v.alts = in.bounded(v.alts)
	s.set(name, v)
	in.variable(s, name, export || s.vars[name].exported)
}

func appended(old, more [][]string, array bool) (out [][]string) {
	if len(old) == 0 {
		return more
	}
	for _, o := range old {
		for _, m := range more {
			if array {
				out = append(out, slices.Concat(o, m))
				continue
			}
			have := append(slices.Clone(o), "")[:max(len(o), 1)]
			have[0] += m[0]
			out = append(out, have)
		}
	}
	return out
}

// isTest says that a command only asks.
func isTest(stmt *syntax.Stmt) bool {
	switch x := stmt.Cmd.(type) {
	case *syntax.TestClause, *syntax.ArithmCmd:
		return true
	case *syntax.CallExpr:
		return len(x.Args) > 0 && slices.Contains([]string{"[", "test", "grep", "command", "which", "type"}, x.Args[0].Lit())
	case *syntax.BinaryCmd:
		return isTest(x.Y)
	}
	return false
}

// condition tells how a test turns out, where nothing in it is unknown.
func (in *reader) condition(s *state, stmt *syntax.Stmt) (known, truth bool) {
	if in.assumed(s, stmt) {
		return false, false
	}
	var list []string
	switch x := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		if len(x.Args) < 3 || x.Args[0].Lit() != "[" && x.Args[0].Lit() != "test" {
			return false, false
		}
		for _, w := range x.Args[1:] {
			alts := in.one(s, w)
			if len(alts) != 1 {
				return false, false
			}
			list = append(list, alts[0])
		}
		if list[len(list)-1] == "]" {
			list = list[:len(list)-1]
		}
	case *syntax.TestClause:
		list = in.testWords(s, x.X)
	case *syntax.ArithmCmd:
		n, known := in.sum(s, x.X)
		return known, (n != 0) != stmt.Negated
	default:
		return false, false
	}
	for i := range list {
		list[i] = in.index(list[i])
	}
	known, truth = decide(list)
	return known, truth != stmt.Negated
}

// assumed says that a test asks for a variable from outside for which a default is written: a path takes the default, a test may
// turn out either way.
func (in *reader) assumed(s *state, stmt *syntax.Stmt) bool {
	for n := range syntax.Preorder(stmt) {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil && p.Exp != nil {
			if alts, ok := in.lookup(s, p.Param.Value); ok && !in.given(alts, ok) {
				return true
			}
		}
	}
	return false
}

func (in *reader) testWords(s *state, x syntax.TestExpr) []string {
	word := func(x syntax.TestExpr) (string, bool) {
		w, ok := x.(*syntax.Word)
		if !ok {
			return "", false
		}
		alts := in.one(s, w)
		return alts[0], len(alts) == 1
	}
	switch x := x.(type) {
	case *syntax.UnaryTest:
		if v, ok := word(x.X); ok {
			return []string{x.Op.String(), v}
		}
	case *syntax.BinaryTest:
		a, ok := word(x.X)
		b, ok2 := word(x.Y)
		if ok && ok2 && !strings.ContainsAny(b, "*?[") {
			return []string{a, x.Op.String(), b}
		}
	}
	return nil
}

// decide evaluates a test of two or three known words.
func decide(list []string) (known, truth bool) {
	switch {
	case len(list) == 2 && (list[0] == "-z" || list[0] == "-n"):
		v := list[1]
		if open(v) {
			return false, false
		}
		return true, (v == "") == (list[0] == "-z")
	case len(list) != 3 || marked(list[0]) || marked(list[2]):
		return false, false
	}
	switch list[1] {
	case "=", "==", "-eq":
		return true, list[0] == list[2]
	case "!=", "-ne":
		return true, list[0] != list[2]
	}
	a, err := strconv.Atoi(list[0])
	b, err2 := strconv.Atoi(list[2])
	if err != nil || err2 != nil {
		return false, false
	}
	compare := map[string]bool{"-gt": a > b, "-ge": a >= b, "-lt": a < b, "-le": a <= b}
	truth, known = compare[list[1]]
	return known, truth
}
