package worker

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"faultline/analysis/ascii"
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

// Words in front of the seconds, units behind them, and how many other characters may stand between a word and its number.
var (
	elapsedWords = []string{"taken", "took", "elapsed"}
	secondsUnits = []string{"s", "sec", "secs", "seconds"}
)

const (
	elapsedApart  = 3
	elapsedDigits = 7
	countDigits   = 12
)

// elapsedIn finds "taken 20619.9 seconds" in a text: the seconds, and the text in front.
func elapsedIn(text []byte) (before, seconds []byte, ok bool) {
	for i, end := nextDigits(text, 0); i < end; i, end = nextDigits(text, end) {
		word := i
		for range elapsedApart {
			if r, n := utf8.DecodeLastRune(text[:word]); noWord(r) {
				word -= n
			}
		}
		begin := bytes.LastIndexFunc(text[:word], noWord) + 1
		if end-i > elapsedDigits || word == i || !oneOf(text[begin:word], elapsedWords) {
			continue
		}
		if rest, point := bytes.CutPrefix(text[end:], []byte(".")); point && len(rest) > 0 && ascii.Digit(rest[0]) {
			_, end = nextDigits(text, end)
		}
		unit := bytes.TrimPrefix(text[end:], []byte(" "))
		if n := bytes.IndexFunc(unit, noWord); n >= 0 {
			unit = unit[:n]
		}
		if oneOf(unit, secondsUnits) {
			return text[:begin], text[i:end], true
		}
	}
	return nil, nil, false
}

// firstCount is the first whole number of a text that stands by itself; nil where there is none.
func firstCount(text []byte) []byte {
	for _, word := range bytes.FieldsFunc(text, noWord) {
		if _, end := nextDigits(word, 0); end == len(word) && ascii.Digit(word[0]) && end <= countDigits {
			return word
		}
	}
	return nil
}

// nextDigits finds the first run of digits at or behind from; at is end where there is none.
func nextDigits(text []byte, from int) (at, end int) {
	n := slices.IndexFunc(text[from:], ascii.Digit[byte])
	if n < 0 {
		return 0, 0
	}
	at = from + n
	for end = at; end < len(text) && ascii.Digit(text[end]); {
		end++
	}
	return at, end
}

func noWord(r rune) bool { return r != '_' && !ascii.Alnum(r) }

// oneOf reports whether a word is one of a list, in any case of letters.
func oneOf(word []byte, list []string) bool {
	return slices.ContainsFunc(list, func(w string) bool { return bytes.EqualFold(word, []byte(w)) })
}

func elapsedHandlers() []handler {
	return []handler{{"elapsed", []string{", taken ", " taken: ", " took ", "elapsed: ", "elapsed=", ", elapsed "}, readElapsed}}
}

func readElapsed(r *reader, rec *record) bool {
	const maxPrint = 300
	if len(rec.Msg) > maxPrint {
		return false
	}
	before, seconds, ok := elapsedIn(rec.Msg)
	if !ok {
		return false
	}
	now := elapsed{words: string(bytes.TrimSpace(bytes.Map(withoutDigits, rec.Msg))), lines: 1}
	now.seconds, _ = strconv.ParseFloat(string(seconds), 64)
	now.count, _ = strconv.ParseFloat(string(firstCount(before)), 64)
	last, done := r.elapsed, false
	switch {
	case last.continues(&now):
		now.lines = last.lines + 1
	case last.lines >= fewElapsed && now.seconds > last.seconds:
		done = true // the line behind the last of a clock, which has counted on
	}
	r.elapsed = now
	if now.lines < fewElapsed && !done {
		return false
	}
	work := Doing{At: rec.At, Kind: DoingWork, What: string(bytes.TrimSpace(rec.Msg)), Ran: int64(now.seconds), Done: done}
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
