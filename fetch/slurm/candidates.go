package slurm

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"faultline/fetch/slurm/pattern"
	"faultline/fetch/slurm/script"
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
	tree     bool   // a directory: what lies below is meant
	written  bool   // by a program, and not by SLURM
	srun     int    // the script's srun that it is of, None = not known
	nodes    int    // that its srun asks for, 0 = not stated
	tasks    int    // likewise
}

// perNode says that there is to be a file of each node or task. A batch script runs on one.
func (c candidate) perNode() bool { return !c.batch && !c.tree && c.template.PerNode() }

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

// environment are the variables of a job's script that are known, as patterns where they are of one run or node, and those
// that SLURM does not set for it.
func (j *Job) environment() (vars map[string]string, unset []string) {
	vars = map[string]string{
		"SLURM_JOB_ID": "%j", "SLURM_JOBID": "%j", "SLURM_JOB_NAME": "%x", "USER": "%u", "LOGNAME": "%u", "SLURM_JOB_USER": "%u",
		"SLURM_SUBMIT_DIR": literally(j.WorkDir), "SLURM_JOB_ACCOUNT": literally(j.Account), "SLURM_JOB_PARTITION": literally(j.Partition), "SLURM_CLUSTER_NAME": "",
	}
	if j.Array != None {
		vars["SLURM_ARRAY_JOB_ID"], vars["SLURM_ARRAY_TASK_ID"] = "%A", "%a"
	} else {
		unset = append(unset, "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT")
	}
	if r, _ := j.Subject(); r != nil {
		if r.Restart > 0 { // a first run has none
			vars["SLURM_RESTART_COUNT"] = strconv.Itoa(r.Restart)
		} else {
			unset = append(unset, "SLURM_RESTART_COUNT")
		}
		if n := len(r.Nodes()); n > 0 {
			for _, name := range []string{"SLURM_NNODES", "SLURM_JOB_NUM_NODES"} {
				vars[name] = strconv.Itoa(n)
			}
		}
	}
	for k, v := range vars {
		if v == "" {
			delete(vars, k)
		}
	}
	return vars, unset
}

// literally writes a text so that a pattern means nothing but it.
func literally(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// stated are the patterns that the job itself states, the batch script's own first. scripts reads what the script runs.
func (j *Job) stated(text, home string, scripts func(name string) (string, error)) (list []candidate, own script.Reading) {
	line := script.ParseSubmit(j.SubmitLine)
	dir := firstOf(j.WorkDir, line.Dir)
	vars, unset := j.environment()
	for k, v := range line.Vars {
		vars[k] = literally(v)
	}
	if home == "" {
		home = homeIn(dir, j.User)
	}
	task := ""
	if j.Array != None && j.Task != None {
		task = strconv.Itoa(j.Task)
	}
	s := script.Read(text, script.Facts{Vars: vars, Unset: unset, Task: task, Args: line.Args, Dir: dir, Home: home, Open: scripts})
	own = s
	own.Append, own.Truncate = s.Append || line.Append, s.Truncate || line.Truncate
	dir = firstOf(dir, s.Dir)
	out, err := firstOf(j.StdOut, line.Out, s.Out), firstOf(j.StdErr, line.Err, s.Err)
	if line.Step {
		out, err = "", ""
	} else if out == "" {
		out = "slurm-%j.out"
		if j.Array != None {
			out = "slurm-%A_%a.out"
		}
	}
	add := func(text string, c candidate) {
		if text == "/dev/null" || text == "" || !path.IsAbs(text) && dir == "" {
			return
		}
		if !path.IsAbs(text) {
			text = literally(dir) + "/" + text
		}
		list = appendCandidate(list, text, c)
	}
	step := candidate{from: "the job's script", context: pattern.Step, srun: None}
	add(out, candidate{from: "the job", context: pattern.Batch, batch: true, srun: None})
	add(err, candidate{from: "the job", context: pattern.Batch, batch: true, srun: None})
	for _, o := range s.Outputs {
		c := step
		c.tree, c.written, c.perhaps, c.srun, c.nodes, c.tasks = o.Tree, o.Kind == script.Written, o.Maybe, o.Srun, o.Nodes, o.Tasks
		if c.written {
			c.from = o.By + " of the job's script"
			if o.By == "the script" {
				c.from = "the job's script"
			}
		}
		add(o.Pattern, c)
	}
	if line.Step {
		add(line.Out, step)
		add(line.Err, step)
	}
	if r, _ := j.Subject(); r != nil {
		for _, s := range r.Steps {
			add(s.StdOut, candidate{from: "the accounting", context: pattern.Step, srun: None})
			add(s.StdErr, candidate{from: "the accounting", context: pattern.Step, srun: None})
		}
	}
	return list, own
}

// homeIn is the home directory that a path below it shows.
func homeIn(dir, user string) string {
	if user == "" {
		return ""
	}
	for at := dir; at != "/" && at != "." && at != ""; at = path.Dir(at) {
		if path.Base(at) == user && strings.HasPrefix(at, "/home") {
			return at
		}
	}
	return ""
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

func appendCandidate(list []candidate, text string, c candidate) []candidate {
	t, err := pattern.Parse(path.Clean(text))
	if err != nil || slices.ContainsFunc(list, func(o candidate) bool {
		return o.context == c.context && o.tree == c.tree && o.template.String() == t.String()
	}) {
		return list
	}
	c.template = t
	c.perhaps = c.perhaps || c.from == configuration || c.from == team
	return append(list, c)
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
		t, tree := strings.CutSuffix(t, "/**")
		t = strings.ReplaceAll(t, "*", pattern.Any)
		for _, root := range roots {
			text := j.Fill(t, root)
			if text == "" {
				continue
			}
			if root == "" || !path.IsAbs(root) { // keys of a bucket
				text = strings.TrimPrefix(text, "/")
			}
			list = appendCandidate(list, text, candidate{from: from, context: pattern.Step, srun: None, tree: tree})
			if p, err := pattern.Parse(text); err == nil && !p.PerNode() && !tree {
				list = appendCandidate(list, text, candidate{from: from, context: pattern.Batch, srun: None})
			}
		}
	}
	return list
}
