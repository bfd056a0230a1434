package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"
)

// The decorators fit into each other; what is meant is Limit{Rate{Retry{Timeout{source}}}}: a try that takes too long is one
// that is tried again, and what a job may take is counted once, whatever it took.

// Retry tries again what failed for a reason that may pass, and reads on where a body broke off.
type Retry struct {
	Of Source
	// Attempts at one thing without anything gained; 0 = 5.
	Attempts int
	// First and Longest pause between them; 0 = 1 s and 30 s. Each is twice the one before, by chance up to half shorter.
	First, Longest time.Duration
	// Sleep and Chance (in [0,1)) are for those who keep their own time; nil = the usual.
	Sleep  func(context.Context, time.Duration) error
	Chance func() float64
}

// Glob implements Source.
func (r *Retry) Glob(ctx context.Context, pattern string) (files []File, err error) {
	err = r.try(ctx, func() error {
		files, err = r.Of.Glob(ctx, pattern)
		return err
	})
	return files, err
}

// Stat implements Source.
func (r *Retry) Stat(ctx context.Context, name string) (f File, err error) {
	err = r.try(ctx, func() error {
		f, err = r.Of.Stat(ctx, name)
		return err
	})
	return f, err
}

// Open implements Source.
func (r *Retry) Open(ctx context.Context, name string, offset int64) (f File, body io.ReadCloser, err error) {
	err = r.try(ctx, func() error {
		f, body, err = r.Of.Open(ctx, name, offset)
		return err
	})
	if err != nil {
		return f, nil, err
	}
	return f, &steady{retry: r, ctx: ctx, file: f, at: offset, body: body}, nil
}

// try does something until it succeeds, cannot succeed, or was tried often enough.
func (r *Retry) try(ctx context.Context, do func() error) error {
	for n := 1; ; n++ {
		err := do()
		if !passing(err) || n >= r.attempts() {
			return err
		}
		if perr := r.pause(ctx, n); perr != nil {
			return perr
		}
	}
}

func (r *Retry) attempts() int {
	if r.Attempts > 0 {
		return r.Attempts
	}
	return 5
}

// passing says whether one of the errors may pass.
func passing(err error) bool {
	for _, e := range Each(err) {
		if KindOf(e).Transient() {
			return true
		}
	}
	return false
}

// pause waits after the nth failure.
func (r *Retry) pause(ctx context.Context, n int) error {
	wait, longest := r.First, r.Longest
	if wait <= 0 {
		wait = time.Second
	}
	if longest <= 0 {
		longest = 30 * time.Second
	}
	for ; n > 1 && wait < longest; n-- {
		wait *= 2
	}
	chance := rand.Float64
	if r.Chance != nil {
		chance = r.Chance
	}
	wait = min(wait, longest)
	return sleeping(r.Sleep)(ctx, wait-time.Duration(chance()*float64(wait)/2))
}

// sleeping is a way to wait, the usual one where there is no other.
func sleeping(sleep func(context.Context, time.Duration) error) func(context.Context, time.Duration) error {
	if sleep != nil {
		return sleep
	}
	return func(ctx context.Context, d time.Duration) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tailBytes of what was read are compared with what comes when a body is opened again.
const tailBytes = 4 << 10

// steady is a body that survives its connections.
type steady struct {
	retry *Retry
	ctx   context.Context
	file  File
	at    int64 // how far it was read
	body  io.ReadCloser
	tail  []byte // what was read last
	tries int    // since something was read
	done  error
}

func (s *steady) Read(p []byte) (int, error) {
	for s.done == nil {
		if s.at == s.file.Size {
			return 0, io.EOF
		}
		n, err := s.body.Read(p[:min(int64(len(p)), s.file.Size-s.at)]) // opened again it may have grown
		if n > 0 {
			s.at += int64(n)
			s.tries = 0
			s.keep(p[:n])
		}
		if err == nil || errors.Is(err, io.EOF) && s.at == s.file.Size {
			return n, nil
		}
		if !passing(err) {
			s.done = err
			return n, err
		}
		s.again(err)
		if n > 0 {
			return n, nil
		}
	}
	return 0, s.done
}

func (s *steady) keep(b []byte) {
	if s.file.Whole {
		return
	}
	if len(b) >= tailBytes {
		s.tail = append(s.tail[:0], b[len(b)-tailBytes:]...)
		return
	}
	s.tail = append(s.tail, b...)
	if over := len(s.tail) - tailBytes; over > 0 {
		s.tail = s.tail[:copy(s.tail, s.tail[over:])]
	}
}

// again opens the file where reading broke off.
func (s *steady) again(err error) {
	_ = s.body.Close()
	for passing(err) {
		if s.tries++; s.tries >= s.retry.attempts() {
			break
		}
		if perr := s.retry.pause(s.ctx, s.tries); perr != nil {
			err = perr
			break
		}
		err = s.reopen()
	}
	s.done = err
}

func (s *steady) reopen() error {
	f, body, err := s.retry.Of.Open(s.ctx, s.file.Name, s.at-int64(len(s.tail)))
	if err != nil {
		return err
	}
	if f.Mark != s.file.Mark || f.Size < s.file.Size {
		err = &Error{Kind: Changed, Name: s.file.Name}
	} else if len(s.tail) > 0 {
		again := make([]byte, len(s.tail))
		if _, err = io.ReadFull(body, again); err == nil && !bytes.Equal(again, s.tail) {
			err = &Error{Kind: Changed, Name: s.file.Name}
		}
	}
	if err != nil {
		_ = body.Close()
		return err
	}
	s.body = body
	return nil
}

func (s *steady) Close() error { return s.body.Close() }
