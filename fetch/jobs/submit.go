package jobs

import (
	"context"
	"fmt"

	"faultline/fetch/slurm"
)

// Submit implements workflow.Submitter with SLURM's commands, in the directory that the cluster's configuration names.
func (f *Fetcher) Submit(ctx context.Context, cluster, name string, flags []string, command string) (string, error) {
	for i := range f.Clusters {
		c := &f.Clusters[i]
		if c.Ask == nil || c.SubmitDir == "" || cluster != "" && c.Name != cluster {
			continue
		}
		for _, b := range c.Ask.Backends {
			if commands, ok := b.(*slurm.Commands); ok {
				return commands.Submit(ctx, slurm.Batch{Name: name, Dir: c.SubmitDir, Flags: flags, Command: command})
			}
		}
	}
	return "", fmt.Errorf("cluster %s takes no tests", cluster)
}
