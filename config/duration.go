package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that a file writes as "90s", "30m", "24h" or "90d".
type Duration time.Duration

// Std is the duration as the standard library has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

func (d Duration) String() string {
	const day = 24 * time.Hour
	if t := d.Std(); t != 0 && t%day == 0 {
		return strconv.Itoa(int(t/day)) + "d"
	}
	return d.Std().String()
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			*d = Duration(n) * Duration(24*time.Hour)
			return nil
		}
	}
	if s == "0" {
		*d = 0
		return nil
	}
	t, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 90s, 30m, 24h or 90d", s)
	}
	*d = Duration(t)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
