package worker

import (
	"bytes"

	"faultline/analysis/ascii"
	"faultline/analysis/slow"
)

// Loops that people write print times under names of their own: "step_time=2.3s", "2.31 s/it", "time/step: 410 ms", "0.43 it/s",
// "timing_s/gen:33.2", "fwd_bwd_ms": 800. What they mean is read from the words of the name and the unit, not from a list of programs.

// timing is one printed number with the words in front of it and behind it.
type timing struct {
	name  []byte  // as it is printed
	words naming  // of the name, and of a unit that is printed like "/it"
	value float64 // in seconds, if unit says so
	timed bool    // a unit of time is printed with the number
	whole bool    // printed without a fraction
}

// naming is what a name consists of.
type naming struct {
	step, time, unit, per int // where the first of each kind stands, from 1; 0 is nowhere
	n                     int
	plural                bool // it counts steps: "steps"
	other, barred         bool // there are words of no kind, or some that make it no time of a step or of a phase
	millis, micros        bool
}

// Kinds of words.
const (
	wordOther = iota
	wordStep
	wordTime
	wordUnit
	wordPer
	wordFiller
	wordBarred
)

// wordKinds are the words that the times of steps are called by. Barred are sums, forecasts and limits.
var wordKinds = func() map[string]int {
	out := map[string]int{}
	for kind, list := range map[int]string{
		wordStep:   "step steps iter iters iteration iterations it batch batches update updates",
		wordTime:   "time timing duration dur took latency cost",
		wordUnit:   "s sec secs second seconds ms msec msecs millis milliseconds us usec",
		wordPer:    "per",
		wordFiller: "avg average mean median train training perf performance throughput device global in wall clock current last",
		wordBarred: "eta elapsed total remaining left max min since until timeout uptime walltime runtime interval epoch start end age eval val valid validation test",
	} {
		for w := range bytes.FieldsSeq([]byte(list)) {
			out[string(w)] = kind
		}
	}
	return out
}()

// add takes the words of an identifier, which stand in front of those that are already there.
func (w *naming) add(id []byte) {
	var own naming
	for i := 0; i < len(id); {
		if id[i] == '/' && own.n > 0 && own.per == 0 {
			own.per = own.n + 1 // a place between two words; "train/step_time" has none behind it
			i++
			continue
		}
		if !isLetter(id[i]) {
			i++
			continue
		}
		end := i
		for end < len(id) && isLetter(id[end]) {
			end++
		}
		own.word(id[i:end])
		i = end
	}
	w.join(&own)
}

// word adds one word behind the others.
func (w *naming) word(b []byte) {
	var room [16]byte
	w.n++
	if len(b) > len(room) {
		w.other = true
		return
	}
	low := room[:copy(room[:], b)]
	for i := range low {
		low[i] |= 0x20
	}
	first := func(at *int) {
		if *at == 0 {
			*at = w.n
		}
	}
	switch wordKinds[string(low)] {
	case wordStep:
		first(&w.step)
		w.plural = low[len(low)-1] == 's'
	case wordTime:
		first(&w.time)
	case wordUnit:
		first(&w.unit)
		w.millis, w.micros = low[0] == 'm', low[0] == 'u'
	case wordPer:
		w.per = w.n
	case wordFiller:
	case wordBarred:
		w.barred = true
	default:
		w.other = true
	}
}

// join puts words in front.
func (w *naming) join(front *naming) {
	later := func(at *int, first int) {
		switch {
		case first > 0:
			*at = first
		case *at > 0:
			*at += front.n
		}
	}
	later(&w.step, front.step)
	later(&w.time, front.time)
	later(&w.unit, front.unit)
	later(&w.per, front.per)
	w.n += front.n
	w.plural, w.other, w.barred = w.plural || front.plural, w.other || front.other, w.barred || front.barred
	w.millis, w.micros = w.millis || front.millis, w.micros || front.micros
}

// ofStep says that the words name what a step takes, or how many steps a second has.
func (w *naming) ofStep() (is, rate bool) {
	measure := w.time
	if measure == 0 || w.unit > 0 && w.unit < measure {
		measure = w.unit
	}
	switch {
	case w.other || w.barred || w.step == 0 || measure == 0:
		return false, false
	case w.per == 0: // "step_time", "iter_ms"; "time_step" is a simulation's
		return w.step < measure && !(w.plural && w.time == 0), false
	case w.step < w.per && w.unit >= w.per: // "steps_per_sec", "it/s"
		return true, true
	case measure <= w.per && w.step >= w.per: // "sec_per_step", "s/it", "timing_s/step"
		return true, false
	}
	return w.step < measure, false // "train/step_time"
}

// timings are what a line says of times.
type timings struct {
	step   float64 // of one step, in seconds; 0 where it says nothing
	phases []timing
	batch  []byte // the size of a batch, as it is printed
}

// batchNames are how a step line calls the size of its batch. A count of batches is called so too, and changes with every line.
var batchNames = map[string]bool{"batch": true, "batch_size": true, "global_batch_size": true, "global_batch": true, "bsz": true, "gbs": true, "batch size": true}

// longestBare is how many seconds a step may take whose time is printed without a unit.
const longestBare = 600

// readTimings reads the times in a line. Phases are left out unless they are asked for.
func readTimings(text []byte, phases bool) (out timings) {
	weak := 0.0
	for i := 0; i < len(text); i++ {
		if !beginsNumber(text, i) {
			continue
		}
		v := printed(text[i:])
		t, ok := timingAt(text, i, v)
		i += len(v)
		if out.batch == nil && t.ofBatch(text[i:]) {
			out.batch = v
		}
		if !ok {
			continue
		}
		is, rate := t.words.ofStep()
		switch {
		case is && out.step == 0:
			if rate {
				t.value = 1 / t.value
			}
			out.step = t.value
		case is:
		case bareTime(&t):
			weak = t.value
		case phases && t.ofPhase() && len(out.phases) < mostPhases:
			out.phases = append(out.phases, t)
		}
	}
	if out.step == 0 {
		out.step = weak
	}
	return out
}

// beginsNumber says that a number begins at i, not within a word or another number, and without a sign.
func beginsNumber(text []byte, i int) bool {
	if !ascii.Digit(text[i]) || i == 0 {
		return ascii.Digit(text[i])
	}
	before := text[i-1]
	return !isWord(before) && before != '.' && before != '-'
}

// ofBatch says that it is the size of a batch: "7/100" behind the same name counts batches.
func (t *timing) ofBatch(rest []byte) bool {
	count := bytes.HasPrefix(rest, []byte("/"))
	return t.whole && !t.timed && !count && batchNames[string(t.name)]
}

// bareTime says that a time is a step's without being called so: "dt: 338.11ms", "time 7012.33ms". In seconds it may be a sum.
func bareTime(t *timing) bool {
	if !t.timed || string(t.name) == "dt" {
		return t.timed
	}
	n := t.words
	onlyTime := n.time == 1 && n.step == 0 && !n.other
	return onlyTime && n.millis
}

// timingAt reads the number at i.
func timingAt(text []byte, i int, v []byte) (t timing, ok bool) {
	if len(v) == 0 || nonFinite(v) {
		return t, false
	}
	t.value, t.whole = finite(v), bytes.IndexByte(v, '.') < 0
	t.behind(text[i+len(v):])
	if !t.front(text[:i]) && t.words.per == 0 {
		return t, false
	}
	if t.timed = t.timed || t.words.unit > 0; !t.timed && (t.whole || t.value >= longestBare) {
		return t, false // a count, or in a unit that is not said
	}
	switch {
	case t.words.millis:
		t.value /= 1e3
	case t.words.micros:
		t.value /= 1e6
	}
	return t, t.value > 0
}

// behind reads a unit: "ms", " s", " s/it", " it/s", " ms per step".
func (t *timing) behind(b []byte) {
	b = bytes.TrimPrefix(b, []byte(" "))
	n := wordLen(b)
	slash := n < len(b) && n > 0 && b[n] == '/'
	if n == 0 || n < len(b) && !slash && isWord(b[n]) {
		return
	}
	end := n
	if slash {
		end += 1 + wordLen(b[n+1:])
	} else if more, ok := bytes.CutPrefix(b[n:], []byte(" per ")); ok {
		end += len(" per ") + wordLen(more)
	}
	if rest := bytes.TrimLeft(b[end:], " "); len(rest) > 0 && (rest[0] == ':' || rest[0] == '=') {
		return // the name of the next number: "loss: 2.7 steps/s: 1.42"
	}
	var w naming
	w.add(b[:end])
	ofTime := w.unit > 0 && !w.other && !w.barred
	if alone, ofSteps := w.n == 1, w.per > 0 && w.step > 0; ofTime && (alone || ofSteps) {
		t.words, t.timed = w, true
	}
}

// front reads the name: an identifier, or up to four words of which all are of times.
func (t *timing) front(b []byte) bool {
	b = bytes.TrimRight(b, " \t:='\"")
	if unit, rest, ok := inBrackets(b); ok {
		var w naming
		switch w.add(unit); {
		case w.n == 1 && w.unit == 1:
			t.words.join(&w)
			t.timed, b = true, rest
		case string(unit) == "t": // "Batch (t): 3.282"
			t.words.word([]byte("time"))
			b = rest
		}
	}
	if t.words.per > 0 {
		return true // the unit says all
	}
	end := len(b)
	for range 4 {
		from := len(b)
		for from > 0 && ofName(b[from-1]) {
			from--
		}
		id := b[from:]
		if len(id) == 0 || len(id) > 64 || !isLetter(id[0]) {
			break
		}
		before := t.words
		var own naming
		own.add(id)
		t.words.join(&own)
		if own.other && before.step > 0 && !slow.Meter(string(id)) {
			t.words = before // prose in front of "step time"
			break
		}
		t.name = b[from:end:end]
		if own.other || from == 0 || b[from-1] != ' ' {
			break
		}
		b = bytes.TrimSuffix(b[:from], []byte(" "))
	}
	return len(t.name) > 0
}

// inBrackets cuts "(ms)" from the end.
func inBrackets(b []byte) (unit, rest []byte, ok bool) {
	if len(b) == 0 || b[len(b)-1] != ')' {
		return nil, b, false
	}
	i := bytes.LastIndexByte(b, '(')
	if i < 0 || len(b)-i > 12 {
		return nil, b, false
	}
	return b[i+1 : len(b)-1], bytes.TrimRight(b[:i], " "), true
}

// ofPhase says that it is the time of a part of a step: of a known name, or called a time.
func (t *timing) ofPhase() bool {
	w := &t.words
	if w.barred || !w.other || w.per > 0 && w.unit >= w.per { // "tokens/s" is a rate
		return false
	}
	return t.timed || w.time > 0 || slow.Meter(string(t.name))
}

func wordLen(b []byte) int {
	n := 0
	for n < len(b) && isLetter(b[n]) {
		n++
	}
	return n
}
