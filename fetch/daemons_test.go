package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tarball is a tar.gz of files.
func tarball(t *testing.T, files ...[2]string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f[0], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What people have: the directory that "ais log get" made, one archive of it, several, or an archive of the directory.
func TestDaemonsTakesWhatPeopleHave(t *testing.T) {
	const log, text = "aistarget.h.INFO.1120-231339.1", "Started up at 2026/11/20 23:13:39, host h\n"
	one, two := tarball(t, [2]string{log, text}), tarball(t, [2]string{log, text + "I 23:14:00.000000 x\n"})
	dir := t.TempDir()
	put := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := put("ais-logs/aistarget-t1.tar.gz", one), put("ais-logs/aistarget-t2.tar.gz", two)
	whole := put("up/all.tgz", tarball(t, [2]string{"ais-logs/aistarget-t1.tar.gz", one}, [2]string{"ais-logs/aistarget-t2.tar.gz", two}))
	deep := put("up/deep.tgz", tarball(t, [2]string{"x.tgz", tarball(t, [2]string{"y.tgz", one}, [2]string{log, text})}))
	for name, c := range map[string]struct {
		paths, names []string
		warned       string
	}{
		"directory":    {[]string{filepath.Dir(a)}, []string{"ais-logs/aistarget-t1.tar.gz/" + log, "ais-logs/aistarget-t2.tar.gz/" + log}, ""},
		"two":          {[]string{b, a}, []string{"ais-logs/aistarget-t1.tar.gz/" + log, "ais-logs/aistarget-t2.tar.gz/" + log}, ""},
		"one":          {[]string{a}, []string{"ais-logs/" + log}, ""},
		"all in one":   {[]string{whole}, []string{"ais-logs/ais-logs/aistarget-t1.tar.gz/" + log, "ais-logs/ais-logs/aistarget-t2.tar.gz/" + log}, ""},
		"one too deep": {[]string{deep}, []string{"ais-logs/x.tgz/" + log}, "an archive within an archive"},
	} {
		t.Run(name, func(t *testing.T) {
			room := filepath.Join(t.TempDir(), "room")
			set, err := Daemons(t.Context(), c.paths, room, LocalOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range set.Sources {
				names = append(names, s.Name)
				if !strings.HasPrefix(s.Path, room) || !strings.HasPrefix(s.Origin, "archive:") || strings.Contains(s.Origin, "0000") {
					t.Errorf("%+v", s)
				}
			}
			if !slices.Equal(names, c.names) {
				t.Errorf("%q, want %q", names, c.names)
			}
			if said := strings.Join(set.Warnings, "\n"); (c.warned == "") != (said == "") || !strings.Contains(said, c.warned) {
				t.Errorf("warned %q", said)
			}
			if left, err := os.ReadDir(room); err != nil || len(left) != len(names) {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
	if _, err := Daemons(t.Context(), []string{filepath.Join(dir, "none")}, filepath.Join(t.TempDir(), "room"), LocalOptions{}); err == nil {
		t.Error("nothing was read")
	}
}
