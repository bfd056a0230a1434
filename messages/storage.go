package messages

import (
	"fmt"
	"slices"
	"strings"

	"faultline/incident"
)

// storageEvents is how many kinds of events of one daemon are shown; the JSON report has all.
const storageEvents = 6

// storageView is what the logs of the storage daemons say, in words.
type storageView struct {
	Note    string
	Links   []linkView // their troubles, and how each stands to the job's
	More    string
	Daemons []daemonView
}

type daemonView struct {
	Title string
	Facts []pair
	Links []linkView
	More  string
}

func storageLogs(s incident.Storage) storageView {
	if len(s.Daemons) == 0 {
		return storageView{}
	}
	files := 0
	for i := range s.Daemons {
		files += len(s.Daemons[i].Files)
	}
	v := storageView{Note: fmt.Sprintf("Read %[2]s from %[1]s. Times are from each daemon's own clock: ", count(len(s.Daemons), "storage daemon"), count(files, "log"))}
	related := s.Clock != nil && s.Clock.Shift != nil
	if related {
		v.Note += flat(s.Clock.Text) + "."
	} else {
		v.Note += "nothing relates it to the job's (the zone of its logs would: --job-zone), so nothing here counts as a cause yet."
	}
	v.episodes(s)
	windowed := inWindow(s)
	if s.Window != nil {
		from, to, _ := strings.Cut(*s.Window, "/")
		shown := "Shown: events between %s and %s, if the clocks agree."
		switch {
		case related && windowed:
			shown = "Shown: events between %s and %s by the job's clock."
		case related:
			shown = "Nothing unusual between %s and %s by the job's clock; events from other times are shown."
		case !windowed:
			// Clocks of nodes and of containers often are hours apart: what lies outside may be what happened.
			shown = "Nothing was logged between %s and %s by their clocks, which may be in another time zone, so all events are shown."
		}
		v.Note += fmt.Sprintf(" "+shown, spaced(from), spaced(to))
	}
	for i := range s.Daemons {
		v.Daemons = append(v.Daemons, daemonOf(&s.Daemons[i], windowed))
	}
	return v
}

// episodes are told by how they stand: the cause first, then what is undecided, then what only happened as well.
func (v *storageView) episodes(s incident.Storage) {
	for i, e := range s.Episodes {
		if i == storageEvents {
			v.More = "The JSON report has " + count(len(s.Episodes)-i, "more episode") + "."
			break
		}
		text := capital(flat(e.Statement))
		if e.From != nil {
			text = spaced(*e.From) + " by the job's clock: " + flat(e.Statement)
		}
		text += ". " + capital(flat(e.Why))
		ps := proofs(e.Evidence)
		if len(e.Met) > 0 {
			met := proofs(e.Met[0].Evidence)
			ps = append(ps[:min(len(ps), 2)], met[:min(len(met), 1)]...)
		}
		v.Links = append(v.Links, linkView{Role: flat(e.Standing), Statement: sentence(text), Proofs: ps})
	}
}

// episodeProofs is how many lines are shown with one.
const episodeProofs = 3

// inWindow says that something that is more than everyday lies within the window of the report.
func inWindow(s incident.Storage) bool {
	return s.Window != nil && slices.ContainsFunc(s.Daemons, func(d incident.StorageDaemon) bool {
		return slices.ContainsFunc(d.Stalls, func(x incident.StorageStall) bool { return x.InWindow != nil && *x.InWindow }) ||
			slices.ContainsFunc(d.Events, func(e incident.StorageEvent) bool {
				return e.Level != "background" && e.InWindow != nil && *e.InWindow > 0
			})
	})
}

// spaced is a time for people: without the letter in its middle and parts of a second.
func spaced(t string) string {
	t, _, _ = strings.Cut(flat(t), ".")
	return strings.Replace(t, "T", " ", 1)
}

// clockTime is the time of day of a time.
func clockTime(t string) string {
	if _, day, ok := strings.Cut(t, "T"); ok {
		t = day
	}
	t, _, _ = strings.Cut(flat(t), ".")
	return t
}

func orUnknown(t *string) string {
	if t == nil {
		return "an unknown time"
	}
	return spaced(*t)
}

// Counters that a table of the window shows: what failed, and what was held back on purpose.
var (
	errorCounters = []string{"err.get.n", "err.getbatch.n", "err.soft.getbatch.n", "err.http.write.n", "err.append.n", "err.put.n", "err.head.n", "err.lst.n", "err.kalive.n"}
	heldCounters  = []string{"getbatch.throttle.ns", "ratelim.retry.get.n"}
)

// errorsOf is a daemon's row of that table: what grew since the job's trouble began, by the minute, and how it had grown before.
func errorsOf(d *incident.StorageDaemon) string {
	if d.Compared == nil || d.Compared.Since < 1 {
		return ""
	}
	if text := grown(d, errorCounters); text != "" {
		return text
	}
	return "No error counter has grown since the job's trouble began."
}

// grown tells which of these counters of a daemon grew, "" if none did.
func grown(d *incident.StorageDaemon, counters []string) string {
	if d.Compared == nil || d.Compared.Since < 1 {
		return ""
	}
	var rows []string
	for _, c := range d.Counters {
		if c.Since == nil || c.Before == nil || *c.Since == 0 || !slices.Contains(counters, c.Name) {
			continue
		}
		rows = append(rows, fmt.Sprintf("%s +%s (%s; before: %s)", flat(c.Name), amount(c.Name, float64(*c.Since)), rate(c.Name, *c.Since, d.Compared.Since), rate(c.Name, *c.Before, d.Compared.Before)))
	}
	if len(rows) == 0 {
		return ""
	}
	return strings.Join(rows, ", ") + "."
}

// amount is a counter's growth in its unit: a number, or seconds.
func amount(counter string, n float64) string {
	if strings.HasSuffix(counter, ".ns") {
		return fmt.Sprintf("%.1f s", n/1e9)
	}
	return fmt.Sprintf("%.0f", n)
}

func rate(counter string, n, seconds int64) string {
	if seconds < 1 {
		return "not covered"
	}
	perMinute := float64(n) * 60 / float64(seconds)
	if strings.HasSuffix(counter, ".ns") {
		return amount(counter, perMinute) + "/min"
	}
	return fmt.Sprintf("%.1f/min", perMinute)
}

func daemonOf(d *incident.StorageDaemon, windowed bool) daemonView {
	v := daemonView{Title: flat(d.Name)}
	if d.ID == nil && len(d.Files) > 0 {
		v.Title += " (" + flat(d.Files[0].Name) + ")"
	}
	v.Facts = append(v.Facts, pair{"Covered", orUnknown(d.CoveredFrom) + " to " + orUnknown(d.CoveredTo)})
	var gaps []string
	for _, g := range d.NotCovered {
		switch {
		case g.Why == "not-written-out" || g.Why == "warnings-only":
			gaps = append(gaps, flat(g.Text))
		case g.From == nil:
			gaps = append(gaps, "before "+orUnknown(g.To)+": "+flat(g.Text))
		default:
			gaps = append(gaps, orUnknown(g.From)+" to "+orUnknown(g.To)+": "+flat(g.Text))
		}
	}
	if len(gaps) > 0 {
		v.Facts = append(v.Facts, pair{"Not covered", sentence(strings.Join(gaps, "; "))})
	}
	if text := errorsOf(d); text != "" {
		v.Facts = append(v.Facts, pair{"Errors", text})
	}
	if text := grown(d, heldCounters); text != "" {
		v.Facts = append(v.Facts, pair{"Throttling", text})
	}
	for _, l := range d.Lives {
		from := "started before the first line, "
		if l.StartSeen {
			from = "started " + spaced(l.Start) + ", "
		}
		until := "last line " + spaced(l.Last)
		v.Links = append(v.Links, linkView{Role: l.Ended, Statement: sentence(capital(from + until + "; " + flat(l.Text))), Proofs: proofs(l.Evidence)})
	}
	for _, s := range d.Stalls {
		if windowed && s.InWindow != nil && !*s.InWindow {
			continue
		}
		v.Links = append(v.Links, linkView{Role: "stall", Statement: sentence(stretch(s.From, s.To, windowed) + ": " + flat(s.Text)), Proofs: proofs(s.Evidence)})
	}
	shown, left, outside := 0, 0, 0
	for _, level := range []string{"alarm", "notice"} {
		for _, e := range alike(d.Events, level) {
			switch {
			case windowed && e.InWindow != nil && *e.InWindow == 0:
				outside++
			case shown == storageEvents:
				left++
			default:
				shown++
				v.Links = append(v.Links, linkView{Role: level, Statement: eventText(e, windowed), Proofs: proofs(e.Evidence)})
			}
		}
	}
	var rest []string
	if left > 0 {
		rest = append(rest, count(left, "more kind")+" of lines")
	}
	if outside > 0 {
		rest = append(rest, count(outside, "kind")+" of lines outside the window")
	}
	if len(rest) > 0 {
		v.More = "The JSON report has " + strings.Join(rest, ", and ") + "."
	}
	for _, w := range d.Warnings {
		v.Facts = append(v.Facts, pair{"Note", sentence(flat(w))})
	}
	return v
}

// alike are the events of a level, those that say the same about the same daemon in other words put together.
func alike(events []incident.StorageEvent, level string) []incident.StorageEvent {
	var out []incident.StorageEvent
	for _, e := range events {
		if e.Level != level {
			continue
		}
		i := slices.IndexFunc(out, func(o incident.StorageEvent) bool {
			return o.What == e.What && (o.Peer == nil) == (e.Peer == nil) && (o.Peer == nil || *o.Peer == *e.Peer) && (o.InWindow == nil) == (e.InWindow == nil)
		})
		if i < 0 {
			out = append(out, e)
			continue
		}
		o := &out[i]
		o.Count += e.Count
		o.First, o.Last = min(o.First, e.First), max(o.Last, e.Last)
		if o.InWindow != nil {
			n := *o.InWindow + *e.InWindow
			o.InWindow = &n
		}
	}
	return out
}

// stretch is from when until when. The day is left out where all that is shown is of one hour or so.
func stretch(from, to string, windowed bool) string {
	if windowed {
		from, to = clockTime(from), clockTime(to)
	} else if from, to = spaced(from), spaced(to); from != to {
		if day, _, ok := strings.Cut(from, " "); ok && strings.HasPrefix(to, day+" ") {
			to = clockTime(strings.TrimPrefix(to, day+" "))
		}
	}
	if from == to {
		return from
	}
	return from + " to " + to
}

func eventText(e incident.StorageEvent, windowed bool) string {
	last := e.Last
	if e.Count == 1 {
		last = e.First
	}
	t := stretch(e.First, last, windowed)
	t += ": " + flat(e.What)
	if e.Peer != nil {
		t += " (" + flat(*e.Peer) + ")"
	}
	if e.Count > 1 {
		t += fmt.Sprintf(", %s times", grouped(int64(e.Count)))
	}
	return sentence(t)
}

func (t *term) storageLogs(v storageView) {
	if len(v.Daemons) == 0 {
		return
	}
	t.heading("Storage daemons")
	t.wrapped("  ", "", v.Note)
	for _, l := range v.Links {
		t.wrapped("  "+pad(l.Role, 11), "", l.Statement)
		t.proofs(l.Proofs[:min(len(l.Proofs), episodeProofs)])
	}
	if v.More != "" {
		t.wrapped("  ", dim, v.More)
	}
	for _, d := range v.Daemons {
		t.line("  " + t.paint(bold, d.Title))
		t.pairs(d.Facts)
		for _, l := range d.Links {
			t.wrapped("  • ", "", l.Statement)
			if len(l.Proofs) > 0 {
				t.proofs(l.Proofs[:1])
			}
		}
		if d.More != "" {
			t.wrapped("  ", dim, d.More)
		}
	}
}

func (m *md) storageLogs(v storageView) {
	if len(v.Daemons) == 0 {
		return
	}
	m.heading("Storage daemons")
	m.f("%s\n", esc(v.Note))
	for i, l := range v.Links {
		if i == 0 {
			m.f("\n")
		}
		m.f("- *%s*: %s\n", esc(l.Role), esc(l.Statement))
		m.proofs("  ", l.Proofs[:min(len(l.Proofs), episodeProofs)])
	}
	if v.More != "" {
		m.f("\n%s\n", esc(v.More))
	}
	for _, d := range v.Daemons {
		m.f("\n**%s**\n\n", esc(d.Title))
		m.pairs(d.Facts)
		m.f("\n")
		for _, l := range d.Links {
			m.f("- %s\n", esc(l.Statement))
			if len(l.Proofs) > 0 {
				m.proofs("  ", l.Proofs[:1])
			}
		}
		if d.More != "" {
			m.f("\n%s\n", esc(d.More))
		}
	}
}

type (
	htmlStorage struct {
		Note, More string
		Links      []htmlLink
		Daemons    []htmlDaemon
	}
	htmlDaemon struct {
		Title, More string
		Facts       []pair
		Links       []htmlLink
	}
)

func (x excerpts) storageLogs(v storageView) htmlStorage {
	out := htmlStorage{Note: v.Note, More: v.More, Links: x.links(v.Links)}
	for _, d := range v.Daemons {
		out.Daemons = append(out.Daemons, htmlDaemon{d.Title, d.More, d.Facts, x.links(d.Links)})
	}
	return out
}
