package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxJobs bounds the jobs of one answer: an array has at most some millions of elements in theory, and 100,000 in practice.
const maxJobs = 100_000

// gap is how much time may lie between two records of one job. Ids are given again after the highest one.
const gap = 60 * 24 * time.Hour

// assemble makes jobs of records, sorted by id. Records of one id that belong to another, older job are left out, with a note.
func assemble(records []Record, source string, release int) []Job {
	byID := map[string][]Record{}
	var order []string
	for _, r := range records {
		if byID[r.JobID] == nil {
			order = append(order, r.JobID)
		}
		byID[r.JobID] = append(byID[r.JobID], r)
	}
	var jobs []Job
	for _, id := range order {
		if job, ok := oneJob(byID[id]); ok {
			job.Source, job.Release = source, release
			jobs = append(jobs, job)
		}
		if len(jobs) == maxJobs {
			break
		}
	}
	slices.SortStableFunc(jobs, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Het, b.Het), cmp.Compare(a.Component, b.Component), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Raw, b.Raw))
	})
	return jobs
}

// oneJob makes a job of the records of one id.
func oneJob(records []Record) (Job, bool) {
	slices.SortStableFunc(records, func(a, b Record) int { return cmp.Or(a.Submit.Compare(b.Submit), began(a).Compare(began(b))) })
	from := 0
	for i := 1; i < len(records); i++ {
		if !sameJob(records[i-1], records[i]) {
			from = i
		}
	}
	job := Job{Array: None, Task: None, Het: None, Component: None}
	if from > 0 {
		old := records[from-1]
		job.Notes = append(job.Notes, fmt.Sprintf("An older job had the same ID %s (submitted %s); I use the newest.", old.JobID, old.Submit.UTC().Format("2006-01-02 15:04")+" UTC"))
		records = records[from:]
	}
	last := records[len(records)-1]
	id, err := ParseID(last.JobID)
	if err != nil {
		return Job{}, false
	}
	job.ID, job.Raw = last.JobID, whole(last.Raw)
	if job.Raw == None {
		job.Raw = id.Job
	}
	if id.Task != None || id.Tasks != "" {
		job.Array, job.Task = id.Job, id.Task
	}
	if id.Component != None {
		job.Het, job.Component = id.Job, id.Component
	}
	for _, r := range records { // the newest that tells
		job.User, job.UID = cmp.Or(r.User, job.User), cmp.Or(r.UID, job.UID)
		job.Account, job.Partition = cmp.Or(r.Account, job.Account), cmp.Or(r.Partition, job.Partition)
		job.Name, job.WorkDir = cmp.Or(r.Job, job.Name), cmp.Or(r.WorkDir, job.WorkDir)
		job.StdOut, job.StdErr, job.SubmitLine = cmp.Or(r.StdOut, job.StdOut), cmp.Or(r.StdErr, job.StdErr), cmp.Or(r.SubmitLine, job.SubmitLine)
		job.Command = cmp.Or(r.Command, job.Command)
	}
	job.Runs = runs(records)
	return job, true
}

func began(r Record) time.Time {
	switch {
	case !r.Start.IsZero():
		return r.Start
	case !r.End.IsZero():
		return r.End // cancelled while it waited
	}
	return r.Submit.Add(gap) // waits: after all that have begun
}

// goesOn are states after which the same job has another record.
var goesOn = map[string]bool{requeued: true, preempted: true, nodeFail: true, resizing: true, "BOOT_FAIL": true, "REQUEUE_HOLD": true, "SPECIAL_EXIT": true}

// sameJob says whether b is a later record of a's job and not of another job that was given the same id.
func sameJob(a, b Record) bool {
	if a.User != "" && b.User != "" && a.User != b.User || a.Job != "" && b.Job != "" && a.Job != b.Job || a.WorkDir != "" && b.WorkDir != "" && a.WorkDir != b.WorkDir {
		return false
	}
	switch {
	case State(a.State) == resizing || b.Restarts > 0:
		return true
	case b.Restarts == 0: // told, and so its first run
		return false
	}
	// scontrol requeue after the end leaves a record like any other job's.
	return goesOn[State(a.State)] || a.End.IsZero() || b.Submit.Sub(a.End) < gap
}

// runs joins the records of each run: one that ended by a change of size goes on in the next.
func runs(records []Record) []Run {
	var out []Run
	for i, r := range records {
		if i > 0 && State(records[i-1].State) == resizing {
			out[len(out)-1].Records = append(out[len(out)-1].Records, r)
			continue
		}
		restart := r.Restarts
		if restart == None {
			restart = len(out)
		}
		out = append(out, Run{Records: []Record{r}, Restart: restart})
	}
	for i := range out {
		out[i].Steps = steps(out[i].Records)
	}
	return out
}

// steps are those of all records of a run; of a step that both name the later state counts, unless it only says that the
// size changed.
func steps(records []Record) []Step {
	var out []Step
	for _, r := range records {
		for _, s := range r.Steps {
			i := slices.IndexFunc(out, func(o Step) bool { return o.Name == s.Name })
			switch {
			case i < 0:
				out = append(out, s)
			case State(s.State) != resizing:
				out[i] = s
			}
		}
	}
	return out
}

// stepName is what stands behind the job's id: "0", "batch".
func stepName(id string) string {
	_, name, _ := strings.Cut(id, ".")
	name, _, _ = strings.Cut(name, "+")
	return name
}

// epoch reads seconds since 1970, or the cluster's local time where a version does not give them.
func epoch(s string, zone *time.Location) time.Time {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if n <= 0 || n > 1<<40 {
			return time.Time{}
		}
		return time.Unix(n, 0).UTC()
	}
	if zone == nil {
		zone = time.UTC
	}
	t, err := time.ParseInLocation("2006-01-02T15:04:05", s, zone)
	if err != nil || t.Year() < 1990 {
		return time.Time{}
	}
	return t.UTC()
}
