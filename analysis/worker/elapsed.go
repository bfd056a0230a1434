package worker

import (
	"bytes"
	"strconv"

	"faultline/pattern"
)

// Scripts print how far long work has come by a count and the seconds since it began: "finish 885000, taken 20619.9 seconds". That such a
// clock goes on shows that the process works, whatever the work is called.

// elapsed is such a clock as it was last read.
type elapsed struct {
	words   string // of its lines, without their numbers
	count   float64
	seconds float64
	lines   int
}

const (
	fewElapsed  = 3 // lines, from which on a clock is one
	paceElapsed = 5 // times faster or slower than so far is no longer the same work
)

var (
	elapsedTime = pattern.New(`(?i)\b(?:taken|took|elapsed)\b\W{0,3}(\d{1,7}(?:\.\d+)?) ?(?:s|secs?|seconds)\b`)
	firstCount  = pattern.New(`\b(\d{1,12})\b`)
)

func elapsedHandlers() []handler {
	return []handler{{"elapsed", []string{", taken ", " taken: ", " took ", "elapsed: ", "elapsed=", ", elapsed "}, readElapsed}}
}

func readElapsed(r *reader, rec *record) bool {
	const maxPrint = 300
	if len(rec.Msg) > maxPrint {
		return false
	}
	m := elapsedTime.FindSubmatch(rec.Msg)
	if m == nil {
		return false
	}
	now := elapsed{words: string(bytes.TrimSpace(bytes.Map(withoutDigits, rec.Msg))), lines: 1}
	now.seconds, _ = strconv.ParseFloat(string(m[1]), 64)
	before, _, _ := bytes.Cut(rec.Msg, m[0])
	if c := firstCount.FindSubmatch(before); c != nil {
		now.count, _ = strconv.ParseFloat(string(c[1]), 64)
	}
	last := r.elapsed
	work := Doing{At: rec.At, Kind: DoingWork, What: string(bytes.TrimSpace(rec.Msg)), Ran: int64(now.seconds)}
	switch {
	case last.continues(&now):
		now.lines = last.lines + 1
	case last.lines >= fewElapsed && now.seconds > last.seconds:
		work.Done = true // the line behind the last of a clock, which has counted on
	}
	r.elapsed = now
	if now.lines < fewElapsed && !work.Done {
		return false
	}
	if n := len(r.obs.Doings); n > 0 && r.obs.Doings[n-1].Kind == DoingWork && *r.obs.Doings[n-1].Who() == rec.Who {
		r.obs.Doings[n-1] = work
		return true
	}
	emit(r, &r.obs.Doings, work)
	return true
}

// continues says that a line is the next of a clock: the same words, more of the count, and about as much time for it as before.
func (e *elapsed) continues(now *elapsed) bool {
	if e.words != now.words || now.count <= e.count || now.seconds <= e.seconds || now.count == 0 {
		return false
	}
	pace, each := now.seconds/now.count, (now.seconds-e.seconds)/(now.count-e.count)
	return each < paceElapsed*pace && pace < paceElapsed*each
}

func withoutDigits(r rune) rune {
	if r >= '0' && r <= '9' || r == '.' {
		return -1
	}
	return r
}
