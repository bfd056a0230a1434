package correlate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/analysis/aislog"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// clientQuote quotes a client's line.
func clientQuote(c *Client) incident.Evidence {
	e := incident.Quote(c.At.File, c.At.Line, c.At.Off, "", nil)
	e.Span = c.At.Len
	return e
}

// recordQuote quotes a daemon's record, with what it was told by where the quotation is sure to hold it.
func recordQuote(e *aislog.Event) incident.Evidence {
	q := QuoteAt(e.At, nil)
	literals, not := e.Select()
	rest := e.Text
	for _, l := range literals {
		i := strings.Index(rest, l)
		if i < 0 {
			return q
		}
		rest = rest[i+len(l):]
	}
	if len(literals) > 0 {
		q.Predicate = &incident.Predicate{Literals: literals, Not: not}
	}
	return q
}

// QuoteAt quotes a record, or the part of a line that it is.
func QuoteAt(at aislog.At, p *incident.Predicate) incident.Evidence {
	q := incident.Quote(at.File, at.Line, at.Off, "", p)
	q.Span = at.Len
	return q
}

// proof are the records that show a trouble: its first ones, the daemon's own before others'.
func (x *inquiry) proof(t *trouble) []incident.Evidence {
	var out []incident.Evidence
	if o := t.down; o != nil && o.run != nil {
		end := o.run.LastAt
		if o.run.EndAt.File != "" {
			end = o.run.EndAt
		}
		out = append(out, QuoteAt(end, nil))
		if o.next != nil {
			out = append(out, QuoteAt(o.next.StartAt, &incident.Predicate{Literals: []string{"Started up at "}}))
		}
	}
	if s := t.still; s != nil {
		out = append(out, QuoteAt(s.pause.Before, nil))
		if s.pause.After != s.pause.Before {
			out = append(out, QuoteAt(s.pause.After, nil))
		}
		if s.late != nil {
			out = append(out, QuoteAt(s.late.At, nil))
		}
	}
	if t.relayed != nil {
		out = append(out, clientQuote(t.relayed.first))
	}
	if u := t.hangs; u != nil {
		out = append(out, QuoteAt(u.line.At, nil))
	}
	if s := t.stall; s != nil {
		out = append(out, QuoteAt(s.Begin, nil), QuoteAt(s.End, nil))
	}
	if i := slices.IndexFunc(t.points, func(p point) bool { return p.line != nil }); i >= 0 {
		out = append(out, QuoteAt(t.points[i].line.At, nil))
	}
	for _, p := range t.firsts(3) {
		q := recordQuote(p.event)
		if !slices.ContainsFunc(out, func(o incident.Evidence) bool { return o.File == q.File && o.Offset == q.Offset }) {
			out = append(out, q)
		}
	}
	return out
}

// firsts are the first records of a trouble, of different texts where there are.
func (t *trouble) firsts(most int) (out []point) {
	kinds := map[aislog.Kind]bool{}
	for _, p := range t.points {
		if p.event != nil && !kinds[p.event.Kind] && len(out) < most {
			kinds[p.event.Kind] = true
			out = append(out, p)
		}
	}
	return out
}

// Record is what a daemon tells for the first time, of its kind.
type Record struct {
	By    string // its id
	Kind  aislog.Kind
	T     resolve.Moment
	Quote incident.Evidence
}

// firstRecords are the first ones of a trouble, by the job's clock.
func (x *inquiry) firstRecords(t *trouble) (out []Record) {
	for _, p := range t.firsts(3) {
		out = append(out, Record{x.daemons[p.d].ID, p.event.Kind, x.job(p.t), recordQuote(p.event)})
	}
	return out
}

// touches tells the client's lines that meet an episode, those that name the same first.
func (x *inquiry) touches(e *Episode, lines []meeting) {
	slices.SortStableFunc(lines, func(a, b meeting) int {
		if a.firm != b.firm {
			return cmp.Compare(b2i(b.firm), b2i(a.firm))
		}
		return cmp.Or(cmp.Compare(a.c.T.T, b.c.T.T), strings.Compare(a.c.At.File, b.c.At.File), cmp.Compare(a.c.At.Off, b.c.At.Off))
	})
	marks := x.marks(e.t)
	for i, m := range lines {
		if i == 2 {
			break
		}
		text := "its request failed the way this makes requests fail"
		ev := []incident.Evidence{clientQuote(m.c)}
		if e.t.relayed != nil {
			text = "its request got the answer of the store behind AIStore"
		} else if x.lost(e.t, m) {
			text = x.gone(e.t, m.c)
		} else if len(m.common) > 0 {
			k := m.common[0]
			text = fmt.Sprintf("its failed request and the daemons' records have the same %s", markWords[k.Kind])
			if r := marks[k]; r != nil {
				ev = append(ev, recordQuote(r))
			}
		} else if m.firm {
			text = "its failed request went to " + e.ID
		}
		who := "the job"
		if m.c.Rank >= 0 {
			who = fmt.Sprintf("rank %d", m.c.Rank)
		}
		e.Touch = append(e.Touch, finding(who+": "+text, ev...))
	}
}

// lost says that a client's line misses what a trouble is known to have taken away.
func (x *inquiry) lost(t *trouble, m meeting) bool {
	return m.firm && (t.takesObjects() || x.away(t, m.c))
}

var markWords = map[MarkKind]string{Work: "batch request", Object: "object", Breach: "stream break", Address: "address", Node: "daemon", Reason: "reason"}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// consequences tell what a trouble led to among the daemons, in order of time.
func (x *inquiry) consequences(e *Episode) {
	led := slices.Clone(e.t.led)
	slices.SortStableFunc(led, func(a, b *trouble) int { return cmp.Compare(a.from, b.from) })
	said := map[string]bool{}
	for _, l := range led {
		events := l.firsts(2)
		text := worded(l.mech.Trouble().Led, l.about)
		if len(events) == 0 || said[text] || len(e.Led) == 3 {
			continue
		}
		said[text] = true
		var ev []incident.Evidence
		for _, r := range events {
			ev = append(ev, recordQuote(r.event))
		}
		e.Led = append(e.Led, finding(text, ev...))
	}
}

// statement says what happened.
func (x *inquiry) statement(t *trouble) string {
	id := t.about
	n := 0
	for _, p := range t.points {
		n += p.n
	}
	if t.action != "" {
		return x.administration(t)
	}
	switch {
	case t.down != nil:
		text := id + ended(t.down) + again(t.down) + alongside(t)
		if t.down.run == nil {
			text += "; its own log is missing"
		}
		return text
	case t.still != nil:
		return x.stood(t)
	case t.hangs != nil:
		return t.hung()
	case t.relayed != nil:
		return t.relayed.statement()
	case t.damaged():
		return fmt.Sprintf("objects on %s are damaged: wrong size or checksum (%s)", id, plural(n, "record", "records"))
	case t.ordered != nil:
		return x.administration(t.ordered) + ", and the cluster rebalanced its data"
	case t.mech.Is(knowledge.LoadAlone) && !x.idle(t):
		return x.pressure(t, n)
	}
	text := worded(t.mech.Trouble().Told, id, "{records}", plural(n, "record", "records"), "{time}", span(t.to-t.from), "{mountpath}", t.disk().named())
	switch {
	case !t.mech.Is(knowledge.ToldByPeers):
	case x.find(id) < 0:
		text += "; its own log is missing"
	case x.present(id, t.from, t.to):
		text += ", while its own log continues"
	}
	return text
}

// Disk is where a daemon keeps objects: a mountpath, and the device behind it, "" where there is none or more than one.
type Disk struct{ Mountpath, Device string }

// disk is the one that the records name, as AIStore prints it: "mp[/ais/nvme0n1, nvme0n1, nvme]", "mp[/ais/a, fs=/dev/md0]" or, of several
// devices, "mp[/ais/a, [sdb sdc], hdd]" (fs/fs.go).
func (t *trouble) disk() Disk {
	const longestPath = 100
	var named Disk
	for _, p := range t.points {
		if p.event == nil {
			continue
		}
		_, rest, _ := strings.Cut(p.event.Text, "mp[")
		path, rest, whole := strings.Cut(rest, ",")
		if aPath := strings.HasPrefix(path, "/") && len(path) <= longestPath; !whole || !aPath {
			continue
		}
		d := Disk{Mountpath: path}
		if end := strings.IndexAny(rest, ",]"); end > 0 && !strings.ContainsAny(rest[:end], "[=\"") {
			d.Device = strings.TrimSpace(rest[:end])
		}
		switch {
		case named.Mountpath == "":
			named = d
		case named.Mountpath != path:
			return Disk{}
		case named.Device != d.Device:
			named.Device = ""
		}
	}
	return named
}

// named is how a sentence calls it.
func (d Disk) named() string {
	if d.Mountpath == "" {
		return "a disk or mountpath"
	}
	return "mountpath " + d.Mountpath
}

// damaged says that objects of a disk had the wrong size or checksum, and that nothing else was wrong with it.
func (t *trouble) damaged() bool {
	kind := func(k aislog.Kind) bool {
		return slices.ContainsFunc(t.points, func(p point) bool { return p.event != nil && p.event.Kind == k })
	}
	return kind(aislog.Corrupt) && !kind(aislog.MountpathOff)
}

// ended says how a daemon's life came to its end.
func ended(o *outage) string {
	switch {
	case o.run == nil && o.orderly:
		return " left the cluster"
	case o.run == nil:
		return " stopped responding, was removed from the cluster"
	case o.orderly:
		return " was shut down cleanly"
	case o.run.Ended == aislog.Failed:
		return " stopped because of an error"
	case o.run.Ended == aislog.Unclear:
		return " ended in an unknown way"
	}
	return " stopped without a shutdown message (killed or crashed)"
}

func again(o *outage) string {
	if math.IsInf(o.to, 1) {
		return " and did not come back"
	}
	if o.run == nil {
		return fmt.Sprintf(" and rejoined %s later", span(o.to-o.from))
	}
	return fmt.Sprintf(" and restarted %s later", span(o.to-o.from))
}

// alongside tells the other restarts of a row.
func alongside(t *trouble) string {
	if t.row == nil {
		return ""
	}
	var others []string
	from, to, times := math.Inf(1), math.Inf(-1), 0
	for _, o := range t.row {
		from, to = min(from, o.down.from), max(to, o.down.back())
		switch {
		case o.about == t.about:
			times++
		case !slices.Contains(others, o.about):
			others = append(others, o.about)
		}
	}
	text := ""
	if times > 1 {
		text = fmt.Sprintf("; this happened %d times", times)
	}
	if n := len(others); n > 0 {
		const most = 4
		slices.Sort(others)
		names := strings.Join(others[:min(n, most)], ", ")
		if n > most {
			names += fmt.Sprintf(" and %d more", n-most)
		}
		text += fmt.Sprintf("; %s also restarted", names)
	}
	return text + ", all within " + span(to-from)
}

// stood says that a daemon stood still, and what shows it.
func (x *inquiry) stood(t *trouble) string {
	s := t.still
	what := "nothing"
	if s.pause.Lines > 0 {
		what = "no counters"
	}
	text := fmt.Sprintf("%s stalled: it wrote %s for %s", t.about, what, span(s.to-s.from))
	if s.pause.After == s.pause.Before {
		text += " until its log was taken"
	}
	if c := x.cadence(s.d); c > 0 {
		text += fmt.Sprintf(" (usually every %s)", span(c))
	}
	if n := len(t.points); n > 0 {
		text += fmt.Sprintf(", and did not respond to other daemons (%s)", plural(n, "record", "records"))
	}
	if s.late != nil {
		name, sec := longest(s.late)
		text += fmt.Sprintf("; by then, requests had waited %s (%s)", span(sec), name)
	}
	return text
}

// pressure says how a daemon was short of resources: what it rejected or delayed, or how slow it was.
func (x *inquiry) pressure(t *trouble, n int) string {
	var worst *aislog.Interval
	most := 0.0
	for _, p := range t.points {
		if p.event != nil && p.event.Kind == aislog.LimitReached {
			return fmt.Sprintf("%s reached a limit of its operating system: %s (%s)", t.about, refusal(p.event.Text), plural(n, "record", "records"))
		}
		if p.line == nil {
			continue
		}
		if _, sec := longest(p.line); sec > most {
			worst, most = p.line, sec
		}
	}
	if worst == nil {
		return fmt.Sprintf("%s was low on resources and rejected or delayed batches (%s)", t.about, plural(n, "record", "records"))
	}
	name, sec := longest(worst)
	return fmt.Sprintf("%s was slow: its requests took up to %s on average (%s; %s)", t.about, span(sec), name, plural(n, "record", "records"))
}

// refusal is what the operating system said in a record, in the words of Go, which prints errno texts in lower case: "too many open files".
func refusal(text string) string {
	said := ""
	for _, e := range knowledge.Errnos() {
		if words := strings.ToLower(e.Text); len(words) > len(said) && strings.Contains(text, words) {
			said = words
		}
	}
	return cmp.Or(said, "something was refused")
}

// hung says that a request hung.
func (t *trouble) hung() string {
	u := t.hangs
	text := fmt.Sprintf("%s stalled: it took a %s request and completed none for %s (counter %s.n)", t.about, u.kind, span(u.to-u.from), u.kind)
	if !u.ended {
		text += ", until its log was taken"
	}
	return text
}
