package messages

import (
	"fmt"
	"strings"
	"time"
)

// ProgressBar draws one line of progress. It owns no clock and no terminal: the caller says how far the work is and how
// long it took so far.
type ProgressBar struct {
	// Label stands in front, "reading".
	Label string
}

// Line returns a line of at most width columns: label, bar, share, speed and time left, of which it drops what does not
// fit. done and total are bytes; a total of 0 is unknown.
func (p ProgressBar) Line(done, total int64, elapsed time.Duration, width int) string {
	done = max(done, 0)
	if total > 0 {
		done = min(done, total)
	}
	var speed float64 // bytes per second
	if s := elapsed.Seconds(); s > 0 {
		speed = float64(done) / s
	}
	parts := []string{}
	if p.Label != "" {
		parts = append(parts, p.Label)
	}
	var tail []string
	if total > 0 {
		tail = append(tail, fmt.Sprintf("%3d%%", int(float64(done)/float64(total)*100)))
	}
	size := bytesText(done)
	if total > 0 {
		size += " of " + bytesText(total)
	}
	tail = append(tail, size)
	if speed > 0 {
		tail = append(tail, bytesText(int64(speed))+"/s")
		if total > done {
			tail = append(tail, shortDuration(time.Duration(float64(total-done)/speed*float64(time.Second)))+" left")
		}
	}
	right := strings.Join(tail, "  ")
	const minBar, maxBar = 8, 40
	if total > 0 {
		room := width - textWidth(right) - 2
		for _, s := range parts {
			room -= textWidth(s) + 2
		}
		if room = min(room, maxBar); room >= minBar {
			full := int(float64(room) * float64(done) / float64(total))
			parts = append(parts, strings.Repeat("█", full)+strings.Repeat("░", room-full))
		}
	}
	return clip(strings.Join(append(parts, right), "  "), width)
}

// shortDuration rounds up to whole seconds: an estimate of "0s left" that stays is a lie.
func shortDuration(d time.Duration) string {
	s := int64((d + time.Second - 1) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 100*3600:
		return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
	}
	return "days"
}
