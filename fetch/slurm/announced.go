package slurm

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"faultline/fetch/slurm/script"
	"faultline/fetch/source"
)

// Bounds of what is read to learn where a job says that it writes: logs are somebody else's text, and large.
const (
	mostAsked     = 12      // logs that are read
	mostAskedHead = 1 << 20 // bytes of the beginning of each: programs say at their start where they write
	mostAskedLine = 4 << 10
	mostAnnounced = 24
	mostSearch    = time.Minute // for all of it: directories that people share are large
)

// announcing says that a line tells where something is written: "Logging to", "log_dir:", "Working directory  : ", "Saving logs to".
// The path follows.
var announcing = regexp.MustCompile(`(?i)(?:\b|_)(?:logs?|logging|logged|logger|logdir|stdout|stderr|nccl_debug_file|hydra|(?:run|exp|experiment|work|working|output|dump|redirect)[ _-]?(?:dir|directory|folder|path))(?:\b|_)`)

// printedPath is a path in a line, absolute or with a directory, in quotes or behind a sign.
var printedPath = regexp.MustCompile("(?:^|[\\s='\"`(:<\\[])(/?(?:[\\w.+%@~-]+/)+[\\w.+%@=~-]*|/[\\w.+%@=~-]+)")

// announcement is a path that a log names.
type announcement struct {
	name string
	by   string // the log
	line int
}

// announced takes the files that the job's own logs say it writes, through the gate of all that a job points at: below the roots,
// of its user, written while it ran. Each is given with the line that names it.
func (l *Locator) announced(ctx context.Context, j *Job, r *Run, seen map[string]bool, out *Located) {
	if j.User == "" || r == nil {
		return
	}
	ctx, end := context.WithTimeout(ctx, mostSearch)
	defer end()
	taken := map[string][]source.File{}
	var order []announcement
	for _, a := range l.announcements(ctx, out.Files, j) {
		files, err := l.at(ctx, a.name)
		if k := source.KindOf(err); (k == source.Denied || k == source.Outside) && kept(a.name) {
			out.gap("files I may not read", fmt.Sprintf("Line %d of %s mentions the log %s: %v.", a.line, path.Base(a.by), a.name, brief(err)))
		}
		// Where older logs lie, other jobs may write too: there a name has to tell the job.
		shared := slices.ContainsFunc(files, func(f source.File) bool { return f.Written.Before(r.Start()) })
		for _, f := range files {
			foreign := !j.names(f.Name) && (shared || j.others(path.Base(f.Name)))
			if seen[f.Name] || !l.wrote(j, r, f) || foreign || len(taken[a.name]) == mostNet {
				continue
			}
			seen[f.Name] = true
			if taken[a.name] == nil {
				order = append(order, a)
			}
			taken[a.name] = append(taken[a.name], f)
		}
	}
	for _, a := range order {
		out.Files = append(out.Files, taken[a.name]...)
		out.Notes = append(out.Notes, fmt.Sprintf("I also took %s: line %d of %s mentions it.", few(taken[a.name]), a.line, path.Base(a.by)))
	}
}

// wrote says that a file is a log that the job's user wrote while the job ran.
func (l *Locator) wrote(j *Job, r *Run, f source.File) bool {
	return (l.NoLog == nil || !l.NoLog(f.Name)) && j.owns(f) && within(f, r)
}

// kept says that a path is called as a log and is no temporary file of a node.
func kept(name string) bool {
	local := slices.ContainsFunc([]string{"/tmp/", "/var/", "/dev/", "/proc/", "/run/"}, func(dir string) bool { return strings.HasPrefix(name, dir) })
	return !local && script.LogName(name)
}

// at are the logs at a path: the file itself, or those below a directory. The error is the file's.
func (l *Locator) at(ctx context.Context, name string) ([]source.File, error) {
	var fault error
	if path.Ext(name) != "" {
		f, err := l.Source.Stat(ctx, name)
		if err == nil && logLike(name) {
			return []source.File{f}, nil
		}
		fault = err
	}
	files, _ := l.Source.Glob(ctx, source.Escape(name)+"/**") // what cannot be looked at is no log of this job for sure
	return slices.DeleteFunc(files, func(f source.File) bool { return !logLike(f.Name) }), fault
}

// announcements reads the beginnings of logs, in the order in which they were found: the batch script's is the first.
func (l *Locator) announcements(ctx context.Context, files []source.File, j *Job) (list []announcement) {
	known := map[string]bool{}
	for _, f := range files[:min(len(files), mostAsked)] {
		_, body, err := l.Source.Open(ctx, f.Name, 0)
		if err != nil {
			continue // said of the log itself
		}
		for _, a := range l.announcedIn(io.LimitReader(body, mostAskedHead), j, f.Name) {
			if !known[a.name] && len(list) < mostAnnounced {
				known[a.name] = true
				list = append(list, a)
			}
		}
		_ = body.Close() // nothing was written
	}
	return list
}

func (l *Locator) announcedIn(text io.Reader, j *Job, by string) (list []announcement) {
	lines := bufio.NewReaderSize(text, mostAskedLine)
	for n := 1; len(list) < mostAnnounced; n++ {
		raw, more, err := lines.ReadLine()
		if err != nil {
			return list
		}
		line := string(raw)
		for more && err == nil { // the rest of a long line
			_, more, err = lines.ReadLine()
		}
		word := announcing.FindStringIndex(line)
		if word == nil {
			continue
		}
		for _, m := range printedPath.FindAllStringSubmatch(line[word[0]:], 4) {
			if name := l.worth(j, strings.TrimRight(m[1], ".")); name != "" {
				list = append(list, announcement{name, by, n})
			}
		}
	}
	return list
}

// worth is a printed path as it is looked for, "" where it is not: a directory that holds more than this job's logs.
func (l *Locator) worth(j *Job, printed string) string {
	name := path.Clean(printed)
	if !path.IsAbs(name) {
		if j.WorkDir == "" || strings.HasPrefix(name, "..") {
			return ""
		}
		name = path.Join(j.WorkDir, name)
	}
	above := func(dir string) bool { return dir != "" && (dir == name || strings.HasPrefix(dir, name+"/")) }
	if above(j.WorkDir) || above(l.Home) || slices.ContainsFunc(l.Roots, above) || strings.Count(name, "/") < 2 {
		return ""
	}
	return name
}
