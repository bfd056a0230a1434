package faultline_test

import (
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "faultline/analysis" // go test compiles the engine before this runs: go list finds it done, instead of compiling it once more beside
)

// named are the types whose values have names, and where those are declared: there alone literals of them may stand.
var named = map[string]string{
	module + "/knowledge.Slug":                 "knowledge",
	module + "/knowledge.ID":                   "knowledge",
	module + "/analysis/worker.EndKind":        "analysis/worker/kinds.go",
	module + "/analysis/worker.EndReason":      "analysis/worker/kinds.go",
	module + "/analysis/worker.MarkKind":       "analysis/worker/kinds.go",
	module + "/analysis/worker.CheckpointKind": "analysis/worker/kinds.go",
	module + "/analysis/worker.BarrierKind":    "analysis/worker/kinds.go",
	module + "/analysis/worker.Phase":          "analysis/worker/kinds.go",
	module + "/analysis/resolve.FailureKind":   "analysis/resolve/failurekind.go",
}

// standIns are values of these types that are no entry of knowledge, by the file that declares them.
var standIns = map[string]string{
	"ais-daemon":   "analysis/diagnose/mechanism/aistore.go",
	"fault-at-end": "analysis/diagnose/mechanism/symptom.go",
}

// A literal takes any type that is a string: only a constant does not compile where it is misspelt.
func TestSlugsIDsAndKindsAreConstants(t *testing.T) {
	fset := token.NewFileSet()
	exports, sources := exported(t)
	gc := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for path, files := range sources {
		var parsed []*ast.File
		for _, f := range files {
			p, err := parser.ParseFile(fset, f, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, p)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		if _, err := (&types.Config{Importer: gc}).Check(path, fset, parsed, info); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for e, tv := range info.Types {
			lit, ok := e.(*ast.BasicLit)
			where, typed := named[tv.Type.String()]
			if !ok || !typed || lit.Value == `""` {
				continue
			}
			pos := fset.Position(lit.Pos())
			dir, _ := local(path)
			file := dir + "/" + filepath.Base(pos.Filename)
			if !within(file, where) && standIns[strings.Trim(lit.Value, `"`)] != file {
				t.Errorf("%s:%d: %s is a literal; %s has or wants a constant", file, pos.Line, lit.Value, tv.Type)
			}
		}
	}
}

// idsFile declares the ids that are named outside of their entries.
const idsFile = "knowledge/ids.go"

// An id that only its own entry names is a literal there: whoever reads the list sees where the engine knows a line by name.
func TestIDsThatHaveAConstantAreNamedElsewhere(t *testing.T) {
	fset, elsewhere := token.NewFileSet(), map[string]bool{}
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			key, isID := n.Key.(*ast.Ident)
			_, own := n.Value.(*ast.Ident)
			return !isID || key.Name != "ID" || !own // the entry itself
		case *ast.Ident:
			elsewhere[n.Name] = true
		}
		return true
	}
	err := filepath.WalkDir(".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || filepath.ToSlash(file) == idsFile {
			return err
		}
		parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err == nil {
			ast.Inspect(parsed, visit)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ids, err := parser.ParseFile(fset, idsFile, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(ids, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && !elsewhere[spec.Names[0].Name] {
			t.Errorf("%s: only its own entry names it", spec.Names[0].Name)
		}
		return true
	})
}

// exported says where the compiler's export data of all packages lies that the engine uses, and of which files its own are made.
func exported(t *testing.T) (exports map[string]string, sources map[string][]string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles", "./analysis/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports, sources = map[string]string{}, map[string][]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatalf("reading what go list says: %v", err)
		}
		exports[p.ImportPath] = p.Export
		if own, ours := local(p.ImportPath); ours && within(own, "analysis") {
			for _, f := range slices.Sorted(slices.Values(p.GoFiles)) {
				sources[p.ImportPath] = append(sources[p.ImportPath], filepath.Join(p.Dir, f))
			}
		}
	}
	if len(sources) < 10 {
		t.Fatalf("go list names only %d packages of the engine", len(sources))
	}
	return exports, sources
}
