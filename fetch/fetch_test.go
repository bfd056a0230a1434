package fetch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"faultline/fetch/gate"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "job")
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(p, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func names(s *Set) []string {
	var out []string
	for _, src := range s.Sources {
		out = append(out, src.Name)
	}
	return out
}

func local(t *testing.T, opts LocalOptions, paths ...string) (*Set, error) {
	t.Helper()
	if opts.SpoolDir == "" {
		opts.SpoolDir = t.TempDir()
	}
	s, err := Local(context.Background(), paths, opts)
	if s == nil {
		t.Fatal("no set")
	}
	for _, src := range s.Sources {
		st, serr := os.Stat(src.Path)
		if serr != nil || st.Size() != src.Bytes {
			t.Errorf("%s: %v, %d bytes", src.Name, serr, src.Bytes)
		}
	}
	for _, w := range s.Warnings {
		if !strings.HasSuffix(w, ".") || strings.ContainsAny(w, "\n\x00") {
			t.Errorf("no sentence: %q", w)
		}
	}
	return s, err
}

// warned says that one warning holds all the texts.
func warned(t *testing.T, s *Set, texts ...string) {
	t.Helper()
next:
	for _, w := range s.Warnings {
		for _, x := range texts {
			if !strings.Contains(w, x) {
				continue next
			}
		}
		return
	}
	t.Errorf("no warning holds %q: %q", texts, s.Warnings)
}

func kinds(s *Set) map[Kind]int {
	m := map[Kind]int{}
	for _, p := range s.Unreadable {
		m[p.Kind]++
	}
	return m
}

func TestDirectoryIsWalkedAndEachOmissionNamed(t *testing.T) {
	root := tree(t, map[string]string{
		"b.log": "x\n", "a/error-1-0.out": "x\n", ".hidden": "x", ".git/config": "x", "model.pt": "x", "core": "\x7fELF\x01\x02", "empty.err": "",
		"hole.log": strings.Repeat("\x00", 9000) + "text\n", "train.py": "x", "odd.log": "\x01\x02\x03\x04\x05\x06", "z.xz": "\xfd7zXZ\x00",
	})
	if err := os.Symlink(filepath.Join(root, "b.log"), filepath.Join(root, "latest.log")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(root, "etc")); err != nil {
		t.Fatal(err)
	}
	s, err := local(t, LocalOptions{}, root)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(s), []string{"a/error-1-0.out", "b.log", "empty.err", "hole.log"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	warned(t, s, ".hidden", "hidden")
	warned(t, s, "model.pt", "train.py")
	warned(t, s, "core", "odd.log", "binary")
	warned(t, s, "etc", "link")
	warned(t, s, "z.xz", "convert")
}

func TestNamesDoNotDependOnParentOrOrder(t *testing.T) {
	files := map[string]string{"a.log": "1\n", "n/b.log": "2\n"}
	one, two := tree(t, files), tree(t, files)
	s1, _ := local(t, LocalOptions{}, one)
	s2, _ := local(t, LocalOptions{}, two+"/")
	if !reflect.DeepEqual(names(s1), names(s2)) {
		t.Errorf("%v, %v", names(s1), names(s2))
	}
	x, y := filepath.Join(one, "a.log"), filepath.Join(one, "n")
	s3, _ := local(t, LocalOptions{}, x, y, x)
	s4, _ := local(t, LocalOptions{}, y, x)
	if want := []string{"a.log", "b.log"}; !reflect.DeepEqual(names(s3), want) || !reflect.DeepEqual(names(s4), want) {
		t.Errorf("%v, %v", names(s3), names(s4))
	}
}

func TestCollidingNamesGetTheirFolder(t *testing.T) {
	root := tree(t, map[string]string{"node1/train.log": "1\n", "node2/train.log": "2\n", "p/n/x.log": "3\n", "q/n/x.log": "4\n"})
	j := func(p string) string { return filepath.Join(root, p) }
	s, _ := local(t, LocalOptions{}, j("node2"), j("node1"))
	if want := []string{"node1/train.log", "node2/train.log"}; !reflect.DeepEqual(names(s), want) {
		t.Errorf("%v", names(s))
	}
	s, _ = local(t, LocalOptions{}, j("node2/train.log"), j("node1/train.log"))
	if want := []string{"node1/train.log", "node2/train.log"}; !reflect.DeepEqual(names(s), want) {
		t.Errorf("%v", names(s))
	}
	s, _ = local(t, LocalOptions{}, j("p/n"), j("q/n"))
	if want := []string{"p/n/x.log", "q/n/x.log"}; !reflect.DeepEqual(names(s), want) {
		t.Errorf("%v", names(s))
	}
}

func TestOutputOfABatchScriptMayBeNamedLikeAnObjectFile(t *testing.T) {
	root := tree(t, map[string]string{"titan-255441.o": "step 1 loss 2.1\n", "titan-255441.e": "Traceback (most recent call last):\n", "ops.o": "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 64)})
	s, err := local(t, LocalOptions{}, root)
	if want := []string{"titan-255441.e", "titan-255441.o"}; err != nil || !reflect.DeepEqual(names(s), want) {
		t.Errorf("read %v (%v), expected %v", names(s), err, want)
	}
}

func TestBadInputGetsOneSentence(t *testing.T) {
	root := tree(t, map[string]string{"empty/": "", "code/a.py": "x", "code/b.pt": "x", "bin": "\x7fELF\x00\x01\x02", "ok.log": "x\n", "locked.log": "x\n", "empty.zip": "PK\x05\x06" + strings.Repeat("\x00", 18)})
	for path, kind := range map[string]Kind{"none": Missing, "empty": Empty, "code": NoLogs, "bin": Binary, "empty.zip": Empty} {
		s, err := local(t, LocalOptions{}, filepath.Join(root, path))
		if !errors.Is(err, ErrNothing) || len(s.Unreadable) != 1 || s.Unreadable[0].Kind != kind || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %+v", path, err, s.Unreadable)
		}
		var p Problem
		if !errors.As(err, &p) || p.Kind != kind {
			t.Errorf("%s: no Problem in %v", path, err)
		}
		s, err = local(t, LocalOptions{}, filepath.Join(root, path), filepath.Join(root, "ok.log"))
		if err != nil || len(s.Sources) != 1 || kinds(s)[kind] != 1 {
			t.Errorf("%s beside a good file: %v, %v", path, err, names(s))
		}
	}
	if _, err := local(t, LocalOptions{}); !errors.Is(err, ErrNothing) {
		t.Errorf("no path: %v", err)
	}
	if _, err := local(t, LocalOptions{}, ""); !errors.Is(err, ErrNothing) {
		t.Errorf("an empty path is not the current directory: %v", err)
	}
	if _, err := local(t, LocalOptions{}, os.DevNull); !errors.Is(err, ErrNothing) {
		t.Errorf("device: %v", err)
	}
	if os.Getuid() != 0 {
		p := filepath.Join(root, "locked.log")
		if err := os.Chmod(p, 0); err != nil {
			t.Fatal(err)
		}
		if s, err := local(t, LocalOptions{}, p); !errors.Is(err, ErrNothing) || kinds(s)[Unreadable] != 1 {
			t.Errorf("locked: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Local(ctx, []string{root}, LocalOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

type item struct {
	name, text string
	kind       byte
}

func tarOf(t *testing.T, items []item) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, i := range items {
		h := &tar.Header{Name: i.name, Typeflag: i.kind, Mode: 0o644, Size: int64(len(i.text))}
		if i.kind == tar.TypeSymlink || i.kind == tar.TypeLink {
			h.Linkname, h.Size, i.text = i.text, 0, ""
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(i.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t *testing.T, items []item) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, i := range items {
		h := &zip.FileHeader{Name: i.name, Method: zip.Deflate}
		if i.kind == tar.TypeSymlink {
			h.SetMode(os.ModeSymlink | 0o777)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(i.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gz(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func save(t *testing.T, name string, b []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestArchivesAreUnpackedAndHostileEntriesRefused(t *testing.T) {
	items := []item{
		{"job/a.log", "one\n", tar.TypeReg}, {"./b.log", "two\n", tar.TypeReg}, {"../climb.log", "x", tar.TypeReg}, {"/abs.log", "x", tar.TypeReg},
		{"c/../../d.log", "x", tar.TypeReg}, {"link.log", "/etc/passwd", tar.TypeSymlink}, {"job/a.log", "again", tar.TypeReg}, {"m.pt", "x", tar.TypeReg},
		{".secret", "x", tar.TypeReg}, {"bin.log", "\x7fELF", tar.TypeReg}, {"bell\x07.log", "x\n", tar.TypeReg},
	}
	special := append([]item{{"dev", "", tar.TypeChar}, {"fifo", "", tar.TypeFifo}, {"hard.log", "job/a.log", tar.TypeLink}}, items...)
	for name, b := range map[string][]byte{"l.tar": tarOf(t, special), "l.tar.gz": gz(t, tarOf(t, special)), "l.zip": zipOf(t, items), "odd.name": gz(t, tarOf(t, special))} {
		t.Run(name, func(t *testing.T) {
			spool := t.TempDir()
			s, err := local(t, LocalOptions{SpoolDir: spool}, save(t, name, b))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := names(s), []string{"b.log", "bell\x07.log", "job/a.log"}; !reflect.DeepEqual(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			for _, src := range s.Sources {
				if src.Origin != "archive:"+name || len(src.SHA256) != 64 || filepath.Dir(src.Path) != spool {
					t.Errorf("%+v", src)
				}
			}
			for _, bad := range []string{"../climb.log", "/abs.log", "c/../../d.log", "link.log", "job/a.log"} {
				warned(t, s, name, bad)
			}
			if name != "l.zip" {
				for _, bad := range []string{"dev", "fifo", "hard.log"} {
					warned(t, s, name, bad)
				}
			}
			if n, _ := filepath.Glob(filepath.Join(spool, "*")); len(n) != 3 {
				t.Errorf("spool holds %v", n)
			}
		})
	}
}

func TestArchiveLimits(t *testing.T) {
	var many []item
	for i := range 50 {
		many = append(many, item{fmt.Sprintf("%d.log", i), "0123456789\n", tar.TypeReg})
	}
	big := []item{{"a.log", "ok\n", tar.TypeReg}, {"big.log", strings.Repeat("a", 1<<20), tar.TypeReg}, {"c.log", "ok\n", tar.TypeReg}}
	base := limits{files: 1000, entries: 1000, entry: 1 << 30, spool: 1 << 30, ratio: 1 << 30, ratioAt: 1 << 40}
	for name, c := range map[string]struct {
		items []item
		with  func(l *limits)
		kind  Kind
		n     int
	}{
		"entries": {many, func(l *limits) { l.entries = 10 }, TooMuch, 11},
		"entry":   {big, func(l *limits) { l.entry = 1000 }, Hostile, 2},
		"spool":   {big, func(l *limits) { l.spool = 1000 }, TooMuch, 1},
		"ratio":   {big, func(l *limits) { l.ratio, l.ratioAt = 20, 1<<16 }, Hostile, 1},
	} {
		lim := base
		c.with(&lim)
		for ext, b := range map[string][]byte{".tar.gz": gz(t, tarOf(t, c.items)), ".zip": zipOf(t, c.items)} {
			s, err := local(t, LocalOptions{limits: lim}, save(t, "x"+ext, b))
			if err != nil || kinds(s)[c.kind] != 1 || len(s.Sources) < c.n || len(s.Sources) > c.n+1 {
				t.Errorf("%s%s: %v, %d sources, %v", name, ext, err, len(s.Sources), s.Warnings)
			}
		}
	}
}

func TestCutArchiveGivesWhatItHas(t *testing.T) {
	b := tarOf(t, []item{{"a.log", "ok\n", tar.TypeReg}, {"b.log", strings.Repeat("line\n", 1000), tar.TypeReg}})
	s, err := local(t, LocalOptions{}, save(t, "x.tar", b[:3000]))
	if err != nil || len(s.Sources) != 2 || kinds(s)[Unreadable] != 1 {
		t.Errorf("%v %v %v", err, names(s), s.Warnings)
	}
}

func TestArchiveWithinADirectoryKeepsItsPlace(t *testing.T) {
	root := tree(t, map[string]string{"a.log": "x\n", "old/logs.tar": string(tarOf(t, []item{{"a.log", "y\n", tar.TypeReg}, {"in.tar", string(tarOf(t, []item{{"z.log", "z", tar.TypeReg}})), tar.TypeReg}})), "c.log.gz": string(gz(t, []byte("text\n")))})
	s, err := local(t, LocalOptions{}, root)
	if want := []string{"a.log", "c.log.gz", "old/logs.tar/a.log"}; err != nil || !reflect.DeepEqual(names(s), want) {
		t.Errorf("%v %v", err, names(s))
	}
	warned(t, s, "in.tar", "archive within an archive")
}

func TestNoSpoolNoArchive(t *testing.T) {
	p := save(t, "x.tar", tarOf(t, []item{{"a.log", "ok\n", tar.TypeReg}}))
	if _, err := Local(context.Background(), []string{p}, LocalOptions{}); !errors.Is(err, ErrNothing) {
		t.Errorf("%v", err)
	}
}

func TestWhatAnArchiveMayUnpackToIsConfigured(t *testing.T) {
	var items []item
	for i := range 20 {
		items = append(items, item{fmt.Sprintf("rank-%d.log", i), strings.Repeat("step\n", 1000), tar.TypeReg})
	}
	p := save(t, "x.tar", tarOf(t, items))
	s, err := local(t, LocalOptions{Unpack: Bounds{Files: 7}}, p)
	if err != nil || len(s.Sources) != 8 {
		t.Errorf("%v %v", err, names(s))
	}
	warned(t, s, "more than 7 entries", "limits.unpack_files")
	s, err = local(t, LocalOptions{Unpack: Bounds{Bytes: 12_000}}, p)
	if err != nil || len(s.Sources) != 2 {
		t.Errorf("%v %v", err, names(s))
	}
	warned(t, s, "unpacks to more than 12000 bytes", "limits.unpack_mb")
}

// What people upload lies in the bot's own folder, and they are told its name only.
func TestTheBotsOwnFoldersAreNotNamed(t *testing.T) {
	own := t.TempDir()
	broken := filepath.Join(own, "F-1", "logs.zip")
	if err := errors.Join(os.MkdirAll(filepath.Dir(broken), 0o755), os.WriteFile(broken, []byte("PK\x03\x04"), 0o600)); err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(gate.Area{Own: true, Roots: []string{own}})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := local(t, LocalOptions{Gate: g}, broken, filepath.Join(own, "F-1", "gone.log"))
	if len(s.Unreadable) != 2 {
		t.Errorf("%q", s.Warnings)
	}
	for _, w := range s.Warnings {
		if strings.Contains(w, own) {
			t.Errorf("%q names the folder", w)
		}
	}
}

// inMemory is a directory of a test that makes thousands of them: in memory, where the machine has such, which is ten times as fast.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "archive-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func FuzzArchive(f *testing.F) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	w.WriteHeader(&tar.Header{Name: "../x.log", Typeflag: tar.TypeReg, Size: 1})
	w.Write([]byte("x"))
	w.Close()
	f.Add(b.Bytes())
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := inMemory(t)
		spool := filepath.Join(dir, "spool")
		if err := os.Mkdir(spool, 0o755); err != nil {
			t.Fatal(err)
		}
		p := filepath.Join(dir, "x.tar")
		if err := os.WriteFile(p, data, 0o644); err != nil {
			t.Fatal(err)
		}
		s, _ := Local(context.Background(), []string{p}, LocalOptions{SpoolDir: spool, limits: limits{files: 9, entries: 50, entry: 1 << 16, spool: 1 << 17, ratio: 100, ratioAt: 1 << 16}})
		for _, src := range s.Sources {
			if d := filepath.Dir(src.Path); d != spool && src.Path != p {
				t.Fatalf("%s escaped to %s", src.Name, src.Path)
			}
		}
		if n, _ := filepath.Glob(filepath.Join(dir, "*")); len(n) != 2 {
			t.Fatalf("something was written beside the spool: %v", n)
		}
	})
}
