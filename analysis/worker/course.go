package worker

import (
	"math"
	"slices"
	"strings"
	"sync"

	"faultline/analysis/line"
)

// A job prints a line a step, by the million, from every rank. What they say together is a course: where it began, where
// it stands, and how its numbers went. So of each course of a file one line in stride is kept, with the worst of those
// between, and its last line; the stride doubles whenever a file has given maxSteps of them. Every line is read and
// counted (Progress.N), and one that holds no number is never left out between two that do.

// frequent are the literals of lines that healthy jobs print all the time: of a long log the scanner delivers only a part
// of the lines that hold nothing else. A step line whose loss is no number holds something else.
func frequent() map[string]bool {
	set := map[string]bool{"number of nan iterations:": true}
	for l := range talk() {
		set[l] = true
	}
	for _, f := range progressForms {
		for _, l := range f.literals {
			set[l] = true
		}
	}
	return set
}

// talk are those of them that do not say how far a job is.
func talk() map[string]bool {
	set := map[string]bool{ncclInfo: true, callMark: true, nemoTag: true}
	for i := range factRules { // a framework's name is no news when it was said once
		if f := &factRules[i]; f.key == "framework" && f.pattern == nil && strings.HasPrefix(f.literal, "[") {
			set[f.literal] = true
		}
	}
	for _, l := range evaluations {
		set[l] = true
	}
	return set
}

// ncclInfo marks the lines of NCCL that say which process runs where.
const ncclInfo = "NCCL INFO"

// nemoTag begins what NeMo logs.
const nemoTag = "[NeMo "

// numberless are how losses that are no numbers stand in step lines.
var numberless = []string{
	"loss: nan", "loss: NaN", "loss: NAN", "loss: inf", "loss: Inf", "loss:  nan", "loss:  NaN", "loss:  inf",
	"loss=nan", "loss=NaN", "loss=inf", "loss nan", "loss NaN", "loss inf", "oss': nan", "oss': inf", "oss': 'nan", "oss': 'inf",
	`oss": NaN`, `oss": nan`, `oss": Infinity`, `oss": "nan`, `oss": "inf`, "Loss: nan", "Loss: NaN", "Loss nan", "Loss=nan", "loss/train/total: nan",
}

// maxSteps bounds the lines kept of one file.
const maxSteps = 1 << 11

// step is what a progress line says. Loss is as printed and valid as long as the line.
type step struct {
	Step, Total, Epoch int64
	Loss               []byte
	StepSeconds        float64
	Phase              Phase
	Bar                bool
	Loop               int
	untimed            []byte   // where the time of the step is to be looked for, once the line is kept; as long as the line
	times              *timings // in untimed; nil: not read yet
}

// course is what one writer prints in one form.
type course struct {
	form    string
	phase   Phase
	loop    int
	count   *int64 // of the writer's lines of this form and phase, whatever their loop
	n       int64  // at the last line of this one
	last    kept   // the last line, if it is not in the list yet
	worst   kept   // the worst line of this stride, likewise
	badness float64
}

// kept is a line that may yet turn out not to be needed.
type kept struct {
	p       Progress
	loss    []byte
	untimed []byte
}

func (k *kept) set(rec *record, c *course, s *step) {
	k.p = progress(rec, c, s)
	k.loss, k.untimed = append(k.loss[:0], s.Loss...), append(k.untimed[:0], s.untimed...)
}

func (w *writer) course(form string, phase Phase, loop int) *course {
	count := new(int64)
	for _, c := range w.courses {
		if c.form != form || c.phase != phase {
			continue
		}
		if count = c.count; c.loop == loop {
			return c
		}
	}
	c := &course{form: form, phase: phase, loop: loop, count: count}
	w.courses = append(w.courses, c)
	return c
}

func progress(rec *record, c *course, s *step) Progress {
	return Progress{At: rec.At, N: c.n, Form: c.form, Step: s.Step, Total: s.Total, Epoch: s.Epoch, StepSeconds: s.StepSeconds, Phase: s.Phase, Bar: s.Bar, Loop: s.Loop}
}

// step takes a line of a course.
func (r *reader) step(rec *record, form string, s *step) {
	r.does |= stepped
	c := rec.writer.course(form, s.Phase, s.Loop)
	before := c.n
	*c.count += 1 + r.undrawn
	c.n = *c.count
	if before == 0 || (c.n-1)/r.stride > (before-1)/r.stride {
		r.settle(&c.worst)
		c.last.p.N = 0
		p := progress(rec, c, s)
		p.Loss = string(s.Loss)
		if s.times = nil; len(s.untimed) > 0 {
			r.times = readTimings(s.untimed, true)
			p.StepSeconds, s.times = r.times.step, &r.times
		}
		r.keep(p)
		if len(r.obs.Progress) >= maxSteps {
			r.thin()
		}
		return
	}
	c.last.set(rec, c, s)
	if b := badness(s.Loss); c.worst.p.N == 0 || b > c.badness {
		c.badness = b
		c.worst.set(rec, c, s)
	}
}

// stepLists are lists of steps to be filled by one file after the other: what is left of a file's is copied.
var stepLists = sync.Pool{New: func() any {
	list := make([]Progress, 0, maxSteps+maxSteps/4)
	return &list
}}

// keep appends a line to the list.
func (r *reader) keep(p Progress) {
	if r.steps == nil {
		r.steps = stepLists.Get().(*[]Progress)
		r.obs.Progress = *r.steps
	}
	r.obs.Progress = append(r.obs.Progress, p)
}

// giveBack leaves the list to the next file.
func (r *reader) giveBack() {
	if r.steps == nil {
		return
	}
	r.obs.Progress = slices.Clone(r.obs.Progress)
	clear((*r.steps)[:cap(*r.steps)])
	stepLists.Put(r.steps)
	r.steps = nil
}

// settle puts a line into the list.
func (r *reader) settle(k *kept) {
	if k.p.N > 0 {
		k.p.Loss = string(k.loss)
		if len(k.untimed) > 0 {
			k.p.StepSeconds = readTimings(k.untimed, false).step
		}
		r.keep(k.p)
		k.p.N = 0
	}
}

// thin makes room in the list.
func (r *reader) thin() {
	for len(r.obs.Progress) > maxSteps*3/4 && r.stride < 1<<40 {
		r.stride *= 2
		r.obs.Progress = thinned(r.obs.Progress, r.stride)
	}
	if len(r.obs.Progress) > maxSteps*3/4 {
		r.obs.Progress = r.obs.Progress[:maxSteps/2] // every line has a writer of its own: no log of a job
	}
}

// courses brings the list to its final form.
func (r *reader) courses() {
	defer r.giveBack()
	end := func(w *writer) {
		for _, c := range w.courses {
			if c.worst.p.N == c.last.p.N {
				c.worst.p.N = 0
			}
			r.settle(&c.worst)
			r.settle(&c.last)
		}
	}
	end(&r.nobody)
	end(&r.crowd)
	for _, w := range r.writers {
		end(w)
	}
	sorted(r.obs.Progress)
	if r.stride > 1 {
		r.obs.Progress = thinned(r.obs.Progress, r.stride)
	}
}

// badness orders losses: one that is no number is the worst.
func badness(loss []byte) float64 {
	switch {
	case len(loss) == 0:
		return math.Inf(-1)
	case nonFinite(loss):
		return math.Inf(1)
	}
	v, err := float(loss)
	if err != nil {
		return math.Inf(-1)
	}
	return v
}

// courseKey tells courses apart.
type courseKey struct {
	file  string
	who   line.Who
	form  string
	phase Phase
	loop  int
}

// opened is what thinned knows of one course.
type opened struct {
	key         courseKey
	n           int64 // of strides
	at          int64 // the last stride of which a line is kept
	worst, last int   // in the list; -1 if there is none
	badness     float64
}

// openings finds the courses of a list. The few that one file holds are found without hashing their names.
type openings struct {
	list   []opened
	index  map[courseKey]int
	recent [writerCache]int // index + 1
}

func (o *openings) of(p *Progress) *opened {
	w := p.Who()
	slot := &o.recent[uint(w.Global*8+w.Local*8+w.Task*8+w.CudaDev+w.Pid+w.MPIRank+w.RayRank+len(p.Form)+p.Loop*8)%writerCache]
	if *slot > 0 {
		if b := &o.list[*slot-1]; b.key.who == *w && b.key.form == p.Form && b.key.phase == p.Phase && b.key.loop == p.Loop && b.key.file == p.File {
			return b
		}
	}
	k := courseKey{p.File, *w, p.Form, p.Phase, p.Loop}
	i, ok := o.index[k]
	if !ok {
		if o.index == nil {
			o.index = map[courseKey]int{}
		}
		i = len(o.list)
		o.index[k] = i
		o.list = append(o.list, opened{key: k, worst: -1, at: -1})
	}
	*slot = i + 1
	return &o.list[i]
}

// thinned keeps of each course in the list the lines on the stride, the worst of those between two of them, and the
// last. What it keeps does not depend on how the list was thinned before by smaller strides.
func thinned(list []Progress, stride int64) []Progress {
	var open openings
	keep := make([]bool, len(list))
	for i := range list {
		p := &list[i]
		b := open.of(p)
		b.last = i
		n := p.N - 1
		at := n / stride
		if n%stride == 0 || p.Loop > 0 && at != b.at { // of each loop the first that falls into it
			keep[i], b.at = true, at
			continue
		}
		bad := badness([]byte(p.Loss))
		switch {
		case at != b.n || b.worst < 0:
			b.n = at
		case bad > b.badness:
			keep[b.worst] = false
		default:
			continue
		}
		keep[i] = true
		b.worst, b.badness = i, bad
	}
	for i := range open.list {
		keep[open.list[i].last] = true
	}
	out := list[:0]
	for i := range list {
		if keep[i] {
			out = append(out, list[i])
		}
	}
	return out
}
