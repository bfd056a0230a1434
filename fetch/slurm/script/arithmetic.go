package script

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
		texts := in.one(s, x)
		if len(texts) != 1 {
			return 0, false
		}
		t := texts[0]
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
