package slurm

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/fetch/slurm/pattern"
	"faultline/fetch/slurm/script"
	"faultline/fetch/source"
)

// Locator finds the logs of a job in a place.
type Locator struct {
	Source    source.Source
	Roots     []string
	Templates []string               // the configured ones: see Job.Fill
	Team      []string               // those of whoever asks, which come before and take files of the job's user alone
	Only      bool                   // look for Team alone, and say of each what it found
	Keys      bool                   // names are keys of a bucket
	Now       func() time.Time       // nil = whether files grow is not looked at
	Home      string                 // of the job's user, "" = not known
	Told      bool                   // whoever handed in files of the job could see its script
	NoLog     func(name string) bool // files that are no logs by their names; nil = none
	// Opened are the files that processes of a running job write to; nil = nobody can tell.
	Opened func(ctx context.Context, j *Job) []string
}

// Located is what was found of one run of a job.
type Located struct {
	Files []source.File // sorted by name, each once
	Sets  []Set
	// Owners are the accounts that own the files which the job itself points at.
	Owners []string
	// Notes are sentences: what is missing, what could not be looked at, what was overwritten.
	Notes []string
	// Covered are nodes whose output is in the files, whatever its lines name.
	Covered []string
	// Gaps are what is missing, or may be, in a few words each.
	Gaps []string
}

// Set is what one pattern found.
type Set struct {
	Template string
	From     string
	Batch    bool // the batch script's own file
	PerNode  bool
	Files    []string
	Result   pattern.Result
}

const (
	late       = 10 * time.Minute // a file that is written so long after the end of a run is another's
	mostFiles  = 100_000          // of one pattern
	lookedInto = 64               // files that are opened whatever their size
	small      = 4 << 10          // files whose content is looked at: nothing but a header fits
	mostSmall  = 512
	slack      = 5 * time.Second  // clocks of file systems differ
	unsettled  = 30 * time.Second // a file written to so recently is still being written
)

// Locate looks for the logs of a run, by what the job states and by the configured templates. Patterns that fit nothing are
// said only where they state files per node.
func (l *Locator) Locate(ctx context.Context, j *Job, r *Run, script Script) (Located, error) {
	var out Located
	if !l.Keys && !l.Only && !l.Told {
		script = l.submitted(ctx, j, script, &out)
	}
	if j.WorkDir == "" && j.StdOut == "" && !l.Keys && !l.Only {
		out.gap("logs under the job's directory, which is unknown", fmt.Sprintf("SLURM reports neither the working directory of job %s nor its batch log, so I looked only for configured names.", j.ID))
	}
	list, own := j.stated(script.Text, l.Home, func(name string) (string, error) { return l.script(ctx, j, name) })
	if l.Keys || l.Only {
		list = nil // what a job states are paths
	}
	list = append(list, j.configured(l.Team, l.Roots, team)...)
	if !l.Only {
		list = append(list, j.configured(l.Templates, l.Roots, configuration)...)
	}
	seen := map[string]bool{}
	for _, c := range list {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		files, matched, problem := l.fits(ctx, c, j, r)
		if c.from != configuration {
			files, matched = out.own(j, files, matched)
		}
		if len(files) == 0 && problem == nil && !l.Only {
			if c.batch && j.batched(r) && c.from == "the job" && len(out.Files) == 0 {
				out.gap("the batch log "+base(c.template.String()), fmt.Sprintf("The batch log %s doesn't exist.", c.template))
			}
			if !c.perNode() || c.perhaps || r.never(c.srun) {
				continue
			}
			if len(r.Steps) == 0 && c.srun != 0 {
				name := base(c.template.String())
				out.gap(name+", if its step ran", fmt.Sprintf("There is no file %s. Without accounting I can't tell whether that step ran.", name))
				continue
			}
		}
		// Of one run, files per node are judged; what another pattern found already is not judged again.
		fresh := 0
		for _, f := range files {
			if !seen[f.Name] {
				seen[f.Name] = true
				out.Files = append(out.Files, f)
				fresh++
			}
		}
		if problem != nil {
			for _, n := range faults(c, problem) {
				out.gap("files I may not read", n)
			}
		}
		if fresh == 0 && len(files) > 0 {
			continue
		}
		set := Set{Template: c.template.String(), From: c.from, Batch: c.batch, PerNode: c.perNode()}
		for _, m := range matched {
			set.Files = append(set.Files, m.Name)
		}
		if set.PerNode {
			l.look(ctx, files, matched)
			set.Result = complete(c, r, matched)
			if problem != nil {
				set.Result.Odd = fmt.Sprintf("couldn't look everywhere for %s, so I call no file missing", set.Template)
			}
			if !set.Result.Complete() && !silent(set.Result, len(files)) && (set.Result.Expected > 0 || set.Result.Odd != "") {
				note := fmt.Sprintf("Logs named %s (according to %s): %s.", base(set.Template), set.From, set.Result)
				out.Notes = append(out.Notes, note)
				if n := len(set.Result.Of(pattern.Missing)) + len(set.Result.Of(pattern.Unreadable)); n > 0 || set.Result.Odd != "" {
					out.Gaps = append(out.Gaps, fmt.Sprintf("logs named %s: %s", base(set.Template), set.Result))
				}
			}
		}
		out.Sets = append(out.Sets, set)
	}
	if !l.Keys && !l.Only {
		l.net(ctx, j, r, list, len(own.Unknown) > 0 || script.Text == "", seen, &out)
		l.announced(ctx, j, r, seen, &out)
		l.opened(ctx, j, r, seen, &out)
		if script.Text == "" && script.Err != nil {
			out.unseen(script.Err)
		}
		for _, u := range own.Unknown {
			out.gap("possibly more logs: "+u, capital(u)+".")
		}
	}
	out.covers(r)
	slices.SortFunc(out.Files, func(a, b source.File) int { return cmp.Compare(a.Name, b.Name) })
	out.Notes = append(out.Notes, overwritten(j, r, own, list, out)...)
	return out, nil
}

// own keeps the files that belong to the job's user. Who submits a job says what its logs are called, and could point at
// somebody else's files.
func (o *Located) own(j *Job, files []source.File, matched []pattern.Seen) (kept []source.File, keptMatched []pattern.Seen) {
	others := 0
	for i, f := range files {
		number, isNumber := strings.CutPrefix(f.Owner, "#")
		switch {
		case f.Owner == "" || f.Owner == j.User || isNumber && number == j.UID:
		case j.User == "" || isNumber && j.UID == "":
			o.Owners = append(o.Owners, f.Owner) // whose it is cannot be compared: who may see it decides elsewhere
		default:
			others++
			continue
		}
		kept, keptMatched = append(kept, f), append(keptMatched, matched[i])
	}
	slices.Sort(o.Owners)
	o.Owners = slices.Compact(o.Owners)
	if others > 0 {
		o.Notes = append(o.Notes, fmt.Sprintf("Left out %d %s that the job points at but someone else owns.", others, map[bool]string{true: "file", false: "files"}[others == 1]))
	}
	return kept, keptMatched
}

// silent says that nobody wrote anything to any of the files: a stream that the job does not use.
func silent(r pattern.Result, files int) bool {
	return r.Odd == "" && files > 0 && len(r.Gaps) == files && len(r.Of(pattern.Empty)) == files
}

func base(template string) string { return path.Base(template) }

// fits finds the files of a pattern. The error is about what could not be looked at.
//
// Of a name of which a part is computed and that does not hold the job's number, files that do hold it count, and others only
// where there are none.
func (l *Locator) fits(ctx context.Context, c candidate, j *Job, r *Run) (files []source.File, matched []pattern.Seen, err error) {
	seen := map[string]bool{}
	var loose []source.File
	var looseMatched []pattern.Seen
	for _, v := range j.vars(r) {
		glob := c.template.Glob(c.context, v)
		ask := glob + "*" // compressed and rotated ones too; Match says which
		if c.tree {
			ask = glob + "/**"
		}
		found, gerr := l.Source.Glob(ctx, ask)
		if gerr != nil {
			err = gerr
		}
		m := c.template.Matcher(c.context, v)
		for _, f := range found {
			got, ok := l.matches(c, m, f.Name)
			if !ok || seen[f.Name] || len(files) == mostFiles || !c.template.OfJob() && !within(f, r) {
				continue
			}
			seen[f.Name] = true
			m := pattern.Seen{Name: path.Base(f.Name), Vars: got, Size: f.Size, Written: f.Written, Growing: l.grows(f, r)}
			switch {
			case c.template.OfJob() || !c.template.Vague() || j.names(f.Name):
				files, matched = append(files, f), append(matched, m)
			case j.owns(f) && !j.others(path.Base(f.Name)):
				loose, looseMatched = append(loose, f), append(looseMatched, m)
			}
		}
		if !c.template.Has("Aa") {
			break // the second set differs in these only
		}
	}
	if len(files) == 0 {
		return loose, looseMatched, err
	}
	return files, matched, err
}

// matches reads a name; below a directory every log fits.
func (l *Locator) matches(c candidate, m *pattern.Matcher, name string) (pattern.Vars, bool) {
	if !c.tree {
		return m.Match(name)
	}
	if l.NoLog != nil && l.NoLog(name) {
		return pattern.Vars{}, false
	}
	for dir := path.Dir(name); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if v, ok := m.Match(dir); ok {
			return v, true
		}
	}
	return pattern.Vars{}, false
}

// within says that a file whose name tells no job was written to by this run last.
func within(f source.File, r *Run) bool {
	if r == nil || f.Written.IsZero() || f.Written.Before(r.Start()) {
		return false
	}
	return r.End().IsZero() || f.Written.Before(r.End().Add(late))
}

// names says that a path holds the job's number, or the array's with the index: where a part of the name is computed by the
// script, that alone tells it from the logs of other jobs.
func (j *Job) names(file string) bool {
	for at, rest := 0, file; ; {
		i := strings.IndexAny(rest, "0123456789")
		if i < 0 {
			return false
		}
		n := i
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		digits := rest[i:n]
		if digits == strconv.Itoa(j.Raw) && j.Array == None || strings.HasPrefix(file[at+i:], j.ID) && (at+i+len(j.ID) == len(file) || file[at+i+len(j.ID)] < '0' || file[at+i+len(j.ID)] > '9') {
			return true
		}
		at, rest = at+n, rest[n:]
	}
}

func (l *Locator) grows(f source.File, r *Run) bool {
	return l.Now != nil && r != nil && r.Ended() && f.Written.After(r.End().Add(slack)) && l.Now().Sub(f.Written) < unsettled
}

// look opens files: which cannot be read, and which hold nothing of the job.
func (l *Locator) look(ctx context.Context, full []source.File, files []pattern.Seen) {
	looks := 0
	for i := range files {
		f := &files[i]
		if len(files) > lookedInto && (f.Size > small || f.Size == 0 || looks >= mostSmall) {
			continue
		}
		looks++
		_, body, err := l.Source.Open(ctx, full[i].Name, 0)
		if err != nil {
			f.Denied = source.KindOf(err) == source.Denied
			continue
		}
		if f.Size > 0 && f.Size <= small {
			if b, err := io.ReadAll(io.LimitReader(body, small)); err == nil {
				f.Start = b
			}
		}
		_ = body.Close() // nothing was written
	}
}

// complete compares the files of a pattern with a step that fits them, the largest where none does: which of several steps a
// pattern belongs to is not said anywhere.
func complete(c candidate, r *Run, files []pattern.Seen) pattern.Result {
	e := pattern.Expect{Template: c.template, Tasks: None}
	if r == nil {
		return pattern.Check(e, files)
	}
	var steps []Step
	for _, s := range r.Steps {
		if _, nodes := s.nodes(); s.numbered() && nodes {
			steps = append(steps, s)
		}
	}
	if len(steps) == 0 {
		e.Nodes, e.Tasks = r.Nodes(), r.last().NTasks
		switch {
		case c.tasks > 0:
			e.Tasks = c.tasks
		case c.nodes > 0:
			e.Tasks = None
		}
		if c.nodes > 0 && c.nodes != len(e.Nodes) || c.tasks > 0 && c.tasks < len(e.Nodes) {
			e.Nodes = nil // a part of them, and nobody says which
		}
		return pattern.Check(e, files)
	}
	slices.SortStableFunc(steps, func(a, b Step) int {
		return cmp.Or(order(b.Name == strconv.Itoa(c.srun), a.Name == strconv.Itoa(c.srun)), cmp.Compare(b.NNodes, a.NNodes))
	})
	var first pattern.Result
	for i, s := range steps {
		e.Nodes, _ = s.nodes()
		e.Tasks = s.NTasks
		result := pattern.Check(e, files)
		if i == 0 {
			first = result
		}
		if result.Odd == "" && len(result.Of(pattern.Missing)) == 0 {
			return result
		}
	}
	return first
}

// order puts true before false.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// never says that the accounting knows fewer steps than the script has before this one: it was not reached.
func (r *Run) never(srun int) bool {
	if r == nil || !r.Ended() || len(r.Steps) == 0 {
		return r != nil && !r.Started()
	}
	n := 0
	for _, s := range r.Steps {
		if s.numbered() {
			n++
		}
	}
	return srun != None && n <= srun
}

// batched says that a batch script ran. Without an accounting the controller tells its output, which other jobs have not.
func (j *Job) batched(r *Run) bool {
	if r == nil || len(r.Steps) == 0 {
		return r != nil && r.Started() && j.Source == "scontrol" && j.StdOut != ""
	}
	return slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Name == "batch" })
}

// covers notes whose output is there: of nodes with a file of their own, or of all where they share what was found.
func (o *Located) covers(r *Run) {
	if r == nil || len(o.Files) == 0 {
		return
	}
	shared := true
	for _, s := range o.Sets {
		if !s.PerNode {
			continue
		}
		shared = false
		if s.Result.Odd != "" || s.Result.Unit == "tasks" && len(s.Result.Of(pattern.Missing)) > 0 {
			continue
		}
		lost := map[string]bool{}
		for _, g := range slices.Concat(s.Result.Of(pattern.Missing), s.Result.Of(pattern.Unreadable)) {
			lost[g.Node] = true
		}
		for _, n := range r.Expected() {
			if !lost[n] && !slices.Contains(o.Covered, n) {
				o.Covered = append(o.Covered, n)
			}
		}
	}
	if shared && len(o.Gaps) == 0 {
		o.Covered = r.Expected()
	}
}

// gap notes what is missing, or may be.
func (o *Located) gap(short, note string) {
	if !slices.Contains(o.Notes, note) {
		o.Notes = append(o.Notes, note)
	}
	if !slices.Contains(o.Gaps, short) {
		o.Gaps = append(o.Gaps, short)
	}
}

// faults are sentences about what could not be looked at.
func faults(c candidate, err error) []string {
	var notes []string
	for _, e := range source.Each(err) {
		s := sentence(e)
		if source.KindOf(e) == source.Outside {
			s = fmt.Sprintf("according to %s, logs are named %s, which is outside the directories I may read", capital(c.from), c.template)
		}
		if !slices.Contains(notes, s+".") && len(notes) < 5 {
			notes = append(notes, s+".")
		}
	}
	return notes
}

// overwritten says whether a later run wrote over the logs of the run that is looked at.
func overwritten(j *Job, r *Run, own script.Reading, list []candidate, found Located) []string {
	if r == nil || len(found.Files) == 0 || own.Append {
		return nil
	}
	var later *Run
	at := 0
	for i := range j.Runs {
		if o := &j.Runs[i]; o.Started() && o.Start().After(r.Start()) && o.Restart != r.Restart {
			later, at = o, i
			break
		}
	}
	if later == nil {
		return nil
	}
	if !slices.ContainsFunc(list, func(c candidate) bool { return !c.template.Has("r") }) {
		return nil // each run has files of its own
	}
	n := 0
	for _, f := range found.Files {
		if !f.Written.IsZero() && !f.Written.Before(later.Start()) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	sure := "The requeue overwrote the failed run's log"
	if !own.Truncate {
		sure += ", unless this cluster appends (JobFileAppend)"
	}
	return []string{fmt.Sprintf("%s: run %d of %d started at %s and wrote to %d of the %d files.", sure, at+1, len(j.Runs), later.Start().Format("2006-01-02 15:04:05")+" UTC", n, len(found.Files))}
}

// capital begins a sentence.
func capital(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}
