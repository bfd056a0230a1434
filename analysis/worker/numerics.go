package worker

import (
	"bytes"
	"math"

	"faultline/analysis/line"
)

// Numeric is what a line says about the numbers of a step beside its loss. Healthy runs print few of them: of what every
// step line repeats (loss scale, batch size) only a change is kept.
type Numeric struct {
	At
	Kind  string
	Step  int64   // line.Unknown if the line states none
	Value float64 // finite; see the kinds
	Was   float64 // NumericRate: in the line before
	Text  string  // as printed
}

// Numeric kinds.
const (
	NumericGradient = "gradient" // the gradient norm is not finite
	NumericNaN      = "nan"      // Value iterations of the logging interval gave a loss that is no number
	NumericSkipped  = "skipped"  // Value iterations of the logging interval were skipped
	NumericScale    = "scale"    // the loss scale is Value from here on
	NumericOverflow = "overflow" // a step was skipped because gradients overflowed; the loss scale is now Value (0: not stated)
	NumericBatch    = "batch"    // the global batch is Value samples from here on: a step is other work than before
	NumericRate     = "rate"     // the learning rate is about Value from here on
)

// numericState is what this file's writers printed last.
type numericState struct {
	scale, batch, rate []byte
	noted              float64 // the learning rate that was noted last
}

// numericHandlers read the rare lines about numbers. The loss itself stands in the step lines (Progress).
func numericHandlers() []handler {
	return []handler{
		{"Megatron numbers", []string{"number of nan iterations:"}, readMegatronNumbers},
		{"gradient norm", []string{"'grad_norm': nan", "'grad_norm': inf", "'grad_norm': 'nan", "'grad_norm': 'inf", "grad_norm: nan", "grad_norm: inf",
			"grad_norm:     nan", "grad_norm:     inf"}, readGradientNorm},
		{"overflow", []string{"kipping step", "gradient overflow detected"}, readOverflow},
	}
}

// readMegatronNumbers reads the fields of a step line "… | loss scale: 65536.0 | grad norm: 0.412 | number of skipped
// iterations:   0 | number of nan iterations:   0 |" (Megatron-LM megatron/training/training.py, training_log).
func readMegatronNumbers(r *reader, rec *record) bool {
	i := bytes.Index(rec.Text, []byte(" iteration"))
	if i < 0 {
		return false
	}
	step, rest := counter(bytes.TrimLeft(rec.Text[i+len(" iteration"):], " "))
	if rest == nil {
		return false
	}
	say := func(kind string, v []byte) {
		n := Numeric{At: rec.At, Kind: kind, Step: step, Text: clip(v), Value: finite(v)}
		emit(r, &r.obs.Numerics, n)
	}
	last := &rec.writer.numeric
	for len(rest) > 0 {
		field := rest
		if end := bytes.IndexByte(rest, '|'); end >= 0 {
			field, rest = rest[:end], rest[end+1:]
		} else {
			rest = nil
		}
		field = blanks(field)
		if len(field) == 0 || field[0] != 'n' && field[0] != 'g' && field[0] != 'l' {
			continue
		}
		switch key, v := colon(field); string(key) {
		case "number of nan iterations":
			if digits(v) == len(v) && !zero(v) {
				say(NumericNaN, v)
			}
		case "number of skipped iterations":
			if digits(v) == len(v) && !zero(v) {
				say(NumericSkipped, v)
			}
		case "grad norm":
			if nonFinite(v) {
				say(NumericGradient, v)
			}
		case "loss scale":
			if !bytes.Equal(v, last.scale) && len(v) > 0 && len(printed(v)) == len(v) && !nonFinite(v) {
				last.scale = append(last.scale[:0], v...)
				say(NumericScale, v)
			}
		case "global batch size":
			if !bytes.Equal(v, last.batch) && len(v) > 0 && digits(v) == len(v) {
				last.batch = append(last.batch[:0], v...)
				say(NumericBatch, v)
			}
		case "learning rate":
			r.learningRate(rec, step, printed(v))
		}
	}
	return true
}

// colon divides "key: value".
func colon(field []byte) (key, value []byte) {
	i := bytes.IndexByte(field, ':')
	if i < 0 {
		return nil, nil
	}
	return field[:i], bytes.TrimSpace(field[i+1:])
}

func zero(v []byte) bool { return len(v) == 0 || len(v) == 1 && v[0] == '0' }

// readGradientNorm reads a norm that is not finite in the step lines of Hugging Face's Trainer ({'loss': 0.0, 'grad_norm':
// nan, …}: it prints 0.0 for a loss that is no number) and of TorchTitan.
func readGradientNorm(r *reader, rec *record) bool {
	b := after(rec.Text, "grad_norm")
	b = bytes.TrimPrefix(b, []byte("'"))
	b, ok := bytes.CutPrefix(b, []byte(":"))
	b = bytes.TrimPrefix(bytes.TrimLeft(b, " "), []byte("'"))
	v := printed(b)
	if !ok || !nonFinite(v) || len(v) < len(b) && isWord(b[len(v)]) {
		return false
	}
	n := Numeric{At: rec.At, Kind: NumericGradient, Step: line.Unknown, Text: clip(v)}
	if step, rest := counter(bytes.TrimLeft(after(rec.Text, "step: "), " ")); rest != nil {
		n.Step = step
	}
	emit(r, &r.obs.Numerics, n)
	return true
}

// readOverflow reads a step that was left out because its gradients overflowed:
//
//	[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768   (DeepSpeed loss_scaler.py)
//	[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1
//	Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0               (apex amp/scaler.py)
//	NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0              (fairseq trainer.py)
func readOverflow(r *reader, rec *record) bool {
	t := rec.Text[:min(len(rec.Text), 1<<10)]
	if !bytes.Contains(t, []byte("OVERFLOW!")) && !bytes.Contains(t, []byte("radient overflow")) {
		return false
	}
	n := Numeric{At: rec.At, Kind: NumericOverflow, Step: line.Unknown}
	if n.scaled(t) || !bytes.Contains(t, []byte("Attempted loss")) || bytes.Contains(t, []byte("hysteresis")) {
		emit(r, &r.obs.Numerics, n)
		return true
	}
	r.follow(rec, 1, func(r *reader, rec *record) verdict { // a terminal wrapped it
		took := rec != nil && n.scaled(rec.Text)
		emit(r, &r.obs.Numerics, n)
		if took {
			return final
		}
		return ended
	})
	return true
}

// scaled takes the new loss scale from a line; what is cut behind the scale that was tried has halved it.
func (n *Numeric) scaled(t []byte) bool {
	for _, key := range []string{", reducing to ", "reducing loss scale to ", "setting loss scale to: "} {
		if v := printed(after(t, key)); v != nil && !nonFinite(v) {
			v = bytes.TrimRight(v, ".")
			n.Text, n.Value = clip(v), finite(v)
			return true
		}
	}
	if v := printed(after(t, "scale: ")); v != nil && !nonFinite(v) && !bytes.Contains(t, []byte("hysteresis")) && bytes.HasSuffix(bytes.TrimRight(t, " "), []byte("reducing to")) {
		n.Text, n.Value = clip(v), finite(v)/2
		return true
	}
	return false
}

// nonFinite reports whether a printed number is none.
func nonFinite(v []byte) bool {
	v = bytes.TrimLeft(v, "+-")
	return len(v) >= 3 && (hasFold(v, "nan") || hasFold(v, "inf"))
}

// finite is a printed number's value, 0 for what is no finite number.
func finite(v []byte) float64 {
	f := number64(v)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

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
