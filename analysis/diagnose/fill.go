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
		out["node"], out["nodes"], out["root"] = nodes[0], strings.Join(nodes, ","), strings.Join(nodes, ",")
	} else if out["nodes"] = b.allNodes(); isOneName(out["nodes"]) {
		out["node"] = out["nodes"]
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
	b.inLogs(out)
	return out
}

// fill puts what is known into a sentence and into the command that goes with it.
func (b *builder) fill(text, command string, p *mechanism.Proposal) (string, string) {
	a := b.filled(knowledge.Advice{Text: text, Command: command}, b.values(p))
	return a.Text, a.Command
}

// filled is an advice in the words of the job's system. Where no node is at fault, all of the job are looked at.
func (b *builder) filled(a knowledge.Advice, values map[string]string) knowledge.Advice {
	a = a.In(b.s.Facts.Job.System)
	if values["node"] == "" && knowledge.Pastable(values["nodes"]) && b.s.Facts.Job.System == "" {
		a.Text = strings.ReplaceAll(a.Text, "{node}", "the nodes")
		a.Command = strings.ReplaceAll(a.Command, "ssh {node} ", "clush -w {nodes} ")
	}
	if values["root"] == "" {
		a.Command = strings.ReplaceAll(a.Command, " --exclude={root}", "")
	}
	return a.Fill(values)
}

func (b *builder) fillAdvice(a knowledge.Advice) knowledge.Advice {
	a.Text, a.Command = b.fill(a.Text, a.Command, nil)
	return a
}

// fillOwn is fill for advice of the line itself, which may hold what the line captures.
func (b *builder) fillOwn(a knowledge.Advice) knowledge.Advice {
	return b.filled(a, knowledge.WithCaptures(b.values(nil), b.d.winners[0].Captured(b.s.Facts)))
}

func (b *builder) fillNeed(n incident.Need, p *mechanism.Proposal) incident.Need {
	if n.Artefact != "" && p == nil || n.Artefact != "" && len(p.Nodes) == 0 {
		if a, ok := knowledge.ArtefactBySlug(n.Artefact); ok && strings.Contains(n.Command, "{node}") && a.Command != "" {
			n.Command = a.Command // of all nodes
		}
		n.Command = b.everyNode(n.Command)
	}
	if n.Artefact == knowledge.SlurmRecords && b.s.Facts.Job.System != "" {
		n.Artefact = "" // those of other systems are for people to read
	}
	n.What, n.Command = b.fill(n.What, n.Command, p)
	n.Why, _ = b.fill(n.Why, "", p)
	return n
}

// everyNode fills in the nodes of the job where nobody is proven to be at fault.
func (b *builder) everyNode(command string) string {
	if list := b.allNodes(); knowledge.Pastable(list) {
		return strings.ReplaceAll(command, "{nodes}", list)
	}
	return command
}

func isOneName(list string) bool { return list != "" && !strings.ContainsAny(list, ",[") }

// allNodes are the nodes of the job, as SLURM writes them.
func (b *builder) allNodes() string {
	c := &b.s.Facts.Coverage
	nodes := c.NodesExpected
	if len(nodes) == 0 {
		nodes = c.NodesSeen
	}
	if b.s.Facts.Job.System != "" {
		return strings.Join(nodes, ",") // a list in brackets is SLURM's way
	}
	return hostlist.Compress(nodes)
}
