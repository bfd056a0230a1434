package isolate

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"faultline/analysis/hostlist"
)

// Branch is a switch and what hangs below it: nodes, or other switches.
type Branch struct {
	Name     string   `json:"name"`
	Nodes    []string `json:"nodes,omitempty"`
	Switches []string `json:"switches,omitempty"`
}

// maxTopology bounds a file of SLURM's topology.
const maxTopology = 4 << 20

// ReadTopology reads SLURM's topology.conf: lines "SwitchName=leaf1 Nodes=cn[01-16]" and "SwitchName=spine Switches=leaf[1-4]"
// (man topology.conf, SLURM 20.11 and later). Other lines are left out.
func ReadTopology(r io.Reader) ([]Branch, error) {
	var out []Branch
	lines := bufio.NewScanner(io.LimitReader(r, maxTopology))
	lines.Buffer(make([]byte, 0, 64<<10), 1<<20)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		var b Branch
		for _, field := range strings.Fields(text) {
			name, value, _ := strings.Cut(field, "=")
			var err error
			switch strings.ToLower(name) {
			case "switchname":
				b.Name = value
			case "nodes":
				b.Nodes, err = hostlist.Expand(value)
			case "switches":
				b.Switches, err = hostlist.Expand(value)
			}
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
		if b.Name != "" {
			out = append(out, b)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the topology: %w", err)
	}
	return out, nil
}

// branch is a switch with the nodes of the search below it.
type branch struct {
	name  string
	below []int
	parts [][]int // of an upper switch, the nodes below each of its own; nil for a leaf
}

// grow resolves the switches to the nodes of the search. Switches with none of them are left out.
func grow(list []Branch, index map[string]int) ([]branch, error) {
	byName := map[string]*Branch{}
	for i := range list {
		byName[list[i].Name] = &list[i]
	}
	var below func(b *Branch, depth int) ([]int, error)
	below = func(b *Branch, depth int) (nodes []int, err error) {
		if depth > 16 {
			return nil, fmt.Errorf("switch %s is connected below itself", b.Name)
		}
		for _, n := range b.Nodes {
			if i, ok := index[n]; ok {
				nodes = append(nodes, i)
			}
		}
		for _, name := range b.Switches {
			if lower := byName[name]; lower != nil {
				more, err := below(lower, depth+1)
				if err != nil {
					return nil, err
				}
				nodes = append(nodes, more...)
			}
		}
		return nodes, nil
	}
	var out []branch
	for i := range list {
		b := branch{name: list[i].Name}
		var err error
		if b.below, err = below(&list[i], 0); err != nil {
			return nil, err
		}
		for _, name := range list[i].Switches {
			if lower := byName[name]; lower != nil {
				part, err := below(lower, 0)
				if err != nil {
					return nil, err
				}
				if len(part) > 0 {
					b.parts = append(b.parts, part)
				}
			}
		}
		if upper := len(list[i].Switches) > 0; len(b.below) == 0 || upper && len(b.parts) < 2 {
			continue // nothing of this search crosses it
		}
		out = append(out, b)
	}
	return out, nil
}

// crossed are the groups whose traffic crosses the switch, a bit for each: of a leaf all with a node below it, of an upper switch
// those with nodes below two of its own.
func (b *branch) crossed(of []int8) (groups uint32) {
	if b.parts == nil {
		for _, n := range b.below {
			if of[n] >= 0 {
				groups |= 1 << of[n]
			}
		}
		return groups
	}
	var once uint32
	for _, part := range b.parts {
		var here uint32
		for _, n := range part {
			if of[n] >= 0 {
				here |= 1 << of[n]
			}
		}
		groups |= once & here
		once |= here
	}
	return groups
}

// leaves are the switches that nodes hang below directly.
func (s *search) leaves() (at []int) {
	for i := range s.branches {
		if s.branches[i].parts == nil {
			at = append(at, i)
		}
	}
	return at
}

// Culprit names what was found: "cn-a40", "cn-a40 ↔ cn-b07", "switch leaf3".
func Culprit(k Kind, names []string) string {
	switch k {
	case Link:
		return strings.Join(names, " ↔ ")
	case Switch:
		return "switch " + strings.Join(names, ", ")
	}
	return strings.Join(names, ", ")
}
