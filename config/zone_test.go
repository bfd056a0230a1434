package config

import (
	"testing"
	"time"
)

func TestZonesAreReadByNameAndByOffset(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]int{"UTC": 0, "+09:00": 9 * 3600, "-0530": -19800, "America/Los_Angeles": -7 * 3600} {
		zone, err := ParseZone(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		if _, east := at.In(zone).Zone(); east != want {
			t.Errorf("%s is %d s east of UTC, want %d", s, east, want)
		}
	}
	for _, s := range []string{"", "Local", "Mars/Olympus", "9h"} {
		if _, err := ParseZone(s); err == nil {
			t.Errorf("%q is taken for a zone", s)
		}
	}
}
