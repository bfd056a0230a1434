// Package faultline_test holds the law of imports: what the packages of this module may know of each other. The design
// (docs/design.md, "Layout of the code") is true because this test is.
package faultline_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "faultline"

// pkg is what `go list -json` says about one package.
type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// rule says what the packages below one folder may import of this module. A folder stands for itself and everything
// below it; "/" alone stands for everything.
type rule struct {
	folder string
	may    []string
	why    string
}

// law is read from top to bottom; the first rule whose folder fits a package counts.
var law = []rule{
	{"pattern", nil, "expressions know nothing of what they look for"},
	{"incident", nil, "the words of a report depend on nobody"},
	{"picture", []string{"incident"}, "numbers are folded into pictures whoever printed them"},
	{"knowledge/site", []string{"knowledge", "config/strict"}, "what a site knows is read as configuration is, and becomes entries"},
	{"knowledge", []string{"incident", "knowledge", "pattern"}, "data with look-up knows nobody above it"},
	{"simulate/slack", []string{"simulate", "messages/blockkit"}, "the Slack look-alike shares Slack's limits with the bot, and nothing else"},
	{"simulate", []string{"simulate"}, "the truth to test against must not come from the readers that it tests"},
	{"analysis/verify", []string{"incident", "analysis/verify"}, "a verifier that shares code with the engine shares its mistakes"},
	{"analysis/scan", []string{"analysis/scan"}, "the scanner does not know what lines mean"},
	{"analysis/line", []string{"analysis/line"}, "what stands in front of a line does not depend on what it says"},
	{"analysis", []string{"analysis", "incident", "knowledge", "pattern", "picture"}, "the engine is pure"},
	{"messages/blockkit", nil, "blocks of the chat know nothing of reports"},
	{"messages", []string{"messages", "incident", "knowledge", "pattern"}, "how it looks decides nothing"},
	{"workflow", []string{"workflow", "analysis", "isolate", "messages", "incident", "knowledge", "pattern"}, "the investigation knows its ports, not who fills them"},
	{"fetch", []string{"fetch", "workflow", "incident", "analysis/hostlist", "config"}, "a source fills a port of the workflow"},
	{"store/blob/s3test", []string{"integration/loopback"}, "a server for tests, of others' making"},
	{"store/bundle", []string{"store", "workflow", "incident", "messages", "knowledge"}, "what is exported is what was stored, as people see it"},
	{"store", []string{"store", "workflow", "incident"}, "a store fills a port of the workflow"},
	{"chat", []string{"chat", "workflow", "isolate", "probe", "preflight", "analysis/history", "analysis/rerun", "messages", "incident", "knowledge", "analysis/hostlist", "config", "pattern"}, "a transport fills a port of the workflow"},
	{"config", []string{"config"}, "configuration is data"},
	{"eval", []string{"eval", "incident", "knowledge", "analysis/verify", "simulate", "messages"}, "the score is kept by somebody who did not play"},
	{"isolate", []string{"analysis/hostlist"}, "a search for a culprit by tests knows nothing of logs"},
	{"probe", nil, "it tests machines, and knows nothing of logs"},
	{"preflight", nil, "it looks at machines, and knows nothing of logs"},
	{"cmd", []string{"/"}, "the binary wires everything"},
	{"bench/shape", []string{"knowledge"}, "the shape of the code is measured from outside; which names it looks for is knowledge"},
	{"bench", []string{"simulate", "analysis/worker", "analysis/scan", "fetch"}, "what is measured is written by the simulator and read by the binary, or by one part of it"},
	{"acceptance", nil, "what the whole must reach is tests and nothing else"},
	{"integration/slack", []string{"integration", "simulate", "messages", "incident"}, "others' clients judge what we say of Slack, not our own client"},
	{"integration/slurm", []string{"integration", "incident", "analysis/hostlist", "simulate/slack"}, "SLURM judges what the binary makes of its jobs, and our reading of its host lists"},
	{"integration", []string{"incident", "integration"}, "integration tests use the binary from outside"},
}

// onlyIn says which folder alone may import, directly, a module that is not ours.
var onlyIn = map[string]string{
	"github.com/slack-go/slack":     "chat/slack",
	"github.com/looplab/fsm":        "workflow",
	"mvdan.cc/sh/v3":                "fetch/slurm/script",
	"github.com/goccy/go-yaml":      "config",
	"golang.org/x/term":             "cmd",
	"github.com/spf13/cobra":        "cmd",
	"github.com/spf13/pflag":        "cmd",
	"modernc.org/sqlite":            "store",
	"github.com/jackc/pgx":          "store",
	"github.com/aws/aws-sdk-go-v2":  "store fetch",
	"github.com/klauspost/compress": "analysis/scan analysis/verify fetch simulate",
	"github.com/gorilla/websocket":  "simulate/slack cmd",
	"github.com/cespare/xxhash/v2":  "analysis/correlate simulate/aiscluster",
	"github.com/pkg/sftp":           "fetch/source/login",
	"golang.org/x/crypto":           "fetch/source/login",
	"github.com/robfig/cron/v3":     "chat/desk cmd",
}

// published are modules of algorithms and protocols that others define: to share one shares no mistake of ours.
var published = []string{"github.com/klauspost/compress", "github.com/cespare/xxhash/v2", "github.com/gorilla/websocket"}

func TestImportsRunDownhill(t *testing.T) {
	for _, p := range packages(t) {
		own, ours := local(p.ImportPath)
		if !ours || own == "" {
			continue
		}
		i := slices.IndexFunc(law, func(r rule) bool { return within(own, r.folder) })
		if i < 0 {
			t.Errorf("%s is in no folder of the design", own)
			continue
		}
		for _, imported := range p.Imports {
			path, ours := local(imported)
			if ours && !within(path, law[i].may...) {
				t.Errorf("%s imports %s: %s", own, path, law[i].why)
			}
		}
	}
}

func TestModulesOfOthersStayWhereTheyBelong(t *testing.T) {
	for _, p := range packages(t) {
		own, _ := local(p.ImportPath)
		for _, imported := range p.Imports {
			for mod, folders := range onlyIn {
				if (imported == mod || strings.HasPrefix(imported, mod+"/")) && !within(own, strings.Fields(folders)...) {
					t.Errorf("%s imports %s, which belongs in %s", own, imported, folders)
				}
			}
			alone := within(own, "incident", "analysis/verify", "simulate")
			published := slices.ContainsFunc(published, func(mod string) bool { return strings.HasPrefix(imported, mod) })
			if alone && strings.Contains(imported, ".") && !published {
				t.Errorf("%s imports %s; it may use the standard library and published algorithms only", own, imported)
			}
		}
	}
}

// The engine must not be able to reach the network, a clock or chance, whatever somebody types there later.
func TestTheEngineIsPure(t *testing.T) {
	for _, p := range packages(t) {
		own, _ := local(p.ImportPath)
		if !within(own, "analysis", "incident", "knowledge", "messages") {
			continue
		}
		for _, imported := range p.Imports {
			if slices.Contains([]string{"net", "net/http", "os/exec", "math/rand", "math/rand/v2", "crypto/rand", "syscall"}, imported) {
				t.Errorf("%s imports %s", own, imported)
			}
		}
	}
}

// Not even the tests of the simulator may lean on the readers.
func TestTestsOfTheSimulatorDoNotLeanOnTheReaders(t *testing.T) {
	for _, p := range packages(t) {
		own, _ := local(p.ImportPath)
		if !within(own, "simulate", "incident") {
			continue
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if path, ours := local(imported); ours && within(path, "analysis") {
				t.Errorf("a test of %s imports %s", own, path)
			}
		}
	}
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var list []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("reading what go list says: %v", err)
		}
		list = append(list, p)
	}
	if len(list) < 5 {
		t.Fatalf("go list names only %d packages", len(list))
	}
	return list
}

// local cuts the module's name off; the second result is false for packages of others.
func local(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

// within says whether a package lies in one of the folders.
func within(path string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		return f == "/" || path == f || strings.HasPrefix(path, f+"/")
	})
}
