// Package jobs brings the logs of a job from wherever its cluster keeps them, beside what the cluster itself says of it. It
// fills the workflow's port Fetcher.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/fetch"
	"faultline/fetch/push"
	"faultline/fetch/slurm"
	"faultline/fetch/source"
	"faultline/fetch/spool"
	"faultline/workflow"
)

// Fetcher implements workflow.Fetcher. A cluster that nobody can be asked about is searched by the names of files alone.
type Fetcher struct {
	Clusters []Cluster
	// Shared reads mounted file systems and unpacks archives; it knows the roots and globs of all clusters.
	Shared *fetch.Shared
	// Spool keeps what was taken from other machines; nil where no cluster has such a place.
	Spool *spool.Spool
	// Pushed is what owners of jobs handed in; nil where nobody can.
	Pushed *push.Shelf
	// Now is the clock; nil = no times are told.
	Now func() time.Time
	// JobFiles and JobBytes bound what is brought of one job; 0 = no bound.
	JobFiles int
	JobBytes int64
}

// Cluster is one cluster.
type Cluster struct {
	Name string
	// Ask is the cluster itself; nil where nobody can be asked.
	Ask    *slurm.Cluster
	Places []Place
	// Templates and Patterns are the configured names of logs below the roots of each place.
	Templates, Patterns []string
	// Evidence are globs below the roots of what lies beside the logs; {job} stands for the job id.
	Evidence []string
	// SubmitDir is where tests run that the bot submits; "" = it submits none.
	SubmitDir string
	// Team are the names that the people say who ask; they come before Templates.
	Team []string
}

// Place is where logs of a cluster lie.
type Place struct {
	spool.Place
	Roots []string
	// Mounted places are read where they are; what others hold is brought to the spool.
	Mounted bool
	Keys    bool // names are keys of a bucket
}

// scheme begins the place that stands for a job that a cluster knows: its facts and all its logs, as they are when it is read.
const scheme = "slurm:"

// factsScheme begins the place that stands for what a cluster says of a job, without its logs.
const factsScheme = "facts:"

// Facts is what a cluster knows of a job whose logs are elsewhere; without Base where it is not asked or knows no such job.
func (f *Fetcher) Facts(ctx context.Context, cluster, job string) (workflow.Found, error) {
	var found workflow.Found
	id, err := slurm.ParseID(job)
	if err != nil {
		return found, nil //nolint:nilerr // what is no id is no job of a cluster
	}
	for i := range f.Clusters {
		c := &f.Clusters[i]
		if c.Ask == nil || cluster != "" && c.Name != cluster {
			continue
		}
		k, err := f.known(ctx, c, id)
		if errors.Is(err, slurm.ErrUnknown) {
			continue
		}
		if err != nil {
			return found, err
		}
		found.Base = []string{strings.Replace(place(c.Name, k.jobs[0]), scheme, factsScheme, 1)}
		found.Users, found.Notes, found.NodesFrom = owners(k, logs{}), k.notes, k.jobs[0].Source
		found.Nodes = k.expected()
		ran(&found, k)
		return found, nil
	}
	return found, nil
}

// ran notes how the job's newest run was started, and ended.
func ran(found *workflow.Found, k known) {
	j, r := k.jobs[0], k.runs[0]
	found.Partition = j.Partition
	if r == nil {
		return
	}
	found.State, found.Running = r.Fate().String(), !j.Ended() && !r.Ended()
	if n := len(r.Records); n > 0 {
		found.Limit, found.Name = r.Records[n-1].Limit, r.Records[n-1].Job
	}
}

// Unused says that a cluster has not given a number to any job and that no file is called by it, and which number it gives next. ok is
// false where that cannot be told.
func (f *Fetcher) Unused(ctx context.Context, cluster, job string) (next int, ok bool) {
	c := f.cluster(cluster)
	id, err := slurm.ParseID(job)
	if c == nil || c.Ask == nil || err != nil {
		return 0, false
	}
	if next, ok = c.Ask.Unused(ctx, id); !ok {
		return 0, false
	}
	found, err := f.byName(ctx, c, job)
	return next, err == nil && len(found.Places) == 0
}

// place writes it: slurm:west/4242@1795216732, with when the job was submitted, for ids are given again.
func place(cluster string, j *slurm.Job) string {
	id := j.ID
	if j.Het != slurm.None { // all components
		id = strconv.Itoa(j.Het)
	}
	return scheme + cluster + "/" + id + "@" + strconv.FormatInt(submitted(j), 10)
}

func submitted(j *slurm.Job) int64 {
	if len(j.Runs) == 0 || j.Runs[0].Submit().IsZero() {
		return 0
	}
	return j.Runs[0].Submit().Unix()
}

// parsePlace reads it.
func parsePlace(s string) (cluster, job string, submit int64, ok bool) {
	rest, ok := strings.CutPrefix(s, scheme)
	if !ok {
		return "", "", 0, false
	}
	cluster, rest, ok = strings.Cut(rest, "/")
	job, at, ok2 := strings.Cut(rest, "@")
	submit, err := strconv.ParseInt(at, 10, 64)
	return cluster, job, submit, ok && ok2 && err == nil
}

func (f *Fetcher) cluster(name string) *Cluster {
	i := slices.IndexFunc(f.Clusters, func(c Cluster) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Clusters[i]
}

// Locate implements workflow.Fetcher.
func (f *Fetcher) Locate(ctx context.Context, cluster, job string) (found workflow.Found, err error) {
	if f.Now != nil {
		start := f.Now()
		defer func() { found.Took = f.Now().Sub(start) }()
	}
	for i := range f.Clusters {
		c := &f.Clusters[i]
		if cluster != "" && c.Name != cluster {
			continue
		}
		one, err := f.locate(ctx, c, job)
		if err != nil {
			return found, err
		}
		merge(&found, one)
		if len(found.Base) > 0 {
			return found, nil // the cluster knows the job
		}
	}
	slices.Sort(found.Places)
	return found, nil
}

// merge adds what was found of one more cluster.
func merge(to *workflow.Found, one workflow.Found) {
	to.Places = append(to.Places, one.Places...)
	to.Searched = append(to.Searched, one.Searched...)
	to.Users = append(to.Users, one.Users...)
	slices.Sort(to.Users)
	to.Users = slices.Compact(to.Users)
	if one.Written.After(to.Written) {
		to.Written = one.Written
	}
	to.Base, to.Nodes, to.NodesFrom = one.Base, one.Nodes, one.NodesFrom
	to.State, to.Running, to.Notes = one.State, one.Running, append(to.Notes, one.Notes...)
}

func (f *Fetcher) locate(ctx context.Context, c *Cluster, job string) (workflow.Found, error) {
	id, err := slurm.ParseID(job)
	if c.Ask == nil || err != nil {
		return f.byName(ctx, c, job)
	}
	known, err := f.known(ctx, c, id)
	if ctx.Err() != nil {
		return workflow.Found{}, ctx.Err()
	}
	if err != nil {
		found, nerr := f.byName(ctx, c, job)
		if errors.Is(err, slurm.ErrUnknown) { // else they were not searched
			for _, b := range c.Ask.Backends {
				found.Searched = append(found.Searched, b.String())
			}
		}
		switch {
		case !errors.Is(err, slurm.ErrUnknown):
			found.Notes = append(found.Notes, known.notes...)
		case len(found.Places) == 0:
			found.Notes = append(found.Notes, fmt.Sprintf("Cluster %s doesn't know job %s: check the ID, or its accounting no longer keeps the job.", c.Name, job))
		}
		return found, nerr
	}
	logs, err := f.logs(ctx, c, known)
	if err != nil {
		return workflow.Found{}, err
	}
	j, r := known.jobs[0], known.runs[0]
	found := workflow.Found{
		Base: []string{place(c.Name, j)}, Users: owners(known, logs), Written: logs.written, Searched: searched(c),
		Notes: append(known.notes, logs.notes...), NodesFrom: j.Source,
	}
	found.Nodes = known.expected()
	ran(&found, known)
	found.Notes = slices.Insert(found.Notes, 0, says(j, r, logs))
	if logs.some() { // the place of the job stands for its logs too
		found.Places, found.Base = found.Base, nil
	}
	return found, nil
}

// filesSaid is how many names of files one sentence holds.
const filesSaid = 4

// says is the sentence about a job that comes first.
func says(j *slurm.Job, r *slurm.Run, l logs) string {
	s := "Job " + j.ID + " is not described further"
	switch {
	case r == nil:
	case !r.Started():
		s = fmt.Sprintf("Job %s is %s and never had nodes", j.ID, r.State())
	case !r.Ended():
		s = fmt.Sprintf("Job %s is %s on %d nodes", j.ID, r.State(), len(r.Nodes()))
	default:
		s = fmt.Sprintf("Job %s ended %s on %d nodes, according to %s", j.ID, r.Fate(), len(r.Nodes()), j.Source)
	}
	var names []string
	for _, f := range l.files {
		names = append(names, f.Name)
	}
	names = append(names, l.folders...)
	for _, b := range l.bundles {
		for _, x := range b.Logs() {
			if !slices.Contains(names, x.Path) {
				names = append(names, x.Path)
			}
		}
	}
	switch n := len(names); {
	case n == 0:
		return s + "; I found none of its logs."
	case n > filesSaid:
		return fmt.Sprintf("%s; its logs: %s, … (%d files).", s, strings.Join(names[:filesSaid], ", "), n)
	default:
		return fmt.Sprintf("%s; its logs: %s.", s, strings.Join(names, ", "))
	}
}

// searched says where logs were looked for.
func searched(c *Cluster) []string {
	var list []string
	for _, b := range c.Ask.Backends {
		list = append(list, b.String())
	}
	for _, p := range c.Places {
		for _, root := range p.Roots {
			if p.Mounted {
				list = append(list, root)
			} else {
				list = append(list, strings.TrimSuffix(p.ID, "/")+"/"+strings.TrimPrefix(root, "/"))
			}
		}
	}
	return list
}

// owners are the accounts that a job belongs to.
func owners(k known, l logs) []string {
	users := slices.Clone(l.owners)
	for _, j := range k.jobs {
		if j.User != "" {
			users = append(users, j.User)
		}
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// byName looks for files whose names hold the job's id, and for what was pushed.
func (f *Fetcher) byName(ctx context.Context, c *Cluster, job string) (workflow.Found, error) {
	found, err := f.Shared.Locate(ctx, c.Name, job)
	if err != nil || job == "" {
		return found, err
	}
	if err := f.bundles(c.Name, job, &found); err != nil {
		return found, err
	}
	for _, p := range c.Places {
		if p.Mounted {
			continue // Shared has looked
		}
		files, notes, err := f.globs(ctx, c, p, job)
		if err != nil {
			return found, err
		}
		found.Notes = append(found.Notes, notes...)
		for _, file := range files {
			found.Places = append(found.Places, p.ID+slashed(file.Name))
			if file.Owner != "" {
				found.Users = append(found.Users, file.Owner)
			}
			if file.Written.After(found.Written) {
				found.Written = file.Written
			}
		}
		for _, root := range p.Roots {
			found.Searched = append(found.Searched, p.ID+slashed(root))
		}
	}
	if len(found.Places) > 0 {
		if err := f.besideNames(ctx, c, job, &found); err != nil {
			return found, err
		}
	}
	slices.Sort(found.Users)
	found.Users = slices.Compact(found.Users)
	return found, nil
}

// besideNames adds what lies beside logs that were found by their names.
func (f *Fetcher) besideNames(ctx context.Context, c *Cluster, job string, found *workflow.Found) error {
	for _, p := range c.Places {
		files, notes, err := f.beside(ctx, c, p, job)
		if err != nil {
			return err
		}
		found.Notes = append(found.Notes, notes...)
		for _, file := range files {
			name := p.ID + slashed(file.Name)
			if p.Mounted {
				name = file.Name
			}
			in := func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
			if !slices.ContainsFunc(found.Places, in) {
				found.Places = append(found.Places, name)
			}
		}
	}
	return nil
}

func slashed(name string) string { return "/" + strings.TrimPrefix(name, "/") }

// globs finds logs of a place by the configured patterns, and what lies in folders that fit one.
func (f *Fetcher) globs(ctx context.Context, c *Cluster, p Place, job string) (files []source.File, notes []string, err error) {
	return match(ctx, p, job, c.Patterns, func(name string) bool { return !fetch.NoLog(name) })
}

// beside finds what lies beside the logs, by its own patterns. Its names say nothing: what a file is, it is told by its content later.
func (f *Fetcher) beside(ctx context.Context, c *Cluster, p Place, job string) (files []source.File, notes []string, err error) {
	return match(ctx, p, job, c.Evidence, func(string) bool { return true })
}

// match finds files of a job below the roots of a place.
func match(ctx context.Context, p Place, job string, patterns []string, wanted func(name string) bool) (files []source.File, notes []string, err error) {
	seen := map[string]bool{}
	for _, root := range p.Roots {
		for _, pattern := range patterns {
			glob := path.Join(root, strings.ReplaceAll(pattern, "{job}", source.Escape(job)))
			for _, g := range []string{glob, glob + "/**"} {
				found, gerr := p.Source.Glob(ctx, g)
				if ctx.Err() != nil {
					return nil, nil, ctx.Err()
				}
				for _, e := range source.Each(gerr) {
					if text := e.Error() + "."; !slices.Contains(notes, text) && len(notes) < mostNotes {
						notes = append(notes, text)
					}
				}
				for _, file := range found {
					if !seen[file.Name] && wanted(file.Name) && fetch.OfJob(strings.TrimPrefix(file.Name, root), job) {
						seen[file.Name] = true
						files = append(files, file)
					}
				}
			}
		}
	}
	return files, notes, nil
}

const mostNotes = 8

// known is what a cluster says of a job: the one that is looked at, or all components of a heterogeneous one.
type known struct {
	jobs  []*slurm.Job
	runs  []*slurm.Run // of each the one to look at; nil where it has none
	notes []string
}

// expected are the nodes that logs should come from. Of a heterogeneous job they are those of all components, or, where the
// accounting tells of steps, of those that had one: a component may only hold what the others need.
func (k known) expected() []string {
	stepped := slices.ContainsFunc(k.runs, func(r *slurm.Run) bool { return r != nil && r.Stepped() })
	var nodes []string
	for _, r := range k.runs {
		if r == nil || stepped && !r.Stepped() {
			continue
		}
		for _, n := range r.Expected() {
			if !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
	}
	return nodes
}

// known asks the cluster and chooses what to look at.
func (f *Fetcher) known(ctx context.Context, c *Cluster, id slurm.ID) (known, error) {
	jobs, warnings, err := c.Ask.Jobs(ctx, id)
	k := known{notes: warnings}
	if err != nil {
		return k, fmt.Errorf("looking up job %s: %w", id, err)
	}
	if jobs[0].Array != slurm.None && len(jobs) > 1 {
		jobs = k.element(id, jobs)
	}
	if len(jobs) == 0 {
		return k, fmt.Errorf("%w: the array has no element %s", slurm.ErrUnknown, id)
	}
	for i := range jobs {
		j := &jobs[i]
		r, n := j.Subject()
		k.jobs, k.runs = append(k.jobs, j), append(k.runs, r)
		for _, n := range j.Notes {
			if !slices.Contains(k.notes, n) { // components say the same
				k.notes = append(k.notes, n)
			}
		}
		if r == nil || len(j.Runs) < 2 {
			continue
		}
		note := fmt.Sprintf("Job %s ran %d times; I'm looking at run %d: %s.", j.ID, len(j.Runs), n+1, r.Fate())
		if last := j.Newest(); last != r {
			note = fmt.Sprintf("Job %s ran %d times; I'm looking at run %d: %s. The last run, %s, shows nothing about that failure.", j.ID, len(j.Runs), n+1, r.Fate(), word(last))
		}
		k.notes = append(k.notes, note)
	}
	if len(jobs) > 1 {
		k.notes = append(k.notes, fmt.Sprintf("Job %s is heterogeneous: %d components, each with its own nodes.", id, len(jobs)))
	}
	return k, nil
}

// word is how a run is called that is not looked at.
func word(r *slurm.Run) string {
	if !r.Started() {
		return strings.ToLower(r.State()) + " before it started"
	}
	return strings.ToLower(r.State())
}

// element is one of an array: the one to begin with, of those asked for.
func (k *known) element(id slurm.ID, jobs []slurm.Job) []slurm.Job {
	jobs = slices.DeleteFunc(jobs, func(j slurm.Job) bool { return !id.Wants(j.Task) })
	if len(jobs) == 0 {
		return nil
	}
	s := slurm.Summarize(jobs)
	task, ok := s.Representative()
	i := slices.IndexFunc(jobs, func(j slurm.Job) bool { return j.Task == task })
	if !ok || i < 0 {
		i = 0
	}
	k.notes = append(k.notes, fmt.Sprintf("Job %s is an array: %s. I'm looking at %s; to see another, give its ID.", id, s, jobs[i].ID))
	return jobs[i : i+1]
}
