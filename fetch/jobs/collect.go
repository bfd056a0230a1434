package jobs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"faultline/fetch"
	"faultline/fetch/push"
	"faultline/fetch/slurm"
	"faultline/fetch/source"
	"faultline/fetch/spool"
	"faultline/incident"
	"faultline/workflow"
)

// logs are the files of a job, and where each is.
type logs struct {
	files   []file
	beside  []file   // what is no log, and lies where the configuration says
	folders []string // mounted, that are named after the job
	owners  []string
	written time.Time
	notes   []string
	covered []string       // nodes whose output is in the files
	gaps    []string       // what is missing, or may be, in a few words each
	bundles []*push.Bundle // what was pushed; its logs are not among files
	held    map[string]bool
}

// some says whether there is any log.
func (l logs) some() bool {
	return len(l.files)+len(l.folders) > 0 || slices.ContainsFunc(l.bundles, func(b *push.Bundle) bool { return len(b.Logs()) > 0 })
}

type file struct {
	source.File
	place *Place
}

// logs looks for the files of a job in all places of its cluster: as the job and the templates say; where neither has files
// per node, by the job's id in their names too.
func (f *Fetcher) logs(ctx context.Context, c *Cluster, k known) (logs, error) {
	var out logs
	seen := map[string]bool{}
	add := func(p *Place, list []source.File) {
		for _, x := range list {
			if key := p.ID + slashed(x.Name); !seen[key] {
				seen[key] = true
				out.files = append(out.files, file{x, p})
				if x.Written.After(out.written) {
					out.written = x.Written
				}
			}
		}
	}
	perNode := false
	var missing, gaps []string
	for i, j := range k.jobs {
		if k.runs[i] == nil {
			continue
		}
		id, err := slurm.ParseID(j.ID)
		if err != nil {
			continue
		}
		script := c.Ask.Script(ctx, id)
		places, err := f.places(c, j, k.runs[i], &out)
		if err != nil {
			return out, err
		}
		for _, p := range places {
			l := slurm.Locator{Source: p.source, Roots: p.Roots, Templates: c.Templates, Team: c.Team, Keys: p.Keys, Now: f.Now, NoLog: fetch.NoLog, Opened: c.Ask.Opened, Told: script.Text == "" && len(out.bundles) > 0}
			if p.Mounted {
				l.Home = homeOf(j.User)
			}
			got, err := l.Locate(ctx, j, k.runs[i], script)
			if err != nil {
				return out, fmt.Errorf("looking for the logs of job %s: %w", j.ID, err)
			}
			add(p.Place, slices.DeleteFunc(got.Files, out.holds))
			out.owners = append(out.owners, got.Owners...)
			if len(got.Files) > 0 || len(places) == 1 {
				out.notes, out.gaps = append(out.notes, got.Notes...), append(out.gaps, got.Gaps...)
			} else { // another place may have them
				missing, gaps = append(missing, got.Notes...), append(gaps, got.Gaps...)
			}
			if script.Text == "" { // whoever pushed could read it, and knew what was missing
				out.notes = out.stated()
			}
			out.covered = append(out.covered, got.Covered...)
			perNode = perNode || slices.ContainsFunc(got.Sets, func(s slurm.Set) bool { return s.PerNode && len(s.Files) > 0 })
		}
	}
	if !perNode {
		if err := f.named(ctx, c, k, &out); err != nil {
			return out, err
		}
		for p := range c.Places {
			p := &c.Places[p]
			for _, j := range k.jobs {
				if p.Mounted {
					break
				}
				list, notes, err := f.globs(ctx, c, *p, j.ID)
				if err != nil {
					return out, err
				}
				add(p, list)
				out.notes = append(out.notes, notes...)
				for _, x := range list {
					if x.Owner != "" {
						out.owners = append(out.owners, x.Owner)
					}
				}
			}
		}
	}
	if !out.some() {
		out.notes, out.gaps = append(out.notes, missing...), append(append(out.gaps, "every log of the job"), gaps...)
	}
	for p := range c.Places {
		p := &c.Places[p]
		for _, j := range k.jobs {
			list, notes, err := f.beside(ctx, c, *p, j.ID)
			if err != nil {
				return out, err
			}
			for _, x := range list {
				if key := p.ID + slashed(x.Name); !seen[key] && !(p.Mounted && out.inFolder(x.Name)) {
					seen[key] = true
					out.beside = append(out.beside, file{x, p})
				}
			}
			out.notes = append(out.notes, notes...)
		}
	}
	slices.SortFunc(out.files, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.place.ID, b.place.ID), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// homeOf is where ~ leads for a user of this machine.
func homeOf(name string) string {
	u, err := user.Lookup(name)
	if err != nil {
		return ""
	}
	if st, err := os.Stat(u.HomeDir); err != nil || !st.IsDir() {
		return "" // of another machine
	}
	return u.HomeDir
}

// named adds what is mounted here and named after the jobs.
func (f *Fetcher) named(ctx context.Context, c *Cluster, k known, out *logs) error {
	for _, j := range k.jobs {
		found, err := f.Shared.Locate(ctx, c.Name, j.ID)
		if err != nil {
			return err
		}
		for _, place := range found.Places {
			if !slices.ContainsFunc(out.files, func(x file) bool { return x.place.Mounted && x.Name == place }) {
				out.folders = append(out.folders, place)
			}
		}
		out.owners = append(out.owners, found.Users...)
		if found.Written.After(out.written) {
			out.written = found.Written
		}
	}
	// A file that is in such a folder comes with it.
	out.files = slices.DeleteFunc(out.files, func(x file) bool { return x.place.Mounted && out.inFolder(x.Name) })
	return nil
}

// inFolder says that a file comes with a folder that is named after the job.
func (l logs) inFolder(name string) bool {
	return slices.ContainsFunc(l.folders, func(dir string) bool { return strings.HasPrefix(name, dir+"/") })
}

// Collect implements workflow.Fetcher.
func (f *Fetcher) Collect(ctx context.Context, places []string) (workflow.Collection, error) {
	out := collection{from: f.Shared.Door()}
	var local []string
	var failed []error
	remote := map[*Place][]source.File{}
	var handed []string
	for _, name := range places {
		if strings.HasPrefix(name, pushScheme) {
			handed = append(handed, name)
			continue
		}
		rest, facts := strings.CutPrefix(name, factsScheme)
		if facts {
			name = scheme + rest
			if slices.Contains(places, name) { // its logs come, too
				continue
			}
		}
		cluster, job, submit, ok := parsePlace(name)
		if ok {
			if err := f.job(ctx, &out, &local, remote, cluster, job, submit, facts); err != nil {
				failed = append(failed, err)
			}
			continue
		}
		if p, rest := f.remote(name); p != nil {
			found, err := p.Source.Stat(ctx, rest)
			if err != nil {
				out.Warnings = append(out.Warnings, err.Error()+".")
				continue
			}
			remote[p] = append(remote[p], found)
			continue
		}
		local = append(local, name)
	}
	for _, name := range handed {
		if err := f.handed(&out, name); err != nil {
			failed = append(failed, err)
		}
	}
	if ctx.Err() != nil {
		return workflow.Collection{}, ctx.Err()
	}
	if len(local) > 0 {
		got, err := f.Shared.Collect(ctx, local)
		if err != nil {
			failed = append(failed, err)
		}
		out.Sources, out.Warnings = append(out.Sources, got.Sources...), append(out.Warnings, got.Warnings...)
		out.Fault, out.Users = got.Fault, got.Users
	}
	if err := f.take(ctx, &out, remote); err != nil {
		return workflow.Collection{}, err
	}
	out.union()
	if len(out.Sources) == 0 {
		return workflow.Collection{}, errors.Join(append(failed, out.Fault, fetch.ErrNothing)...)
	}
	for _, err := range failed {
		out.Warnings = append(out.Warnings, err.Error()+".")
	}
	apart(out.Sources)
	facts := out.Facts
	out.Facts = nil
	for _, s := range out.Sources {
		if slices.Contains(facts, s.Path) {
			out.Facts = append(out.Facts, s.Name)
		}
	}
	return out.Collection, nil
}

// remote is the place that a name is in, and the name there.
func (f *Fetcher) remote(name string) (*Place, string) {
	for i := range f.Clusters {
		for p := range f.Clusters[i].Places {
			p := &f.Clusters[i].Places[p]
			rest, ok := strings.CutPrefix(name, p.ID+"/")
			if p.Mounted || !ok {
				continue
			}
			if !p.Keys {
				rest = "/" + rest
			}
			return p, rest
		}
	}
	return nil, ""
}

// take brings files from other machines.
func (f *Fetcher) take(ctx context.Context, out *collection, remote map[*Place][]source.File) error {
	var before, all workflow.Brought // of the places that are done, and of all
	for _, files := range remote {
		all.OfFiles += len(files)
		for _, x := range files {
			all.OfBytes += x.Size
		}
	}
	for i := range f.Clusters {
		for p := range f.Clusters[i].Places {
			p := &f.Clusters[i].Places[p]
			if len(remote[p]) == 0 {
				continue
			}
			if f.Spool == nil {
				return fmt.Errorf("%s: no space to fetch its files into", p.ID)
			}
			for _, x := range remote[p] {
				if x.Owner != "" && x.Owner != "root" && x.Owner != "#0" && !slices.Contains(out.Users, x.Owner) {
					out.Users = append(out.Users, x.Owner)
				}
			}
			from := p.Place
			from.Source = &source.Limit{Of: p.Source, Files: f.JobFiles, Bytes: f.JobBytes}
			var here spool.Progress
			got, err := f.Spool.Take(ctx, from, wants(remote[p]), func(now spool.Progress) {
				here = now
				workflow.Tell(ctx, workflow.Brought{
					Files: before.Files + now.Files, OfFiles: all.OfFiles, Bytes: before.Bytes + now.Bytes, OfBytes: max(all.OfBytes, before.Bytes+now.Bytes),
					Fetched: before.Fetched + now.Fetched,
				})
			})
			before.Files, before.Bytes, before.Fetched = before.Files+here.Files, before.Bytes+here.Bytes, before.Fetched+here.Fetched
			if err != nil {
				return fmt.Errorf("fetching the logs from %s: %w", p.ID, err)
			}
			out.Sources = append(out.Sources, got.Sources...)
			for n, m := range got.Missed {
				if n == mostNotes {
					out.Warnings = append(out.Warnings, fmt.Sprintf("%d more files could not be fetched from %s.", len(got.Missed)-n, p.ID))
					break
				}
				out.Warnings = append(out.Warnings, m.Err.Error()+".")
			}
			for _, m := range got.Missed {
				if spool.Ours(m.Err) {
					out.Fault = workflow.NotKept(m.Err)
				}
			}
		}
	}
	return nil
}

// wants names files by what tells them apart: their paths without what all have in common.
func wants(files []source.File) []spool.Want {
	common := ""
	for i, x := range files {
		dir := x.Name[:strings.LastIndexByte(x.Name, '/')+1]
		if i == 0 {
			common = dir
		}
		for !strings.HasPrefix(dir, common) {
			common = common[:strings.LastIndexByte(strings.TrimSuffix(common, "/"), '/')+1]
		}
	}
	var list []spool.Want
	for _, x := range files {
		list = append(list, spool.Want{File: x, Name: strings.ToValidUTF8(strings.TrimPrefix(x.Name, common), "?")})
	}
	return list
}

// job adds what a cluster says of a job, and names its logs unless that alone is wanted.
func (f *Fetcher) job(ctx context.Context, out *collection, local *[]string, remote map[*Place][]source.File, cluster, job string, submit int64, alone bool) error {
	c := f.cluster(cluster)
	if c == nil || c.Ask == nil {
		return fmt.Errorf("cluster %q of job %s is no longer configured", cluster, job)
	}
	id, err := slurm.ParseID(job)
	if err != nil {
		return err
	}
	k, err := f.known(ctx, c, id)
	if err != nil {
		return err
	}
	j := k.jobs[0]
	if submit != 0 && submitted(j) != 0 && submitted(j) != submit {
		return fmt.Errorf("ID %s now belongs to another job: the requested one is no longer in the accounting", job)
	}
	var got logs
	if !alone {
		if got, err = f.logs(ctx, c, k); err != nil {
			return err
		}
	}
	*local = append(*local, got.folders...)
	out.bundles = append(out.bundles, got.bundles...)
	for _, x := range slices.Concat(got.files, got.beside) {
		if x.place.Mounted {
			*local = append(*local, x.Name)
		} else {
			remote[x.place] = append(remote[x.place], x.File)
		}
	}
	out.Warnings = append(append(out.Warnings, k.notes...), got.notes...)
	out.Gaps, out.Covered = append(out.Gaps, got.gaps...), append(out.Covered, got.covered...)
	if nodes := k.expected(); len(nodes) > 0 {
		out.Nodes, out.NodesFrom = nodes, j.Source
	}
	return f.evidence(ctx, out, c, k)
}

// evidence writes what the cluster says into files that are read like any log.
func (f *Fetcher) evidence(ctx context.Context, out *collection, c *Cluster, k known) error {
	dir, err := os.MkdirTemp(f.Shared.Spool, factsDir) // each pass writes afresh: an earlier one may still be quoted
	if err != nil {
		return fmt.Errorf("making room for the cluster's answers: %w", workflow.NotKept(err))
	}
	var jobs []slurm.Job
	var nodes []string
	for i, j := range k.jobs {
		jobs = append(jobs, *j)
		if k.runs[i] != nil {
			nodes = append(nodes, k.runs[i].Nodes()...)
		}
	}
	write := func(name, origin string, content []byte) error {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return fmt.Errorf("storing the cluster's answers: %w", workflow.NotKept(err))
		}
		sum := sha256.Sum256(content)
		out.Facts = append(out.Facts, file) // its name is not its own yet
		out.Sources = append(out.Sources, incident.Source{Name: name, Path: file, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content)), Origin: origin})
		return nil
	}
	if err := write(slurm.AccountingName, k.jobs[0].Source, slurm.Accounting(jobs)); err != nil {
		return err
	}
	slices.Sort(nodes)
	text, origin, warning := c.Ask.Nodes(ctx, slices.Compact(nodes))
	if warning != "" {
		out.Warnings = append(out.Warnings, warning)
	}
	if text != "" {
		if err := write(slurm.NodesName, origin, []byte(text)); err != nil {
			return err
		}
	}
	j, r := k.jobs[0], k.runs[0]
	if r == nil || !r.Fate().Bad {
		return nil
	}
	if others, sharing, ok := c.Ask.Neighbours(ctx, j, r); ok && others > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("Within 5 minutes of its end, %d other %s failed on this cluster; %d of them shared a node with it.",
			others, map[bool]string{true: "job", false: "jobs"}[others == 1], sharing))
	}
	return nil
}

// apart gives every source a name of its own.
func apart(sources []incident.Source) {
	used := map[string]bool{}
	for i := range sources {
		s := &sources[i]
		name := s.Name
		for n := 2; used[name]; n++ {
			name = fmt.Sprintf("%s-%d/%s", cmp.Or(strings.ReplaceAll(s.Origin, "/", "_"), "more"), n, s.Name)
		}
		used[name] = true
		s.Name = name
	}
	slices.SortFunc(sources, func(a, b incident.Source) int { return cmp.Compare(a.Name, b.Name) })
}
