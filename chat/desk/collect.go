package desk

import (
	"context"
	"fmt"
	"strings"

	"faultline/knowledge"
	"faultline/knowledge/collect"
	"faultline/messages"
	"faultline/workflow"
)

// collectHow says what to do with the script that is attached; its words are the names of the script and of what it leaves.
const collectHow = "run the attached %s where srun works, in a shared folder (read-only, at most eight minutes), then upload %s"

// collection is the command that gathers evidence of a job that hangs, as a file: whoever reads along may not have the program, and
// no message holds a command of that length.
type collection struct{ name, text, leaves string }

// collectionOf is ok for a question that asks for all that can be had of a job that hangs, where its id is one that SLURM knows.
func collectionOf(q workflow.Question) (c collection, ok bool) {
	if q.Artefact != knowledge.Bundle || len(q.Commands) == 0 {
		return c, false
	}
	id, ok := strings.CutPrefix(q.Commands[0], collect.Short)
	text, err := collect.Command(id)
	if !ok || err != nil {
		return c, false
	}
	return collection{"collect-" + strings.NewReplacer("_", "-", "+", "-").Replace(id) + ".sh", text, collect.Leaves(id)}, true
}

func (c collection) how() string { return fmt.Sprintf(collectHow, c.name, c.leaves) }

// script attaches the command that a question asks people to run.
func (c *Composer) script(ctx context.Context, d *draft, q workflow.Question) error {
	s, ok := collectionOf(q)
	if !ok {
		return nil
	}
	file, err := c.attach(ctx, s.name, "Collects from all nodes (read-only)", "", []byte(s.text))
	if err != nil {
		return err
	}
	d.send(workflow.PostFiles, "script-"+questionKey(q), workflow.KeyCase, messages.Note("Run: bash "+s.name, nil), file)
	return nil
}
