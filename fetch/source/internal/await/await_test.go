package await

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestACallThatHangsIsLeft(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	hang, dropped := make(chan struct{}), make(chan int)
	n, err := Do(ctx, func() (int, error) {
		cancel(why)
		<-hang
		return 7, nil
	}, func(n int) { dropped <- n })
	if n != 0 || !errors.Is(err, why) {
		t.Errorf("%d, %v", n, err)
	}
	close(hang)
	if got := <-dropped; got != 7 {
		t.Errorf("dropped %d", got)
	}
	if _, err := Do(ctx, func() (int, error) { t.Error("called"); return 0, nil }, nil); !errors.Is(err, why) {
		t.Error(err)
	}
}

func TestACallThatEndsGivesItsResult(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	bad := errors.New("bad")
	for _, ctx := range []context.Context{ctx, context.Background()} {
		if n, err := Do(ctx, func() (int, error) { return 7, bad }, nil); n != 7 || !errors.Is(err, bad) {
			t.Errorf("%d, %v", n, err)
		}
	}
}

// hanging gives one byte and then nothing until it is let go.
type hanging struct {
	letGo, closed chan struct{}
	hangs         func() // called when it does
	given         bool
	wrote         []byte
}

func (h *hanging) Read(p []byte) (int, error) {
	if !h.given {
		h.given = true
		return copy(p, "x"), nil
	}
	h.hangs()
	<-h.letGo
	h.wrote = p
	return copy(p, "late"), nil
}

func (h *hanging) Close() error {
	close(h.closed)
	return nil
}

func TestAnAbandonedReadWritesIntoNobodysBuffer(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	h := &hanging{letGo: make(chan struct{}), closed: make(chan struct{}), hangs: cancel}
	r := NewReader(ctx, h)
	mine := make([]byte, 4)
	if n, err := r.Read(mine); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	for range 2 {
		if n, err := r.Read(mine); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%d, %v", n, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	close(h.letGo)
	<-h.closed // by the call that hung, once it was over
	if string(mine) != "x\x00\x00\x00" || &h.wrote[0] == &mine[0] {
		t.Errorf("%q", mine)
	}
}

func TestReadingGoesThrough(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	text := strings.Repeat("some text ", 110_000) // more than a buffer holds
	if err := iotest.TestReader(NewReader(ctx, io.NopCloser(strings.NewReader(text))), []byte(text)); err != nil {
		t.Error(err)
	}
}

func TestWhatEndsBetweenTwoReadsIsClosed(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	h := &hanging{closed: make(chan struct{})}
	r := NewReader(ctx, h)
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-h.closed:
	default:
		t.Error("it is still open")
	}
}
