package messages

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"faultline/incident"
)

// slowed is a report whose rank 7 computes longer from step 1,600 on, while the rest waits for it.
func slowed() *incident.Report {
	r := stallOf(12, 4, 7)
	r.Verdict.Mechanism = "slow-rank"
	span := incident.Span{Axis: incident.AxisStep, From: 1000, To: 2100, Onset: ptr(6), Since: ptr(1600.0), Files: 12, File: "rank00.log"}
	h := &incident.Heat{Span: span, Quantity: "forward-compute", Unit: "s"}
	for rank := range 12 {
		row := incident.HeatRow{Name: fmt.Sprintf("rank %d", rank), Node: fmt.Sprintf("node%02d", rank/4), Ranks: 1, Root: rank == 7}
		for c := range 12 {
			v := 4.1 + 0.01*float64((rank+c)%5)
			if rank == 7 && c >= 6 {
				v += 3.2
			}
			row.Cells = append(row.Cells, &v)
		}
		h.Rows = append(h.Rows, row)
	}
	h.Rows[2].Cells[3] = nil
	r.Heat = h
	side := func(was, is float64) (out []*float64) {
		for c := range 12 {
			v := was
			if c >= 6 {
				v = is
			}
			out = append(out, &v)
		}
		return out
	}
	of := func(who string, compute, waits float64) incident.Bars {
		return incident.Bars{Span: span, Who: who, Parts: []incident.BarsPart{{Name: "compute", Seconds: side(4.1, compute)}, {Name: "exposed communication", Seconds: side(1.2, waits)},
			{Name: "optimizer", Seconds: side(0.3, 0.3)}, {Name: "other", Seconds: side(0.1, 0.1)}}}
	}
	r.Bars = []incident.Bars{of("rank 7", 7.3, 1.2), of("the median of the 11 other ranks", 4.1, 4.4)}
	return r
}

var timesSection = regexp.MustCompile(`(?s)<section id="times">.*?</section>`)

func TestPicturesOfTimesMatchTheirGoldenFile(t *testing.T) {
	var page, picture bytes.Buffer
	if err := HTML(&page, slowed(), Extras{}); err != nil {
		t.Fatal(err)
	}
	if err := TimesPNG(&picture, slowed()); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&picture)
	if err != nil {
		t.Fatal(err)
	}
	p := img.(*image.Paletted)
	pictured(t, img)
	title, alt := TimesCaption(slowed())
	got := fmt.Sprintf("%s\n%s\n%s\n%v %x\n", timesSection.Find(page.Bytes()), title, alt, p.Rect, sha256.Sum256(fmt.Appendf(p.Pix, "%v", p.Palette)))
	path := filepath.Join("testdata", "times.txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; look at the change, then run with -update", path)
	}
}

// pictured holds the documentation's example to what is drawn.
func pictured(t *testing.T, img image.Image) {
	t.Helper()
	const path = "../docs/times-example.png"
	if *update {
		var b bytes.Buffer
		if err := TimesPNG(&b, slowed()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	old, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(img, old) {
		t.Errorf("%s is not what TimesPNG draws; look, then run with -update", path)
	}
}

func TestWithoutTimesThereIsNoEmptyFrame(t *testing.T) {
	r := stall()
	if TimesTell(r) || bytes.Contains([]byte(render(t, formats[4], r)), []byte(`id="times"`)) {
		t.Error("a section about times that nobody printed")
	}
	r = slowed()
	r.Bars = nil
	if page := render(t, formats[4], r); !strings.Contains(page, `class="heat"`) || strings.Contains(page, `class="bars"`) {
		t.Error("not the heat map alone")
	}
}

func TestTheHeatMapSaysWhatIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*incident.Heat)
		want   string
		tells  bool
	}{
		"one rank": {func(*incident.Heat) {}, "Rank 7 (node01): forward-compute 7.32 s from step 1,600 on; the median of the 12 ranks shown is 4.12 s", true},
		"all along": {func(h *incident.Heat) {
			h.Span.Onset, h.Span.Since = nil, nil
			for i := range h.Rows[7].Cells {
				h.Rows[7].Cells[i] = ptr(7.0)
			}
		}, "Rank 7 (node01): forward-compute 7 s; the median of the 12 ranks shown is 4.12 s", true},
		"a node": {func(h *incident.Heat) {
			for i := 4; i < 8; i++ {
				h.Rows[i].Cells, h.Rows[i].Root = h.Rows[7].Cells, true
			}
		}, "Rank 4 to rank 7: forward-compute up to 7.32 s from step 1,600 on; the median of the 12 ranks shown is 4.12 s", true},
		"all alike, slower": {func(h *incident.Heat) {
			for i := range h.Rows {
				h.Rows[i].Cells = h.Rows[7].Cells
			}
		}, "No rank stands out: median forward-compute 4.12 s → 7.32 s from step 1,600 on", true},
		"all alike": {func(h *incident.Heat) {
			h.Span.Onset, h.Span.Since = nil, nil
			h.Rows = h.Rows[:7]
		}, "No rank stands out: median forward-compute 4.12 s", false},
		"a rate": {func(h *incident.Heat) {
			h.Quantity, h.Unit, h.Less = "throughput", "TFLOP/s", true
			for i := range h.Rows {
				for k := range h.Rows[i].Cells {
					h.Rows[i].Cells[k] = ptr(300.0 - 100*float64(max(0, i-10)))
				}
			}
		}, "Rank 11 (node02): throughput 200 TFLOP/s from step 1,600 on; the median of the 12 ranks shown is 300 TFLOP/s", true},
		"a score": {func(h *incident.Heat) {
			h.Span.Onset, h.Span.Since = nil, nil
			h.Quantity, h.Unit, h.Less = "relative GPU performance", "", true
			for i := range h.Rows {
				for k := range h.Rows[i].Cells {
					h.Rows[i].Cells[k] = ptr(0.98 - 0.5*float64(max(0, i-10)))
				}
			}
		}, "Rank 11 (node02): relative GPU performance 0.48; the median of the 12 ranks shown is 0.98", true},
	} {
		r := slowed()
		r.Bars = nil
		c.change(r.Heat)
		v := times(r)
		if v.Heat.Caption != c.want || v.Open != c.tells {
			t.Errorf("%s: %v %s", name, v.Open, v.Heat.Caption)
		}
	}
}

// The slowest cells are the darkest on paper, also where a smaller number is slower, and what nobody printed has no level.
func TestDarkerIsSlower(t *testing.T) {
	r := slowed()
	v := times(r).Heat
	if got := v.Rows[7].Levels; got[0] != 0 || got[11] != heatLevels-1 || v.Rows[2].Levels[3] != -1 {
		t.Errorf("%v, %v", got, v.Rows[2].Levels)
	}
	for i := range r.Heat.Rows {
		for _, c := range r.Heat.Rows[i].Cells {
			if c != nil {
				*c = 1 / *c
			}
		}
	}
	r.Heat.Less, r.Heat.Unit = true, "score"
	if got := times(r).Heat.Rows[7].Levels; got[0] != 0 || got[11] != heatLevels-1 {
		t.Errorf("%v", got)
	}
	last := 1 << 20
	for _, c := range heatColours {
		grey := 299*int(c.R) + 587*int(c.G) + 114*int(c.B)
		if grey >= last {
			t.Errorf("%v is no darker than the level below", c)
		}
		last = grey
	}
}
