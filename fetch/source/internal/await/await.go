// Package await leaves calls that hang: a read from a file system whose server is gone cannot be stopped, only abandoned.
package await

import (
	"context"
	"io"
	"sync"
)

// Do runs call and gives its result, or ctx's cause as soon as that ends. An abandoned call runs to its end alone; drop, which
// may be nil, gets what it brings then.
func Do[T any](ctx context.Context, call func() (T, error), drop func(T)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	if ctx.Done() == nil {
		return call()
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil && drop != nil {
				drop(r.value)
			}
		}()
		return none, context.Cause(ctx)
	}
}

// Reader reads from a place that may hang.
type Reader struct {
	ctx    context.Context
	from   io.ReadCloser
	buffer []byte // of the call that is under way, never the caller's: an abandoned call still writes into it
	gone   bool
}

// NewReader reads from, until ctx ends.
func NewReader(ctx context.Context, from io.ReadCloser) *Reader { return &Reader{ctx: ctx, from: from} }

func (r *Reader) Read(p []byte) (int, error) {
	if r.gone {
		return 0, context.Cause(r.ctx)
	}
	if len(r.buffer) == 0 {
		r.buffer = *buffers.Get().(*[]byte)
	}
	buffer := r.buffer[:min(len(p), len(r.buffer))]
	type result struct {
		n   int
		err error
	}
	got, err := Do(r.ctx, func() (result, error) {
		n, err := r.from.Read(buffer)
		return result{n, err}, nil
	}, func(result) { _ = r.from.Close() })
	if err != nil {
		r.gone = true
		return 0, err
	}
	return copy(p, buffer[:got.n]), got.err
}

// Close closes what is read; where a call still hangs, that call does so when it ends.
func (r *Reader) Close() error {
	if r.gone {
		return nil
	}
	if r.buffer != nil {
		buffers.Put(&r.buffer)
		r.buffer = nil
	}
	return r.from.Close()
}

// buffers are as large as what a spool reads at once; those of abandoned calls do not come back.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 1<<20)
	return &b
}}
