package gate

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Glob finds the names that fit a pattern of path.Match below a root, sorted. A link that the gate refuses is found where it is the last
// element, and nothing behind it is. A directory that is not there, or may not be read, holds nothing.
func (g *Gate) Glob(root, pattern string) ([]string, error) {
	for _, e := range strings.Split(pattern, "/") {
		if _, err := path.Match(e, ""); err != nil {
			return nil, err
		}
	}
	s := search{gate: g}
	s.below(path.Clean(root), elements(pattern))
	slices.Sort(s.found)
	return s.found, nil
}

type search struct {
	gate  *Gate
	found []string
}

func (s *search) below(dir string, rest []string) {
	if len(rest) == 0 {
		if _, err := s.gate.Look(dir); err == nil || WhyNot(err) != "" {
			s.found = append(s.found, dir)
		}
		return
	}
	if !strings.ContainsAny(rest[0], `*?[\`) {
		s.below(path.Join(dir, rest[0]), rest[1:])
		return
	}
	list, _ := s.gate.List(dir)
	for _, e := range list {
		fits, _ := path.Match(rest[0], e.Name())
		switch {
		case !fits:
		case len(rest) == 1:
			s.found = append(s.found, path.Join(dir, e.Name()))
		case e.IsDir(), e.Type()&fs.ModeSymlink != 0:
			s.below(path.Join(dir, e.Name()), rest[1:])
		}
	}
}
