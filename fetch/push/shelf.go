package push

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Shelf is where it is written down what was handed in: a file for each run of a job and each account. The contents are in the
// spool.
type Shelf struct {
	// Dir is made when it is needed.
	Dir string
	// Content is where a content lies; an error where it does not.
	Content func(sum string) (string, error)

	mu sync.Mutex // writers
}

// Bundle is what one account handed in of one run of a job.
type Bundle struct {
	Cluster string `json:"cluster"`
	// Proven: the account is the one whose key signed it, and not merely stated.
	Proven bool      `json:"proven,omitempty"`
	At     time.Time `json:"at"`
	Offer

	content func(string) (string, error)
}

// Content is where the content of a file lies.
func (b *Bundle) Content(f File) (string, error) { return b.content(f.SHA256) }

// Logs are the files that are logs, and Facts those that hold what the cluster said.
func (b *Bundle) Logs() []File  { return b.only(false) }
func (b *Bundle) Facts() []File { return b.only(true) }

func (b *Bundle) only(facts bool) []File {
	return slices.DeleteFunc(slices.Clone(b.Files), func(f File) bool { return f.Fact != facts })
}

func (s *Shelf) folder(cluster, job string) string {
	return filepath.Join(s.Dir, "c-"+cluster, "j-"+job)
}

// Of lists what was handed in for a job, the newest run first. Nothing is not an error.
func (s *Shelf) Of(cluster, job string) ([]Bundle, error) {
	if s == nil || strings.ContainsAny(cluster+job, "/\x00") {
		return nil, nil
	}
	return s.read(s.folder(cluster, job))
}

func (s *Shelf) read(dir string) ([]Bundle, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking up pushed files: %w", err)
	}
	var out []Bundle
	for _, e := range list {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil || !strings.HasSuffix(e.Name(), ".json") {
			continue // it has just gone
		}
		b := Bundle{content: s.Content}
		if err := json.Unmarshal(text, &b); err != nil {
			return nil, fmt.Errorf("can't read pushed files: %s: %w", e.Name(), err)
		}
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b Bundle) int {
		return cmp.Or(cmp.Compare(b.Submit, a.Submit), cmp.Compare(b.Restart, a.Restart), cmp.Compare(a.ID(), b.ID()))
	})
	return out, nil
}

// put adds an offer to what there is of the run, and gives the whole. The same file once more takes the place of the one before,
// unless that came from another machine and holds something else: then it is another file.
func (s *Shelf) put(cluster string, o Offer, proven bool, now time.Time, files int, size int64) (Bundle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.Of(cluster, o.Job)
	if err != nil {
		return Bundle{}, err
	}
	b := Bundle{Cluster: cluster, At: now.UTC(), Proven: proven, Offer: o, content: s.Content}
	for _, old := range all {
		if old.ID() != b.ID() {
			continue
		}
		for _, f := range old.Files {
			if !slices.ContainsFunc(o.Files, func(n File) bool { return s.replaces(n, f) }) {
				b.Files = append(b.Files, f)
			}
		}
		if len(b.Nodes) == 0 {
			b.Nodes, b.NodesFrom = old.Nodes, old.NodesFrom
		}
	}
	slices.SortStableFunc(b.Files, func(x, y File) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Host, y.Host), cmp.Compare(x.SHA256, y.SHA256))
	})
	if n, total := b.size(); n > files || total > size {
		return b, errTooMuch
	}
	text, err := json.Marshal(b)
	if err != nil {
		return b, err
	}
	dir := s.folder(cluster, o.Job)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return b, fmt.Errorf("recording pushed files: %w", err)
	}
	return b, write(filepath.Join(dir, b.ID()), text)
}

// ID names a bundle among those of its job: of what an account proves to be its own, nobody else can take anything away.
func (b *Bundle) ID() string {
	who := sha256.Sum256([]byte(fmt.Sprintf("%t %s", b.Proven, b.User)))
	return fmt.Sprintf("%d-%d-%x.json", b.Submit, b.Restart, who[:8])
}

// SameRun says that two bundles are of one run.
func (b *Bundle) SameRun(o *Bundle) bool { return b.Submit == o.Submit && b.Restart == o.Restart }

var errTooMuch = errors.New("too much for one job")

func (b *Bundle) size() (files int, bytes int64) {
	for _, f := range b.Files {
		bytes += f.Size
	}
	return len(b.Files), bytes
}

// replaces says that a file is a newer sight of an older one.
func (s *Shelf) replaces(n, old File) bool {
	switch {
	case n.Fact || old.Fact:
		return n.Fact && old.Fact && n.Name == old.Name
	case n.Path != old.Path:
		return false
	case n.Host == old.Host || n.SHA256 == old.SHA256:
		return true
	}
	whole, err1 := s.Content(n.SHA256)
	part, err2 := s.Content(old.SHA256)
	return err1 == nil && err2 == nil && beginsWith(whole, part) // a shared file that grew
}

// beginsWith is BeginsWith of two contents of the spool.
func beginsWith(whole, part string) bool {
	w, err := os.Open(whole)
	if err != nil {
		return false
	}
	defer w.Close()
	p, err := os.Open(part)
	if err != nil {
		return false
	}
	defer p.Close()
	return BeginsWith(w, p)
}

// BeginsWith says that one file begins with all of another.
func BeginsWith(w, p io.Reader) bool {
	x, y := make([]byte, 256<<10), make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(p, x)
		if n > 0 {
			if _, err := io.ReadFull(w, y[:n]); err != nil || !bytes.Equal(x[:n], y[:n]) {
				return false
			}
		}
		if err != nil {
			return err == io.EOF || err == io.ErrUnexpectedEOF
		}
	}
}

// write replaces a file; a crash leaves the old one or the new one.
func write(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "new-*")
	if err != nil {
		return fmt.Errorf("recording pushed files: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("recording pushed files: %w", err)
	}
	return nil
}

// Used are the contents that are still needed, and Clean forgets what was handed in before a time; what an investigation
// names stays with that.
func (s *Shelf) Used() (sums []string, err error) {
	err = s.each(func(b Bundle, _ string) error {
		for _, f := range b.Files {
			sums = append(sums, f.SHA256)
		}
		return nil
	})
	return sums, err
}

// Clean removes what is older than its cluster's time.
func (s *Shelf) Clean(before func(cluster string) time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.each(func(b Bundle, file string) error {
		if !b.At.Before(before(b.Cluster)) {
			return nil
		}
		err := os.Remove(file)
		_ = os.Remove(filepath.Dir(file)) // where it was the last of its job
		return err
	})
}

// Forget removes what is written down of a job's pushes, and says whether there was anything.
func (s *Shelf) Forget(cluster, job string) (bool, error) {
	list, err := s.Of(cluster, job)
	if err != nil || len(list) == 0 {
		return false, err
	}
	if err := os.RemoveAll(s.folder(cluster, job)); err != nil {
		return false, fmt.Errorf("removing the files pushed for job %s: %w", job, err)
	}
	return true, nil
}

func (s *Shelf) each(do func(b Bundle, file string) error) error {
	dirs, err := filepath.Glob(filepath.Join(escape(s.Dir), "c-*", "j-*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		list, err := s.read(dir)
		if err != nil {
			return err
		}
		for _, b := range list {
			if err := do(b, filepath.Join(dir, b.ID())); err != nil {
				return err
			}
		}
	}
	return nil
}

func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}
