package aislog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Hours in which a daemon has little to do do not hide the short pause in an hour in which it is busy.
func TestIdleHoursDoNotHideAPause(t *testing.T) {
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	b := strings.Builder{}
	fmt.Fprintf(&b, "Started up at %s, host vm, go1.26.8 for linux/amd64\n", at.Format("2006/01/02 15:04:05"))
	tick := func(by time.Duration) {
		at = at.Add(by)
		fmt.Fprintf(&b, "I %s {get.n:1,state.flags:6}\n", at.Format("15:04:05.000000"))
	}
	for range 6 * 60 { // idle
		tick(time.Minute)
	}
	for range 4 * 360 { // busy
		tick(5 * time.Second)
	}
	held := at
	tick(20 * time.Second)
	tick(5 * time.Second)
	for range 3 * 360 {
		tick(10 * time.Second)
	}
	d := one(t, read(t, info("t-1", "1120-000000", 7), b.String()))
	found := false
	for _, p := range d.Pauses {
		found = found || p.From.Wall.Equal(held)
	}
	if !found {
		t.Errorf("the pause of 20 s at %s is not among %d", held.Format(time.TimeOnly), len(d.Pauses))
	}
}

func TestPausesAreBounded(t *testing.T) {
	p := &part{}
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for i := range 5 * mostPauses {
		p.last = Time{at, Marker}
		at = at.Add(time.Hour + time.Duration(i%7)*time.Minute)
		p.paused(&record{time: Time{at, Marker}})
	}
	if n := len(p.pauses); n < mostPauses || n > 2*mostPauses {
		t.Errorf("%d pauses are held", n)
	}
	for i := 1; i < len(p.pauses); i++ {
		if p.pauses[i].From.Wall.Before(p.pauses[i-1].From.Wall) {
			t.Fatalf("pause %d begins before the one before it", i)
		}
	}
}

// What the first line of counters of a rotated log shows is not lost between the files.
func TestSlownessAcrossFilesIsKept(t *testing.T) {
	a := read(t, info("t-1", "1120-231339", 7), up+"I 23:13:40.000000 {get.n:1,state.flags:6}\nI 23:14:00.000000 {get.n:9,state.flags:6}\n")
	b := read(t, info("t-1", "1120-231401", 7), "Rotated at 2026/11/20 23:14:01, host vm, go1.26.8 for linux/amd64\n"+
		"I 23:14:09.000000 running(x-get-batch[gb1],get-batch[gb2])\nI 23:14:10.000000 {get.n:12,get.ns:4000000000,state.flags:6}\nI 23:14:10.100000 running(get-batch[gb1])\nI 23:14:20.000000 {get.n:15,state.flags:6}\n")
	d := one(t, a, b)
	for _, iv := range d.Intervals {
		if iv.At.File == b.name && iv.Base.File == a.name {
			if len(iv.Slow) != 1 || iv.Slow[0] != (Growth{"get.ns", 4e9}) || iv.Batches == 0 {
				t.Errorf("between the files: slow %v, %d batches", iv.Slow, iv.Batches)
			}
			return
		}
	}
	t.Errorf("no interval between the files: %+v", d.Intervals)
}

// Lines that the reader has no use for are lines all the same: a pause says whether there are any in it.
func TestAPauseSaysWhetherLinesLieInIt(t *testing.T) {
	for between, lines := range map[string]int64{"": 0, "I 23:14:20.000000 what nobody reads\nI 23:14:30.000000 what nobody reads\n": 2} {
		text := up + strings.Repeat("I 23:13:50.000000 head\n", 60) + "I 23:14:00.000000 {get.n:1,state.flags:6}\n" + between + "I 23:15:00.000000 {get.n:9,state.flags:6}\n"
		text += strings.Repeat("I 23:15:00.100000 tail of the file, read once more for its end\n", 2000)
		d := one(t, read(t, info("t-1", "1120-231339", 7), text))
		found := false
		for _, p := range d.Pauses {
			if p.length() == time.Minute {
				if found = true; p.Lines != lines {
					t.Errorf("%d lines lie in it, not %d", p.Lines, lines)
				}
			}
		}
		if !found {
			t.Errorf("no pause of a minute: %+v", d.Pauses)
		}
	}
}

// Of a request that came and did not end, a target counts only how long it took to get there.
func TestRequestsThatDoNotEnd(t *testing.T) {
	line := func(sec int, counters string) string {
		return "I 23:15:0" + string(rune('0'+sec)) + ".000000 {" + counters + "state.flags:6}\n"
	}
	d := one(t, read(t, info("a-1", "1120-231339", 1), up+line(1, "put.n:5,")+line(3, "put.n:5,put.redir.ns:900000,")+line(5, "put.n:6,put.redir.ns:800000,")+
		line(7, "err.put.n:1,put.n:6,put.redir.ns:800000,")+line(9, "get.n:1,get.redir.ns:7,put.n:6,")))
	want := [][]string{nil, {"put"}, nil, nil, nil}
	for i, iv := range d.Intervals {
		if !slices.Equal(iv.Begun, want[i]) {
			t.Errorf("line %d: %v, not %v", i+1, iv.Begun, want[i])
		}
	}
	if len(d.Intervals) != len(want) {
		t.Errorf("%d lines", len(d.Intervals))
	}
}
