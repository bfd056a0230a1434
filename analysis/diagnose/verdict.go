package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/filename"
	"faultline/analysis/novel"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// taskEnd says how the task ended that srun names first: "a task on node7 end (Exited with exit code 120)"; "" where it names
// none. Without a proven identity that is no accusation: the first task to end need not be the first that failed.
func taskEnd(f *resolve.Facts) string {
	var first *worker.TaskExit
	for i := range f.Obs.TaskExits {
		x := &f.Obs.TaskExits[i]
		if x.Code != 0 && (first == nil || x.Above(first.Pos) || x.File < first.File) {
			first = x
		}
	}
	switch {
	case first == nil:
		return ""
	case len(first.Hosts) == 1 && len(first.Tasks) == 1:
		return fmt.Sprintf("task %d on %s end (%s)", first.Tasks[0], first.Hosts[0], first.What)
	}
	return fmt.Sprintf("tasks end (%s)", first.What)
}

// firstEnded is the process that a launcher says it saw end first, where only one launcher says so.
func firstEnded(f *resolve.Facts) *resolve.Rank {
	var first *resolve.Rank
	for _, r := range f.Ranks {
		switch {
		case r.Exit == nil || !r.Exit.Root:
		case first != nil:
			return nil
		default:
			first = r
		}
	}
	return first
}

// echoed is the first exception where all that failed are such as mostly follow from another failure.
func echoed(f *resolve.Facts) *resolve.Failure {
	for _, fl := range f.Failures {
		if fl.Exc != nil && fl.Role == knowledge.ConsequenceRole {
			return fl
		}
	}
	return nil
}

// allEmpty tells that there are files and not one byte in them.
func allEmpty(f *resolve.Facts) bool {
	for _, t := range f.Tails {
		if t.Bytes > 0 || t.ReadError != "" {
			return false
		}
	}
	return len(f.Tails) > 0
}

// verdict says what broke, how sure that is, and whom it places.
func (b *builder) verdict() {
	v := &b.r.Verdict
	v.Candidates, v.Suspects, v.Needs = []incident.Candidate{}, []incident.Suspect{}, []incident.Need{}
	v.Root = incident.Root{Ranks: []int{}, Nodes: []string{}, Frontier: []int{}}
	v.Phase, v.Scope = b.phase(), unknown
	w := b.d.winners
	if len(w) == 0 {
		b.causeUnknown()
		return
	}
	for _, p := range w {
		b.outside(p)
	}
	top := w[0]
	b.contradicted(top)
	b.unread(top)
	v.Ending = top.Ending
	v.Mechanism, v.Summary, v.Why, v.Scope = string(top.Mechanism), b.summary(top), top.Why, top.Scope
	conf := stated(top.Base)
	if len(w) > 1 {
		conf = unordered
		v.Summary = "several failures in unknown order: " + join(w)
		v.Why = "none is proven to have come first"
	}
	set := candidates(w)
	b.wanted(set)
	switch {
	case !b.s.Facts.Coverage.Partial:
	case top.Class == mechanism.Nothing:
		conf *= unfinished
	case top.Class != mechanism.Environment && len(set) == 1:
		conf -= cut
	}
	if i := slices.Index(set, knowledge.Unknown); i > 0 && top.Class == mechanism.Nothing { // that nothing failed is not the first thing to say
		set = slices.Insert(slices.Delete(set, i, i+1), 0, knowledge.Unknown)
		v.Mechanism = unknown
	}
	b.weigh(set, conf)
	v.Status = status(top, set)
	if len(w) == 1 {
		b.place(top)
	}
	b.root = map[int]bool{}
	for _, id := range v.Root.Ranks {
		b.root[id] = true
	}
	b.incomplete()
}

// causeUnknown says what is known of the end where nothing explains it, and what is wanted to find out more.
func (b *builder) causeUnknown() {
	v := &b.r.Verdict
	v.Status, v.Mechanism, v.Origin = incident.Inconclusive, unknown, unknown
	v.Summary, v.Why = bareEnd(b.s.Facts)
	b.need(nil, nil)
	b.named()
	if o := mechanism.Odd(b.s); o != nil {
		v.Summary, v.Why = o.Summary, o.Why
		v.Suspects = append(v.Suspects, o.Suspects...)
		b.need(nil, o.Needs)
	}
	v.Candidates = append(v.Candidates, incident.Candidate{Origin: unknown, Mechanism: unknown})
	v.Needs = append(v.Needs, b.fillNeed(incident.Need{What: "the job's remaining logs", Why: "the batch script's own log has what SLURM says about each task",
		Command: knowledge.LogsOfJob, Obtainable: "now"}, nil))
}

// need adds what a verdict without a cause wants.
func (b *builder) need(set []knowledge.Slug, wants []incident.Need) {
	for _, n := range mechanism.Needs(b.s, set, wants) {
		b.r.Verdict.Needs = append(b.r.Verdict.Needs, b.fillNeed(n, nil))
	}
}

// bareEnd is how the job ended, as far as anything says, where nothing explains it.
func bareEnd(f *resolve.Facts) (summary, why string) {
	if f.Alive() {
		return "the job is still running, and no line reports a failure",
			"SLURM's records show it running; a hang leaves no trace until a watchdog or the time limit ends it"
	}
	summary, why = "nothing in these logs explains how the job ended", "no failure, hang or normal end was found"
	if fl := echoed(f); fl != nil {
		summary, why = echoWords(f, fl), "this kind of exception usually follows another failure, but none is seen"
	} else if allEmpty(f) {
		summary = "every file is empty: nothing was written to them, or nothing was copied"
	}
	if how := taskEnd(f); how != "" {
		why = "SLURM saw " + how + ", and no line shows why"
	}
	if state, ok := f.Accounting.State(); ok {
		why += "; SLURM's records only say " + strings.ToLower(strings.ReplaceAll(state, "_", " "))
	}
	return summary, why
}

// echoWords say who is known to have ended first, else who raised what mostly follows from another failure.
func echoWords(f *resolve.Facts, fl *resolve.Failure) string {
	if r := firstEnded(f); r != nil {
		return fmt.Sprintf("%s: its launcher saw it exit first (%s); no line shows why", r.Describe(), cmp.Or(knowledge.ExitCode(r.Exit.Code).Name, fmt.Sprintf("exit code %d", r.Exit.Code)))
	}
	text := Excerpt(fl.Text) + "; no line shows what came before it"
	if fl.Rank != resolve.NoRank {
		text = fl.Proc.Describe() + ": " + text
	}
	return text
}

// candidates are the mechanisms of the winners and their rivals.
func candidates(winners []*mechanism.Proposal) []knowledge.Slug {
	set := []knowledge.Slug{}
	for _, p := range winners {
		set = appendNew(set, p.Mechanism)
		for _, o := range p.Rivals {
			set = appendNew(set, o)
		}
	}
	return set
}

// wanted adds what would decide between the candidates, and what else is suspected.
func (b *builder) wanted(set []knowledge.Slug) {
	const most = 6 // needs
	v, w := &b.r.Verdict, b.d.winners
	var wants []incident.Need
	for _, p := range w {
		v.Suspects = append(v.Suspects, p.Suspects...)
		wants = append(wants, p.Needs...)
	}
	settled := len(set) == 1 && w[0].Settled
	for _, n := range mechanism.Needs(b.s, set, wants) {
		if n.Artefact != knowledge.Bundle || !settled {
			v.Needs = appendNeed(v.Needs, b.fillNeed(n, wanting(w, n)))
		}
	}
	v.Needs = v.Needs[:min(len(v.Needs), most)]
	for _, p := range b.d.proposals {
		degraded := b.d.by[p] != nil && p.Class == mechanism.Degraded
		if degraded && p.Plausible != "" && !slices.Contains(set, p.Mechanism) {
			v.Suspects = append(v.Suspects, incident.Suspect{Mechanism: string(p.Mechanism), Why: p.Plausible})
		}
	}
}

// weigh gives each candidate its share of the confidence: nothing in the evidence weighs the members of a set against each other.
func (b *builder) weigh(set []knowledge.Slug, conf float64) {
	v, n := &b.r.Verdict, float64(len(set))
	v.Origin = origin(set[0])
	for _, m := range set {
		v.Candidates = append(v.Candidates, incident.Candidate{Origin: origin(m), Mechanism: string(m), Confidence: incident.Confidence(conf / n)})
		if origin(m) != v.Origin {
			v.Origin = unknown
		}
	}
	v.Confidence = incident.Confidence(conf)
	if len(set) > 1 && slices.Contains(set, knowledge.Unknown) { // "not explained" excludes nothing: it is left out of the sum
		v.Confidence = incident.Confidence(conf * (n - 1) / n)
	}
}

func status(top *mechanism.Proposal, set []knowledge.Slug) string {
	placed := len(top.Ranks) > 0 || len(top.Nodes) > 0 || top.Scope == "all"
	switch {
	case len(set) > 1:
		return incident.Inconclusive
	case top.Class == mechanism.Nothing || top.Mechanism == knowledge.Cancelled:
		return incident.NoFailure
	case top.Direct && placed:
		return incident.Confirmed
	}
	return incident.Probable
}

// place says whom and what the one cause names.
func (b *builder) place(top *mechanism.Proposal) {
	root := &b.r.Verdict.Root
	root.Ranks = append(root.Ranks, top.Ranks...)
	root.Nodes = append(root.Nodes, top.Nodes...)
	root.Frontier = append(root.Frontier, top.Frontier...)
	root.Named = cmp.Or(top.Named, b.namedBeside(top))
	if len(root.Nodes) == 0 {
		for _, id := range top.Ranks {
			if r := b.s.Facts.Rank(id); r != nil && r.Node != "" {
				root.Nodes = appendNew(root.Nodes, r.Node)
			}
		}
	}
	b.scoped(top)
	if top.Component != "" {
		root.Component, root.Disk = new(top.Component), top.Disk.Mountpath
	}
	root.Item = optional(item(top))
	root.Only = b.confined(top)
	root.File, root.Of = b.oneFile(top)
}

// scoped names nobody smaller than the condition that the root's own line states: the writer of a line about its node, or about a store that
// all ask, is not who broke it.
func (b *builder) scoped(top *mechanism.Proposal) {
	v := &b.r.Verdict
	scope := top.Scoped(top.Mechanism)
	if !scope.NamesRank() {
		noRank(v)
	}
	if !scope.NamesNode() {
		v.Root.Nodes, v.Scope = []string{}, "all"
	}
}

// confined is the one node of several whose lines a verdict rests on that names nobody: what mostly concerns the whole job is reported there
// alone. Those who wait for it do not count, and a store or a network is not on the node that reports it.
func (b *builder) confined(top *mechanism.Proposal) string {
	root, f := &b.r.Verdict.Root, b.s.Facts
	placed := len(root.Ranks)+len(root.Nodes)+len(root.Frontier) > 0
	outside := slices.Contains([]knowledge.Scope{knowledge.ScopeStorage, knowledge.ScopeFabric}, top.Scoped(top.Mechanism))
	if placed || outside || top.Class != mechanism.Local || len(f.Coverage.NodesSeen) < 2 {
		return ""
	}
	nodes := b.reporting(top)
	if len(nodes) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(nodes))[0]
}

// reporting are the nodes whose lines say what a verdict rests on, "" among them where that is not known of one. A failure may stand for alike
// ones of other nodes.
func (b *builder) reporting(top *mechanism.Proposal) map[string]bool {
	type words struct{ exception, message string }
	nodes, signs, said := map[string]bool{}, map[knowledge.ID]bool{}, map[words]bool{}
	for _, fl := range top.Failures {
		if fl.Role != knowledge.CauseRole || fl.Says(knowledge.AwaitsPeers) {
			continue
		}
		if nodes[fl.Node], signs[fl.Sign] = true, true; fl.Exc != nil {
			said[words{fl.Exc.Type, fl.Exc.Message}] = true
		}
	}
	delete(signs, "")
	same := func(id knowledge.ID) bool { return signs[id] }
	f := b.s.Facts
	for i := range f.Obs.Signs {
		if x := &f.Obs.Signs[i]; same(x.ID) {
			nodes[f.NodeOf(x.At)] = true
		}
	}
	for i := range f.Obs.Exceptions {
		if x := &f.Obs.Exceptions[i]; said[words{x.Type, x.Message}] || slices.ContainsFunc(x.Signs, same) {
			nodes[f.NodeOf(x.At)] = true
		}
	}
	return nodes
}

// noRank takes back the ranks that were to blame; the nodes stay.
func noRank(v *incident.Verdict) {
	if len(v.Root.Ranks)+len(v.Root.Frontier) == 0 {
		return
	}
	v.Root.Ranks, v.Root.Frontier, v.Scope = []int{}, []int{}, unknown
	if len(v.Root.Nodes) > 0 {
		v.Scope = "node"
	}
}

// oneFile is the file, of several processes', in which all that a verdict rests on stands, where nothing else says whose it is: it is where to
// look, whatever the mechanism mostly concerns.
func (b *builder) oneFile(top *mechanism.Proposal) (file string, of int) {
	root := &b.r.Verdict.Root
	placed := len(root.Ranks)+len(root.Nodes)+len(root.Frontier) > 0
	called := root.Named != "" || root.Component != nil
	ofOne := top.Class == mechanism.Local || top.Class == mechanism.Environment
	if placed || called || !ofOne {
		return "", 0
	}
	for _, fl := range top.Failures {
		switch {
		case fl.Says(knowledge.AwaitsPeers):
			return "", 0
		case fl.Role != knowledge.CauseRole || fl.At.File == file:
		case file != "":
			return "", 0
		default:
			file = fl.At.File
		}
	}
	stems := map[string]bool{} // the two streams of a process are one
	for _, t := range b.s.Facts.Tails {
		if t.Bytes > 0 {
			stems[filename.Stem(t.File)] = true
		}
	}
	if file == "" || len(stems) < 2 {
		return "", 0
	}
	return file, len(stems)
}

// named puts whom a line names into a verdict that knows no cause: who left first is where to look, whatever it died of.
func (b *builder) named() {
	v := &b.r.Verdict
	c := mechanism.Named(b.s, knowledge.FirstOut, knowledge.Unheard, knowledge.Lost, knowledge.Awaited, knowledge.Culprit)
	if c == nil {
		return
	}
	v.Summary, v.Why = c.Summary+"; no line shows why", c.Why
	v.Root.Named = c.Named
	if c.Stated { // the first task that srun reports need not be the first that failed
		v.Root.Ranks, v.Root.Nodes = append(v.Root.Ranks, c.Ranks...), append(v.Root.Nodes, c.Nodes...)
	}
	v.Needs = append([]incident.Need{b.fillNeed(c.Need, nil)}, v.Needs...)
}

// namedBeside is whom a launcher or coordinator names where the verdict itself places nothing: it is where to look first.
func (b *builder) namedBeside(top *mechanism.Proposal) string {
	if len(top.Ranks)+len(top.Nodes)+len(top.Frontier) > 0 || top.Component != "" || top.Scope == "all" && top.Class != mechanism.Symptom {
		return ""
	}
	if c := mechanism.Named(b.s, knowledge.Unheard); c != nil {
		return c.Name
	}
	named := ""
	for _, fl := range top.Failures {
		switch {
		case fl.Unplaced == "":
		case !strings.HasSuffix(fl.Unplaced, incident.OfItsGroup):
			return fl.Unplaced
		case named != "" && named != fl.Unplaced:
			return "" // several: none is the one
		default:
			named = fl.Unplaced
		}
	}
	return named
}

// outside takes from a root the hosts that are none of the job's nodes: they are named as such, and not accused.
func (b *builder) outside(p *mechanism.Proposal) {
	ours := b.ours(p.Nodes)
	if len(p.Ranks) > 0 || len(ours) == len(p.Nodes) {
		return
	}
	if len(ours) == 0 {
		b.outsiders = p.Nodes
		p.Named = cmp.Or(p.Named, strings.Join(p.Nodes, ", ")+resolve.NotOfTheJob)
	}
	p.Nodes = ours
}

// wanting is the first of some proposals that wants this, else the first of all.
func wanting(ps []*mechanism.Proposal, n incident.Need) *mechanism.Proposal {
	i := slices.IndexFunc(ps, func(p *mechanism.Proposal) bool {
		return slices.ContainsFunc(p.Needs, func(o incident.Need) bool { return o.What == n.What || n.Artefact != "" && o.Artefact == n.Artefact })
	})
	return ps[max(i, 0)]
}

// contradicted makes visible that SLURM's records and the logs do not say the same. A script may well hide how its programs
// ended, and a program may survive what it prints: the records alone do not overrule the logs, nor these the records.
func (b *builder) contradicted(top *mechanism.Proposal) {
	at, ok := b.s.Facts.Accounting.Ended()
	if !ok || top.Class == mechanism.Nothing || top.Class == mechanism.Degraded {
		return
	}
	top.Rivals = appendNew(top.Rivals, knowledge.Completed)
	top.Against = append(top.Against, incident.Finding{Statement: "SLURM's records show the job and all its steps completed with exit code 0: either it continued after this, or its script hides the failure",
		Evidence: []incident.Evidence{mechanism.QuoteAt(at, &incident.Predicate{Literals: []string{"COMPLETED"}})}})
	b.r.Warnings = append(b.r.Warnings, "the logs show a failure, but SLURM's records show the job completed")
}

// unread leaves room for what nobody foresaw in a verdict that rests on who waited: a line that sounds bad and that nobody knows may tell why,
// where it was printed before all that is known, or is of those that are named.
func (b *builder) unread(top *mechanism.Proposal) {
	if top.Class != mechanism.Collective || !b.failed() || slices.Contains(top.Rivals, knowledge.Unknown) {
		return
	}
	lines := mechanism.Leads(b.s.Facts)
	for _, l := range mechanism.Apart(b.s.Facts) {
		if slices.Contains(top.Ranks, l.Rank) || slices.Contains(top.Nodes, cmp.Or(l.Named, l.Node)) {
			lines = append(lines, l)
		}
	}
	if slices.ContainsFunc(lines, func(l *novel.Line) bool { return l.Suspect() && l.Known.Meaning == "" }) {
		top.Rivals = append(slices.Clone(top.Rivals), knowledge.Unknown)
	}
}

// incomplete adds what to fetch where something expected is missing.
func (b *builder) incomplete() {
	c := &b.s.Facts.Coverage
	if len(c.NodesMissing) == 0 && len(c.FilesMissing) == 0 {
		return
	}
	what := several(c.NodesMissing, "node")
	if what == "" {
		what = several(c.FilesMissing, "file")
	}
	b.r.Verdict.Needs = appendNeed(b.r.Verdict.Needs, b.fillNeed(incident.Need{What: "the logs of " + what, Why: "they are expected but missing; the verdict may change",
		Command: knowledge.LogsOfJob, Obtainable: "now"}, nil))
}
