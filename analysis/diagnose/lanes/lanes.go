// Package lanes draws an incident as swim lanes: who ran, waited, held the others up and ended, beside each other. It decides
// nothing: it shows what the verdict and the timeline state.
package lanes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"faultline/analysis/correlate"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

const (
	// ownLanes is how many ranks, nodes and daemons have a lane of their own each; a picture of more is read by nobody.
	ownLanes = 4
	// fewNodes is how large a job may be for each node to have a lane.
	fewNodes = 6
	// margin is the share of the picture's focus that shows what was before, leadIn its least length in seconds.
	margin = 0.15
	leadIn = 30
	// quiet is the share of the picture without a line that is worth showing.
	quiet = 0.05
)

// Of draws the report r of a scene. when are the moments of its timeline's rows, began is when the trouble began; told puts a kernel's
// event into words. It is nil where nothing has a time.
func Of(s *mechanism.Scene, r *incident.Report, when []resolve.Moment, began resolve.Moment, told func(*resolve.KernelEvent) string) *incident.Lanes {
	d := drawing{scene: s, report: r, when: when, began: began, told: told, from: math.Inf(1), to: math.Inf(-1), byRank: map[int]int{}, byNode: map[string]int{}, byFile: map[string]int{}, others: -1}
	job := s.Facts.Job
	for _, m := range append(slices.Clone(when), job.Start, job.End) {
		if m.Valid {
			d.from, d.to = min(d.from, m.T), max(d.to, m.T)
		}
	}
	if d.to <= d.from {
		return nil
	}
	d.accused()
	d.nodes()
	d.training()
	d.storage()
	d.kernel()
	d.add(incident.Lane{Kind: "scheduler", Name: "scheduler"})
	return d.finish()
}

// drawing is a picture in the making: moments become seconds from its left end.
type drawing struct {
	scene    *mechanism.Scene
	report   *incident.Report
	when     []resolve.Moment
	began    resolve.Moment
	told     func(*resolve.KernelEvent) string
	from, to float64
	lanes    []incident.Lane
	byRank   map[int]int    // lane of a rank
	byNode   map[string]int // lane of a node
	byFile   map[string]int // lane of a storage daemon, by the files that prove its trouble
	others   int            // lane of all other nodes; −1 none
}

func (d *drawing) at(m resolve.Moment) float64 { return min(max(m.T, d.from), d.to) - d.from }

// add appends a lane and returns its number.
func (d *drawing) add(l incident.Lane) int {
	if l.Spans == nil {
		l.Spans = []incident.LaneSpan{}
	}
	l.Marks = []incident.LaneMark{}
	d.lanes = append(d.lanes, l)
	return len(d.lanes) - 1
}

// accused gives those whom the verdict names a lane each, as long as they are few.
func (d *drawing) accused() {
	v := &d.report.Verdict
	if len(v.Root.Ranks) <= ownLanes {
		for _, id := range v.Root.Ranks {
			if r := d.scene.Facts.Rank(id); r != nil {
				name := fmt.Sprintf("rank %d", id)
				if r.Node != "" {
					name += " · " + r.Node
				}
				d.byRank[id] = d.add(incident.Lane{Kind: "rank", Name: name, Root: true, Spans: d.spans([]*resolve.Rank{r})})
			}
		}
	}
}

// nodes shows what the ranks of each node did; of a large job, of the named nodes and of all others together.
func (d *drawing) nodes() {
	of := map[string][]*resolve.Rank{}
	var names []string
	for _, r := range d.scene.Facts.Ranks {
		if _, own := d.byRank[r.ID]; own {
			continue
		}
		if of[r.Node] == nil {
			names = append(names, r.Node)
		}
		of[r.Node] = append(of[r.Node], r)
	}
	accused := d.report.Verdict.Root.Nodes
	var rest []*resolve.Rank
	n := 0
	for _, name := range names {
		root := slices.Contains(accused, name)
		switch {
		case name != "" && (len(names) <= fewNodes || root && len(accused) <= ownLanes):
			d.byNode[name] = d.add(incident.Lane{Kind: "node", Name: name, Root: root && len(d.byRank) == 0, Spans: d.spans(of[name])})
		default:
			n++
			rest = append(rest, of[name]...)
		}
	}
	if len(rest) > 0 {
		d.others = d.add(incident.Lane{Kind: "nodes", Name: d.called(n, rest), Spans: d.spans(rest)})
	}
}

// called names ranks that share a lane.
func (d *drawing) called(nodes int, ranks []*resolve.Rank) string {
	other := ""
	if len(d.lanes) > 0 {
		other = "other "
	}
	if nodes == 1 && ranks[0].Node == "" {
		return count(len(ranks), other+"rank", other+"ranks")
	}
	return count(nodes, other+"node", other+"nodes")
}

// extent is the stretch of time that some lines tell of.
type extent struct{ from, to, unc float64 }

// include widens it.
func (x *extent) include(m resolve.Moment) {
	if m.Valid {
		x.from, x.to, x.unc = min(x.from, m.T), max(x.to, m.T), max(x.unc, m.Unc)
	}
}

func (x *extent) known() bool { return x.to >= x.from }

func nothing() extent { return extent{from: math.Inf(1), to: math.Inf(-1)} }

// life is what the lines of some ranks tell of their time.
type life struct {
	alive, held extent
	waiting     int    // ranks that wait in a collective
	what        string // the collective
	ended       bool   // an exit is known
}

func (d *drawing) lived(ranks []*resolve.Rank) life {
	l := life{alive: nothing(), held: nothing()}
	for _, r := range ranks {
		l.alive.include(d.scene.Facts.At(r.First))
		l.alive.include(r.Last)
		if r.Exit != nil {
			l.ended = true
			l.alive.include(r.Exit.T)
		}
		l.waits(r)
	}
	return l
}

func (l *life) waits(r *resolve.Rank) {
	waits := false
	for _, p := range r.Pending {
		l.held.include(p.Start)
		l.held.include(p.Report)
		if p.Start.Valid && !waits {
			waits, l.what = true, fmt.Sprintf("%s #%d", p.Work.Op, p.Work.Seq)
		}
	}
	if waits {
		l.waiting++
	}
}

// spans say when some ranks ran, waited or held the others up, and what was left after that.
func (d *drawing) spans(ranks []*resolve.Rank) []incident.LaneSpan {
	l, g := d.lived(ranks), d.scene.Graph
	text, doing := "", incident.LaneWaits
	switch {
	case l.waiting > 0:
		text = count(l.waiting, "rank waits", "ranks wait") + " in " + l.what
	case d.awaited(ranks) && g.Start.Valid && g.Report.Valid:
		l.held.include(g.Start)
		l.held.include(g.Report)
		text, doing = "the others wait for it", incident.LaneStalls
	}
	if l.held.known() {
		l.alive.include(resolve.Moment{T: l.held.from, Valid: true})
	}
	if !l.alive.known() {
		return nil
	}
	// What runs before the first line of its own began with the job: of most ranks few lines are printed.
	if start := d.scene.Facts.Job.Start; start.Valid {
		l.alive.from = min(l.alive.from, start.T)
	}
	var out []incident.LaneSpan
	if l.held.known() {
		out = d.span(out, incident.LaneRuns, l.alive.from, l.held.from, l.held.unc, "running")
		out = d.span(out, doing, l.held.from, l.held.to, l.held.unc, text)
		return d.span(out, incident.LaneDown, l.held.to, l.alive.to, l.alive.unc, "goes down after the timeout")
	}
	out = d.span(out, incident.LaneRuns, l.alive.from, l.alive.to, l.alive.unc, "running: its lines go on until here")
	if !l.ended && d.to-l.alive.to > quiet*(d.to-d.from) {
		out = d.span(out, incident.LaneQuiet, l.alive.to, d.to, l.alive.unc, "no line of it with a time, and no end")
	}
	return out
}

// span appends what takes some time.
func (d *drawing) span(list []incident.LaneSpan, doing string, from, to, unc float64, text string) []incident.LaneSpan {
	a, b := d.at(resolve.Moment{T: from}), d.at(resolve.Moment{T: to})
	if b <= a {
		return list
	}
	return append(list, incident.LaneSpan{Doing: doing, From: tenth(a), To: tenth(b), Uncertainty: tenth(unc), Text: text})
}

// awaited says that it is one rank which the verdict names and which the others waited for.
func (d *drawing) awaited(ranks []*resolve.Rank) bool {
	return len(ranks) == 1 && slices.Contains(d.report.Verdict.Root.Ranks, ranks[0].ID) && slices.Contains(d.scene.Graph.Root, ranks[0].ID)
}

// training shows what belongs to the whole job: steps, saves, and what no rank or node is named for.
func (d *drawing) training() {
	steps := nothing()
	for i := range d.scene.Facts.Progress {
		steps.include(d.scene.Facts.Progress[i].T)
	}
	l := incident.Lane{Kind: "training", Name: "training"}
	if from, to := d.at(resolve.Moment{T: steps.from}), d.at(resolve.Moment{T: steps.to}); steps.known() && to > from {
		l.Spans = []incident.LaneSpan{{Doing: incident.LaneRuns, From: tenth(from), To: tenth(to), Uncertainty: tenth(steps.unc), Text: "steps are printed"}}
	}
	d.add(l)
}

func ofTraining(kind string) bool { return kind == incident.EventSave || kind == incident.EventStep }

// few gives each name a lane of a kind, the first few of them: the number of the lane, or −1.
func (d *drawing) few(kind string) func(name string) int {
	lane := map[string]int{}
	return func(name string) int {
		at, ok := lane[name]
		switch {
		case ok:
			return at
		case len(lane) == ownLanes:
			return -1
		}
		lane[name] = d.add(incident.Lane{Kind: kind, Name: name})
		return lane[name]
	}
}

// storage shows the troubles of the storage daemons, by the job's clock; those that explain the job's trouble first.
func (d *drawing) storage() {
	a := d.scene.Storage
	if a == nil {
		return
	}
	named := d.few("storage")
	for _, e := range a.Episodes {
		if !e.From.Valid || e.From.T > d.to || e.To.Valid && e.To.T < d.from {
			continue
		}
		name := "storage"
		if e.ID != "" {
			name = cmp.Or(e.Role, "storage") + " " + e.ID
		}
		at := named(name)
		if at < 0 {
			continue
		}
		for _, proof := range e.Proof {
			d.byFile[proof.File] = at
		}
		l := &d.lanes[at]
		l.Root = l.Root || e.Standing == correlate.Cause
		to := e.To
		if !to.Valid {
			to = e.From
		}
		doing := incident.LaneTroubled
		if e.Standing == correlate.Coincident {
			doing = incident.LaneBeside
		}
		l.Spans = append(l.Spans, incident.LaneSpan{Doing: doing, From: tenth(d.at(e.From)), To: tenth(d.at(to)),
			Uncertainty: tenth(e.From.Unc), Text: e.Statement})
	}
}

// kernel shows what kernels report of the job's nodes.
func (d *drawing) kernel() {
	named := d.few("kernel")
	for _, e := range d.scene.Facts.Kernel {
		if !e.T.Valid || e.Alien || e.T.T < d.from || e.T.T > d.to {
			continue
		}
		name := "kernel"
		if e.Node != "" {
			name += " · " + e.Node
		}
		at := named(name)
		if at < 0 {
			continue
		}
		l := &d.lanes[at]
		l.Root = l.Root || e.Cause != "" && string(e.Cause) == d.report.Verdict.Mechanism
		if len(l.Marks) < mostMarks {
			l.Marks = append(l.Marks, incident.LaneMark{Kind: incident.EventError, At: tenth(d.at(e.T)), Uncertainty: tenth(e.T.Unc), Event: -1, Text: d.told(e)})
		}
	}
}

// mostMarks bounds the marks of one lane.
const mostMarks = 40

// laneOf is where an event belongs: to the lane of its rank, its node, or of all others; −1 where none is drawn.
func (d *drawing) laneOf(e *incident.Event) int {
	kind := func(k string) int {
		return slices.IndexFunc(d.lanes, func(l incident.Lane) bool { return l.Kind == k })
	}
	switch {
	case e.Kind == incident.EventEnd:
		return kind("scheduler")
	case ofTraining(e.Kind):
		return kind("training")
	}
	if len(e.Evidence) > 0 {
		if at, ok := d.byFile[e.Evidence[0].File]; ok {
			return at
		}
	}
	if e.Rank != nil {
		if at, ok := d.byRank[*e.Rank]; ok {
			return at
		}
	}
	if at, ok := d.byNode[e.Node]; ok {
		return at
	}
	if e.Rank == nil && e.Node == "" {
		return kind("training")
	}
	return d.others
}

// finish puts the events on the lanes and says where the incident begins.
func (d *drawing) finish() *incident.Lanes {
	focus := math.Inf(1)
	for i := range d.report.Timeline {
		e, m := &d.report.Timeline[i], d.when[i]
		if !m.Valid {
			continue
		}
		if e.Kind != incident.EventSave {
			focus = min(focus, d.at(m))
		}
		if at := d.laneOf(e); at >= 0 && len(d.lanes[at].Marks) < mostMarks {
			d.lanes[at].Marks = append(d.lanes[at].Marks, incident.LaneMark{Kind: e.Kind, At: tenth(d.at(m)), Uncertainty: tenth(m.Unc), Event: i, Text: e.Event})
		}
	}
	for _, l := range d.lanes {
		for _, s := range l.Spans {
			if s.Doing != incident.LaneRuns && l.Root {
				focus = min(focus, s.From)
			}
		}
	}
	whole := d.to - d.from
	if focus > whole {
		focus = 0
	}
	out := &incident.Lanes{From: d.scene.Facts.Format(resolve.Moment{T: d.from, Valid: true}), Seconds: tenth(whole)}
	if d.began.Valid {
		at := d.at(d.began)
		focus = min(focus, at)
		out.Began, out.Uncertainty = new(tenth(at)), tenth(d.began.Unc)
	}
	out.Focus = tenth(max(0, focus-max(margin*(whole-focus), leadIn)))
	slices.SortStableFunc(d.lanes, func(a, b incident.Lane) int { return cmp.Compare(order(a), order(b)) })
	out.Lanes = slices.DeleteFunc(d.lanes, func(l incident.Lane) bool { return len(l.Spans) == 0 && len(l.Marks) == 0 && !l.Root })
	return out
}

// order puts what broke first: what is beside the job and broke it before those whom it held up.
func order(l incident.Lane) int {
	switch {
	case l.Root && (l.Kind == "storage" || l.Kind == "kernel"):
		return 0
	case l.Root:
		return 1
	}
	return 2
}

// tenth is what a picture shows of seconds.
func tenth(v float64) float64 { return math.Round(v*10) / 10 }

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
