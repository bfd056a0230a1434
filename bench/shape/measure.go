package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"faultline/knowledge"
)

// measure is one figure of the table.
type measure struct {
	name  string
	now   int
	at    places // where, of what is to go altogether
	goal  string
	about string
	// grows is true of a figure that rises with every honest addition: its ceiling leaves room for some of them. The others fall only, and
	// whoever raises one can mend that where the change is.
	grows bool
	// share is true of a figure that rises when simple code is deleted, which is no fault: it has no ceiling.
	share bool
}

// ceiling is what the measure is held to from now on.
func (m *measure) ceiling() int {
	if m.grows {
		return m.now + m.now*room/100
	}
	return m.now
}

// room is how far a figure that grows may rise, in percent: for about two kinds of evidence.
const room = 2

// measures counts everything, in the order of the table.
func measures(all []*source) ([]measure, error) {
	n := known()
	var in, elsewhere uses
	for _, s := range all {
		switch {
		case s.below("knowledge") || s.below("simulate"):
		case s.below("analysis"):
			in.add(n.in(s))
		default:
			elsewhere.add(n.in(s))
		}
	}
	f, err := figuresOf(all, "analysis")
	if err != nil {
		return nil, err
	}
	own, total := 0, 0
	for _, s := range knowledge.Whole().Signatures() {
		total++
		if len(s.Do) > 0 {
			own++
		}
	}
	out := []measure{
		{name: "maps keyed by id or slug, `analysis`", now: len(in.maps), at: in.maps, goal: "0", about: "map literals with ids or slugs for at least half of their keys"},
		{name: "maps keyed by id or slug, elsewhere", now: len(elsewhere.maps), at: elsewhere.maps, goal: "0", about: "the same outside `analysis`, `knowledge` and `simulate` (which must not share the engine's tables)"},
		{name: "lists of ids or slugs, `analysis`", now: len(in.lists), at: in.lists, goal: "0", about: "literals of two and more strings that are all ids or slugs"},
		{name: "comparisons with an id or slug, `analysis`", now: len(in.comparisons), at: in.comparisons, goal: "0", about: "`==`, `!=`, each one in a `case`, and `HasPrefix` or `CutPrefix` with the beginning of one"},
		{name: "signatures without advice of their own", now: total - own, goal: "400 fewer", about: "of all signatures, whatever their role, those whose field `Do` is empty"},
		{name: "logical operators per 1,000 code lines, `analysis`", now: perMille(f.operators, f.lines), goal: "45", about: "and, or", share: true},
		{name: "logical operators, `analysis`", now: f.operators, about: "and, or", grows: true},
		{name: "functions above cognitive complexity 15, `analysis`, per mille", now: perMille(f.over15, f.functions), goal: "50", about: "of all functions with a body; counted as gocognit does", share: true},
		{name: "functions above cognitive complexity 15, `analysis`", now: f.over15, about: "functions", grows: true},
		{name: "functions above cognitive complexity 40, `analysis`", now: f.over40, goal: "0", about: "functions"},
		{name: "code lines, `analysis`", now: f.lines, goal: "fewer", about: "lines with at least one token that is no comment", grows: true},
		{name: "calls for their effect on `resolve.Facts`", now: f.passes, goal: "0", about: "statements that call a method of `Facts` and use no result: their order matters and no type says so"},
		{name: "places that change a failure's role or mechanism", now: f.changed, goal: "1", about: "assignments to `Role` or `Mechanism` of a `resolve.Failure` that exists"},
	}
	circle, back, worst, packages := insidePackages(all, "analysis")
	return append(out,
		measure{name: "arrows between files on a circle, inside the packages of `analysis`", now: circle, about: "an arrow is a pair of files where one uses a function, method, type, variable or constant of the other; on a circle where arrows lead back", grows: true},
		measure{name: "arrows between files back up, inside the packages of `analysis`", now: back, about: "against the best order of files that a greedy search finds (Eades, Lin, Smyth)", grows: true},
		measure{name: "largest share of arrows back up inside a package, per mille", now: worst, goal: "270", about: "of packages with at least 50 arrows", share: true, at: packages}), nil
}

// insidePackages sums the arrows that lead back, and finds the package with the largest share of them.
// insidePackages counts the arrows inside the packages of a folder, and lists the packages with many, the worst first.
func insidePackages(all []*source, folder string) (circle, back, worst int, list []string) {
	const few = 50 // of fewer arrows one makes a large share
	type row struct {
		share int
		text  string
	}
	var rows []row
	for _, s := range all {
		if !s.below(folder) {
			continue
		}
		n, c, b := arrows(s).count()
		circle, back = circle+c, back+b
		if n >= few {
			rows = append(rows, row{perMille(b, n), fmt.Sprintf("%s: %d of %d back up, %d on a circle", s.pkg.Path(), b, n, c)})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(b.share-a.share, strings.Compare(a.text, b.text)) })
	for _, r := range rows {
		worst = max(worst, r.share)
		list = append(list, r.text)
	}
	return circle, back, worst, list
}

func (u *uses) add(v uses) {
	u.maps = append(u.maps, v.maps...)
	u.lists = append(u.lists, v.lists...)
	u.comparisons = append(u.comparisons, v.comparisons...)
}

func perMille(n, of int) int {
	if of == 0 {
		return 0
	}
	return (1000*n + of/2) / of
}

// figures are sums over the functions and lines of a folder.
type figures struct {
	functions, over15, over40 int
	lines, operators          int
	passes, changed           int
}

func figuresOf(all []*source, folder string) (*figures, error) {
	f := &figures{}
	for _, s := range all {
		if !s.below(folder) {
			continue
		}
		for _, file := range s.files {
			f.file(s, file)
			n, err := codeLines(s.fset.Position(file.Pos()).Filename)
			if err != nil {
				return nil, err
			}
			f.lines += n
		}
	}
	return f, nil
}

func (f *figures) file(s *source, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				f.function(cognitive(n))
			}
		case *ast.BinaryExpr:
			if logical(n.Op) {
				f.operators++
			}
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok && isOf(s, receiver(call), "Facts") {
				f.passes++
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if sel, ok := l.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Mechanism" || sel.Sel.Name == "Role") && isOf(s, sel.X, "Failure") {
					f.changed++
				}
			}
		}
		return true
	})
}

func (f *figures) function(complexity int) {
	f.functions++
	if complexity > 15 {
		f.over15++
	}
	if complexity > 40 {
		f.over40++
	}
}

func receiver(call *ast.CallExpr) ast.Expr {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
		return sel.X
	}
	return nil
}

// isOf says whether an expression is a value of a type of resolve, or a pointer to one.
func isOf(s *source, e ast.Expr, name string) bool {
	if e == nil {
		return false
	}
	t := s.info.TypeOf(e)
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := t.(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == module+"analysis/resolve"
}

// codeLines counts the lines that hold a token.
func codeLines(file string) (int, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	fset := token.NewFileSet()
	f := fset.AddFile(filepath.Base(file), -1, len(data))
	var sc scanner.Scanner
	sc.Init(f, data, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, lit := sc.Scan()
		if tok == token.EOF {
			return len(lines), nil
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		first := f.Line(pos)
		for i := range strings.Count(lit, "\n") + 1 {
			lines[first+i] = true
		}
	}
}
