package spool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"faultline/fetch/source"
)

// Given is content that somebody hands in piece by piece, and says beforehand what it is.
type Given struct {
	From string // who: the same content of another is another part
	Sum  string
	Size int64
}

func (g Given) key() string { return key("given:"+g.From, g.Sum) }

func (g Given) place() string { return "given:" + g.From }

// Begun is how many bytes of a content are here for certain. Where that is all of it, it stays for the next hour. What somebody
// else handed in does not count: who knows a sum need not have seen the content.
func (s *Spool) Begun(g Given) int64 {
	t := &take{Spool: s}
	defer t.unpin()
	return t.begun(g)
}

func (t *take) begun(g Given) int64 {
	k := g.key()
	if n, ok := readNote(t.haveNote(k), g.place(), g.Sum); ok && n.Sum == g.Sum && t.pin(g.Sum, g.Size) {
		return g.Size
	}
	if n, ok := readNote(t.partNote(k), g.place(), g.Sum); ok && n.Size == g.Size && n.Synced < g.Size {
		return n.Synced
	}
	return 0
}

// Receive puts a piece behind what is here and says how many bytes there are then. A piece that does not begin there, or whose
// reading fails, changes nothing. With the last piece the content gets its name, if it is what was said: else Changed.
func (s *Spool) Receive(ctx context.Context, g Given, at int64, piece io.Reader) (here int64, err error) {
	if !isSum(g.Sum) || g.Size < 0 || at < 0 {
		return 0, &source.Error{Kind: source.BadName, Name: g.Sum}
	}
	k := g.key()
	free, err := s.only(ctx, k)
	if err != nil {
		return 0, err
	}
	defer free()
	t := &take{Spool: s}
	defer t.unpin()
	here = t.begun(g)
	if at != here || here == g.Size && t.sums != nil {
		return here, nil
	}
	p, err := s.create(s.partFile(k))
	if err != nil {
		return here, ours(g.Sum, err)
	}
	defer p.Close()
	if err := s.hold(ctx, k, g.Size, g.Sum); err != nil {
		if here == 0 {
			s.discard(k)
		}
		return here, err
	}
	end, err := s.append(ctx, p, g, here, piece)
	if err != nil {
		_ = p.Truncate(here) // what is not counted is not believed either
		if source.KindOf(err) == source.DiskFull {
			s.discard(k)
			return 0, err
		}
		return here, err
	}
	if end < g.Size {
		err := writeNote(s.partNote(k), note{Place: g.place(), Name: g.Sum, Size: g.Size, Synced: end})
		return end, ours(g.Sum, err)
	}
	if err := same(p, g); err != nil {
		s.discard(k)
		return 0, err
	}
	if t.pin(g.Sum, g.Size) { // somebody else has handed it in
		s.discard(k)
	} else if err := t.become(k, g.Sum, g.Size); err != nil {
		return 0, ours(g.Sum, err)
	}
	return g.Size, ours(g.Sum, writeNote(s.haveNote(k), note{Place: g.place(), Name: g.Sum, Size: g.Size, Sum: g.Sum}))
}

// append writes a piece and syncs it.
func (s *Spool) append(ctx context.Context, p part, g Given, at int64, piece io.Reader) (int64, error) {
	if err := p.Truncate(at); err != nil {
		return at, ours(g.Sum, err)
	}
	buffer := make([]byte, 128<<10)
	for {
		n, err := piece.Read(buffer)
		if at+int64(n) > g.Size {
			return at, &source.Error{Kind: source.Changed, Name: g.Sum, More: fmt.Sprintf("it is larger than the announced %d bytes", g.Size)}
		}
		if n > 0 {
			_, werr := p.WriteAt(buffer[:n], at)
			if noRoom(werr) && s.evict(ctx, checkpoint) > 0 {
				_, werr = p.WriteAt(buffer[:n], at)
			}
			if werr != nil {
				return at, ours(g.Sum, werr)
			}
			at += int64(n)
		}
		switch {
		case err == io.EOF:
			return at, ours(g.Sum, p.Sync())
		case err != nil:
			return at, err
		case ctx.Err() != nil:
			return at, context.Cause(ctx)
		}
	}
}

// same says Changed where the content of a part is not what was announced.
func same(p part, g Given) error {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(p, 0, g.Size)); err != nil {
		return ours(g.Sum, err)
	}
	if hex.EncodeToString(h.Sum(nil)) != g.Sum {
		return &source.Error{Kind: source.Changed, Name: g.Sum}
	}
	return nil
}

// Path is where content lies in the spool that is in dir, whichever process has it open. What nobody names as used may be gone
// the next moment.
func Path(dir, sum string) (string, error) {
	if !isSum(sum) {
		return "", &source.Error{Kind: source.BadName, Name: sum}
	}
	name := filepath.Join(dir, "blob", sum[:2], sum)
	_, err := os.Stat(name)
	return name, err
}
