package slurm

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxAnswer bounds what is read of one response.
const maxAnswer = 64 << 20

// always are the columns that every version since 20.11 has; sometimes are asked for where `sacct -e` lists them.
var (
	always = []string{
		"JobID", "JobIDRaw", "User", "Account", "Partition", "State", "ExitCode", "DerivedExitCode", "NNodes", "NTasks", "NodeList",
		"Submit", "Start", "End", "Timelimit", "Reason", "WorkDir",
	}
	sometimes = []string{"UID", "Restarts", "FailedNode", "StdOut", "StdErr", "SubmitLine"}
)

// separator stands between columns. Names and submit lines are whatever people wrote: nobody who submits a job can know it, and so none of
// them holds it.
var separator = "\x1f" + rand.Text()[:12] + "\x1f"

// columns are what to ask for, given what `sacct -e` printed. JobName is last: whatever stands in it, the others are right.
func columns(listed map[string]bool) []string {
	out := slices.Clone(always)
	for _, c := range sometimes {
		if listed[strings.ToLower(c)] {
			out = append(out, c)
		}
	}
	return append(out, "JobName")
}

// parseFields reads `sacct -e`.
func parseFields(out []byte) map[string]bool {
	listed := map[string]bool{}
	for _, f := range strings.Fields(string(out[:min(len(out), 1<<20)])) {
		listed[strings.ToLower(f)] = true
	}
	return listed
}

var invalidField = regexp.MustCompile(`Invalid field requested: "?([A-Za-z]+)"?`)

// errShape says that an answer is not what was asked for.
var errShape = errors.New("the response has an unexpected format")

// parseSacct reads the rows of `sacct -P` with the columns given; sep stands between them and may stand in the last one.
func parseSacct(out []byte, cols []string, sep string, zone *time.Location) ([]Record, error) {
	var records []Record
	at := map[string]int{} // raw id → its newest record
	lines, err := rows(out, len(cols)-1, sep)
	if err != nil {
		return nil, err
	}
	for _, text := range lines {
		cells := strings.SplitN(text, sep, len(cols))
		row := map[string]string{}
		for i, c := range cols {
			row[c] = strings.TrimSpace(cells[i])
		}
		raw, step, isStep := strings.Cut(row["JobIDRaw"], ".")
		if row["JobIDRaw"] == "" {
			raw, step, isStep = strings.Cut(row["JobID"], ".")
		}
		if !isStep {
			at[raw] = len(records)
			records = append(records, record(row, raw, zone))
			continue
		}
		if i, ok := at[raw]; ok && step != "" {
			records[i].Steps = append(records[i].Steps, stepOf(row, zone))
		}
	}
	return records, nil
}

// rows are the lines of a table, each with so many separators: a submit line may hold line ends (srun bash -c '…').
func rows(out []byte, separators int, sep string) (list []string, err error) {
	var open []string // the lines of a row that is not complete
	have := 0
	for line := range bytes.Lines(out) {
		text := strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "?")
		n := strings.Count(text, sep)
		if len(open) == 0 && (text == "" || len(list) > 0 && n == 0) { // a line end in the last column
			continue
		}
		if len(open) > 0 && have+n > separators {
			return nil, shape(strings.Join(append(open, text), " "), separators, sep)
		}
		if open, have = append(open, text), have+n; have >= separators {
			list, open, have = append(list, strings.Join(open, " ")), nil, 0
		}
	}
	if len(open) > 0 {
		return nil, shape(strings.Join(open, " "), separators, sep)
	}
	return list, nil
}

func shape(row string, separators int, sep string) error {
	return fmt.Errorf("%w: sacct printed %d columns instead of %d: %q", errShape, strings.Count(row, sep)+1, separators+1, clip(row))
}

func record(row map[string]string, raw string, zone *time.Location) Record {
	r := Record{
		JobID: row["JobID"], Raw: raw, User: row["User"], UID: row["UID"], Account: row["Account"], Partition: row["Partition"], State: row["State"],
		ExitCode: row["ExitCode"], Derived: row["DerivedExitCode"], NNodes: whole(row["NNodes"]), NTasks: whole(row["NTasks"]), NodeList: row["NodeList"],
		Submit: epoch(row["Submit"], zone), Start: epoch(row["Start"], zone), End: epoch(row["End"], zone), Limit: row["Timelimit"],
		Restarts: None, FailedNode: none(row["FailedNode"]), Reason: none(row["Reason"]), WorkDir: row["WorkDir"], StdOut: row["StdOut"], StdErr: row["StdErr"],
		SubmitLine: row["SubmitLine"], Job: row["JobName"],
	}
	if n, err := strconv.Atoi(row["Restarts"]); err == nil && n >= 0 {
		r.Restarts = n
	}
	return r
}

func stepOf(row map[string]string, zone *time.Location) Step {
	return Step{
		ID: row["JobID"], Raw: row["JobIDRaw"], Name: stepName(row["JobID"]), Job: row["JobName"], State: row["State"], ExitCode: row["ExitCode"],
		NNodes: whole(row["NNodes"]), NTasks: whole(row["NTasks"]), NodeList: row["NodeList"], Start: epoch(row["Start"], zone), End: epoch(row["End"], zone),
	}
}

// none drops SLURM's ways to say nothing.
func none(s string) string {
	switch s {
	case "None", "(null)", "N/A", "None assigned":
		return ""
	}
	return s
}
