package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/analysis/aislog"
	"faultline/analysis/correlate"
	"faultline/incident"
)

const (
	// beforeEnd and afterEnd bound the window around the job's last line: a watchdog gives up half an hour after what it
	// waits for, and half an hour more shows what went before.
	beforeEnd = time.Hour
	afterEnd  = 5 * time.Minute
	// longest is how far it is widened for a trouble that the end came long after.
	longest = 24 * time.Hour

	daemonTime = "2006-01-02T15:04:05.000000"
	someOf     = 5 // names of a kind that are listed with an event
)

// daemons tells what the logs of the storage daemons say. It decides nothing: as long as the clocks are not related to the
// job's, what happened at the same time by two clocks did not happen at the same time.
func (b *builder) daemons() {
	all := b.s.Facts.Daemons
	if len(all) == 0 {
		return
	}
	s := &b.r.Storage
	s.Status, s.Clocks = "partial", "unproven"
	w := windowOf(b.r.Job.EndTime)
	if w != nil {
		w.widen(b.s.Storage)
		s.Window = new(w.from.Format(plainTime) + "/" + w.to.Format(plainTime))
		w.shift(b.s.Storage)
	}
	for i := range all {
		d := daemon(&all[i], w)
		b.compare(&d, &all[i])
		s.Daemons = append(s.Daemons, d)
	}
}

// compare sets what a daemon's counters grew by since the job's trouble began beside what they grew by in the half hour before.
func (b *builder) compare(d *incident.StorageDaemon, from *aislog.Daemon) {
	if b.s.Storage == nil {
		return
	}
	c := b.s.Storage.Compared[from]
	if c == nil {
		return
	}
	d.Compared = &incident.StorageSpans{Since: c.SecondsSince, Before: c.SecondsBefore}
	for i := range d.Counters {
		n := &d.Counters[i]
		n.Since, n.Before = new(c.Since[n.Name]), new(c.Before[n.Name])
	}
}

const plainTime = "2006-01-02T15:04:05"

// window is a stretch of wall-clock time.
type window struct{ from, to time.Time }

// windowOf is the window before a job's end; nil where the report cannot say when that was.
func windowOf(end *string) *window {
	if end == nil || len(*end) < len(plainTime) {
		return nil
	}
	t, err := time.Parse(plainTime, (*end)[:len(plainTime)])
	if err != nil {
		return nil
	}
	return &window{t.Add(-beforeEnd), t.Add(afterEnd)}
}

// widen adds what led up to a trouble that began long before the end.
func (w *window) widen(a *correlate.Answer) {
	if a != nil && a.From.Valid {
		if t := time.Unix(int64(a.From.T), 0).UTC(); t.Before(w.from) && w.from.Sub(t) < longest {
			w.from = t
		}
	}
}

// shift turns the window into one by the daemons' clocks, where their relation to the job's is known.
func (w *window) shift(a *correlate.Answer) {
	if a != nil && a.Clock.Known() {
		by := -time.Duration(a.Clock.Shift * float64(time.Second))
		w.from, w.to = w.from.Add(by), w.to.Add(by)
	}
}

func (w *window) touches(from, to time.Time) bool {
	return !to.Before(w.from) && !from.After(w.to)
}

// told writes a daemon's time; nil if there is none.
func told(t aislog.Time) *string {
	switch {
	case t.IsZero():
		return nil
	case t.Proof == aislog.NoDay:
		return new(t.Wall.Format("15:04:05.000000"))
	}
	return new(t.Wall.Format(daemonTime))
}

func mustTell(t aislog.Time) string {
	if s := told(t); s != nil {
		return *s
	}
	return ""
}

func daemon(d *aislog.Daemon, w *window) incident.StorageDaemon {
	out := incident.StorageDaemon{
		Name: d.Name(), ID: optional(d.ID), Role: optional(string(d.Role)), IdentifiedBy: optional(d.IDFrom), Cluster: optional(d.Cluster), Zone: optional(d.Zone),
		CoveredFrom: told(d.Covered.From), CoveredTo: told(d.Covered.To), Files: []incident.StorageFile{}, NotCovered: []incident.StorageGap{}, Lives: []incident.StorageLife{},
		Events: []incident.StorageEvent{}, Stalls: []incident.StorageStall{}, Warnings: append([]string{}, d.Warnings...),
	}
	for _, f := range d.Files {
		out.Files = append(out.Files, incident.StorageFile{Name: f.Name, Begins: f.Head.String(), From: told(f.First), To: told(f.Last),
			WarningsOnly: f.WarningsOnly, CopyOf: optional(f.CopyOf), ReadError: optional(f.ReadError)})
	}
	for _, h := range d.Holes {
		out.NotCovered = append(out.NotCovered, incident.StorageGap{From: told(h.From), To: told(h.To), Why: string(h.Why), Text: gapWords[h.Why]})
	}
	for i := range d.Runs {
		out.Lives = append(out.Lives, life(&d.Runs[i]))
	}
	for i := range d.Groups {
		out.Events = append(out.Events, daemonEvent(&d.Groups[i], w))
	}
	out.Counters = growths(d, w)
	for i := range d.Stalls {
		out.Stalls = append(out.Stalls, stalled(&d.Stalls[i], w))
	}
	return out
}

func life(r *aislog.Run) incident.StorageLife {
	l := incident.StorageLife{Start: mustTell(r.Start), StartSeen: r.Started, Last: mustTell(r.Last), Ended: string(r.Ended), Version: optional(r.Version), Text: endWords[r.Ended]}
	if r.Started {
		l.Evidence = append(l.Evidence, correlate.QuoteAt(r.StartAt, &incident.Predicate{Literals: []string{"Started up at "}}))
	}
	end := r.LastAt
	if r.EndAt.File != "" {
		end = r.EndAt
	}
	if end.File != "" && end != r.StartAt {
		l.Evidence = append(l.Evidence, correlate.QuoteAt(end, nil))
	}
	return l
}

func daemonEvent(g *aislog.Group, w *window) incident.StorageEvent {
	first, last := g.First(), g.Last()
	words := daemonWords[g.Kind]
	e := incident.StorageEvent{Kind: string(g.Kind), What: words.what, Level: words.level, Peer: optional(g.Peer), First: mustTell(first.Time), Last: mustTell(last.Time),
		TimeProof: first.Time.Proof.String(), Count: g.Count, Administrative: first.Admin(), Objects: []string{}, Addresses: []string{}, Requests: []string{}}
	if e.Administrative {
		e.Level = background
	}
	if g.Kind == aislog.Flags {
		var states []string
		for i := range g.Events {
			if s := orWell(g.Events[i].Note); len(states) == 0 || states[len(states)-1] != s {
				states = append(states, s)
			}
		}
		e.What += ": " + strings.Join(states[:min(len(states), someOf)], " → ")
	}
	for i := range g.Events {
		x := &g.Events[i]
		for _, n := range []struct {
			to   *[]string
			name string
		}{{&e.Objects, x.Object}, {&e.Addresses, x.Address}, {&e.Requests, x.Request}} {
			if n.name != "" && len(*n.to) < someOf && !slices.Contains(*n.to, n.name) {
				*n.to = append(*n.to, n.name)
			}
		}
	}
	if w != nil && first.Time.Proof != aislog.NoDay {
		n := 0
		for _, m := range g.Minutes {
			if at := time.Unix(m.Unix, 0).UTC(); w.touches(at, at.Add(time.Minute-1)) {
				n += m.Count
			}
		}
		e.InWindow = &n
	}
	e.Evidence = append(e.Evidence, recordQuote(first))
	if last.At != first.At {
		e.Evidence = append(e.Evidence, recordQuote(last))
	}
	e.Evidence = append(e.Evidence, countOf(g)...)
	return e
}

func orWell(s string) string {
	if s == "" {
		return "healthy"
	}
	return s
}

// recordQuote quotes a record, with what it was told by where the quotation is sure to hold it.
func recordQuote(e *aislog.Event) incident.Evidence {
	literals, not := e.Select()
	rest := e.Text
	for _, l := range literals {
		i := strings.Index(rest, l)
		if i < 0 {
			return correlate.QuoteAt(e.At, nil)
		}
		rest = rest[i+len(l):]
	}
	if len(literals) == 0 {
		return correlate.QuoteAt(e.At, nil)
	}
	return correlate.QuoteAt(e.At, &incident.Predicate{Literals: literals, Not: not})
}

// countOf is the count of the lines with the text of a group, of whatever daemon.
func countOf(g *aislog.Group) []incident.Evidence {
	literals, not := g.First().Select()
	var files []string
	n := int64(0)
	for f, lines := range g.Lines {
		if lines > 0 {
			files, n = append(files, f), n+lines
		}
	}
	if n == 0 || len(literals) == 0 {
		return nil
	}
	slices.Sort(files)
	return []incident.Evidence{{Kind: incident.KindCount, Files: files, N: n, Predicate: &incident.Predicate{Literals: literals, Not: not}}}
}

// growths are the counters that grew, errors and batches first told by their names.
func growths(d *aislog.Daemon, w *window) []incident.StorageCounter {
	out := []incident.StorageCounter{}
	total, within := map[string]int64{}, map[string]int64{}
	for i := range d.Runs {
		for _, g := range d.Runs[i].Totals {
			total[g.Name] += g.N
		}
	}
	for i := range d.Intervals {
		iv := &d.Intervals[i]
		if w != nil && iv.To.Proof != aislog.NoDay && w.touches(iv.From.Wall, iv.To.Wall) {
			for _, g := range iv.By {
				within[g.Name] += g.N
			}
		}
	}
	names := make([]string, 0, len(total))
	for n := range total {
		if !strings.HasSuffix(n, ".size") && !strings.HasSuffix(n, ".ns.total") {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	for _, n := range names {
		c := incident.StorageCounter{Name: n, Grew: total[n]}
		if w != nil {
			c.InWindow = new(within[n])
		}
		out = append(out, c)
	}
	return out
}

// insteadOf is what went on while a daemon received nothing by stream.
func insteadOf(s *aislog.Stall) string {
	if s.Recovered == 0 {
		return fmt.Sprintf("they spent %s in total waiting for other daemons' entries", s.Waited.Round(time.Second))
	}
	return fmt.Sprintf("%d entries were requested from neighbors instead", s.Recovered)
}

func stalled(s *aislog.Stall, w *window) incident.StorageStall {
	field := func(v int64) *incident.Predicate {
		if v == 0 {
			return nil
		}
		return &incident.Predicate{Fields: []incident.Field{{Key: "stream.in.n:", Value: strconv.FormatInt(v, 10)}}}
	}
	out := incident.StorageStall{From: mustTell(s.From), To: mustTell(s.To),
		Text:     "batches were running and it received no stream data from other daemons, while " + insteadOf(s),
		Evidence: []incident.Evidence{correlate.QuoteAt(s.Begin, field(s.Received)), correlate.QuoteAt(s.End, field(s.Received))}}
	if w != nil && s.From.Proof != aislog.NoDay {
		out.InWindow = new(w.touches(s.From.Wall, s.To.Wall))
	}
	return out
}
