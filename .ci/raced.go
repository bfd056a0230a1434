//go:build ignore

// The program raced prints the packages in which goroutines are started or met, one a line: those that the race detector has to see. It
// reads syntax, whatever the build tags, so that nobody keeps a list.
//
//	go run .ci/raced.go
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// meets are the packages by which code shows that several goroutines run it.
var meets = []string{"sync", "sync/atomic", "golang.org/x/sync/errgroup", "net/http", "net/http/httptest"}

// starts are the methods and functions that run something in another goroutine.
var starts = []string{"Parallel", "AfterFunc", "Go"}

func main() {
	log.SetFlags(0)
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || found[filepath.Dir(path)]:
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if concurrent(f) {
			found[filepath.Dir(path)] = true
		}
		return nil
	})
	if err != nil {
		log.Fatalf("looking for goroutines: %v", err)
	}
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		fmt.Println("./" + filepath.ToSlash(dir))
	}
}

func concurrent(f *ast.File) bool {
	for _, i := range f.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil && slices.Contains(meets, path) {
			return true
		}
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			s, is := n.Fun.(*ast.SelectorExpr)
			found = found || is && slices.Contains(starts, s.Sel.Name)
		}
		return !found
	})
	return found
}
