package simulate

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// sink is one file being put together.
type sink struct {
	name    string
	node    int // −1: not one node's
	rank    int // −1: not one rank's
	entries []entry
	missing bool
	cut     bool // truncated: the last entry is half there
}

// view is what the final bytes show, after ablation and damage.
type view struct {
	s      *scene
	seen   []bool // a line of this rank names it
	state  []bool // a line shows its collective state
	tied   []bool // it is tied to its node
	whole  []bool // its stream ends cleanly: silence in it means something
	world  bool   // the world size is stated by a line or a flag
	groups bool   // the members of the groups are stated, or the sizes that determine them
	intact bool   // no file is missing or cut
}

// sinks routes the lines to files.
func (s *scene) sinks() []*sink {
	byNode := make([]*sink, len(s.nodes))
	byRank := make([]*sink, s.world)
	var all []*sink
	add := func(k *sink) *sink { all = append(all, k); return k }
	switch s.spec.FileMode {
	case "node":
		for n := range byNode {
			byNode[n] = add(&sink{name: fmt.Sprintf("error-%d-%d.out", s.jobID, n), node: n, rank: -1})
		}
	case "rank":
		for r := range byRank {
			byRank[r] = add(&sink{name: fmt.Sprintf("rank_%d.log", r), node: s.ranks[r].node.index, rank: r})
		}
	case "task":
		for r := range byRank {
			byRank[r] = add(&sink{name: fmt.Sprintf("%d_%d_log.err", s.jobID, r), node: s.ranks[r].node.index, rank: r})
		}
	default:
		one := add(&sink{name: fmt.Sprintf("log-train_%d.out", s.jobID), node: -1, rank: -1})
		for n := range byNode {
			byNode[n] = one
		}
	}
	batch := add(&sink{name: fmt.Sprintf("slurm-%d.out", s.jobID), node: -1, rank: -1})
	for _, e := range s.entries {
		k := batch
		switch {
		case e.to == toBatch:
		case byNode[e.node] != nil:
			k = byNode[e.node]
		case e.rank >= 0:
			k = byRank[e.rank]
		default: // a node's own line where every task has a file: slurmstepd writes to its first task's
			k = byRank[s.nodes[e.node].ranks[0]]
		}
		k.entries = append(k.entries, e)
	}
	for _, k := range all {
		slices.SortStableFunc(k.entries, func(a, b entry) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
		})
	}
	return all
}

// finish applies ablation and damage, renders the files and computes the truth of what is left.
func (s *scene) finish() (*Incident, error) {
	s.ablate()
	sinks := s.sinks()
	if err := s.damage(sinks); err != nil {
		return nil, err
	}
	inc := &Incident{Title: s.title, Spec: s.spec, Played: Played{Job: s.jobID, Step: s.step, Root: s.root, Start: s.start}}
	inc.Played.End = s.start
	for _, e := range s.entries {
		if t := s.start.Add(e.at); t.After(inc.Played.End) {
			inc.Played.End = t
		}
	}
	for _, n := range s.nodes {
		inc.Played.Nodes = append(inc.Played.Nodes, n.name)
	}
	inc.ID = fmt.Sprintf("sim-%s-%s-%d-%016x", s.spec.Mechanism, s.spec.Torch, s.world, s.spec.Seed)
	if s.spec.Ablate != "" {
		inc.ID += "-" + s.spec.Ablate
	}
	if s.spec.Damage != "" {
		inc.ID += "-" + s.spec.Damage
	}
	if s.askedWorld {
		inc.WorldSize = s.world
	}
	if s.askedNodes {
		inc.Nodes = s.hostlist()
	}
	v := s.look(sinks)
	inc.Truth = s.judge(v)
	s.missing(sinks, &inc.Truth)
	inc.Truth.normalise()
	for _, k := range sinks {
		if k.missing {
			continue
		}
		f, err := s.render(k)
		if err != nil {
			return nil, fmt.Errorf("simulate: writing %s: %w", k.name, err)
		}
		inc.Files = append(inc.Files, f)
	}
	if s.cluster != nil {
		if err := s.cluster.close(inc); err != nil {
			return nil, err
		}
	}
	return inc, nil
}

// look collects what the surviving lines say.
func (s *scene) look(sinks []*sink) *view {
	v := &view{s: s, world: s.askedWorld, intact: true}
	v.seen, v.state, v.tied, v.whole = make([]bool, s.world), make([]bool, s.world), make([]bool, s.world), make([]bool, s.world)
	for _, k := range sinks {
		if k.missing || k.cut {
			v.intact = false
		}
		if k.missing {
			continue
		}
		if !k.cut {
			switch {
			case k.rank >= 0:
				v.whole[k.rank] = true
			case k.node >= 0:
				for _, r := range s.nodes[k.node].ranks {
					v.whole[r] = true
				}
			case s.spec.FileMode == "single":
				for r := range v.whole {
					v.whole[r] = true
				}
			}
		}
		entries := k.entries
		if k.cut {
			entries = entries[:len(entries)-1]
		}
		for _, e := range entries {
			if e.rank >= 0 {
				named := e.says&saysRank != 0 || k.rank >= 0 || s.spec.FileMode == "single"
				v.seen[e.rank] = v.seen[e.rank] || named
				v.state[e.rank] = v.state[e.rank] || e.says&saysState != 0
				v.tied[e.rank] = v.tied[e.rank] || e.says&saysNode != 0
			}
			v.world = v.world || e.says&(saysWorld|saysSizes) != 0
			v.groups = v.groups || e.says&saysGroups != 0
			if e.says&saysFileHost != 0 && k.node >= 0 {
				for _, r := range s.nodes[k.node].ranks {
					v.tied[r] = true
				}
			}
			if e.rank < 0 && e.says&saysNode != 0 { // srun's line on tasks
				for _, r := range s.nodes[e.node].ranks {
					v.tied[r] = true
				}
			}
		}
	}
	return v
}

// missing fills what coverage must report: only where flags say what to expect.
func (s *scene) missing(sinks []*sink, t *Truth) {
	gone := make([]bool, s.world)
	any := false
	for _, k := range sinks {
		if !k.missing {
			continue
		}
		any = true
		if k.rank >= 0 {
			gone[k.rank] = true
		} else if k.node >= 0 {
			for _, r := range s.nodes[k.node].ranks {
				gone[r] = true
			}
		}
	}
	if !any {
		return
	}
	for _, n := range s.nodes {
		all := true
		for _, r := range n.ranks {
			all = all && gone[r]
			if gone[r] && s.askedWorld {
				t.MissingRanks = append(t.MissingRanks, r)
			}
		}
		if all && s.askedNodes {
			t.MissingNodes = append(t.MissingNodes, n.name)
		}
	}
}

// rootNodes are the nodes of the ranks that the bytes tie to them.
func (v *view) rootNodes(ranks []int) []string {
	var out []string
	for _, r := range ranks {
		if n := v.s.ranks[r].node.name; v.tied[r] && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// normalise sorts the lists and makes them empty rather than nil.
func (t *Truth) normalise() {
	ints := func(p *[]int) {
		if *p == nil {
			*p = []int{}
		}
		slices.Sort(*p)
	}
	strs := func(p *[]string) {
		*p = append([]string{}, *p...) // the sets are shared
		slices.Sort(*p)
	}
	ints(&t.RootRanks)
	ints(&t.Intermediates)
	ints(&t.MissingRanks)
	strs(&t.Candidates)
	strs(&t.RootNodes)
	strs(&t.MissingNodes)
	strs(&t.ForbidMechanisms)
}

// render writes a file's bytes: prefixes, bars, and the damage that acts on bytes.
func (s *scene) render(k *sink) (File, error) {
	var b bytes.Buffer
	has := func(p string) bool { return slices.Contains(s.spec.Prefixes, p) }
	width := len(fmt.Sprint(s.world - 1))
	number := 0
	var prev *entry
	glue := s.spec.Damage == "glued"
	for i := range k.entries {
		e := &k.entries[i]
		text := e.text
		if k.cut && i == len(k.entries)-1 {
			text = strings.TrimRight(text[:max(1, len(text)*2/5)], "\n")
		}
		for j, l := range strings.Split(text, "\n") {
			if prev != nil && j == 0 {
				b.WriteString(s.lineEnd(prev, e, glue))
			} else if j > 0 {
				b.WriteByte('\n')
			}
			if prev != nil && j == 0 && s.midLine(prev, e) {
				b.WriteString(l) // after a bar the cursor is mid-line: nothing is put in front
				continue
			}
			if has("collector") && e.to != toBatch {
				number++
				fmt.Fprintf(&b, "[%d] ", 80000+number)
			}
			if e.to == toRank {
				if s.spec.FileMode == "single" {
					fmt.Fprintf(&b, "%*d: ", width, e.rank)
				}
				if has("ray") && s.spec.Ablate != "no-node" { // the address is a host's
					fmt.Fprintf(&b, "(TrainWorker[rank=%d] pid=%d, ip=%s) ", e.rank, s.ranks[e.rank].pid, s.ranks[e.rank].node.ip)
				}
				if has("torchrun-default") && s.torchrun {
					fmt.Fprintf(&b, "[default%d]:", s.ranks[e.rank].local)
				}
				if has("ansi") && (strings.HasPrefix(l, "[titan]") || strings.HasPrefix(l, "[NeMo") || strings.HasPrefix(l, "Epoch")) {
					l = "\x1b[32m" + l + "\x1b[0m"
				}
			}
			b.WriteString(l)
		}
		prev = e
	}
	if prev != nil && !k.cut {
		b.WriteByte('\n')
	}
	return s.scar(File{Name: k.name, Data: b.Bytes()}, k)
}

// sameStream: both lines come from one process, so the second continues where the first left the cursor.
func (s *scene) sameStream(a, b *entry) bool {
	return a.to == toRank && b.to == toRank && a.rank == b.rank
}

// midLine: b is written where a bar left the cursor. Another rank's message may land there as well, if it names its rank
// itself and nothing labels the lines.
func (s *scene) midLine(a, b *entry) bool {
	if !a.bar {
		return false
	}
	return s.sameStream(a, b) || s.spec.FileMode == "node" && len(s.spec.Prefixes) == 0 && strings.HasPrefix(b.text, "[rank")
}

// lineEnd is what separates two writes. A bar ends in \r; a glued file lost some newlines, but never one whose loss would
// take the second line's identity with it.
func (s *scene) lineEnd(a, b *entry, glue bool) string {
	if s.midLine(a, b) {
		if b.bar {
			return "\r"
		}
		return "" // a message glued behind the bar, as tqdm leaves it
	}
	if glue && a.to == toRank && s.sameStream(a, b) && a.seq%5 == 0 && s.spec.FileMode != "single" && strings.HasPrefix(b.text, "[rank") {
		return ""
	}
	return "\n"
}
