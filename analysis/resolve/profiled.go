package resolve

import (
	"faultline/analysis/artifact/folded"
	"faultline/analysis/filename"
)

// ProfileFile is a file with folded stacks.
type ProfileFile struct {
	File    string
	Profile *folded.Profile
}

// Profiled is where the time of a process went, and whose it was as far as the file's name tells.
type Profiled struct {
	ProfileFile
	Rank int // NoRank where nothing proves it
	Node string
}

// Profiles ties folded stacks to ranks, by what the names of their files call a rank.
func (f *Facts) Profiles() []Profiled {
	var names []string
	for _, p := range f.Handed.Profiles {
		names = append(names, p.File)
	}
	parsed := filename.Parse(names)
	node := f.NodeNamer()
	var out []Profiled
	for _, p := range f.Handed.Profiles {
		x := Profiled{ProfileFile: p, Rank: NoRank, Node: node(p.File)}
		world := f.Job.WorldSize
		if n, ok := parsed[p.File]; ok && n.Rank >= 0 && (world == 0 || n.Rank < world) {
			x.Rank = n.Rank
			if r := f.Rank(n.Rank); r != nil && r.Node != "" {
				x.Node = r.Node
			}
		}
		out = append(out, x)
	}
	return out
}
