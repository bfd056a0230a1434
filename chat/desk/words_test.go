package desk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// constants are the situations that words.go declares, by the name of the constant.
func constants(t *testing.T) map[string]situation {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "words.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]situation{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := v.Type.(*ast.Ident); ok && kind.Name == "situation" {
			for i, name := range v.Names {
				out[name.Name] = situation(strings.Trim(v.Values[i].(*ast.BasicLit).Value, `"`))
			}
		}
		return true
	})
	return out
}

func TestEverySituationHasWordsOfItsOwnAndIsUsed(t *testing.T) {
	names := constants(t)
	if len(names) < 50 || len(names) != len(texts) {
		t.Fatalf("%d situations, %d texts", len(names), len(texts))
	}
	used := map[string]bool{}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") || f.Name() == "words.go" {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name] = true
			}
			return true
		})
	}
	seen := map[string]string{}
	for name, s := range names {
		text, ok := texts[s]
		if !ok || text == "" {
			t.Errorf("%s has no words", name)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s say the same", name, other)
		}
		seen[text] = name
		if !used[name] {
			t.Errorf("%s is never said", name)
		}
		if strings.Count(text, "`")%2 != 0 || strings.Count(text, "*")%2 != 0 {
			t.Errorf("%s has markup without an end: %q", name, text)
		}
	}
}

func TestWhatPeopleTypeIsNeverMarkup(t *testing.T) {
	for _, hostile := range []string{"<!channel>", "<@U1>", "*x* `y`", "\x01U9\x02", "\x1b[31mred", "a\u202eb", "%s%d", "<http://x|y>"} {
		m := message([]string{say(noSuchCase, hostile), fill("%s", code(hostile))})
		b, err := payload(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{`"type":"user"`, "<!channel>", "<@U1>", "<http", "\u001b", "\u202e", "!s(", "MISSING", "\x01"} {
			if strings.Contains(string(b), bad) {
				t.Errorf("%q became %s", hostile, b)
			}
		}
	}
	b, _ := payload(message([]string{say(threadUpheld, person("U1"))}))
	if !strings.Contains(string(b), `"type":"user"`) {
		t.Errorf("a person is not shown: %s", b)
	}
}
