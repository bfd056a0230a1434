package recorder

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"faultline/analysis/artifact/pickle"
)

// Shared keeps what the dumps of a job have in common once: names, places in the program, and the members of groups, which every
// member lists. It serves any number of goroutines; the zero value is ready.
type Shared struct {
	mu      sync.Mutex
	texts   map[string]string
	members map[string][]int
	listed  int // bytes of the lists of members
	rooms   []*room
}

// room is memory that is used for one dump after the other.
type room struct {
	chunk  []byte
	size   int // of the last dump: those of a job are about alike
	values pickle.Room
}

// read reads a dump as a whole.
func (r *room) read(in io.Reader) (string, error) {
	if r.chunk == nil {
		r.chunk = make([]byte, 64<<10)
	}
	var b strings.Builder
	b.Grow(min(r.size+r.size/16, maxRoom))
	// Only its methods for single writes: the whole is copied once, from memory that is close.
	size, err := io.CopyBuffer(struct{ io.Writer }{&b}, struct{ io.Reader }{io.LimitReader(in, MaxDump+1)}, r.chunk)
	if err != nil {
		return "", err
	}
	if r.size = int(size); size > MaxDump {
		return "", fmt.Errorf("it is larger than %d MiB", MaxDump>>20)
	}
	return b.String(), nil
}

// maxRoom is for how many bytes of a dump room is made before they are read.
const maxRoom = 4 << 20

func (s *Shared) take() *room {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.rooms); n > 0 {
		r := s.rooms[n-1]
		s.rooms = s.rooms[:n-1]
		return r
	}
	return &room{}
}

func (s *Shared) give(r *room) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rooms = append(s.rooms, r)
}

// Bounds of what is kept once; the rest is kept by each dump.
const (
	maxTexts   = 1 << 16
	maxMembers = 64 << 20 // bytes
)

// text is s in memory of its own. What a pickle hands out is part of the whole.
func (s *Shared) text(t string) string {
	if t == "" {
		return ""
	}
	known, ok := s.texts[t]
	if !ok {
		known = strings.Clone(t)
		if s.texts == nil {
			s.texts = map[string]string{}
		}
		if len(s.texts) < maxTexts {
			s.texts[known] = known
		}
	}
	return known
}

// ranks are the members that a list states. They are only read.
func (s *Shared) ranks(list string) []int {
	s.mu.Lock()
	known, ok := s.members[list]
	s.mu.Unlock()
	if ok {
		return known
	}
	known = slices.Clone(ranksOf(list)) // without room for more
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(list) + 8*len(known); s.listed+n <= maxMembers {
		s.listed += n
		if s.members == nil {
			s.members = map[string][]int{}
		}
		s.members[strings.Clone(list)] = known
	}
	return known
}

// own gives a dump's texts memory of their own.
func (s *Shared) own(d *Dump) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Version, d.Library = s.text(d.Version), s.text(d.Library)
	for i := range d.Groups {
		g := &d.Groups[i]
		g.Name, g.Desc = s.text(g.Name), s.text(g.Desc)
	}
	for i := range d.Status {
		d.Status[i].Local = s.text(d.Status[i].Local)
	}
	d.Groups, d.Status, d.Open, d.Done = slices.Clone(d.Groups), slices.Clone(d.Status), slices.Clone(d.Open), slices.Clone(d.Done)
	for _, works := range [][]Work{d.Open, d.Done} {
		for i := range works {
			w := &works[i]
			w.Group, w.Desc, w.Op, w.State = s.text(w.Group), s.text(w.Desc), s.text(w.Op), s.text(w.State)
			for _, list := range [][]string{w.InTypes, w.OutTypes} {
				for k := range list {
					list[k] = s.text(list[k])
				}
			}
			for k := range w.Frames {
				f := &w.Frames[k]
				f.Name, f.File = s.text(f.Name), s.text(f.File)
			}
		}
	}
}
