package analysis

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"testing"

	"faultline/analysis/verify"
	"faultline/incident"
	"faultline/simulate/volume"
)

func TestQuotationsOfPackedFilesAreTheSameKeptOrReadAgain(t *testing.T) {
	var text, packed bytes.Buffer
	if err := volume.Write(&text, volume.Options{Kind: volume.Mixed, Files: 1, PerFile: 4, FileSize: 2 << 20}, 0); err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.gz")
	if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	in := Input{Sources: []incident.Source{{Name: "a", Path: path, Bytes: int64(packed.Len())}}, kept: newKeeper()}
	if _, _, err := read(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	// A quotation of every ninth line, of a part of it, of a place within it.
	var kept, again incident.Report
	off := int64(0)
	for i, l := range bytes.SplitAfter(text.Bytes(), []byte("\n")) {
		if i%9 == 0 && len(l) > 0 {
			for _, e := range []incident.Evidence{
				{Kind: incident.KindQuote, File: "a", Offset: off},
				{Kind: incident.KindQuote, File: "a", Offset: off, Span: len(l) / 2},
				{Kind: incident.KindQuote, File: "a", Offset: off + int64(len(l)/3), Span: 3 * len(l)},
			} {
				kept.Chain = append(kept.Chain, incident.Link{Evidence: []incident.Evidence{e}})
				again.Chain = append(again.Chain, incident.Link{Evidence: []incident.Evidence{e}})
			}
		}
		off += int64(len(l))
	}
	files := verify.Files{"a": path}
	if err := fillQuotes(context.Background(), nil, files, in.kept, &kept); err != nil {
		t.Fatal(err)
	}
	if err := fillQuotes(context.Background(), nil, files, nil, &again); err != nil {
		t.Fatal(err)
	}
	for i := range kept.Chain {
		if a, b := kept.Chain[i].Evidence[0], again.Chain[i].Evidence[0]; a.Text != b.Text || a.Offset != b.Offset || a.Text == "" {
			t.Fatalf("at %d: %q and %q", b.Offset, a.Text, b.Text)
		}
	}
	n := 0
	for off := int64(0); off < int64(text.Len()); off += 997 {
		if got, ok := in.kept.files["a"].At(off, 100); ok {
			n++
			if !bytes.HasPrefix(text.Bytes()[off:], got) || len(got) < 100 && got[len(got)-1] != '\n' && off+int64(len(got)) < int64(text.Len()) {
				t.Fatalf("at %d: %q", off, got)
			}
		}
	}
	if n == 0 {
		t.Error("nothing is kept")
	}
}
