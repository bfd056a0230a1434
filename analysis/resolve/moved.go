package resolve

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/timeseries"
	"faultline/analysis/line"
	"faultline/analysis/moved"
	"faultline/pattern"
)

// moved compares the tables over time on both sides of a slowdown. compared is how many quantities have values on both.
func (f *Facts) moved(d *Slowdown) (out []moved.Quantity, compared int) {
	var all []*moved.Track
	for _, t := range f.Tracks() {
		if t = f.divide(t, d); t.File != d.Course.File || !set(t) {
			all = append(all, t)
		}
	}
	if hosts := rankHosts(all); len(hosts) > 0 {
		for _, t := range all {
			t.Ours = hosts[t.Node]
		}
	}
	out, compared = moved.Compare(all)
	return slices.DeleteFunc(out, func(q moved.Quantity) bool {
		// Of all alike, the phases of the log's own steps tell better what grew.
		return q.All && f.Onset != nil && f.Onset.Table != nil && q.IsAt.File == f.Onset.File
	}), compared
}

// Tracks are the series of all tables over time, with whose they are.
func (f *Facts) Tracks() (all []*moved.Track) {
	job := f.nodeSet()
	for _, x := range f.tables() {
		node := f.tableNode(&x)
		for _, s := range x.Table.Series {
			all = append(all, f.trackOf(&x, s, node, job))
		}
	}
	return all
}

// rankHosts are the nodes that rows name together with ranks: those are the job's, and a switch beside them is not.
func rankHosts(all []*moved.Track) map[string]bool {
	out := map[string]bool{}
	for _, t := range all {
		if t.Node != "" && slices.ContainsFunc(t.Keys, func(k timeseries.Key) bool { return strings.EqualFold(k.Name, "rank") }) {
			out[t.Node] = true
		}
	}
	return out
}

// tableNode is the node of which all of a table is: what it says itself, or its name. Files with the same columns are told apart by what their
// names differ in.
func (f *Facts) tableNode(x *SeriesFile) string {
	if n, _ := f.besideNode(x.File, x.Table.Host); n != "" {
		return n
	}
	if n := besideTool(x.File); n != "" {
		return n
	}
	for i := range f.Handed.Series {
		y := &f.Handed.Series[i]
		if y.File != x.File && y.Table.Like(x.Table) {
			if n := differing(untimed(x.File), untimed(y.File)); hostLike.MatchString(n) && !ranked.MatchString(n) {
				return hostIn(n, x.File, f.namedHosts())
			}
		}
	}
	return ""
}

var (
	// ranked is what a process is called, and no node.
	ranked     = pattern.New(`(?:^|[-_])(?:rank|proc|process|local|gpu|worker|step|iter|run|part|port|swp|eth|link|lane)[-_]?\d+$`)
	fileOfRank = pattern.New(`(?:^|[^a-z])rank[-_]?(\d{1,7})(?:[^\d]|$)`)
)

// differing is the word of a name in which it differs from another.
func differing(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from, to := strings.LastIndexAny(a[:i], "._")+1, len(a)
	if k := strings.IndexAny(a[i:], "._"); k >= 0 {
		to = i + k
	}
	return a[from:to]
}

// divide divides a series at a slowdown.
func (f *Facts) divide(t *moved.Track, d *Slowdown) *moved.Track {
	s := t.Series
	counter := counts(s.Points)
	t.Rate = counter
	var all []moved.Sample
	for i := range s.Points {
		p := &s.Points[i]
		v := p.Value
		if counter {
			if i == 0 {
				continue
			}
			before := &s.Points[i-1]
			v = (v - before.Value) / f.between(t.Node, before, p, d)
			if f.side(t.Node, before, d) < 0 && f.side(t.Node, p, d) > 0 {
				continue // it was read on either side only
			}
		}
		x := moved.Sample{V: v, At: p}
		all = append(all, x)
		switch f.side(t.Node, p, d) {
		case -1:
			t.Before = append(t.Before, x)
		case 1:
			t.After = append(t.After, x)
		}
	}
	if !f.datable(s, d) {
		t.Split(all)
	}
	return t
}

// trackOf is a series with whose it is: of the node and the rank that its keys, its place in a list, its table or its file name.
func (f *Facts) trackOf(x *SeriesFile, s *timeseries.Series, node string, job map[string]bool) *moved.Track {
	t := &moved.Track{Series: s, File: x.File}
	if m := fileOfRank.FindStringSubmatch(stem(x.File)); m != nil && !slices.ContainsFunc(s.Keys, func(k timeseries.Key) bool { return k.Name == "rank" }) {
		t.Series = ofRank(s, s.Keys, m[1])
	}
	if k := len(s.Keys) - 1; k >= 0 && s.Keys[k].Name == timeseries.Index && f.ofEachRank(x.Table, s.What) {
		t.Series = ofRank(s, s.Keys[:k], s.Keys[k].Value)
		if id, err := strconv.Atoi(s.Keys[k].Value); err == nil {
			t.Node = f.RankNode(id)
		}
	}
	for _, k := range s.Keys {
		switch n := ShortHost(k.Value); {
		case moved.NodeKey(k.Name), k.Name == "" && job[n]:
			t.Node = n
		}
	}
	if t.Node == "" {
		t.Node = node
	}
	t.Ours = job[ShortHost(t.Node)]
	return t
}

// ofRank is a series with the rank that its file or its place in a list gives it.
func ofRank(s *timeseries.Series, keys []timeseries.Key, rank string) *timeseries.Series {
	own := *s
	own.Keys = append(slices.Clone(keys), timeseries.Key{Name: "rank", Value: rank})
	return &own
}

// ofEachRank says that a list has a number for each rank.
func (f *Facts) ofEachRank(t *timeseries.Table, what string) bool {
	n := 0
	for _, s := range t.Series {
		if k := len(s.Keys) - 1; s.What == what && k >= 0 && s.Keys[k].Name == timeseries.Index {
			n++
		}
	}
	if world := f.Job.WorldSize; world > 0 {
		return n == world
	}
	return n > 0 && n == len(f.ident.rankNode)
}

// between is the time between two readings, in seconds; 1 where it is not known.
func (f *Facts) between(node string, a, b *timeseries.Point, d *Slowdown) float64 {
	if x := f.moment(node, b, d).T - f.moment(node, a, d).T; x > 0 {
		return x
	}
	return 1
}

// datable says that a series can be set beside the steps: both have times, or both number the steps.
func (f *Facts) datable(s *timeseries.Series, d *Slowdown) bool {
	return d.Began().Valid || s.Points[0].Step != timeseries.None && d.Onset.Step != line.Unknown
}

// leastCounted are readings of a counter between which its growth can change.
const leastCounted = 3

// counts says that values only ever grow, and are whole: they count something since some start.
func counts(points []timeseries.Point) bool {
	if len(points) < leastCounted || points[len(points)-1].Value-points[0].Value < float64(len(points)) {
		return false
	}
	grew := 0
	for i := range points {
		if points[i].Value != math.Trunc(points[i].Value) || i > 0 && points[i].Value < points[i-1].Value {
			return false
		}
		if i > 0 && points[i].Value > points[i-1].Value {
			grew++
		}
	}
	return grew > 1 // once is a level that changed
}

const aDay = 24 * 3600.0

// moment is when a value was read, in the job's time. A time without a date is that nearest to the slowdown.
func (f *Facts) moment(node string, p *timeseries.Point, d *Slowdown) Moment {
	st := p.Stamp
	st.Emitter = line.Kernel // the node's local time
	if st.Kind != line.TimeOnly {
		return f.clock.at(node, st)
	}
	began := d.Began()
	if !began.Valid {
		return Moment{}
	}
	t := math.Floor(began.T/aDay)*aDay + float64(int(st.Hour)*3600+int(st.Minute)*60+int(st.Second))
	switch {
	case t-began.T > aDay/2:
		t -= aDay
	case began.T-t > aDay/2:
		t += aDay
	}
	return Moment{T: t, Unc: 1, Valid: true}
}

// side says whether a value is of before the slowdown (-1) or since (1); 0 where it may be either, or cannot be compared.
func (f *Facts) side(node string, p *timeseries.Point, d *Slowdown) int {
	if p.Step != timeseries.None && d.Onset.Step != line.Unknown && d.Last.Step != line.Unknown {
		switch {
		case p.Step <= d.Last.Step:
			return -1
		case p.Step >= d.Onset.Step:
			return 1
		}
		return 0
	}
	began, at := d.Began(), f.moment(node, p, d)
	if !began.Valid || !at.Valid {
		return 0
	}
	switch {
	case at.T+at.Unc < began.T-began.Unc:
		return -1
	case at.T-at.Unc > began.T+began.Unc:
		return 1
	}
	return 0
}
