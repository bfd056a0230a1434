package desk

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/workflow"
)

func TestADisputedCaseBecomesATestOnlyRedactedAndWithConsent(t *testing.T) {
	const secret = "hf_abcdefghijklmnopqrstuvwxyz0123456789"
	dir := t.TempDir()
	plain, packed, other := filepath.Join(dir, "a.out"), filepath.Join(dir, "b.out.gz"), filepath.Join(dir, "c.zst")
	text := "line one\ntoken " + secret + "\n-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----\n" + strings.Repeat("y", 3<<20) + secret + "\nlast"
	if err := os.WriteFile(plain, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), f.Close(), os.WriteFile(other, []byte("\x28\xb5\x2f\xfd....."), 0o600)); err != nil {
		t.Fatal(err)
	}
	inv := workflow.Investigation{
		ID: "F-7", WorldSize: 8, Nodes: []string{"n1", "n2"}, Told: "it was " + secret, Report: report("rank-stalled", incident.Probable),
		Home:    workflow.Home{Requester: "U1"},
		Sources: []incident.Source{{Name: "../../a.out", Path: plain}, {Name: "x/b.out.gz", Path: packed}, {Name: "c.zst", Path: other}},
		Outcome: &workflow.Outcome{Verdict: "wrong", Mechanism: "gpu-ecc", Cause: "saw " + secret, By: "U1", Consent: true},
	}
	for name, spoil := range map[string]func(o *workflow.Outcome){
		"no consent": func(o *workflow.Outcome) { o.Consent = false }, "not the owner": func(o *workflow.Outcome) { o.By = "U2" },
		"right": func(o *workflow.Outcome) { o.Verdict = "right" },
	} {
		bad, o := inv, *inv.Outcome
		spoil(&o)
		bad.Outcome = &o
		if _, err := EvalCase(context.Background(), bad, os.Open, t.TempDir()); !errors.Is(err, ErrNoConsent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	out := t.TempDir()
	folder, err := EvalCase(context.Background(), inv, os.Open, out)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	err = filepath.WalkDir(out, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(folder, p)
		files = append(files, rel)
		b, err := os.ReadFile(p)
		if strings.Contains(string(b), secret) || strings.Contains(string(b), "MIIabc") {
			t.Errorf("%s holds a secret", rel)
		}
		if strings.HasPrefix(rel, "logs") && (!strings.HasPrefix(string(b), "line one\n") || !strings.HasSuffix(string(b), "\nlast")) {
			t.Errorf("%s lost lines", rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(files, " "); got != "case.json logs/a.out logs/x/b.out" {
		t.Errorf("files %s", got)
	}
	var c evalCase
	b, _ := os.ReadFile(filepath.Join(folder, "case.json"))
	if err := json.Unmarshal(b, &c); err != nil || c.Accept[0] != "gpu-ecc" || c.Forbid.Mechanisms[0] != "rank-stalled" || c.Flags.Nodes != "n1,n2" || len(c.Notes) != 2 {
		t.Errorf("%s %v", b, err)
	}
}
