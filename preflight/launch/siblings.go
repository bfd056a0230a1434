package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Siblings are the tasks of one job step on one node. The first checks the node; the others wait for what it found.
type Siblings struct {
	Name   string // the same for all of them, and for nobody else on the node
	Others int    // tasks beside the first

	l     net.Listener
	code  chan byte // has the code once it is known, for everyone
	heard chan struct{}
	ended chan struct{}
}

// address is in Linux's abstract namespace: it leaves no file, and ends with its process.
func (s *Siblings) address() string { return "@faultline-" + s.Name }

// Lead opens the place where the others hear, and is for the first task, before it checks.
func (s *Siblings) Lead() error {
	l, err := net.Listen("unix", s.address())
	if err != nil {
		return fmt.Errorf("opening a place for the other tasks of this node: %w", err)
	}
	s.l, s.code = l, make(chan byte, 1)
	s.heard, s.ended = make(chan struct{}, s.Others), make(chan struct{}, s.Others)
	go func() {
		for range s.Others {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return nil
}

func (s *Siblings) serve(conn net.Conn) {
	defer conn.Close()
	code := <-s.code
	s.code <- code
	_, _ = conn.Write([]byte{code})
	s.heard <- struct{}{}
	_, _ = conn.Read(make([]byte, 1)) // until it ends
	s.ended <- struct{}{}
}

// Announce tells every other task the exit code, now or when it comes. A task that comes late must still find this process: without stay
// it returns when all have heard.
func (s *Siblings) Announce(code int, stay bool, limit time.Duration) {
	s.code <- byte(code)
	if !stay {
		s.all(s.heard, limit)
	}
}

// Wait waits until all other tasks have ended, or for so long.
func (s *Siblings) Wait(limit time.Duration) { s.all(s.ended, limit) }

func (s *Siblings) all(of <-chan struct{}, limit time.Duration) {
	late := time.After(limit)
	for range s.Others {
		select {
		case <-of:
		case <-late:
			return
		}
	}
}

// Hear is for the other tasks: it waits for the code that the first announces. The connection ends with this process, or by end.
func (s *Siblings) Hear(ctx context.Context, limit time.Duration) (code int, end func(), err error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", s.address())
		if err == nil {
			unblock := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
			if code, err := verdict(conn); err == nil {
				unblock()
				return code, func() { _ = conn.Close() }, nil
			}
			_ = conn.Close()
		}
		select {
		case <-ctx.Done():
			return 0, nil, errors.New("the node's first task did not say how the check ended")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func verdict(conn net.Conn) (int, error) {
	if err := sameUser(conn); err != nil {
		return 0, err
	}
	b := make([]byte, 1)
	_, err := conn.Read(b)
	return int(b[0]), err
}
