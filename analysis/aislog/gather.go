package aislog

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// set are the files of one daemon.
type set struct {
	role    Role
	id      string
	from    string
	cluster string
	files   []*File
	odd     []string // names that contradict
}

// identity is what a file says of whose it is. The title is the daemon's own line; the archive's name is that of the cluster
// map, under which somebody asked for it. A shortened host name is neither.
func identity(f *File) (role Role, id, from, cluster string) {
	for _, p := range f.parts {
		if id == "" && p.id != "" {
			role, id, from = p.role, p.id, "title"
		}
		if cluster == "" {
			cluster = p.cluster
		}
		if role == "" {
			role = p.role
		}
	}
	if r, name := archived(f.hint); id == "" && name != "" {
		role, id, from = r, name, "archive"
	}
	return role, id, from, cluster
}

// gather finds out which files are of one daemon: those that name it, within one cluster; then those that do not, by the
// process that wrote them or else the folder they lie in.
func gather(files []*File) []*set {
	var sets []*set
	var rest []*File
	clusters := clustersOf(files)
	for _, f := range files {
		role, id, from, cluster := identity(f)
		if cluster == "" {
			cluster = clusters[path.Dir(f.hint)]
		}
		if id == "" {
			rest = append(rest, f)
			continue
		}
		i := slices.IndexFunc(sets, func(s *set) bool { return s.id == id && s.role == role && s.cluster == cluster })
		if i < 0 {
			i = len(sets)
			sets = append(sets, &set{role: role, id: id, cluster: cluster})
		}
		s := sets[i]
		s.files = append(s.files, f)
		if s.from != "title" {
			s.from = from
		}
		if _, name := archived(f.hint); name != "" && name != id {
			s.odd = append(s.odd, fmt.Sprintf("%s is filed under the name %s, but its header says %s", f.name, name, id))
		}
	}
	sets = join(sets)
	for _, f := range rest {
		role, _, _, _ := identity(f)
		s := theOnly(sets, role, func(g *File) bool { return sameProcess(f, g) })
		if s == nil {
			s = theOnly(sets, role, func(g *File) bool { return path.Dir(g.hint) == path.Dir(f.hint) })
		}
		if s == nil {
			s = &set{role: role}
			sets = append(sets, s)
		}
		s.files = append(s.files, f)
	}
	return sets
}

// clustersOf is the cluster of each folder, where its files name one.
func clustersOf(files []*File) map[string]string {
	clusters := map[string]string{}
	for _, f := range files {
		if _, _, _, c := identity(f); c != "" {
			dir := path.Dir(f.hint)
			if old, seen := clusters[dir]; seen && old != c {
				c = ""
			}
			clusters[dir] = c
		}
	}
	return clusters
}

// theOnly is the one set of a role, "" for any, that holds such a file; nil where there are several or none.
func theOnly(sets []*set, role Role, like func(*File) bool) *set {
	var only *set
	for _, s := range sets {
		if role != "" && s.role != role || !slices.ContainsFunc(s.files, like) {
			continue
		}
		if only != nil {
			return nil
		}
		only = s
	}
	return only
}

// join puts sets of one daemon together of which only one knows its cluster.
func join(sets []*set) []*set {
	var out []*set
	for _, s := range sets {
		if s.cluster != "" {
			out = append(out, s)
		}
	}
	for _, s := range sets {
		if s.cluster != "" {
			continue
		}
		var same []*set
		for _, o := range out {
			if o.role == s.role && o.id == s.id && o.cluster != "" {
				same = append(same, o)
			}
		}
		if len(same) != 1 {
			out = append(out, s)
			continue
		}
		same[0].files = append(same[0].files, s.files...)
		same[0].odd = append(same[0].odd, s.odd...)
		if same[0].from != "title" {
			same[0].from = s.from
		}
	}
	return out
}

// sameProcess says that one process began both files at one time: an INFO and an ERROR file.
func sameProcess(f, g *File) bool {
	a, b := f.parts[0], g.parts[0]
	return a.head != Headless && a.head == b.head && a.opened.Wall.Equal(b.opened.Wall) && a.host == b.host && a.pid == b.pid && a.pid != 0
}

// warningsOnly says that the file is one of warnings and errors, which the INFO file holds as well.
func (f *File) warningsOnly() bool {
	for _, p := range f.parts {
		if p.info {
			return false
		}
	}
	return !strings.Contains(path.Base(f.name), ".INFO.") || strings.Contains(path.Base(f.name), ".ERROR.")
}

// copies finds files of which another one holds all: logs were fetched twice.
func copies(files []*File) map[*File]*File {
	out := map[*File]*File{}
	best := map[string]*File{}
	for _, f := range files {
		key := fmt.Sprint(f.warningsOnly(), f.digest)
		if b := best[key]; b == nil || f.stats.Bytes > b.stats.Bytes {
			best[key] = f
		}
	}
	for _, f := range files {
		if b := best[fmt.Sprint(f.warningsOnly(), f.digest)]; b != f && f.digest != "" {
			out[f] = b
		}
	}
	return out
}
