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
		out["node"], out["nodes"], out["root"] = nodes[0], strings.Join(nodes, ","), strings.Join(b.ours(nodes), ",")
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
	if id, ok := strings.CutPrefix(b.component(p), knowledge.DaemonPrefix); ok {
		out["target"] = id
	}
	if p == nil && len(b.d.winners) > 0 {
		p = b.d.winners[0]
	}
	if p != nil {
		out["mountpath"], out["disk"] = p.Disk.Mountpath, p.Disk.Device
	}
	if id := b.s.Facts.Job.ID; id != "" {
		out["job"] = id
	}
	b.inLogs(out)
	return out
}

// component is the part that is at fault, of a proposal or of the verdict.
func (b *builder) component(p *mechanism.Proposal) string {
	switch c := b.r.Verdict.Root.Component; {
	case p != nil:
		return p.Component
	case c != nil:
		return *c
	}
	return ""
}

// fill puts what is known into a sentence and into the command that goes with it, in the words of the job's system.
func (b *builder) fill(a knowledge.Advice, values map[string]string) knowledge.Advice {
	if values["root"] == "" {
		a.Command = strings.ReplaceAll(a.Command, " --exclude={root}", "")
	}
	return a.In(b.s.Facts.Job.System).Fill(values)
}

// everywhere is an advice to look at all nodes of the job, where none is at fault.
func (b *builder) everywhere(a knowledge.Advice, values map[string]string) knowledge.Advice {
	if b.s.Facts.Job.System == "" && values["node"] == "" && knowledge.Pastable(values["nodes"]) {
		return a.OnEveryNode()
	}
	return a
}

// advise fills an advice. What would change a node names one only where that is proven to be at fault.
func (b *builder) advise(a knowledge.Advice, values map[string]string) knowledge.Advice {
	if values["root"] == "" && !a.Harmless() {
		delete(values, "node")
		delete(values, "nodes")
	}
	return b.fill(a, values)
}

func (b *builder) fillAdvice(a knowledge.Advice) knowledge.Advice {
	values := b.values(nil)
	return b.advise(b.everywhere(a, values), values)
}

// fillOwn is fillAdvice for what the line itself says to do, which may hold what the line captures. What a site says is for the node it
// speaks of: it is never carried to others.
func (b *builder) fillOwn(a knowledge.Advice, site string) knowledge.Advice {
	values := knowledge.WithCaptures(b.values(nil), b.d.winners[0].Captured(b.s.Facts))
	if site == "" {
		a = b.everywhere(a, values)
	}
	return b.advise(a, values)
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
	values := b.values(p)
	do := b.fill(b.everywhere(knowledge.Advice{Text: n.What, Command: n.Command}, values), values)
	n.What, n.Command = do.Text, do.Command
	n.Why = b.fill(knowledge.Advice{Text: n.Why}, values).Text
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
