package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// exitsBelieved is the first release whose JSON tells exit codes: before it, failed jobs are said to have ended with 0.
const exitsBelieved = 2302

// dbRecords reads the jobs of /slurmdb/vX/job and of `sacct --json`.
func dbRecords(t tree) []Record {
	release := t.release()
	var records []Record
	for _, j := range t.at("jobs").list() {
		if len(records) == maxJobs {
			break
		}
		r := Record{
			Raw: j.at("job_id").text(), User: firstText(j.at("user"), j.at("association", "user")), Account: firstText(j.at("account"), j.at("association", "account")),
			Partition: j.at("partition").text(), ExitCode: exitText(j.at("exit_code"), release), Derived: exitText(j.at("derived_exit_code"), release),
			NNodes: j.at("allocation_nodes").count(), NTasks: None, NodeList: j.at("nodes").text(),
			Submit: j.at("time", "submission").time(), Start: j.at("time", "start").time(), End: j.at("time", "end").time(),
			Limit: minutes(j.at("time", "limit")), Restarts: j.at("restart_cnt").count(), FailedNode: none(j.at("failed_node").text()),
			Reason: none(j.at("state", "reason").text()), WorkDir: j.at("working_directory").text(),
			StdOut: firstText(j.at("stdout"), j.at("stdout_expanded")), StdErr: firstText(j.at("stderr"), j.at("stderr_expanded")),
			SubmitLine: j.at("submit_line").text(), Job: j.at("name").text(),
		}
		r.State = stateOf(j.at("state", "current"), j.at("kill_request_user"))
		r.JobID = identity(r.Raw, j.at("array", "job_id"), j.at("array", "task_id"), j.at("array", "task"), j.at("het", "job_id"), j.at("het", "job_offset"))
		if r.JobID == "" || r.State == "" {
			continue
		}
		for _, s := range j.at("steps").list() {
			if step, ok := dbStep(s, r, release); ok {
				r.Steps = append(r.Steps, step)
			}
		}
		records = append(records, r)
	}
	return records
}

func firstText(ts ...tree) string {
	for _, t := range ts {
		if s := t.text(); s != "" {
			return s
		}
	}
	return ""
}

// identity is the job's id as sacct prints it.
func identity(raw string, array, task, tasks, het, offset tree) string {
	if id := whole(raw); id <= 0 {
		return ""
	}
	if n, ok := array.number(); ok && n > 0 {
		if i := task.count(); i != None {
			return fmt.Sprintf("%d_%d", n, i)
		}
		if s := tasks.text(); s != "" {
			return fmt.Sprintf("%d_[%s]", n, strings.Trim(s, "[]"))
		}
	}
	if n, ok := het.number(); ok && n > 0 && offset.count() != None {
		return fmt.Sprintf("%d+%d", n, offset.count())
	}
	return raw
}

// stateOf joins what newer versions give as a base state and flags into the one word that sacct prints. The name of who
// cancelled is not kept, except that it was root: the text form has a user id there.
func stateOf(state, killer tree) string {
	words := state.words()
	if len(words) == 0 {
		return ""
	}
	s := words[0]
	for _, flag := range []string{requeued, resizing, completing} {
		if slices.Contains(words, flag) {
			s = flag
		}
	}
	if s == cancelled && killer.text() == "root" {
		s += " by 0"
	}
	return s
}

func dbStep(s tree, r Record, release int) (Step, bool) {
	id := s.at("step", "id").text()
	if m := s.at("step", "id").at("step_id"); m.v != nil { // v0.0.39: {job_id, step_id}
		id = m.text()
	}
	name := id
	if _, after, ok := strings.Cut(id, "."); ok {
		name = after
	}
	name, _, _ = strings.Cut(name, "+")
	if name == "" {
		return Step{}, false
	}
	nodes := s.at("nodes", "range").text()
	return Step{
		ID: r.JobID + "." + name, Raw: r.Raw + "." + name, Name: name, Job: s.at("step", "name").text(), State: stateOf(s.at("state"), s.at("kill_request_user")),
		ExitCode: exitText(s.at("exit_code"), release), NNodes: s.at("nodes", "count").count(), NTasks: s.at("tasks", "count").count(), NodeList: nodes,
		Start: s.at("time", "start").time(), End: s.at("time", "end").time(), StdOut: s.at("stdout_expanded").text(), StdErr: s.at("stderr_expanded").text(),
	}, true
}

// exitText is "code:signal"; "" where the version cannot be believed, or nothing is told.
func exitText(t tree, release int) string {
	if release > 0 && release < exitsBelieved || t.v == nil {
		return ""
	}
	if _, object := t.v.(map[string]any); !object {
		return "" // a raw wait status, of versions that are not believed
	}
	if slices.Contains(t.at("status").words(), "PENDING") {
		return ""
	}
	code, hasCode := t.at("return_code").number()
	signal, hasSignal := t.at("signal").at("id|signal_id").number()
	if !hasCode && !hasSignal {
		return ""
	}
	return fmt.Sprintf("%d:%d", code, signal)
}

// minutes is a time limit as sacct prints it.
func minutes(t tree) string {
	n, ok := t.number()
	if !ok || n <= 0 || n > 1<<31 {
		return ""
	}
	s := fmt.Sprintf("%02d:%02d:00", n/60%24, n%60)
	if days := n / (60 * 24); days > 0 {
		s = strconv.FormatInt(days, 10) + "-" + s
	}
	return s
}

// liveRecords reads the jobs of /slurm/vX/job and of `scontrol show job --json`.
func liveRecords(t tree) []Record {
	release := t.release()
	var records []Record
	for _, j := range t.at("jobs").list() {
		if len(records) == maxJobs {
			break
		}
		r := Record{
			Raw: j.at("job_id").text(), User: j.at("user_name").text(), UID: j.at("user_id").text(), Account: j.at("account").text(), Partition: j.at("partition").text(),
			State: stateOf(j.at("job_state"), tree{}), ExitCode: exitText(j.at("exit_code"), release), Derived: exitText(j.at("derived_exit_code"), release),
			NNodes: j.at("node_count").count(), NTasks: j.at("tasks").count(), NodeList: j.at("nodes").text(),
			Submit: j.at("submit_time").time(), Start: j.at("start_time").time(), End: j.at("end_time").time(), Limit: minutes(j.at("time_limit")),
			Restarts: j.at("restart_cnt").count(), FailedNode: none(j.at("failed_node").text()), Reason: none(j.at("state_reason").text()),
			WorkDir: j.at("current_working_directory").text(), StdOut: j.at("standard_output").text(), StdErr: j.at("standard_error").text(), Job: j.at("name").text(),
		}
		r.JobID = identity(r.Raw, j.at("array_job_id"), j.at("array_task_id"), j.at("array_task_string"), j.at("het_job_id"), j.at("het_job_offset"))
		if r.JobID != "" && r.State != "" {
			records = append(records, r)
		}
	}
	return records
}

// nodeText writes nodes of /slurm/vX/node as `scontrol show node` does, as far as it matters here.
func nodeText(t tree, wanted map[string]bool) map[string]string {
	out := map[string]string{}
	for _, n := range t.at("nodes").list() {
		name := n.at("name").text()
		if !wanted[name] {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "NodeName=%s\n   State=%s\n", name, oneLine(strings.Join(n.at("state").words(), "+")))
		fmt.Fprintf(&b, "   BootTime=%s SlurmdStartTime=%s\n   LastBusyTime=%s", stamp(n.at("boot_time")), stamp(n.at("slurmd_start_time")), stamp(n.at("last_busy")))
		if reason := n.at("reason").text(); reason != "" {
			fmt.Fprintf(&b, "\n   Reason=%s [%s@%s]", oneLine(reason), oneLine(n.at("reason_set_by_user").text()), stamp(n.at("reason_changed_at")))
		}
		out[name] = b.String()
	}
	return out
}

func stamp(t tree) string {
	at := t.time()
	if at.IsZero() {
		return "None"
	}
	return strconv.FormatInt(at.Unix(), 10)
}
