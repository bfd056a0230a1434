package scan

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func gz(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zst(t *testing.T, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(data, nil)
}

func scanFile(t *testing.T, content []byte, lim limits) (lines int, st Stats, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := open(f, lim)
	if err != nil {
		f.Close()
		return 0, Stats{}, err
	}
	defer r.Close()
	s, err := New([]string{"Watchdog"}, Options{ChunkSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	st, err = s.Scan(context.Background(), r, func(*Line) (int, error) { lines++; return 0, nil })
	return lines, st, err
}

var wide = limits{content: MaxContent, ratio: MaxRatio, from: RatioFrom}

func TestOpenTellsCompressionByContent(t *testing.T) {
	data := []byte(strings.Repeat("x\n", 5000) + "Watchdog\n")
	two := append(gz(t, []byte("Watchdog\n")), gz(t, []byte("Watchdog\n"))...)
	for name, c := range map[string]struct {
		content []byte
		lines   int
		bytes   int
	}{
		"plain": {data, 1, len(data)}, "gzip": {gz(t, data), 1, len(data)}, "zstd": {zst(t, data), 1, len(data)}, "two members": {two, 2, 18},
		"empty": {nil, 0, 0}, "two bytes": {[]byte("x\n"), 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			lines, st, err := scanFile(t, c.content, wide)
			if err != nil || lines != c.lines || st.Bytes != int64(c.bytes) || st.EndsClean != (c.bytes > 0) {
				t.Errorf("%d lines, %+v, %v", lines, st, err)
			}
		})
	}
}

func TestCutArchiveKeepsWhatItGave(t *testing.T) {
	var data bytes.Buffer
	data.WriteString("Watchdog\n")
	for i := range 40000 {
		data.WriteString(strings.Repeat(string(rune('a'+i*7%26)), 1+i*i%5) + "\n")
	}
	for name, b := range map[string][]byte{"gzip": gz(t, data.Bytes()), "zstd": zst(t, data.Bytes())} {
		lines, st, err := scanFile(t, b[:len(b)-len(b)/10], wide)
		if !errors.Is(err, ErrCut) {
			t.Errorf("%s: err = %v", name, err)
		}
		if name == "gzip" && (lines != 1 || st.Bytes == 0) {
			t.Errorf("%s: %d lines, %+v", name, lines, st)
		}
		if st.EndsClean {
			t.Errorf("%s ends cleanly", name)
		}
	}
	if _, _, err := scanFile(t, gz(t, data.Bytes())[:5], wide); !errors.Is(err, ErrCut) {
		t.Errorf("cut header: %v", err)
	}
}

func TestDamagedArchiveIsAnError(t *testing.T) {
	b := gz(t, []byte(strings.Repeat("Watchdog\n", 100)))
	b[len(b)-6] ^= 0xff // checksum
	if _, st, err := scanFile(t, b, wide); err == nil || st.EndsClean {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestBombEndsTheFile(t *testing.T) {
	data := append([]byte("Watchdog\n"), make([]byte, 8<<20)...)
	for name, b := range map[string][]byte{"gzip": gz(t, data), "zstd": zst(t, data)} {
		for what, lim := range map[string]limits{"ratio": {content: 1 << 40, ratio: 100, from: 1 << 20}, "absolute": {content: 1 << 20, ratio: 1 << 40, from: 1}} {
			lines, st, err := scanFile(t, b, lim)
			if !errors.Is(err, ErrBomb) || lines != 1 || st.Bytes > 4<<20 {
				t.Errorf("%s, %s: %d lines, %d bytes, %v", name, what, lines, st.Bytes, err)
			}
		}
	}
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a directory was opened")
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestSkippedBytesAreNotGiven(t *testing.T) {
	text := []byte(strings.Repeat("0123456789", 50))
	for name, content := range map[string][]byte{"plain": text, "gzip": gz(t, text), "zstd": zst(t, text)} {
		path := filepath.Join(t.TempDir(), "a.log")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 3)
		if _, err := io.ReadFull(r, head); err != nil {
			t.Fatal(err)
		}
		if err := Skip(r, 490); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rest, err := io.ReadAll(r)
		if err != nil || string(head)+string(rest) != "0123456789" {
			t.Errorf("%s: %q and %q, %v", name, head, rest, err)
		}
		if err := Skip(r, 1); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v behind the end", name, err)
		}
		r.Close()
	}
}
