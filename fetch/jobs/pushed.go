package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/fetch/gate"
	"faultline/fetch/push"
	"faultline/fetch/slurm"
	"faultline/fetch/source"
	"faultline/incident"
	"faultline/workflow"
)

// PushPlace is the place that stands for what was pushed of a job.
func PushPlace(cluster, job string) string { return pushScheme + cluster + "/" + job }

const (
	pushScheme = "push:"
	pushOrigin = "push"
)

// pushed is what was handed in of the run of a job that is looked at. The id may have been another job's before: what was handed in
// of that is nobody's logs now. Nor is what an account has signed that is not the job's.
func (f *Fetcher) pushed(cluster string, j *slurm.Job, r *slurm.Run) (out []*push.Bundle, err error) {
	ids := []string{j.ID}
	if j.Het != slurm.None {
		ids = append(ids, strconv.Itoa(j.Het))
	}
	begun := submitted(j)
	for _, id := range ids {
		list, err := f.Pushed.Of(cluster, id)
		if err != nil {
			return nil, err
		}
		for i := range list {
			b := &list[i]
			switch {
			case b.Submit != 0 && b.Submit < begun, b.Submit == 0 && b.At.Unix() < begun:
			case r != nil && r.Restart != slurm.None && r.Restart != b.Restart:
			case b.Proven && j.User != "" && b.User != j.User:
			default:
				out = append(out, b)
			}
		}
	}
	return out, nil
}

// places are those of a cluster, with what was pushed of the run laid over the first in which logs have paths: what is missing is said of
// both together. Where there is none, what was pushed is a place of its own.
func (f *Fetcher) places(c *Cluster, j *slurm.Job, r *slurm.Run, out *logs) ([]sight, error) {
	found, err := f.pushed(c.Name, j, r)
	if err != nil {
		return nil, err
	}
	var over overlay
	for _, b := range found {
		over.pushed = append(over.pushed, push.Files{Bundle: b})
		if !slices.ContainsFunc(out.bundles, func(o *push.Bundle) bool { return o.Job == b.Job && o.ID() == b.ID() }) { // or it came with another component
			out.hold(b)
			out.notes = append(out.notes, tell(b))
		}
	}
	var list []sight
	for i := range c.Places {
		list = append(list, sight{&c.Places[i], c.Places[i].Source})
	}
	if len(found) == 0 {
		return list, nil
	}
	i := slices.IndexFunc(list, func(s sight) bool { return !s.Keys })
	if i < 0 {
		i, list = len(list), append(list, sight{Place: &Place{Roots: []string{"/"}}})
	}
	over.of = list[i].source
	list[i].source = &over
	return list, nil
}

// sight is a place as it is looked at.
type sight struct {
	*Place
	source source.Source
}

// hold adds a bundle.
func (l *logs) hold(b *push.Bundle) {
	l.bundles = append(l.bundles, b)
	if l.held == nil {
		l.held = map[string]bool{}
	}
	for _, f := range b.Files {
		l.held[f.Path+"\x00"+f.SHA256] = true
	}
}

// stated are the notes, and those that came with what was pushed.
func (l *logs) stated() []string {
	for _, b := range l.bundles {
		for _, n := range b.Notes {
			if !slices.Contains(l.notes, n) {
				l.notes = append(l.notes, n)
			}
		}
	}
	return l.notes
}

// holds says that a file is one that was pushed; its contents come from there.
func (l *logs) holds(x source.File) bool { return l.held[x.Name+"\x00"+x.Mark] }

// overlay is a place with what was pushed of its files. It gives a name once, with the larger of its contents.
type overlay struct {
	pushed []push.Files
	of     source.Source // nil = nothing
}

// Glob implements source.Source. What could not be looked into is said only where nothing was pushed from there: whoever pushed
// it has looked.
func (o *overlay) Glob(ctx context.Context, pattern string) ([]source.File, error) {
	var out []source.File
	var err error
	if o.of != nil {
		out, err = o.of.Glob(ctx, pattern)
	}
	at := map[string]int{}
	for i, x := range out {
		at[x.Name] = i
	}
	n := 0
	for _, p := range o.pushed {
		files, perr := p.Glob(ctx, pattern)
		if perr != nil {
			return out, perr
		}
		n += len(files)
		for _, x := range files {
			switch i, ok := at[x.Name]; {
			case !ok:
				at[x.Name] = len(out)
				out = append(out, x)
			case out[i].Size <= x.Size:
				out[i] = x
			}
		}
	}
	slices.SortFunc(out, func(a, b source.File) int { return strings.Compare(a.Name, b.Name) })
	if n > 0 && ctx.Err() == nil && !slices.ContainsFunc(source.Each(err), func(e error) bool { return source.KindOf(e) != source.Denied }) {
		err = nil
	}
	return out, err
}

// Stat implements source.Source.
func (o *overlay) Stat(ctx context.Context, name string) (source.File, error) {
	for _, p := range o.pushed {
		if f, err := p.Stat(ctx, name); err == nil {
			return f, nil
		}
	}
	if o.of == nil {
		return source.File{}, &source.Error{Kind: source.NotFound, Name: name}
	}
	return o.of.Stat(ctx, name)
}

// Open implements source.Source.
func (o *overlay) Open(ctx context.Context, name string, offset int64) (source.File, io.ReadCloser, error) {
	for _, p := range o.pushed {
		if f, body, err := p.Open(ctx, name, offset); err == nil {
			return f, body, nil
		}
	}
	if o.of == nil {
		return source.File{}, nil, &source.Error{Kind: source.NotFound, Name: name}
	}
	return o.of.Open(ctx, name, offset)
}

// tell says where a bundle came from.
func tell(b *push.Bundle) string {
	n := len(b.Logs())
	by := b.User
	if !b.Proven {
		by += " (self-reported)"
	}
	return fmt.Sprintf("%d %s of job %s came by bot push from %s on %s, last at %s UTC.", n, map[bool]string{true: "log", false: "logs"}[n == 1], b.Job, by, b.Host,
		b.At.Format("2006-01-02 15:04:05"))
}

// sources are the files of a bundle as they are read; what has gone from the spool is said.
func bundleSources(b *push.Bundle, files []push.File) (list []incident.Source, gone int) {
	for _, f := range files {
		at, err := b.Content(f)
		if err != nil {
			gone++
			continue
		}
		list = append(list, incident.Source{Name: f.Name, Path: at, SHA256: f.SHA256, Bytes: f.Size, Origin: pushOrigin})
	}
	return list, gone
}

// bundles adds what was pushed of a job, where no cluster tells of it.
func (f *Fetcher) bundles(cluster, job string, found *workflow.Found) error {
	list, err := f.Pushed.Of(cluster, job)
	if err != nil || len(list) == 0 {
		return err
	}
	found.Places = append(found.Places, PushPlace(cluster, job))
	for i := range list {
		b := &list[i]
		if !b.SameRun(&list[0]) {
			continue
		}
		found.Users = append(found.Users, b.User)
		for _, x := range b.Logs() {
			if x.Owner != "" {
				found.Users = append(found.Users, x.Owner)
			}
		}
		if len(found.Nodes) == 0 {
			found.Nodes, found.NodesFrom = b.Nodes, b.NodesFrom
		}
		found.Notes = append(append(found.Notes, tell(b)), b.Notes...)
	}
	slices.Sort(found.Users)
	found.Users = slices.Compact(found.Users)
	return nil
}

// handed collects what was pushed of a job by its place.
func (f *Fetcher) handed(out *collection, place string) error {
	cluster, job, _ := strings.Cut(strings.TrimPrefix(place, pushScheme), "/")
	list, err := f.Pushed.Of(cluster, job)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("the logs pushed for job %s are no longer kept", job)
	}
	for i := range list {
		b := &list[i]
		if !b.SameRun(&list[0]) || slices.ContainsFunc(out.bundles, func(o *push.Bundle) bool { return o.Cluster == b.Cluster && o.Job == b.Job && o.ID() == b.ID() }) {
			continue // another run, or it came with what the cluster tells of the job
		}
		out.bundles = append(out.bundles, b)
		out.Warnings = append(append(out.Warnings, tell(b)), b.Notes...)
		if len(out.Nodes) == 0 {
			out.Nodes, out.NodesFrom = b.Nodes, b.NodesFrom
		}
		facts, _ := bundleSources(b, b.Facts())
		for _, s := range facts {
			out.Facts = append(out.Facts, s.Path)
		}
		out.Sources = append(out.Sources, facts...)
	}
	return nil
}

// collection is a workflow.Collection that is being made, and what of it was pushed.
type collection struct {
	workflow.Collection
	bundles []*push.Bundle
	from    *gate.Gate // to what was not pushed
}

// union adds the logs of the bundles to what was found elsewhere. A content counts once. Of a file that is here in two states,
// the one that holds the other is taken: logs are still written after they were pushed. Where neither does, something wrote over
// it, and both are.
func (c *collection) union() {
	for _, b := range c.bundles {
		logs, gone := bundleSources(b, b.Logs())
		if gone > 0 {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%d pushed %s of job %s were deleted to make room; push them again.", gone, map[bool]string{true: "log", false: "logs"}[gone == 1], b.Job))
		}
		paths := map[string]string{} // by name and sum
		for _, f := range b.Logs() {
			paths[f.Name+"\x00"+f.SHA256] = f.Path
		}
		for _, l := range logs {
			c.add(l, paths[l.Name+"\x00"+l.SHA256])
		}
	}
}

// add adds a pushed file, unless what is here holds it.
func (c *collection) add(l incident.Source, path string) {
	real := path
	if p, err := c.from.Look(path); err == nil {
		real = p.Path
	}
	for i := range c.Sources {
		o := &c.Sources[i]
		same := path != "" && o.Path == real
		switch {
		case o.Origin == pushOrigin:
		case o.Bytes == l.Bytes && l.Bytes > 0 && c.sum(o) == l.SHA256:
			*o = called(l, o.Name) // the one that nobody can change any more
			return
		case same && o.Bytes > l.Bytes && c.begins(o, &l):
			return
		case same && o.Bytes < l.Bytes && c.begins(&l, o):
			*o = called(l, o.Name)
			return
		}
	}
	c.Sources = append(c.Sources, l)
}

// open opens a file where it was found. What was pushed is a content of the spool, called by its sum.
func (c *collection) open(s *incident.Source) (*os.File, error) {
	if s.Origin == pushOrigin {
		return os.Open(s.Path)
	}
	return c.from.Open(s.Path)
}

// begins says that one file begins with all of another.
func (c *collection) begins(whole, part *incident.Source) bool {
	w, err := c.open(whole)
	if err != nil {
		return false
	}
	defer w.Close()
	p, err := c.open(part)
	if err != nil {
		return false
	}
	defer p.Close()
	return push.BeginsWith(w, p)
}

// called is a source under another name.
func called(s incident.Source, name string) incident.Source {
	s.Name = name
	return s
}

// sum is the content of a file, which may not have been looked at yet.
func (c *collection) sum(s *incident.Source) string {
	if s.SHA256 != "" {
		return s.SHA256
	}
	file, err := c.open(s)
	if err != nil {
		return ""
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Clean forgets what was pushed longer ago than each cluster keeps it.
func (f *Fetcher) Clean(now time.Time, keep func(cluster string) time.Duration) error {
	if f.Pushed == nil {
		return nil
	}
	return f.Pushed.Clean(func(cluster string) time.Time { return now.Add(-keep(cluster)) })
}
