package diagnose

import (
	"testing"

	"faultline/analysis/diagnose/mechanism"
	"faultline/incident"
	"faultline/simulate"
)

// How severe it is follows from what is lost: by the hour while a job goes on, by the run where it is over; and is not guessed.
func TestSeverityIsWhatIsLost(t *testing.T) {
	slow := func(r *trained) { r.steps(60, 2, "2.5"); r.steps(60, 4, "2.4") }
	const wrecked = "RuntimeError: CUDA error: an illegal memory access was encountered"
	for _, c := range []struct {
		name  string
		play  func(r *trained)
		more  string
		ranks int
		level string // "" for none
		per   string
		hours float64
	}{
		{"steps take twice as long on 256 GPUs", slow, "", 256, "critical", "hour", 128},
		{"the same on 32", slow, "", 32, "warning", "hour", 16},
		{"the same, nobody knows on how many", slow, "", 0, "", "", 0},
		{"a crash an hour after a save, on 64 GPUs", func(r *trained) { r.steps(10, 2, "2.5"); r.save(); r.steps(1800, 2, "2.4") }, wrecked, 64, "warning", "run", 64},
		{"the same on 128", func(r *trained) { r.steps(10, 2, "2.5"); r.save(); r.steps(1800, 2, "2.4") }, wrecked, 128, "critical", "run", 128},
		{"a crash without a save", func(r *trained) { r.steps(60, 2, "2.5") }, wrecked, 64, "", "", 0},
		{"a run that went well", func(r *trained) { r.steps(60, 2, "2.5"); r.line("Training finished") }, "", 256, "", "", 0},
		{"a run that stopped making progress", func(r *trained) { r.steps(60, 10, "2.5"); r.at += 3000; r.line("3 shards left") }, "", 16, "warning", "hour", 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r trained
			c.play(&r)
			text := r.b.String()
			if c.more != "" {
				text += raisedBy(0, c.more)
			}
			got := run(read(t, []simulate.File{{Name: "train.log", Data: []byte(text)}}, nil, c.ranks), mechanism.All())
			s := got.Severity
			switch {
			case c.level == "" && s != nil:
				t.Errorf("%s %s: %+v", got.Verdict.Status, got.Verdict.Mechanism, s)
			case c.level == "":
			case s == nil || s.Level != c.level || s.Per != c.per || s.GPUHours != c.hours || s.Why == "":
				t.Errorf("%s %s (%s): %+v", got.Verdict.Status, got.Verdict.Mechanism, got.Verdict.Ending, s)
			}
			if got.Verdict.Status == incident.NoFailure && s != nil && s.Per != incident.PerHour {
				t.Errorf("%+v", s)
			}
		})
	}
}
