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
	if ctx.Err() != nil {
		var none T
		return none, context.Cause(ctx)
	}
	return begun(ctx, call, drop)
}

// begun is Do for a call that is made in any case: to drop goes what is not given back.
func begun[T any](ctx context.Context, call func() (T, error), drop func(T)) (T, error) {
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
		var none T
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
	if r.gone || r.ctx.Err() != nil {
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
	got, err := begun(r.ctx, func() (result, error) { // made in any case, so that somebody closes what is read
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
		b := r.buffer // the pool keeps what it is given, which must not be a part of r
		buffers.Put(&b)
		r.buffer = nil
	}
	return r.from.Close()
}

// buffers are as large as what a spool reads at once; those of abandoned calls do not come back.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 1<<20)
	return &b
}}
