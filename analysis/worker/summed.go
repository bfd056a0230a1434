package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"faultline/analysis/ascii"
	"faultline/analysis/line"
	"faultline/pattern"
)

const (
	summedTrial = 64 << 10 // a file without such lines in so much of it has none
	summedLeast = 5        // lines
	summedMost  = 1 << 12  // lines that are kept
	summedLong  = 4 << 10  // of one line
)

// What the named times of a line add up to, as a share of the last of them: a loop does a little besides what it times.
const (
	summedLow  = 0.88
	summedHigh = 1.02
)

// Summed reads the step lines of a loop of somebody's own by their shape alone, whatever they call things: a step that counts up, and named
// times of which the last is the sum of the others. It returns nil where a file has none. It is for files in which no step was found.
func Summed(ctx context.Context, name string, src io.Reader) (*Observations, error) {
	var names line.Names
	var found []summedStep
	var rows rowReader
	in := bufio.NewReaderSize(src, summedTrial)
	stride, seen, off := int64(1), int64(0), int64(0)
	var blocks blockReader
	keep := func(s summedStep) {
		if len(found) > 0 && !s.like(&found[0]) {
			return
		}
		if seen++; (seen-1)%stride == 0 {
			s.n = seen
			found = append(found, s)
		}
		if len(found) >= summedMost {
			stride *= 2
			found = slices.DeleteFunc(found, func(x summedStep) bool { return (x.n-1)%stride != 0 })
		}
	}
	for no := int64(1); ; no++ {
		raw, long, err := wholeLine(in)
		if len(raw) == 0 && err != nil {
			if !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("reading %s: %w", name, err)
			}
			break
		}
		at := off
		off += long
		if off > summedTrial && len(found) < summedLeast {
			return nil, nil //nolint:nilnil // such a file has none
		}
		text := bytes.TrimRight(raw, "\r\n")
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if long != int64(len(raw)) {
			continue
		}
		if s, ok := blocks.add(text, Pos{File: name, Line: no, Off: at, Len: len(text)}); ok {
			keep(s)
		}
		pre := names.Parse(text)
		msg := text[min(max(pre.Len, 0), len(text)):]
		s, ok := readSummed(msg)
		if !ok {
			s, ok = readCounted(msg)
		}
		own := text
		if !ok {
			var at line.Stamp
			if own, at, ok = rows.restate(text); ok {
				s, ok = readSummed(own)
				if at.Kind != line.NoStamp {
					pre.Stamp = at
				}
			}
		}
		if !ok {
			continue
		}
		who := pre.Who
		s.at = At{Pos: Pos{File: name, Line: no, Off: at, Len: len(text)}, By: &who, Stamp: pre.Stamp}
		s.loop = saidRank(own) + 1
		keep(s)
	}
	if len(found) < summedLeast || !countsUp(found) {
		return nil, nil //nolint:nilnil // such a file has none
	}
	return summedObservations(found), nil
}

func summedObservations(found []summedStep) *Observations {
	obs := &Observations{}
	for i := range found {
		s := &found[i]
		obs.Progress = append(obs.Progress, Progress{At: s.at, N: s.n, Form: "summed", Step: s.step, Total: line.Unknown, Epoch: line.Unknown, StepSeconds: s.total, Phase: Training, Loop: s.loop, Loss: s.loss})
		if len(s.parts) == 0 {
			continue
		}
		obs.Phases = append(obs.Phases, PhaseReport{At: s.at, Loop: s.loop, N: s.n, Times: s.parts})
	}
	return obs
}

// wholeLine reads a line with its end, and how long it is: of a long one only the beginning is returned.
func wholeLine(in *bufio.Reader) (raw []byte, long int64, err error) {
	for {
		part, err := in.ReadSlice('\n')
		long += int64(len(part))
		if len(raw) < summedLong {
			raw = append(raw, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return raw, long, err
		}
	}
}

// summedStep is one such line.
type summedStep struct {
	at    At
	n     int64
	step  int64
	total float64
	parts []PhaseTime
	loop  int
	loss  string
}

// like says that two lines name the same times.
func (s *summedStep) like(o *summedStep) bool {
	return slices.EqualFunc(s.parts, o.parts, func(a, b PhaseTime) bool { return a.Name == b.Name })
}

// countsUp says that the numbers that were taken for steps are.
func countsUp(found []summedStep) bool {
	up := 0
	for i := 1; i < len(found); i++ {
		if found[i].step > found[i-1].step {
			up++
		}
	}
	const mostly = 0.8
	return float64(up) >= mostly*float64(len(found)-1)
}

// readSummed reads "step 3210 data_wait 1.079s forward 0.192s backward 0.179s total 1.480s", also where the unit stands behind the last alone.
func readSummed(text []byte) (s summedStep, ok bool) {
	values, whole := namedValues(text)
	timed := slices.DeleteFunc(slices.Clone(values), func(v namedValue) bool { return v.unit == 0 })
	if len(timed) == 1 && len(values) > 1 && timed[0] == values[len(values)-1] {
		timed = values
		for i := range timed {
			timed[i].unit = values[len(values)-1].unit
		}
	}
	const least = 3 // two parts and their sum
	if len(timed) < least || len(timed) > mostPhases || len(whole) == 0 {
		return s, false
	}
	sum := 0.0
	for _, v := range timed[:len(timed)-1] {
		p := PhaseTime{Name: v.name, Max: v.value * v.unit}
		if slices.ContainsFunc(s.parts, func(o PhaseTime) bool { return o.Name == p.Name }) {
			return s, false
		}
		s.parts = append(s.parts, p)
		sum += p.Max
	}
	last := timed[len(timed)-1]
	s.total, s.step = last.value*last.unit, whole[0]
	for named := range namedSteps(text) {
		s.step = named.step
		break
	}
	return s, s.total > 0 && s.step >= 0 && sum >= summedLow*s.total && sum <= summedHigh*s.total
}

// blockReader reads steps that have a heading of their own, "[batch=190/4000]:", and below it, indented, a line for each number.
type blockReader struct {
	head Pos
	text []byte // of the block so far; nil outside of one
}

// blockMost is how long a block may be.
const blockMost = 4 << 10

// add takes in a line; ok is true where it ends a block that is a step.
func (b *blockReader) add(text []byte, at Pos) (s summedStep, ok bool) {
	indented := len(text) > 0 && (text[0] == ' ' || text[0] == '\t')
	if indented && b.text != nil && len(b.text) < blockMost {
		b.text = append(append(b.text, ' '), bytes.ReplaceAll(bytes.TrimSpace(text), []byte("/"), []byte(" "))...) // of "group/name", the name
		return s, false
	}
	if b.text != nil {
		s, ok = readCounted(b.text)
		who := line.NoOne
		s.at = At{Pos: b.head, By: &who}
	}
	if b.text = nil; bytes.HasSuffix(text, []byte(":")) && ofAll.Match(text) {
		b.head, b.text = at, append([]byte{}, text...)
	}
	return s, ok
}

// ofAll is a count with what it counts up to: "7350/24000".
var ofAll = pattern.New(`(?:^|[\s|(\[=])(\d{1,9}) ?/ ?(\d{2,10})(?:$|[\s|,)\]:])`)

// readCounted reads a count of all steps and the time or the rate of one: "Epoch 0: 30% 7350/24000 [loss=2.2, it/s=0.57, data_s=0.004]".
func readCounted(text []byte) (s summedStep, ok bool) {
	m := ofAll.FindSubmatch(text)
	if m == nil {
		return s, false
	}
	step, total := bounded(string(m[1])), bounded(string(m[2]))
	times := readTimings(text, true)
	if step < 0 || step > total || times.step <= 0 {
		return s, false
	}
	s = summedStep{step: int64(step), total: times.step, loss: string(lossIn(text))}
	for _, t := range times.phases {
		s.parts = append(s.parts, PhaseTime{Name: string(t.name), Max: t.value})
	}
	return s, true
}

// namedValue is a number that a text names, with how many seconds its unit is; 0 where it has none.
type namedValue struct {
	name        string
	value, unit float64
}

// namedValues are those of a text that may be times, and its whole numbers that are not, but for the rank.
func namedValues(text []byte) (values []namedValue, whole []int64) {
	for i := 0; i < len(text); i++ {
		if !beginsNumber(text, i) {
			continue
		}
		v := printed(text[i:])
		name, unit := nameBefore(text[:i]), unitOf(text[i+len(v):])
		switch {
		case unit > 0 && name != "", name != "" && bytes.IndexByte(v, '.') >= 0:
			values = append(values, namedValue{name, finite(v), unit})
		case digits(v) == len(v) && !hasFold([]byte(name), "rank"):
			if n, rest := counter(v); rest != nil {
				whole = append(whole, n)
			}
		}
		i += len(v) - 1
	}
	return values, whole
}

// nameBefore is the word in front of a number, in any script.
func nameBefore(b []byte) string {
	b = bytes.TrimRight(b, " \t:=")
	from := len(b)
	for from > 0 && (isWord(b[from-1]) || b[from-1] >= utf8.RuneSelf || bytes.IndexByte([]byte("+-/"), b[from-1]) >= 0) {
		from--
	}
	name := b[from:]
	const longest = 64
	if len(name) == 0 || len(name) > longest || ascii.Digit(name[0]) || !utf8.Valid(name) {
		return ""
	}
	return string(name)
}

// unitOf is how many seconds the unit at the start of b is; 0 where none stands there.
func unitOf(b []byte) float64 {
	b = bytes.TrimPrefix(b, []byte(" "))
	n := 0
	for n < len(b) && isLetter(b[n]) {
		n++
	}
	switch string(b[:n]) {
	case "s", "sec", "secs", "seconds":
		return 1
	case "ms":
		return 1e-3
	case "us":
		return 1e-6
	}
	return 0
}
