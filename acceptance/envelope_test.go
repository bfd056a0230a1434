package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/simulate"
)

// enveloped is a file as a log shipper hands it on: each line in a record of its own.
func enveloped(t *testing.T, f simulate.File, form string) simulate.File {
	t.Helper()
	if bytes.HasPrefix(f.Data, []byte{0x1f, 0x8b}) {
		return f
	}
	text, ended := strings.CutSuffix(string(f.Data), "\n")
	var b bytes.Buffer
	for i, l := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		rec := map[string]string{"log": l + "\n", "stream": "stderr"}
		if form == "logger" {
			rec = map[string]string{"message": l, "level": "info"}
		}
		out, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(out)
	}
	if ended && len(f.Data) > 0 {
		b.WriteByte('\n')
	}
	if len(f.Data) == 0 {
		b.Reset()
	}
	return simulate.File{Name: f.Name, Data: b.Bytes()}
}

// TestAnEnvelopeChangesNoVerdict: what a container runtime or a logger puts around the lines is not what they say.
func TestAnEnvelopeChangesNoVerdict(t *testing.T) {
	t.Parallel()
	n := 0
	for _, spec := range simulate.Grid(cases(80), *seed+9, 0) {
		inc := play(t, spec)
		if slices.ContainsFunc(inc.Files, func(f simulate.File) bool { return !bytes.Equal(f.Data, bytes.ToValidUTF8(f.Data, nil)) }) {
			continue // what is no text, no such record can hold
		}
		in := asked(t, inc)
		in.Sources = put(t, t.TempDir(), inc.Files)
		plain := diagnosed(t.Context(), t, inc.ID, in)
		for _, form := range []string{"docker", "logger"} {
			var files []simulate.File
			for _, f := range inc.Files {
				files = append(files, enveloped(t, f, form))
			}
			in.Sources = put(t, t.TempDir(), files)
			r := diagnosed(t.Context(), t, inc.ID, in)
			if (r == nil) != (plain == nil) {
				t.Errorf("%s, %s: read %v, without the envelope %v", inc.ID, form, r != nil, plain != nil)
			}
			if r == nil || plain == nil {
				continue
			}
			n++
			if a, b := fmt.Sprint(said(r), r.Verdict.Root.Ranks, r.Verdict.Root.Nodes), fmt.Sprint(said(plain), plain.Verdict.Root.Ranks, plain.Verdict.Root.Nodes); a != b {
				t.Errorf("%s, %s: said %s, without the envelope %s", inc.ID, form, a, b)
			}
			if err := sound(r); err != nil {
				t.Errorf("%s, %s: %v", inc.ID, form, err)
			}
		}
	}
	if n < cases(80) {
		t.Errorf("only %d reports were compared", n)
	}
}
