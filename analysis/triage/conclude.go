package triage

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/cost"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// severities by rank.
var severities = []string{incident.TriageNone, incident.TriageNote, incident.TriageWarning, incident.TriageCritical}

func worse(a, b string) bool {
	rank := func(s string) int {
		for i, x := range severities {
			if x == s {
				return i
			}
		}
		return 0
	}
	return rank(a) > rank(b)
}

// conclude says how bad it is, and which branch to take.
func (l *look) conclude() {
	t := l.t
	l.waste()
	t.Severity = incident.TriageNone
	var first *incident.TriageSign
	for i := range t.Signs {
		if s := &t.Signs[i]; worse(s.Level, t.Severity) {
			t.Severity, first = s.Level, s
		}
	}
	l.summary(first)
	l.next(first)
}

// waste is how much of the job's GPUs is lost an hour: all of them while it stands still, the part that is slower while it is slow.
func (l *look) waste() {
	share := 0.0
	switch {
	case l.stall.late || l.broken:
		share = 1
	case l.slower > 1:
		share = 1 - 1/l.slower
	}
	level, wastes, ok := cost.PerHour(l.gpus(), share)
	if !ok {
		return
	}
	if share == 1 && level == incident.TriageNote {
		level = incident.TriageWarning // small, and standing still all the same
	}
	l.t.Wastes = rounded(wastes)
	for i := range l.t.Signs {
		if s := &l.t.Signs[i]; (costly[s.Name] || l.broken && s.Name == incident.SignLoss) && worse(s.Level, incident.TriageNote) {
			s.Level = level
		}
	}
}

// costly are the signs whose level is what they waste, on the scale of all reports.
var costly = map[string]bool{incident.SignWaiting: true, incident.SignStepTime: true, incident.SignThroughput: true}

func (l *look) summary(first *incident.TriageSign) {
	t := l.t
	switch {
	case t.State == incident.StateEnded:
		t.Summary = "The job has ended"
	case t.State == incident.StateFailing:
		t.Summary = "The logs already show a failure, but the job has not ended"
	case t.State == incident.StateStalled:
		t.Summary = "The job has stalled"
	case t.State == incident.StateLate:
		t.Summary = "The next step is overdue: the job may have stalled"
	case l.wordless():
		t.Summary = "The log is empty: nothing was written to it yet"
	case first == nil && t.State == incident.StateStarting:
		t.Summary = "The job is starting: no step yet"
	case first == nil && t.State == incident.StatePausing:
		t.Summary = "The job is running and in a regular pause"
	case first == nil:
		t.Summary = "The job is running; nothing needs attention"
	default:
		t.Summary = "The job is running, but check its " + titles[first.Name]
		if m, ok := knowledge.MechanismBySlug(knowledge.Slug(l.r.Verdict.Mechanism)); ok && l.localised(first) {
			t.Summary += ": " + m.Title
			if root := &l.r.Verdict.Root; len(root.Ranks) == 1 {
				t.Summary += fmt.Sprintf(": rank %d on %s", root.Ranks[0], few(root.Nodes))
			} else if len(root.Nodes) > 0 {
				t.Summary += " on " + few(root.Nodes)
			}
		}
	}
}

// wordless says that no log holds a single line.
func (l *look) wordless() bool {
	return len(l.f.Tails) > 0 && !slices.ContainsFunc(l.f.Tails, func(t worker.Tail) bool { return t.Lines > 0 })
}

// localised says that the report knows what the steps became slower by: then its first advice is closer than to look everywhere.
func (l *look) localised(first *incident.TriageSign) bool {
	v, a := &l.r.Verdict, &l.r.Action
	if knowledge.Slug(v.Mechanism).Is(knowledge.OfPace) {
		return false // that it became slower is all that is known
	}
	if first == nil || !costly[first.Name] || v.Origin != knowledge.Performance || len(v.Candidates) != 1 {
		return false
	}
	return len(a.ExcludeNodes)+len(v.Root.Nodes) > 0 || len(l.r.Recommendations) > 0 && strings.EqualFold(strings.TrimSuffix(l.r.Recommendations[0].Text, "."), a.Text)
}

// titles are the signs as a sentence names them.
var titles = map[string]string{
	incident.SignLoss: "loss", incident.SignStepTime: "step time", incident.SignThroughput: "throughput", incident.SignMemory: "memory", incident.SignSave: "saves",
	incident.SignLines: "silent ranks", incident.SignWaiting: "start", incident.SignFailure: "failure",
}

// next is the branch to take.
func (l *look) next(first *incident.TriageSign) {
	t := l.t
	collect := "bot collect " + l.job()
	switch {
	case t.State == incident.StateFailing:
		t.Next = incident.TriageNext{Text: "Collect evidence while its processes are still there, then read the report.", Command: collect}
		l.advised()
	case l.stall.late || len(l.silent) > 0:
		t.Next = incident.TriageNext{Text: "Collect stacks and dumps from all nodes before ending the job" + l.where() + ". Don't cancel it before that.", Command: collect}
	case l.wordless():
		t.Next = incident.TriageNext{Text: "Check that the job has started, and that this is its log.", Command: "scontrol show job " + l.job()}
	case first == nil:
		t.Next = incident.TriageNext{Text: "Nothing to do."}
	case l.localised(first):
		l.advised()
	case l.broken:
		t.Next = incident.TriageNext{Text: "Every further step is wasted: keep the last checkpoint before that step, and stop the job."}
	default:
		t.Next = branches[first.Name]
		t.Next.Command = strings.ReplaceAll(t.Next.Command, "{job}", l.job())
	}
}

// branches are what to do where one sign is not as it should be.
var branches = map[string]incident.TriageNext{
	incident.SignLoss: {Text: "Check the learning rate, gradient norm and data around that step before training further."},
	incident.SignStepTime: {Text: "Check for heat, power caps and other processes on all nodes' GPUs while it is slow.",
		Command: "srun --overlap --jobid {job} nvidia-smi --query-gpu=index,clocks.sm,temperature.gpu,power.draw,utilization.gpu,clocks_throttle_reasons.active --format=csv"},
	incident.SignThroughput: {Text: "Check for heat, power caps and other processes on all nodes' GPUs while it is slow.",
		Command: "srun --overlap --jobid {job} nvidia-smi --query-gpu=index,clocks.sm,temperature.gpu,power.draw,utilization.gpu,clocks_throttle_reasons.active --format=csv"},
	incident.SignMemory: {Text: "Check whether memory is still growing; save a checkpoint now in case it runs out.",
		Command: "srun --overlap --jobid {job} nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv"},
	incident.SignSave:    {Text: "Check whether saves still finish, and whether the checkpoint storage has room."},
	incident.SignWaiting: {Text: "Check what its processes are doing before the first step.", Command: "bot collect {job}"},
	incident.SignLines:   {Text: "Check what the silent processes are doing.", Command: "bot collect {job}"},
}

// advised takes the first advice of the report that can be followed while the job is there.
func (l *look) advised() {
	for _, r := range l.r.Recommendations {
		if r.When == "now" && r.Text != "" && !strings.Contains(strings.ToLower(r.Text), "resubmit") {
			l.t.Next = incident.TriageNext{Text: r.Text, Command: r.Command}
			return
		}
	}
}

// where names the nodes to look at first.
func (l *look) where() string {
	var nodes []string
	for _, s := range l.t.Signs {
		if s.Name == incident.SignLines {
			nodes = s.Nodes
		}
	}
	if len(nodes) == 0 {
		return ""
	}
	return ", " + few(nodes) + " first"
}

// job is the job's id as a command takes it.
func (l *look) job() string {
	if id := l.f.Job.ID; id != "" {
		return id
	}
	return "JOBID"
}
