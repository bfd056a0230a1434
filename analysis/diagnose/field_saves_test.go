package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Saves that took less than the noise of the steps were there, and later ones are longer than they.
func TestSavesThatBlockedNothingBefore(t *testing.T) {
	course := func(early, late time.Duration) map[string]string {
		var b strings.Builder
		at := time.Date(2026, 5, 6, 9, 0, 0, 0, time.UTC)
		say := func(text string) { fmt.Fprintf(&b, "%s [rank 0] %s\n", at.Format("2006-01-02 15:04:05,000"), text) }
		for step := 1; step <= 48; step++ {
			took := 150 + 40*(step%3-1)
			if step%12 == 1 { // behind every second save
				took = 90
			}
			at = at.Add(time.Duration(took) * time.Millisecond)
			say(fmt.Sprintf("step %d/48 | loss %.4f", step, 2.5-float64(step)/100))
			if step%6 > 0 {
				continue
			}
			say("Saving checkpoint to /ckpt/a.pt")
			if at = at.Add(early); step > 24 {
				at = at.Add(late - early)
			}
			say("Checkpoint saved to /ckpt/a.pt")
		}
		say("training finished")
		return one(b.String())
	}
	for _, c := range []fieldCase{
		{"longer since the middle", course(20*time.Millisecond, 1500*time.Millisecond), []string{"slow-checkpoint"}, "-"},
		{"as before", course(20*time.Millisecond, 20*time.Millisecond), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}
