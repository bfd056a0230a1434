package resolve

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"faultline/analysis/line"
	"faultline/analysis/robust"
	"faultline/analysis/worker"
)

// Course is how a run went on, as one writer reports it: its steps in the order of the file. Everything that judges a
// loss or the time of a step looks at courses, never at single progress lines.
type Course struct {
	File   string
	Form   string
	Rank   int   // NoRank where nothing proves it
	Total  int64 // steps there are to be; line.Unknown
	Points []Point
	Loop   int // as of worker.Progress

	slowed   sync.Once // then these are known: several mechanisms ask
	slowdown Slowdown
	slows    bool
}

// Point is one report of progress.
type Point struct {
	At      *worker.At
	Form    string
	N       int64 // its number among the lines of its kind, of which only some are kept
	T       Moment
	Step    int64   // line.Unknown where nothing states it
	Seconds float64 // what one step took; 0 where neither the line nor the lines' own times tell
	// Printed is true where Seconds stands in the line.
	Printed bool
	// Gap is the time since the line before, 0 unknown; Paused says that a save or an evaluation lies in it.
	Gap    float64
	Paused bool
	// Lines is how many lines of its kind that is since the point before it: more than one where some were passed over.
	Lines int64
	Loss  Loss
	// BadNorm: the line says that the gradient's norm, or some iterations' loss, is no number.
	BadNorm bool
	// Stretch counts the stretches of like steps: a new one begins where the steps fall back (a restart, a resumption) or
	// the batch changes.
	Stretch int
}

// Loss is a printed loss.
type Loss struct {
	Value   float64
	Known   bool // a number, or "nan" or "inf", was printed
	Finite  bool
	Printed string
}

// key tells courses apart. Progress bars of several loops differ in their total.
type courseKey struct {
	file  string
	who   int // of whos, of the file
	form  string
	total int64
	steps bool
	loop  int
}

// coursesOf collects the training steps of every writer. This is the one place that reads progress lines for their course.
func coursesOf(progress []ProgressPoint, world int, obs *worker.Observations) (courses []*Course) {
	index := map[courseKey]int{}
	var all whos
	file := ""
	bars := map[courseKey]*Course{} // Trainer's longest bar: the dictionaries between its lines belong to it
	for i := range progress {
		p := &progress[i]
		if p.Phase == worker.Evaluation {
			continue
		}
		if p.File != file { // they stand in the order of files
			file = p.File
			all.clear()
		}
		who := all.number(p.Who())
		k := courseKey{p.File, who, p.Form, p.Total, p.Step != line.Unknown, p.Loop}
		point := Point{At: &p.At, Form: p.Form, N: p.N, T: p.T, Step: p.Step, Seconds: p.StepSeconds, Printed: p.StepSeconds > 0, Loss: lossOf(p.Loss)}
		bar := courseKey{file: p.File, who: who, form: p.Form}
		if c := bars[bar]; p.Step == line.Unknown && c != nil {
			point.Step = c.Points[len(c.Points)-1].Step
			c.Points = append(c.Points, point)
			continue
		}
		at, ok := index[k]
		if !ok {
			at = len(courses)
			index[k] = at
			courses = append(courses, &Course{File: p.File, Form: p.Form, Rank: p.Rank, Total: p.Total, Loop: p.Loop})
		}
		c := courses[at]
		c.Points = append(c.Points, point)
		if b := bars[bar]; p.Form == "hf-dict" && p.Step != line.Unknown && (b == nil || b.Total < c.Total) {
			bars[bar] = c
		}
	}
	nameLoops(courses, world)
	bad, breaks, pauses := badNorms(obs.Numerics), batchChanges(courses, obs.Numerics), pausesOf(obs.Checkpoints, progress)
	for _, c := range courses {
		for i := range c.Points {
			c.Points[i].BadNorm = bad[c.Points[i].At.Pos]
		}
		c.stretches(breaks[c.File])
		c.gaps(pauses[c.File])
	}
	return courses
}

// nameLoops gives courses that nothing else ties to a rank the one by which their loop calls itself, where only one file has a loop of it: of two,
// it is the rank within a node.
func nameLoops(courses []*Course, world int) {
	files := map[int]string{}
	shared := map[int]bool{}
	for _, c := range courses {
		if file, seen := files[c.Loop]; seen && file != c.File {
			shared[c.Loop] = true
		}
		files[c.Loop] = c.File
	}
	for _, c := range courses {
		if rank := c.Loop - 1; c.Rank == NoRank && rank >= 0 && !shared[c.Loop] && (world == 0 || rank < world) {
			c.Rank = rank
		}
	}
}

// again puts points that were added where they belong, and forgets what was found without them.
func (c *Course) again() {
	slices.SortStableFunc(c.Points, func(a, b Point) int { return cmp.Compare(a.At.Off, b.At.Off) })
	for i := 1; i < len(c.Points); i++ {
		if a, b := &c.Points[i-1], &c.Points[i]; b.Step-a.Step <= c.stride() {
			b.Lines = 1
		}
	}
	c.slowed = sync.Once{}
}

// Dismiss takes a slowdown back: the steps take longer because they do more.
func (c *Course) Dismiss() {
	c.Slowdown()
	c.slows = false
}

func lossOf(text string) Loss {
	if text == "" {
		return Loss{}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(v, 0) {
		return Loss{}
	}
	finite := !math.IsNaN(v) && !math.IsInf(v, 0)
	if !finite {
		v = 0
	}
	return Loss{Value: v, Known: true, Finite: finite, Printed: text}
}

// linesOfBatch is how many lines, on the mean, state the same batch where it is a size: a count changes with every line, and so does
// what is made of what there is.
const linesOfBatch = 10

// batchChanges are, by file, the places from which on another batch size is printed than before.
func batchChanges(courses []*Course, numerics []worker.Numeric) map[string][]int64 {
	lines := map[string]int{}
	for _, c := range courses {
		lines[c.File] += len(c.Points)
	}
	out := map[string][]int64{}
	last := map[string]float64{}
	for i := range numerics {
		n := &numerics[i]
		if n.Kind != worker.NumericBatch {
			continue
		}
		if v, seen := last[n.File]; seen && v != n.Value {
			out[n.File] = append(out[n.File], n.Off)
		}
		last[n.File] = n.Value
	}
	maps.DeleteFunc(out, func(file string, changes []int64) bool { return len(changes)*linesOfBatch > lines[file] })
	return out
}

// pausesOf are, by file, the places of lines about saving, loading and evaluating.
func pausesOf(saves []worker.Checkpoint, progress []ProgressPoint) map[string][]int64 {
	out := map[string][]int64{}
	for i := range saves {
		out[saves[i].File] = append(out[saves[i].File], saves[i].Off)
	}
	for i := range progress {
		if p := &progress[i]; p.Phase == worker.Evaluation {
			out[p.File] = append(out[p.File], p.Off)
		}
	}
	return out
}

// between says whether a place lies behind one offset and not behind another.
func between(places []int64, after, upto int64) bool {
	return slices.ContainsFunc(places, func(o int64) bool { return o > after && o <= upto })
}

func (c *Course) stretches(breaks []int64) {
	n := 0
	for i := range c.Points {
		if i > 0 {
			a, b := &c.Points[i-1], &c.Points[i]
			if a.Step != line.Unknown && b.Step < a.Step || between(breaks, a.At.Off, b.At.Off) {
				n++
			}
		}
		c.Points[i].Stretch = n
	}
}

// clockSteps is how many resolutions of its clock a gap must span before a step's time is derived from it.
const clockSteps = 5

// passedOver is so much text between two points that the scanner may not have looked at the lines like them in it.
const passedOver = 32 << 10

// stride is by how many steps one line of the course is mostly ahead of the line before it; 0 where lines state none.
func (c *Course) stride() int64 {
	var ahead []float64
	for i := 1; i < len(c.Points); i++ {
		if a, b := &c.Points[i-1], &c.Points[i]; a.Step != line.Unknown && b.Step > a.Step && a.Stretch == b.Stretch {
			ahead = append(ahead, float64(b.Step-a.Step))
		}
	}
	if len(ahead) == 0 {
		return 0
	}
	return int64(robust.Median(ahead))
}

// gaps measures the time between lines and, where lines state no time of a step, derives it.
func (c *Course) gaps(pauses []int64) {
	printed := 0
	for i := range c.Points {
		if c.Points[i].Printed {
			printed++
		}
	}
	derive := printed == 0
	stride := c.stride()
	for i := 1; i < len(c.Points); i++ {
		a, b := &c.Points[i-1], &c.Points[i]
		b.Lines = max(b.N-a.N, 1)
		b.Paused = between(pauses, a.At.Off, b.At.Off)
		if !a.T.Valid || !b.T.Valid || a.Stretch != b.Stretch || b.T.T < a.T.T {
			continue
		}
		b.Gap = b.T.T - a.T.T
		if b.At.Off-a.At.Off > passedOver {
			if a.Step == line.Unknown || b.Step <= a.Step {
				b.Gap = 0 // how many lines like it stand between, nobody counted
			} else if stride > 0 {
				b.Lines = max(b.Lines, (b.Step-a.Step)/stride)
			}
		}
		if steps := b.Step - a.Step; derive && !b.Paused && a.Step != line.Unknown && steps > 0 && b.Gap >= clockSteps*resolution(b.At.Stamp) {
			b.Seconds = b.Gap / float64(steps)
		}
	}
}

// Timed are the points of the last stretch that state or allow to derive the time of a step.
func (c *Course) Timed() []*Point {
	if len(c.Points) == 0 {
		return nil
	}
	last := c.Points[len(c.Points)-1].Stretch
	var out []*Point
	for i := range c.Points {
		if p := &c.Points[i]; p.Stretch == last && p.Seconds > 0 {
			out = append(out, p)
		}
	}
	return out
}

// Losses are the points that print a loss.
func (c *Course) Losses() []*Point {
	var out []*Point
	for i := range c.Points {
		if p := &c.Points[i]; p.Loss.Known {
			out = append(out, p)
		}
	}
	return out
}

// Longest is the course with most points that satisfy want; the first of several. Nil if none has any.
func (f *Facts) Longest(want func(*Point) bool) *Course {
	var best *Course
	most := 0
	for _, c := range f.Courses {
		n := 0
		for i := range c.Points {
			if want(&c.Points[i]) {
				n++
			}
		}
		if n > most {
			best, most = c, n
		}
	}
	return best
}

// badNorms are the step lines that state a gradient or iterations without a number.
func badNorms(numerics []worker.Numeric) map[worker.Pos]bool {
	bad := map[worker.Pos]bool{}
	for i := range numerics {
		if n := &numerics[i]; n.Kind == worker.NumericGradient || n.Kind == worker.NumericNaN {
			bad[n.Pos] = true
		}
	}
	return bad
}

// bad says that a line states numbers that are none.
func (p *Point) bad() bool { return p.BadNorm || p.Loss.Known && !p.Loss.Finite }

// Broken is where numbers that are none began to be all that is printed.
type Broken struct {
	First  *Point // the first line of the lasting run
	Good   *Point // the last sound line before it; nil if there is none
	N      int64  // lines from First to the last that states one: those behind it, if any, state nothing
	Losses int    // of those kept, the ones that print a loss which is no number
}

// Broken finds a loss or gradient that became no number and stayed so to the end of the course. A single value that
// sound ones follow was survived; ok is false then.
func (c *Course) Broken() (b Broken, ok bool) {
	var last *Point
	for i := len(c.Points) - 1; i >= 0; i-- {
		p := &c.Points[i]
		if !p.Loss.Known && !p.BadNorm {
			continue
		}
		if !p.bad() {
			b.Good = p
			break
		}
		if last == nil {
			last = p
		}
		b.First = p
		b.N = max(last.N-p.N+1, 1)
		if p.Loss.Known && !p.Loss.Finite {
			b.Losses++
		}
	}
	return b, b.N > 0
}

// Left says that the loss left its baseline and did not come back: it ends at more than twice its lowest and clearly
// above where it began. From is the last line before it left. It needs at least four values.
func (c *Course) Left() (from, last *Point, ok bool) {
	ps := c.Losses()
	if len(ps) < 4 {
		return nil, nil, false
	}
	low := 0
	for i, p := range ps {
		if !p.Loss.Finite {
			return nil, nil, false
		}
		if p.Loss.Value < ps[low].Loss.Value {
			low = i
		}
	}
	first, last := ps[0].Loss.Value, ps[len(ps)-1]
	if v := ps[low].Loss.Value; v <= 0 || last.Loss.Value <= 2*v || last.Loss.Value <= 1.5*first {
		return nil, nil, false
	}
	// A loss that is noise around its mean was as high before: that of a diffusion model, or of a policy.
	high := 0
	for _, p := range ps[:low] {
		if p.Loss.Value >= last.Loss.Value {
			high++
		}
	}
	if high > 0 && high*20 >= len(ps) {
		return nil, nil, false
	}
	from = ps[low]
	for i := low; i < len(ps)-1; i++ { // the last value that was still near the lowest
		if ps[i].Loss.Value <= 1.5*ps[low].Loss.Value {
			from = ps[i]
		}
	}
	return from, last, true
}

// Pauses is what saves and evaluations take of the time between step lines.
type Pauses struct {
	N       int
	Share   float64 // of the time between the first and the last step line
	Most    float64 // seconds beyond the usual, the longest
	Longest *Point  // the line behind it
}

// Paused sums the gaps in which lines about saving or evaluating stand, beyond what the steps in them usually take.
func (c *Course) Paused() (p Pauses, ok bool) {
	usual, _ := c.Rhythm()
	if usual == 0 {
		return p, false
	}
	total, lost := 0.0, 0.0
	for i := 1; i < len(c.Points); i++ {
		x := &c.Points[i]
		if x.Gap == 0 {
			continue
		}
		total += x.Gap
		extra := x.Gap - usual*float64(max(x.Lines, 1))
		if !x.Paused || extra <= usual {
			continue
		}
		p.N++
		lost += extra
		if extra > p.Most {
			p.Most, p.Longest = extra, x
		}
	}
	if p.N == 0 || total == 0 {
		return p, false
	}
	p.Share = lost / total
	return p, true
}
