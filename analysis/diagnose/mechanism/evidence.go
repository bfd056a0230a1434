package mechanism

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// Wordings of PyTorch's watchdog that quotations are held to. Source: ProcessGroupNCCL.cpp, all versions from 1.13.
const (
	litWatchdog     = "Watchdog caught collective operation timeout: Work" // WorkNCCL; other back ends copy the line: WorkHCCL
	litTornWatchdog = "Watchdog caught"
	litDump         = "dump signal" // "Received a dump signal", in 2.4 also "Received a global dump signal"
)

// QuoteAt quotes the raw text of an observation; the text itself is fetched later, by position.
func QuoteAt(at worker.At, p *incident.Predicate) incident.Evidence {
	e := incident.Quote(at.File, at.Line, at.Off, "", p)
	e.Span = at.Len
	return e
}

// withRank adds the rank prefix to a predicate where the line itself carries it. It is a literal, not a field: Ray's
// "[rank=9]" may stand in front of it.
func withRank(p *incident.Predicate, at worker.At, rank int) *incident.Predicate {
	if at.Who().Global >= 0 && at.Who().Global == rank {
		p.Literals = append([]string{fmt.Sprintf("[rank%d]:", rank)}, p.Literals...)
	}
	return p
}

// recordEvidence proves what a record of a dump says.
func recordEvidence(r *resolve.Record) incident.Evidence {
	return incident.Evidence{Kind: incident.KindRecord, File: r.File, Place: r.Place, Predicate: &incident.Predicate{Members: r.Members}}
}

// PendingEvidence proves that a rank was in flight: the watchdog line and the state line, or the record of its dump.
func PendingEvidence(p *resolve.Pending) []incident.Evidence {
	var out []incident.Evidence
	if p.Recorded() {
		return append(out, recordEvidence(p.Record))
	}
	if p.State == nil || p.At.Pos != p.State.Pos {
		pred := &incident.Predicate{Literals: []string{litWatchdog}}
		if p.Work.Seq == line.Unknown && p.Work.Op == "" {
			pred.Literals = []string{litTornWatchdog} // the line is cut within the words
		}
		if p.Work.Seq != line.Unknown {
			pred.Fields = append(pred.Fields, incident.Field{Key: "SeqNum=", Value: strconv.FormatInt(p.Work.Seq, 10)})
		}
		if p.Work.Op != "" {
			pred.Fields = append(pred.Fields, incident.Field{Key: "OpType=", Value: p.Work.Op})
		}
		out = append(out, QuoteAt(p.At, withRank(pred, p.At, p.Rank.ID)))
	}
	if p.State != nil {
		out = append(out, StateEvidence(p.State, p.Rank.ID))
	}
	return out
}

// StateEvidence proves the counters of a state line.
func StateEvidence(s *worker.State, rank int) incident.Evidence {
	enq, comp := "last enqueued work: ", "last completed work: "
	if s.Form != "failure-detected" {
		enq, comp = "last enqueued NCCL work: ", "last completed NCCL work: "
	}
	pred := &incident.Predicate{Literals: []string{strings.TrimSpace(enq), strings.TrimSpace(comp)}, Fields: []incident.Field{
		{Key: enq, Value: strconv.FormatInt(s.Enqueued, 10)}, {Key: comp, Value: strconv.FormatInt(s.Completed, 10)}}}
	return QuoteAt(s.At, withRank(pred, s.At, rank))
}

// DumpEvidence proves a dump line's counters.
func DumpEvidence(c *resolve.Counters, rank int) incident.Evidence {
	if c.Record != nil {
		return recordEvidence(c.Record)
	}
	// The next sentence follows the number's full stop without a space, so the second number is held to as a literal.
	pred := &incident.Predicate{Literals: []string{litDump, "last completed NCCL work: " + strconv.FormatInt(c.Completed, 10) + "."},
		Fields: []incident.Field{{Key: "Last enqueued NCCL work: ", Value: strconv.FormatInt(c.Enqueued, 10)}}}
	return QuoteAt(c.At, withRank(pred, c.At, rank))
}

// FailureEvidence quotes what a failure was read from.
func FailureEvidence(fl *resolve.Failure) incident.Evidence {
	var p *incident.Predicate
	if fl.Told != nil {
		return QuoteAt(fl.Told.At, nil)
	}
	if fl.Exc != nil && fl.Exc.Type != "" && !strings.Contains(fl.Exc.Type, "::") { // C++ prints the class on a line of its own
		p = &incident.Predicate{Literals: []string{fl.Exc.Type}}
	}
	return QuoteAt(*fl.At, p)
}

// SetEvidence states which ranks reported this work, over all files that hold such a line. Only ranks whose lines carry
// the rank prefix can be counted on the raw bytes.
func SetEvidence(f *resolve.Facts, g *resolve.Group) (incident.Evidence, bool) {
	if len(g.Pending) < 2 {
		return incident.Evidence{}, false
	}
	first := g.Pending[0]
	files := map[string]bool{}
	ranks := map[int]bool{}
	for _, p := range g.Pending {
		if p.Recorded() || p.At.Who().Global < 0 || p.At.Who().RayName != "" || p.Work.Seq != first.Work.Seq || p.Work.Op != first.Work.Op || p.Work.Op == "" {
			return incident.Evidence{}, false
		}
		files[p.At.File] = true
		ranks[p.Rank.ID] = true
	}
	for _, o := range f.Groups {
		if o == g {
			continue
		}
		for _, p := range o.Pending {
			// The same work number in another group stands in lines that look the same.
			if files[p.At.File] && p.Work.Seq == first.Work.Seq && (p.Work.Op == first.Work.Op || p.Work.Op == "") {
				return incident.Evidence{}, false
			}
		}
	}
	e := incident.Evidence{Kind: incident.KindSet, Capture: &incident.Capture{Key: "[rank"},
		Predicate: &incident.Predicate{Literals: []string{"[rank", litWatchdog}, Fields: []incident.Field{
			{Key: "SeqNum=", Value: strconv.FormatInt(first.Work.Seq, 10)}, {Key: "OpType=", Value: first.Work.Op}}}}
	for f := range files {
		e.Files = append(e.Files, f)
	}
	sort.Strings(e.Files)
	ids := slices.Sorted(maps.Keys(ranks))
	for _, r := range ids {
		e.Values = append(e.Values, strconv.Itoa(r))
	}
	return e, true
}

// AbsenceEvidence states that a rank printed no watchdog line in its own files, if they can prove it.
func AbsenceEvidence(f *resolve.Facts, r *resolve.Rank) (incident.Evidence, bool) {
	if r == nil || len(r.Files) == 0 {
		return incident.Evidence{}, false
	}
	e := incident.Evidence{Kind: incident.KindAbsence, Files: r.Files, Predicate: &incident.Predicate{}}
	own := true // files that hold this rank's lines and nobody else's
	for _, name := range r.Files {
		if id, ok := f.Owner(name); !ok || id != r.ID {
			own = false
		}
	}
	switch {
	case own:
	case r.First.Who().Global == r.ID:
		e.Predicate.Literals = append(e.Predicate.Literals, fmt.Sprintf("[rank%d]:", r.ID))
	default:
		return incident.Evidence{}, false // its lines cannot be told from others'
	}
	e.Predicate.Literals = append(e.Predicate.Literals, "Watchdog caught collective operation timeout")
	for _, name := range r.Files {
		found := false
		for _, t := range f.Tails {
			if t.File == name {
				if !t.EndsClean {
					return incident.Evidence{}, false
				}
				found = true
				e.Bytes += t.Bytes
			}
		}
		if !found {
			return incident.Evidence{}, false
		}
	}
	return e, true
}

// LastLine quotes the last line of a rank before it fell silent.
func LastLine(r *resolve.Rank) (incident.Evidence, bool) {
	if r == nil || r.LastAt.File == "" || r.LastAt.Len == 0 {
		return incident.Evidence{}, false
	}
	return QuoteAt(r.LastAt, nil), true
}

// Ranges writes ranks as "0-3,8".
func Ranges(ids []int) string {
	var b strings.Builder
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(ids[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(ids[j]))
		}
		i = j + 1
	}
	return b.String()
}

// wordy is from how many bytes on a list of ranks is cut in a sentence; the verdict has them all.
const wordy = 240

// rankWords names ranks for a sentence: "rank 5", "ranks 5, 9", "ranks 0-3,8".
func rankWords(ids []int) string {
	if len(ids) == 1 {
		return "rank " + strconv.Itoa(ids[0])
	}
	s := Ranges(ids)
	if len(s) > wordy {
		s = fmt.Sprintf("%s,… (%d in all)", s[:strings.LastIndexByte(s[:wordy], ',')], len(ids))
	}
	return "ranks " + s
}

// nodesOf are the nodes that ranks are proven to be on, sorted, each once.
func nodesOf(f *resolve.Facts, ids []int) []string {
	seen := map[string]bool{}
	for _, id := range ids {
		if n := f.RankNode(id); n != "" {
			seen[n] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// where adds the node to a rank's name where it is proven.
func where(f *resolve.Facts, ids []int) string {
	nodes := nodesOf(f, ids)
	s := rankWords(ids)
	switch {
	case len(nodes) == 1:
		return s + " on " + nodes[0]
	case len(nodes) > 1 && len(nodes) <= 4:
		return s + " on " + strings.Join(nodes, ", ")
	}
	return s
}

func finding(statement string, ev ...incident.Evidence) incident.Finding {
	if ev == nil {
		ev = []incident.Evidence{}
	}
	return incident.Finding{Statement: statement, Evidence: ev}
}

// groupName names a group for people.
func groupName(g *resolve.Group) string {
	switch {
	case g.Default:
		return "the default group"
	case g.Desc != "":
		return fmt.Sprintf("group %s (%s)", g.Key, g.Desc)
	case g.Unnamed:
		return "an unnamed group"
	}
	return "group " + g.Key
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// ofWait says of a finding that it tells who waited.
func ofWait(f incident.Finding) incident.Finding {
	f.Kind = incident.LinkWait
	return f
}
