package workflow

import (
	"testing"
	"time"
)

func TestLimitsAreReadAsSlurmWritesThem(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10:00": 10 * time.Minute, "01:30:00": 90 * time.Minute, "2-00:00:30": 48*time.Hour + 30*time.Second,
		"UNLIMITED": -1, "": -1, "1-": -1, "a:b": -1, "-1:00": -1, "x-01:00:00": -1,
	} {
		got, ok := limitOf(text)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %s, %v", text, got, ok)
		}
	}
}

func TestOnlyPlainNamesGoIntoALine(t *testing.T) {
	for name, want := range map[string]bool{"gpu": true, "gpu-a100_x.2": true, "": false, "-p": false, "a b": false, "a;reboot": false, "$(x)": false, "a\nb": false} {
		if plain(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
