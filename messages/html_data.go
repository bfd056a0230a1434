package messages

import (
	"encoding/json"
	"strconv"
)

// How much of a large job the page holds for its script, which shows the state of one node or the members of one group
// when somebody asks for them. In bytes; the JSON report has everything.
const (
	htmlNotes      = 1 << 20
	htmlGroupsData = 5 << 19
)

// htmlData is what the page's script makes details of: a few numbers and letters a rank. Its names are short because they
// stand in the page thousands of times.
type htmlData struct {
	Block  int          `json:"block"` // nodes in a cell of the map
	Looks  [][2]string  `json:"looks"` // letter, words
	Notes  []string     `json:"notes"`
	Nodes  []htmlNode   `json:"nodes"`
	Groups [][]htmlFold `json:"groups"` // those that do not stand in the page, in its order
	Titles [][2]string  `json:"titles"` // of each of them: title, what it hangs in
}

// htmlNode is a node, and by rank: its number, how it looks, its note (−1: none), 1 where it began.
type htmlNode struct {
	Name  string   `json:"n"`
	Ranks [][4]int `json:"r"`
}

// htmlFold are the cells of one row: count, state, enqueued, completed, ranks, nodes.
type htmlFold [6]string

// detail is nil where the page shows every rank and every group anyway.
func detail(m rankMap, block int, groups []groupView) *htmlData {
	if block == 0 && len(groups) == 0 {
		return nil
	}
	d := &htmlData{Block: block, Notes: []string{}, Nodes: []htmlNode{}, Groups: [][]htmlFold{}, Titles: [][2]string{}}
	for _, l := range looks {
		d.Looks = append(d.Looks, [2]string{l.Letter, l.Words})
	}
	if block > 0 {
		d.nodes(m)
	}
	size := 0
	for _, g := range groups {
		rows := make([]htmlFold, 0, len(g.Rows))
		for _, r := range g.Rows {
			rows = append(rows, htmlFold{grouped(int64(r.N)), r.Role, r.Enqueued, r.Completed, r.Ranks, r.Nodes})
		}
		title := [2]string{g.Title, g.Stuck}
		if size += weight(rows) + weight(title); size > htmlGroupsData {
			break
		}
		d.Groups, d.Titles = append(d.Groups, rows), append(d.Titles, title)
	}
	return d
}

// weight is how many bytes of the page a value takes: text of a log may need six for one.
func weight(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return htmlNotes // strings and lists of them always have a form
	}
	return len(b)
}

func (d *htmlData) nodes(m rankMap) {
	notes := map[string]int{}
	size := 0
	for _, row := range m.Rows {
		n := htmlNode{Name: row.Node}
		for _, c := range row.Cells {
			note := -1
			if text := c.Note; text != "" {
				at, known := notes[text]
				if !known && size < htmlNotes {
					at, known = len(d.Notes), true
					notes[text] = at
					d.Notes = append(d.Notes, text)
					size += weight(text)
				}
				if known {
					note = at
				}
			}
			root := 0
			if c.Root {
				root = 1
			}
			n.Ranks = append(n.Ranks, [4]int{c.Rank, c.Look, note, root})
		}
		d.Nodes = append(d.Nodes, n)
	}
}

// GroupsWords says how many groups follow, and where.
func (p *htmlPage) GroupsWords() string {
	if p.GroupsLeft == 0 {
		return ""
	}
	there := 0
	if p.Data != nil {
		there = len(p.Data.Groups)
	}
	if there == p.GroupsLeft {
		return grouped(int64(there)) + " more, none worse"
	}
	return strconv.Itoa(p.GroupsLeft) + " more, none worse; the JSON report lists them all"
}
