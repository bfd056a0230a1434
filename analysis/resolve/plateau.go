package resolve

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"faultline/analysis/line"
)

// Plateau is a loss that does not move any more: the mean of its last window against that of the window before.
type Plateau struct {
	Course       *Course
	Was, Is      float64 // means of the two windows
	From, Middle *Point  // where the windows begin
	Last         *Point
	Begin        *Point // of the stretch that is flat: its batch and its run are one
	N            int    // values in each window
	// Improved is true where the loss fell before: it stopped, it did not fail to begin.
	Improved bool
}

// Improvement is the share by which the mean loss fell between the windows.
func (p *Plateau) Improvement() float64 { return (p.Was - p.Is) / p.Was }

// Limits of a plateau. The method's limit is 0.1 %. Loss falls ever more slowly as steps grow in number, so windows must
// cover a good part of the run, not a short piece of a long one; and the noise must be low enough to see 0.1 % at all.
const (
	plateauLimit  = 0.001
	plateauLeast  = 30  // values in a window
	plateauCover  = 1.5 // last step ÷ first step of the two windows
	plateauNearly = 0.9 // of all steps: there a schedule has run out, and flat is what one expects
)

// Plateau compares thirds: the last with the middle one, and the first to tell "stopped" from "never began".
func (c *Course) Plateau() (p Plateau, ok bool) {
	var ps []*Point
	for _, x := range c.Losses() {
		if len(ps) > 0 && x.Stretch != ps[len(ps)-1].Stretch {
			ps = ps[:0]
		}
		if !x.Loss.Finite || x.Loss.Value <= 0 {
			return p, false
		}
		ps = append(ps, x)
	}
	w := len(ps) / 3
	if w < plateauLeast {
		return p, false
	}
	early, middle, late := ps[len(ps)-3*w:len(ps)-2*w], ps[len(ps)-2*w:len(ps)-w], ps[len(ps)-w:]
	first, last := middle[0].Step, late[w-1].Step
	if first != line.Unknown && last != line.Unknown && float64(last) < plateauCover*float64(max(first, 1)) {
		return p, false
	}
	if c.Total > 0 && float64(last) >= plateauNearly*float64(c.Total) {
		return p, false
	}
	a, va := meanLoss(middle)
	b, vb := meanLoss(late)
	e, _ := meanLoss(early)
	p = Plateau{Course: c, Was: a, Is: b, From: middle[0], Middle: late[0], Last: late[w-1], Begin: ps[0], N: w, Improved: (e-a)/e >= 10*plateauLimit}
	noise := math.Sqrt((va+vb)/float64(w)) / a
	d := p.Improvement()
	if step := max(middle[0].Loss.step(), late[0].Loss.step()); step > plateauLimit*a && math.Sqrt(va+vb) < step/2 {
		return p, false // printed with so few digits that a fall of this size would not show
	}
	return p, noise < plateauLimit && d < plateauLimit && d > -plateauLimit-2*noise
}

func meanLoss(ps []*Point) (mean, variance float64) {
	for _, p := range ps {
		mean += p.Loss.Value
	}
	mean /= float64(len(ps))
	for _, p := range ps {
		d := p.Loss.Value - mean
		variance += d * d
	}
	return mean, variance / float64(len(ps))
}

// step is what the last printed digit of a loss stands for.
func (l Loss) step() float64 {
	digits, exponent, _ := strings.Cut(strings.ToLower(l.Printed), "e")
	_, fraction, _ := strings.Cut(digits, ".")
	e, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil {
		return 0
	}
	return math.Pow10(e - len(fraction))
}
