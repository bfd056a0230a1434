package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatChangedSinceAFreezeIsListed(t *testing.T) {
	dir := t.TempDir()
	call(t, "", "eval", "--freeze", dir, "--simulated", "2").want(t, exitOK, "2 cases frozen")
	call(t, "", "eval", "--against", dir).want(t, exitOK, "0 of 2 cases changed")

	// Another engine: the frozen reports are those of an older schema.
	file := filepath.Join(dir, "simulated.tar.gz")
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	var other bytes.Buffer
	w := gzip.NewWriter(&other)
	if _, err := w.Write(bytes.ReplaceAll(data, []byte(`"faultline.report/v1"`), []byte(`"faultline.report/v0"`))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, other.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, "", "eval", "--against", dir).want(t, exitUnreadable, `  schema  was "faultline.report/v0"  now "faultline.report/v1"`, "2 of 2 cases changed", "     2  schema")
	call(t, "", "eval", "--against", file, "--format", "json").want(t, exitUnreadable, `"path":"schema","was":"faultline.report/v0"`)
	call(t, "", "eval", "--against", dir, "--ignore", "schema").want(t, exitOK, "0 of 2 cases changed")
}

func TestAValueIsOneLineThatNoTerminalObeys(t *testing.T) {
	v, err := json.Marshal("\x1b[31m\u009b\u202e" + strings.Repeat("x", 300))
	if err != nil {
		t.Fatal(err)
	}
	got := shownValue(v)
	if strings.ContainsAny(got, "\x1b\u009b\u202e\n") || !strings.Contains(got, "\\u202e") || len(got) > 2*maxValue {
		t.Errorf("%q", got)
	}
	if got := shownValue(nil); got != "absent" {
		t.Errorf("%q", got)
	}
}
