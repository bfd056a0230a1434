package slurm

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"faultline/fetch/source"
)

const (
	mostProcesses = 64 // whose files are looked at
	mostOpened    = 256
)

// Opened are the files that processes of a running job write to, of those on the machine where the commands run: SLURM lists
// processes only there, and Linux shows their files to the job's owner and to root. Elsewhere there are none, which is no error.
func (c *Commands) Opened(ctx context.Context, j *Job) []string {
	quick, cancel := asked(ctx, secondAnswer)
	defer cancel()
	out, err := c.run(quick, "scontrol", "listpids", strconv.Itoa(j.Raw))
	if err != nil || out.Code != 0 {
		return nil
	}
	argv := []string{"ls", "-l", "--"}
	for _, pid := range parsePids(string(out.Stdout), j.Raw) {
		argv = append(argv, "/proc/"+strconv.Itoa(pid)+"/fd/")
	}
	if len(argv) == 3 {
		return nil
	}
	out, err = c.run(quick, argv...)
	if err != nil {
		return nil
	}
	return parseOpened(string(out.Stdout)) // what could not be listed is somebody else's
}

// parsePids reads what `scontrol listpids` prints: a header, then PID, JOBID, STEPID, LOCALID and GLOBALID of each process.
func parsePids(text string, job int) (pids []int) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 || f[1] != strconv.Itoa(job) {
			continue
		}
		if pid, err := strconv.Atoi(f[0]); err == nil && pid > 1 && len(pids) < mostProcesses {
			pids = append(pids, pid)
		}
	}
	return pids
}

// parseOpened takes the files open for writing out of `ls -l /proc/PID/fd/`: "l-wx------ 1 ann ann 64 Nov 27 10:00 1 -> /w/a.log".
func parseOpened(text string) (names []string) {
	for line := range strings.Lines(text) {
		mode, _, _ := strings.Cut(line, " ")
		_, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " -> ")
		if writes := len(mode) == 10 && mode[2] == 'w'; !ok || !writes || !path.IsAbs(name) || len(names) == mostOpened {
			continue
		}
		if device := strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/"); !device && logLike(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Opened are the files that a running job's processes write to, as far as one of the backends sees them.
func (c *Cluster) Opened(ctx context.Context, j *Job) []string {
	for _, b := range c.Backends {
		if o, ok := b.(interface {
			Opened(ctx context.Context, j *Job) []string
		}); ok {
			return o.Opened(ctx, j)
		}
	}
	return nil
}

// opened takes the logs that a running job has open, through the gate of all that a job points at.
func (l *Locator) opened(ctx context.Context, j *Job, r *Run, seen map[string]bool, out *Located) {
	if l.Opened == nil || r == nil || !r.Started() || r.Ended() {
		return
	}
	var taken []source.File
	for _, name := range l.Opened(ctx, j) {
		f, err := l.Source.Stat(ctx, name)
		if k := source.KindOf(err); (k == source.Denied || k == source.Outside) && kept(name) {
			out.gap("files I may not read", fmt.Sprintf("The job writes to %s: %v.", name, brief(err)))
		}
		if err == nil && !seen[f.Name] && l.wrote(j, r, f) {
			seen[f.Name] = true
			taken = append(taken, f)
		}
	}
	if len(taken) > 0 {
		out.Files = append(out.Files, taken...)
		out.Notes = append(out.Notes, fmt.Sprintf("I also took %s: the running job writes to it.", few(taken)))
	}
}
