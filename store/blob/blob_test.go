package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

// buckets holds every Bucket to the same promises.
func buckets(t *testing.T, open func(t *testing.T) Bucket) {
	ctx := context.Background()
	put := func(t *testing.T, b Bucket, key, content string) {
		t.Helper()
		if err := b.Put(ctx, key, strings.NewReader(content), int64(len(content))); err != nil {
			t.Fatal(err)
		}
	}
	get := func(t *testing.T, b Bucket, key string) string {
		t.Helper()
		r, err := b.Open(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	gone := func(t *testing.T, b Bucket, key string) {
		t.Helper()
		if r, err := b.Open(ctx, key); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%q: got %v, %v", key, r, err)
		}
	}
	keys := func(t *testing.T, b Bucket, prefix string, want ...string) {
		t.Helper()
		got, err := b.List(ctx, prefix)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q holds %q, %v; want %q", prefix, got, err, want)
		}
	}
	run := func(name string, f func(t *testing.T, b Bucket)) {
		t.Run(name, func(t *testing.T) { f(t, open(t)) })
	}

	run("what is put is there, whatever its bytes and its name", func(t *testing.T, b Bucket) {
		for i, content := range []string{"", "text", "\x00\xff 100%\r\n", strings.Repeat("0123456789abcdef", 1<<20)} {
			key := []string{"a.zip", "2026/03/01/F-1_west_4242+0_v7.zip", "dir/with space & %41 'quote' ü 🙂", strings.Repeat("x", maxPart)}[i]
			put(t, b, key, content)
			if got := get(t, b, key); got != content {
				t.Errorf("%s: %d bytes came back, want %d", key, len(got), len(content))
			}
		}
	})
	run("a second one replaces the first", func(t *testing.T, b Bucket) {
		put(t, b, "a/b", "first")
		put(t, b, "a/b", "2")
		if got := get(t, b, "a/b"); got != "2" {
			t.Errorf("got %q", got)
		}
		keys(t, b, "", "a/b")
	})
	run("what was never there", func(t *testing.T, b Bucket) {
		keys(t, b, "")
		keys(t, b, "a/")
		gone(t, b, "a")
		gone(t, b, "a/b/c")
		for range 2 {
			if err := b.Remove(ctx, "a/b/c"); err != nil {
				t.Error(err)
			}
		}
	})
	run("lists are sorted and cut by prefix", func(t *testing.T, b Bucket) {
		for _, key := range []string{"b/2", "a/c/1", "a.b", "a/b", "ab", "a/b1", "b/10"} {
			put(t, b, key, key)
		}
		keys(t, b, "", "a.b", "a/b", "a/b1", "a/c/1", "ab", "b/10", "b/2")
		keys(t, b, "a/", "a/b", "a/b1", "a/c/1")
		keys(t, b, "a/b", "a/b", "a/b1")
		keys(t, b, "a", "a.b", "a/b", "a/b1", "a/c/1", "ab")
		keys(t, b, "b/1", "b/10")
		keys(t, b, "c")
	})
	run("what is removed is gone and takes nothing along", func(t *testing.T, b Bucket) {
		put(t, b, "a/b/c", "1")
		put(t, b, "a/b/d", "2")
		for _, key := range []string{"a/b", "a/b/c", "a"} { // two of them are no keys
			if err := b.Remove(ctx, key); err != nil {
				t.Error(err)
			}
		}
		gone(t, b, "a/b/c")
		keys(t, b, "", "a/b/d")
		if err := b.Remove(ctx, "a/b/d"); err != nil {
			t.Error(err)
		}
		put(t, b, "a", "a file where a directory was")
	})
	run("content that breaks off or is longer than announced changes nothing", func(t *testing.T, b Bucket) {
		put(t, b, "k", "whole")
		for name, r := range map[string]io.Reader{
			"error": io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(errors.New("disk is gone"))),
			"short": strings.NewReader("ab"),
			"long":  strings.NewReader("abcdef"),
		} {
			if err := b.Put(ctx, "k", r, 5); err == nil {
				t.Errorf("%s: no error", name)
			}
			if err := b.Put(ctx, "other", r, 5); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		if got := get(t, b, "k"); got != "whole" {
			t.Errorf("got %q", got)
		}
		keys(t, b, "", "k")
	})
	run("names that lead elsewhere are no keys", func(t *testing.T, b Bucket) {
		for _, key := range []string{"", "/", "/etc/passwd", "../x", "a/../../x", "a//b", "a/", ".part/x", "a/.hidden", "a\x00b", "a\nb", `a\b`, "\xff", strings.Repeat("x", 201), strings.Repeat("x/", 600) + "x"} {
			if err := b.Put(ctx, key, strings.NewReader("x"), 1); err == nil {
				t.Errorf("%q was taken", key)
			}
			gone(t, b, key)
			if err := b.Remove(ctx, key); err != nil {
				t.Errorf("removing %q: %v", key, err)
			}
		}
		keys(t, b, "")
	})
	run("many at once", func(t *testing.T, b Bucket) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := range 10 {
					key, own := "shared/same", fmt.Sprintf("shared/d%d/own%d", n, i)
					content := strings.Repeat(fmt.Sprint(i), 1000)
					if err := errors.Join(b.Put(ctx, key, strings.NewReader(content), 1000), b.Put(ctx, own, strings.NewReader(content), 1000), b.Remove(ctx, own)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if got := get(t, b, "shared/same"); got != strings.Repeat(got[:1], 1000) {
			t.Errorf("mixed: %q", got)
		}
		keys(t, b, "", "shared/same")
	})
	run("a stop is heeded", func(t *testing.T, b Bucket) {
		stopped, stop := context.WithCancel(ctx)
		stop()
		if err := b.Put(stopped, "k", strings.NewReader("x"), 1); err == nil {
			t.Error("no error")
		}
		keys(t, b, "")
	})
	run("attachments are kept by what they contain", func(t *testing.T, b Bucket) {
		s := Store{b}
		var want []string
		for _, content := range []string{"one", "two", "one", ""} {
			key, err := s.Put(ctx, []byte(content))
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256([]byte(content)); key != hex.EncodeToString(sum[:]) {
				t.Errorf("key %s", key)
			}
			r, err := s.Open(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if r.Close(); err != nil || string(got) != content {
				t.Errorf("got %q, %v", got, err)
			}
			want = append(want, key)
		}
		slices.Sort(want)
		want = slices.Compact(want)
		put(t, b, "blob/xx/other", "not an attachment")
		if got, err := s.List(ctx); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		if err := errors.Join(s.Delete(ctx, want[0]), s.Delete(ctx, want[0]), s.Delete(ctx, "../x"), s.Delete(ctx, "")); err != nil {
			t.Error(err)
		}
		for _, key := range []string{want[0], "", "..", strings.ToUpper(want[1]), want[1][:62]} {
			if _, err := s.Open(ctx, key); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q: %v", key, err)
			}
		}
	})
}

func openDir(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestADirectoryIsABucket(t *testing.T) {
	buckets(t, func(t *testing.T) Bucket { return openDir(t, filepath.Join(t.TempDir(), "new", "dir")) })
}

func TestOnlyTheOwnerMayReadADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	if err := openDir(t, dir).Put(context.Background(), "a/b", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What a killed process left is removed when it is old, and never listed.
func TestUnfinishedFilesOfDeadProcessesGo(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir)
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "young": time.Hour} {
		file := filepath.Join(dir, parts, name)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if keys, err := d.List(context.Background(), ""); err != nil || len(keys) > 0 {
		t.Fatalf("%q, %v", keys, err)
	}
	openDir(t, dir)
	left, err := filepath.Glob(filepath.Join(dir, parts, "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "young" {
		t.Fatalf("%q, %v", left, err)
	}
}

func TestALinkLeadsNobodyOutOfTheDirectory(t *testing.T) {
	secret, dir := filepath.Join(t.TempDir(), "secret"), t.TempDir()
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := openDir(t, dir)
	if err := errors.Join(os.Symlink(secret, filepath.Join(dir, "file")), os.Symlink(filepath.Dir(secret), filepath.Join(dir, "dir"))); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"file", "dir/secret"} {
		if r, err := d.Open(context.Background(), key); err == nil {
			r.Close()
			t.Errorf("%s could be opened", key)
		}
	}
	if err := d.Put(context.Background(), "dir/new", bytes.NewReader(nil), 0); err == nil {
		t.Error("something was written through a link")
	}
	if keys, err := d.List(context.Background(), ""); err != nil || len(keys) > 0 {
		t.Errorf("%q, %v", keys, err)
	}
}
