package ais

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/workflow"
)

// What daemons say of themselves is kept with their logs. Who says nothing, or nonsense, is missed by nobody.
func TestWhatDaemonsSayOfThemselvesIsKept(t *testing.T) {
	fake := &cluster{status: func(w http.ResponseWriter, r *http.Request) {
		switch id := r.Header.Get(headerNode); id {
		case "ais-target-1":
			fmt.Fprintf(w, `{"ais_version":"5.0.v1.5.0","k8s_pod_name":"ais-target-1-pod","cluster":{"flags":2097414},"snode":{"daemon_id":%q}}`, id)
		case "ais-target-2":
			fmt.Fprint(w, "nonsense")
		case "ais-target-3":
			fmt.Fprint(w, `"`+strings.Repeat("x", maxStatus)+`"`)
		default:
			fails(http.StatusInternalServerError, "", "")(w, r)
		}
	}}
	spool := t.TempDir()
	s := NewSource(nil, loopback, spool)
	s.Give("F-1", access(serve(t, fake).URL))
	got, err := s.Fetch(t.Context(), workflow.Investigation{ID: "F-1"})
	if err != nil || got.Nodes != 4 || len(got.Warnings) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	kept := filepath.Join(spool, "F-1", "storage", "aistarget-ais-target-1.status.json")
	if !slices.Contains(got.Places, kept) || len(got.Places) != 5 {
		t.Errorf("%q", got.Places)
	}
	if raw, err := os.ReadFile(kept); err != nil || !strings.Contains(string(raw), `"flags":2097414`) {
		t.Errorf("%s, %v", raw, err)
	}
}
