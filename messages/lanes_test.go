package messages

import (
	"bytes"
	"strings"
	"testing"

	"faultline/incident"
)

// The picture begins where the incident does, and its axis counts in the report's own times.
func TestLanesAreDrawnFromTheIncidentOn(t *testing.T) {
	v := laneViewOf(stall().Lanes)
	if len(v.Rows) != 3 || !v.Rows[0].Root {
		t.Fatalf("rows: %+v", v.Rows)
	}
	if got := v.Rows[0].Spans[0].X; got != "0.00%" {
		t.Errorf("what ran before the picture begins at %s", got)
	}
	if w := v.Rows[0].Spans[0].W; w < "5" || w > "7" || len(w) != len("60.08%") {
		t.Errorf("it is %s wide, want about 60 %%", w)
	}
	if got := v.Rows[1].Marks[0].Text; !strings.HasPrefix(got, "17:05:38, other nodes: First watchdog fires") {
		t.Errorf("a mark says %q", got)
	}
	if len(v.Ticks) < 3 || v.Ticks[0].Text != "16:45" {
		t.Errorf("ticks: %+v", v.Ticks)
	}
}

func TestTheAxisCountsWhatTheLogsState(t *testing.T) {
	for name, c := range map[string]struct {
		from  *string
		clock string
		first string
	}{
		"date":         {ptr("2026-07-09T23:59:30"), "2026-07-09", "23:59:45"},
		"no year":      {ptr("07-09T10:00:00+02:00"), "07-09", "10:00:15"},
		"no time":      {nil, "", "+15 s"},
		"hostile time": {ptr("<b>now</b>"), "", "+15 s"},
	} {
		v := laneViewOf(&incident.Lanes{From: c.from, Seconds: 80, Lanes: []incident.Lane{{Name: "rank 0"}}})
		if v.Clock != c.clock || len(v.Ticks) == 0 || v.Ticks[0].Text != c.first {
			t.Errorf("%s: %q %+v", name, v.Clock, v.Ticks)
		}
	}
}

// Whatever the length of a run, some ticks are there and no more than fit.
func TestTheAxisOfAnyRunIsReadable(t *testing.T) {
	for _, seconds := range []float64{0.5, 7, 100, 5000, 90000, 3e6} {
		v := laneViewOf(&incident.Lanes{From: ptr("2026-07-09T10:00:00"), Seconds: seconds, Lanes: []incident.Lane{{Name: "rank 0"}}})
		if n := len(v.Ticks); n > 7 || seconds >= 7 && n < 2 {
			t.Errorf("%v s: %d ticks", seconds, n)
		}
	}
}

// A report that begins the picture at its end is drawn whole.
func TestAPictureIsNeverEmpty(t *testing.T) {
	v := laneViewOf(&incident.Lanes{Seconds: 60, Focus: 60, Lanes: []incident.Lane{{Name: "rank 0", Spans: []incident.LaneSpan{{To: 60}}}}})
	if w := v.Rows[0].Spans[0].W; w != "98.52%" {
		t.Errorf("a bar over the whole run is %s wide", w)
	}
}

// What is not drawn leaves no empty heading.
func TestAReportWithoutLanesHasNoPicture(t *testing.T) {
	r := stall()
	r.Lanes = nil
	var b bytes.Buffer
	if err := HTML(&b, r, Extras{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), `id="lanes"`) {
		t.Error("an empty picture")
	}
}

func TestAFigureOfAnySizeHasAWord(t *testing.T) {
	for v, want := range map[float64]string{41.83: "41.83 tokens/s", 5550.4: "5,550 tokens/s", 1e300: "1e+300 tokens/s"} {
		if got := inUnits("tokens/s")(v); got != want {
			t.Errorf("%g: got %q, want %q", v, got, want)
		}
	}
}
