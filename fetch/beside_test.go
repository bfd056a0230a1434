package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the engine knows by its content is taken, whatever it is called and though it is no text; nothing else comes with it.
func TestEvidenceBesideLogsIsTaken(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(`{"evidence": 1}`))
	_ = z.Close()
	put("error-7.out", "RuntimeError\n")
	put("trace.json.gz", packed.String())
	put("trace.json", `{"evidence": 2}`)
	put("config.json", `{"model": "x"}`)
	put("capture", "\x00evidence\x01\x02\x03\x04\x05\x06\x07\x01\x02\x03")
	put("weights.bin", "\x00evidence\x01\x02\x03\x04\x05\x06\x07\x01\x02\x03")
	put("blob", "\x00\x01\x02\x03\x04\x05\x06")
	beside := func(start []byte) bool { return bytes.Contains(start, []byte("evidence")) }
	for _, tt := range []struct {
		beside func([]byte) bool
		want   []string
	}{
		{nil, []string{"error-7.out"}},
		{beside, []string{"capture", "error-7.out", "trace.json", "trace.json.gz"}},
	} {
		set, err := Local(context.Background(), []string{dir}, LocalOptions{Beside: tt.beside})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range set.Sources {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("took %q, want %q", got, tt.want)
		}
	}
	set, _ := Local(context.Background(), []string{filepath.Join(dir, "blob")}, LocalOptions{Beside: beside})
	if len(set.Unreadable) != 1 || !strings.Contains(set.Unreadable[0].Text, "neither a log nor evidence I know") {
		t.Errorf("of what is nothing it says %+v", set.Unreadable)
	}
}
