package jobs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/fetch/slurm"
	"faultline/incident"
)

// Gathered is what there is of a job, for whoever hands it in.
type Gathered struct {
	ID      string // as PushPlace takes it
	Restart int
	Submit  int64
	// Nodes are those that logs should come from, and NodesFrom who says so.
	Nodes     []string
	NodesFrom string
	// Says is what the cluster says, and what was found, in a sentence.
	Says string
	// Notes are sentences: what the cluster says, which logs are missing, what cannot be read.
	Notes []string
	// Logs are the job's files where they lie, Facts files of our own that hold what the cluster says.
	Logs, Facts []incident.Source
}

// Gather looks for the logs of one run of a job in mounted places of its cluster, with the rights of this process. Whose files
// they are told to be decides nothing: whoever hands in files could name any that they may read.
func (f *Fetcher) Gather(ctx context.Context, cluster string, id slurm.ID) (Gathered, error) {
	c := f.cluster(cluster)
	if c == nil || c.Ask == nil {
		return Gathered{}, fmt.Errorf("no source can be queried about job %s", id)
	}
	k, err := f.known(ctx, c, id)
	if err != nil {
		return Gathered{Notes: k.notes}, err
	}
	j, r := k.jobs[0], k.runs[0]
	g := Gathered{ID: j.ID, Submit: submitted(j), Notes: k.notes}
	if j.Het != slurm.None {
		g.ID = strconv.Itoa(j.Het)
	}
	if r != nil {
		g.Restart = max(r.Restart, 0)
	}
	if nodes := k.expected(); len(nodes) > 0 {
		g.Nodes, g.NodesFrom = nodes, j.Source
	}
	var facts collection
	if err := f.evidence(ctx, &facts, c, k); err != nil {
		return g, err
	}
	g.Facts = facts.Sources
	got, err := f.logs(ctx, c, k)
	if err != nil {
		return g, err
	}
	g.Says = says(j, r, got)
	g.Notes = append(append(g.Notes, got.notes...), facts.Warnings...)
	var local []string
	for _, x := range slices.Concat(got.files, got.beside) {
		local = append(local, x.Name)
	}
	if local = append(local, got.folders...); len(local) == 0 {
		return g, nil
	}
	set, err := f.Shared.Collect(ctx, local)
	if err != nil {
		return g, err
	}
	g.Logs = set.Sources
	for _, w := range set.Warnings {
		if !slices.Contains(g.Notes, w) {
			g.Notes = append(g.Notes, w)
		}
	}
	return g, nil
}

// factsDir begins the names of the directories that hold what clusters said.
const factsDir = "facts-"

// Tidy removes what clusters said before a time and nobody names as used: each look at a job asks anew.
func (f *Fetcher) Tidy(before time.Time, used []string) error {
	list, err := os.ReadDir(f.Shared.Spool)
	if err != nil {
		return fmt.Errorf("cleaning up cluster answers: %w", err)
	}
	inUse := map[string]bool{}
	for _, p := range used {
		inUse[filepath.Dir(p)] = true
	}
	for _, d := range list {
		dir := filepath.Join(f.Shared.Spool, d.Name())
		info, err := d.Info()
		if err != nil || !d.IsDir() || !strings.HasPrefix(d.Name(), factsDir) || inUse[dir] || info.ModTime().After(before) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("cleaning up cluster answers: %w", err)
		}
	}
	return nil
}
