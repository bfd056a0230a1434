package aiscluster

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// File is one file of the logs, with the path below the folder of all daemons.
type File struct {
	Name string
	Data []byte
}

const (
	flushEvery = time.Minute
	infoBuffer = 2048 // of a line of severity I: what is longer is cut, and its newline with it
)

// wall is the time that a daemon prints.
func (n *Node) wall(at time.Time) time.Time { return at.Add(n.c.spec.Offset + n.c.spec.Skew).UTC() }

// short is the host as file names have it: without its domain, and of a long name with dashes two parts.
func short(host string) string {
	host, _, _ = strings.Cut(host, ".")
	if parts := strings.Split(host, "-"); len(host) >= 16 && len(parts) > 2 {
		host = parts[0] + "-" + parts[1]
	}
	return host
}

func (n *Node) prog() string {
	if n.target {
		return "aistarget"
	}
	return "aisproxy"
}

// Folder is the name of a node's folder or archive.
func (n *Node) Folder() string { return n.prog() + "-" + n.ID }

// Files are the logs as they were taken at a moment.
func (c *Cluster) Files(taken time.Time) ([]File, error) {
	var out []File
	for _, n := range c.nodes() {
		files := n.files(taken)
		if !c.spec.Packed {
			for _, f := range files {
				out = append(out, File{n.Folder() + "/" + f.Name, f.Data})
			}
			continue
		}
		data, err := pack(files, n.wall(taken))
		if err != nil {
			return nil, err
		}
		out = append(out, File{n.Folder() + ".tar.gz", data})
	}
	return out, nil
}

// files writes what a node's daemon has on disk.
func (n *Node) files(taken time.Time) []File {
	var info, errors []File
	for _, l := range n.lives {
		n.ticks(l, taken)
	}
	slices.SortStableFunc(n.said, func(a, b record) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.seq, b.seq)) })
	for _, l := range n.lives {
		until := taken
		if !l.to.IsZero() && l.to.Before(taken) {
			until = l.to
		}
		if l.to.IsZero() || l.killed || l.to.After(taken) { // buffers are written out every minute, and at an orderly end
			until = l.from.Add(until.Sub(l.from).Truncate(flushEvery)).Add(5 * time.Second)
		}
		var records []record
		for _, r := range n.said {
			if l.holds(r.at) && !r.at.After(until) && !n.still(r.at) {
				records = append(records, r)
			}
		}
		info = append(info, n.split(l, records, "INFO")...)
		if n.c.spec.Errors {
			loud := slices.DeleteFunc(slices.Clone(records), func(r record) bool { return r.sev == 'I' })
			if len(loud) > 0 {
				errors = append(errors, n.split(l, loud, "ERROR")...)
			}
		}
	}
	return append(info, errors...)
}

// split writes the files of a life, a new one where the last has grown too large.
func (n *Node) split(l *life, records []record, severity string) []File {
	var out []File
	var b bytes.Buffer
	name := func(at time.Time) string {
		return fmt.Sprintf("%s.%s.%s.%s.%d", n.prog(), short(n.host), severity, n.wall(at).Format("0102-150405"), l.pid)
	}
	begin := func(at time.Time, word string) string {
		b.Reset()
		host, _, _ := strings.Cut(n.host, ".")
		fmt.Fprintf(&b, "%s at %s, host %s, %s for linux/amd64\n", word, n.wall(at).Format("2006/01/02 15:04:05"), host, n.c.rel.golang)
		if word == "Rotated" {
			b.WriteString(n.title() + "\n")
		}
		return name(at)
	}
	word := "Started up"
	if l.aged {
		word = "Rotated"
	}
	current := begin(l.from, word)
	for _, r := range records {
		// Files are named by the second: a storm within one goes to one file.
		if most := n.c.spec.RotateAt; most > 0 && b.Len() > most && name(r.at) != current {
			out = append(out, File{current, slices.Clone(b.Bytes())})
			current = begin(r.at, "Rotated")
		}
		b.WriteString(n.line(r))
	}
	return append(out, File{current, slices.Clone(b.Bytes())})
}

// line is a record as it stands in a file.
func (n *Node) line(r record) string {
	if r.raw {
		return r.text + "\n"
	}
	s := fmt.Sprintf("%c %s ", r.sev, n.wall(r.at).Format("15:04:05.000000"))
	if r.pos != "" {
		s += r.pos + " "
	}
	s += r.text + "\n"
	if r.sev == 'I' && len(s) > infoBuffer {
		s = s[:infoBuffer]
	}
	return s
}

// pack is the archive that a node makes of its files.
func pack(files []File, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	for _, f := range files {
		if err := t.WriteHeader(&tar.Header{Name: path.Base(f.Name), Mode: 0o644, Size: int64(len(f.Data)), ModTime: at.Truncate(time.Second), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}); err != nil {
			return nil, fmt.Errorf("aiscluster: packing %s: %w", f.Name, err)
		}
		if _, err := t.Write(f.Data); err != nil {
			return nil, fmt.Errorf("aiscluster: packing %s: %w", f.Name, err)
		}
	}
	if err := t.Close(); err != nil {
		return nil, fmt.Errorf("aiscluster: packing: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("aiscluster: packing: %w", err)
	}
	return b.Bytes(), nil
}
