// Package timeseries reads tables over time, whatever program wrote them: rows of cells below a line of headings (with commas, tabs, semicolons, bars
// or blanks between them), rows of "name=value", and rows that are JSON objects. A row has a time or a step of its own, or stands below a line
// with a time. What is not a number, or counts through the members of a group (an index of GPUs), says whose numbers those are. It says what
// the tables state, and not what it means for a job.
//
// Written by nvidia-smi --query-gpu (CSV) and dmon, iostat, vmstat, sar, mpstat, switches' counters, exporters and people's own scripts.
package timeseries

import (
	"maps"

	"faultline/analysis/artifact/lines"
	"faultline/analysis/line"
)

// None is a step that is not stated.
const None = -1

// Table is what one file says.
type Table struct {
	Host   string // by a heading, a prompt or a comment in it; "" where none names one
	Date   line.Stamp
	Series []*Series
}

// Key is one cell that says whose numbers those of a row are: host c12n1.
type Key struct{ Name, Value string }

// Series is one quantity of one member, in the order of the file.
type Series struct {
	What   string // the heading of its column
	Keys   []Key
	Points []Point
}

// Point is one value.
type Point struct {
	Stamp line.Stamp
	Step  int64
	Value float64
	Text  string // as written
	lines.Place
}

// Like says that two tables have the same columns.
func (t *Table) Like(o *Table) bool {
	a, b := map[string]bool{}, map[string]bool{}
	for _, s := range t.Series {
		a[s.What] = true
	}
	for _, s := range o.Series {
		b[s.What] = true
	}
	return maps.Equal(a, b)
}

// Bounds.
const (
	maxRows   = 1 << 17
	maxCells  = 1 << 21
	maxNames  = 256
	maxSeries = 1 << 14
	// maxMembers is how many members a column may name.
	maxMembers = 1 << 12
	// HeadLen is how much of a file Recognise wants to see.
	HeadLen = 16 << 10
	// leastRows and leastTimes make a table over time.
	leastRows  = 3
	leastTimes = 2
)
