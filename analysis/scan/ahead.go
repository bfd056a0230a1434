package scan

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// list is what a filter found in a piece: literals by line from the top of the piece to its end.
type list struct {
	by    *filter
	found []match
	at    int // what stands before has been passed
}

// next is like filter.line, for the found literals of the lines in b[from:]. It takes what was found ahead, if that
// suffices, and searches otherwise.
func (p *pass) next(f *filter, b []byte, from int) (start, end int) {
	l := &p.ready
	if l.by == nil || l.by != f && l.by != p.filter {
		p.found, start, end = f.line(&p.looks, p.found[:0], b, from)
		return start, end
	}
	for l.at < len(l.found) && l.found[l.at].start < len(b) && (l.found[l.at].start < from || l.by != f && p.common[l.found[l.at].lit]) {
		l.at++
	}
	if l.at == len(l.found) || l.found[l.at].start >= len(b) {
		return -1, 0
	}
	at := l.found[l.at]
	start = lineStart(b, from, at.start)
	end = len(b)
	if i := bytes.IndexByte(b[at.end:], '\n'); i >= 0 {
		end = at.end + i
	}
	p.found = p.found[:0]
	for ; l.at < len(l.found) && l.found[l.at].start < end; l.at++ {
		p.found = append(p.found, l.found[l.at])
	}
	return start, end
}

// slot is a piece that is read, searched and visited by different goroutines, one after the other.
type slot struct {
	piece
	room  *[]byte
	ready chan struct{}
}

// ahead visits piece by piece, while others read and search the next ones. Which of the two filters the next pieces need
// is not known before their turn: they are searched with the one that the last piece ended with, and if that turns out to
// be too little, once more.
func (p *pass) ahead(ctx context.Context, c *cutter, helpers int) error {
	ctx, cancel := context.WithCancel(ctx)
	slots := helpers + 3
	free, work, order := make(chan *slot, slots), make(chan *slot, slots), make(chan *slot, slots)
	var wg sync.WaitGroup
	var rooms []*[]byte
	defer func() {
		cancel()
		wg.Wait() // nobody writes into the rooms any more
		for _, r := range rooms {
			p.buffers.Put(r)
		}
	}()
	for range slots {
		s := &slot{room: p.room(), ready: make(chan struct{}, 1)}
		free <- s
		rooms = append(rooms, s.room)
	}
	var sparse atomic.Bool
	wg.Go(func() {
		defer close(order)
		defer close(work)
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-free:
				if !c.next(&s.piece, *s.room) {
					return
				}
				work <- s
				order <- s
			}
		}
	})
	for range helpers {
		wg.Go(func() {
			for s := range work {
				if !s.window && !s.skip {
					s.by = p.filter
					if sparse.Load() {
						s.by = p.rare
					}
					s.found = s.by.collect(s.found[:0], s.b, 0, len(s.b))
				}
				s.ready <- struct{}{}
			}
		})
	}
	for s := range order {
		if err := ctx.Err(); err != nil {
			return err
		}
		<-s.ready
		if err := p.piece(&s.piece); err != nil {
			return err
		}
		sparse.Store(p.thin.pass)
		free <- s
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.failure()
}

// lineStart is where the line begins that holds b[at], not before low: lines are longer than what is looked at byte by byte.
func lineStart(b []byte, low, at int) int {
	const ones, highs, lf = 0x0101010101010101, 0x8080808080808080, 0x0a0a0a0a0a0a0a0a
	for at-low >= 8 {
		w := binary.LittleEndian.Uint64(b[at-8:]) ^ lf
		if (w-ones)&^w&highs != 0 {
			break
		}
		at -= 8
	}
	for at > low && b[at-1] != '\n' {
		at--
	}
	return at
}
