package spool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"faultline/fetch/source"
	"faultline/fetch/source/sourcetest"
)

func given(content []byte) Given {
	sum := sha256.Sum256(content)
	return Given{From: "west/7", Sum: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

func TestPiecesAreReceivedWhereTheLastOneEnded(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	content := sourcetest.Bytes(1 << 20)
	g := given(content)
	receive := func(at int64, r io.Reader) (int64, error) { return s.Receive(context.Background(), g, at, r) }
	if here, err := receive(0, bytes.NewReader(content[:1000])); err != nil || here != 1000 {
		t.Fatal(here, err)
	}
	cut := errors.New("cut")
	if here, err := receive(1000, io.MultiReader(bytes.NewReader(content[1000:5000]), iotest.ErrReader(cut))); !errors.Is(err, cut) || here != 1000 {
		t.Errorf("half a piece counts: %d %v", here, err)
	}
	if here, err := receive(5000, bytes.NewReader(content[5000:])); err != nil || here != 1000 {
		t.Errorf("a gap: %d %v", here, err)
	}
	// A crash leaves bytes behind that nobody has synced.
	f, err := os.OpenFile(s.partFile(g.key()), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("garbage"); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	s = reopen(t, s)
	if n := s.Begun(g); n != 1000 {
		t.Fatalf("%d bytes are here", n)
	}
	if here, err := s.Receive(context.Background(), g, 1000, bytes.NewReader(append(bytes.Clone(content[1000:]), 'x'))); source.KindOf(err) != source.Changed || here != 1000 {
		t.Errorf("more than was announced: %d %v", here, err)
	}
	if here, err := s.Receive(context.Background(), g, 1000, bytes.NewReader(content[1000:])); err != nil || here != g.Size {
		t.Fatal(here, err)
	}
	name, err := Path(s.dir, g.Sum)
	got, rerr := os.ReadFile(name)
	if err != nil || rerr != nil || !bytes.Equal(got, content) {
		t.Fatal(err, rerr)
	}
	if n := s.Begun(g); n != g.Size {
		t.Errorf("%d bytes are here", n)
	}
	other := g
	other.From = "west/8"
	if n := s.Begun(other); n != 0 {
		t.Error("what somebody else handed in counts")
	}
	if here, err := s.Receive(context.Background(), other, 0, bytes.NewReader(content)); err != nil || here != g.Size {
		t.Error(here, err)
	}
	s.account(t)
}

func TestWhatIsNotWhatWasAnnouncedIsDropped(t *testing.T) {
	s := open(t, t.TempDir(), Options{Max: 1 << 20})
	g := given([]byte("one"))
	if _, err := s.Receive(context.Background(), g, 0, strings.NewReader("two")); source.KindOf(err) != source.Changed {
		t.Error(err)
	}
	if _, err := Path(s.dir, g.Sum); err == nil {
		t.Error("it has the name of something else")
	}
	large := Given{From: "x", Sum: g.Sum, Size: 2 << 20}
	if _, err := s.Receive(context.Background(), large, 0, strings.NewReader("two")); source.KindOf(err) != source.TooMuch {
		t.Error(err)
	}
	for _, bad := range []Given{{Sum: "../x", Size: 1}, {Sum: g.Sum, Size: -1}} {
		if _, err := s.Receive(context.Background(), bad, 0, strings.NewReader("x")); source.KindOf(err) != source.BadName {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, err := Path(s.dir, "../../etc/passwd"); err == nil {
		t.Error("a path that climbs")
	}
	s.account(t)
}
