package slurm

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"faultline/fetch/slurm/pattern"
)

// configuration is who says so where whoever runs the bot does.
const configuration = "the configuration"

// team is who says so where the people of a channel do.
const team = "the team's template"

// candidate is a pattern of which logs of a job may be called.
type candidate struct {
	template pattern.Template
	context  pattern.Context
	from     string // who says so, for sentences
	batch    bool   // the batch script's own file
	perhaps  bool   // said only where files fit
}

// vars are what the symbols stand for in a job's names. Two sets, for what SLURM prints for %A of a job that is in no array
// depends on what it is.
func (j *Job) vars(r *Run) []pattern.Vars {
	v := pattern.Unknown()
	v.Job, v.User, v.Name, v.Release = j.Raw, j.User, j.Name, j.Release
	if r != nil {
		v.Restart = r.Restart
	}
	if j.Array != None {
		v.Array, v.Task = j.Array, j.Task
		return []pattern.Vars{v}
	}
	v.Array = pattern.NoArray
	other := v
	other.Array, other.Task = j.Raw, pattern.NoArray
	return []pattern.Vars{v, other}
}

// environment are the variables of a job's script that are known, as patterns where they are of one run or node.
func (j *Job) environment() map[string]string {
	env := map[string]string{
		"SLURM_JOB_ID": "%j", "SLURM_JOBID": "%j", "SLURM_JOB_NAME": "%x", "SLURM_ARRAY_JOB_ID": "%A", "SLURM_ARRAY_TASK_ID": "%a",
		"SLURM_RESTART_COUNT": strconv.Itoa(0), "USER": "%u", "SLURM_JOB_USER": "%u", "SLURM_SUBMIT_DIR": j.WorkDir, "PWD": j.WorkDir,
		"SLURM_JOB_ACCOUNT": j.Account, "SLURM_JOB_PARTITION": j.Partition,
	}
	if r, _ := j.Subject(); r != nil {
		env["SLURM_RESTART_COUNT"] = strconv.Itoa(r.Restart)
	}
	return env
}

// stated are the patterns that the job itself states, the batch script's own first.
func (j *Job) stated(script string) (list []candidate, own Outputs) {
	s, line := ParseScript(script, j.environment()), ParseSubmit(j.SubmitLine)
	own = Outputs{Append: s.Append || line.Append, Truncate: s.Truncate || line.Truncate}
	out, err := firstOf(j.StdOut, line.Out, s.Out), firstOf(j.StdErr, line.Err, s.Err)
	if out == "" {
		out = "slurm-%j.out"
		if j.Array != None {
			out = "slurm-%A_%a.out"
		}
	}
	dir := firstOf(j.WorkDir, line.Dir, s.Dir)
	add := func(text, from string, c pattern.Context, batch bool) {
		if text == "/dev/null" || text == "" || !path.IsAbs(text) && dir == "" {
			return
		}
		if !path.IsAbs(text) {
			text = strings.ReplaceAll(dir, "%", "%%") + "/" + text
		}
		list = appendCandidate(list, text, from, c, batch)
	}
	add(out, "the job", pattern.Batch, true)
	add(err, "the job", pattern.Batch, true)
	for _, p := range append(slices.Clone(s.Steps), line.Steps...) {
		add(p, "the job's script", pattern.Step, false)
	}
	for _, p := range s.Perhaps {
		before := len(list)
		add(p, "the job's script", pattern.Step, false)
		for i := before; i < len(list); i++ {
			list[i].perhaps = true
		}
	}
	if r, _ := j.Subject(); r != nil {
		for _, s := range r.Steps {
			add(s.StdOut, "the accounting", pattern.Step, false)
			add(s.StdErr, "the accounting", pattern.Step, false)
		}
	}
	return list, own
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

func appendCandidate(list []candidate, text, from string, c pattern.Context, batch bool) []candidate {
	t, err := pattern.Parse(path.Clean(text))
	if err != nil || slices.ContainsFunc(list, func(o candidate) bool { return o.context == c && o.template.String() == t.String() }) {
		return list
	}
	return append(list, candidate{template: t, context: c, from: from, batch: batch, perhaps: from == configuration || from == team})
}

// Fill puts what is known of a job into a configured template: {root}, {job}, {user}, {account}, {partition}, {name} and
// {workdir}. What SLURM's own patterns mean stays to them. A template that needs what is not known gives "".
func (j *Job) Fill(template, root string) string {
	if !strings.Contains(template, "{root}") && !strings.HasPrefix(template, "/") && !strings.HasPrefix(template, "{workdir}") {
		template = "{root}/" + template
	}
	// All holes in one pass: a job may be called {workdir}.
	known := true
	text := hole.ReplaceAllStringFunc(template, func(h string) string {
		v := map[string]string{"{root}": root, "{job}": j.ID, "{user}": j.User, "{account}": j.Account, "{partition}": j.Partition, "{name}": j.Name, "{workdir}": j.WorkDir}[h]
		if v == "" || v == ".." || h != "{root}" && h != "{workdir}" && strings.Contains(v, "/") {
			known = false
		}
		return strings.ReplaceAll(v, "%", "%%")
	})
	if !known {
		return ""
	}
	return text
}

var hole = regexp.MustCompile(`\{(?:root|job|user|account|partition|name|workdir)\}`)

// configured are the patterns of templates below roots, and from who says them.
func (j *Job) configured(templates, roots []string, from string) (list []candidate) {
	for _, t := range templates {
		for _, root := range roots {
			text := j.Fill(t, root)
			if text == "" {
				continue
			}
			if root == "" || !path.IsAbs(root) { // keys of a bucket
				text = strings.TrimPrefix(text, "/")
			}
			list = appendCandidate(list, text, from, pattern.Step, false)
			if p, err := pattern.Parse(text); err == nil && !p.PerNode() {
				list = appendCandidate(list, text, from, pattern.Batch, false)
			}
		}
	}
	return list
}
