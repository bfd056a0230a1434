package eval

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"faultline/incident"
)

// storageDir is the folder of a case with the logs of the storage's daemons: a folder for each daemon, or an archive.
const storageDir = "ais-logs"

// packed is how the archive of a daemon ends.
const packed = ".tar.gz"

// maxUnpacked bounds what an archive is unpacked to.
const maxUnpacked = 256 << 20

// storage lists the logs of the storage's daemons. Archives are unpacked.
func storage(root string, scratch func() (string, error)) ([]incident.Source, error) {
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	all, err := sources(root, storageDir)
	if err != nil {
		return nil, err
	}
	var out []incident.Source
	for _, s := range all {
		if !strings.HasSuffix(s.Name, packed) {
			out = append(out, s)
			continue
		}
		dir, err := scratch()
		if err != nil {
			return nil, err
		}
		files, err := unpack(s, dir)
		if err != nil {
			return nil, fmt.Errorf("unpacking %s: %w", s.Name, err)
		}
		out = append(out, files...)
	}
	slices.SortFunc(out, func(a, b incident.Source) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// unpack writes the files of an archive into a folder that bears its name.
func unpack(s incident.Source, dir string) ([]incident.Source, error) {
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(s.Name, packed)
	dir = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var out []incident.Source
	for t, left := tar.NewReader(z), int64(maxUnpacked); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg || h.Name != path.Base(h.Name) || !filepath.IsLocal(h.Name) {
			continue
		}
		if left -= h.Size; left < 0 {
			return nil, errors.New("too large")
		}
		to := filepath.Join(dir, h.Name) //nolint:gosec // the name was checked above
		w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		_, err = io.CopyN(w, t, h.Size)
		if err = errors.Join(err, w.Close()); err != nil {
			return nil, err
		}
		out = append(out, incident.Source{Name: path.Join(name, h.Name), Path: to, Bytes: h.Size, Origin: "archive:" + path.Base(s.Name)}) //nolint:gosec // a label, no path
	}
}
