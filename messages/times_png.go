package messages

import (
	"fmt"
	"image/color"
	"image/png"
	"io"
	"strings"

	"faultline/incident"
	"faultline/messages/blockkit"
)

// heatColours are the levels of a heat map on paper, the fastest first (after ColorBrewer's YlOrBr): lighter is always less, also in grey. The same
// are in report.css.
var heatColours = [heatLevels]color.RGBA{{0xff, 0xf9, 0xd0, 0xff}, {0xff, 0xef, 0xb0, 0xff}, {0xfe, 0xe3, 0x91, 0xff}, {0xfe, 0xc4, 0x4f, 0xff}, {0xfe, 0x99, 0x29, 0xff},
	{0xec, 0x70, 0x14, 0xff}, {0xcc, 0x4c, 0x02, 0xff}, {0x99, 0x34, 0x04, 0xff}, {0x66, 0x25, 0x06, 0xff}}

// partColours are those of barOrder (Okabe and Ito).
var partColours = [...]color.RGBA{{0x56, 0xb4, 0xe9, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0xf0, 0xe4, 0x42, 0xff}, {0xcc, 0x79, 0xa7, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xb0, 0xb4, 0xbb, 0xff}}

// Where the colours begin in the palette.
const (
	nothingIndex = 3
	heatIndex    = 4
	partIndex    = heatIndex + heatLevels
	alarmIndex   = uint8(partIndex + len(partColours))
)

// TimesTell says that the pictures of times show a change, or somebody who stands out: then they are worth a place beside the rank map.
func TimesTell(r *incident.Report) bool { return times(r).Open }

// TimesCaption is the title of the picture that TimesPNG draws, and what it shows in words.
func TimesCaption(r *incident.Report) (title, alt string) {
	v := newView(r)
	title = "Step times"
	if id := v.Report.Job.ID; id != nil {
		title += " of job " + flat(*id)
	}
	var said []string
	if v.Times.Heat != nil {
		said = append(said, v.Times.Heat.Caption)
	}
	for _, b := range v.Times.Bars {
		said = append(said, b.Caption)
	}
	if len(said) == 0 {
		return title, ""
	}
	return blockkit.Clip(title+": "+said[0], 200), blockkit.Clip(strings.Join(said, ". ")+".", 2000)
}

// Sizes of the picture of times, in pixels.
const (
	timesWidth  = 1200
	timesLabel  = 210
	barsHeight  = 220
	swatch      = 20
	captionSize = 26
)

// sheetOfTimes draws from top to bottom. Without a canvas it measures.
type sheetOfTimes struct {
	*canvas
	caption, text, label *typeface
	y                    int
}

// TimesPNG draws the heat map and the bars of a report, as the page shows them. The bytes depend on the report alone.
func TimesPNG(w io.Writer, r *incident.Report) error {
	v := newView(r).Times
	s := &sheetOfTimes{caption: newTypeface(boldFont(), captionSize), text: newTypeface(regularFont(), textSize), label: newTypeface(regularFont(), labelSize)}
	s.all(v)
	palette := color.Palette{paper, ink, faint, color.RGBA{0xe3, 0xe6, 0xea, 0xff}}
	for _, c := range heatColours {
		palette = append(palette, c)
	}
	for _, c := range partColours {
		palette = append(palette, c)
	}
	palette = append(palette, color.RGBA{0xb3, 0x32, 0x1b, 0xff})
	s.canvas = newCanvas(timesWidth, s.y+margin, palette)
	s.all(v)
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	if err := enc.Encode(w, s.canvas.Paletted); err != nil {
		return fmt.Errorf("write the picture of times: %w", err)
	}
	return nil
}

func (s *sheetOfTimes) all(v timesView) {
	s.y = margin
	if v.Heat != nil {
		s.heat(v.Heat)
	}
	for i := range v.Bars {
		s.bars(&v.Bars[i])
	}
}

// fill paints a rectangle.
func (s *sheetOfTimes) fill(x, y, wide, high int, c uint8) {
	if s.canvas == nil {
		return
	}
	for py := y; py < y+high; py++ {
		for px := x; px < x+wide; px++ {
			s.SetColorIndex(px, py, c)
		}
	}
}

func (s *sheetOfTimes) write(t *typeface, x, y int, c uint8, text string) {
	if s.canvas != nil {
		s.canvas.text(t, x, y, c, text)
	}
}

// lines writes a text that is wrapped, and goes below it.
func (s *sheetOfTimes) lines(t *typeface, size int, c uint8, text string) {
	for _, line := range t.wrap(text, timesWidth-2*margin) {
		s.write(t, margin, s.y, c, line)
		s.y += size + 8
	}
}

// axis names both ends below a picture that begins at left, and marks where the slowdown begins.
func (s *sheetOfTimes) axis(left, top int, begin, end string, mark *int, columns int) {
	wide := timesWidth - margin - left
	if mark != nil && columns > 0 {
		x := left + *mark*wide/columns
		for y := top; y < s.y; y += 8 {
			s.fill(x-1, y, 2, 5, alarmIndex)
		}
		s.write(s.label, min(x+4, timesWidth-margin-s.label.width("slower")), s.y+6, alarmIndex, "slower")
	}
	end = s.label.known(end)
	s.write(s.label, left, s.y+6, faintIndex, begin)
	s.write(s.label, timesWidth-margin-s.label.width(end), s.y+6, faintIndex, end)
	s.y += labelSize + 16
}

func (s *sheetOfTimes) heat(v *heatView) {
	s.lines(s.caption, captionSize, inkIndex, v.Caption)
	s.y += 6
	high := min(max(560/max(len(v.Rows), 1), labelSize+2), 28)
	left, top := margin+timesLabel, s.y
	wide := timesWidth - margin - left
	for _, r := range v.Rows {
		c := uint8(faintIndex)
		if r.Root {
			c = alarmIndex
		}
		s.write(s.label, margin, s.y+(high-s.label.ascent)/2, c, s.label.clip(s.label.known(r.Name), timesLabel-10, "…"))
		for i, level := range r.Levels {
			from, to := left+i*wide/len(r.Levels), left+(i+1)*wide/len(r.Levels)
			index := uint8(nothingIndex)
			if level >= 0 {
				index = uint8(heatIndex + level)
			}
			s.fill(from, s.y, to-from, high-1, index)
		}
		s.y += high
	}
	s.axis(left, top, v.Begin, v.End, v.Mark, v.W)
	x := margin
	s.write(s.text, x, s.y+4, inkIndex, v.Low)
	x += s.text.width(s.text.known(v.Low)) + 10
	for level := range v.Scale {
		s.fill(x, s.y, swatch, swatch, uint8(heatIndex+level))
		x += swatch
	}
	s.write(s.text, x+10, s.y+4, inkIndex, v.High)
	s.y += swatch + 24
}

func (s *sheetOfTimes) bars(v *barsView) {
	s.lines(s.caption, captionSize, inkIndex, v.Title)
	s.y += 6
	left, top := margin+timesLabel, s.y
	wide, n := timesWidth-margin-left, len(v.Columns)
	s.write(s.label, margin, top, faintIndex, v.High)
	s.write(s.label, margin, top+barsHeight-labelSize, faintIndex, "0")
	s.fill(left, top, wide, barsHeight, nothingIndex)
	for i, c := range v.Columns {
		from, to := left+i*wide/n, left+(i+1)*wide/n
		for _, p := range c.Pieces {
			y := top + barsHeight - p.To*barsHeight/barScale
			s.fill(from+1, y, to-from-2, (p.To-p.From)*barsHeight/barScale, uint8(partIndex+p.Part))
		}
	}
	s.y = top + barsHeight
	s.axis(left, top, v.Begin, v.End, v.Mark, n)
	x := margin
	for _, p := range v.Parts {
		width := swatch + 8 + s.text.width(s.text.known(p.Words)) + 24
		if x > margin && x+width > timesWidth-margin {
			x, s.y = margin, s.y+swatch+8
		}
		s.fill(x, s.y, swatch, swatch, uint8(partIndex+p.Index))
		s.write(s.text, x+swatch+8, s.y+4, inkIndex, p.Words)
		x += width
	}
	s.y += swatch + 24
}
