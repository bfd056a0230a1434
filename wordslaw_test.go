package faultline_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"faultline/knowledge/styletest"
)

// spoken are the folders whose string literals people read.
var spoken = []string{"messages", "chat", "workflow", "knowledge", "cmd", "analysis", "fetch", "config", "store/bundle", "preflight", "isolate"}

// written are the files that people read as they are.
var written = []string{"README.md", "CONTRIBUTING.md", "config.example.yaml", "docs/*.md", "docs/*/*.yaml", "docs/*/*.yml", "docs/*.yaml", "docs/*.yml"}

// othersWords are the fields and functions whose literals are not ours: log lines, and expressions that find them.
var othersWords = []string{"Example", "Examples", "Pattern", "Literals", "literals", "literal", "Unless", "pattern", "New", "MustCompile", "Contains", "HasPrefix", "HasSuffix", "Index", "Cut"}

// TestTextsAreInPlainEnglish reads every text that the program can say, and the documents, for banned constructions.
func TestTextsAreInPlainEnglish(t *testing.T) {
	read := 0
	for _, folder := range spoken {
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && (d.Name() == "testdata" || name == "knowledge/styletest") {
				return fs.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return nil
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, 0)
			if err != nil {
				return err
			}
			for at, text := range sentencesIn(file) {
				read++
				for _, b := range styletest.Banned(text) {
					t.Errorf("%s: %q in %q", set.Position(at), b, text)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 5000 {
		t.Errorf("only %d texts were read", read)
	}
	for _, glob := range written {
		names, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for i, l := range strings.Split(codeBlock.ReplaceAllStringFunc(string(b), blank), "\n") {
				for _, b := range styletest.Banned(l) {
					t.Errorf("%s:%d: %q in %q", name, i+1, b, l)
				}
			}
		}
	}
}

// codeBlock is what documents show as it is: commands, log lines, output.
var codeBlock = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`|“[^”]*”")

func blank(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }

// sentencesIn are the literals of a file that are words for people, by place.
func sentencesIn(file *ast.File) map[token.Pos]string {
	out := map[token.Pos]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && slices.Contains(othersWords, key.Name) {
				return false
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(othersWords, f.Sel.Name) {
				return false
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && strings.Contains(text, " ") {
				out[n.Pos()] = text
			}
		}
		return true
	})
	return out
}
