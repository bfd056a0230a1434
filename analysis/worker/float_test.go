package worker

import (
	"math"
	"strconv"
	"testing"
)

func FuzzFloat(f *testing.F) {
	for _, s := range []string{
		"2.590", "0", "-0", "-1.5", "+.5", "5.", ".", "", "1.2.3", "2.1E+00", "2.9e-04", "1e5", "1e+", "1e+400", "e+5", "123456789012345", "1234567890123456",
		"0.000000000000000000000001", "999999999999999e+22", "999999999999999e+23", "nan", "inf", "0x1p-2", "1_0", "1e-0022", "1e+00000000000000000001",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, wantErr := strconv.ParseFloat(s, 64)
		got, err := float([]byte(s))
		if (err == nil) != (wantErr == nil) || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%q is %v (%v), not %v (%v)", s, got, err, want, wantErr)
		}
	})
}
