// Package moved compares the quantities of tables over time on both sides of a moment: which of them changed, for whom, and for whom not. It knows
// arithmetic and what quantities are called, and nothing of files, clocks or nodes of a job: whoever asks divides the values.
package moved

import (
	"cmp"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"faultline/analysis/artifact/timeseries"
	"faultline/analysis/robust"
	"faultline/analysis/slow"
)

// Quantity is a quantity of the tables over time that changed when the steps slowed down.
type Quantity struct {
	What  string
	Class slow.Class // "" where its name says nothing of it
	// All says that it changed for every member that the tables show, else for the few that the other fields name.
	All    bool
	Nodes  []string // as a whole, or the one on which Member is
	Ranks  []int
	Member string // "gpu 5", "Port Et49/1"; "" where it is all of a node
	// Apart: nothing says that it changed; it differs from what all others state.
	Apart bool
	// Beside: the node is none of the job's, as a switch is.
	Beside  bool
	Was, Is float64
	// Rate is true where Was and Is say how fast a counter grew, Growing where all readings are of later, and only here it grew at all.
	Rate, Growing bool
	// Work is true where it is how much there is to do: whoever has more of it takes longer, and is not slow.
	Work bool
	// Alone is true where nothing but the table dates the change.
	Alone bool
	// Uniform: those that did not change, or differ, all state one value.
	Uniform bool
	// Members is how many changed, Rest how many did not.
	Members, Rest        int
	WasAt, IsAt, OtherAt Place
}

// Place is a value with the line that states it.
type Place struct {
	File string
	*timeseries.Point
}

// Grown says that the values went up.
func (m *Quantity) Grown() bool { return m.Is > m.Was }

// Track is one series on both sides of the moment.
type Track struct {
	*timeseries.Series
	File, Node    string // Node: "" where nothing names it
	BeforeFile    string // of Before, where that is another
	Ours          bool   // it is a node of the job
	Before, After []Sample
	Rate          bool // the samples are rates of a counter
	was, is       float64
	moved, even   bool // even: both sides are known, and it did not change
	alone         bool // Split found the moment
	at            int  // which sample is the first of After
}

// Split divides samples where they change most, where nothing else says when that was.
func (t *Track) Split(all []Sample) {
	least := 2
	if t.Rate {
		least = 1
	}
	best := 0.0
	for k := least; k <= len(all)-2; k++ {
		a, b := mean(all[:k]), mean(all[k:])
		if w := float64(k*(len(all)-k)) * (b - a) * (b - a); w > best {
			best, t.at = w, k
		}
	}
	if best > 0 {
		t.Before, t.After, t.alone = all[:t.at], all[t.at:], true
		return
	}
	t.After = all // too few to say when, and perhaps enough to say that it grows
}

func mean(list []Sample) float64 {
	sum := 0.0
	for _, s := range list {
		sum += s.V
	}
	return sum / float64(len(list))
}

// Sample is a value, or how fast a counter grew until then.
type Sample struct {
	V  float64
	At *timeseries.Point
}

// Limits of what counts as a change.
const (
	movedSigmas = 4.0
	movedShare  = 0.15 // of the larger of the two sides
	movedScale  = 0.1  // of what is usual for the quantity on any member
	movedSides  = 0.8  // share of the values on either side of the middle
	rateFactor  = 3.0  // by which a counter read few times must grow faster
	manyUnknown = 4    // of a quantity of unknown meaning, one member in so many may have changed
)

// Compare says which quantities changed, what is known to be a cause first; compared is how many have values on both sides.
func Compare(all []*Track) (out []Quantity, compared int) {
	groups, later := map[string][]*Track{}, map[string][]*Track{}
	for _, t := range all {
		key := t.name() + "\x00" + keyNames(t.Series)
		switch {
		case len(t.Before) > 0 && len(t.After) > 0:
			groups[key] = append(groups[key], t)
		case len(t.After) > 1:
			later[key] = append(later[key], t)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(later)) {
		list := ends(later[key])
		if groups[key] != nil || len(list) < apartLeast || !setApart(list, true) {
			continue
		}
		if q, ok := place(list, true); ok && !q.All && q.Class != "" {
			q.Growing = true
			out = append(out, q)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		judge(groups[key])
		if q, ok := place(groups[key], false); ok {
			out = append(out, q)
		}
	}
	slices.SortStableFunc(out, func(a, b Quantity) int { return cmp.Compare(b.weight(), a.weight()) })
	return out, len(groups)
}

// weight orders what is told first: what is known to be a cause, by how much it changed.
func (m *Quantity) weight() float64 {
	const spelled = 0.8 // of what is no number
	w := math.Abs(m.Is-m.Was) / max(math.Abs(m.Is), math.Abs(m.Was))
	switch {
	case !math.IsNaN(m.IsAt.Value):
	case telling(m.IsAt.Text) && telling(m.WasAt.Text):
		w = spelled
	default: // brackets, marks
		w = spelled / 2
	}
	if m.Class != "" {
		w += 2
	}
	return w
}

func telling(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

func keyNames(s *timeseries.Series) string {
	var out []string
	for _, k := range s.Keys {
		out = append(out, k.Name)
	}
	return strings.Join(out, ",")
}

// name is what a quantity is called: by its column, or by its file where the columns are members.
func (t *Track) name() string {
	if t.What != "" {
		return t.What
	}
	base := path.Base(t.File)
	name, _, _ := strings.Cut(base, ".")
	return name
}

// NodeKey says that a key names a node.
func NodeKey(name string) bool {
	switch strings.ToLower(name) {
	case "host", "hostname", "node", "nodename":
		return true
	}
	return false
}

func values(list []Sample) []float64 {
	out := make([]float64, len(list))
	for i := range list {
		out[i] = list[i].V
	}
	return out
}

// judge says of each series of a quantity whether it changed.
func judge(list []*Track) {
	scale := 0.0
	for _, t := range list {
		t.was, t.is = robust.Median(values(t.Before)), robust.Median(values(t.After))
		scale = max(scale, math.Abs(t.was), math.Abs(t.is))
	}
	for _, t := range list {
		a, b := values(t.Before), values(t.After)
		rise, most := math.Abs(t.is-t.was), max(math.Abs(t.is), math.Abs(t.was))
		mid := (t.is + t.was) / 2
		up := t.is > t.was
		apart := robust.Share(a, func(v float64) bool { return (v < mid) == up }) >= movedSides && robust.Share(b, func(v float64) bool { return (v > mid) == up }) >= movedSides
		noise := max(robust.Spread(a, t.was), robust.Spread(b, t.is))
		if min(len(a), len(b)) < 2 {
			apart = apart && most >= rateFactor*min(math.Abs(t.is), math.Abs(t.was))
		}
		t.moved = rise > 0 && apart && rise >= movedSigmas*noise && rise >= movedShare*most && rise >= movedScale*scale
		t.even = !t.moved && rise < movedShare*max(most, scale)
	}
}

// ends are the tracks by their first and their last value: of a table that begins after the slowdown, nothing says when a change began.
func ends(list []*Track) (out []*Track) {
	for _, t := range list {
		x := *t
		x.Before, x.After, x.BeforeFile = t.After[:1], t.After[len(t.After)-1:], t.File
		out = append(out, &x)
	}
	return out
}

// place says of whom a quantity changed. ok is false where it changed for nobody, or for some of many, and where its change blames nobody.
func place(list []*Track, apart bool) (m Quantity, ok bool) {
	var left, stayed []*Track
	for _, t := range list {
		switch {
		case t.moved:
			left = append(left, t)
		case t.even:
			stayed = append(stayed, t)
		}
	}
	name := list[0].name()
	class, role := slow.Measure(name)
	if class == "" && list[0].What != "" {
		class, role = measured(list, class, role)
	}
	work := role == slow.Effect && slow.Work(name)
	if role == slow.Effect && !work || role == slow.Waiting || len(left) == 0 {
		return m, false
	}
	slices.SortStableFunc(left, func(a, b *Track) int { return cmp.Compare(math.Abs(b.is-b.was), math.Abs(a.is-a.was)) })
	left, others := oneWay(left)
	stayed = append(stayed, others...)
	if !together(left) {
		return m, false
	}
	m = Quantity{What: name, Class: class, Was: left[0].was, Is: left[0].is, Members: len(left), Rest: len(list) - len(left), Rate: left[0].Rate, Alone: left[0].alone, Work: work}
	m.Uniform = len(stayed) > 0 && !slices.ContainsFunc(stayed, func(t *Track) bool { return t.is != stayed[0].is })
	m.quote(left[0], stayed)
	if len(left) == len(list) {
		m.All = true
		return m, class != ""
	}
	few := len(left) < len(stayed) || len(left) == 1 && len(stayed) == 1
	if len(others) > 0 && len(left) >= len(others) {
		return m, false
	}
	if class == "" {
		few = manyUnknown*len(left) <= len(list) || apart && apartUnknown*len(left) <= len(list)
	}
	if !few || len(left)+len(stayed) < len(list) {
		return m, false
	}
	return m, m.name(left, list)
}

const outweighs = 2 // by how much more those changed that are told than those that changed the other way

// oneWay are those that changed most and in one direction. Others may have changed the other way for it: what shares of a whole are, do.
func oneWay(left []*Track) (most, others []*Track) {
	up := left[0].is > left[0].was
	for _, t := range left {
		switch {
		case (t.is > t.was) == up:
			most = append(most, t)
		default:
			others = append(others, t)
		}
	}
	if len(others) > 0 && math.Abs(left[0].is-left[0].was) < outweighs*math.Abs(others[0].is-others[0].was) {
		return left[:1], nil
	}
	return most, others
}

// together says that all changed at one time, where their own course alone says when.
func together(left []*Track) bool {
	return !slices.ContainsFunc(left, func(t *Track) bool { return t.alone && (t.at > left[0].at+1 || t.at < left[0].at-1) })
}

// measured is what a quantity is about where its own name does not tell: its device does, as a disk's does.
func measured(list []*Track, class slow.Class, role slow.Role) (slow.Class, slow.Role) {
	for _, k := range list[0].Keys {
		v := strings.ToLower(k.Value)
		for _, p := range []string{"nvme", "sd", "dm-", "md"} {
			if strings.EqualFold(k.Name, "device") && strings.HasPrefix(v, p) {
				return slow.Data, slow.Cause
			}
		}
	}
	return class, role
}

// name says who they are whose values changed: all of some nodes, one member, or all that have one key.
func (m *Quantity) name(left, all []*Track) bool {
	of := func(t *Track) string { return t.Node }
	if nodes, ok := only(left, all, of); ok && len(nodes) < distinct(all, of) && !slices.Contains(nodes, "") {
		m.Nodes = nodes
		m.Beside = !left[0].Ours
		m.ranks(left)
		return true
	}
	if nodes := distinctOf(left, of); len(nodes) == 1 && nodes[0] != "" {
		m.Nodes, m.Beside = nodes, !left[0].Ours
	}
	if len(left) == 1 {
		m.Member = words(left[0].Keys, left[0].Node)
		m.ranks(left)
		return m.Member != "" || len(m.Nodes) > 0
	}
	for i := range left[0].Keys {
		by := func(t *Track) string { return t.Node + "\x00" + t.Keys[i].Value }
		if values, ok := only(left, all, by); ok && len(values) == 1 {
			m.Member = words(left[0].Keys[i:i+1], left[0].Node)
			return true
		}
	}
	return m.parts(left, all)
}

// parts says that all that changed are parts of one member, such as links of one GPU, and that no other member has any. ok is false where they
// need not be: two of two members.
func (m *Quantity) parts(left, all []*Track) bool {
	for n := len(left[0].Keys); n > 0; n-- {
		by := func(t *Track) string {
			out := t.Node
			for _, k := range t.Keys[:n] {
				out += "\x00" + k.Value
			}
			return out
		}
		if len(distinctOf(left, by)) == 1 && distinct(all, by) >= manyUnknown {
			m.Member = words(left[0].Keys[:n], left[0].Node)
			return m.Member != "" || len(m.Nodes) > 0
		}
	}
	return false
}

// ranks notes the ranks that keys name.
func (m *Quantity) ranks(left []*Track) {
	for _, t := range left {
		if id, ok := t.Rank(); ok {
			m.Ranks = append(m.Ranks, id)
		}
	}
	slices.Sort(m.Ranks)
	m.Ranks = slices.Compact(m.Ranks)
}

// Rank is the rank that the keys of a series name.
func (t *Track) Rank() (int, bool) {
	i := slices.IndexFunc(t.Keys, func(k timeseries.Key) bool {
		n := strings.ToLower(k.Name)
		return n == "rank" || n == "global_rank"
	})
	if i < 0 {
		return 0, false
	}
	id, err := strconv.Atoi(t.Keys[i].Value)
	return id, err == nil
}

// only are the values that tracks have and no other has; ok is false where others have them too.
func only(left, all []*Track, of func(*Track) string) (values []string, ok bool) {
	values = distinctOf(left, of)
	n := 0
	for _, t := range all {
		if slices.Contains(values, of(t)) {
			n++
		}
	}
	return values, n == len(left)
}

func distinctOf(list []*Track, of func(*Track) string) (out []string) {
	for _, t := range list {
		if v := of(t); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

func distinct(list []*Track, of func(*Track) string) int { return len(distinctOf(list, of)) }

// words names a member by its keys, without its node.
func words(keys []timeseries.Key, node string) string {
	var out []string
	for _, k := range keys {
		if !NodeKey(k.Name) && k.Value != node && !strings.HasPrefix(k.Value, "0x") {
			out = append(out, strings.TrimSpace(k.Name+" "+k.Value))
		}
	}
	return strings.Join(out, " ")
}

// quote takes the lines that show it.
func (m *Quantity) quote(t *Track, stayed []*Track) {
	m.IsAt = Place{t.File, nearest(t.After, t.is).At}
	if len(stayed) > 0 {
		o := stayed[0]
		m.OtherAt = Place{o.File, nearest(o.After, o.is).At}
	}
	if len(t.Before) == 0 {
		m.WasAt = m.OtherAt
		return
	}
	m.WasAt = Place{cmp.Or(t.BeforeFile, t.File), nearest(t.Before, t.was).At}
}

func nearest(list []Sample, v float64) Sample {
	return slices.MinFunc(list, func(a, b Sample) int { return cmp.Compare(math.Abs(a.V-v), math.Abs(b.V-v)) })
}
