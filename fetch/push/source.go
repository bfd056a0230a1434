package push

import (
	"context"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"faultline/fetch/source"
)

// Files are the logs of a bundle as a place: under the paths where they lay. Of several machines' files of one path it shows the
// one that was written to last.
type Files struct{ Bundle *Bundle }

func (s Files) file(name string) (File, bool) {
	var best File
	found := false
	for _, f := range s.Bundle.Logs() {
		if f.Path == name && (!found || f.Written.After(best.Written)) {
			best, found = f, true
		}
	}
	return best, found
}

func described(f File) source.File {
	return source.File{Name: f.Path, Size: f.Size, Written: f.Written, Owner: f.Owner, Mark: f.SHA256, Whole: true}
}

// Glob implements source.Source.
func (s Files) Glob(_ context.Context, pattern string) ([]source.File, error) {
	if _, err := path.Match(pattern, ""); err != nil || !path.IsAbs(pattern) {
		return nil, &source.Error{Kind: source.BadName, Name: pattern, Place: "the push store"}
	}
	newest := map[string]File{}
	for _, f := range s.Bundle.Logs() {
		if old, ok := newest[f.Path]; (!ok || f.Written.After(old.Written)) && fits(pattern, f.Path) {
			newest[f.Path] = f
		}
	}
	var out []source.File
	for _, f := range newest {
		out = append(out, described(f))
	}
	slices.SortFunc(out, func(a, b source.File) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// fits is path.Match with "**" for everything below.
func fits(pattern, name string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/**"); ok {
		depth := strings.Count(dir, "/") + 1
		parts := strings.SplitN(name, "/", depth+1)
		if len(parts) <= depth {
			return false
		}
		pattern, name = dir, strings.Join(parts[:depth], "/")
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// Stat implements source.Source.
func (s Files) Stat(_ context.Context, name string) (source.File, error) {
	f, ok := s.file(name)
	if !ok {
		return source.File{}, &source.Error{Kind: source.NotFound, Name: name, Place: "the push store"}
	}
	return described(f), nil
}

// Open implements source.Source.
func (s Files) Open(ctx context.Context, name string, offset int64) (source.File, io.ReadCloser, error) {
	what, err := s.Stat(ctx, name)
	if err != nil {
		return what, nil, err
	}
	at, err := s.Bundle.content(what.Mark)
	if err != nil {
		return what, nil, &source.Error{Kind: source.NotFound, Name: name, Place: "the push store", Err: err}
	}
	file, err := os.Open(at)
	if err == nil && (offset < 0 || offset > what.Size) {
		_ = file.Close()
		return what, nil, &source.Error{Kind: source.Changed, Name: name, Place: "the push store"}
	}
	if err == nil {
		_, err = file.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return what, nil, &source.Error{Kind: source.Failed, Name: name, Place: "the push store", More: plain(err).Error(), Err: err}
	}
	return what, file, nil
}
