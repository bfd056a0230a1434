package worker

import (
	"bytes"
	"strconv"
)

// RankTime is one rank's share of a report that sets ranks side by side. Rank is the rank spoken of, not the writer.
type RankTime struct {
	At
	Rank int
	Node string // where the line names it
	What string // the timer, or what was measured
	// Unit tells what Value is: seconds (more is slower), rate (less is slower), score (NVIDIA's detector: the
	// performance relative to the others, 1 is the best), or extreme (a rate of which only the lowest and the highest are told).
	Unit  string
	Value float64
	// Report is the offset of the report's first line: values with the same are of one moment. Side is low or high where
	// a report lists the slowest and the fastest only.
	Report int64
	Side   string
	// Named is true where the reporter itself calls this rank a straggler.
	Named bool
}

func rankTimeHandlers() []handler {
	return []handler{
		{"Megatron timers", []string{"times across ranks (ms):"}, readRankTimers},
		{"Megatron straggler detector", []string{"Ranks with lowest  Etpt", "Ranks with highest Etpt"}, readStragglerDetector},
		{"Megatron straggler detector's extremes", []string{"MnEtpt/Rnk: "}, readExtremes},
		{"NVIDIA straggler detection", []string{"STRAGGLER DETECTION WARNING:"}, readStragglerWarning},
		{"NVIDIA performance scores", []string{"GPU relative performance"}, readScores},
	}
}

// readRankTimers reads Megatron's timers of all ranks (--timing-log-option all; megatron/core/timers.py):
//
//	times across ranks (ms):
//	  forward-compute:
//	     rank  0: 1234.56
//	     rank  1: 1240.11
func readRankTimers(r *reader, rec *record) bool {
	if bytes.Contains(rec.Text, []byte("time across ranks")) {
		return false
	}
	head, name := rec.Off, ""
	rep := PhaseReport{At: rec.At, Across: true}
	r.follow(rec, maxFollow, func(r *reader, rec *record) verdict {
		if rec == nil {
			r.keepPhases(rep)
			return ended
		}
		t := bytes.TrimSpace(rec.Text)
		if rank, v, ok := rankValue(t); ok && name != "" {
			emit(r, &r.obs.RankTimes, RankTime{At: rec.At, Rank: rank, What: name, Unit: "seconds", Value: v / 1000, Report: head})
			rep.rank(r, rec, name, v/1000)
			return taken
		}
		if n, ok := bytes.CutSuffix(bytes.TrimSpace(rec.Msg), []byte(":")); ok && len(n) > 0 && len(n) < 64 && !bytes.ContainsAny(n, " :|") {
			name = string(n)
			return taken
		}
		r.keepPhases(rep)
		return ended
	})
	return true
}

// rankValue reads "rank  3: 1234.56", where a label may stand in front.
func rankValue(t []byte) (rank int, v float64, ok bool) {
	i := bytes.LastIndex(t, []byte("rank "))
	if i < 0 {
		return 0, 0, false
	}
	n, rest := counter(bytes.TrimLeft(t[i+len("rank "):], " "))
	rest, found := bytes.CutPrefix(rest, []byte(": "))
	if !found || n < 0 || n > 1<<24 {
		return 0, 0, false
	}
	p := printed(bytes.TrimLeft(rest, " "))
	if p == nil || nonFinite(p) || p[0] == '-' || len(bytes.TrimSpace(rest)) != len(p) {
		return 0, 0, false
	}
	return int(n), finite(p), true
}

// readStragglerDetector reads Megatron's own straggler detector (--log-straggler --straggler-minmax-count N;
// megatron/core/utils.py): throughput and rank, the lowest first.
//
//	^^^^ Bottom 4 Ranks with lowest  Etpt(TF): 296.02/0, 296.17/2, 296.23/1, 296.23/4,
//	^^^^ Top    4 Ranks with highest Etpt(TF): 297.28/15, 297.28/11, 297.32/12, 297.32/8,
func readStragglerDetector(r *reader, rec *record) bool {
	list := after(rec.Text, "Etpt(TF): ")
	if list == nil {
		return false
	}
	side := "high"
	if bytes.Contains(rec.Text, []byte("Ranks with lowest")) {
		side = "low"
		r.does |= other
		r.detector = rec.Off
	}
	for item := range bytes.SplitSeq(list[:min(len(list), 16<<10)], []byte(",")) {
		v, id, ok := bytes.Cut(bytes.TrimSpace(item), []byte("/"))
		n, rest := counter(id)
		if !ok || rest == nil || len(rest) > 0 || n < 0 || n > 1<<24 || len(printed(v)) != len(v) || len(v) == 0 || nonFinite(v) {
			continue
		}
		emit(r, &r.obs.RankTimes, RankTime{At: rec.At, Rank: int(n), What: "throughput (TFLOP/s)", Unit: "rate", Value: finite(v), Report: r.detector, Side: side})
	}
	return true
}

// readExtremes reads what the same detector prints of the extremes of all ranks, and nothing else unless it is asked for more:
//
//	[2025-06-03 17:48:01] | MnRtt/Rnk: 3453.08ms/8 | MxRtt/Rnk: 3468.20ms/0 | … | MnEtpt/Rnk: 296.02TF/0 | MxEtpt/Rnk: 297.32TF/8
func readExtremes(r *reader, rec *record) bool {
	low, lowest, ok := extreme(rec.Text, "MnEtpt/Rnk: ")
	high, highest, too := extreme(rec.Text, "MxEtpt/Rnk: ")
	if !ok || !too {
		return false
	}
	for _, x := range []RankTime{{Rank: lowest, Value: low, Side: "low"}, {Rank: highest, Value: high, Side: "high"}} {
		x.At, x.What, x.Unit, x.Report = rec.At, "throughput (TFLOP/s)", "extreme", rec.Off
		emit(r, &r.obs.RankTimes, x)
	}
	return true
}

// extreme reads "296.02TF/0" behind a name.
func extreme(text []byte, name string) (v float64, rank int, ok bool) {
	b := after(text, name)
	p := printed(b)
	if p == nil || nonFinite(p) || p[0] == '-' {
		return 0, 0, false
	}
	b, ok = bytes.CutPrefix(b[len(p):], []byte("TF/"))
	n, rest := counter(b)
	if !ok || rest == nil || n < 0 || n > 1<<24 {
		return 0, 0, false
	}
	return finite(p), int(n), true
}

// readStragglerWarning reads the warning of NVIDIA's resiliency extension (straggler_det_callback.py; also in NeMo and
// Megatron Bridge): "Affected ranks: {StragglerId(rank=3, node='n1')}" or "Affected ranks: [76, 13]".
func readStragglerWarning(r *reader, rec *record) bool {
	list := after(rec.Text, "Affected ranks: ")
	if list == nil {
		return false
	}
	list = list[:min(len(list), 16<<10)]
	what := "relative GPU performance"
	if bytes.Contains(rec.Text, []byte("performance dropped")) {
		what = "performance of the GPU against its own"
	}
	say := func(rank int64, node string) {
		if rank >= 0 && rank < 1<<24 {
			emit(r, &r.obs.RankTimes, RankTime{At: rec.At, Rank: int(rank), Node: node, What: what, Unit: "score", Report: rec.Off, Named: true})
		}
	}
	if bytes.Contains(list, []byte("rank=")) {
		for b := after(list, "rank="); b != nil; b = after(b, "rank=") {
			n, rest := counter(b)
			if rest == nil {
				continue
			}
			item, _, _ := bytes.Cut(rest, []byte(")"))
			say(n, unquote(after(item, "node=")))
		}
		return true
	}
	inner, _, _ := bytes.Cut(bytes.TrimLeft(list, "[{("), []byte("]"))
	inner, _, _ = bytes.Cut(inner, []byte("}"))
	for item := range bytes.SplitSeq(inner, []byte(",")) {
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(item)), 10, 32); err == nil {
			say(n, "")
		}
	}
	return true
}

// readScores reads the table that goes with it:
//
//	GPU relative performance:
//	 Worst performing 5/512 ranks:
//	  Rank=76 Node=h100-001 Score=0.61
//	 Best performing 5/512 ranks:
//	  …
func readScores(r *reader, rec *record) bool {
	head, side := rec.Off, ""
	r.follow(rec, 64, func(r *reader, rec *record) verdict {
		if rec == nil {
			return ended
		}
		t := bytes.TrimSpace(rec.Msg)
		switch {
		case bytes.HasPrefix(t, []byte("Worst performing ")):
			side = "low"
			return taken
		case bytes.HasPrefix(t, []byte("Best performing ")):
			side = "high"
			return taken
		}
		n, rest := counter(bytes.TrimPrefix(t, []byte("Rank=")))
		if !bytes.HasPrefix(t, []byte("Rank=")) || rest == nil || n > 1<<24 || n < 0 {
			return ended
		}
		v := printed(after(rest, "Score="))
		if v == nil || nonFinite(v) {
			return ended
		}
		emit(r, &r.obs.RankTimes, RankTime{At: rec.At, Rank: int(n), Node: unquote(after(rest, "Node=")), What: "relative GPU performance",
			Unit: "score", Value: finite(v), Report: head, Side: side})
		return taken
	})
	return true
}

// unquote is the word at the start of b, without quotation marks.
func unquote(b []byte) string {
	b = bytes.TrimLeft(b, `'"`)
	n := 0
	for n < len(b) && n < 256 && (isWord(b[n]) || b[n] == '-' || b[n] == '.') {
		n++
	}
	return string(b[:n])
}

// number64 reads what printed has found.
func number64(v []byte) float64 {
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return 0
	}
	return f
}
