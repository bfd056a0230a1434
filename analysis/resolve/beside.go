package resolve

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"faultline/analysis/artifact/lines"
	"faultline/analysis/ascii"
)

// Mark is where something stands in a file of evidence.
type Mark struct {
	lines.Place
}

// besideNode finds the node of this job that a file beside the logs is of: host is what the file itself says. A file that says nothing
// may be named for one of the job's nodes, and for one only. ours is false for a host that is no node of the job, as far as
// the logs tell: where they name none, what was handed in beside them counts as theirs.
func (f *Facts) besideNode(file, host string) (node string, ours bool) {
	if host = ShortHost(host); host != "" {
		nodes := f.jobNodes()
		return host, len(nodes) == 0 || slices.Contains(nodes, host)
	}
	base := strings.ToLower(file[strings.LastIndexByte(file, '/')+1:])
	folder := strings.ToLower(file[:len(file)-len(base)])
	for _, where := range []string{base, folder} {
		found := ""
		for _, n := range f.jobNodes() {
			if !holdsWord(where, strings.ToLower(n)) {
				continue
			}
			if found != "" && found != n {
				return "", false
			}
			found = n
		}
		if found != "" {
			return found, true
		}
	}
	return "", false
}

// NodeOfFile is the node of this job for which a file beside the logs is named, "" where it is none.
func (f *Facts) NodeOfFile(file string) string {
	if node := f.ident.fileNode[file]; node != "" {
		return node // that of a log of the job
	}
	node, _ := f.besideNode(file, "")
	return node
}

// OfJob says that something proves a node to be the job's.
func (f *Facts) OfJob(node string) bool { return slices.Contains(f.jobNodes(), ShortHost(node)) }

// holdsWord says that name has the word in it, with no letter, digit or dash beside it. A dash before it is none: names join their
// parts with dashes.
func holdsWord(name, word string) bool {
	for from := 0; ; {
		i := strings.Index(name[from:], word)
		if i < 0 || word == "" {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || !ascii.Alnum(name[i-1])) && (end == len(name) || !ascii.Alnum(name[end])) {
			return true
		}
		from = i + 1
	}
}

// NodeNamer finds the node of the job that a text names; "" where it names none, or several.
func (f *Facts) NodeNamer() func(text string) string {
	nodes := map[string]bool{}
	for _, n := range f.jobNodes() {
		nodes[n] = true
	}
	return func(text string) string {
		found := ""
		for _, w := range strings.FieldsFunc(text, func(r rune) bool {
			return r != '-' && r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			n := ShortHost(strings.Trim(w, ".-_"))
			if !nodes[n] || n == found {
				continue
			}
			if found != "" {
				return ""
			}
			found = n
		}
		return found
	}
}

// jobNodes are the nodes that the job is known to have run on.
func (f *Facts) jobNodes() []string {
	nodes := map[string]bool{} // many ranks are on one
	for _, n := range f.Coverage.NodesExpected {
		nodes[ShortHost(n)] = true
	}
	for _, n := range f.Coverage.NodesSeen {
		nodes[n] = true
	}
	for _, r := range f.byRank {
		nodes[r.Node] = true
	}
	for _, n := range f.ident.rankNode { // of ranks that write in no log, too
		nodes[n] = true
	}
	delete(nodes, "")
	return slices.Sorted(maps.Keys(nodes))
}
