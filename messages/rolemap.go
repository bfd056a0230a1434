package messages

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
)

// look is how a role appears: a letter for those who cannot tell the colours, a colour-blind-safe colour (after Okabe and
// Ito, "Color Universal Design", 2008), and words.
type look struct {
	Role   string
	Letter string
	Words  string
	Fill   color.RGBA
	Dark   bool   // letters on the fill are white
	ANSI   string // SGR parameters of the terminal
}

// okRole is the role of a rank in a rank map of which the report says nothing wrong.
const okRole = "ok"

// diedRole is the role in a rank map of a rank of which nothing is known but that its node died.
const diedRole = "died"

// looks, worst first: where many ranks share one cell, the worst shows.
var looks = []look{
	{incident.Straggler, "S", "stalled", color.RGBA{0xc2, 0x51, 0x00, 0xff}, true, "1;97;41"},
	{incident.FirstFailure, "F", "failed first", color.RGBA{0xb0, 0x3a, 0x7e, 0xff}, true, "1;97;45"},
	{incident.LoneWaiter, "L", "waited alone", color.RGBA{0xe6, 0x9f, 0x00, 0xff}, false, "1;30;43"},
	{incident.Lagging, "G", "lagging", color.RGBA{0xf0, 0xe4, 0x42, 0xff}, false, "1;33"},
	{incident.Missing, "x", "without any log", color.RGBA{0x30, 0x30, 0x38, 0xff}, true, "7"},
	{diedRole, "D", "died with its node", color.RGBA{0x6e, 0x1a, 0x1a, 0xff}, true, "1;31"},
	{incident.Unobserved, "?", "in an unknown state", color.RGBA{0x9a, 0x9a, 0xa4, 0xff}, false, "90"},
	{incident.Victim, "v", "failed as a result", color.RGBA{0x00, 0x72, 0xb2, 0xff}, true, "34"},
	{incident.Waiter, "w", "waited", color.RGBA{0x8c, 0xc8, 0xee, 0xff}, false, "36"},
	{incident.Notified, "n", "notified of the timeout", color.RGBA{0x00, 0x78, 0x5a, 0xff}, true, "32"},
	{okRole, "·", "healthy", color.RGBA{0xdc, 0xdf, 0xe4, 0xff}, false, "90"},
}

// looksCSS are the cells of the page's rank map. A rank without a log is hatched: it is no state of the rank.
func looksCSS() string {
	var b strings.Builder
	for i, l := range looks {
		hex := fmt.Sprintf("#%02x%02x%02x", l.Fill.R, l.Fill.G, l.Fill.B)
		if l.Role == incident.Missing {
			hex = "repeating-linear-gradient(45deg," + hex + " 0 4px,#5a5a66 4px 7px)"
		}
		ink := "#1c1f26" // in a dark page, too
		switch {
		case l.Dark:
			ink = "#fff"
		case l.Role == okRole:
			ink = "#59616e"
		}
		fmt.Fprintf(&b, ".r%d{background:%s;color:%s}\n", i, hex, ink)
	}
	return b.String()
}

// gravity is the index in looks; what is not known there counts as not observed.
func gravity(role string) int {
	for i := range looks {
		if looks[i].Role == role {
			return i
		}
	}
	if role == "" {
		return len(looks) - 1
	}
	return gravity(incident.Unobserved)
}

// cell is one rank, or the worst of several.
type cell struct {
	Look  int // index in looks
	Rank  int
	Ranks []int // more than one where the cell stands for several
	Root  bool
	Text  string // what a hover says
	Note  string // what is known of the rank
}

// mapRow is one node with its ranks in the order of their local ranks, or some ranks whose node nothing proves.
type mapRow struct {
	Node    string // what the row is called
	Cells   []cell
	Unknown bool
}

// rankMap is nodes × ranks.
type rankMap struct {
	Rows   []mapRow
	Ranks  int
	Wide   int   // cells of the longest row
	Counts []int // ranks per look
	Block  int   // ranks or nodes per cell where it was aggregated, else 0
}

// unknownRow is the number of ranks in a row whose nodes nothing proves.
const unknownRow = 8

// deadNodes are the nodes that died, where that is the verdict.
func deadNodes(r *incident.Report) []string {
	if v := &r.Verdict; v.Mechanism == string(knowledge.NodeFailure) && v.Status != incident.Inconclusive {
		return v.Root.Nodes
	}
	return nil
}

func buildMap(r *incident.Report) rankMap {
	root := make(map[int]bool, len(r.Verdict.Root.Ranks))
	for _, n := range r.Verdict.Root.Ranks {
		root[n] = true
	}
	byNode := make(map[string][]incident.RankState)
	m := rankMap{Counts: make([]int, len(looks)), Ranks: len(r.Ranks)}
	dead := deadNodes(r)
	for _, s := range r.Ranks {
		if s.Role == incident.Unobserved && slices.Contains(dead, s.Node) {
			s.Role = diedRole
		}
		byNode[s.Node] = append(byNode[s.Node], s)
		m.Counts[gravity(s.Role)]++
	}
	nodes := make([]string, 0, len(byNode))
	for n := range byNode {
		nodes = append(nodes, n)
	}
	// By the lowest rank, which is how the job counts its nodes; unknown last.
	lowest := func(n string) int {
		return slices.MinFunc(byNode[n], func(a, b incident.RankState) int { return cmp.Compare(a.Rank, b.Rank) }).Rank
	}
	low := make(map[string]int, len(nodes))
	for _, n := range nodes {
		low[n] = lowest(n)
	}
	slices.SortFunc(nodes, func(a, b string) int {
		if (a == "") != (b == "") {
			return cmp.Compare(len(b), len(a)) // "" has length 0 and goes last
		}
		return cmp.Or(cmp.Compare(low[a], low[b]), byName(a, b))
	})
	for _, n := range nodes {
		states := byNode[n]
		slices.SortStableFunc(states, func(a, b incident.RankState) int {
			if a.LocalRank != nil && b.LocalRank != nil && *a.LocalRank != *b.LocalRank {
				return cmp.Compare(*a.LocalRank, *b.LocalRank)
			}
			return cmp.Compare(a.Rank, b.Rank)
		})
		cells := make([]cell, len(states))
		for i, s := range states {
			cells[i] = cell{Look: gravity(s.Role), Rank: s.Rank, Root: root[s.Rank], Text: hover(s), Note: flat(s.Note)}
		}
		if n != "" {
			m.Rows = append(m.Rows, mapRow{Node: n, Cells: cells})
			continue
		}
		for part := range slices.Chunk(cells, unknownRow) {
			ranks := make([]int, len(part))
			for i, c := range part {
				ranks[i] = c.Rank
			}
			m.Rows = append(m.Rows, mapRow{Node: "node? " + clip(ranges(ranks), 11), Cells: part, Unknown: true})
		}
	}
	for _, row := range m.Rows {
		m.Wide = max(m.Wide, len(row.Cells))
	}
	return m
}

func hover(s incident.RankState) string {
	t := "rank " + strconv.Itoa(s.Rank)
	if s.Node != "" {
		t += " on " + s.Node
	} else {
		t += ", node unknown"
	}
	if s.LocalRank != nil {
		t += fmt.Sprintf(", local rank %d", *s.LocalRank)
	}
	l := looks[gravity(s.Role)]
	if t += ": " + l.Words; s.Note != "" {
		t += ". " + flat(s.Note)
	}
	return t
}

// perNode folds every node into one cell, and consecutive nodes into blocks until at most limit cells are left.
func (m rankMap) perNode(limit, perRow int) rankMap {
	block := 1
	for (len(m.Rows)+block-1)/block > limit {
		block *= 2
	}
	out := rankMap{Ranks: m.Ranks, Counts: m.Counts, Block: block, Wide: perRow}
	var cells []cell
	var names []string
	for part := range slices.Chunk(m.Rows, block) {
		c := cell{Look: len(looks) - 1, Rank: -1}
		counts := make([]int, len(looks))
		for _, row := range part {
			for _, x := range row.Cells {
				c.Look = min(c.Look, x.Look)
				c.Root = c.Root || x.Root
				c.Ranks = append(c.Ranks, x.Rank)
				counts[x.Look]++
			}
		}
		name := part[0].Node
		if last := part[len(part)-1].Node; last != name {
			name += " to " + last
		}
		c.Text = name + ", " + rankText(c.Ranks) + ": " + countsText(counts)
		cells, names = append(cells, c), append(names, part[0].Node)
	}
	for i := 0; i < len(cells); i += perRow {
		out.Rows = append(out.Rows, mapRow{Node: names[i], Cells: cells[i:min(i+perRow, len(cells))]})
	}
	return out
}

func countsText(counts []int) string {
	var parts []string
	for i, n := range counts {
		if n > 0 {
			parts = append(parts, grouped(int64(n))+" "+looks[i].Words)
		}
	}
	return strings.Join(parts, ", ")
}

// RankMapAlt describes the rank map for those who cannot see it; it states the finding first.
func RankMapAlt(r *incident.Report) string {
	return mapAlt(newView(r))
}

func mapAlt(v *view) string {
	if v.Map.Ranks == 0 {
		return "Rank map: no ranks identified in the files. " + v.Headline + "."
	}
	nodes, unknown := 0, 0
	for _, row := range v.Map.Rows {
		if row.Unknown {
			unknown += len(row.Cells)
		} else {
			nodes++
		}
	}
	on := " on " + count(nodes, "node")
	if unknown > 0 {
		on += ", node unknown for " + count(unknown, "rank")
		if nodes == 0 {
			on = ", nodes unknown"
		}
	}
	return fmt.Sprintf("Rank map of %s%s. %s. Ranks: %s.", count(v.Map.Ranks, "rank"), on, v.Headline, countsText(v.Map.Counts))
}
