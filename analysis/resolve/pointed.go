package resolve

import (
	"slices"
	"strings"
	"unicode"

	"faultline/analysis/worker"
	"faultline/knowledge"
	"faultline/pattern"
)

// pointedAt is the one node to which processes of several others point, in whatever words they say that they did not reach somebody, or lost him:
// one naming for each of those. Nil where they point to several, where it points to another itself, or where it is only where all processes meet.
func (f *Facts) pointedAt() (all []*Naming) {
	const votes = 2
	by := map[string]bool{}
	agree := true
	hear := func(at *worker.At, text string) {
		on := f.NodeOf(*at)
		if storeWords.MatchString(text) {
			return
		}
		for node := range f.nodesIn(text) {
			switch {
			case node == on || on == "":
				continue
			case !by[on]:
				all = append(all, &Naming{Whose: knowledge.Unreached, Name: node, Nodes: []string{node}, By: f.rankOr(*at), On: on, At: at})
			}
			agree, by[on] = agree && all[0].Nodes[0] == node, true
		}
	}
	for i := range f.Obs.Exceptions {
		if x := &f.Obs.Exceptions[i]; ofPeers(x) != 0 || f.outOfReach(x.Signs) {
			hear(&x.At, x.Message)
		}
	}
	for i := range f.Obs.NCCLWarns {
		if w := &f.Obs.NCCLWarns[i]; f.outOfReach(w.Signs) {
			hear(&w.At, w.Text)
		}
	}
	for i := range f.Obs.Signs {
		if s := &f.Obs.Signs[i]; f.outOfReach([]knowledge.ID{s.ID}) {
			hear(&s.At, s.Text)
		}
	}
	if len(all) < votes || !agree || by[all[0].Nodes[0]] || f.meetingPlace() == all[0].Nodes[0] {
		return nil
	}
	var files []string
	for file, node := range f.ident.fileNode {
		if node == all[0].Nodes[0] {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	for _, n := range all {
		n.Files = files
	}
	return all
}

// storeWords finds c10d's words for the store at which all processes meet: "(n4.svc, 29500)", "remote=[n4.svc]:29500".
var storeWords = pattern.New(`\([\w.:-]+, \d{2,5}\)|remote=\[`)

// outOfReach says that one of these lines is of a process that could not be reached, or that is gone.
func (f *Facts) outOfReach(ids []knowledge.ID) bool {
	return slices.ContainsFunc(ids, func(id knowledge.ID) bool {
		return f.Known.Entry(id).Mechanism.Is(knowledge.OutOfReach | knowledge.PeerGone)
	})
}

// nodesIn are the nodes of the job that a text names, by a host's name or an address.
func (f *Facts) nodesIn(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if w = strings.Trim(w, ".-_"); !strings.ContainsFunc(w, unicode.IsDigit) {
			continue
		}
		if node, _ := f.nodeNamed(w); node != "" && f.knowsNode(node) {
			out[node] = true
		}
	}
	return out
}

// meetingPlace is the node where all processes meet, "" where nothing tells it: that it is the one that is not reached may be the fault of each of
// them.
func (f *Facts) meetingPlace() (only string) {
	told := false
	for i := range f.Obs.Facts {
		x := &f.Obs.Facts[i]
		if x.Key != "master" {
			continue
		}
		node, _ := f.nodeNamed(x.Value)
		if told && node != only {
			return ""
		}
		told, only = true, node
	}
	return only
}
