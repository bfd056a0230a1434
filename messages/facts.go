package messages

import (
	"fmt"
	"slices"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
)

// mechanismTitle is the mechanism in the words of package knowledge, or its slug with spaces.
func mechanismTitle(slug string) string {
	if m, ok := mechanism(slug); ok && m.Title != "" {
		return m.Title
	}
	return strings.ReplaceAll(slug, "-", " ")
}

// headline says what broke and where. It names ranks and nodes as places, never as culprits: what is broken on a node
// only the mechanism's own words may say.
func headline(r *incident.Report) (text, tone string) {
	v := r.Verdict
	switch {
	case r.Triage != nil:
		return flat(r.Triage.Summary), triageTones[r.Triage.Severity]
	case v.Status == incident.NoFailure:
		if v.Mechanism == "" || v.Mechanism == "completed" {
			return noFailure(v.Ending)
		}
		return "Nothing broke: " + mechanismTitle(v.Mechanism), "good"
	case v.Status == incident.Inconclusive && v.Mechanism == "unknown" && v.Ending != "":
		return "Can't tell whether anything failed", "open"
	case v.Status == incident.Inconclusive && len(v.Candidates) > 1:
		return undecidedHeadline(r), "open"
	case allEmpty(r) && r.Coverage.Files == 1:
		return "The log is empty", "open"
	case allEmpty(r):
		return "All logs are empty", "open"
	case besideOnly(r):
		return "No job log to read, only other evidence", "open"
	case unforeseen(r) && r.Standouts[0].Severity == "calm":
		return "No known failure matches", "open"
	case unforeseen(r):
		return "No known failure matches; most suspicious: " + excerpt(flat(r.Standouts[0].Statement), mostOfHeading), "open"
	case v.Status == incident.Inconclusive && (v.Mechanism == "" || v.Mechanism == "unknown"):
		return "No known failure matches", "open"
	case v.Status == incident.Inconclusive:
		text, tone = capital(mechanismTitle(v.Mechanism)), "open"
	case v.Stated != nil && v.Stated.Title != "":
		text, tone = capital(flat(v.Stated.Title)), "bad"
	default:
		text, tone = capital(mechanismTitle(v.Mechanism)), "bad"
	}
	if rest, ok := strings.CutPrefix(text, "One rank "); ok {
		text = who(v.Root, rest)
	}
	if w := broken(v.Root); w != "" {
		text += ": " + w
	}
	return text, tone
}

// who puts as many ranks in front of what one rank does, or nodes where a node as a whole slows the job.
func who(root incident.Root, does string) string {
	n, what := len(root.Ranks), "rank"
	rest, slows := strings.CutPrefix(does, "slows ")
	if slows && n == 0 && len(root.Nodes) > 0 {
		n, what = len(root.Nodes), "node"
	}
	switch {
	case n <= 1:
		return "One " + what + " " + does
	case slows:
		does = "slow " + rest
	}
	return count(n, what) + " " + does
}

// broken is where in the heading: of a storage at fault without the ranks that it failed.
func broken(root incident.Root) string {
	if root.Component != nil {
		if name, ok := strings.CutPrefix(flat(*root.Component), "ais:"); ok {
			if root.Disk != "" {
				return flat(root.Disk) + " on " + name
			}
			return name
		}
	}
	return where(root)
}

// undecidedHeadline leads with what would decide. Where nothing can be had any more, with the causes that are left, if they are two.
func undecidedHeadline(r *incident.Report) string {
	v := r.Verdict
	if n, ok := nextNeed(r); ok && n.Artefact != knowledge.Bundle {
		return "Can't tell yet: need " + needName(r, n)
	}
	if len(v.Candidates) == 2 && !slices.ContainsFunc(v.Candidates, func(c incident.Candidate) bool { return c.Mechanism == "unknown" }) {
		return "Can't tell: " + mechanismTitle(v.Candidates[0].Mechanism) + ", or " + mechanismTitle(v.Candidates[1].Mechanism)
	}
	return fmt.Sprintf("Can't tell which of %d causes", len(v.Candidates))
}

// unforeseen says that no known failure matches, and that lines stand out all the same.
func unforeseen(r *incident.Report) bool {
	v := r.Verdict
	return v.Status == incident.Inconclusive && (v.Mechanism == "" || v.Mechanism == "unknown") && len(r.Standouts) > 0 && v.Ending == ""
}

// besideOnly says that nothing is decided because no log of the job was read.
func besideOnly(r *incident.Report) bool {
	v := r.Verdict
	return v.Status == incident.Inconclusive && (v.Mechanism == "" || v.Mechanism == "unknown") && r.Coverage.Files == 0 && len(r.Artifacts) > 0
}

// allEmpty says that nothing was written to any log.
func allEmpty(r *incident.Report) bool {
	cut := r.Coverage.Truncated
	written := func(f incident.CutFile) bool { return f.How != "empty" }
	return len(cut) > 0 && len(cut) == r.Coverage.Files && !slices.ContainsFunc(cut, written)
}

// noFailure says what is known of the end of a job in which nothing failed. A hang prints no line before a watchdog or the scheduler
// ends it, so that a job whose end is not seen need not be healthy.
func noFailure(ending string) (text, tone string) {
	switch ending {
	case incident.EndSeen:
		return "Nothing broke: the job completed", "good"
	case incident.EndRunning:
		return "No failure found so far: the job is still running", "good"
	case incident.EndUnseen:
		return "No failure found, but these files don't show how the job ended", "good"
	case incident.EndStalled:
		return "No failure found, but the job appears to have stalled", "open"
	}
	return "Nothing broke: the job completed or is still healthy", "good"
}

// where names the root: component, ranks, nodes.
func where(root incident.Root) string {
	var parts []string
	if root.Component != nil {
		parts = append(parts, componentText(*root.Component))
	}
	if len(root.Ranks) > 0 {
		parts = append(parts, rankText(root.Ranks))
	}
	s := strings.Join(parts, ", ")
	if len(root.Nodes) > 0 {
		if s != "" {
			s += " on "
		}
		s += nodeList(root.Nodes)
	}
	return s
}

func componentText(c string) string {
	kind, name, ok := strings.Cut(flat(c), ":")
	if !ok {
		return kind
	}
	words := map[string]string{"gpu": "GPU ", "nic": "network card ", "ais": "AIStore daemon ", "mount": "mount ", "host": "host "}
	if w, ok := words[kind]; ok {
		return w + name
	}
	return c
}

// confidenceWord is how sure a verdict is, in one of three words; the JSON keeps its values.
func confidenceWord(status string) string {
	switch status {
	case incident.Confirmed:
		return "confirmed"
	case incident.Probable, incident.NoFailure:
		return "likely"
	}
	return "can't tell"
}

// owners are who acts, by the report's word.
var owners = map[string]string{
	"job-code": "you (training code)", "job-config": "you (job configuration)", "data": "data owner",
	"storage": "storage team", "cluster": "cluster team", "scheduler": "scheduler admins", "nobody": "no one; no action needed",
}

func ownerText(o string) string {
	if t, ok := owners[o]; ok {
		return t
	}
	return "you (job owner)"
}

// resubmitWords answer the question whether to resubmit.
var resubmitWords = map[string]string{"yes": "yes", "no": "no", "after-fix": "after the fix"}

func resubmitWord(s string) string {
	if t, ok := resubmitWords[s]; ok {
		return t
	}
	return "not yet"
}

// resubmits are the decisions, by the report's word.
var resubmits = map[string]string{"yes": "Safe to resubmit", "no": "Do not resubmit", "after-fix": "Resubmit only after the fix"}

func resubmitText(s string) string {
	if t, ok := resubmits[s]; ok {
		return t
	}
	return "Hold off on resubmitting"
}

func stepText(s *incident.Step) string {
	t := "step " + grouped(s.Step)
	if s.Path != "" {
		t += " (" + flat(s.Path) + ")"
	}
	return t
}

func lostText(l incident.Lost) string {
	var parts []string
	if l.Steps != nil {
		parts = append(parts, grouped(*l.Steps)+" steps")
	}
	if l.GPUHours != nil {
		parts = append(parts, gpuHours(*l.GPUHours))
	}
	return strings.Join(parts, ", ")
}

// finishedText says that the training was over when the job failed, and where it is said.
func finishedText(r *incident.Report) string {
	fin := r.Action.Finished
	if fin == nil || len(fin.Evidence) == 0 {
		return ""
	}
	t := "finished before the failure (" + fileLine(incident.KeyFile{File: fin.Evidence[0].File, Line: fin.Evidence[0].Line}) + ")"
	if s := r.Action.ResumeFrom; s != nil && r.Action.Resubmit == "no" {
		t += "; saved: " + stepText(s)
	}
	return t
}

func decision(r *incident.Report) []pair {
	a := r.Action
	ps := []pair{{"Resubmit", resubmitWord(a.Resubmit)}}
	if t := finishedText(r); t != "" {
		ps = append(ps, pair{labelTraining, t})
	}
	if t := excludeText(r); t != "" {
		ps = append(ps, pair{"Exclude", t})
	}
	if a.ResumeFrom != nil && (a.Finished == nil || a.Resubmit != "no") {
		ps = append(ps, pair{"Resume from", stepText(a.ResumeFrom)})
	} else if a.Resubmit != "no" && r.Verdict.Status != incident.NoFailure {
		ps = append(ps, pair{"Resume from", "unknown: no completed checkpoint seen in these files"})
	}
	if t := lostText(a.Lost); t != "" {
		ps = append(ps, pair{"Lost", t})
	}
	return append(ps, pair{labelOwner, ownerText(a.Owner)})
}

// excludeText is the nodes to leave out of the next run; of a run that may be resubmitted without leaving one out, why that is so.
func excludeText(r *incident.Report) string {
	a, nodes := r.Action, r.Verdict.Root.Nodes
	if len(a.ExcludeNodes) > 0 {
		return nodeList(a.ExcludeNodes)
	}
	if a.Resubmit != "yes" && a.Resubmit != "after-fix" {
		return ""
	}
	ofNode := r.Verdict.Scope == "node" && a.Owner != "job-code" && a.Owner != "data" // not of the program, wherever it runs
	switch {
	case len(nodes) > 0 && a.Owner == "cluster":
		return "none proven; test " + nodeList(nodes) + " before reuse"
	case len(nodes) > 0 && ofNode:
		return "none proven; test " + nodeList(nodes) + " if it fails again"
	case a.Owner == "cluster":
		return "one node, not identified yet"
	}
	return "none: no evidence against any node"
}

func facts(r *incident.Report) []pair {
	j := r.Job
	var ps []pair
	add := func(label string, value *string) {
		if value != nil && *value != "" {
			ps = append(ps, pair{label, flat(*value)})
		}
	}
	add("Job", j.ID)
	if j.Run != nil && j.Runs > 1 {
		ps = append(ps, pair{"Run", fmt.Sprintf("%d of %d found in the files", *j.Run+1, j.Runs)})
	}
	add("Name", j.Name)
	if j.Framework != nil {
		names := knowledge.FrameworkNames(*j.Framework)
		add("Framework", &names)
	}
	add("Task", j.Task)
	add("Data", j.DataSource)
	var scale []string
	for _, x := range []struct {
		n    *int
		noun string
	}{{j.WorldSize, "rank"}, {j.NodesCount, "node"}} {
		if x.n != nil {
			scale = append(scale, count(*x.n, x.noun))
		}
	}
	if j.RanksPerNode != nil {
		scale = append(scale, grouped(int64(*j.RanksPerNode))+" a node")
	}
	if len(scale) > 0 {
		ps = append(ps, pair{"Scale", strings.Join(scale, ", ")})
	}
	add("Started", j.StartTime)
	add("Last line", j.EndTime)
	ps = append(ps, pair{"Phase", phaseText(r.Verdict.Phase)})
	if j.ResumedFrom != nil {
		ps = append(ps, pair{"Resumed from", stepText(j.ResumedFrom)})
	}
	if j.LastStep != nil {
		ps = append(ps, pair{"Last step", grouped(*j.LastStep)})
	}
	for _, n := range j.Versions {
		t := flat(n.Value)
		if n.Note != "" {
			t += " (" + flat(n.Note) + ")"
		}
		ps = append(ps, pair{flat(n.Name), t})
	}
	return ps
}

func phaseText(p string) string {
	switch p {
	case "init":
		return "startup, before the first step"
	case "first-step":
		return "the first step"
	case "checkpoint":
		return "saving or loading a checkpoint"
	case "", "unknown":
		return "unknown"
	}
	return p
}

func coverage(r *incident.Report) []pair {
	c := r.Coverage
	ps := []pair{{"Read", fmt.Sprintf("%s, %s, %s", count(c.Files, "file"), count(int(c.Lines), "line"), bytesText(c.Bytes))}}
	nodes := count(len(c.NodesSeen), "node") + " seen"
	if len(c.NodesSeen) == 0 {
		nodes = "node names not shown in the logs"
	}
	switch {
	case c.NodesExpected == nil:
		nodes += "; expected number unknown"
	default:
		nodes = fmt.Sprintf("%d of %d seen", len(c.NodesExpected)-len(c.NodesMissing), len(c.NodesExpected))
		if len(c.NodesMissing) > 0 {
			nodes += "; missing: " + nodeList(c.NodesMissing)
		}
	}
	ps = append(ps, pair{"Nodes", nodes})
	ranks := count(c.RanksSeen, "rank") + " seen; expected number unknown"
	if c.RanksExpected != nil {
		ranks = fmt.Sprintf("%s of %s seen", grouped(int64(c.RanksSeen)), grouped(int64(*c.RanksExpected)))
		if len(c.RanksMissing) > 0 {
			ranks += "; missing: " + shortRanges(c.RanksMissing)
		}
	}
	ps = append(ps, pair{"Ranks", ranks}, pair{"States", "collective state known for " + count(c.RanksStateKnown, "rank")})
	if c.ExpectedFrom != "" {
		ps = append(ps, pair{"Expected from", flat(c.ExpectedFrom)})
	}
	if len(c.FilesMissing) > 0 {
		ps = append(ps, pair{"Files missing", nodeList(c.FilesMissing)})
	}
	ps = append(ps, cutFiles(c.Truncated)...)
	if c.TimeFrom != nil && c.TimeTo != nil {
		ps = append(ps, pair{"Time covered", flat(*c.TimeFrom) + " to " + flat(*c.TimeTo)})
	}
	return append(ps, readCounts(&r.Counts)...)
}

// cutFiles names the files that do not end as they should, those that end alike together.
func cutFiles(files []incident.CutFile) []pair {
	alike := map[string][]string{}
	var order []string
	for _, f := range files {
		how := strings.ReplaceAll(f.How, "-", " ")
		if f.Note != "" {
			how += ", " + flat(f.Note)
		}
		if alike[how] == nil {
			order = append(order, how)
		}
		alike[how] = append(alike[how], flat(f.File))
	}
	var ps []pair
	for i, how := range order {
		if i == maxCutFiles {
			ps = append(ps, pair{"Truncated", fmt.Sprintf("… and %d more", len(order)-i)})
			break
		}
		names := alike[how]
		t := names[0]
		if len(names) > 1 {
			t += fmt.Sprintf(" and %d more", len(names)-1)
		}
		ps = append(ps, pair{"Truncated", t + ": " + how})
	}
	return ps
}

// maxCutFiles bounds the list of cut files for people; the JSON has them all.
const maxCutFiles = 12
