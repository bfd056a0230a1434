package messages

import (
	"image"
	"image/color"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

var (
	regularFont = sync.OnceValue(func() *sfnt.Font { return mustParse(goregular.TTF) })
	boldFont    = sync.OnceValue(func() *sfnt.Font { return mustParse(gobold.TTF) })
)

func mustParse(ttf []byte) *sfnt.Font {
	f, err := opentype.Parse(ttf)
	if err != nil { // built in
		panic(err)
	}
	return f
}

// typeface sets text in one size. It belongs to one picture: faces are not safe for use by several goroutines.
type typeface struct {
	face   font.Face
	font   *sfnt.Font
	buf    sfnt.Buffer
	ascent int
}

// newTypeface is a font at so many pixels an em.
func newTypeface(f *sfnt.Font, pixels int) *typeface {
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: float64(pixels), DPI: 72, Hinting: font.HintingFull})
	if err != nil { // built in
		panic(err)
	}
	return &typeface{face: face, font: f, ascent: face.Metrics().CapHeight.Ceil()}
}

// known replaces what the font can't draw: each such character is a question mark, not an empty box.
func (t *typeface) known(s string) string {
	return strings.Map(func(r rune) rune {
		if i, err := t.font.GlyphIndex(&t.buf, r); err != nil || i == 0 {
			return '?'
		}
		return r
	}, s)
}

// width in pixels of a text that known returned.
func (t *typeface) width(s string) int { return font.MeasureString(t.face, s).Ceil() }

// wrap breaks a text at spaces into lines no wider than so many pixels, and words that are wider anywhere.
func (t *typeface) wrap(s string, pixels int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(t.known(s)) {
		if line != "" && t.width(line+" "+word) > pixels {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for t.width(line) > pixels {
			fits := t.clip(line, pixels, "")
			lines, line = append(lines, fits), line[len(fits):]
		}
	}
	return append(lines, line)
}

// clip cuts a text to a width; end marks the cut. At least one character stays.
func (t *typeface) clip(s string, pixels int, end string) string {
	if t.width(s) <= pixels {
		return s
	}
	runes := []rune(s)
	n := len(runes) - 1
	for n > 1 && t.width(string(runes[:n])+end) > pixels {
		n--
	}
	return string(runes[:max(n, 1)]) + end
}

// shades between paper and ink are enough for smooth edges, and few enough for a palette.
const shades = 6

// canvas is a picture whose palette grows by the shades that text needs on what lies under it.
type canvas struct {
	*image.Paletted
	shade map[[3]uint8]uint8
	plain int // colours that are no shade
}

func newCanvas(width, height int, plain color.Palette) *canvas {
	return &canvas{image.NewPaletted(image.Rect(0, 0, width, height), plain), map[[3]uint8]uint8{}, len(plain)}
}

// text draws with its capitals between y and y + t.ascent.
func (c *canvas) text(t *typeface, x, y int, ink uint8, s string) {
	s = t.known(s)
	mask := image.NewAlpha(image.Rect(0, 0, t.width(s)+2, 2*t.ascent))
	d := font.Drawer{Dst: mask, Src: image.Opaque, Face: t.face, Dot: fixed.P(1, t.ascent+t.ascent/2)}
	d.DrawString(s)
	for py := range mask.Rect.Dy() {
		for px := range mask.Rect.Dx() {
			at := image.Pt(x+px-1, y+py-t.ascent/2)
			if level := int(mask.AlphaAt(px, py).A) * (shades + 1) / 0xff; level > 0 && at.In(c.Rect) {
				c.SetColorIndex(at.X, at.Y, c.mixed(c.ColorIndexAt(at.X, at.Y), ink, level))
			}
		}
	}
}

// mixed is the colour of ink that covers level of shades + 1 parts of what lies under it.
func (c *canvas) mixed(under, ink uint8, level int) uint8 {
	if level > shades || int(under) >= c.plain {
		return ink
	}
	key := [3]uint8{under, ink, uint8(level)}
	if i, ok := c.shade[key]; ok {
		return i
	}
	a, b := c.Palette[under].(color.RGBA), c.Palette[ink].(color.RGBA)
	part := func(a, b uint8) uint8 { return uint8((int(a)*(shades+1-level) + int(b)*level) / (shades + 1)) }
	c.Palette = append(c.Palette, color.RGBA{part(a.R, b.R), part(a.G, b.G), part(a.B, b.B), 0xff})
	c.shade[key] = uint8(len(c.Palette) - 1)
	return c.shade[key]
}
