package diagnose

import (
	"fmt"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/hostlist"
	"faultline/incident"
	"faultline/knowledge"
)

// values are what is known for the placeholders of advice. What is not known stays a name in capitals.
func (b *builder) values(p *mechanism.Proposal) map[string]string {
	v := &b.r.Verdict
	out := map[string]string{}
	nodes, ranks := v.Root.Nodes, v.Root.Ranks
	if p != nil {
		nodes, ranks = p.Nodes, p.Ranks
	}
	if len(nodes) > 0 {
		out["node"], out["nodes"] = nodes[0], strings.Join(nodes, ",")
	} else if n := b.s.Facts.Coverage.NodesSeen; len(n) > 0 && len(n) <= 8 {
		out["nodes"] = strings.Join(n, ",")
	}
	if len(ranks) > 0 {
		out["rank"] = fmt.Sprint(ranks[0])
		if r := b.s.Facts.Rank(ranks[0]); r != nil && len(r.Pids) == 1 {
			for id := range r.Pids {
				out["pid"] = fmt.Sprint(id)
			}
		}
	}
	if id := b.s.Facts.Job.ID; id != "" {
		out["job"] = id
	}
	return out
}

// fill puts what is known into a sentence and into the command that goes with it.
func (b *builder) fill(text, command string, p *mechanism.Proposal) (string, string) {
	a := knowledge.Advice{Text: text, Command: command}.In(b.s.Facts.Job.System).Fill(b.values(p))
	return a.Text, a.Command
}

func (b *builder) fillAdvice(a knowledge.Advice) knowledge.Advice {
	a.Text, a.Command = b.fill(a.Text, a.Command, nil)
	return a
}

// fillOwn is fill for advice of the line itself, which may hold what the line captures.
func (b *builder) fillOwn(a knowledge.Advice) knowledge.Advice {
	return a.In(b.s.Facts.Job.System).Fill(knowledge.WithCaptures(b.values(nil), b.d.winners[0].Captured(b.s.Facts)))
}

func (b *builder) fillNeed(n incident.Need, p *mechanism.Proposal) incident.Need {
	if n.Obtainable == "next-time" {
		n.Command = strings.ReplaceAll(n.Command, "{pid}", "PID") // the next run has other processes
	}
	if n.Artefact != "" && p == nil || n.Artefact != "" && len(p.Nodes) == 0 {
		n.Command = b.everyNode(n.Command)
	}
	if n.Artefact == knowledge.SlurmRecords && b.s.Facts.Job.System != "" {
		n.Artefact = "" // those of other systems are for people to read
	}
	n.What, n.Command = b.fill(n.What, n.Command, p)
	n.Why, _ = b.fill(n.Why, "", p)
	return n
}

// everyNode fills in the nodes of the job, as SLURM writes them, where nobody is proven to be at fault.
func (b *builder) everyNode(command string) string {
	c := &b.s.Facts.Coverage
	nodes := c.NodesExpected
	if len(nodes) == 0 {
		nodes = c.NodesSeen
	}
	list := hostlist.Compress(nodes)
	if b.s.Facts.Job.System != "" {
		list = strings.Join(nodes, ",") // a list in brackets is SLURM's way
	}
	if !knowledge.Pastable(list) {
		return command
	}
	return strings.ReplaceAll(command, "{nodes}", list)
}
