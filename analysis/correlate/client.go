package correlate

import (
	"cmp"
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// Client is a line in which the job tells of the store.
type Client struct {
	At    worker.At
	Rank  int // resolve.NoRank where nothing proves it
	T     resolve.Moment
	Text  string
	Fault string // see worker.IO
	// Over is true where the read is known to have come after all.
	Over  bool
	Marks []Mark
	ours  bool // it speaks of AIStore
}

// Limits of the lines that are looked at: those of one rank, and all.
const (
	perRank  = 160
	maxLines = 16384
)

// Wanted are the lines of a job whose text tells what it asked the store for.
func Wanted(f *resolve.Facts) []worker.At {
	var out []worker.At
	for _, s := range spots(f) {
		out = append(out, s.at)
	}
	return out
}

// spot is where such a line stands.
type spot struct {
	at    worker.At
	rank  int
	text  string // as far as it is held
	fault string
}

func spots(f *resolve.Facts) []spot {
	var all []spot
	if f.Obs != nil {
		for k := range f.Obs.IOs.All() {
			v := k.IO()
			rank, ok := f.RankOf(v.At)
			if !ok {
				rank = resolve.NoRank
			}
			all = append(all, spot{v.At, rank, "", v.Fault})
		}
	}
	for i := range f.Did {
		if d := &f.Did[i]; d.Kind == worker.DoingLoad {
			all = append(all, spot{d.At, d.Rank, "", ""})
		}
	}
	for _, fl := range f.Failures {
		switch {
		case fl.Kind == resolve.KindExit || fl.Kind == resolve.KindTask || fl.Kind == resolve.KindNCCL || strings.HasPrefix(string(fl.Sign), "watchdog"):
			continue
		case fl.Exc != nil:
			for i := range fl.Exc.Cause {
				c := &fl.Exc.Cause[i]
				all = append(all, spot{c.At, fl.Rank, c.Type + ": " + c.Message, ""})
			}
			all = append(all, spot{*fl.At, fl.Rank, fl.Exc.Type + ": " + fl.Exc.Message, ""})
		case fl.Role == knowledge.CauseRole || fl.Sign != "":
			all = append(all, spot{*fl.At, fl.Rank, fl.Text, ""})
		}
	}
	slices.SortStableFunc(all, func(a, b spot) int {
		return cmp.Or(strings.Compare(a.at.File, b.at.File), cmp.Compare(a.at.Off, b.at.Off), strings.Compare(b.fault, a.fault), strings.Compare(a.text, b.text))
	})
	all = slices.CompactFunc(all, func(a, b spot) bool { return a.at.File == b.at.File && a.at.Off == b.at.Off })
	type writer struct {
		file string
		rank int
	}
	seen := map[writer]int{}
	out := all[:0]
	for _, s := range all {
		k := writer{s.at.File, s.rank}
		if seen[k]++; seen[k] <= perRank && len(out) < maxLines && s.at.File != "" && s.at.Len > 0 {
			out = append(out, s)
		}
	}
	return out
}

// aisWords tell that a line speaks of AIStore.
var aisWords = []string{"/v1/ml/moss", "/v1/objects/", "ais://", "aistore", "AIStore", "AISError", "AISBatchLoader", "AISObjectLoader", "ErrCapExceeded", "ErrTooManyRequests", "ErrNotFound", "ErrObjNotFound", "ErrGETConflict"}

// failures are words of a request that did not get what it asked for; its kind stands in Fault where it is known.
var failures = []string{"STATUS:4", "STATUS:5", "truncated", "Error", "failed", "Failed"}

// failed says that a line tells of a request that did not get what it asked for.
func (c *Client) failed() bool {
	return c.Fault != "" || slices.ContainsFunc(failures, func(w string) bool { return strings.Contains(c.Text, w) })
}

// clients are the lines of a job about its store.
func clients(f *resolve.Facts) []Client {
	over := map[worker.Pos]bool{}
	for _, l := range f.Ladders {
		if l.Outcome == resolve.Recovered {
			over[l.First.Pos], over[l.Last.Pos] = true, true
		}
	}
	var out []Client
	for _, s := range spots(f) {
		c := Client{At: s.at, Rank: s.rank, Text: s.text, Fault: s.fault, Over: over[s.at.Pos]}
		if said := f.Said[s.at.Pos]; said != "" {
			if c.Text = said; s.text != "" && !strings.Contains(said, s.text) {
				c.Text += "\n" + s.text
			}
		}
		if c.T = f.At(s.at); !c.T.Valid {
			if c.T = f.NotBefore(s.at); c.T.Valid {
				c.T.Unc += loose
			}
		}
		c.Marks = marksOf(c.Text)
		c.ours = slices.ContainsFunc(aisWords, func(w string) bool { return strings.Contains(c.Text, w) }) ||
			slices.ContainsFunc(c.Marks, func(m Mark) bool { return m.Kind == Work || m.Kind == Node })
		if c.ours || len(c.Marks) > 0 || c.Fault != "" {
			out = append(out, c)
		}
	}
	return out
}

// loose is how far below a stamp a line without one may have been written, in seconds, to be of use.
const loose = 30.0
