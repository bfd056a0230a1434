package eval

import (
	"fmt"
	"slices"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
)

// Metric is one thing that is scored.
type Metric string

// The metrics, in the order of the scoreboard. What a metric applies to is part of its definition in the table below.
const (
	Ran               Metric = "ran"
	InCandidates      Metric = "truth-in-candidates"
	ExactSet          Metric = "exact-set"
	FirstRight        Metric = "first-right"
	AcceptTruth       Metric = "accept-ground-truth"
	AcceptOther       Metric = "accept-other"
	RootRank          Metric = "root-rank"
	RootNode          Metric = "root-node"
	Origin            Metric = "origin"
	Decision          Metric = "decision"
	Coverage          Metric = "coverage"
	SyncPoint         Metric = "sync-point"
	Verified          Metric = "verified"
	Proven            Metric = "proven"
	SelfContradiction Metric = "self-contradiction"
	NoGround          Metric = "accused-without-ground"
	Innocent          Metric = "accused-innocent"
	Intermediate      Metric = "accused-intermediate"
	Forbidden         Metric = "forbidden"
	ControlBlamed     Metric = "control-blamed"
	StorageJudged     Metric = "storage-judged"
	StorageDaemon     Metric = "storage-daemon"
	StorageSide       Metric = "storage-side"
	StorageChain      Metric = "storage-chain"
	StorageRevised    Metric = "storage-revised"
	StorageBlamed     Metric = "storage-blamed"
	StorageInnocent   Metric = "storage-innocent"
	unknownMechanism         = "unknown"
)

// metricInfo describes a metric. Of a fault, OK means that it was not committed, and the scoreboard counts offences.
type metricInfo struct {
	metric Metric
	title  string
	fault  bool
}

var metrics = []metricInfo{
	{Ran, "diagnosed without an error", false},
	{InCandidates, "truth in the candidates", false},
	{ExactSet, "set exactly right, where a set is the truth", false},
	{FirstRight, "first mechanism right, where one is the truth", false},
	{AcceptTruth, "accepted mechanism, ground truth in the worker logs", false},
	{AcceptOther, "accepted mechanism, other cases", false},
	{RootRank, "root rank exact, where the truth names one", false},
	{RootNode, "root node right, where the truth names one", false},
	{Origin, "origin", false},
	{Decision, "resubmit decision, where determined", false},
	{Coverage, "missing nodes and ranks named", false},
	{SyncPoint, "synchronisation point and gap between ranks, where determined", false},
	{Verified, "all evidence holds when re-read", false},
	{Proven, "chain, timeline and revisions carry evidence", false},
	{SelfContradiction, "a part of the report denies another", true},
	{NoGround, "root named where the truth names none", true},
	{Innocent, "rank or node named beside the true root", true},
	{Intermediate, "intermediate rank accused", true},
	{Forbidden, "forbidden conclusion", true},
	{ControlBlamed, "negative control blamed", true},
	{StorageJudged, "storage judged as all logs together determine it", false},
	{StorageDaemon, "daemon at fault named, where one is", false},
	{StorageSide, "side of the storage that is at fault", false},
	{StorageChain, "chain from a daemon over a reader to the ranks", false},
	{StorageRevised, "revision where the daemons' logs change the verdict", false},
	{StorageBlamed, "storage blamed falsely", true},
	{StorageInnocent, "daemon named that is not at fault", true},
}

// sheet is the score of one case in the making.
type sheet struct {
	c      *caseFile
	r      *incident.Report
	scores []Score
	right  *bool
}

func (s *sheet) add(m Metric, ok bool, why string) {
	if ok {
		why = ""
	}
	s.scores = append(s.scores, Score{m, ok, why})
}

// said is the set of mechanisms the report leaves standing, "unknown" left out: it stands for none of them.
func (s *sheet) said() []string {
	var out []string
	for _, c := range s.r.Verdict.Candidates {
		out = append(out, c.Mechanism)
	}
	if len(out) == 0 {
		out = []string{s.r.Verdict.Mechanism}
	}
	return named(out)
}

// named are the distinct mechanisms without "unknown", sorted.
func named(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(m string) bool { return m == unknownMechanism || m == "" })
}

// simulated scores a case whose truth is the set of mechanisms that its bytes leave standing.
func (s *sheet) simulated() {
	t, v := s.c.Truth, &s.r.Verdict
	truth, said := named(t.Candidates), s.said()
	// Where the truth allows "unknown", saying nothing but that is right too.
	abstained := len(said) == 0 && slices.Contains(t.Candidates, unknownMechanism)
	contains := abstained || !slices.ContainsFunc(truth, func(m string) bool { return !slices.Contains(said, m) }) && len(truth) > 0
	s.add(InCandidates, contains, fmt.Sprintf("said %s, truth is %s", list(said), list(t.Candidates)))
	var right bool
	if len(t.Candidates) > 1 {
		right = abstained || slices.Equal(truth, said)
		s.add(ExactSet, right, fmt.Sprintf("said the set %s, truth is %s", list(said), list(t.Candidates)))
	} else {
		right = len(t.Candidates) == 1 && v.Mechanism == t.Candidates[0]
		s.add(FirstRight, right, fmt.Sprintf("said %s, truth is %s", orNothing(v.Mechanism), list(t.Candidates)))
	}
	s.right = &right
	s.origin(t.Candidates)
	if t.Storage != nil {
		s.storage()
	}
	if t.Storage == nil || !t.Storage.Implicated() {
		s.root(t.RootRanks, t.RootNodes, slices.Equal[[]string])
	}
	if len(t.Intermediates) > 0 {
		hit := common(v.Root.Ranks, t.Intermediates)
		s.add(Intermediate, len(hit) == 0, fmt.Sprintf("named intermediate ranks %v", hit))
	}
	if len(t.ForbidMechanisms) > 0 {
		s.add(Forbidden, !slices.Contains(t.ForbidMechanisms, v.Mechanism), "said "+v.Mechanism+", which is forbidden")
	}
	if t.Action != "" {
		s.add(Decision, s.r.Action.Resubmit == t.Action, fmt.Sprintf("resubmit: said %q, should be %q", s.r.Action.Resubmit, t.Action))
	}
	s.sync()
	if len(t.MissingNodes)+len(t.MissingRanks) > 0 {
		nodes := without(t.MissingNodes, s.r.Coverage.NodesMissing)
		rest := without(t.MissingRanks, s.r.Coverage.RanksMissing)
		// A node that is named as missing takes its ranks along: which ranks ran on it no line may say.
		s.add(Coverage, len(nodes) == 0 && (len(rest) == 0 || len(t.MissingNodes) > 0), fmt.Sprintf("not named as missing: nodes %s, ranks %s", list(nodes), few(rest)))
	}
}

// sync scores at which point of its program the job hangs, and how far its ranks are apart.
func (s *sheet) sync() {
	t := s.c.Truth
	if t.Sync == "" && t.PerStep == 0 {
		return
	}
	named, gap := t.Sync == "", t.PerStep == 0
	for i := range s.r.Groups {
		g := &s.r.Groups[i]
		if g.Stuck != nil && g.Stuck.Sync != nil {
			named = named || slices.ContainsFunc(g.Stuck.Sync.Points, func(p string) bool { return strings.Contains(p, t.Sync) })
		}
		if x := g.Gap; x != nil && x.PerStep != nil && *x.PerStep == int64(t.PerStep) && (t.Gap == 0 || x.Collectives == int64(t.Gap)) {
			gap = gap || (x.Steps == nil) == (t.StepsApart == 0) && (x.Steps == nil || *x.Steps == int64(t.StepsApart))
		}
	}
	s.add(SyncPoint, named && gap, fmt.Sprintf("named the point %t, the gap right %t; truth is %q, %d a step, %d steps apart", named, gap, t.Sync, t.PerStep, t.StepsApart))
}

// real scores a case of the corpus by its README.
func (s *sheet) real() {
	c, v := s.c, &s.r.Verdict
	if len(c.Accept) > 0 {
		m := AcceptOther
		if c.groundTruth() {
			m = AcceptTruth
		}
		ok := accepted(c.Accept, v)
		s.add(m, ok, fmt.Sprintf("said %s (%s), accepted: %s", orNothing(v.Mechanism), v.Status, list(c.Accept)))
		if c.groundTruth() {
			s.right = &ok
			s.origin(c.Accept)
		}
	}
	s.root(c.RootRank, c.RootNode, func(truth, said []string) bool {
		return len(said) > 0 && !slices.ContainsFunc(said, func(n string) bool {
			return !slices.ContainsFunc(truth, func(t string) bool { return sameNode(t, n) })
		})
	})
	var offences []string
	if slices.Contains(c.Forbid.Mechanisms, v.Mechanism) {
		offences = append(offences, "mechanism "+v.Mechanism)
	}
	if hit := common(v.Root.Ranks, c.Forbid.Ranks); len(hit) > 0 {
		offences = append(offences, "root ranks "+few(hit))
	}
	for _, n := range v.Root.Nodes {
		if slices.ContainsFunc(c.Forbid.Nodes, func(f string) bool { return sameNode(f, n) }) {
			offences = append(offences, "root node "+n)
		}
	}
	s.add(Forbidden, len(offences) == 0, "said the forbidden "+strings.Join(offences, ", "))
}

// both scores what needs no truth but the kind of case.
func (s *sheet) both() {
	if !s.c.control() {
		return
	}
	v := &s.r.Verdict
	harmless := []string{"completed", "cancelled", unknownMechanism, ""}
	blamed := !slices.Contains(harmless, v.Mechanism) || len(v.Root.Ranks)+len(v.Root.Nodes) > 0 || v.Root.Component != nil
	// A control whose truth is an ending from outside (a time limit) is not blamed by naming that ending.
	if s.c.simulated() && slices.Contains(s.c.Truth.Candidates, v.Mechanism) && len(v.Root.Ranks)+len(v.Root.Nodes) == 0 {
		blamed = false
	}
	s.add(ControlBlamed, !blamed, fmt.Sprintf("nothing failed, said %s, root %s %s", v.Mechanism, few(v.Root.Ranks), list(v.Root.Nodes)))
}

// accepted is the rule of the corpus: the first mechanism, or, where unknown is accepted, an open set.
func accepted(accept []string, v *incident.Verdict) bool {
	if slices.Contains(accept, v.Mechanism) {
		return true
	}
	open := v.Mechanism == unknownMechanism || v.Status == incident.Inconclusive && len(v.Candidates) > 1
	return open && slices.Contains(accept, unknownMechanism)
}

// root scores who is named, and that nobody is named without ground.
func (s *sheet) root(trueRanks []int, trueNodes []string, same func(truth, said []string) bool) {
	said := s.r.Verdict.Root
	saidRanks, saidNodes := sorted(said.Ranks), sorted(said.Nodes)
	truth, nodes := sorted(trueRanks), sorted(trueNodes)
	// Where the answer of a real case rests on more than its logs, not naming the root is no mistake; naming another is.
	due := s.c.simulated() || s.c.groundTruth()
	if due && len(truth) > 0 {
		s.add(RootRank, slices.Equal(truth, saidRanks), fmt.Sprintf("root ranks: said %s, truth is %s", few(saidRanks), few(truth)))
	}
	if due && len(nodes) > 0 {
		s.add(RootNode, same(nodes, saidNodes), fmt.Sprintf("root nodes: said %s, truth is %s", list(saidNodes), list(nodes)))
	}
	var groundless, innocent []string
	if extra := without(saidRanks, truth); len(extra) > 0 {
		if text := "ranks " + few(extra); len(truth) == 0 {
			groundless = append(groundless, text)
		} else {
			innocent = append(innocent, text)
		}
	}
	for _, n := range saidNodes {
		switch {
		case len(nodes) == 0:
			groundless = append(groundless, "node "+n)
		case !slices.ContainsFunc(nodes, func(t string) bool { return t == n || same([]string{t}, []string{n}) }):
			innocent = append(innocent, "node "+n)
		}
	}
	if len(truth) == 0 || len(nodes) == 0 {
		s.add(NoGround, len(groundless) == 0, "named "+strings.Join(groundless, ", ")+" without ground")
	}
	if len(truth) > 0 || len(nodes) > 0 {
		s.add(Innocent, len(innocent) == 0, "named "+strings.Join(innocent, ", ")+" beside the true root")
	}
}

// origin is right if it is that of every mechanism in truth, or "unknown" where they differ.
func (s *sheet) origin(truth []string) {
	var origins []string
	for _, slug := range truth {
		if m, ok := knowledge.MechanismBySlug(knowledge.Slug(slug)); ok && !slices.Contains(origins, m.Origin) {
			origins = append(origins, m.Origin)
		}
	}
	if len(origins) == 0 {
		return
	}
	v := &s.r.Verdict
	ok := slices.Contains(origins, v.Origin)
	switch {
	case s.c.simulated() && len(origins) > 1 && !slices.Contains(truth, unknownMechanism):
		ok = v.Origin == unknownMechanism
	case len(origins) > 1:
		// Alternatives, not a set: any of their origins will do, and so will leaving it open. So it is with what a real
		// case accepts, and where the truth is "this, or nothing that shows".
		ok = ok || v.Origin == unknownMechanism
	}
	s.add(Origin, ok, fmt.Sprintf("origin: said %s, truth is %s", orNothing(v.Origin), list(origins)))
}

// sameNode compares a node of the report with one of a case, which may be written with its address, a remark or the
// domain: "10.148.3.247 (r10i6n5)", "gpu187.cluster.local".
func sameNode(truth, said string) bool {
	if truth == said || strings.ReplaceAll(truth, " ", "") == said { // people write "node 48" for node48
		return true
	}
	short := func(s string) string {
		head, _, _ := strings.Cut(s, ".")
		if strings.Trim(head, "0123456789") == "" { // an address, not a name
			return s
		}
		return head
	}
	words := strings.FieldsFunc(truth, func(r rune) bool { return strings.ContainsRune(" (),;", r) })
	return slices.ContainsFunc(words, func(w string) bool { return short(w) == short(said) })
}

func sorted[T int | string](in []T) []T {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

func common[T comparable](a, b []T) []T {
	return slices.DeleteFunc(slices.Clone(a), func(x T) bool { return !slices.Contains(b, x) })
}

func without[T comparable](a, b []T) []T {
	drop := make(map[T]bool, len(b))
	for _, x := range b {
		drop[x] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(x T) bool { return drop[x] })
}

func list(s []string) string {
	switch {
	case len(s) == 0:
		return "nothing"
	case len(s) > 8:
		return fmt.Sprintf("%s and %d more", strings.Join(s[:8], ", "), len(s)-8)
	}
	return strings.Join(s, ", ")
}

func few(n []int) string {
	s := make([]string, len(n))
	for i, x := range n {
		s[i] = fmt.Sprint(x)
	}
	return list(s)
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
