package worker

import (
	"bytes"
	"strconv"
	"strings"

	"faultline/analysis/hostlist"
	"faultline/analysis/line"
	"faultline/pattern"
)

// What srun and slurmstepd print, SLURM 20.11 to 26.05 (src/srun, src/slurmd/slurmstepd/req.c). Which task died first
// and what followed from it is not decided here: every line is kept, and its place in the file tells the order.

func slurmHandlers() []handler {
	return []handler{
		{"srun error", []string{"srun: error: ", "salloc: error: "}, readSrunError},
		{"srun end", []string{
			"Terminating StepId=", "Terminating job step ", "Job step aborted: ", "has been revoked", "has exceeded its time limit",
		}, readSrunEnd},
		{"slurmstepd end", []string{
			" CANCELLED AT ", " FAILED (non-zero exit code", " UNCORRECTABLE MEMORY ERROR AT ", " STEPD TERMINATED ON ",
		}, readStepdEnd},
		{"slurm oom", []string{"oom-kill event", "oom_kill event", " exceeded memory limit ("}, readStepdOOM},
		{"slurm failed node", []string{" on failed node "}, readFailedNode},
		{"slurm kill task", []string{": Kill task failed"}, readKillFailed},
		{"slurm prolog", []string{"Prolog failure on node ", "Prolog hung on node "}, readProlog},
		{"slurmstepd output", []string{"Could not open std"}, readStepdOutput},
		{"slurm talk", []string{
			"srun: Force Terminated ", "srun: got SIGCONT", "srun: forcing job termination", "srun: First task exited",
			"Timed out waiting for job step to complete", "_handle_signal_container: failed signal",
		}, func(*reader, *record) bool { return true }},
	}
}

// failedNode is how SLURM's controller tells of the end of a job (src/slurmctld/job_mgr.c).
var failedNode = pattern.New(`Killing JobId=(\d+)\S* on failed node ([\w.-]+)`)

func readFailedNode(r *reader, rec *record) bool {
	m := failedNode.FindStringSubmatch(string(rec.Text[:min(len(rec.Text), maxText)]))
	if m == nil {
		return false
	}
	r.ends(End{At: rec.At, Kind: EndNodeFailure, System: "SLURM's controller", Entity: "JOB", ID: m[1], Hosts: []string{m[2]}, Says: m[0]})
	return true
}

// clientError begins what srun and salloc say of a step or an allocation that went wrong: they share its code.
var clientError = pattern.New(`\b(?:srun|salloc): error: `)

var (
	taskExit   = pattern.New(`^(\S+): tasks? ([\d,\[\]-]+): (.+)$`)
	exitCode   = pattern.New(`^Exited with exit code (\d+)`)
	taskLaunch = pattern.New(`^task (\d+) launch failed: (.+)$`)
	nodeLaunch = pattern.New(`^Task launch for (?:StepId=|job step )?(\S+) failed on node ([\w.-]+): (.+)$`)
	anyLaunch  = pattern.New(`^(?:Application launch failed: .+|Unable to create step for job .+|Unable to confirm allocation for job .+|timeout waiting for task launch, .+|Unable to allocate resources: .+)$`)
)

// readSrunError reads every "srun: error: …" of a record; a file that srun and its tasks share may have several on one
// line.
func readSrunError(r *reader, rec *record) bool {
	understood := false
	text := rec.Text
	for {
		at := clientError.FindIndex(text)
		if at == nil {
			return understood
		}
		text = text[at[1]:]
		msg := text
		for _, next := range []string{"srun: ", "salloc: "} {
			if j := bytes.Index(msg, []byte(next)); j >= 0 {
				msg = msg[:j]
			}
		}
		if readSrunMessage(r, rec, string(bytes.TrimRight(msg[:min(len(msg), maxText)], " \t\r"))) {
			understood = true
		}
	}
}

func readSrunMessage(r *reader, rec *record, msg string) bool {
	if hosts, ok := strings.CutPrefix(msg, "Node failure on "); ok {
		r.ends(End{At: rec.At, Kind: EndNodeFailure, Hosts: expandHosts(strings.TrimSuffix(hosts, "."))})
		return true
	}
	if m := taskExit.FindStringSubmatch(msg); m != nil {
		t := TaskExit{At: rec.At, Hosts: expandHosts(m[1]), Tasks: expandTasks(m[2]), What: m[3], Code: line.Unknown}
		if c := exitCode.FindStringSubmatch(m[3]); c != nil {
			if n, err := strconv.Atoi(c[1]); err == nil {
				t.Code = n
			}
		}
		if len(t.Tasks) == 0 {
			return false
		}
		emit(r, &r.obs.TaskExits, t)
		return true
	}
	end := End{At: rec.At, Kind: EndLaunch}
	switch {
	case taskLaunch.MatchString(msg):
		end.Text = msg
	case nodeLaunch.MatchString(msg):
		m := nodeLaunch.FindStringSubmatch(msg)
		end.Entity, end.ID, end.Hosts, end.Text = "STEP", m[1], []string{m[2]}, m[3]
	case anyLaunch.MatchString(msg):
		end.Text = msg
	default:
		return false
	}
	r.ends(end)
	return true
}

var (
	// Up to 22.05 with the plugin's name in front; before 20.11 "job step 405737.0".
	terminating = pattern.New(`srun: (?:launch/slurm: _step_signal: )?Terminating (?:StepId=|job step )(?:StepId=)?(\d[\d.+]*)`)
	overTime    = pattern.New(`salloc: (?:error: )?(Job (\d+) has exceeded its time limit)`)
	revoked     = pattern.New(`(?:srun|salloc): (?:error: )?Job allocation (\d+) has been revoked`)
)

// ends emits an end of a job or step, with what stood above it.
func (r *reader) ends(e End) {
	if r.pulse.n > 0 {
		last := r.pulse.last
		e.Above = &last
	}
	emit(r, &r.obs.Ends, e)
}

// completed says that the program reported its end, and no step since.
func (r *reader) completed() bool {
	for i := len(r.obs.Facts) - 1; i >= 0; i-- {
		if x := &r.obs.Facts[i]; x.Key == "exit_ok" {
			return x.Off > r.stepOff
		}
	}
	return false
}

func readSrunEnd(r *reader, rec *record) bool {
	end := End{At: rec.At}
	if m := terminating.FindSubmatch(rec.Text); m != nil {
		end.Kind, end.Entity, end.ID = EndTerminating, "STEP", strings.TrimRight(string(m[1]), ".")
	} else if m := overTime.FindSubmatch(rec.Text); m != nil && !r.completed() { // below a training's end it is the shell of the allocation that was left open
		end = End{At: rec.At, Kind: EndCancelled, Entity: "JOB", ID: string(m[2]), Reason: ReasonTimeLimit, Says: string(m[1])}
	} else if m := revoked.FindSubmatch(rec.Text); m != nil {
		end.Kind, end.Entity, end.ID = EndRevoked, "JOB", string(m[1])
	} else if bytes.Contains(rec.Text, []byte("srun: Job step aborted: ")) {
		end.Kind, end.Entity = EndAborted, "STEP"
	} else {
		return false
	}
	r.ends(end)
	return true
}

var (
	stepdEnd        = pattern.New(`\*\*\* (JOB|STEP) (\d[\d.+]*|\d+\.\w+)(?: ON (\S+))? (CANCELLED AT|FAILED|UNCORRECTABLE MEMORY ERROR AT) ?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)?(?: DUE (?:TO|to) ([^*\n]{1,80}))?`)
	stepdTerminated = pattern.New(`\*\*\* (JOB|STEP) (\d[\d.+]*) STEPD TERMINATED ON (\S+) AT (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)? ?(?:DUE TO ([^*\n]{1,80}))?`)
)

// readStepdEnd reads "*** STEP 123.0 ON node1 CANCELLED AT … DUE TO … ***". The host is the one that reports it; old
// versions ("slurmd[n1]: *** JOB 12 CANCELLED AT …") and people who quote a line leave it out.
func readStepdEnd(r *reader, rec *record) bool {
	understood := false
	for _, m := range stepdEnd.FindAllSubmatch(rec.Text, 16) {
		end := End{At: rec.At, Entity: string(m[1]), ID: string(m[2]), Host: string(m[3])}
		switch m[4][0] {
		case 'C':
			end.Kind = EndCancelled
		case 'F':
			end.Kind = EndFailed
		default:
			end.Kind = EndMemoryError
			if end.Host != "" {
				end.Hosts = []string{end.Host}
			}
		}
		reason, _, _ := strings.Cut(strings.TrimSpace(string(m[6])), ",")
		end.Reason = EndReason(reason)
		end.At = stampedBySlurm(end.At, m[5])
		r.ends(end)
		understood = true
	}
	for _, m := range stepdTerminated.FindAllSubmatch(rec.Text, 16) {
		end := End{At: rec.At, Kind: EndUndead, Entity: string(m[1]), ID: string(m[2]), Host: string(m[3])}
		end.Reason = EndReason(strings.TrimSpace(string(m[5])))
		end.At = stampedBySlurm(end.At, m[4])
		r.ends(end)
		understood = true
	}
	return understood
}

// stampedBySlurm gives a line the time in its message: the compute node's local time, which SLURM writes nowhere else.
func stampedBySlurm(at At, b []byte) At {
	if s, n := line.ParseStamp(b); n > 0 {
		s.Emitter = line.Slurm
		at.Stamp = s
	}
	return at
}

var (
	stepdOOM    = pattern.New(`Detected (\d+) oom[-_]kill event(?:\(s\)|s)? in (?:StepId=|step )(\d[\w.+]*)`)
	stepdNode   = pattern.New(`slurmstepd-([A-Za-z0-9][\w.-]*): `)
	stepdOutput = pattern.New(`Could not open std(?:out|err|in) file .{1,400}`)
)

// stepdOverMemory is what SLURM prints where it looks itself how much memory a step used. "… at some point" kills nothing.
var stepdOverMemory = pattern.New(`slurmstepd[\w.-]*: (?:error: )?(?:Step|Job|StepId|JobId)[ =](\d[\w.]*) exceeded memory limit \(\d+ > \d+\), being killed`)

func readStepdOOM(r *reader, rec *record) bool {
	m := stepdOOM.FindSubmatch(rec.Text)
	if o := stepdOverMemory.FindSubmatch(rec.Text); m == nil && o != nil {
		m = [][]byte{o[0], []byte("1"), o[1]}
	}
	if m == nil {
		return false
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return false
	}
	r.ends(End{
		At: rec.At, Kind: EndOOM, Entity: "STEP", ID: strings.TrimRight(string(m[2]), "."), Host: stepdHost(rec.Text), N: n,
	})
	return true
}

func readStepdOutput(r *reader, rec *record) bool {
	m := stepdOutput.Find(rec.Text)
	if m == nil || !bytes.Contains(rec.Text, []byte("slurmstepd")) {
		return false
	}
	end := End{At: rec.At, Kind: EndLaunch, Text: clip(m)}
	if h := stepdHost(rec.Text); h != "" {
		end.Host, end.Hosts = h, []string{h}
	}
	r.ends(end)
	return true
}

// killFailed is the controller's own line of it (src/slurmctld/proc_req.c); it drains the node.
var killFailed = pattern.New(`slurmd error running JobId=(\d+)\S* on node\(s\)=(\S+): (Kill task failed)`)

func readKillFailed(r *reader, rec *record) bool {
	m := killFailed.FindSubmatch(rec.Text)
	if m == nil {
		return false
	}
	for _, h := range expandHosts(string(m[2])) {
		r.ends(End{At: rec.At, Kind: EndUndead, Entity: "JOB", ID: string(m[1]), Host: h, Reason: ReasonNotEnding, Says: string(m[3])})
	}
	return true
}

// prologOn is what slurmd lets the job's srun or salloc print of a prolog that failed or does not end.
var prologOn = pattern.New(`(?:srun|salloc|sbatch|slurmstepd[\w-]*): (?:error: )?(Prolog (?:failure|hung) on node ([A-Za-z0-9][\w.-]*))`)

func readProlog(r *reader, rec *record) bool {
	m := prologOn.FindSubmatch(rec.Text)
	if m == nil {
		return false
	}
	r.ends(End{At: rec.At, Kind: EndLaunch, Hosts: []string{string(m[2])}, Text: clip(m[1])})
	return true
}

// stepdHost is the node in "slurmstepd-node01: error: …", as builds with multiple-slurmd support print it.
func stepdHost(text []byte) string {
	if m := stepdNode.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// expandHosts is the list of hosts, or the text itself where it is none.
func expandHosts(s string) []string {
	s = strings.TrimSpace(s)
	if hosts, err := hostlist.Expand(s); err == nil && len(hosts) > 0 {
		return hosts
	}
	if s == "" {
		return nil
	}
	return []string{s}
}

const maxTasks = 1 << 16

// expandTasks reads SLURM's task lists: "5", "0-3", "0,2-7", "[0-3,5]"; nil if it is none or too long.
func expandTasks(s string) []int {
	var list []int
	for part := range strings.SplitSeq(strings.Trim(s, "[]"), ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		if err != nil || a < 0 {
			return nil
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(hi); err != nil || b < a {
				return nil
			}
		}
		if b-a >= maxTasks-len(list) {
			return nil
		}
		for ; a <= b; a++ {
			list = append(list, a)
		}
	}
	return list
}
