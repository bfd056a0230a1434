package messages

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"

	"faultline/incident"
)

// maxPNGRanks is the largest job of which each rank is a cell of its own.
const maxPNGRanks = 16384

// Palette of the picture: ink and paper, then one entry per look.
var (
	paper = color.RGBA{0xff, 0xff, 0xff, 0xff}
	ink   = color.RGBA{0x1c, 0x1f, 0x26, 0xff}
	faint = color.RGBA{0x6b, 0x72, 0x80, 0xff}
)

const paperIndex, inkIndex, faintIndex, lookIndex = 0, 1, 2, 3

// Sizes of text in pixels. A chat shows the picture at a third of its width: the title is still to be read there.
const titleSize, textSize, labelSize, titleLines = 40, 18, 15, 2

// RankMapPNG draws nodes × ranks, coloured by role and lettered where a cell is large enough, with the finding as title.
// The bytes depend on the report alone: integer drawing, a built-in font, a palette of its own.
func RankMapPNG(w io.Writer, r *incident.Report) error {
	v := newView(r)
	m := v.Map
	perNode := m.Ranks > maxPNGRanks
	if perNode {
		m = m.perNode(4096, 64)
	}
	img := drawMap(v, m, perNode)
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	if err := enc.Encode(w, img); err != nil {
		return fmt.Errorf("write the rank map: %w", err)
	}
	return nil
}

// cellSize in pixels: the fewer ranks, the larger; letters need at least 14.
func cellSize(cells int) int {
	switch {
	case cells <= 64:
		return 30
	case cells <= 256:
		return 24
	case cells <= 1024:
		return 16
	case cells <= 4096:
		return 9
	}
	return 6
}

// sheet is a rank map that is laid out: how large its cells are, and how many strips of cells lie beside each other.
type sheet struct {
	title, text, label *typeface
	headline, under    []string // their lines
	legend             [][]int  // looks, by line
	labels             bool     // each strip has its node's name; else each line of strips has one
	size               int      // of a cell
	labelWidth         int
	stripWidth         int
	stripHeight        int
	columns, rows      int // of strips
	width, height      int
	left, top          int // where the strips begin
}

const margin, between = 28, 14

func layOut(v *view, m rankMap, perNode bool) *sheet {
	const target, pleasant = 1200, 420
	l := &sheet{title: newTypeface(boldFont(), titleSize), text: newTypeface(regularFont(), textSize), label: newTypeface(regularFont(), labelSize)}
	cells := 0
	for _, row := range m.Rows {
		cells += len(row.Cells)
		l.labelWidth = max(l.labelWidth, min(l.label.width(l.label.known(row.Node)), 130))
	}
	l.labelWidth += 10
	l.size = cellSize(cells)
	l.labels = l.size >= labelSize || len(m.Rows) <= 64
	l.stripHeight, l.stripWidth, l.left = l.size+4, m.Wide*l.size+between, margin
	if l.labels {
		l.stripHeight = max(l.stripHeight, labelSize+2)
		l.stripWidth += l.labelWidth
	} else {
		l.stripHeight--
		l.left += l.labelWidth
	}
	l.columns = max(1, (target-l.left-margin+between)/max(l.stripWidth, 1))
	if l.labels && len(m.Rows) > 0 { // no more columns than a pleasant shape needs
		for l.columns > 1 && (len(m.Rows)+l.columns-2)/(l.columns-1)*l.stripHeight < pleasant {
			l.columns--
		}
	}
	if len(m.Rows) > 0 {
		l.rows = (len(m.Rows) + l.columns - 1) / l.columns
	}
	l.width = max(l.left+l.columns*l.stripWidth-between+margin, 640, min(target, 2*margin+l.title.width(l.title.known(v.Headline))+4))
	inner := l.width - 2*margin
	l.headline = l.title.wrap(v.Headline, inner)
	if len(l.headline) > titleLines {
		l.headline = l.headline[:titleLines]
		l.headline[titleLines-1] = l.title.clip(l.headline[titleLines-1]+" …", inner, "…")
	}
	l.under = l.text.wrap(subtitle(v, perNode, m), inner)
	l.legend = l.legendRows(m.Counts, inner)
	l.top = margin + len(l.headline)*(titleSize+8) + len(l.under)*(textSize+6) + 16
	l.height = l.top + l.rows*l.stripHeight + 18 + len(l.legend)*28 + margin - 10
	return l
}

func drawMap(v *view, m rankMap, perNode bool) *image.Paletted {
	l := layOut(v, m, perNode)
	palette := color.Palette{paper, ink, faint}
	for _, l := range looks {
		palette = append(palette, l.Fill)
	}
	c := newCanvas(l.width, l.height, palette)
	y := margin
	for _, t := range l.headline {
		c.text(l.title, margin, y, inkIndex, t)
		y += titleSize + 8
	}
	for _, t := range l.under {
		c.text(l.text, margin, y, faintIndex, t)
		y += textSize + 6
	}
	for _, p := range l.strips(c, m) { // last, over their neighbours
		c.frame(p.X, p.Y, l.size)
	}
	y = l.top + l.rows*l.stripHeight + 18
	for _, line := range l.legend {
		x := margin
		for _, i := range line {
			l.cell(c, x, y, 20, cell{Look: i})
			text := legendText(i, m.Counts[i])
			c.text(l.text, x+28, y+2, inkIndex, text)
			x += l.legendWidth(text)
		}
		y += 28
	}
	return c.Paletted
}

// strips draws the nodes and returns where the cells of the roots are.
func (l *sheet) strips(c *canvas, m rankMap) (roots []image.Point) {
	for i, row := range m.Rows {
		name := l.label.clip(l.label.known(row.Node), l.labelWidth-8, "…")
		x, y := l.left+i/l.rows*l.stripWidth, l.top+i%l.rows*l.stripHeight
		if l.labels {
			c.text(l.label, x, y+(l.size-l.label.ascent)/2, faintIndex, name)
			x += l.labelWidth
		} else {
			x, y = l.left+i%l.columns*l.stripWidth, l.top+i/l.columns*l.stripHeight
			if i%l.columns == 0 && i/l.columns%2 == 0 {
				c.text(l.label, margin, y, faintIndex, name)
			}
		}
		for n, cell := range row.Cells {
			l.cell(c, x+n*l.size, y, l.size, cell)
			if cell.Root {
				roots = append(roots, image.Pt(x+n*l.size, y))
			}
		}
	}
	return roots
}

func subtitle(v *view, perNode bool, m rankMap) string {
	t := "Rank map"
	if id := v.Report.Job.ID; id != nil {
		t += " of job " + flat(*id)
	}
	t += ": " + count(v.Map.Ranks, "rank")
	if v.Map.Ranks == 0 {
		return t + ", no ranks identified in the files"
	}
	switch {
	case perNode && m.Block > 1:
		t += fmt.Sprintf(", one cell per %d nodes (worst rank)", m.Block)
	case perNode:
		t += ", one cell per node (worst rank)"
	default:
		t += ", one cell per rank, one strip per node"
	}
	if len(v.Report.Verdict.Root.Ranks) > 0 {
		t += "; framed: where it started"
	}
	return t
}

func legendText(i, n int) string {
	return looks[i].Words + " (" + grouped(int64(n)) + ")"
}

// legendWidth is what an entry of the legend takes, with its cell and the space behind it.
func (l *sheet) legendWidth(text string) int { return 28 + l.text.width(text) + 28 }

// legendRows breaks the roles that occur into rows of the given width.
func (l *sheet) legendRows(counts []int, width int) [][]int {
	var out [][]int
	x := 0
	for i, n := range counts {
		if n == 0 {
			continue
		}
		w := l.legendWidth(legendText(i, n))
		if len(out) == 0 || x+w > width {
			out, x = append(out, nil), 0
		}
		out[len(out)-1] = append(out[len(out)-1], i)
		x += w
	}
	return out
}

// cell draws one rank. A rank without any line is hatched, so that its place does not look like a state.
func (l *sheet) cell(c *canvas, x, y, size int, cell cell) {
	look := looks[cell.Look]
	gap := gapOf(size)
	for py := y; py < y+size-gap; py++ {
		for px := x; px < x+size-gap; px++ {
			i := lookIndex + cell.Look
			if look.Role == incident.Missing && size < 14 && (px-x+py-y)%3 == 0 {
				i = paperIndex
			}
			c.SetColorIndex(px, py, uint8(i))
		}
	}
	if size >= 14 {
		ink := inkIndex
		if look.Dark {
			ink = paperIndex
		}
		letter := look.Letter
		if look.Role == okRole {
			letter = ""
		}
		c.text(l.label, x+(size-gap-l.label.width(letter)+1)/2, y+(size-gap-l.label.ascent+1)/2, uint8(ink), letter)
	}
}

// frame draws two lines around the cell at x, y, thick enough to be found among 16,384.
func (c *canvas) frame(x, y, size int) {
	size -= gapOf(size)
	for d := 1; d <= 2; d++ {
		for i := -d; i < size+d; i++ {
			for _, p := range [][2]int{{x + i, y - d}, {x + i, y + size + d - 1}, {x - d, y + i}, {x + size + d - 1, y + i}} {
				c.SetColorIndex(p[0], p[1], inkIndex)
			}
		}
	}
}

// gapOf is the space between two cells, in pixels.
func gapOf(size int) int {
	if size < 14 {
		return 1
	}
	return 2
}
