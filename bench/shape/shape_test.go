package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	// go test compiles these before this runs: go list finds them done, instead of compiling them once more beside.
	_ "faultline/chat/desk"
	_ "faultline/chat/slack"
	_ "faultline/eval"
	_ "faultline/fetch/source/bucket"
	_ "faultline/store"
)

// A ceiling is lowered after a change that brought its figure down: go run ./bench/shape -write
func TestTheShapeDoesNotGetWorse(t *testing.T) {
	ms, err := measured("../..")
	if err != nil {
		t.Fatal(err)
	}
	limits, err := ceilings("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range above(ms, limits) {
		t.Error(s)
	}
}

func TestCeilingsOnlyFall(t *testing.T) {
	ms := []measure{{name: "a", now: 5}, {name: "b", now: 5}, {name: "c", now: 1001, grows: true}, {name: "d", now: 9, share: true}}
	text := string(table(ms, map[string]int{"a": 3, "b": 7}))
	for _, want := range []string{"| a | 3 |", "| b | 5 |", "| c | 1021 |", "| d | (9) |"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	if got := above(ms, map[string]int{"a": 3, "b": 5}); len(got) != 2 || !strings.HasPrefix(got[0], "a: 5, at most 3") || !strings.HasPrefix(got[1], "c: 1001") {
		t.Errorf("%q", got)
	}
}

// typed makes a package of resolve's path of files that import nothing.
func typed(t *testing.T, files ...string) *source {
	t.Helper()
	return typedIn(t, "analysis/resolve", files...)
}

func typedIn(t *testing.T, path string, files ...string) *source {
	t.Helper()
	s := &source{path: path, fset: token.NewFileSet(), info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}}
	for i, text := range files {
		f, err := parser.ParseFile(s.fset, string(rune('a'+i))+".go", "package x\n"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s.files = append(s.files, f)
	}
	var err error
	if s.pkg, err = new(types.Config).Check(module+s.path, s.fset, s.files, s.info); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCognitiveComplexity(t *testing.T) {
	for _, c := range []struct {
		body string
		want int
	}{
		{`return 1`, 0},
		{`if a { return 1 }; return 2`, 1},
		{`if a { return 1 } else if b { return 2 } else { return 3 }`, 3},
		{`for { if a { return 1 } }`, 3},
		{`for { if a { for a { } } }`, 6},
		{`if a && b && a || b { return 1 }; return 2`, 3},
		{`if a && (b && a) { return 1 }; return 2`, 3},
		{`if a == b && b == a { return 1 }; return 2`, 2},
		{`switch { case a: if b { return 1 } }; return 2`, 3},
		{`g := func() int { if a { return 1 }; return 2 }; return g()`, 2},
		{`x: for { break x }; return 1`, 2},
		{`return f(b, a)`, 1},
	} {
		s := typed(t, "func f(a, b bool) int { "+c.body+" }")
		if got := cognitive(s.files[0].Decls[0].(*ast.FuncDecl)); got != c.want {
			t.Errorf("%s: %d, want %d", c.body, got, c.want)
		}
	}
}

func TestPlacesThatNameIdsAreCounted(t *testing.T) {
	const text = `
type slug string
const oom slug = "gpu-oom"
type str struct{}
func (str) HasPrefix(a, b string) bool { return true }
var strings str
var byName = map[string]int{"host-oom": 1, "other": 2}
var typedMap = map[slug]int{oom: 1}
var words = map[string]int{"a": 1, "b": 2, "host-oom": 3}
var list = []string{"host-oom", "gpu-oom"}
var single = []string{"host-oom"}
func f(x string, y slug) bool {
	switch y { case oom, "host-oom": return true }
	return x == "host-oom" || "gpu-oom" != y || x == "exception" || strings.HasPrefix(x, "host-") || strings.HasPrefix(x, "nothing-")
}`
	n := names{}
	for _, name := range []string{"gpu-oom", "host-oom", "exception"} {
		n.add(name)
	}
	type count struct{ maps, lists, comparisons int }
	// What is neither a string nor of a type of package knowledge has words of its own.
	for path, want := range map[string]count{"knowledge": {maps: 2, lists: 1, comparisons: 5}, "analysis/resolve": {maps: 2, lists: 1, comparisons: 2}} {
		u := n.in(typedIn(t, path, text))
		if got := (count{len(u.maps), len(u.lists), len(u.comparisons)}); got != want {
			t.Errorf("%s: got %+v, want %+v", path, got, want)
		}
	}
}

func TestPassesAndChangesAreCounted(t *testing.T) {
	s := typed(t, `
type Facts struct{ n int }
type Failure struct{ Role, Mechanism, Text string }
type Other struct{ Role string }
func (f *Facts) fill() {}
func (f *Facts) size() int { return f.n }
func f(x *Facts, y Failure, z []*Failure, o Other) int {
	x.fill()
	y.Role, y.Text = "a", "b"
	z[0].Mechanism = "c"
	o.Role = "d"
	return x.size()
}`)
	var f figures
	f.file(s, s.files[0])
	if f.passes != 1 || f.changed != 2 || f.functions != 3 {
		t.Errorf("%+v", f)
	}
}

func TestArrowsBetweenFiles(t *testing.T) {
	s := typed(t,
		`func A() { B(); C() }`,
		`type T struct{ x int }; func B() { var t T; t.m() }`,
		`func C() {}; func (t T) m() { B() }`)
	g := arrows(s)
	if all, circle, back := g.count(); all != 4 || circle != 2 || back != 1 {
		t.Errorf("%d arrows, %d on a circle, %d back: %v", all, circle, back, g)
	}
	if order := g.order(); !slices.Equal(order[:1], []string{"a.go"}) {
		t.Errorf("%q", order)
	}
}
