package messages

import (
	"strings"
	"testing"

	"faultline/incident"
)

// The severity is one word with its reason, in every format; where it is not known nobody says one.
func TestTheSeverityIsOneWordWithItsReason(t *testing.T) {
	slow := stall()
	slow.Severity = &incident.Severity{Level: incident.SeverityWarning, GPUHours: 95.5, Per: incident.PerHour, Why: "256 GPUs are wasting 37% of their time"}
	for _, c := range []struct {
		name string
		r    *incident.Report
		want string
	}{
		{"a job that is over", stall(), "Warning (311 steps, 42.7 GPU hours lost)."},
		{"a job that goes on", slow, "Warning (95.5 GPU hours per hour: 256 GPUs are wasting 37% of their time)."},
	} {
		texts := map[string]string{
			"the first screen": strings.Join(FirstScreen(c.r, 120), "\n"), "the case file": asText(CaseFile(someCase(c.r)).Blocks),
			"the verdict": asText(FirstVerdict(c.r, nil).Blocks), "the summary": Brief(c.r),
		}
		for _, f := range formats {
			if f.ext != "json" && f.ext != "pixels" {
				texts[f.ext] = render(t, f, c.r)
			}
		}
		for where, text := range texts {
			if got := strings.Join(strings.Fields(text), " "); !strings.Contains(strings.ToLower(got), strings.ToLower(c.want)) {
				t.Errorf("%s: %s does not say %q:\n%s", c.name, where, c.want, text)
			}
			if n := strings.Count(text, "42.7 GPU hours"); where == "the verdict" && n > 1 {
				t.Errorf("%s: %s says %d times what was lost", c.name, where, n)
			}
		}
	}
	if text := strings.Join(FirstScreen(undecided(), 0), "\n") + Brief(undecided()); strings.Contains(text, "everity") {
		t.Errorf("nobody knows it: %s", text)
	}
}
