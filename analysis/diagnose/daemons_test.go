package diagnose

import (
	"testing"
	"time"

	"faultline/analysis/aislog"
)

func TestEveryKindOfRecordHasWords(t *testing.T) {
	for _, k := range aislog.Kinds() {
		w, ok := daemonWords[k]
		if !ok || w.what == "" || w.level != alarm && w.level != notice && w.level != background {
			t.Errorf("%s: %+v", k, w)
		}
	}
	if n := len(aislog.Kinds()); n != len(daemonWords) {
		t.Errorf("words for %d kinds of %d", len(daemonWords), n)
	}
	for _, g := range []aislog.Gap{aislog.BeforeFirst, aislog.BetweenFiles, aislog.LostTail, aislog.NotFlushed, aislog.WarningsOnly} {
		if gapWords[g] == "" {
			t.Errorf("no words for %s", g)
		}
	}
	for _, e := range []aislog.Ending{aislog.Orderly, aislog.Failed, aislog.Killed, aislog.Unclear, aislog.Open} {
		if endWords[e] == "" {
			t.Errorf("no words for %s", e)
		}
	}
}

func TestTheWindowIsTheHourBeforeTheEnd(t *testing.T) {
	for end, want := range map[string]string{"2026-11-20T23:30:00": "2026-11-20T22:30:00/2026-11-20T23:35:00", "2026-11-20T00:10:00": "2026-11-19T23:10:00/2026-11-20T00:15:00",
		"11-20T23:30:00": "", "23:30:00": "", "": ""} {
		w, got := windowOf(&end), ""
		if w != nil {
			got = w.from.Format(plainTime) + "/" + w.to.Format(plainTime)
		}
		if got != want {
			t.Errorf("%q: %q, not %q", end, got, want)
		}
	}
	if windowOf(nil) != nil {
		t.Error("a window without an end")
	}
	w := &window{time.Unix(100, 0), time.Unix(200, 0)}
	for span, want := range map[[2]int64]bool{{0, 99}: false, {0, 100}: true, {150, 160}: true, {200, 300}: true, {201, 300}: false} {
		if got := w.touches(time.Unix(span[0], 0), time.Unix(span[1], 0)); got != want {
			t.Errorf("%v: %v", span, got)
		}
	}
}
