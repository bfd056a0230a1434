package slurm

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// None is the number of what a job does not have: an array index, a component, a restart count that nobody states.
const None = -1

// ID is a job as people write it. It is made by ParseID only: what it holds may stand in a command.
type ID struct {
	Job       int    // 123
	Task      int    // the index in 123_4, or None
	Component int    // the offset in 123+1, or None
	Tasks     string // what stands in the brackets of 123_[1-4], or ""
}

// ErrNotAnID says that a text is no job id; nothing was asked.
var ErrNotAnID = errors.New("not a job ID")

var idShape = regexp.MustCompile(`^([1-9][0-9]{0,9})(?:_([0-9]{1,7})|_\[([0-9,%:-]{1,100})\]|\+([0-9]{1,3}))?(?:\.(?:[0-9]{1,10}|batch|extern|interactive))?$`)

// ParseID reads 123, 123_4, 123+1 and 123_[1-4]; a step behind it (123.0) is taken off. Everything else is refused.
func ParseID(s string) (ID, error) {
	m := idShape.FindStringSubmatch(s)
	if m == nil {
		return ID{}, fmt.Errorf("%q: %w. Write a job ID as squeue and sacct show it: 4242, 4242_7 for an array task, 4242_[1-4] for several, 4242+1 for a heterogeneous job component",
			clip(s), ErrNotAnID)
	}
	id := ID{Job: whole(m[1]), Task: whole(m[2]), Tasks: m[3], Component: whole(m[4])}
	return id, nil
}

// whole is a number of digits, or None.
func whole(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return None
	}
	return n
}

func (id ID) String() string {
	s := strconv.Itoa(id.Job)
	switch {
	case id.Tasks != "":
		return s + "_[" + id.Tasks + "]"
	case id.Task != None:
		return s + "_" + strconv.Itoa(id.Task)
	case id.Component != None:
		return s + "+" + strconv.Itoa(id.Component)
	}
	return s
}

// Wants says whether an element of an array is among those that the id names.
func (id ID) Wants(task int) bool {
	if id.Task != None {
		return task == id.Task
	}
	if id.Tasks == "" {
		return true
	}
	list, _, _ := strings.Cut(id.Tasks, "%")
	for part := range strings.SplitSeq(list, ",") {
		part, step, _ := strings.Cut(part, ":")
		from, to, isRange := strings.Cut(part, "-")
		a, b := whole(from), whole(to)
		if !isRange {
			b = a
		}
		if every := max(whole(step), 1); a != None && task >= a && task <= b && (task-a)%every == 0 {
			return true
		}
	}
	return false
}

// master is the id that names all of a job: the array's or the heterogeneous job's own.
func (id ID) master() string { return strconv.Itoa(id.Job) }

// query is what to ask SLURM for: brackets are not understood there.
func (id ID) query() string {
	if id.Tasks != "" {
		return id.master()
	}
	return id.String()
}

func clip(s string) string { return s[:min(len(s), 60)] }
