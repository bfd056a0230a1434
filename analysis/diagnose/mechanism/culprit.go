package mechanism

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// Culprit is whom lines of other processes name: gone, waited for, or the first to end.
type Culprit struct {
	// Ranks and Nodes are set where all lines lead to one rank or to one node, and whoever watched over it says so: a launcher that saw it
	// end, a coordinator that heard no more of it. Named is whom a peer names: connections break in a row, and who waits sees one end of it.
	Ranks   []int
	Nodes   []string
	Named   string
	Name    string // in words, wherever it leads
	Summary string // "rank 3 on n2 disappeared: rank 1 lost contact with it"
	Why     string // what ties the name to a rank, or does not; and whether its own log is here
	Stated  bool   // a line says so in words; else it follows from the order in which srun reports tasks
	Need    incident.Need
	For     incident.Finding
}

// mostLost is of how many that lines name something is said of each.
const mostLost = 3

// Named tells whom lines name so, by the strongest of these words that any line has; nil where none does, or too many are named.
func Named(s *Scene, whose ...knowledge.Whose) *Culprit {
	for _, w := range whose {
		if c := culprit(s, w); c != nil {
			return c
		}
	}
	return nil
}

func culprit(s *Scene, whose knowledge.Whose) *Culprit {
	var all, roots []*resolve.Naming
	for _, n := range s.Facts.Named {
		if n.Whose == whose && !s.Facts.GoesOn(*n.At) {
			all = append(all, n)
		}
	}
	for _, n := range all {
		if !slices.ContainsFunc(all, func(o *resolve.Naming) bool { return wrote(o, n) }) {
			roots = append(roots, n)
		}
	}
	var names []string
	first := map[string]*resolve.Naming{}
	by := map[string][]string{}
	for _, n := range roots {
		name := placed(n)
		if first[name] == nil {
			first[name] = n
			names = append(names, name)
		}
		if w := namer(n); w != "" {
			by[name] = appendOnce(by[name], w)
		}
	}
	if len(names) == 0 || len(names) > mostLost {
		return nil
	}
	n := first[names[0]]
	c := &Culprit{Name: strings.Join(names, ", "), Stated: n.Sign != "", For: finding(saidOf(n, names[0], by[names[0]]), QuoteAt(*n.At, nil))}
	if len(names) > 1 {
		c.Summary = happened[whose].several + strings.Join(names, ", ")
		c.Named = c.Name
		c.Why = "log lines point to several suspects, and none shows what happened to them"
		c.Need = incident.Need{What: "the logs from " + strings.Join(names, ", "), Why: c.Why, Command: logsOfJob, Obtainable: now, First: true}
		return c
	}
	c.Summary = saidOf(n, names[0], by[names[0]])
	if whose == knowledge.Lost || whose == knowledge.Awaited || whose == knowledge.Unreached {
		c.Named = c.Name
	} else {
		c.Ranks, c.Nodes = single(n.Ranks), single(n.Nodes)
		if len(c.Ranks)+len(c.Nodes) == 0 {
			c.Named = c.Name
		}
	}
	why := []string{happened[whose].means}
	if n.Why != "" && len(n.Ranks) == 0 && len(n.Nodes) == 0 {
		why = append(why, n.Why)
	}
	switch end := s.Facts.Job.ExitOK; {
	case n.Thing:
	case end != nil && slices.Contains(n.Files, end.File):
		c.Ranks, c.Nodes, c.Named = nil, nil, ""
		why = append(why, "its own log says that its program finished")
	case len(n.Files) > 0:
		why = append(why, "its own log is here ("+strings.Join(n.Files[:min(len(n.Files), mostLost)], ", ")+") but doesn't show why")
	default:
		why = append(why, "its own log seems to be missing, judging by file names and lines")
	}
	c.Why = strings.Join(why, "; ")
	c.Need = needOf(n, names[0], by[names[0]])
	return c
}

// happened is how each word about another process reads.
var happened = map[knowledge.Whose]struct{ went, by, several, means string }{
	knowledge.Unheard:   {" stopped responding", "stopped hearing from it", "no process could reach ", "to those processes, a dead peer and one that is cut off look the same"},
	knowledge.Lost:      {" disappeared", "lost contact with it", "connections were lost to ", "the processes that lost contact only notice that it is gone"},
	knowledge.Unreached: {" could not be reached", "couldn't reach it", "processes couldn't reach ", "to those processes, a dead peer and one that is cut off look the same"},
	knowledge.Awaited:   {" did not arrive", "waited for it", "processes waited for ", "the waiting process is not at fault"},
	knowledge.Culprit:   {": a line says that something failed there", "", "lines say that something failed at ", "the line is a consequence of the failure and doesn't show what failed"},
	knowledge.FirstOut:  {" exited first", "", "the first to exit were ", "the launcher reports it before all others"},
}

// saidOf is what happened to whom, and who says so.
func saidOf(n *resolve.Naming, name string, by []string) string {
	h := happened[n.Whose]
	if h.by == "" || len(by) == 0 {
		return name + h.went
	}
	who := by[0]
	if len(by) > 1 {
		who = plural(len(by), "process", "processes")
	}
	return fmt.Sprintf("%s%s: %s %s", name, h.went, who, h.by)
}

// placed is a name with what it was resolved to: "task 3, which is rank 3 on n2".
func placed(n *resolve.Naming) string {
	switch {
	case len(n.Ranks) == 1 && len(n.Nodes) == 1:
		return fmt.Sprintf("rank %d on %s", n.Ranks[0], n.Nodes[0])
	case len(n.Ranks) > 0:
		return rankWords(n.Ranks)
	case len(n.Nodes) == 1 && n.Name != n.Nodes[0] && strings.ContainsAny(n.Name, " "):
		if strings.HasSuffix(n.Name, n.Nodes[0]) {
			return n.Name
		}
		return n.Name + " on " + n.Nodes[0]
	case len(n.Nodes) == 1:
		return n.Nodes[0]
	}
	return n.Name
}

// namer is who names it, as far as that is known.
func namer(n *resolve.Naming) string {
	switch {
	case n.By != resolve.NoRank:
		return fmt.Sprintf("rank %d", n.By)
	case n.On != "":
		return "a process on " + n.On
	}
	return "a process"
}

// wrote says that whom n names wrote the line o: it lost another one itself, and may be gone because of that.
func wrote(o, n *resolve.Naming) bool {
	switch {
	case o == n || n.Whose != knowledge.Lost && n.Whose != knowledge.Unheard:
		return false
	case len(n.Ranks) > 0 && o.By != resolve.NoRank:
		return slices.Contains(n.Ranks, o.By)
	case len(n.Nodes) > 0 && o.On != "":
		return slices.Contains(n.Nodes, o.On)
	}
	return slices.Contains(n.Files, o.At.File)
}

// logsOfJob fetches what a job wrote. It is shown where the folder of its logs is known.
const logsOfJob = knowledge.LogsOfJob

// needOf asks for the log of whom a line names; where that is here, for what its node says.
func needOf(n *resolve.Naming, name string, by []string) incident.Need {
	why := "it exited first"
	if n.Whose == knowledge.Culprit {
		why = "a line says that something failed there"
	}
	if h := happened[n.Whose]; h.by != "" && len(by) > 0 {
		why = saidOf(n, name, by)
	}
	if n.Thing {
		return incident.Need{What: "the logs of whatever uses " + name, Why: why, Command: logsOfJob, Obtainable: now, First: true}
	}
	if len(n.Files) == 0 || len(n.Nodes) != 1 {
		need := incident.Need{What: "the log from " + name, Why: why + "; it should show what ended it", Command: logsOfJob, Obtainable: now, First: true}
		if n.Whose == knowledge.Awaited {
			need.Why = why + "; it should show what blocked it"
		}
		return need
	}
	what := "the kernel log from " + n.Nodes[0]
	if name != n.Nodes[0] {
		what += ", for " + name
	}
	return incident.Need{What: what, Why: why + ", and its own log doesn't show why",
		Command: "ssh " + n.Nodes[0] + " 'dmesg -T | tail -50'", Obtainable: perishing, First: true}
}

// takes makes a proposal speak of whom lines name.
func (p *Proposal) takes(c *Culprit, unknown string) {
	if c == nil {
		return
	}
	p.Summary = c.Summary + "; " + unknown
	p.Why = c.Why
	p.at(c)
	p.Needs = append([]incident.Need{c.Need}, p.Needs...)
}

// at takes the place of whom lines name.
func (p *Proposal) at(c *Culprit) {
	p.Ranks, p.Nodes, p.Named = c.Ranks, c.Nodes, c.Named
	switch {
	case len(c.Ranks) > 0:
		p.Scope = "rank"
	case len(c.Nodes) > 0:
		p.Scope = "node"
	}
}

// single is a list of one, or nothing.
func single[T any](list []T) []T {
	if len(list) != 1 {
		return nil
	}
	return list
}
