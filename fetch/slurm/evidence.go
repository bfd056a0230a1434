package slurm

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// The files that hold what a cluster said, among the logs of a case: evidence like any other, quoted and read again.
const (
	AccountingName = "slurm-accounting.txt" // as `sacct -P` prints it, with its header; times are seconds since 1970
	NodesName      = "slurm-nodes.txt"      // as `scontrol show node` prints it
)

// header are the columns of the accounting file. The name is last: whatever stands in it, the others are right.
var header = []string{
	"JobID", "JobIDRaw", "User", "Account", "Partition", "State", "ExitCode", "DerivedExitCode", "NNodes", "NTasks", "NodeList", "Submit", "Start", "End",
	"Timelimit", "Restarts", "FailedNode", "Reason", "WorkDir", "StdOut", "StdErr", "SubmitLine", "JobName",
}

// Accounting writes the records of jobs as text.
func Accounting(jobs []Job) []byte {
	var b bytes.Buffer
	b.WriteString(strings.Join(header, "|") + "\n")
	for i := range jobs {
		for _, run := range jobs[i].Runs {
			for _, r := range run.Records {
				writeRow(&b, []string{
					r.JobID, r.Raw, r.User, r.Account, r.Partition, r.State, r.ExitCode, r.Derived, number(r.NNodes), number(r.NTasks), r.NodeList,
					moment(r.Submit), moment(r.Start), moment(r.End), r.Limit, number(r.Restarts), r.FailedNode, r.Reason, r.WorkDir, r.StdOut, r.StdErr, r.SubmitLine, r.Job,
				})
				for _, s := range r.Steps {
					writeRow(&b, []string{
						s.ID, s.Raw, "", r.Account, "", s.State, s.ExitCode, "", number(s.NNodes), number(s.NTasks), s.NodeList,
						moment(r.Submit), moment(s.Start), moment(s.End), "", "", "", "", "", "", "", "", s.Job,
					})
				}
			}
		}
	}
	return b.Bytes()
}

// cell keeps a value in its column and on its line.
var cell = strings.NewReplacer("|", "¦", "\n", " ", "\r", " ", "\x00", " ")

func writeRow(b *bytes.Buffer, cells []string) {
	for i, c := range cells {
		if i > 0 {
			b.WriteByte('|')
		}
		b.WriteString(cell.Replace(c))
	}
	b.WriteByte('\n')
}

func number(n int) string {
	if n < 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "Unknown"
	}
	return strconv.FormatInt(t.Unix(), 10)
}
