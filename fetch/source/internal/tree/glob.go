package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"faultline/fetch/source"
)

// Glob is source.Source's.
func (t *Tree) Glob(ctx context.Context, pattern string) ([]source.File, error) {
	if err := cmp.Or(CheckPattern(pattern), Check(pattern)); err != nil {
		return nil, err
	}
	s := &search{Tree: t, ctx: ctx}
	s.below("/", Way{Real: "/"}, elements(pattern))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	slices.SortFunc(s.found, func(a, b source.File) int { return strings.Compare(a.Name, b.Name) })
	return s.found, errors.Join(s.errs...)
}

type search struct {
	*Tree
	ctx    context.Context
	found  []source.File
	errs   []error
	looked int
	ended  bool
}

// below looks for the rest of a pattern in the directory called name. Way is where it is; its Real is "" while nobody had to
// look.
func (s *search) below(name string, way Way, rest []string) {
	literal := 0
	for literal < len(rest) && !strings.ContainsAny(rest[literal], `*?[\`) {
		literal++
	}
	if literal > 0 {
		name, way, rest = path.Join(name, path.Join(rest[:literal]...)), Way{}, rest[literal:]
	}
	if len(rest) == 0 {
		s.one(name)
		return
	}
	if way.Real == "" || way.Real == "/" {
		var err error
		if way, err = s.Resolve(s.ctx, name); err != nil {
			s.note(err)
			return
		}
	}
	if rest[0] == "**" && len(rest) == 1 {
		s.all(name, way, 0)
		return
	}
	for _, e := range s.entries(name, way.Real) {
		if s.stop() {
			return
		}
		if ok, _ := path.Match(rest[0], e.Name); !ok {
			continue
		}
		child := path.Join(name, e.Name)
		switch {
		case len(rest) == 1:
			s.take(child, way, e)
		case e.Mode.IsDir():
			s.below(child, way.in(e.Name), rest[1:])
		case e.Mode&fs.ModeSymlink != 0:
			s.below(child, Way{}, rest[1:])
		}
	}
}

// all takes every file below a directory.
func (s *search) all(name string, way Way, depth int) {
	if depth > maxDepth {
		s.errs = append(s.errs, &source.Error{Kind: source.TooMuch, Name: name, More: fmt.Sprintf("more than %d directories inside each other", maxDepth)})
		return
	}
	for _, e := range s.entries(name, way.Real) {
		if s.stop() {
			return
		}
		if e.Mode.IsDir() {
			s.all(path.Join(name, e.Name), way.in(e.Name), depth+1)
		} else {
			s.take(path.Join(name, e.Name), way, e)
		}
	}
}

// one looks at a name without wildcards.
func (s *search) one(name string) {
	way, err := s.Resolve(s.ctx, name)
	if err != nil {
		s.note(err)
		return
	}
	e, err := s.FS.Lstat(way.Real)
	if err != nil {
		s.note(s.fail(way.Real, err))
		return
	}
	s.file(name, way, e)
}

// file adds a regular file.
func (s *search) file(name string, way Way, e Entry) {
	switch {
	case !e.Mode.IsRegular():
	case !way.Vouched(e):
		s.note(&source.Error{Kind: source.Foreign, Name: name})
	default:
		e.File.Name = name
		s.found = append(s.found, e.File)
	}
}

// take adds a file, or what a link leads to.
func (s *search) take(name string, way Way, e Entry) {
	if e.Mode&fs.ModeSymlink != 0 {
		s.one(name)
		return
	}
	s.file(name, way, e)
}

func (s *search) entries(name, real string) []Entry {
	if s.stop() {
		return nil
	}
	list, err := s.FS.ReadDir(real)
	if err != nil {
		f := s.Fail(name, err)
		s.note(f)
	}
	if s.looked += len(list); s.looked > maxEntries {
		s.errs = append(s.errs, &source.Error{Kind: source.TooMuch, Name: name, More: fmt.Sprintf("more than %d names to look at", maxEntries)})
		s.ended = true
	}
	return list
}

func (s *search) stop() bool { return s.ended || s.ctx.Err() != nil }

// note keeps what could not be looked at. What is not there is no error.
func (s *search) note(err error) {
	if kind := source.KindOf(err); kind != source.NotFound {
		s.errs = append(s.errs, err)
		s.ended = s.ended || kind.Transient() // the place is gone: asking on would only take time
	}
}
