package spool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"syscall"

	"faultline/fetch/source"
)

const (
	// chunk is what is read at once: enough for a login node to be asked for many packets at a time.
	chunk = 1 << 20
	// checkpoint is how much is written between two moments at which a restart can take it up.
	checkpoint = 64 << 20
	// overlap is how much of what is here already is compared with the source before the rest is put behind it, and head
	// how much of its beginning: a log that was emptied and written anew keeps its name, and its inode.
	overlap = 64 << 10
	head    = 4 << 10
	// attempts at a file that changes while it is read.
	attempts = 3
)

// file brings one file, from its place or from what is here.
func (t *take) file(ctx context.Context, w Want, buffer []byte) (note, error) {
	k := key(t.from.ID, w.File.Name)
	free, err := t.only(ctx, k)
	if err != nil {
		return note{}, err
	}
	defer free()
	old, known := readNote(t.haveNote(k), t.from.ID, w.File.Name)
	known = known && t.pin(old.Sum, old.Size)
	if known && old.is(w.File) {
		if !old.doubtful() || t.endsAlike(ctx, w.File, old) {
			t.advance(1, old.Size, 0)
			return old, nil
		}
		known = false
	}
	for try := 1; ; try++ {
		var begin note // what may be the beginning of the file
		if known && old.Size < w.File.Size && old.beganAs(w.File) {
			begin = old
		}
		got, err := t.bring(ctx, w.File, k, begin, buffer)
		if source.KindOf(err) != source.Changed || try == attempts {
			return got, err
		}
		known = false
	}
}

// endsAlike compares the end of a file with what is here, and notes that it did. What cannot be looked at now is believed.
func (t *take) endsAlike(ctx context.Context, f source.File, n note) bool {
	back := min(overlap, n.Size)
	now, body, err := t.from.Source.Open(ctx, f.Name, n.Size-back)
	if err != nil {
		return true
	}
	theirs, err := io.ReadAll(io.LimitReader(body, back+1))
	_ = body.Close() // nothing was written
	if err != nil {
		return true
	}
	here := make([]byte, back)
	blob, err := os.Open(t.blobFile(n.Sum))
	if err != nil {
		return false
	}
	defer blob.Close()
	if _, err := blob.ReadAt(here, n.Size-back); err != nil || !n.is(now) || !bytes.Equal(theirs, here) {
		return false
	}
	n.Taken = t.o.Now().UTC()
	_ = writeNote(t.haveNote(key(t.from.ID, f.Name)), n) // without it they are compared once more
	return true
}

// bring fetches a file, or the rest of it.
func (t *take) bring(ctx context.Context, f source.File, k string, begin note, buffer []byte) (_ note, err error) {
	p, err := t.create(t.partFile(k))
	if err != nil {
		return note{}, ours(f.Name, err)
	}
	w := &writer{take: t, ctx: ctx, key: k, part: p, hash: sha256.New(), buffer: buffer, note: noteOf(t.from.ID, f)}
	defer func() {
		if err != nil {
			t.advance(0, -w.size, 0)
			w.leave(err)
		}
		_ = p.Close()
	}()
	if err := w.start(f, begin); err != nil {
		return note{}, err
	}
	now, body, err := w.open(f)
	if err != nil {
		return note{}, err
	}
	defer body.Close()
	w.note = noteOf(t.from.ID, now)
	if err := w.hold(ctx, k, now.Size, f.Name); err != nil {
		return note{}, err
	}
	if err := w.copy(body); err != nil {
		return note{}, err
	}
	if w.size != now.Size {
		return note{}, &source.Error{Kind: source.Lost, Place: t.from.ID, Name: f.Name, More: fmt.Sprintf("got %d of %d bytes", w.size, now.Size)}
	}
	if err := w.finish(); err != nil {
		return note{}, err
	}
	t.advance(1, 0, 0)
	return w.note, nil
}

// writer puts a file together.
type writer struct {
	*take
	ctx    context.Context
	key    string
	part   part
	note   note
	hash   hash.Hash
	buffer []byte
	size   int64 // bytes that are here
	synced int64 // of them, those that are on the disk for certain
}

// start takes what is here already: a part that was begun, else the content of the file when it was shorter.
func (w *writer) start(f source.File, begin note) error {
	info, err := w.part.Stat()
	if err != nil {
		return ours(f.Name, err)
	}
	var kept int64
	begun, ok := readNote(w.partNote(w.key), w.from.ID, f.Name)
	if ok && begun.beganAs(f) && begun.Synced <= info.Size() && begun.Synced > begin.Size {
		kept = begun.Synced
	}
	if err := w.part.Truncate(kept); err != nil {
		return ours(f.Name, err)
	}
	if err := w.hold(w.ctx, w.key, max(f.Size, kept), f.Name); err != nil {
		return err
	}
	if kept == 0 && begin.Size > 0 {
		old, err := os.Open(w.blobFile(begin.Sum))
		if err != nil {
			return nil // then all of it is fetched
		}
		defer old.Close()
		return w.repeat(old, begin.Size, w.put)
	}
	w.synced = kept
	return w.repeat(w.part, kept, func(b []byte) error {
		w.hash.Write(b)
		w.size += int64(len(b))
		return nil
	})
}

// repeat reads n bytes that are here.
func (w *writer) repeat(from io.ReaderAt, n int64, use func([]byte) error) error {
	for at := int64(0); at < n; {
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		b := w.buffer[:min(n-at, int64(len(w.buffer)))]
		if _, err := from.ReadAt(b, at); err != nil {
			return ours(w.note.Name, err)
		}
		if err := use(b); err != nil {
			return err
		}
		at += int64(len(b))
		w.advance(0, int64(len(b)), 0)
	}
	return nil
}

// open opens the file behind what is here, after a look at whether that is its beginning. Only one body is open at a time:
// a source may allow no more.
func (w *writer) open(f source.File) (source.File, io.ReadCloser, error) {
	if w.size > 0 {
		now, body, err := w.behind(f)
		if body != nil || source.KindOf(err) != source.Changed {
			return now, body, err
		}
		if err := w.restart(); err != nil {
			return now, nil, err
		}
	}
	return w.from.Source.Open(w.ctx, f.Name, 0)
}

// behind opens the file where what is here ends; Changed where that is not its beginning.
func (w *writer) behind(f source.File) (source.File, io.ReadCloser, error) {
	back := min(overlap, w.size)
	if f.Whole {
		back = 0 // the mark says it
	} else if w.size > back {
		_, first, err := w.from.Source.Open(w.ctx, f.Name, 0)
		if err != nil {
			return f, nil, err
		}
		err = w.compare(first, 0, min(head, w.size))
		if err = errors.Join(err, first.Close()); err != nil {
			return f, nil, err
		}
	}
	now, body, err := w.from.Source.Open(w.ctx, f.Name, w.size-back)
	if err != nil {
		return now, nil, err
	}
	if now.Mark != f.Mark {
		err = &source.Error{Kind: source.Changed, Place: w.from.ID, Name: f.Name}
	} else if back > 0 {
		err = w.compare(body, w.size-back, back)
	}
	if err != nil {
		_ = body.Close()
		return now, nil, err
	}
	return now, body, nil
}

// compare says Changed where their bytes are not those that are here.
func (w *writer) compare(theirs io.Reader, at, n int64) error {
	got, here := make([]byte, n), make([]byte, n)
	_, err := io.ReadFull(theirs, got)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if _, err := w.part.ReadAt(here, at); err != nil {
		return ours(w.note.Name, err)
	}
	if err != nil || !bytes.Equal(got, here) {
		return &source.Error{Kind: source.Changed, Place: w.from.ID, Name: w.note.Name}
	}
	return nil
}

// restart forgets what is here: it is not the beginning of the file.
func (w *writer) restart() error {
	w.advance(0, -w.size, 0)
	w.size, w.synced = 0, 0
	w.hash.Reset()
	_ = os.Remove(w.partNote(w.key))
	return ours(w.note.Name, w.part.Truncate(0))
}

// copy puts what comes behind what is here.
func (w *writer) copy(body io.Reader) error {
	for {
		n, err := io.ReadFull(body, w.buffer)
		if n > 0 {
			if err := w.put(w.buffer[:n]); err != nil {
				return err
			}
			w.advance(0, int64(n), int64(n))
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return nil
		case err != nil:
			return err
		case w.size-w.synced >= checkpoint:
			if err := w.save(); err != nil {
				return err
			}
		}
	}
}

func (w *writer) put(b []byte) error {
	_, err := w.part.WriteAt(b, w.size)
	// The disk may be fuller than the spool's own bound knows. What nobody uses goes, once.
	if noRoom(err) && w.evict(w.ctx, max(int64(len(b)), checkpoint)) > 0 {
		_, err = w.part.WriteAt(b, w.size)
	}
	if err != nil {
		return ours(w.note.Name, err)
	}
	w.hash.Write(b)
	w.size += int64(len(b))
	return nil
}

// save makes what is here last.
func (w *writer) save() error {
	if err := w.part.Sync(); err != nil {
		return ours(w.note.Name, err)
	}
	w.note.Synced, w.synced = w.size, w.size
	return ours(w.note.Name, writeNote(w.partNote(w.key), w.note))
}

// leave keeps what is here for the next try, where it is worth something.
func (w *writer) leave(err error) {
	keep := w.size > 0
	switch source.KindOf(err) {
	case source.Changed, source.DiskFull, source.TooMuch, source.NotFound:
		keep = false
	}
	if keep && w.part.Truncate(w.size) == nil && w.save() == nil {
		w.shrink(w.key, w.size)
		return
	}
	w.discard(w.key)
}

// finish gives the content its place. Nothing is seen of it before.
func (w *writer) finish() error {
	sum := hex.EncodeToString(w.hash.Sum(nil))
	if w.pin(sum, w.size) {
		w.discard(w.key)
	} else {
		if err := w.part.Sync(); err != nil {
			return ours(w.note.Name, err)
		}
		if err := w.become(w.key, sum, w.size); err != nil {
			return ours(w.note.Name, err)
		}
	}
	w.note.Sum, w.note.Synced, w.note.Taken = sum, 0, w.o.Now().UTC()
	_ = writeNote(w.haveNote(w.key), w.note) // without it the file is fetched once more some day
	return nil
}

// ours says what our own disk says in the words of sources.
func ours(name string, err error) error {
	var known *source.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case noRoom(err):
		return &source.Error{Kind: source.DiskFull, Name: name, Err: err}
	}
	return &source.Error{Kind: source.Failed, Place: spoolDisk, Name: name, More: err.Error(), Err: err}
}

const spoolDisk = "its way to the disk of the spool"

// Ours says that a file was missed because of the disk of the spool, not because of its source.
func Ours(err error) bool {
	var e *source.Error
	return errors.As(err, &e) && (e.Kind == source.DiskFull || e.Place == spoolDisk)
}

func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
