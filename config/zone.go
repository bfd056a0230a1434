package config

import (
	"errors"
	"time"
)

// ParseZone reads a zone as people state it: by its name, or as an offset from UTC.
func ParseZone(s string) (*time.Location, error) {
	for _, layout := range []string{"-07:00", "-0700", "-07"} {
		if t, err := time.Parse(layout, s); err == nil {
			_, east := t.Zone()
			return time.FixedZone("UTC"+s, east), nil
		}
	}
	zone, err := time.LoadLocation(s)
	if err != nil || s == "" || s == "Local" {
		return nil, errors.New("unknown time zone; write it as America/Los_Angeles, UTC or +09:00")
	}
	return zone, nil
}
