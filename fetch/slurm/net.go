package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"faultline/fetch/slurm/pattern"
	"faultline/fetch/slurm/script"
	"faultline/fetch/source"
)

// Script is a job's batch script, or why there is none.
type Script struct {
	Text string
	Err  error // why nobody shows it; nil where nobody was asked
}

const (
	mostScript = 1 << 20 // bytes of a script that is run
	mostNet    = 256     // files that no statement names
)

// script reads a script that the job runs, through the same gate as its logs: below the roots, and of the job's user.
func (l *Locator) script(ctx context.Context, j *Job, name string) (string, error) {
	f, err := l.Source.Stat(ctx, name)
	if err != nil {
		return "", brief(err)
	}
	if number, isNumber := strings.CutPrefix(f.Owner, "#"); f.Owner != "" && f.Owner != "root" && f.Owner != j.User && (!isNumber || number != j.UID) {
		return "", fmt.Errorf("it belongs to someone else")
	}
	_, body, err := l.Source.Open(ctx, name, 0)
	if err != nil {
		return "", brief(err)
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, mostScript))
	if err != nil {
		return "", brief(err)
	}
	return string(raw), nil
}

// brief is an error of a place in a few words.
func brief(err error) error {
	switch source.KindOf(err) {
	case source.Denied:
		return fmt.Errorf("this account may not read it")
	case source.Outside:
		return fmt.Errorf("it is outside the directories I may read")
	case source.NotFound:
		return fmt.Errorf("it doesn't exist")
	}
	return err
}

// submitted takes the file that was submitted where the cluster does not show the script, and says so.
func (l *Locator) submitted(ctx context.Context, j *Job, s Script, out *Located) Script {
	line := script.ParseSubmit(j.SubmitLine)
	if s.Text != "" || line.Step {
		return s
	}
	why := "SLURM doesn't keep it"
	if s.Err != nil {
		why = strings.TrimSuffix(oneLine(s.Err.Error()), ".")
	}
	name := firstOf(j.Command, line.Script)
	if name != "" && !path.IsAbs(name) {
		name = path.Join(j.WorkDir, name)
	}
	if path.IsAbs(name) {
		if text, err := l.script(ctx, j, name); err == nil && strings.HasPrefix(text, "#!") {
			out.Notes = append(out.Notes, fmt.Sprintf("I couldn't see the script that ran (%s), so I read the current %s.", why, name))
			return Script{Text: text}
		}
	}
	s.Err = errors.New(why)
	return s
}

// unseen says that the script was not seen, unless there are logs of each node all the same.
func (o *Located) unseen(why error) {
	if slices.ContainsFunc(o.Sets, func(s Set) bool { return s.PerNode && len(s.Files) > 0 }) {
		return
	}
	o.gap("logs that only the job's script names (I couldn't see it)",
		fmt.Sprintf("I couldn't see the job's script because %s, so I looked only for its batch log, configured names and files next to it. To fix it, give this account SLURM's Operator rights, or set AccountingStoreFlags=job_script.", why))
}

// net looks beside the batch log for what no statement names: files with the job's number in their names and, where there are
// none and nothing but the batch log is known, logs that the job's user wrote while it ran. It gives files with their reasons.
func (l *Locator) net(ctx context.Context, j *Job, r *Run, list []candidate, unclear bool, seen map[string]bool, out *Located) {
	if slices.ContainsFunc(out.Sets, func(s Set) bool { return s.PerNode && len(s.Files) > 0 }) {
		return
	}
	var numbered, timed []source.File
	found := map[string]bool{}
	for _, dir := range l.around(j, r, list) {
		for _, glob := range []string{"/*", "/*/*"} {
			files, _ := l.Source.Glob(ctx, source.Escape(dir)+glob) // what cannot be looked at was said of the log itself
			for _, f := range files {
				if seen[f.Name] || found[f.Name] || len(numbered)+len(timed) == mostNet || !l.wrote(j, r, f) || !logLike(f.Name) {
					continue
				}
				found[f.Name] = true
				switch rest := strings.TrimPrefix(f.Name, dir); {
				case j.names(path.Base(rest)) || unclear && j.names(rest):
					numbered = append(numbered, f)
				case unclear && !j.others(rest):
					timed = append(timed, f)
				}
			}
		}
	}
	take := func(files []source.File) {
		for _, f := range files {
			seen[f.Name] = true
		}
		out.Files = append(out.Files, files...)
	}
	switch {
	case len(numbered) > 0:
		take(numbered)
		out.Notes = append(out.Notes, fmt.Sprintf("I also took %s: the name contains the job ID.", few(numbered)))
	case len(timed) > 0 && !slices.ContainsFunc(out.Sets, func(s Set) bool { return !s.Batch && len(s.Files) > 0 }):
		take(timed)
		out.Notes = append(out.Notes, fmt.Sprintf("I also took %s: written by %s next to the batch log while the job ran.", few(timed), firstOf(j.User, "the job's user")))
	}
}

// around are the directories of the batch log.
func (l *Locator) around(j *Job, r *Run, list []candidate) (dirs []string) {
	for _, c := range list {
		if !c.batch {
			continue
		}
		name, ok := c.template.Expand(pattern.Batch, j.vars(r)[0])
		if dir := path.Dir(name); ok && dir != "/" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// owns says that a file is known to be of the job's user.
func (j *Job) owns(f source.File) bool {
	number, isNumber := strings.CutPrefix(f.Owner, "#")
	return f.Owner != "" && (f.Owner == j.User || isNumber && number == j.UID)
}

// others says that a name holds a number as long as the job's, which may be another job's.
func (j *Job) others(name string) bool {
	long := len(fmt.Sprint(j.Raw))
	for _, digits := range strings.FieldsFunc(name, func(c rune) bool { return c < '0' || c > '9' }) {
		if len(digits) == long && long > 2 {
			return true
		}
	}
	return strings.HasPrefix(path.Base(name), "slurm-")
}

// logLike says that a file is called as logs are.
func logLike(name string) bool {
	base := strings.ToLower(path.Base(name))
	switch path.Ext(base) {
	case ".log", ".out", ".err", ".txt", ".o", ".e", ".gz", ".zst", ".stdout", ".stderr":
		return true
	}
	return strings.Contains(base, "log") || strings.Contains(base, "rank") || strings.HasPrefix(base, "slurm")
}

// few names some of a list.
func few(files []source.File) string {
	var names []string
	for _, f := range files[:min(len(files), 3)] {
		names = append(names, f.Name)
	}
	if len(files) > 3 {
		return fmt.Sprintf("%s, … (%d files)", strings.Join(names, ", "), len(files))
	}
	return strings.Join(names, ", ")
}
