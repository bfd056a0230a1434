package eval

import (
	"fmt"
	"strings"

	"faultline/incident"
)

// What confidence is held against.
//
// A verdict states one number: that it is right as it stands. It is right (Case.Right) where
//   - the bytes determine one mechanism, and the verdict's first mechanism is it;
//   - the bytes leave a set standing, and the verdict's set is that set: one that is wider or narrower is wrong, although
//     a wider one holds the truth;
//   - of a real case with an established answer: the first mechanism is accepted.
//
// A verdict that names no mechanism states nothing, and is not counted. A set that "unknown" belongs to excludes nothing: its verdict
// states how likely the mechanisms are that it names, and is held against their share of the truth.
//
// A member of a set states its own number: the share of cases like this one in which it was it. Nothing in the bytes weighs
// the members of a true set against each other, so each of k has a share of 1/k, and a mechanism outside it none.
//
// The simulator is not the world: it plays what is known, and the real cases are too few to fill bins.

// binHundredths is how wide a bin is, in hundredths of confidence.
const binHundredths = 5

// Bin holds what was stated with a confidence in [From, From+0.05); 1.00 belongs to the last.
type Bin struct {
	From     float64 `json:"from"`
	N        int     `json:"n"`
	Stated   float64 `json:"stated_mean"`
	Observed float64 `json:"observed"`   // share that was right
	Over     float64 `json:"difference"` // stated less observed: above zero is overconfident
}

// Member is one mechanism of a set that a report leaves standing.
type Member struct {
	Mechanism  string              `json:"mechanism"`
	Confidence incident.Confidence `json:"confidence"`
	// Share is what the truth gives it: 1/k of a true set of k, 0 outside it.
	Share float64 `json:"share"`
}

// bins adds up in whole numbers, so that the order of adding cannot matter.
type bins [100 / binHundredths]struct{ n, stated, observed int }

// observedUnit is what one whole case counts: every share 1/k with k up to 10 is a whole number of it.
const observedUnit = 2520

func (b *bins) add(stated incident.Confidence, share float64) {
	h := min(max(int(float64(stated)*100+0.5), 0), 100)
	s := &b[min(h/binHundredths, len(b)-1)]
	s.n++
	s.stated += h
	s.observed += int(share*observedUnit + 0.5)
}

func (b *bins) list() []Bin {
	var out []Bin
	for i, s := range b {
		if s.n == 0 {
			continue
		}
		x := Bin{From: float64(i*binHundredths) / 100, N: s.n, Stated: float64(s.stated) / float64(s.n) / 100, Observed: float64(s.observed) / float64(s.n) / observedUnit}
		x.Over = x.Stated - x.Observed
		out = append(out, x)
	}
	return out
}

// Calibration holds the stated confidence of verdicts against outcome, over the cases whose answer is established.
func (b *Scoreboard) Calibration(simulated bool) []Bin {
	var sums bins
	for i := range b.Cases {
		c := &b.Cases[i]
		if c.Simulated != simulated || c.Right == nil || c.Status == "" || c.silent() {
			continue
		}
		sums.add(c.Confidence, c.share())
	}
	return sums.list()
}

// share is how much of the truth lies in what the verdict states.
func (c *Case) share() float64 {
	named, open := 0.0, false
	for _, m := range c.Members {
		if m.Mechanism == unknownMechanism {
			open = true
		} else {
			named += m.Share
		}
	}
	switch {
	case open:
		return named
	case *c.Right:
		return 1
	}
	return 0
}

// silent says that the verdict names no mechanism.
func (c *Case) silent() bool { return c.Mechanism == unknownMechanism && len(c.Members) == 0 }

// MemberCalibration holds the stated confidence of the members of sets against their share of the truth, over the simulated
// cases.
func (b *Scoreboard) MemberCalibration() []Bin {
	var sums bins
	for i := range b.Cases {
		for _, m := range b.Cases[i].Members {
			sums.add(m.Confidence, m.Share)
		}
	}
	return sums.list()
}

// members are the mechanisms of a set that the report leaves standing, with their share of the truth.
func members(cs []incident.Candidate, truth []string) []Member {
	if len(cs) < 2 {
		return nil
	}
	out := make([]Member, 0, len(cs))
	for _, c := range cs {
		m := Member{Mechanism: c.Mechanism, Confidence: c.Confidence}
		for _, t := range truth {
			if t == c.Mechanism {
				m.Share = 1 / float64(len(truth))
			}
		}
		out = append(out, m)
	}
	return out
}

// calibrations are the tables of the scoreboard, with what each is of; empty ones are left out.
func (b *Scoreboard) calibrations() []calibrated {
	var out []calibrated
	for _, t := range []calibrated{
		{"simulated cases", b.Calibration(true)},
		{"members of sets, simulated", b.MemberCalibration()},
		{"real cases with an established answer", b.Calibration(false)},
	} {
		if len(t.bins) > 0 {
			out = append(out, t)
		}
	}
	return out
}

type calibrated struct {
	of   string
	bins []Bin
}

func (b *Scoreboard) calibrationText(s *strings.Builder) {
	for _, t := range b.calibrations() {
		fmt.Fprintf(s, "\nconfidence against outcome, %s\n%12s %6s %8s %8s %11s\n", t.of, "confidence", "n", "stated", "right", "difference")
		for _, bin := range t.bins {
			fmt.Fprintf(s, "%.2f … %.2f %6d %8.3f %8.3f %+11.3f\n", bin.From, bin.From+binHundredths/100.0, bin.N, bin.Stated, bin.Observed, bin.Over)
		}
	}
}

func (b *Scoreboard) calibrationMarkdown(s *strings.Builder) {
	s.WriteString("\n## Confidence against outcome\n\n" +
		"A verdict is right if its mechanism is the true one or, where the bytes leave a set, if its set is that set; a member of a set of k\n" +
		"is right in 1/k of the cases. A difference above zero is overconfident; bins of fewer than 30 say little. The simulator plays\n" +
		"what is known and is not the world: on incidents that nobody foresaw, expect less than is stated.\n")
	for _, t := range b.calibrations() {
		fmt.Fprintf(s, "\nOver %s:\n\n| stated | n | mean stated | right | difference |\n|---|---:|---:|---:|---:|\n", t.of)
		for _, bin := range t.bins {
			fmt.Fprintf(s, "| %.2f … %.2f | %d | %.3f | %.3f | %+.3f |\n", bin.From, bin.From+binHundredths/100.0, bin.N, bin.Stated, bin.Observed, bin.Over)
		}
	}
}
