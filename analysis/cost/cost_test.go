package cost

import (
	"math"
	"testing"
)

func TestWhatAnHourLosesDecides(t *testing.T) {
	for _, c := range []struct {
		name     string
		gpus     int
		waste    float64
		level    string
		gpuHours float64
	}{
		{"a large job that makes no progress", 256, 1, "critical", 256},
		{"256 GPUs of which 37 % is wasted, as in the protocol: medium", 256, Waste(142.0 / 89), "warning", 95.5},
		{"exactly critical", 100, 1, "critical", 100},
		{"a node that makes no progress", 8, 1, "warning", 8},
		{"a single GPU", 1, 1, "note", 1},
		{"a large job, a little slower", 64, Waste(1.05), "note", 3},
	} {
		if level, h, ok := PerHour(c.gpus, c.waste); !ok || level != c.level || math.Abs(h-c.gpuHours) > 0.001 {
			t.Errorf("%s: %s, %v, %v", c.name, level, h, ok)
		}
	}
}

func TestWhatIsNotKnownHasNoSeverity(t *testing.T) {
	for _, c := range []struct {
		gpus  int
		waste float64
	}{{0, 1}, {-8, 1}, {8, 0}, {8, -0.1}, {8, 1.1}, {8, math.NaN()}, {8, math.Inf(1)}} {
		if level, h, ok := PerHour(c.gpus, c.waste); ok || level != "" || h != 0 {
			t.Errorf("%v: %s, %v", c, level, h)
		}
	}
	for _, ratio := range []float64{0, 0.5, 1, math.NaN(), math.Inf(1)} {
		if w := Waste(ratio); w != 0 {
			t.Errorf("×%v wastes %v", ratio, w)
		}
	}
}
