package messages

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/incident"
)

// laneView is the swim lanes for people: positions are per cent of the picture's width, which begins at the incident.
type laneView struct {
	Rows   []laneRow
	Ticks  []laneTick
	Right  float64  // the right end, in seconds: the last event's sign has room
	Whole  float64  // seconds of the whole run
	Focus  float64  // where the picture begins
	Clock  string   // the day, where it is known
	Began  *laneDot // when the trouble began; nil unknown
	Legend []laneKind
	Since  float64 // seconds between midnight and the left end; −1 unknown
}

type (
	laneRow struct {
		Name  string
		Root  bool
		Spans []laneBar
		Marks []laneDot
	}
	laneBar struct {
		Class, Text string
		From, To    float64 // seconds
		X, W        string  // per cent
	}
	laneDot struct {
		Class, Text  string
		At, Unc      float64
		X, Low, High string
	}
	laneTick struct{ X, Text string }
	laneKind struct {
		Class, Words string
		Bar          bool
	}
)

// spanWords and markWords say what the picture's colours and signs mean, in the order of the legend.
var (
	spanWords = []laneKind{
		{incident.LaneRuns, "running", true}, {incident.LaneWaits, "waiting", true}, {incident.LaneStalls, "stalled: others wait for it", true},
		{incident.LaneTroubled, "storage trouble", true}, {incident.LaneBeside, "storage messages, unrelated", true}, {incident.LaneQuiet, "no log lines", true}, {incident.LaneDown, "going down", true},
	}
	markWords = []laneKind{
		{incident.EventError, "error", false}, {incident.EventTimeout, "timeout", false}, {incident.EventExit, "process exit", false}, {incident.EventEnd, "ended by the scheduler", false},
		{incident.EventStep, "last step", false}, {incident.EventSave, "checkpoint", false}, {incident.EventLast, "last line", false}, {incident.EventWait, "wait begins", false}, {incident.EventTold, "notified of the timeout", false},
	}
)

// laneTimes are the layouts of a report's times.
var laneTimes = []string{"2006-01-02T15:04:05", "01-02T15:04:05", "15:04:05"}

// tickRoom is the share of the axis at its ends that is too narrow for a label.
const tickRoom = 0.03

// endRoom is the share of the picture behind the last event.
const endRoom = 0.015

func laneViewOf(l *incident.Lanes) laneView {
	if l == nil || l.Seconds <= 0 || len(l.Lanes) == 0 {
		return laneView{}
	}
	v := laneView{Whole: l.Seconds, Focus: l.Focus, Since: -1}
	if v.Focus >= v.Whole { // a report may come from elsewhere: there would be nothing to see
		v.Focus = 0
	}
	v.Right = v.Whole + endRoom*(v.Whole-v.Focus)
	wide := v.Right - v.Focus
	x := func(at float64) string { return percent((at - v.Focus) / wide) }
	used := map[string]bool{}
	for _, from := range l.Lanes {
		row := laneRow{Name: flat(from.Name), Root: from.Root}
		for _, s := range from.Spans {
			used[s.Doing] = true
			bar := laneBar{Class: "s-" + s.Doing, From: s.From, To: s.To, X: x(max(s.From, v.Focus)), Text: sentence(s.Text)}
			bar.W = percent((max(s.To, v.Focus) - max(s.From, v.Focus)) / wide)
			row.Spans = append(row.Spans, bar)
		}
		for _, m := range from.Marks {
			used[m.Kind] = true
			dot := laneDot{Class: "m-" + m.Kind, At: m.At, Unc: m.Uncertainty, X: x(m.At), Low: x(max(m.At-m.Uncertainty, 0)), High: x(min(m.At+m.Uncertainty, v.Whole))}
			dot.Text = laneTime(l.From, m.At) + ", " + row.Name + ": " + capital(flat(m.Text))
			row.Marks = append(row.Marks, dot)
		}
		v.Rows = append(v.Rows, row)
	}
	for _, k := range slices.Concat(spanWords, markWords) {
		if used[k.Class] {
			v.Legend = append(v.Legend, laneKind{laneClass(k), k.Words, k.Bar})
		}
	}
	if l.Began != nil {
		at := *l.Began
		v.Began = &laneDot{Class: "began", At: at, X: x(at), Text: "Began " + laneTime(l.From, at) + unsure(l.Uncertainty)}
	}
	v.axis(l.From, x)
	return v
}

func unsure(seconds float64) string {
	if seconds <= 0 {
		return ""
	}
	return " ± " + strconv.FormatFloat(seconds, 'f', -1, 64) + " s"
}

// laneClass is the style of a bar or a mark.
func laneClass(k laneKind) string {
	if k.Bar {
		return "s-" + k.Class
	}
	return "m-" + k.Class
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 2, 64) + "%" }

// laneStart parses the time of the left end, and says in which layout it is.
func laneStart(from *string) (t time.Time, layout string, ok bool) {
	if from == nil {
		return t, "", false
	}
	for _, layout := range laneTimes {
		if len(*from) >= len(layout) {
			if t, err := time.Parse(layout, (*from)[:len(layout)]); err == nil {
				return t, layout, true
			}
		}
	}
	return t, "", false
}

// laneTime is a moment of the picture: the time of day, or seconds since the left end where no time is known.
func laneTime(from *string, at float64) string {
	t, _, ok := laneStart(from)
	if !ok {
		return fmt.Sprintf("+%.0f s", at)
	}
	return t.Add(time.Duration(at * float64(time.Second))).Format("15:04:05")
}

// laneSteps are the distances of ticks that people count in, in seconds.
var laneSteps = []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600}

// axis puts a handful of ticks at round times.
func (v *laneView) axis(from *string, x func(float64) string) {
	start, layout, ok := laneStart(from)
	if day, _, dated := strings.Cut(layout, "T"); dated {
		v.Clock = start.Add(time.Duration(v.Focus * float64(time.Second))).Format(day)
	}
	span := v.Whole - v.Focus
	step := laneSteps[len(laneSteps)-1]
	for _, s := range laneSteps {
		if span/s <= 6 {
			step = s
			break
		}
	}
	for span/step > 6 {
		step *= 2
	}
	phase := 0.0
	if ok {
		phase = float64(start.Hour()*3600 + start.Minute()*60 + start.Second())
		v.Since = phase
	}
	for at := math.Ceil((v.Focus+phase)/step)*step - phase; at <= v.Right; at += step {
		text := laneTime(from, at)
		if step >= 60 && ok {
			text = text[:len("15:04")]
		}
		if at > v.Focus+tickRoom*span && at < v.Right-tickRoom*span { // a label at the edge would be cut
			v.Ticks = append(v.Ticks, laneTick{x(at), text})
		}
	}
}
