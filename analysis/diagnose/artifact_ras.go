package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/ras"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// rasArtifact says what the answers of NCCL's RAS tell.
func rasArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "nccl-ras", Title: "NCCL RAS output",
		Limits: "RAS counts what ranks have launched, not what has finished: “OK” doesn't mean the job works. One snapshot of any busy job shows mismatches; the same counts a minute later show that it is stuck. The ranks it lists are the minority, which may be the ones ahead."}
	for _, s := range f.Handed.RAS {
		if !slices.Contains(a.Files, s.File) {
			a.Files = append(a.Files, s.File)
		}
	}
	if len(a.Files) == 0 {
		return a, false
	}
	slices.Sort(a.Files)
	if gone, ev := mechanism.RASDead(f); len(gone) > 0 {
		a.Findings = append(a.Findings, incident.Finding{Statement: fmt.Sprintf("counted as dead: %s", deadWords(gone)), Evidence: ev})
	}
	still := mechanism.RASStands(f)
	for i := range still {
		a.Findings = append(a.Findings, mechanism.StandsFinding(f, &still[i]))
	}
	for _, s := range f.Handed.RAS {
		a.Findings = append(a.Findings, snapshot(s, still)...)
	}
	return a, len(a.Findings) > 0
}

func deadWords(gone []mechanism.Gone) string {
	var words []string
	for i, d := range gone {
		if i == 4 {
			words = append(words, fmt.Sprintf("%d more", len(gone)-4))
			break
		}
		words = append(words, fmt.Sprintf("process %d on %s", d.Pid, d.Host))
	}
	return strings.Join(words, ", ")
}

// snapshot says what one answer tells.
func snapshot(s *ras.Snapshot, still []mechanism.Stands) []incident.Finding {
	var out []incident.Finding
	if len(s.Missing) > 0 {
		p := s.Missing[0]
		text := fmt.Sprintf("process %d on %s returned no data", p.Pid, p.Host)
		if n := len(s.Missing); n > 1 {
			text = fmt.Sprintf("%d processes returned no data, including process %d on %s", n, p.Pid, p.Host)
		}
		out = append(out, incident.Finding{Statement: text + ": it was slow, stopped, or gone", Evidence: []incident.Evidence{mechanism.RASQuote(s, p.At)}})
	}
	for i := range s.Comms {
		c := &s.Comms[i]
		if len(c.Missing) > 0 {
			var ids []int
			for _, r := range c.Missing {
				ids = append(ids, r.Rank)
			}
			slices.Sort(ids)
			out = append(out, incident.Finding{Statement: fmt.Sprintf("a communicator%s is missing data for its %s %s", sizeOf(c), map[bool]string{true: "rank", false: "ranks"}[len(ids) == 1], mechanism.Ranges(slices.Compact(ids))),
				Evidence: []incident.Evidence{mechanism.RASQuote(s, c.Missing[0].At)}})
		}
		if len(c.Failed) > 0 {
			r := c.Failed[0]
			out = append(out, incident.Finding{Statement: fmt.Sprintf("%d ranks of a communicator%s report an error, rank %d first", len(c.Failed), sizeOf(c), r.Rank), Evidence: []incident.Evidence{mechanism.RASQuote(s, r.At)}})
		}
		if c.Mismatched() && !slices.ContainsFunc(still, func(x mechanism.Stands) bool { return x.Comm.Hash == c.Hash }) {
			out = append(out, incident.Finding{Statement: mismatchWords(c), Evidence: mechanism.CountsEvidence(s, c)})
		}
	}
	if s.OK() && len(s.Rows) > 0 {
		out = append(out, incident.Finding{Statement: fmt.Sprintf("all %d ranks in the largest communicator had launched the same operations", s.Rows[0].Size), Evidence: []incident.Evidence{mechanism.RASQuote(s, s.Rows[0].At)}})
	}
	return out
}

func sizeOf(c *ras.Comm) string {
	if c.Size > 0 {
		return fmt.Sprintf(" of %d ranks", c.Size)
	}
	return ""
}

// mostCounted is how many ranks of one count are named.
const mostCounted = 2

// countedRanks names the ranks of a count where they are few and listed, else says how many they are.
func countedRanks(k *ras.Count) string {
	if k.N > mostCounted || len(k.Ranks) != k.N {
		return fmt.Sprintf("%d ranks", k.N)
	}
	var names []string
	for _, r := range k.Ranks {
		name := fmt.Sprintf("rank %d", r.Rank)
		if r.Host != "" {
			name += " on " + r.Host
		}
		names = append(names, name)
	}
	return strings.Join(names, " and ")
}

// mismatchWords says how many ranks had launched how many operations, and that one answer proves no more.
func mismatchWords(c *ras.Comm) string {
	byOp := map[string][]string{}
	var ops []string
	for _, k := range c.Counts {
		if byOp[k.Op] == nil {
			ops = append(ops, k.Op)
		}
		byOp[k.Op] = append(byOp[k.Op], fmt.Sprintf("%s at %d", countedRanks(&k), k.Value))
	}
	var words []string
	for _, o := range ops {
		if len(byOp[o]) < 2 {
			continue
		}
		name := o
		if name == "" {
			name = "operations"
		}
		words = append(words, name+": "+strings.Join(byOp[o], ", "))
	}
	return fmt.Sprintf("ranks in a communicator%s had launched different numbers of operations (%s); one snapshot doesn't prove that any rank is stuck", sizeOf(c), strings.Join(words, "; "))
}
