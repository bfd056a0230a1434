package verify

import (
	"fmt"
	"testing"

	"faultline/incident"
)

func stated(value string) incident.Evidence {
	return incident.Evidence{Kind: incident.KindQuote, Predicate: &incident.Predicate{Fields: []incident.Field{{Key: "step ", Value: value}}}}
}

func TestNumbersOfStepsAreComputedAsTheyArePrinted(t *testing.T) {
	for _, c := range []struct {
		formula, a, b, want string
	}{
		{"difference", "121/5000", "120/5000", "1"},
		{"quotient", "7", "2", "3"},
		{"quotient", "-7", "2", "-4"}, // down, not towards nothing
		{"quotient-up", "7", "2", "4"},
		{"quotient-up", "6", "2", "3"},
		{"quotient-up", "-7", "2", "-3"},
		{"remainder", "-7", "2", "1"},
		{"remainder", "12", "3", "0"},
		{"quotient", "123456789012345678901234567890", "10", "12345678901234567890123456789"},
	} {
		if got, err := compute(c.formula, []incident.Evidence{stated(c.a), stated(c.b)}); err != nil || got != c.want {
			t.Errorf("%s of %s and %s is %q (%v), expected %s", c.formula, c.a, c.b, got, err, c.want)
		}
	}
	for _, divisor := range []string{"0", "-3"} {
		if _, err := compute("remainder", []incident.Evidence{stated("5"), stated(divisor)}); err == nil {
			t.Errorf("divided by %s", divisor)
		}
	}
	if _, err := compute("quotient", []incident.Evidence{stated("5"), stated("/12")}); err == nil {
		t.Error("a field without a number before its / is a number")
	}
}

// What is taken apart comes together again: n = q·d + r, 0 ≤ r < d, and rounding up is one more exactly where r > 0.
func TestDivisionComesTogetherAgain(t *testing.T) {
	for n := -30; n <= 30; n++ {
		for d := 1; d <= 7; d++ {
			var q, up, r int
			for formula, into := range map[string]*int{"quotient": &q, "quotient-up": &up, "remainder": &r} {
				got, err := compute(formula, []incident.Evidence{stated(fmt.Sprint(n)), stated(fmt.Sprint(d))})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := fmt.Sscan(got, into); err != nil {
					t.Fatal(err)
				}
			}
			if q*d+r != n || r < 0 || r >= d || (up == q) != (r == 0) || up > q+1 {
				t.Errorf("%d / %d: %d remainder %d, up %d", n, d, q, r, up)
			}
		}
	}
}
