package diagnose

import (
	"math"
	"sort"

	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// turn is where a row stands among those of one moment: no effect stands above its cause.
type turn int

const (
	turnBefore turn = iota // what still went well
	turnCause
	turnWait
	turnGivenUp
	turnTold
	turnEffect
	turnExit
	turnReport // by a launcher, of a process that ended
	turnEnd
)

// turns are those of the kinds of rows; an error's own depends on its line.
var turns = map[string]turn{
	incident.EventSave: turnBefore, incident.EventStep: turnBefore, incident.EventLast: turnBefore, incident.EventError: turnCause, incident.EventWait: turnWait,
	incident.EventTimeout: turnGivenUp, incident.EventTold: turnTold, incident.EventExit: turnExit, incident.EventEnd: turnEnd,
}

// turnOf is the turn of an error.
func turnOf(fl *resolve.Failure) turn {
	switch {
	case fl.Says(knowledge.ReportsEnd):
		return turnReport
	case fl.Role != knowledge.CauseRole:
		return turnEffect
	}
	return turnCause
}

// aroundCause is how far apart the stamps of what may be the cause and of an effect may be, in seconds, where no clock proves their order. Other
// rows are told as of one moment where their times read alike.
const aroundCause = 5

// clockUnsure stands in the row of a cause whose stamp is later than that of an effect below it.
const clockUnsure = " (before or after the next row: the clocks can't tell)"

// inOrder sorts rows by time; those of one moment by what causes what.
func inOrder(rows []row) {
	sort.SliceStable(rows, func(i, j int) bool {
		a, b := rows[i], rows[j]
		switch {
		case a.t.T != b.t.T:
			return a.t.T < b.t.T
		case a.turn != b.turn:
			return a.turn < b.turn
		}
		return a.e.Event < b.e.Event
	})
	for i := range rows {
		for j := i; j > 0 && outOfTurn(rows[j-1], rows[j]); j-- {
			rows[j-1], rows[j] = rows[j], rows[j-1]
		}
	}
	for i := range rows[:max(len(rows)-1, 0)] {
		if math.Floor(rows[i].t.T) > math.Floor(rows[i+1].t.T) {
			rows[i].e.Event += clockUnsure
		}
	}
}

// outOfTurn says that an effect stands above what may be its cause, by stamps that prove nothing.
func outOfTurn(above, below row) bool {
	alike := math.Floor(above.t.T) == math.Floor(below.t.T)
	cause := below.turn == turnCause && below.t.T-above.t.T < aroundCause
	return below.turn < above.turn && (alike || cause) && !above.t.Before(below.t)
}
