package resolve

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/worker"
	"faultline/knowledge"
)

// assigned lists where a file assigns part of a failure's meaning, outside of its method is. A local Meaning is not yet a failure's.
func assigned(fset *token.FileSet, f *ast.File) (out []string) {
	fields := []string{"Mechanism", "Role", "Direct", "Sign"}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fn.Name.Name == "is" && fn.Recv != nil {
			continue
		}
		local := map[string]bool{}
		if fn.Recv != nil && len(fn.Recv.List[0].Names) == 1 {
			id, value := fn.Recv.List[0].Type.(*ast.Ident)
			local[fn.Recv.List[0].Names[0].Name] = value && id.Name == "Meaning"
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok {
				return true
			}
			for i, l := range a.Lhs {
				if id, ok := l.(*ast.Ident); ok && a.Tok == token.DEFINE && len(a.Rhs) == len(a.Lhs) {
					local[id.Name] = isMeaning(a.Rhs[i])
				}
				if sel, ok := l.(*ast.SelectorExpr); ok && slices.Contains(fields, sel.Sel.Name) {
					if id, ok := sel.X.(*ast.Ident); !ok || !local[id.Name] {
						out = append(out, fset.Position(l.Pos()).String())
					}
				}
			}
			return true
		})
	}
	return out
}

// isMeaning says that an expression is Meaning{…} or fl.Meaning().
func isMeaning(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CompositeLit:
		id, ok := e.Type.(*ast.Ident)
		return ok && id.Name == "Meaning"
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Meaning"
	}
	return false
}

// What a failure is taken for changes in one place, which keeps why.
func TestEveryChangeOfMeaningLeavesATrail(t *testing.T) {
	fset := token.NewFileSet()
	pkgs, err := parser.ParseDir(fset, ".", func(i fs.FileInfo) bool { return !strings.HasSuffix(i.Name(), "_test.go") }, 0) //nolint:staticcheck // one folder, no build tags
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pkgs {
		for _, f := range p.Files {
			for _, at := range assigned(fset, f) {
				t.Errorf("%s: a failure's meaning is assigned; call amend and say why", at)
			}
		}
	}
	f, err := parser.ParseFile(fset, "x.go", "package x\nfunc a() { fl.Role = 1; m := Meaning{}; m.Role = 2; n := other(); n.Direct = true }", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := assigned(fset, f); len(got) != 2 {
		t.Errorf("found %q, expected fl.Role and n.Direct", got)
	}
}

func TestTheTrailTellsWhatChangedAndWhy(t *testing.T) {
	fl := &Failure{At: &worker.At{Pos: worker.Pos{File: "a.log", Line: 7}}}
	read := Meaning{knowledge.CUDAError, knowledge.CauseRole, true, "cuda-launch-failure"}
	fl.is(read)
	fl.amend(read, "nothing", fl.At.Pos)
	if len(fl.Trail) != 0 {
		t.Errorf("no change is on the trail: %v", fl.Trail)
	}
	other := *fl
	fl.amend(read.following(), "a peer was gone", worker.Pos{File: "a.log", Line: 3})
	other.amend(read.as(knowledge.InfoRole), "training went on", other.At.Pos)
	f := &Facts{breakdown: breakdown{Failures: []*Failure{fl, &other}}}
	want := []string{
		"a.log:7: cuda-error (cause) by cuda-launch-failure -> consequence by cuda-launch-failure: a peer was gone (a.log:3)",
		"a.log:7: cuda-error (cause) by cuda-launch-failure -> cuda-error (info) by cuda-launch-failure: training went on",
	}
	if got := f.Trail(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if fl.Meaning() != (Meaning{Role: knowledge.ConsequenceRole, Sign: "cuda-launch-failure"}) {
		t.Errorf("it means %v", fl.Meaning())
	}
}
