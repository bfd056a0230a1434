package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// mechRetries is the mechanism that ladders of retries speak for, or against.
const mechRetries = string(knowledge.StorageRetriesExhausted)

// reads fills what the report says about reading and writing data: the counts, the state of the storage question, and
// retries that recovered as the noise they are.
func (b *builder) reads() {
	f, r := b.s.Facts, b.r
	r.Counts = incident.Counts{ConnectionResets: tallies(&f.Resets), LoaderErrors: tallies(&f.LoaderErrors), Retries: ladders(f)}
	r.Storage = b.storage()
	b.smell()
	b.daemons()
	b.correlated()
	b.asked()
	b.noise()
}

func tallies(t *resolve.Tally) incident.Tallies {
	out := incident.Tallies{Total: t.Total, PerFile: map[string]int{}, PerRank: map[string]int{}}
	maps.Copy(out.PerFile, t.PerFile)
	for k, n := range t.PerRank {
		out.PerRank[strconv.Itoa(k)] = n
	}
	return out
}

func ladders(f *resolve.Facts) incident.RetryTallies {
	out := incident.RetryTallies{PerFile: map[string]incident.Ladders{}, PerRank: map[string]incident.Ladders{}}
	var all incident.Ladders
	files, ranks := map[string]*incident.Ladders{}, map[int]*incident.Ladders{}
	for _, l := range f.Ladders {
		count(&all, l)
		countIn(files, l.First.File, l)
		if l.Rank != resolve.NoRank {
			countIn(ranks, l.Rank, l)
		}
		if l.Idle {
			out.Idle++
		}
	}
	for file, n := range files {
		out.PerFile[file] = *n
	}
	for rank, n := range ranks {
		out.PerRank[strconv.Itoa(rank)] = *n
	}
	out.Recovered, out.Exhausted, out.Open = all.Recovered, all.Exhausted, all.Open
	return out
}

func countIn[K comparable](all map[K]*incident.Ladders, k K, l *resolve.Ladder) {
	n := all[k]
	if n == nil {
		n = &incident.Ladders{}
		all[k] = n
	}
	count(n, l)
}

func count(n *incident.Ladders, l *resolve.Ladder) {
	switch l.Outcome {
	case resolve.Recovered:
		n.Recovered++
	case resolve.Exhausted:
		n.Exhausted++
	default:
		n.Open++
	}
}

// storage says whether the store is implicated. Worker logs alone never clear it: it takes its own.
func (b *builder) storage() incident.Storage {
	v := &b.r.Verdict
	out := incident.Storage{Status: "not-needed", Judgement: "open", Targets: []string{}}
	if v.Origin == "storage" || v.Origin == "data-loading-stall" {
		out.Status = "not-provided"
	}
	store := len(v.Candidates) > 0
	for _, c := range v.Candidates {
		o := origin(knowledge.Slug(c.Mechanism))
		store = store && o == "storage"
		if o == "storage" || o == "data-loading-stall" || knowledge.Slug(c.Mechanism).Is(knowledge.AwaitsData) {
			out.Status = "not-provided"
		}
	}
	if store {
		out.Judgement = "implicated"
	}
	return out
}

// noise tells retries and resets that no proposal rests on: a hypothesis that was looked at and turned down, or left open.
func (b *builder) noise() {
	f := b.s.Facts
	for i := range b.r.Hypotheses {
		if knowledge.Slug(b.r.Hypotheses[i].Mechanism).Is(knowledge.TriedAgain) {
			return
		}
	}
	n := b.r.Counts.Retries
	total := n.Recovered + n.Exhausted + n.Open
	if total+f.Resets.Total == 0 {
		return
	}
	h := incident.Hypothesis{Mechanism: mechRetries, Status: "rejected", For: []incident.Finding{}, Against: []incident.Finding{},
		WouldDecide: []string{"the store's own logs from that time"}}
	if f.Resets.Total > 0 {
		h.For = append(h.For, incident.Finding{Statement: fmt.Sprintf("%s in %s", plural(f.Resets.Total, "line mentions a connection reset", "lines mention connection resets"),
			plural(len(f.Resets.PerFile), "file", "files")), Evidence: b.resetEvidence()})
	}
	against := func(pick func(*resolve.Ladder) bool, say func(k int) string) {
		var ev []incident.Evidence
		k := 0
		for _, l := range f.Ladders {
			if pick(l) {
				if k++; len(ev) < 2 {
					ev = append(ev, mechanism.QuoteAt(l.Last.At(), nil))
				}
			}
		}
		if k > 0 {
			h.Against = append(h.Against, incident.Finding{Statement: say(k), Evidence: ev})
		}
	}
	against(func(l *resolve.Ladder) bool { return l.Idle }, func(k int) string {
		return fmt.Sprintf("%s as noise (an idle connection was reset): the first retry succeeded, there had been none for at least 30 s, and no other client had any", plural(k, "retry counts", "retries count"))
	})
	against(func(l *resolve.Ladder) bool { return l.Outcome == resolve.Recovered && !l.Idle }, func(k int) string {
		return plural(k, "other retry recovered and the job continued", "other retries recovered and the job continued")
	})
	against(func(l *resolve.Ladder) bool { return l.Outcome == resolve.Exhausted && l.WentOn }, func(k int) string {
		return plural(k, "retry gave up, and the job continued without the data", "retries gave up, and the job continued without the data")
	})
	if n.Open > 0 || total == 0 {
		h.Status = "open"
	}
	if n.Open > 0 {
		against(func(l *resolve.Ladder) bool { return l.Outcome == resolve.Open }, func(k int) string {
			return plural(k, "request was still being retried when the logs ended", "requests were still being retried when the logs ended")
		})
	}
	b.r.Hypotheses = append(b.r.Hypotheses, h)
}

// resetEvidence quotes the first resets and counts all of them, each line once: by the first of the words that it holds.
func (b *builder) resetEvidence() []incident.Evidence {
	t := &b.s.Facts.Resets
	var ev []incident.Evidence
	for _, at := range t.At {
		ev = append(ev, mechanism.QuoteAt(at, nil))
	}
	files := slices.Sorted(maps.Keys(t.PerFile))
	not := append([]string{}, worker.Foreign...)
	for _, w := range worker.ResetWords {
		if n := t.Words[w]; n > 0 {
			ev = append(ev, incident.Evidence{Kind: incident.KindCount, Files: files, N: int64(n),
				Predicate: &incident.Predicate{Literals: []string{w}, Not: append([]string{}, not...)}})
		}
		not = append(not, w)
	}
	return ev
}
