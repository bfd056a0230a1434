package workflow

import "time"

// Part is a part of an investigation as its time is counted afterwards.
type Part string

// The parts, in their order.
const (
	PartCollect Part = "Collecting logs"
	PartWait    Part = "Waiting for people or the job"
	PartAnalyse Part = "Analysis"
	PartAfter   Part = "After the verdict"
)

// Parts are all of them, in their order.
var Parts = []Part{PartCollect, PartWait, PartAnalyse, PartAfter}

// partOf says to which part a state belongs.
var partOf = map[State]Part{
	Requested: PartCollect, LocatingJob: PartCollect, FetchingLogs: PartCollect, FetchingAIS: PartCollect,
	AwaitingLogs: PartWait, AwaitingEnd: PartWait, AwaitingAIS: PartWait,
	Triaging: PartAnalyse, Correlating: PartAnalyse, Verifying: PartAnalyse,
}

// Spent is how long each part took, by the transitions in a ledger; the state that lasts now is not counted.
func Spent(ledger []Entry) map[Part]time.Duration {
	out := map[Part]time.Duration{}
	var last *Entry
	for i := range ledger {
		e := &ledger[i]
		if e.Kind != "transition" {
			continue
		}
		if last != nil {
			part, ok := partOf[last.To]
			if !ok {
				part = PartAfter
			}
			out[part] += e.At.Sub(last.At)
		}
		last = e
	}
	return out
}
