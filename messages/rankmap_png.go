package messages

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

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

const (
	paperIndex, inkIndex, faintIndex, lookIndex = 0, 1, 2, 3

	glyphWidth, glyphHeight = 7, 13
)

// RankMapPNG draws nodes × ranks, coloured by role and lettered where a cell is large enough, with the finding as title.
// The bytes depend on the report alone: integer drawing, a bitmap font, a fixed palette.
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

type canvas struct{ *image.Paletted }

func drawMap(v *view, m rankMap, perNode bool) *image.Paletted {
	const margin, target = 28, 1200
	cells := 0
	label := 0
	for _, row := range m.Rows {
		cells += len(row.Cells)
		label = max(label, min(len([]rune(row.Node)), 16))
	}
	size := cellSize(cells)
	showLabels := size >= glyphHeight || len(m.Rows) <= 64
	stripHeight := size + 4
	labelPixels := label*glyphWidth + 10
	if !showLabels { // one label a line of strips, not one a strip
		stripHeight = size + 3
	}
	strip := m.Wide*size + 14
	if showLabels {
		strip += labelPixels
	}
	left := margin
	if !showLabels {
		left += labelPixels
	}
	columns := max(1, (target-left-margin+14)/max(strip, 1))
	if showLabels && len(m.Rows) > 0 { // no more columns than a pleasant shape needs
		for columns > 1 && (len(m.Rows)+columns-2)/(columns-1)*stripHeight < 420 {
			columns--
		}
	}
	rows := 0
	if len(m.Rows) > 0 {
		rows = (len(m.Rows) + columns - 1) / columns
	}
	width := max(left+columns*strip-14+margin, 640, min(target, 2*margin+2*glyphWidth*(len(ascii(v.Headline))+1)))
	titles := wrap(ascii(v.Headline), (width-2*margin)/(2*glyphWidth))
	titles = titles[:min(len(titles), 2)]
	subs := wrap(ascii(subtitle(v, perNode, m)), (width-2*margin)/glyphWidth)
	legend := legendRows(m.Counts, width-2*margin)
	top := margin + len(titles)*32 + len(subs)*18 + 18
	height := top + rows*stripHeight + 22 + len(legend)*26 + margin - 10

	palette := color.Palette{paper, ink, faint}
	for _, l := range looks {
		palette = append(palette, l.Fill)
	}
	c := canvas{image.NewPaletted(image.Rect(0, 0, width, height), palette)}
	y := margin
	for _, t := range titles {
		c.text(margin, y, 2, inkIndex, t)
		y += 32
	}
	for _, t := range subs {
		c.text(margin, y, 1, faintIndex, t)
		y += 18
	}
	var roots []image.Point
	for i, row := range m.Rows {
		x, y := left+i/rows*strip, top+i%rows*stripHeight
		if !showLabels {
			x, y = left+i%columns*strip, top+i/columns*stripHeight
			if i%columns == 0 && i/columns%2 == 0 {
				c.text(margin, y-3, 1, faintIndex, clipASCII(row.Node, label))
			}
		} else {
			c.text(x, y+(size-glyphHeight)/2, 1, faintIndex, clipASCII(row.Node, label))
			x += labelPixels
		}
		for n, cell := range row.Cells {
			c.cell(x+n*size, y, size, cell)
			if cell.Root {
				roots = append(roots, image.Pt(x+n*size, y))
			}
		}
	}
	for _, p := range roots { // last, over their neighbours
		c.frame(p.X, p.Y, size)
	}
	y = top + rows*stripHeight + 22
	for _, line := range legend {
		x := margin
		for _, i := range line {
			c.cell(x, y, 18, cell{Look: i})
			c.text(x+26, y+2, 1, inkIndex, legendText(i, m.Counts[i]))
			x += 26 + len(legendText(i, m.Counts[i]))*glyphWidth + 28
		}
		y += 26
	}
	return c.Paletted
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

// legendRows breaks the roles that occur into rows of the given width.
func legendRows(counts []int, width int) [][]int {
	var out [][]int
	x := 0
	for i, n := range counts {
		if n == 0 {
			continue
		}
		w := 26 + len(legendText(i, n))*glyphWidth + 28
		if len(out) == 0 || x+w > width {
			out, x = append(out, nil), 0
		}
		out[len(out)-1] = append(out[len(out)-1], i)
		x += w
	}
	return out
}

// cell draws one rank. A rank without any line is hatched, so that its place does not look like a state.
func (c canvas) cell(x, y, size int, cell cell) {
	l := looks[cell.Look]
	gap := gapOf(size)
	for py := y; py < y+size-gap; py++ {
		for px := x; px < x+size-gap; px++ {
			i := lookIndex + cell.Look
			if l.Role == incident.Missing && size < 14 && (px-x+py-y)%3 == 0 {
				i = paperIndex
			}
			c.SetColorIndex(px, py, uint8(i))
		}
	}
	if size >= 14 {
		ink := inkIndex
		if l.Dark {
			ink = paperIndex
		}
		letter := l.Letter
		if l.Role == okRole {
			letter = ""
		}
		c.text(x+(size-gap-glyphWidth)/2+1, y+(size-gap-glyphHeight)/2, 1, uint8(ink), letter)
	}
}

// frame draws two lines around the cell at x, y, thick enough to be found among 16,384.
func (c canvas) frame(x, y, size int) {
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

// text draws with the bitmap font, each pixel scale × scale; y is the top of the line.
func (c canvas) text(x, y, scale int, ink uint8, s string) {
	mask := image.NewAlpha(image.Rect(0, 0, len(s)*glyphWidth+1, glyphHeight))
	d := font.Drawer{Dst: mask, Src: image.Opaque, Face: basicfont.Face7x13, Dot: fixed.P(0, basicfont.Face7x13.Ascent)}
	d.DrawString(s)
	for py := range glyphHeight * scale {
		for px := range mask.Rect.Dx() * scale {
			if mask.AlphaAt(px/scale, py/scale).A > 0x7f {
				c.SetColorIndex(x+px, y+py, ink)
			}
		}
	}
}

// ascii replaces what the bitmap font does not have.
func ascii(s string) string {
	b := []rune(s)
	for i, r := range b {
		switch {
		case r == '…':
			b[i] = '~'
		case r == '“' || r == '”':
			b[i] = '"'
		case r == '·' || r == '−' || r == '–':
			b[i] = '-'
		case r < 0x20 || r > 0x7e:
			b[i] = '?'
		}
	}
	return string(b)
}

func clipASCII(s string, n int) string {
	if s = ascii(s); len(s) > n {
		return s[:n-1] + "~"
	}
	return s
}
