package workflow

import (
	"maps"
	"testing"
	"time"
)

func TestTimeIsCountedByThePartsOfAnInvestigation(t *testing.T) {
	began := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	at := func(minutes int, to State) Entry {
		return Entry{Kind: "transition", At: began.Add(time.Duration(minutes) * time.Minute), To: to}
	}
	got := Spent([]Entry{at(0, LocatingJob), at(1, FetchingLogs), {Kind: "fetched", At: began.Add(time.Hour)}, at(3, Triaging), at(4, AwaitingAIS), at(14, FetchingAIS), at(15, Correlating), at(17, Reported), at(60, Closed)})
	want := map[Part]time.Duration{PartCollect: 4 * time.Minute, PartWait: 10 * time.Minute, PartAnalyse: 3 * time.Minute, PartAfter: 43 * time.Minute}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, s := range States {
		if _, ok := partOf[s.State]; !ok && s.Kind == Working {
			t.Errorf("the time in %s is counted as after the verdict", s.State)
		}
	}
}
