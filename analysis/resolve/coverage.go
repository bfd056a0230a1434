package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"

	"faultline/analysis/filename"
	"faultline/analysis/worker"
	"faultline/incident"
)

// earlySlack is how many seconds, beside the stamps' uncertainty, before the first report of a time-out a file that stops within a line may
// stop and still have seen it.
const earlySlack = 1.0

// coverageOf holds what was seen against what was expected, and finds files that end before their peers.
func coverageOf(f *Facts, in Input) (c Coverage) {
	c.ofNodes(f, in)
	own := map[int]bool{} // ranks with a file of their own
	for _, t := range f.Tails {
		if id, ok := f.ident.fileRank[t.File]; ok {
			own[id] = true
		}
	}
	c.ofRanks(f, own)
	names := make([]string, 0, len(in.Sources))
	for _, s := range in.Sources {
		names = append(names, s.Name)
	}
	c.FilesMissing = filename.Gaps(names)
	c.paired = paired(f.Tails, names)
	if len(c.FilesMissing) == 0 && 2*len(own) > c.RanksExpected {
		// Most ranks have a file of their own; the series does not show its end, but the world size does.
		for _, id := range c.RanksMissing {
			c.FilesMissing = append(c.FilesMissing, fmt.Sprintf("the log for rank %d", id))
		}
	}
	c.cut(f)
	c.Partial = len(c.NodesMissing) > 0 || len(c.FilesMissing) > 0 || len(c.Cut) > 0
	return c
}

// ofNodes finds the nodes that are seen, and which of those expected are not.
func (c *Coverage) ofNodes(f *Facts, in Input) {
	seen := map[string]bool{}
	for _, t := range f.Tails {
		if n := f.ident.fileNode[t.File]; n != "" {
			seen[n] = true
		}
		for i := range t.Writers {
			at := worker.At{Pos: worker.Pos{File: t.File}, By: &t.Writers[i].Who}
			seen[f.ident.hostOf(at)] = true // of several that write in it
		}
	}
	delete(seen, "")
	for _, r := range f.byRank {
		if r.Node != "" && r.Lines > 0 {
			seen[r.Node] = true
		}
	}
	for n := range seen {
		c.NodesSeen = append(c.NodesSeen, n)
	}
	sort.Strings(c.NodesSeen)
	nodes, from := in.Nodes, cmp.Or(in.NodesFrom, "--nodes")
	scheduler := in.NodesFrom != ""
	if (len(nodes) == 0 || scheduler) && len(f.Accounting.nodes()) > 0 { // of the run that is looked at
		nodes, from, scheduler = f.Accounting.Nodes, "SLURM's accounting", true
	}
	if len(nodes) == 0 {
		return
	}
	c.NodesExpected, c.From = append([]string{}, nodes...), from
	// A node is missing only where nodes are named at all: files that name no node cannot show which one lacks.
	if len(seen) == 0 {
		return
	}
	// A scheduler may call its nodes otherwise than they call themselves: where not one name is in both, none is missing.
	if scheduler && !slices.ContainsFunc(nodes, func(n string) bool { return seen[ShortHost(n)] }) {
		return
	}
	for _, n := range in.Covered {
		seen[ShortHost(n)] = true
	}
	for _, n := range nodes {
		if !seen[ShortHost(n)] {
			c.NodesMissing = append(c.NodesMissing, n)
		}
	}
}

// ofRanks finds which ranks wrote nothing: own are those with a file of their own.
func (c *Coverage) ofRanks(f *Facts, own map[int]bool) {
	c.RanksExpected = f.Job.WorldSize
	if c.RanksExpected > 0 && c.From == "" {
		c.From = f.Job.WorldFrom
	}
	for i := range f.Job.AtLeast() {
		// A line about a rank (srun's, torchrun's) is not a line of it.
		if r := f.byRank[i]; !own[i] && (r == nil || !r.heard()) {
			c.RanksMissing = append(c.RanksMissing, i)
		}
	}
	if c.RanksExpected == 0 {
		// Of those that must exist one may have written lines without its number.
		if len(c.RanksMissing) < f.Job.AtLeast() { // else no line names its rank: that says nothing about who is missing
			c.RanksUnseen = c.RanksMissing
		}
		c.RanksMissing = nil
	}
	c.ranksNamed = len(c.RanksMissing) < c.RanksExpected
	if !c.ranksNamed {
		c.RanksMissing = nil // no line names its rank: that says nothing about who is missing
	}
}

// heard reports whether a rank wrote anything, or its watchdog or flight recorder did.
func (r *Rank) heard() bool {
	watched := len(r.Pending) > 0 || r.Dump != nil || r.Notified != nil
	return r.Lines > 0 || watched || r.Recorded != nil
}

// Whole says that it is known what logs to expect, and that all of them are here.
func (c *Coverage) Whole() bool {
	ranks := c.RanksExpected > 0 && c.ranksNamed && len(c.RanksMissing) == 0
	nodes := len(c.NodesExpected) > 0 && len(c.NodesSeen) > 0 && len(c.NodesMissing) == 0
	return !c.Partial && (ranks || nodes && len(c.RanksMissing) == 0)
}

// paired finds empty files beside which another of the same node, task or rank holds lines: a job that prints to one of its two
// streams leaves the other's file empty.
func paired(tails []worker.Tail, names []string) map[string]bool {
	parsed := filename.Parse(names)
	holds := map[filename.Name]bool{}
	for _, t := range tails {
		if n, ok := parsed[t.File]; ok && t.Bytes > 0 {
			holds[n] = true
		}
	}
	out := map[string]bool{}
	for _, t := range tails {
		if n, ok := parsed[t.File]; ok && t.Bytes == 0 && holds[n] {
			out[t.File] = true
		}
	}
	return out
}

// Paired says that a file is empty, and another of the same node, task or rank is not.
func (f *Facts) Paired(file string) bool { return f.Coverage.paired[file] }

// firstReport is the earliest moment at which a watchdog reported, invalid if none did.
func (f *Facts) firstReport() Moment {
	var m Moment
	for _, g := range f.Groups {
		for _, p := range g.Pending {
			m = m.Earliest(p.Report)
		}
	}
	return m
}

// incidentFiles are the files that hold lines of the incident itself.
func (f *Facts) incidentFiles() map[string]bool {
	out := map[string]bool{}
	for _, x := range f.Obs.Timeouts {
		out[x.File] = true
	}
	for _, x := range f.Obs.Dumps {
		out[x.File] = true
	}
	for _, x := range f.Obs.Signals {
		out[x.File] = true
	}
	for _, x := range f.Obs.Exceptions {
		out[x.File] = true
	}
	for _, x := range f.Obs.ChildFailed {
		out[x.File] = true
	}
	for _, x := range f.Obs.ChildExits {
		out[x.File] = true
	}
	return out
}

// cut finds files whose end is not the job's end. A file that stops with a complete line may belong to processes that
// had nothing to say; a file that stops inside a line, in a hole or before it began was cut.
func (c *Coverage) cut(f *Facts) {
	report := f.firstReport()
	hangs := f.hung()
	touched := f.incidentFiles()
	lives := map[int]bool{} // ranks with a file that reaches the incident or ends cleanly
	cutRank := map[int]bool{}
	writers := map[string][]*Rank{}
	for _, r := range f.byRank {
		for _, file := range r.Files {
			writers[file] = append(writers[file], r)
		}
	}
	for _, t := range f.Tails {
		how, note := "", ""
		last := f.At(t.Last)
		torn := !t.EndsClean && !t.Drawn // a bar has no end of a line while it is drawn
		switch {
		case t.ReadError != "":
			how, note = "unreadable", t.ReadError
		case c.paired[t.File]: // as it should be
		case t.Bytes == 0:
			how = "empty"
		case t.Holed:
			how, note = "hole", "runs of NUL bytes: the node or its file system lost unwritten data"
		case torn && report.Valid && last.Valid && last.T+last.Unc < report.T-earlySlack:
			how, note = "truncated-early", "stops mid-line, before the incident"
		case torn && len(touched) > 0 && !touched[t.File]:
			// Its stamps do not tell: the clock of this node is not compared with the others'.
			how, note = "truncated-early", "stops mid-line, with nothing about the incident"
		case torn:
			how = "no-final-newline"
		}
		if how != "" {
			c.Cut = append(c.Cut, incident.CutFile{File: t.File, How: how, Note: note})
		}
		loses := how == "unreadable" || how == "truncated-early" || how == "hole"
		for _, r := range writers[t.File] {
			// Torn after others had reported: what this rank reported may stand behind the tear, unless it was told before.
			untold := how == "no-final-newline" && hangs && r.Dump == nil
			if loses || untold {
				cutRank[r.ID] = true
			} else {
				lives[r.ID] = true
			}
		}
	}
	maps.DeleteFunc(cutRank, func(id int, _ bool) bool { return lives[id] })
	c.CutRanks = cutRank
}
