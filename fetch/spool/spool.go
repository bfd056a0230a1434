// Package spool keeps on this machine what was taken from sources: each content once, under its sha256, bounded in size. What a
// cut or a restart left half done is taken up where it ended; of a file that grew only the rest is fetched.
package spool

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"faultline/fetch/source"
	"faultline/incident"
)

// Options bound a spool.
type Options struct {
	// Max is how many bytes are kept; 0 = 64 GiB. What was not used for the longest time goes first; what is in use never.
	Max int64
	// Keep is how long content is kept that nobody uses; 0 = as long as there is room.
	Keep time.Duration
	// Together is how many files are taken at the same time; 0 = 8.
	Together int
	// Used names the paths that somebody still needs (incident.Source.Path); nil = none. What was used within the last hour
	// needs no naming.
	Used func(context.Context) ([]string, error)
	// Now is the clock; nil = time.Now.
	Now func() time.Time
}

// Spool is a directory of one process. Its methods may be called at the same time.
type Spool struct {
	dir  string
	o    Options
	lock *os.File
	// create makes or opens the file of a part; tests let the disk be full here.
	create func(name string) (part, error)

	mu    sync.Mutex
	busy  map[string]chan struct{} // parts that somebody works at, by key; closed when that is over
	parts map[string]int64         // what is counted for each part
	blobs map[string]*blob         // by sum
	total int64                    // of parts and blobs
}

// blob is content that is here.
type blob struct {
	size int64
	used time.Time
	pins int // by calls that are about to give it
}

// part is a file that is being written.
type part interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Stat() (os.FileInfo, error)
	Sync() error
}

// Place is a source and what it is called.
type Place struct {
	Source source.Source
	// ID tells places apart, for good: "sftp://login.example.org", "s3://bucket".
	ID string
	// Origin is incident.Source's: "sftp", "s3", "shared".
	Origin string
}

// Want is a file to be taken.
type Want struct {
	File source.File
	// Name is what a report calls it; "" = the last element of File.Name.
	Name string
	Node string // that the origin proves, or ""
}

// Progress is how far a Take has come. Bytes counts what need not be fetched too; Fetched does not.
type Progress struct {
	Files, OfFiles          int
	Bytes, OfBytes, Fetched int64
}

// Taken is what a Take brought.
type Taken struct {
	Sources []incident.Source // sorted by name; their paths hold until nobody names them as used
	Missed  []Missed          // in the order of the wants
	Fetched int64             // bytes that had to be brought
}

// Missed is a file that could not be taken, and why: an *source.Error, unless the context ended.
type Missed struct {
	Want Want
	Err  error
}

const (
	defaultMax      = 64 << 30
	defaultTogether = 8
	// fresh is how long after its last use content counts as used: until whoever asked for it has written down that it is.
	fresh = time.Hour
)

// Folders are what a spool has in its directory.
var Folders = []string{"blob", "part", "have"}

// Open opens, or makes, a spool. It is an error when another process has it open.
func Open(dir string, o Options) (*Spool, error) {
	if o.Max <= 0 {
		o.Max = defaultMax
	}
	if o.Together <= 0 {
		o.Together = defaultTogether
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the spool: %w", err)
	}
	s := &Spool{dir: dir, o: o, busy: map[string]chan struct{}{}, parts: map[string]int64{}, blobs: map[string]*blob{}}
	s.create = func(name string) (part, error) { return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600) }
	for _, d := range Folders {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("opening the spool: %w", err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the spool: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("opening the spool %s: another process is using it (%w): give each its own directory", dir, err)
	}
	s.lock = lock
	if err := s.measure(); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("opening the spool: %w", err)
	}
	return s, nil
}

// Close lets another process open the spool.
func (s *Spool) Close() error { return s.lock.Close() }

// Take brings files of one place. It gives what it could take and says what it could not; the error is ctx's, and also then what
// was taken is given, and what was begun is resumed by the next call. Progress, which may be nil, is called by one goroutine at
// a time, often.
func (s *Spool) Take(ctx context.Context, from Place, want []Want, progress func(Progress)) (Taken, error) {
	t := &take{Spool: s, from: from, tell: progress}
	t.at.OfFiles = len(want)
	for _, w := range want {
		t.at.OfBytes += w.File.Size
	}
	defer t.unpin()
	results := make([]result, len(want))
	queue := make(chan int)
	var workers sync.WaitGroup
	for range min(s.o.Together, len(want)) {
		workers.Go(func() {
			buffer := make([]byte, chunk)
			for i := range queue {
				results[i].source, results[i].err = t.one(ctx, want[i], buffer)
			}
		})
	}
	for i := range want {
		queue <- i
	}
	close(queue)
	workers.Wait()

	taken := Taken{Fetched: t.at.Fetched}
	for i, r := range results {
		if r.err != nil {
			taken.Missed = append(taken.Missed, Missed{want[i], r.err})
			continue
		}
		taken.Sources = append(taken.Sources, r.source)
	}
	slices.SortStableFunc(taken.Sources, func(a, b incident.Source) int { return cmp.Compare(a.Name, b.Name) })
	if ctx.Err() != nil {
		return taken, context.Cause(ctx)
	}
	return taken, nil
}

type result struct {
	source incident.Source
	err    error
}

// take is one call of Take.
type take struct {
	*Spool
	from Place

	say  sync.Mutex
	tell func(Progress)
	at   Progress
	full bool     // the disk is: what is left would only fill it again
	sums []string // pinned by this call
}

// one takes a file.
func (t *take) one(ctx context.Context, w Want, buffer []byte) (incident.Source, error) {
	if ctx.Err() != nil {
		return incident.Source{}, context.Cause(ctx)
	}
	if t.isFull() {
		return incident.Source{}, &source.Error{Kind: source.DiskFull, Name: w.File.Name}
	}
	got, err := t.file(ctx, w, buffer)
	if source.KindOf(err) == source.DiskFull {
		t.say.Lock()
		t.full = true
		t.say.Unlock()
	}
	if err != nil {
		return incident.Source{}, err
	}
	name := w.Name
	if name == "" {
		name = path.Base(w.File.Name)
	}
	return incident.Source{Name: name, Path: t.blobFile(got.Sum), Written: nanoseconds(w.File.Written), Node: w.Node, SHA256: got.Sum, Bytes: got.Size, Origin: t.from.Origin}, nil
}

// nanoseconds are those since 1970; 0 where the place states no time.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func (t *take) isFull() bool {
	t.say.Lock()
	defer t.say.Unlock()
	return t.full
}

// advance counts files, bytes, and those of them that were fetched.
func (t *take) advance(files int, bytes, fetched int64) {
	t.say.Lock()
	defer t.say.Unlock()
	t.at.Files += files
	t.at.Bytes += bytes
	t.at.Fetched += fetched
	t.at.OfBytes = max(t.at.OfBytes, t.at.Bytes) // files grow while they are taken
	if t.tell != nil {
		t.tell(t.at)
	}
}
