package spool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"faultline/fetch/source"
)

// partAge is how long a part is kept that nobody takes up.
const partAge = 24 * time.Hour

// measure looks at what an earlier process left.
func (s *Spool) measure() error {
	err := filepath.WalkDir(filepath.Join(s.dir, "blob"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !isSum(d.Name()) {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s.blobs[d.Name()] = &blob{size: info.Size(), used: info.ModTime()}
		s.total += info.Size()
		return nil
	})
	if err != nil {
		return err
	}
	list, err := os.ReadDir(filepath.Join(s.dir, "part"))
	for _, d := range list {
		info, err := d.Info()
		if err != nil || strings.Contains(d.Name(), ".") {
			continue
		}
		s.parts[d.Name()] = info.Size()
		s.total += info.Size()
	}
	return err
}

// only lets one caller at a time work at a part.
func (s *Spool) only(ctx context.Context, k string) (free func(), err error) {
	for {
		s.mu.Lock()
		other := s.busy[k]
		if other == nil {
			mine := make(chan struct{})
			s.busy[k] = mine
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				delete(s.busy, k)
				s.mu.Unlock()
				close(mine)
			}, nil
		}
		s.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// pin marks content as used, and keeps it until the call is over; false where it is not here.
func (t *take) pin(sum string, size int64) bool {
	now := t.o.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.blobs[sum]
	if b == nil || b.size != size {
		return false
	}
	if os.Chtimes(t.blobFile(sum), now, now) != nil {
		t.lose(sum) // somebody forgot an incident
		return false
	}
	b.used = now
	b.pins++
	t.sums = append(t.sums, sum)
	return true
}

func (t *take) unpin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, sum := range t.sums {
		if b := t.blobs[sum]; b != nil {
			b.pins--
		}
	}
}

// lose takes note of content that somebody else removed. The caller holds mu.
func (s *Spool) lose(sum string) {
	if b := s.blobs[sum]; b != nil {
		s.total -= b.size
		delete(s.blobs, sum)
	}
}

// become makes a part content, pinned by the call.
func (t *take) become(k, sum string, size int64) error {
	now := t.o.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := os.Chtimes(t.partFile(k), now, now); err != nil {
		return err
	}
	var err error
	for range 10 { // whoever forgets an incident removes directories that become empty
		if err = os.MkdirAll(filepath.Dir(t.blobFile(sum)), 0o700); err != nil {
			return err
		}
		if err = os.Rename(t.partFile(k), t.blobFile(sum)); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return err
	}
	_ = os.Remove(t.partNote(k))
	t.total -= t.parts[k]
	delete(t.parts, k)
	b := t.blobs[sum]
	if b == nil { // else another part became the same just now
		b = &blob{}
		t.blobs[sum] = b
	}
	t.total += size - b.size
	b.size, b.used = size, now
	b.pins++
	t.sums = append(t.sums, sum)
	return nil
}

// hold counts n bytes for a part, and makes room for them.
func (s *Spool) hold(ctx context.Context, k string, n int64, name string) error {
	s.mu.Lock()
	over := s.total - s.parts[k] + n - s.o.Max
	s.mu.Unlock()
	if over > 0 && n <= s.o.Max {
		s.evict(ctx, over)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total-s.parts[k]+n > s.o.Max {
		return &source.Error{Kind: source.TooMuch, Name: name,
			More: fmt.Sprintf("it has %d bytes; the spool may hold %d and already uses %d", n, s.o.Max, s.total-s.parts[k])}
	}
	s.total += n - s.parts[k]
	s.parts[k] = n
	return nil
}

// shrink counts fewer bytes for a part.
func (s *Spool) shrink(k string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += n - s.parts[k]
	s.parts[k] = n
}

// discard removes a part.
func (s *Spool) discard(k string) {
	_ = os.Remove(s.partFile(k))
	_ = os.Remove(s.partNote(k))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total -= s.parts[k]
	delete(s.parts, k)
}

// evict frees n bytes, of content that nobody uses, and says how many it could.
func (s *Spool) evict(ctx context.Context, n int64) int64 {
	freed, _ := s.remove(ctx, func(b *blob, freed int64) bool { return freed < n })
	return freed
}

// remove removes the content for which want says so, from what was not used for the longest time on; what is in use never.
func (s *Spool) remove(ctx context.Context, want func(b *blob, freed int64) bool) (freed int64, err error) {
	inUse := map[string]bool{}
	if s.o.Used != nil {
		paths, err := s.o.Used(ctx)
		if err != nil {
			return 0, fmt.Errorf("finding out what the spool uses: %w", err) // then all of it may be
		}
		for _, p := range paths {
			inUse[filepath.Base(p)] = true
		}
	}
	before := s.o.Now().Add(-fresh)
	s.mu.Lock()
	defer s.mu.Unlock()
	var sums []string
	for sum, b := range s.blobs {
		if b.pins == 0 && !inUse[sum] && b.used.Before(before) {
			sums = append(sums, sum)
		}
	}
	slices.SortFunc(sums, func(a, b string) int {
		return cmp.Or(s.blobs[a].used.Compare(s.blobs[b].used), cmp.Compare(a, b))
	})
	for _, sum := range sums {
		b := s.blobs[sum]
		if !want(b, freed) {
			continue
		}
		if err := os.Remove(s.blobFile(sum)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return freed, fmt.Errorf("making room in the spool: %w", err)
		}
		delete(s.blobs, sum)
		s.total -= b.size
		freed += b.size
	}
	return freed, nil
}

// Clean removes what is past its time, parts that nobody takes up, and what is above the bound; it says how many bytes that
// freed. Call it now and then.
func (s *Spool) Clean(ctx context.Context) (freed int64, err error) {
	now := s.o.Now()
	s.mu.Lock()
	for sum := range s.blobs {
		if _, err := os.Lstat(s.blobFile(sum)); errors.Is(err, fs.ErrNotExist) {
			s.lose(sum)
		}
	}
	over := s.total - s.o.Max
	s.mu.Unlock()
	freed, err = s.remove(ctx, func(b *blob, freed int64) bool {
		return freed < over || s.o.Keep > 0 && now.Sub(b.used) > s.o.Keep
	})
	if err != nil {
		return freed, err
	}
	for _, k := range s.old(now) {
		done, err := s.only(ctx, k)
		if err != nil {
			return freed, err
		}
		s.mu.Lock()
		freed += s.parts[k]
		s.mu.Unlock()
		s.discard(k)
		done()
	}
	return freed, s.forget()
}

// old are the parts that nobody has written to for long.
func (s *Spool) old(now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for k := range s.parts {
		if info, err := os.Stat(s.partFile(k)); s.busy[k] == nil && (err != nil || now.Sub(info.ModTime()) > partAge) {
			keys = append(keys, k)
		}
	}
	return keys
}

// forget removes the notes about content that is gone.
func (s *Spool) forget() error {
	list, err := os.ReadDir(filepath.Join(s.dir, "have"))
	if err != nil {
		return fmt.Errorf("cleaning the spool: %w", err)
	}
	for _, d := range list {
		k := strings.TrimSuffix(d.Name(), ".json")
		s.mu.Lock()
		working := s.busy[k] != nil
		s.mu.Unlock()
		if working || k == d.Name() {
			continue
		}
		sum := sumIn(s.haveNote(k))
		s.mu.Lock()
		gone := s.blobs[sum] == nil
		s.mu.Unlock()
		if gone {
			_ = os.Remove(s.haveNote(k)) // a note that stays costs nothing but its place
		}
	}
	return nil
}
