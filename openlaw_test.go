package faultline_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// openers are the functions that lead from a path to bytes or names. Whoever calls one decides what a name of others leads to.
var openers = map[string][]string{
	"os": {"Open", "OpenFile", "OpenRoot", "OpenInRoot", "ReadFile", "ReadDir", "DirFS", "CopyFS", "Create", "CreateTemp", "WriteFile",
		"Readlink", "Link", "Symlink", "Truncate"},
	"path/filepath":         {"Walk", "WalkDir", "Glob", "EvalSymlinks"},
	"io/ioutil":             {"ReadFile", "ReadDir", "WriteFile", "TempFile"},
	"syscall":               {"Open", "Openat", "Mmap"},
	"golang.org/x/sys/unix": {"Open", "Openat", "Openat2", "Mmap"},
	"archive/zip":           {"OpenReader"},
	"net/http":              {"FileServer", "FileServerFS", "ServeFile", "ServeFileFS", "Dir", "NewFileTransport"},
	"html/template":         {"ParseFiles", "ParseGlob"},
	"text/template":         {"ParseFiles", "ParseGlob"},
	"crypto/tls":            {"LoadX509KeyPair"},
}

// opens says which files (or folders, with a slash behind) may open paths by themselves, and why. All others of the served bot take a gate,
// or a function that opens, from whoever wires them (fetch/gate).
var opens = map[string]string{
	"fetch/gate/": "the gate",

	"config/strict/strict.go":         "the configuration and what it names, named by whoever starts the program",
	"fetch/ais/access.go":             "certificates that the configuration names",
	"fetch/slurm/rest.go":             "tokens and certificates that the configuration names",
	"fetch/source/mounted/mounted.go": "asks where links lead; it lists and opens by the gate",
	"fetch/source/login/":             "keys and known hosts that the configuration names",
	"store/sqlite.go":                 "the database",
	"store/numbers.go":                "the numbers that were given, beside the database",
	"store/inplace.go":                "the database, looked at and put back in its place",
	"store/health/folder.go":          "writes a probe into the bot's own folders",
	"store/lock_unix.go":              "the database's lock",
	"store/blob/":                     "the bot's own blobs",
	"store/bundle/archive.go":         "writes a temporary file of its own",
	"store/bundle/bundle.go":          "what opens where nobody hands in a gate: tests",
	"fetch/spool/":                    "the spool, where only the bot writes and contents are called by their sums",
	"fetch/push/shelf.go":             "the shelf, where only the bot writes, and contents of the spool",
	"fetch/push/source.go":            "contents of the spool",
	"fetch/push/client.go":            "runs as the person who pushes, with their rights",
	"fetch/jobs/pushed.go":            "contents of the spool, called by their sums",
	"fetch/jobs/gather.go":            "lists the bot's own folder of facts",
	"fetch/jobs/collect.go":           "writes what the cluster says into a new folder of the bot's own",
	"fetch/ais/archive.go":            "writes what it pulled into the bot's own folder",
	"fetch/ais/pull.go":               "writes what it pulled into the bot's own folder",
	"fetch/archive.go":                "writes what it unpacked into a new file of the spool",
	"fetch/joined.go":                 "writes what it took apart into a new folder of the spool",
	"chat/desk/evalcase.go":           "writes a case into the bot's own folder",
	"chat/desk/open.go":               "resolves a typed path to say whose it is; it opens nothing",
	"chat/slack/download.go":          "writes an upload into the bot's own folder",
	"chat/console/access.go":          "runs as the person who types",
	"analysis/scan/open.go":           "what opens where nobody hands in a gate: the command on a person's own machine",
	"analysis/verify/verify.go":       "the same: the verifier shares no code",
	"cmd/":                            "commands of the person who runs them; the served part is wired with a gate, which its own test proves",

	"preflight/": "runs on the nodes as the person whose job it is",
	"eval/":      "runs on a person's own machine", "simulate/": "runs on a person's own machine", "bench/": "runs on a person's own machine",
	"store/storetest/": "for tests", "fetch/source/sourcetest/": "for tests", "store/blob/s3test/": "for tests",
	"integration/": "tests", "acceptance/": "tests",
}

func TestOnlyTheGateOpensFiles(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		name = filepath.ToSlash(name)
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		found := opening(t, name)
		if len(found) == 0 {
			return nil
		}
		if rule := allowing(name); rule != "" {
			used[rule] = true
			return nil
		}
		t.Errorf("%s opens paths by itself (%s): take a gate, or a function that opens, or say here why it may", name, strings.Join(found, ", "))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for rule := range opens {
		if !used[rule] && !strings.HasSuffix(rule, "/") {
			t.Errorf("%s opens nothing any more: it needs no exception", rule)
		}
	}
}

// allowing is the exception that a file falls under, "" where there is none.
func allowing(name string) string {
	for rule := range opens {
		if name == rule || strings.HasSuffix(rule, "/") && strings.HasPrefix(name, rule) {
			return rule
		}
	}
	return ""
}

// opening lists the openers that a file names, called or handed on.
func opening(t *testing.T, name string) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	imported := map[string]string{}
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		local := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			local = i.Name.Name
		}
		imported[local] = path
	}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(openers[imported[x.Name]], sel.Sel.Name) {
			found = append(found, x.Name+"."+sel.Sel.Name)
		}
		return true
	})
	return found
}
