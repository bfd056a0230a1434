package diagnose

import "testing"

// A clock that is off by quarters of an hour is in another zone; any other is wrong, and no zone is blamed.
func TestWhichShiftsAreZones(t *testing.T) {
	for _, c := range []struct {
		shift, unc float64
		zone       bool
	}{{28800, 1, true}, {-20700, 2, true}, {8 * 3600, 0, true}, {-3599, 2, true}, {-935, 1, false}, {3781, 2, false}, {40, 2, false}} {
		if zone := zoneWords(c.shift, c.unc) != ""; zone != c.zone {
			t.Errorf("%v s within %v s: a zone: %v", c.shift, c.unc, zone)
		}
	}
}
