package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/simulate"
	"faultline/simulate/slack"
)

// fails is an incident whose storage had a part in it, with logs that are found by the job's number.
func fails(t *testing.T, mechanism string) *simulate.Incident {
	t.Helper()
	for _, spec := range simulate.Grid(400, 1, len(simulate.Lines())) {
		if spec.Mechanism != mechanism || spec.NodeCount*spec.PerNode > 16 {
			continue
		}
		spec.Damage, spec.Ablate = "", ""
		inc, err := simulate.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		named := func(f simulate.File) bool { return strings.Contains(f.Name, fmt.Sprint(inc.Played.Job)) }
		if slices.ContainsFunc(inc.Files, named) {
			return inc
		}
	}
	t.Fatalf("the grid holds no %s", mechanism)
	return nil
}

func text(m slack.Message) string { return m.Text + plainBlocks(m.Blocks) }

// daemons makes a storage cluster of an incident's.
func (s *storage) daemons(inc *simulate.Incident) {
	type node struct {
		ID string `json:"daemon_id"`
	}
	m := map[string]any{"uuid": "N_g66e331O", "version": "8"}
	proxies, targets, archives := map[string]node{}, map[string]node{}, map[string][]byte{}
	files := map[string]map[string]string{}
	for _, f := range inc.Storage {
		daemon, name, packed := strings.Cut(f.Name, "/")
		daemon = strings.TrimSuffix(daemon, ".tar.gz")
		id := strings.TrimPrefix(strings.TrimPrefix(daemon, "aistarget-"), "aisproxy-")
		if strings.HasPrefix(daemon, "aisproxy-") {
			proxies[id] = node{id}
		} else {
			targets[id] = node{id}
		}
		if !packed {
			archives[id] = f.Data
			continue
		}
		if files[id] == nil {
			files[id] = map[string]string{}
		}
		files[id][name] = string(f.Data)
	}
	for id, f := range files {
		archives[id] = packed(f)
	}
	m["pmap"], m["tmap"] = proxies, targets
	raw, _ := json.Marshal(m)
	s.smap = string(raw)
	s.before(func(w http.ResponseWriter, daemon string) bool {
		_, _ = w.Write(archives[daemon])
		return true
	})
}

// The whole way: a report, the question with the lines that led to it, a wrong token, a good one, and what the storage's logs overturn.
func TestAStorageThatFailedIsFoundFromItsLogs(t *testing.T) {
	t.Parallel()
	inc := fails(t, "ais-crash")
	store := newStorage(t)
	store.daemons(inc)
	w := start(t, reaches)
	job := fmt.Sprint(inc.Played.Job)
	dir := filepath.Join(w.roots, job)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range inc.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.slash(slack.Alice, slack.Training, job)
	question := w.message(slack.Alice, slack.Training, "Can I read the AIStore logs", "Why:")
	w.click(slack.Alice, question, "Give access")
	before := len(ephemerals(w, slack.Alice))
	w.submit(slack.Alice, w.window(slack.Alice, "Token"), access(store.URL, "eyJhbGciOiJIUzI1NiJ9.eyJ3cm9uZyI6MX0.d3Jvbmctc2lnbmF0dXJl"))
	answer(w, slack.Alice, before, "a word on a wrong token")
	w.click(slack.Alice, question, "Give access")
	w.submit(slack.Alice, w.window(slack.Alice, "Token"), access(store.URL, goodToken))
	revision := w.message(slack.Alice, slack.Training, "Was:", "Because:", "AIStore daemon")
	if !strings.Contains(text(revision), "ais-logs/") {
		t.Errorf("what the storage's logs say is not shown:\n%s", text(revision))
	}
	final := w.message(slack.Alice, slack.Training, "report.json")
	if !strings.Contains(text(final), inc.Truth.Storage.Targets[0]) {
		t.Errorf("%s is not in the final verdict:\n%s", inc.Truth.Storage.Targets[0], text(final))
	}
	w.quietNow(slack.Training)
	revisions := 0
	for _, m := range w.slack.All(slack.Training) {
		if strings.Contains(text(m), "Corrected:") {
			revisions++
		}
	}
	if revisions != 1 {
		t.Errorf("%d corrections", revisions)
	}
	w.golden(slack.Training)

	// What was cited goes with the incident: it is exported, and it is forgotten.
	cited := false
	for _, p := range w.exported("F-1") {
		cited = cited || strings.Contains(p.name, "/evidence/ais-logs/") && len(p.data) > 0
	}
	if !cited {
		t.Error("no log of the storage is in the export")
	}
	if len(w.keptStorage()) == 0 {
		t.Error("nothing was kept: what follows proves nothing")
	}
	w.stop()
	if said, err := w.command("forget", "--yes", "F-1"); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	if left := w.keptStorage(); len(left) != 0 {
		t.Errorf("forgotten, and still there: %q", left)
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "data", "spool", "*", "*", "*")); len(left) != 0 {
		t.Errorf("forgotten, and still there: %q", left)
	}
}
