package diagnose

import (
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

// How far apart the stamps of two rows may be, in seconds, that are told as of one moment where no clock proves their order.
const (
	oneMoment   = 1
	aroundCause = 5 // of what may be the cause
)

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
}

// outOfTurn says that an effect stands above what may be its cause, by stamps that prove nothing.
func outOfTurn(above, below row) bool {
	within := float64(oneMoment)
	if below.turn == turnCause {
		within = aroundCause
	}
	return below.turn < above.turn && below.t.T-above.t.T < within && !above.t.Before(below.t)
}
