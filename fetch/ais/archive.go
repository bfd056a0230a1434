package ais

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"faultline/workflow"
)

var (
	errStalled     = errors.New("stalled")
	errOutOfTime   = errors.New("out of time")
	errTooLarge    = errors.New("too large")
	errAllTooLarge = errors.New("too large in total")
)

// feed is the body of an answer on its way through the check into a file. Its first trouble is kept in err: what the
// readers behind it make of that is of no interest.
type feed struct {
	body   io.Reader
	file   *os.File
	idle   *time.Timer // cancels the request
	stall  time.Duration
	room   int64         // bytes that this archive may still take
	shared *atomic.Int64 // bytes that all archives together may still take
	err    error
	disk   bool // err is one of the file
}

func (f *feed) Read(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	f.idle.Reset(f.stall)
	n, err := f.body.Read(b)
	f.idle.Stop() // the time that our own disk takes is not the daemon's
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	if f.room -= int64(n); f.room < 0 {
		f.err = errTooLarge
		return 0, f.err
	}
	if f.shared.Add(-int64(n)) < 0 {
		f.err = errAllTooLarge
		return 0, f.err
	}
	if _, werr := f.file.Write(b[:n]); werr != nil {
		f.err, f.disk = werr, true
		return 0, werr
	}
	return n, err
}

var (
	errNoArchive = errors.New("no gzip")
	errCut       = errors.New("the end is missing")
	errDamaged   = errors.New("damaged")
	errNoLogs    = errors.New("no entries")
)

// maxEntries bounds the files in one archive; a daemon keeps some hundred logs.
const maxEntries = 100_000

// verify reads an archive to its end: a daemon that fails while it sends just stops, with status 200. held is how many
// bytes of logs came out, also where an error follows.
func verify(r io.Reader, unpacked int64) (held int64, err error) {
	packed := bufio.NewReaderSize(r, 64<<10)
	start, _ := packed.Peek(2) // with fewer bytes, they tell the rest
	switch {
	case len(start) == 2 && (start[0] != 0x1f || start[1] != 0x8b):
		return 0, errNoArchive
	case len(start) < 2:
		return 0, errCut
	}
	z, err := gzip.NewReader(packed)
	if err != nil {
		return 0, damage(err)
	}
	defer z.Close()
	m := &meter{r: z, room: unpacked}
	t := tar.NewReader(m)
	entries := 0
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return held, damage(err)
		}
		n, err := io.Copy(io.Discard, t) //nolint:gosec // nothing is kept: the archive is counted, and its own size is bounded
		if h.Typeflag == tar.TypeReg {
			held += n
		}
		if err != nil {
			return held, damage(err)
		}
		if entries++; entries > maxEntries {
			return held, errTooLarge
		}
	}
	if m.ended { // before the two empty blocks that end a tar
		return held, errCut
	}
	if _, err := io.Copy(io.Discard, m); err != nil { // the sums of gzip stand at its end
		return held, damage(err)
	}
	if entries == 0 {
		return 0, errNoLogs
	}
	return held, nil
}

func damage(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errCut
	case errors.Is(err, errTooLarge):
		return errTooLarge
	}
	return errDamaged
}

// meter bounds what is unpacked, and knows whether the end was reached.
type meter struct {
	r     io.Reader
	room  int64
	ended bool
}

func (m *meter) Read(b []byte) (int, error) {
	n, err := m.r.Read(b)
	if m.room -= int64(n); m.room < 0 {
		return 0, errTooLarge
	}
	if n > 0 && errors.Is(err, io.EOF) {
		return n, nil // the end is told by itself: whether the tar reader asks for it is what counts
	}
	m.ended = m.ended || errors.Is(err, io.EOF)
	return n, err
}

// archive asks a daemon for its logs and keeps them in file. With kept, some came and the fault says why not all.
func (p *pull) archive(ctx context.Context, d daemon, file string) (kept bool, fail *Error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	late := time.AfterFunc(p.lim.perDaemon, func() { stop(errOutOfTime) })
	defer late.Stop()
	idle := time.AfterFunc(p.lim.prepare, func() { stop(errStalled) })
	defer idle.Stop()
	resp, fail := p.get(ctx, pathLogs, d.id, p.token)
	if fail != nil {
		if ctx.Err() != nil {
			return false, p.cause(ctx, p.lim.prepare)
		}
		return false, fail
	}
	idle.Stop()
	defer resp.Body.Close()
	out, err := os.OpenFile(file+".part", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return false, spoolFault(err)
	}
	defer os.Remove(file + ".part")
	defer out.Close()
	f := &feed{body: resp.Body, file: out, idle: idle, stall: p.lim.stall, room: p.lim.archive, shared: &p.room}
	held, err := verify(f, p.lim.unpacked)
	switch {
	case f.err == nil && err == nil:
	case f.disk:
		return false, spoolFault(f.err)
	case errors.Is(f.err, errTooLarge):
		fail = fault(TooLarge, size(p.lim.archive))
	case errors.Is(f.err, errAllTooLarge):
		fail = fault(TooLarge, size(p.lim.all)+" of the whole cluster")
	case errors.Is(err, errTooLarge):
		fail = fault(TooLarge, size(p.lim.unpacked)+" unpacked")
	case f.err != nil && ctx.Err() != nil:
		fail = p.cause(ctx, p.lim.stall)
	case f.err != nil, errors.Is(err, errCut):
		fail = fault(Cut, "")
	case errors.Is(err, errNoArchive):
		fail = fault(NoArchive, "")
	case errors.Is(err, errNoLogs):
		fail = fault(NoLogs, "")
	default:
		fail = fault(Damaged, "")
	}
	if fail != nil && held == 0 {
		return false, fail
	}
	if err := out.Close(); err != nil {
		return false, spoolFault(err)
	}
	if err := os.Rename(file+".part", file); err != nil {
		return false, spoolFault(err)
	}
	return true, fail
}

// cause explains why a request was given up by us.
func (p *pull) cause(ctx context.Context, idle time.Duration) *Error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return fault(Stalled, idle.String())
	}
	if errors.Is(context.Cause(ctx), errOutOfTime) {
		return fault(OutOfTime, p.lim.perDaemon.String())
	}
	return fault(OutOfTime, p.lim.pull.String())
}

// spoolFault names the trouble of a disk of ours without the path, which is of no use to people.
func spoolFault(err error) *Error {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	e := fault(SpoolError, err.Error())
	e.own = workflow.NotKept(err)
	return e
}
