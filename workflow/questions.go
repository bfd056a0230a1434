package workflow

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"faultline/analysis"
	"faultline/analysis/hostlist"
	"faultline/incident"
	"faultline/knowledge"
)

// CopyHint is what is known about where logs usually are; it fills the commands of a question.
type CopyHint struct {
	Host  string   // login node for scp; "" where the logs are on a mounted file system
	Paths []string // where logs usually are, {job} filled in by the question
	Push  bool     // the job's owner can send them with bot push
}

// Bounds of what a question lists.
const (
	itemsInQuestion    = 12
	commandsInQuestion = 3
)

// askLogs is the only question that comes before a report: there is not one file yet.
func askLogs(inv Investigation, found Found, hint CopyHint) Question {
	q := Question{
		Kind: AskLogs,
		Text: "Where are the logs of job " + orUnknown(inv.Job) + "? Give a directory, files, or an archive (tar, zip).",
		Why:  "Each node writes its own log. Start with what you have; I'll tell you which nodes are missing.",
	}
	if len(found.Searched) > 0 {
		took := ""
		if found.Took > 0 {
			took = fmt.Sprintf(" for %.1f s", max(found.Took.Seconds(), 0.1)) // less would read "for 0.0 s"
		}
		q.Text = fmt.Sprintf("I looked for logs of job %s in %s%s and found none. ", orUnknown(inv.Job), list(found.Searched), took) +
			"Where are they? Give a directory, files, or an archive (tar, zip)."
	}
	job := inv.Job
	if job == "" {
		job = "JOBID"
	}
	for _, p := range hint.Paths {
		searched := func(place string) bool { return strings.HasPrefix(p, place) } // nothing is there to be copied
		if len(q.Commands) < commandsInQuestion && !slices.ContainsFunc(found.Searched, searched) {
			q.Commands = append(q.Commands, copyCommand(hint.Host, strings.ReplaceAll(p, "{job}", job), "logs-"+job+"/"))
		}
	}
	if hint.Push && inv.Job != "" {
		q.Commands = append(q.Commands, "bot push "+job)
	}
	if len(q.Commands) == 0 {
		q.Commands = []string{
			"scp -r LOGIN-NODE:'/path/to/*" + job + "*' logs-" + job + "/",
			"cp -r /path/to/*" + job + "* logs-" + job + "/",
		}
	}
	return q
}

// askRunning is asked when the logs are still being written.
func askRunning(inv Investigation) Question {
	return Question{
		Kind: AskRunning,
		Text: "Job " + orUnknown(inv.Job) + " seems to be running: its logs are still growing. Look now, or when it ends?",
		Why:  "For now, I can only tell how the job is doing: steps, loss, speed, silent ranks. Finding a root cause has to wait until it ends. I check every minute and start when the logs go quiet.",
	}
}

func copyCommand(host, from, to string) string {
	if host == "" {
		return "cp -r " + from + " " + to
	}
	return "scp -r " + host + ":'" + from + "' " + to
}

// questions are what is worth asking under a report, the most useful first, without what nobody had. storage: the logs of the storage are
// asked for by a question of their own, or offered.
func questions(inv Investigation, jobs []analysis.JobSummary, hint CopyHint, storage bool) []Question {
	var qs []Question
	if len(jobs) > 1 {
		q := Question{
			Kind: AskJob,
			Text: "These files contain several jobs. The report covers the one that ended last. Which one did you mean?",
			Why:  "Jobs reuse rank numbers; mixing them would blame the wrong machine.",
		}
		for _, job := range jobs {
			q.Items = append(q.Items, jobText(job))
		}
		qs = append(qs, q)
	}
	had := func(q Question) bool { return !slices.Contains(inv.Without, q.about()) }
	if missing, ok := askMissing(inv, hint); ok && had(missing) {
		return append(qs, missing) // one thing at a time: nothing decides as much as logs that nobody has seen
	}
	without := 0
	for _, about := range inv.Without {
		if strings.HasPrefix(about, AskEvidence+" ") {
			without++
		}
	}
	if without >= mostEvidence {
		return qs
	}
	for _, need := range inv.Report.Verdict.Needs {
		if need.Obtainable == "next-time" {
			continue // a recommendation
		}
		q := Question{Kind: AskEvidence, Artefact: need.Artefact, Text: "Can you upload " + need.What + "?", Why: need.Why, Perishing: need.Obtainable == "perishing"}
		if !had(q) || storage && ofStorage(q.Text) {
			continue
		}
		if need.Artefact == knowledge.Bundle {
			q.Text = "Don't cancel job " + orUnknown(inv.Job) + " yet. Can you collect its stacks and state" + onNodes(inv.Report.Coverage) + " first?"
		}
		if need.Command != "" {
			q.Commands = []string{need.Command}
		}
		qs = append(qs, q)
		break // one at a time, what decides first: what else there is to get, the report lists
	}
	return qs
}

// nodesNamed is how long a list of nodes in a question may be.
const nodesNamed = 60

// onNodes names the nodes of a job as SLURM writes them; their number where that is long.
func onNodes(cov incident.Coverage) string {
	nodes := cov.NodesExpected
	if len(nodes) == 0 {
		nodes = cov.NodesSeen
	}
	switch names := hostlist.Compress(nodes); {
	case len(nodes) == 0:
		return ""
	case len(names) > nodesNamed:
		return fmt.Sprintf(" on %d nodes", len(nodes))
	default:
		return " on " + names
	}
}

// askMissing asks for the logs that the report's coverage misses.
func askMissing(inv Investigation, hint CopyHint) (Question, bool) {
	cov := inv.Report.Coverage
	q := Question{
		Kind: AskMissing,
		Why:  "It may pin down the rank; I'll post what changes.",
	}
	var what []string
	if n := len(cov.NodesMissing); n > 0 {
		what = append(what, fmt.Sprintf("%d of %d nodes", n, len(cov.NodesExpected)))
		q.Items = append(q.Items, cov.NodesMissing...)
	}
	if n := len(cov.FilesMissing); n > 0 {
		what = append(what, fmt.Sprintf("%d %s", n, plural(n, "file", "files")))
		q.Items = append(q.Items, cov.FilesMissing...)
	}
	if n := len(cov.RanksMissing); n > 0 {
		what = append(what, fmt.Sprintf("%s %s", plural(n, "rank", "ranks"), ranks(cov.RanksMissing)))
	}
	if len(what) == 0 {
		return Question{}, false
	}
	q.Text = "I need the missing logs: " + strings.Join(what, ", ") + ". Can you upload them?"
	q.Commands = missingCommands(inv, cov, hint)
	q.Items = q.Items[:min(len(q.Items), itemsInQuestion)]
	return q, true
}

func missingCommands(inv Investigation, cov incident.Coverage, hint CopyHint) []string {
	var commands []string
	to := "more-logs-" + orElse(inv.Job, "JOBID") + "/"
	from := "/path/to"
	switch dir := commonDir(inv.Sources); {
	case dir != "" && hint.Host == "":
		to = dir + "/"
	case dir != "": // what is missing lies beside what is there
		from = dir
	case len(hint.Paths) > 0:
		from = path.Dir(strings.ReplaceAll(hint.Paths[0], "{job}", inv.Job))
	}
	for _, f := range cov.FilesMissing[:min(len(cov.FilesMissing), commandsInQuestion)] {
		commands = append(commands, copyCommand(hint.Host, from+"/"+path.Base(f), to))
	}
	for _, node := range cov.NodesMissing {
		if len(commands) < commandsInQuestion {
			commands = append(commands, copyCommand(hint.Host, from+"/*"+node+"*", to))
		}
	}
	return commands
}

// commonDir is the directory that holds all sources that were given as plain files, or "".
func commonDir(sources []incident.Source) string {
	var dirs []string
	for _, s := range sources {
		if s.Origin == "" || s.Origin == "path" {
			dirs = append(dirs, filepath.Dir(s.Path))
		}
	}
	slices.Sort(dirs)
	if dirs = slices.Compact(dirs); len(dirs) != 1 {
		return ""
	}
	return dirs[0]
}

func list(items []string) string {
	if len(items) > itemsInQuestion {
		return strings.Join(items[:itemsInQuestion], ", ") + fmt.Sprintf(" and %d more", len(items)-itemsInQuestion)
	}
	return strings.Join(items, ", ")
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
