package verify

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"faultline/incident"
)

// judgeDerived computes the formula again. The inputs have been judged.
func (c *claim) judgeDerived() error {
	got, err := compute(c.ev.Formula, c.ev.Inputs)
	if err != nil {
		return fmt.Errorf("%s: %w", c.ev.Formula, err)
	}
	if got != c.ev.Result {
		return fmt.Errorf("%s is %q, not %q", c.ev.Formula, got, c.ev.Result)
	}
	return nil
}

func compute(formula string, in []incident.Evidence) (string, error) {
	switch formula {
	case "time-minus-ms":
		if len(in) > 2 {
			return "", errors.New("takes one or two inputs")
		}
		at, ok := stamp(in[0])
		if !ok {
			return "", errors.New("input 0 holds no time of day")
		}
		ms, err := number(in[len(in)-1])
		if err != nil {
			return "", err
		}
		return clock(at, ms), nil
	case "difference", "sum":
		if len(in) < 2 || formula == "difference" && len(in) > 2 {
			return "", errors.New("takes two inputs")
		}
		total, err := number(in[0])
		if err != nil {
			return "", err
		}
		for _, e := range in[1:] {
			n, err := number(e)
			if err != nil {
				return "", err
			}
			if formula == "difference" {
				n.Neg(n)
			}
			total.Add(total, n)
		}
		return total.String(), nil
	case "ratio":
		if len(in) != 2 {
			return "", errors.New("takes two inputs")
		}
		return ratio(in[0], in[1])
	case "quotient", "quotient-up", "remainder":
		if len(in) != 2 {
			return "", errors.New("takes two inputs")
		}
		a, err := number(in[0])
		if err != nil {
			return "", err
		}
		b, err := number(in[1])
		if err != nil {
			return "", err
		}
		return divide(formula, a, b)
	case "missing":
		if len(in) != 2 {
			return "", errors.New("takes two inputs")
		}
		return missing(in[0], in[1])
	}
	return "", errors.New("no such formula")
}

// divide is Euclidean: for a divisor above 0 it rounds down, and the remainder is never negative.
func divide(formula string, a, b *big.Int) (string, error) {
	if b.Sign() <= 0 {
		return "", errors.New("the divisor is not above 0")
	}
	q, r := new(big.Int).DivMod(a, b, new(big.Int))
	switch {
	case formula == "remainder":
		return r.String(), nil
	case formula == "quotient-up" && r.Sign() > 0:
		q.Add(q, big.NewInt(1))
	}
	return q.String(), nil
}

const day = 24 * 60 * 60

// clock is the time of day that lies ms before at (seconds of the day), rounded down to the second.
func clock(at int64, ms *big.Int) string {
	t := new(big.Int).Sub(big.NewInt(at*1000), ms)
	t.Mod(t, big.NewInt(day*1000)) // Euclidean: never negative
	s := t.Int64() / 1000
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// stamp is the time of day that a quote states, in seconds.
func stamp(ev incident.Evidence) (int64, bool) {
	if ev.Kind != incident.KindQuote {
		return 0, false
	}
	if ev.Predicate != nil {
		for _, f := range ev.Predicate.Fields {
			if at, ok := timeOfDay(f.Value); ok {
				return at, true
			}
		}
	}
	return timeOfDay(ev.Text)
}

// timeOfDay finds the first HH:MM:SS in s that no other digit touches.
func timeOfDay(s string) (int64, bool) {
	digit := func(i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }
	two := func(i int) int64 { return int64(s[i]-'0')*10 + int64(s[i+1]-'0') }
	for i := 0; i+8 <= len(s); i++ {
		if digit(i-1) || digit(i+8) || s[i+2] != ':' || s[i+5] != ':' ||
			!digit(i) || !digit(i+1) || !digit(i+3) || !digit(i+4) || !digit(i+6) || !digit(i+7) {
			continue
		}
		if h, m, sec := two(i), two(i+3), two(i+6); h < 24 && m < 60 && sec < 60 {
			return h*3600 + m*60 + sec, true
		}
	}
	return 0, false
}

// number is the integer an input stands for.
func number(ev incident.Evidence) (*big.Int, error) {
	switch ev.Kind {
	case incident.KindCount:
		return big.NewInt(ev.N), nil
	case incident.KindAbsence:
		return big.NewInt(0), nil
	case incident.KindSet:
		return big.NewInt(int64(len(ev.Values))), nil
	case incident.KindDerived:
		if n, ok := integer(ev.Result); ok {
			return n, nil
		}
	case incident.KindQuote:
		if ev.Predicate != nil {
			for _, f := range ev.Predicate.Fields {
				head, _, _ := strings.Cut(f.Value, "/") // "120/5000": the step of so many
				if n, ok := integer(head); ok {
					return n, nil
				}
			}
		}
	}
	return nil, fmt.Errorf("a %s input holds no integer", ev.Kind)
}

// ratio is the second decimal fraction over the first, with two decimals, half rounded up.
func ratio(base, now incident.Evidence) (string, error) {
	a, ok := fraction(base)
	b, ok2 := fraction(now)
	switch {
	case !ok || !ok2:
		return "", errors.New("an input holds no decimal fraction")
	case a.Sign() <= 0 || b.Sign() < 0:
		return "", errors.New("the ratio of what is not positive")
	}
	return new(big.Rat).Quo(b, a).FloatString(2), nil
}

// fraction is the first field of a quote's predicate that is a decimal fraction.
func fraction(ev incident.Evidence) (*big.Rat, bool) {
	if ev.Kind != incident.KindQuote || ev.Predicate == nil {
		return nil, false
	}
	for _, f := range ev.Predicate.Fields {
		v := strings.Replace(f.Value, ".", "", 1)
		if v == "" || len(v) > maxToken || strings.Trim(v, "0123456789") != "" {
			continue
		}
		if r, ok := new(big.Rat).SetString(f.Value); ok {
			return r, true
		}
	}
	return nil, false
}

func integer(s string) (*big.Int, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > maxToken || strings.Trim(digits, "0123456789") != "" {
		return nil, false
	}
	return new(big.Int).SetString(s, 10)
}

func missing(from, by incident.Evidence) (string, error) {
	values := func(ev incident.Evidence, of func(*incident.Evidence) []string) ([]string, error) {
		switch ev.Kind {
		case incident.KindSet:
			return ev.Values, nil
		case incident.KindInventory:
			return of(&ev), nil
		}
		return nil, fmt.Errorf("a %s input has no values", ev.Kind)
	}
	all, err := values(from, func(e *incident.Evidence) []string { return e.Expected })
	if err != nil {
		return "", err
	}
	there, err := values(by, func(e *incident.Evidence) []string { return e.Seen })
	if err != nil {
		return "", err
	}
	have := make(map[string]bool, len(there))
	for _, v := range there {
		have[v] = true
	}
	var lacks []string
	for _, v := range all {
		if !have[v] {
			lacks = append(lacks, v)
		}
	}
	return strings.Join(lacks, ","), nil
}
