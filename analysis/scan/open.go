package scan

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Limits of decompression. A file that exceeds one ends there with an error that says so; what was read counts.
const (
	// MaxContent is the most bytes one compressed file may hold.
	MaxContent = 256 << 30
	// MaxRatio is the largest ratio of content to file. DEFLATE cannot exceed 1,032; real logs stay below 200.
	MaxRatio = 2000
	// RatioFrom is how much content is read before the ratio counts: a short file of one repeated line is harmless.
	RatioFrom = 1 << 30
	// maxWindow bounds a zstd decoder's memory. zstd's own default limit (--long=27) is the same.
	maxWindow = 128 << 20
)

// ErrBomb says that a compressed file holds more than the limits allow.
var ErrBomb = errors.New("the compressed file unpacks to more than the limit")

// Opener opens a file for reading, or refuses to. nil is os.Open.
type Opener func(path string) (*os.File, error)

// Raw opens a file as it is stored.
func (o Opener) Raw(path string) (*os.File, error) {
	if o == nil {
		return os.Open(path)
	}
	return o(path)
}

// Open opens a log: plain, or compressed by gzip or zstd, told by its first bytes and not by its name. A plain file is
// read up to the size it has now, so that a file that is being written gives one consistent picture.
func (o Opener) Open(path string) (io.ReadCloser, error) {
	f, err := o.Raw(path)
	if err != nil {
		return nil, err
	}
	r, err := open(f, limits{content: MaxContent, ratio: MaxRatio, from: RatioFrom})
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return r, nil
}

// Open is that of an Opener that opens whatever this process may read.
func Open(path string) (io.ReadCloser, error) { return Opener(nil).Open(path) }

type limits struct{ content, ratio, from int64 }

func open(f *os.File, lim limits) (io.ReadCloser, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	var magic [4]byte
	n, err := f.ReadAt(magic[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	rest := &io.LimitedReader{R: f, N: st.Size()}
	raw := &counter{r: rest}
	switch {
	case n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b:
		z, err := gzip.NewReader(bufio.NewReaderSize(raw, 64<<10))
		if err != nil {
			return nil, fmt.Errorf("reading the gzip header: %w", early(err))
		}
		return &unpacked{in: raw, out: z, lim: lim, close: []func() error{z.Close, f.Close}}, nil
	case n == 4 && magic == [4]byte{0x28, 0xb5, 0x2f, 0xfd}:
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(MaxContent), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("reading the zstd header: %w", early(err))
		}
		return &unpacked{in: raw, out: z, lim: lim, close: []func() error{func() error { z.Close(); return nil }, f.Close}}, nil
	}
	return &plain{Reader: raw, f: f, rest: rest, size: st.Size()}, nil
}

type plain struct {
	io.Reader
	f    *os.File
	rest *io.LimitedReader
	size int64
}

// Skip passes over the next n bytes of a reader of Open, without reading them where the file is not compressed.
func Skip(r io.Reader, n int64) error {
	p, ok := r.(*plain)
	if !ok {
		_, err := io.CopyN(io.Discard, r, n)
		return err
	}
	if n > p.rest.N {
		return io.EOF
	}
	if _, err := p.f.Seek(n, io.SeekCurrent); err != nil {
		return err
	}
	p.rest.N -= n
	return nil
}

// PlainSize is how many bytes a reader of Open will give, where that is known before: the file is not compressed.
func PlainSize(r io.Reader) (int64, bool) {
	p, ok := r.(*plain)
	if !ok {
		return 0, false
	}
	return p.size, true
}

func (p *plain) Close() error { return p.f.Close() }

// ReadAt reads any part of the file, whatever was read before.
func (p *plain) ReadAt(b []byte, off int64) (int, error) { return p.f.ReadAt(b, off) }

// Size is how many bytes the file has.
func (p *plain) Size() int64 { return p.size }

// counter counts the bytes of the stored file.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// unpacked is the content of a compressed file, within limits.
type unpacked struct {
	in    *counter
	out   io.Reader
	n     int64
	lim   limits
	err   error
	close []func() error
}

func (u *unpacked) Read(b []byte) (int, error) {
	if u.err != nil {
		return 0, u.err
	}
	n, err := u.out.Read(b)
	u.n += int64(n)
	if u.n > u.lim.content || (u.n > u.lim.from && u.n/u.lim.ratio > u.in.n) {
		err = fmt.Errorf("%w (%d bytes from %d)", ErrBomb, u.n, u.in.n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = early(err)
	}
	u.err = err
	return n, err
}

func (u *unpacked) Close() error {
	var errs []error
	for _, c := range u.close {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// ErrCut says that compressed data end before they should.
var ErrCut = errors.New("the compressed data end early: the file is cut")

// early gives a cut file an error that says what happened.
func early(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return ErrCut
	}
	return err
}
