package worker

import (
	"bytes"
	"math"
)

// rateStep is by what a learning rate must have changed until another one is kept: a schedule changes it with each line.
const rateStep = 1.2

// learningRate notes the learning rate of a step line where it is another one than was noted.
func (r *reader) learningRate(rec *record, step int64, v []byte) {
	last := &rec.writer.numeric
	if len(v) == 0 || nonFinite(v) || v[0] == '-' || bytes.Equal(v, last.rate) {
		return
	}
	was, is := finite(last.rate), finite(v)
	first := last.rate == nil
	last.rate = append(last.rate[:0], v...)
	if !first && is > 0 && last.noted > 0 && math.Abs(math.Log(is/last.noted)) < math.Log(rateStep) {
		return
	}
	last.noted = is
	emit(r, &r.obs.Numerics, Numeric{At: rec.At, Kind: NumericRate, Step: step, Value: is, Was: was, Text: clip(v)})
}

// rateNames are how step lines call the learning rate.
var rateNames = []string{"learning_rate", "learning rate", "lr"}

// rateIn is the learning rate that a step line prints: "lr: 2.9e-05", "'learning_rate': 5e-06", "lr=[1e-05, 1e-05]"; nil where it prints none.
func rateIn(text []byte) []byte {
	for i := range text {
		if c := text[i] | 0x20; c != 'l' || i > 0 && isWord(text[i-1]) {
			continue
		}
		for _, name := range rateNames {
			if !hasFold(text[i:], name) {
				continue
			}
			rest := text[i+len(name):]
			value := bytes.TrimLeft(rest, " :='\"[")
			if v := printed(value); v != nil && len(value) < len(rest) {
				return v
			}
		}
	}
	return nil
}
