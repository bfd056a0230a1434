package resolve

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"faultline/analysis/artifact/snapshot"
	"faultline/analysis/moved"
	"faultline/pattern"
)

// SnapshotFile is the state of a machine, or of several, at one moment.
type SnapshotFile struct {
	File    string
	Earlier bool // it is of the earlier run
	*snapshot.Snapshot
}

// Comparisons are what tables and the tools' output say of a slow job; several mechanisms ask.
type Comparisons struct {
	// Moved is what changed when the steps slowed down, out of Quantities; Settings what the job's own lines set otherwise then.
	Moved      []moved.Quantity
	Quantities int
	Settings   []Setting
	// Apart are members of what tools print of machines that differ from their peers, Outgrown counts that grew far more than those beside them.
	Apart, Outgrown []moved.Quantity
}

// Comparison makes them; d is nil where the job was slow from its first step.
func (f *Facts) Comparison(d *Slowdown) (c Comparisons) {
	if d != nil {
		c.Moved, c.Quantities = f.moved(d)
		c.Settings = f.settings(d)
	}
	if len(f.Snapshots) > 0 {
		c.Apart, c.Outgrown = moved.Apart(f.readings()), moved.Outgrown(f.readings())
	}
	return c
}

// nodeSet are the job's nodes, to be asked for many names.
func (f *Facts) nodeSet() map[string]bool {
	out := map[string]bool{}
	for _, n := range f.jobNodes() {
		out[n] = true
	}
	return out
}

// readings are the values that tools print, each with its first and its last reading.
func (f *Facts) readings() []*moved.Track {
	tracks := map[string]*moved.Track{}
	var order []string
	list := slices.Clone(f.Snapshots)
	hosts := f.namedHosts()
	nodes, job := f.snapshotNodes(list, hosts), f.nodeSet()
	series := map[string]int{}
	for i := range list {
		series[untimed(list[i].File)]++
	}
	slices.SortStableFunc(list, func(a, b SnapshotFile) int { return strings.Compare(taken(&a), taken(&b)) })
	for i := range list {
		x := &list[i]
		for k := range x.Cells {
			c := &x.Cells[k]
			node := cellNode(c, job)
			ours := node != ""
			if !ours {
				node = cmp.Or(nodes[x.File], headedBy(c))
				ours = hosts[node] || job[node]
			}
			id := node + "\x00" + c.What
			if name := untimed(x.File); node == "" && series[name] > 1 { // read again later, and beside it others of another port
				id = name + id
			}
			for _, key := range c.Keys {
				id += "\x00" + key.Name + "\x00" + key.Value
			}
			now := moved.Sample{V: c.Value, At: &c.Point}
			t := tracks[id]
			if t == nil {
				t = &moved.Track{Series: &c.Series, File: x.File, Node: node, Ours: ours, After: []moved.Sample{now}}
				tracks[id] = t
				order = append(order, id)
				continue
			}
			if x.File != t.File {
				if len(t.Before) == 0 {
					t.Before, t.BeforeFile = t.After, t.File
				}
				t.File = x.File
			}
			t.After = []moved.Sample{now}
		}
	}
	all := make([]*moved.Track, len(order))
	for i, id := range order {
		all[i] = tracks[id]
	}
	return all
}

// taken orders snapshots: by what they state, else by their names.
func taken(x *SnapshotFile) string {
	when := x.Taken
	if when == "" {
		when = snapshot.Date(x.File)
	}
	if x.Earlier {
		return " " + when
	}
	return when + "\x00" + x.File
}

// cellNode is the node that the headings of a value name.
func cellNode(c *snapshot.Cell, job map[string]bool) string {
	for _, k := range c.Keys {
		if n := ShortHost(k.Value); moved.NodeKey(k.Name) || job[n] {
			return n
		}
	}
	return ""
}

// headedBy is who a heading names together with a part of it, as what lists many machines does: "n0417 mlx5_7".
func headedBy(c *snapshot.Cell) string {
	if k := c.Keys; len(k) > 1 && k[0].Name == "" && hostLike.MatchString(k[0].Value) {
		return k[0].Value
	}
	return ""
}

// snapshotNodes are the nodes of which files are as a whole: by the job's nodes, by what is left of their names without a tool's, or by the part
// in which those of one kind differ.
func (f *Facts) snapshotNodes(list []SnapshotFile, hosts map[string]bool) map[string]string {
	out := map[string]string{}
	kinds := map[string][]string{}
	for i := range list {
		x := &list[i]
		if n, _ := f.besideNode(x.File, ""); n != "" {
			out[x.File] = n
			continue
		}
		kinds[kindOfSnapshot(x.Snapshot)] = append(kinds[kindOfSnapshot(x.Snapshot)], x.File)
	}
	for _, files := range kinds {
		for _, file := range files {
			for _, other := range files {
				if n := differing(untimed(file), untimed(other)); file != other && n != "" && !ranked.MatchString(n) && snapshot.Date(n) == "" {
					out[file] = hostIn(n, file, hosts)
				}
			}
		}
	}
	return out
}

// namedHosts are words by which records of jobs and what tools print name machines.
func (f *Facts) namedHosts() map[string]bool {
	out := map[string]bool{}
	if f.book != nil {
		for _, r := range f.book.Records {
			for _, n := range r.Nodes {
				out[ShortHost(n)] = true
			}
		}
	}
	for i := range f.Snapshots {
		maps.Copy(out, f.Snapshots[i].Titles)
	}
	return out
}

// takenEnd is what a name ends in that says when.
var takenEnd = pattern.New(`(?:[-_.]?(?:20\d{6}|\d{4}|\d{6}))+[tz]?$`)

// untimed is a name without when it was taken.
func untimed(file string) string {
	name := stem(file)
	return strings.TrimSuffix(name, takenEnd.FindString(name))
}

// hostIn is the end of a word that some file names, or what a tool's name leaves of it; else the word.
func hostIn(word, file string, hosts map[string]bool) string {
	for end := word; ; {
		if hosts[end] {
			return end
		}
		_, rest, more := strings.Cut(end, "-")
		if !more {
			return cmp.Or(besideTool(untimed(file)), word)
		}
		end = rest
	}
}

// kindOfSnapshot is the same for files of one tool.
func kindOfSnapshot(s *snapshot.Snapshot) string {
	c := &s.Cells[0]
	names := []string{c.What}
	for _, k := range c.Keys {
		names = append(names, k.Name)
	}
	return strings.Join(names, "\x00")
}
