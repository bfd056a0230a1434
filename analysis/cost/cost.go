// Package cost says how severe an incident is, from the GPU hours that it loses. It is one scale for jobs that are over and for jobs that
// still run.
package cost

import (
	"math"

	"faultline/incident"
)

// The scale, in GPU hours that one more hour, or one more run, loses. A node of eight that stops is worth a look today; 256 GPUs of which a
// third is wasted can wait until the morning, and 256 GPUs that stop cannot.
const (
	critical = 100.0
	warning  = 8.0
)

// Level is the severity of so many GPU hours: critical, warning or note.
func Level(gpuHours float64) string {
	switch {
	case gpuHours >= critical:
		return incident.SeverityCritical
	case gpuHours >= warning:
		return incident.SeverityWarning
	}
	return incident.SeverityNote
}

// PerHour is the severity of a job that goes on while a share of the time of its GPUs is wasted (1: it makes no progress), with the
// GPU hours that each hour loses. ok is false where either is not known.
func PerHour(gpus int, waste float64) (level string, gpuHours float64, ok bool) {
	if gpus <= 0 || !(waste > 0 && waste <= 1) {
		return "", 0, false
	}
	gpuHours = rounded(float64(gpus) * waste)
	return Level(gpuHours), gpuHours, true
}

// Waste is the share of the time that is wasted where a step takes so many times as long as before; 0 where it takes no longer.
func Waste(ratio float64) float64 {
	if !(ratio > 1) || math.IsInf(ratio, 1) {
		return 0
	}
	return 1 - 1/ratio
}

// GPUHours is what so many seconds of a job of so many GPUs are.
func GPUHours(seconds float64, gpus int) float64 { return rounded(seconds * float64(gpus) / 3600) }

func rounded(x float64) float64 { return math.Round(x*10) / 10 }
