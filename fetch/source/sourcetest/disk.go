package sourcetest

import (
	"os"
	"path/filepath"
	"testing"

	"faultline/fetch/source"
)

// OnDisk is the place of a source that gives what lies in dir/root on this machine's disk.
func OnDisk(s source.Source, dir string) Place {
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	return Place{
		Source: s, Root: filepath.Join(dir, "root"), Outside: filepath.Join(dir, "outside"),
		Write: func(t *testing.T, name string, content []byte) {
			must(t, os.MkdirAll(filepath.Dir(name), 0o755))
			must(t, os.WriteFile(name+".new", content, 0o644))
			must(t, os.Rename(name+".new", name))
		},
		Append: func(t *testing.T, name string, content []byte) {
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			_, err = f.Write(content)
			must(t, err)
			must(t, f.Close())
		},
		Remove: func(t *testing.T, name string) { must(t, os.Remove(name)) },
		Empty:  func(t *testing.T, name string) { must(t, os.Truncate(name, 0)) },
		Link:   func(t *testing.T, name, target string) { must(t, os.Symlink(target, name)) },
	}
}
