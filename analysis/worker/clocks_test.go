package worker

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"faultline/analysis/line"
)

// What a collector's clock shows and a program's does not is told by the program's.
func TestACollectorsClockIsTheProgramsElsewhere(t *testing.T) {
	begin := time.Date(2026, 3, 1, 23, 50, 0, 0, time.UTC)
	lines := []string{
		"STAMP [INFO] train: epoch 0 step 1 loss 3.0", "STAMP [INFO] train: epoch 0 step 2 loss 2.9", "STAMP [INFO] train: saved", "no stamp of its own",
		"[rank0]: Traceback (most recent call last):", `[rank0]:   File "/app/a.py", line 3, in f`, "[rank0]:     f()", "[rank0]: ValueError: bad shape",
	}
	for _, c := range []struct {
		name, layout string
		ahead        time.Duration
		read         string // when the traceback was written; "" = not known by itself
	}{
		{"the same clock", "2006-01-02T15:04:05.000000000Z ", 300 * time.Millisecond, "03-01 23:50:07"},
		{"UTC beside a zone in the east", "2006-01-02T15:04:05.000000000Z ", -8 * time.Hour, "03-01 23:50:07"},
		{"India, over midnight, a journal", "Jan 02 15:04:05 ", 5*time.Hour + 30*time.Minute, "03-01 23:50:07"},
		{"no zone stated", "2006-01-02 15:04:05 ", 7 * time.Hour, "03-01 23:50:07"},
		{"lines that were held back", "2006-01-02T15:04:05.000000000Z ", 20 * time.Minute, "03-02 00:10:07"},
		{"collected days later", "2006-01-02T15:04:05.000000000Z ", 200 * time.Hour, "03-01 23:50:02"}, // as the line above
	} {
		t.Run(c.name, func(t *testing.T) {
			var text strings.Builder
			for i, l := range lines {
				now := begin.Add(time.Duration(i) * time.Second)
				text.WriteString(now.Add(c.ahead).Format(c.layout) + strings.Replace(l, "STAMP", now.Format("2006-01-02 15:04:05,000"), 1) + "\n")
			}
			sc, err := NewScanner()
			if err != nil {
				t.Fatal(err)
			}
			obs, err := Read(context.Background(), "a.log", strings.NewReader(text.String()), sc)
			if err != nil {
				t.Fatal(err)
			}
			if len(obs.Exceptions) != 1 || len(obs.Progress) == 0 {
				t.Fatalf("%d exceptions, %d steps", len(obs.Exceptions), len(obs.Progress))
			}
			s := obs.Exceptions[0].Stamp
			if s.Kind == line.NoStamp {
				s = s.FromAbove()
			}
			if got := fmt.Sprintf("%02d-%02d %02d:%02d:%02d", s.Month, s.Day, s.Hour, s.Minute, s.Second); got != c.read {
				t.Errorf("written at %s, expected %s", got, c.read)
			}
		})
	}
}

// A line may begin with a date that it speaks of: what the collector says of the others stands.
func TestADateIsNoClock(t *testing.T) {
	sc, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	const text = "2026-03-01T10:00:00Z 2024-05-01 00:00:00 - data of that day\n2026-03-01T10:00:01Z 2031-01-01 00:00:00 - a licence ends\n" +
		"2026-03-01T10:00:02Z [rank0]: Traceback (most recent call last):\n2026-03-01T10:00:02Z [rank0]:   File \"/a.py\", line 3, in f\n2026-03-01T10:00:02Z [rank0]: ValueError: bad\n"
	for name, log := range map[string]string{"alone": text, "beside the program's clock": "2026-03-01T09:59:59Z 2026-03-01 09:59:59 - begins\n" + text} {
		obs, err := Read(context.Background(), "a.log", strings.NewReader(log), sc)
		if err != nil {
			t.Fatal(err)
		}
		if len(obs.Exceptions) != 1 || obs.Exceptions[0].Stamp.Hour != 10 || obs.Exceptions[0].Stamp.Second != 2 {
			t.Errorf("%s: %+v", name, obs.Exceptions)
		}
	}
}
