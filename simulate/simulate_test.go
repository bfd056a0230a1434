package simulate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// hangGrid is the grid of this stop-line, once per test binary.
func hangGrid(t testing.TB, n int) []Spec {
	t.Helper()
	specs := Grid(n, 1, 1)
	if len(specs) != n {
		t.Fatalf("grid of %d has %d specs", n, len(specs))
	}
	return specs
}

func generate(t testing.TB, spec Spec) *Incident {
	t.Helper()
	inc, err := Generate(spec)
	if err != nil {
		t.Fatalf("%+v: %v", spec, err)
	}
	return inc
}

func TestHangsAreDeterministic(t *testing.T) {
	for _, spec := range hangGrid(t, 44) {
		a, b := generate(t, spec), generate(t, spec)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s differs from one run to the next", a.ID)
		}
	}
}

func TestGridIsDeterministic(t *testing.T) {
	if !reflect.DeepEqual(Grid(100, 7, 1), Grid(100, 7, 1)) {
		t.Error("two grids of one seed differ")
	}
	if reflect.DeepEqual(Grid(100, 7, 1), Grid(100, 8, 1)) {
		t.Error("two seeds give one grid")
	}
}

func TestHangGridGeneratesAndStatesTruth(t *testing.T) {
	ids := map[string]bool{}
	for _, spec := range hangGrid(t, 300) {
		inc := generate(t, spec)
		if ids[inc.ID] {
			t.Errorf("%s twice", inc.ID)
		}
		ids[inc.ID] = true
		if len(inc.Files) == 0 || inc.Title == "" {
			t.Errorf("%s: no files or no title", inc.ID)
		}
		tr := inc.Truth
		if len(tr.Candidates) == 0 || tr.World == "" {
			t.Errorf("%s: empty truth %+v", inc.ID, tr)
		}
		if len(tr.Candidates) > 1 && len(tr.RootRanks) > 0 {
			t.Errorf("%s: a root without one mechanism: %+v", inc.ID, tr)
		}
		for _, c := range tr.Candidates {
			if slices.Contains(tr.ForbidMechanisms, c) {
				t.Errorf("%s: %s is both right and forbidden", inc.ID, c)
			}
		}
		for _, r := range tr.RootRanks {
			if slices.Contains(tr.Intermediates, r) {
				t.Errorf("%s: rank %d is root and intermediate", inc.ID, r)
			}
		}
	}
}

func TestHangsLeaveOddBytesOnlyWhereAsked(t *testing.T) {
	for _, spec := range hangGrid(t, 120) {
		inc := generate(t, spec)
		for _, f := range inc.Files {
			if spec.Damage == "gz" || spec.Damage == "zst" {
				continue
			}
			if bytes.IndexByte(f.Data, 0) >= 0 && spec.Damage != "nul" {
				t.Errorf("%s/%s: NUL", inc.ID, f.Name)
			}
			if bytes.IndexByte(f.Data, '\r') >= 0 && spec.Damage != "crlf" && spec.Noise < 2 {
				t.Errorf("%s/%s: carriage return without bars", inc.ID, f.Name)
			}
		}
	}
}

func TestWriteHoldsTheCorpusFieldsAndTheTruth(t *testing.T) {
	dir := t.TempDir()
	inc := generate(t, Demo())
	if err := Write(dir, inc); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, inc.ID, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		ID     string
		Truth  Truth
		Accept []string
		Flags  struct {
			WorldSize int `json:"world_size"`
			Nodes     string
		}
		DecidableFrom string `json:"decidable_from"`
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.ID != inc.ID || !reflect.DeepEqual(got.Truth, inc.Truth) || got.Flags.WorldSize != inc.WorldSize || got.Flags.Nodes != inc.Nodes || got.DecidableFrom != "worker-logs" {
		t.Errorf("case.json holds %+v, generated %+v", got, inc.Truth)
	}
	for _, f := range inc.Files {
		data, err := os.ReadFile(filepath.Join(dir, inc.ID, "logs", f.Name))
		if err != nil || !bytes.Equal(data, f.Data) {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func BenchmarkDemo(b *testing.B) {
	for b.Loop() {
		generate(b, Demo())
	}
}
