package messages

import "fmt"

// Price is what an hour of one GPU costs; the zero Price is not known.
type Price struct {
	PerGPUHour float64
	Currency   string
}

// of is what so many GPU hours cost, in whole units behind a comma; "" where that is not known, or nothing.
func (p Price) of(gpuHours float64) string {
	cost := p.PerGPUHour * gpuHours
	if cost < 1 {
		return ""
	}
	return fmt.Sprintf(", %s %s", grouped(int64(cost+0.5)), flat(p.Currency))
}
