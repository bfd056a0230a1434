package robust

import "testing"

func TestAFewOutliersMoveNothing(t *testing.T) {
	steady := []float64{9, 10, 11, 10, 9, 11, 10}
	with := append([]float64{1e9}, steady...)
	if a, b := Median(steady), Median(with); a != 10 || b != 10 {
		t.Errorf("medians %v, %v", a, b)
	}
	if a, b := Spread(steady, 10), Spread(with, 10); a != normal || b != normal {
		t.Errorf("spreads %v, %v", a, b)
	}
	if s := Share(steady, func(v float64) bool { return v > 10 }); s != 2.0/7 {
		t.Errorf("share %v", s)
	}
}

func TestOfNothing(t *testing.T) {
	if Median(nil) != 0 || Spread(nil, 1) != 0 || Share(nil, func(float64) bool { return true }) != 0 {
		t.Error("nothing has a middle, a spread or a share")
	}
}
