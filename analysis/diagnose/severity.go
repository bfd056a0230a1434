package diagnose

import (
	"fmt"

	"faultline/analysis/cost"
	"faultline/incident"
)

// severity weighs what is lost: by the hour where the job goes on without progress or slower than it was, by the run where it is over. It
// says nothing where the size of the job, the slowdown or the last save is not known.
func (b *builder) severity() {
	gpus, v := b.s.Facts.Job.WorldSize, &b.r.Verdict
	hourly := func(waste float64, why string) {
		if level, h, ok := cost.PerHour(gpus, waste); ok {
			b.r.Severity = &incident.Severity{Level: level, GPUHours: h, Per: incident.PerHour, Why: why}
		}
	}
	switch {
	case v.Ending == incident.EndStalled:
		hourly(1, fmt.Sprintf("%d GPUs are making no progress", gpus))
	case v.Status == incident.NoFailure:
	case len(b.d.winners) > 0 && b.d.winners[0].Waste > 0:
		p := b.d.winners[0]
		why := fmt.Sprintf("%d GPUs are wasting %.0f%% of their time", gpus, 100*p.Waste)
		if p.Lost > 0 && p.Since != "" {
			why += fmt.Sprintf(", %.1f GPU hours since %s", p.Lost, p.Since)
		}
		hourly(p.Waste, why)
	case b.r.Action.Lost.GPUHours != nil:
		h := *b.r.Action.Lost.GPUHours
		b.r.Severity = &incident.Severity{Level: cost.Level(h), GPUHours: h, Per: incident.PerRun, Why: fmt.Sprintf("the work of %d GPUs since the last save", gpus)}
	}
}
