package source

import (
	"context"
	"io"
	"sync"
	"time"
)

// Rate keeps a source from being asked too much.
type Rate struct {
	Of Source
	// BytesPerSecond of all bodies together; 0 = no bound.
	BytesPerSecond int64
	// Requests at a time, an open body being one until it is closed; 0 = no bound.
	Requests int
	// Now and Sleep are for those who keep their own time; nil = the usual.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error

	once  sync.Once
	turns chan struct{}

	mu   sync.Mutex
	paid time.Time // until when what was read is paid for
}

// allowance is how much may be read ahead of its time, so that short waits need not be slept.
const allowance = 100 * time.Millisecond

// turn waits for one; back gives it back, once.
func (r *Rate) turn(ctx context.Context) (back func(), err error) {
	if r.Requests <= 0 {
		return func() {}, nil
	}
	r.once.Do(func() { r.turns = make(chan struct{}, r.Requests) })
	select {
	case r.turns <- struct{}{}:
		return sync.OnceFunc(func() { <-r.turns }), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Glob implements Source.
func (r *Rate) Glob(ctx context.Context, pattern string) ([]File, error) {
	back, err := r.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer back()
	return r.Of.Glob(ctx, pattern)
}

// Stat implements Source.
func (r *Rate) Stat(ctx context.Context, name string) (File, error) {
	back, err := r.turn(ctx)
	if err != nil {
		return File{}, err
	}
	defer back()
	return r.Of.Stat(ctx, name)
}

// Open implements Source.
func (r *Rate) Open(ctx context.Context, name string, offset int64) (File, io.ReadCloser, error) {
	back, err := r.turn(ctx)
	if err != nil {
		return File{}, nil, err
	}
	f, body, err := r.Of.Open(ctx, name, offset)
	if err != nil {
		back()
		return f, nil, err
	}
	return f, &slowed{r, ctx, body, back}, nil
}

// pay waits until n bytes more are within the rate.
func (r *Rate) pay(ctx context.Context, n int) error {
	if r.BytesPerSecond <= 0 || n == 0 {
		return nil
	}
	now := time.Now()
	if r.Now != nil {
		now = r.Now()
	}
	r.mu.Lock()
	if r.paid.Before(now) {
		r.paid = now
	}
	r.paid = r.paid.Add(time.Duration(float64(n) / float64(r.BytesPerSecond) * float64(time.Second)))
	wait := r.paid.Sub(now) - allowance
	r.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	return sleeping(r.Sleep)(ctx, wait)
}

type slowed struct {
	rate *Rate
	ctx  context.Context
	body io.ReadCloser
	back func()
}

func (s *slowed) Read(p []byte) (int, error) {
	if b := s.rate.BytesPerSecond; b > 0 { // no more at once than a second's worth
		p = p[:min(int64(len(p)), max(b, 1))]
	}
	n, err := s.body.Read(p)
	if perr := s.rate.pay(s.ctx, n); perr != nil && err == nil {
		err = perr
	}
	return n, err
}

func (s *slowed) Close() error {
	defer s.back()
	return s.body.Close()
}
