package messages

import (
	"slices"
	"testing"

	"faultline/incident"
)

// Deletions and waits on purpose are no errors, and time is told in seconds.
func TestOnlyErrorsAreCountedAsErrors(t *testing.T) {
	of := func(name string, since, before int64) incident.StorageCounter {
		return incident.StorageCounter{Name: name, Since: &since, Before: &before}
	}
	d := incident.StorageDaemon{Name: "target t-1", Compared: &incident.StorageSpans{Since: 120, Before: 1800}, Counters: []incident.StorageCounter{
		of("del.n", 60, 0), of("err.get.n", 8, 30), of("getbatch.throttle.ns", 12_500_000_000, 0), of("get.n", 9000, 9000),
	}}
	v := daemonOf(&d, false)
	for _, want := range []pair{{"Errors", "err.get.n +8 (4.0/min; before: 1.0/min)."}, {"Throttling", "getbatch.throttle.ns +12.5 s (6.2 s/min; before: 0.0 s/min)."}} {
		if !slices.Contains(v.Facts, want) {
			t.Errorf("%+v is not among %+v", want, v.Facts)
		}
	}
}
