package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"faultline/fetch/slurm"
	"faultline/fetch/slurm/pattern"
	"faultline/workflow"
)

// With is the fetcher with what a team says its logs are called, by cluster.
func (f *Fetcher) With(templates map[string][]string) *Fetcher {
	if len(templates) == 0 {
		return f
	}
	mine := *f
	mine.Clusters = slices.Clone(f.Clusters)
	for i := range mine.Clusters {
		mine.Clusters[i].Team = templates[mine.Clusters[i].Name]
	}
	return &mine
}

// Prove implements workflow.Prover.
func (f *Fetcher) Prove(ctx context.Context, cluster, job string, templates []string) (workflow.Proof, error) {
	proof := workflow.Proof{Job: job}
	c := f.cluster(cluster)
	if c == nil || c.Ask == nil {
		return proof, fmt.Errorf("cluster %s can't be queried about its jobs, so %%j, %%u and %%n have no value there: ask the bot's administrator to set slurm.commands or slurm.rest", cluster)
	}
	id, err := slurm.ParseID(job)
	if err != nil {
		return proof, err
	}
	k, err := f.known(ctx, c, id)
	switch {
	case errors.Is(err, slurm.ErrUnknown):
		return proof, fmt.Errorf("the cluster doesn't know job %s: give one of your finished jobs", job)
	case err != nil:
		return proof, err
	}
	proof.Users = owners(k, logs{})
	proof.Complete = true
	for i, j := range k.jobs {
		proof.Job = j.ID
		if k.runs[i] == nil || !k.runs[i].Started() {
			return proof, fmt.Errorf("job %s never had nodes and wrote no logs: give a finished one", j.ID)
		}
		for _, t := range templates {
			if err := f.try(ctx, &proof, c, j, k.runs[i], t); err != nil {
				return proof, err
			}
		}
	}
	return proof, nil
}

// try looks for one name in all places of a cluster.
func (f *Fetcher) try(ctx context.Context, proof *workflow.Proof, c *Cluster, j *slurm.Job, r *slurm.Run, template string) error {
	var notes []string
	for p := range c.Places {
		p := &c.Places[p]
		l := slurm.Locator{Source: p.Source, Roots: p.Roots, Team: []string{template}, Only: true, Keys: p.Keys, Now: f.Now}
		got, err := l.Locate(ctx, j, r, slurm.Script{})
		if err != nil {
			return fmt.Errorf("looking for the logs of job %s: %w", j.ID, err)
		}
		if len(got.Files) == 0 {
			notes = append(notes, got.Notes...)
			for _, s := range got.Sets {
				if len(got.Notes) == 0 {
					notes = append(notes, "there is no file called "+s.Template)
				}
			}
			continue
		}
		proof.Files += len(got.Files)
		for _, s := range got.Sets {
			if len(s.Files) == 0 {
				continue
			}
			proof.Says = append(proof.Says, found(template, s))
			proof.Complete = proof.Complete && (!s.PerNode || s.Result.Odd == "" && len(s.Result.Of(pattern.Missing))+len(s.Result.Of(pattern.Unreadable)) == 0)
		}
		return nil
	}
	proof.Complete = false
	slices.Sort(notes)
	why := strings.Join(slices.Compact(notes), "; ")
	if why == "" {
		why = "a value it needs isn't known for this job"
	}
	proof.Says = append(proof.Says, fmt.Sprintf("%s: found nothing; %s", template, strings.TrimSuffix(why, ".")))
	return nil
}

// found says what a name found: "16 of 16 nodes, 32 files".
func found(template string, s slurm.Set) string {
	files := fmt.Sprintf("%d %s", len(s.Files), map[bool]string{true: "file", false: "files"}[len(s.Files) == 1])
	if !s.PerNode {
		return fmt.Sprintf("%s: %s (%s)", template, files, s.Files[0])
	}
	return fmt.Sprintf("%s: %s, %s", template, s.Result, files)
}
