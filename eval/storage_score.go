package eval

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
)

const (
	componentAIS = "ais:"
	mechanismAIS = "ais-"
)

// storage scores a case with the logs of the storage's daemons.
func (s *sheet) storage() {
	t, v, said := s.c.Truth.Storage, &s.r.Verdict, &s.r.Storage
	s.add(StorageJudged, slices.Contains(t.Judgements, said.Judgement), fmt.Sprintf("storage judged %s, truth is %s", orNothing(said.Judgement), list(t.Judgements)))
	component := ""
	if v.Root.Component != nil {
		component = *v.Root.Component
	}
	daemon, isDaemon := strings.CutPrefix(component, componentAIS)
	daemon = bareDaemon(daemon)
	if !t.Implicated() {
		blamed := said.Judgement == "implicated" || isDaemon ||
			strings.HasPrefix(v.Mechanism, mechanismAIS) && !slices.Contains(s.c.Truth.Candidates, v.Mechanism)
		s.add(StorageBlamed, !blamed, fmt.Sprintf("judged %s, said %s, root %s", said.Judgement, v.Mechanism, orNothing(component)))
		return
	}
	if len(t.Targets) > 0 {
		s.add(StorageDaemon, isDaemon && slices.Contains(t.Targets, daemon), fmt.Sprintf("root is %s, truth is %s", orNothing(component), list(t.Targets)))
	}
	side := ""
	if said.Side != nil {
		side = *said.Side
	}
	s.add(StorageSide, slices.Contains(t.Sides, side), fmt.Sprintf("side %s, truth is %s", orNothing(side), list(t.Sides)))
	var innocent []string
	for _, d := range append([]string{daemon}, said.Targets...) {
		if d = bareDaemon(d); d != "" && !slices.Contains(t.Targets, d) && !slices.Contains(t.Related, d) && len(t.Targets) > 0 {
			innocent = append(innocent, d)
		}
	}
	s.add(StorageInnocent, len(innocent) == 0, "named "+list(innocent))
	if extra := without(v.Root.Ranks, t.Affected); len(extra) > 0 {
		s.add(Innocent, false, "named ranks "+few(extra)+", which the storage did not reach")
	} else {
		s.add(Innocent, true, "")
	}
	missing := chainLacks(s.r)
	if slices.Contains(s.c.Truth.Candidates, string(knowledge.AISBackend)) { // daemons write nothing of what they pass on
		missing = without(missing, []string{daemonSource})
	}
	s.add(StorageChain, len(missing) == 0, "the chain quotes nothing of "+list(missing))
}

// bareDaemon is the id in "t[id]", "target id" or "id".
func bareDaemon(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "target "), "proxy ")
	if len(s) > 3 && (s[0] == 't' || s[0] == 'p') && s[1] == '[' {
		return strings.TrimSuffix(s[2:], "]")
	}
	return s
}

// readerWords are words of lines in which a reader of the job speaks of its storage.
var readerWords = []string{"aistore", "AIStore", "lhotse", "AISBatch", "AISError", "STATUS:", "Retrying ", "ErrObj", "batch.get", "StopIteration", "batch result", "urllib3"}

const daemonSource = "a daemon"

// chainLacks names the sources that the chain quotes nothing of: a daemon, a reader, a rank or its group.
func chainLacks(r *incident.Report) []string {
	var daemon, reader, rank bool
	for _, l := range r.Chain {
		for _, e := range l.Evidence {
			inStorage := strings.HasPrefix(e.File, storageDir+"/") || len(e.Files) > 0 && strings.HasPrefix(e.Files[0], storageDir+"/")
			switch {
			case inStorage:
				daemon = true
			case slices.ContainsFunc(readerWords, func(w string) bool { return strings.Contains(e.Text, w) }):
				reader = true
			case e.Kind == incident.KindQuote:
				rank = true
			}
		}
	}
	var out []string
	for _, x := range []struct {
		has  bool
		name string
	}{{daemon, daemonSource}, {reader, "a reader"}, {rank, "a rank"}} {
		if !x.has {
			out = append(out, x.name)
		}
	}
	return out
}

// revised scores that a verdict which the daemons' logs change is not replaced in silence: what the job's logs say alone is
// asked of the engine as well.
func (s *sheet) revised(ctx context.Context, in CaseInput, diagnose Diagnose) {
	if len(in.Storage) == 0 || s.c.Truth == nil || s.c.Truth.Storage == nil {
		return
	}
	in.Storage = nil
	alone, err := protected(ctx, in, diagnose)
	if err != nil {
		s.add(StorageRevised, false, "without the daemons' logs: "+err.Error())
		return
	}
	if alone.Verdict.Mechanism == s.r.Verdict.Mechanism {
		return
	}
	s.add(StorageRevised, len(s.r.Revisions) > 0, fmt.Sprintf("%s without the daemons' logs, %s with them, and no revision", alone.Verdict.Mechanism, s.r.Verdict.Mechanism))
}
