package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/config"
	"faultline/fetch"
	"faultline/fetch/spool"
	"faultline/incident"
)

// Between the fetcher and each later reader a name may come to lead elsewhere: every one of them opens by the gate.
func TestWhatTakesTheNameOfALogLaterIsNotRead(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of several accounts")
	}
	const victim, mallory = 20001, 20002
	const tell = "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: plover in the marsh\n"
	dir := t.TempDir()
	root, data := filepath.Join(dir, "logs"), filepath.Join(dir, "data")
	log, other := filepath.Join(root, "4242", "rank_0.log"), filepath.Join(dir, "v.log")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Dir(log), 0o755))
	must(os.MkdirAll(filepath.Join(data, scratchDir), 0o700))
	must(os.WriteFile(log, []byte(strings.ReplaceAll(tell, "plover in the marsh", "our own mistake     ")), 0o644))
	must(os.WriteFile(other, []byte(tell), 0o644))
	must(os.Chown(other, victim, victim))
	for _, name := range []string{filepath.Dir(log), log} {
		must(os.Chown(name, mallory, mallory))
	}
	var cfg config.Config
	cfg.Clusters = []config.Cluster{{Name: "west"}}
	cfg.Clusters[0].Logs.Source, cfg.Clusters[0].Logs.Roots, cfg.Clusters[0].Logs.Patterns = "mounted", []string{root}, []string{"{job}"}
	door, err := served(cfg.Clusters, data)
	must(err)
	logs, err := sources(t.Context(), cfg, filepath.Join(data, scratchDir), takenIn(data), spool.Options{})
	must(err)
	defer logs.Close()
	logs.shared.Gate = door
	found, err := logs.Locate(t.Context(), "west", "4242")
	must(err)
	got, err := logs.Collect(t.Context(), found.Places)
	must(err)
	if len(got.Sources) != 1 || strings.Join(got.Users, " ") != strings.Join(fetch.Owners(t.Context(), door, log), " ") || len(got.Users) != 1 {
		t.Fatalf("%+v", got)
	}
	e := engine(door, new(siteKnowledge))
	report, err := e.Diagnose(t.Context(), analysis.Input{Sources: got.Sources})
	must(err)

	must(os.Remove(log))
	must(os.Symlink(other, log))
	must(os.Lchown(log, mallory, mallory))
	said := func(r *incident.Report, err error) string {
		b, _ := json.Marshal(r)
		if err != nil {
			b = append(b, err.Error()...)
		}
		return string(b)
	}
	if s := said(e.Diagnose(t.Context(), analysis.Input{Sources: got.Sources})); strings.Contains(s, "plover") {
		t.Errorf("the engine reads it: %s", s)
	}
	if failed, err := e.Verify(t.Context(), got.Sources, report); err != nil || len(failed) == 0 {
		t.Errorf("the verifier finds the quotations of a log that is gone: %v, %v", failed, err)
	}
	if what, known, err := e.Look(context.Background(), got.Sources[0]); err == nil {
		t.Errorf("a look tells that it is %s, %v", what, known)
	}
	if f, err := e.Open(log); err == nil {
		_ = f.Close()
		t.Error("the flow opens it")
	}
	stores := &stores{gate: door}
	if r, err := stores.source().OpenLog(log); err == nil {
		_ = r.Close()
		t.Error("the export opens it")
	}
	if r, err := stores.source().Open(log); err == nil {
		_ = r.Close()
		t.Error("the export hashes it")
	}
}
