package aislog

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/analysis/ascii"
)

const (
	maxCounters  = 512  // names in one line
	maxIntervals = 1024 // of one file; then neighbours are joined
	allIntervals = 4096 // of one daemon
)

// cumulative says that a counter only grows while its daemon lives. Others are averages over the last interval ("get.ns",
// "put.bps") or states ("state.flags", "disk.*").
func cumulative(name string) bool {
	switch {
	case strings.HasPrefix(name, "disk."), name == "up.ns.time", strings.HasPrefix(name, "state."):
		return false
	case strings.HasSuffix(name, ".n"), strings.HasSuffix(name, ".size"), strings.HasSuffix(name, ".ns.total"):
		return true
	}
	return strings.HasPrefix(name, "getbatch.") && strings.HasSuffix(name, ".ns")
}

// fine says that the growth of a counter is kept for every interval; of others only the sums are.
func fine(name string) bool {
	return cumulative(name) && !strings.HasSuffix(name, ".size") && !strings.HasSuffix(name, ".ns.total")
}

// slow are the latencies of a second or more.
func slow(values []Growth) []Growth {
	var out []Growth
	for _, g := range values {
		if g.N >= int64(time.Second) && strings.HasSuffix(g.Name, ".ns") && !cumulative(g.Name) {
			out = append(out, g)
		}
	}
	return out
}

// begun are the kinds of requests that came to a target, which counts how long a proxy took to send them there, and of which none ended.
func begun(values, by []Growth) []string {
	var out []string
	for _, g := range values {
		kind, ok := strings.CutSuffix(g.Name, ".redir.ns")
		ended := func(o Growth) bool { return o.Name == kind+".n" || o.Name == "err."+kind+".n" }
		if ok && g.N > 0 && !slices.ContainsFunc(by, ended) {
			out = append(out, kind)
		}
	}
	return out
}

// slower joins latencies: the worst of each.
func slower(a, b []Growth) []Growth {
	out := slices.Clone(a)
	for _, g := range b {
		if i := slices.IndexFunc(out, func(o Growth) bool { return o.Name == g.Name }); i < 0 {
			out = append(out, g)
		} else {
			out[i].N = max(out[i].N, g.N)
		}
	}
	return out
}

// tick is a line of counters.
type tick struct {
	time   Time
	at     At
	values []Growth // by name, ascending; zeros are left out
	whole  bool     // its end is there: what it lacks is zero
	// batches is how many batch jobs ran then.
	batches int
}

// value is that of one counter.
func (t *tick) value(name string) int64 {
	i, ok := slices.BinarySearchFunc(t.values, name, func(g Growth, n string) int { return strings.Compare(g.Name, n) })
	if !ok {
		return 0
	}
	return t.values[i].N
}

// names gives every name of a counter one string. Lines of one daemon have nearly the same names one after the other.
type names struct {
	all  map[string]string
	last []Growth
	room []Growth // of a line that nobody asks for any more
}

// again reads "name:17," where a counter stands at the same place as in the line before, as most do. n is how many bytes that
// takes; it is 0 where the slower way has to be gone.
func (n *names) again(body []byte, i int) (g Growth, size int) {
	if i >= len(n.last) {
		return Growth{}, 0
	}
	name := n.last[i].Name
	at := len(name)
	if at == 0 || len(body) <= at || body[at] != ':' || string(body[:at]) != name {
		return Growth{}, 0
	}
	from := at + 1
	v := int64(0)
	for at = from; at < len(body) && body[at] != ','; at++ {
		c := body[at] - '0'
		if c > 9 || at-from == 18 {
			return Growth{}, 0
		}
		v = v*10 + int64(c)
	}
	if at == from {
		return Growth{}, 0
	}
	return Growth{name, v}, min(at+1, len(body))
}

func (n *names) of(b []byte, i int) string {
	for _, j := range [...]int{i, i + 1, i - 1} {
		if j >= 0 && j < len(n.last) && n.last[j].Name == string(b) {
			return n.last[j].Name
		}
	}
	if s, ok := n.all[string(b)]; ok {
		return s
	}
	s := clip(bytes.TrimSpace(b), maxID)
	if n.all == nil {
		n.all = map[string]string{}
	}
	if len(n.all) < maxCounters {
		n.all[s] = s
	}
	return s
}

// read reads "{err.get.n:3,get.n:5,state.flags:6}": keys without quotes, zeros left out.
func (n *names) read(msg []byte) (values []Growth, whole, ok bool) {
	msg = bytes.TrimRight(msg, " \r")
	if len(msg) < 2 || msg[0] != '{' {
		return nil, false, false
	}
	body := msg[1:]
	whole = body[len(body)-1] == '}'
	if whole {
		body = body[:len(body)-1]
	} else if i := bytes.LastIndexByte(body, ','); i >= 0 {
		body = body[:i] // the last number may be cut
	} else {
		return nil, false, false
	}
	if values, n.room = n.room[:0], nil; values == nil {
		values = make([]Growth, 0, len(n.last)+2)
	}
	for len(body) > 0 && len(values) < maxCounters {
		if g, size := n.again(body, len(values)); size > 0 {
			values, body = append(values, g), body[size:]
			continue
		}
		var pair []byte
		pair, body, _ = bytes.Cut(body, []byte{','})
		i := bytes.LastIndexByte(pair, ':')
		if i < 1 || i > maxID {
			return nil, false, false
		}
		v, ok := number(pair[i+1:])
		if !ok {
			return nil, false, false
		}
		values = append(values, Growth{n.of(pair[:i], len(values)), v})
	}
	byName := func(a, b Growth) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(values, byName) {
		slices.SortStableFunc(values, byName)
	}
	values = slices.CompactFunc(values, func(a, b Growth) bool { return a.Name == b.Name })
	n.last = values
	return values, whole, len(values) > 0
}

// number is a decimal integer.
func number(b []byte) (v int64, ok bool) {
	digits := bytes.TrimPrefix(b, []byte{'-'})
	if len(digits) == 0 || len(digits) > 18 {
		v, err := strconv.ParseInt(string(b), 10, 64)
		return v, err == nil
	}
	for _, c := range digits {
		if !ascii.Digit(c) {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	if len(digits) < len(b) {
		v = -v
	}
	return v, true
}

// grown appends to by the growth from one tick to the next; it is never negative. A counter that fell or vanished was reset: what it shows now
// is what it counted since. What a cut line lacks stays as it was, and is carried on in to.
func grown(by []Growth, from, to *tick) (_ []Growth, reset bool) {
	var carried []Growth
	a, b := from.values, to.values
	for len(a) > 0 || len(b) > 0 {
		if len(a) > 0 && len(b) > 0 && a[0] == b[0] { // it stands still
			a, b = a[1:], b[1:]
			continue
		}
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			if a[0].N > 0 && cumulative(a[0].Name) {
				if to.whole {
					reset = true
				} else {
					carried = append(carried, a[0])
				}
			}
			a = a[1:]
			continue
		case len(a) > 0 && a[0].Name == b[0].Name:
			if b[0].N != a[0].N && b[0].N >= 0 && cumulative(b[0].Name) {
				d := b[0].N - max(a[0].N, 0)
				if d < 0 {
					d, reset = b[0].N, true
				}
				if d > 0 {
					by = append(by, Growth{b[0].Name, d})
				}
			}
			a = a[1:]
		case b[0].N > 0 && cumulative(b[0].Name):
			by = append(by, b[0])
		}
		b = b[1:]
	}
	if len(carried) > 0 {
		to.values = slices.SortedFunc(slices.Values(slices.Concat(to.values, carried)), func(a, b Growth) int { return strings.Compare(a.Name, b.Name) })
	}
	return by, reset
}

// add sums growth, by name.
func add(a, b []Growth) []Growth {
	out := make([]Growth, 0, max(len(a), len(b)))
	for i, j := 0, 0; i < len(a) || j < len(b); {
		var c int
		switch {
		case i == len(a):
			c = 1
		case j == len(b):
			c = -1
		default:
			c = strings.Compare(a[i].Name, b[j].Name)
		}
		switch {
		case c < 0:
			out = append(out, a[i])
			i++
		case c > 0:
			out = append(out, b[j])
			j++
		default:
			out = append(out, Growth{a[i].Name, a[i].N + b[j].N})
			i++
			j++
		}
	}
	return out
}

// addTo adds growth to sums; both are by name, ascending.
func addTo(sums, by []Growth) []Growth {
	i := 0
	for _, g := range by {
		for i < len(sums) && sums[i].Name != g.Name && sums[i].Name < g.Name {
			i++
		}
		if i == len(sums) || sums[i].Name != g.Name {
			sums = slices.Insert(sums, i, Growth{Name: g.Name})
		}
		sums[i].N += g.N
	}
	return sums
}

func fineOnly(by []Growth) []Growth {
	n := 0
	for i := range by {
		if fine(by[i].Name) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	out := make([]Growth, 0, n)
	for _, g := range by {
		if fine(g.Name) {
			out = append(out, g)
		}
	}
	return out
}

// coarser joins neighbours until at most so many are left. Sums stay as they are.
func coarser(list []Interval, most int) []Interval {
	for len(list) > most {
		out := list[:0]
		for i := 0; i < len(list); i += 2 {
			iv := list[i]
			if i+1 < len(list) {
				n := list[i+1]
				iv.To, iv.At, iv.By = n.To, n.At, add(iv.By, n.By)
				iv.Reset, iv.Hole, iv.Batches = iv.Reset || n.Reset, iv.Hole || n.Hole, max(iv.Batches, n.Batches)
				iv.Slow, iv.Begun = slower(iv.Slow, n.Slow), nil
			}
			out = append(out, iv)
		}
		list = out
	}
	return list
}

// FlagNames are the states in a value of state.flags; bits without a name as they are.
func FlagNames(v int64) []string {
	var names []string
	rest := v &^ (bitClusterStarted | bitNodeStarted)
	for _, f := range flagNames {
		if v&f.bit != 0 {
			names = append(names, f.name)
			rest &^= f.bit
		}
	}
	if v&bitClusterStarted == 0 {
		names = append(names, "cluster-not-started-yet")
	}
	if v&bitNodeStarted == 0 {
		names = append(names, "node-not-started-yet")
	}
	if rest != 0 {
		names = append(names, "0x"+strconv.FormatInt(rest, 16))
	}
	return names
}

// stall is a stretch of lines of counters in which stream.in.n stands still, while batches run and entries are had from
// neighbours instead, or are waited for.
type stall struct {
	Stall
	gfn0, gfn   int64
	wait0, wait int64
	moved       int // lines in which recoveries grew, or the time waited for nothing
}

const (
	stallTicks = 3
	stallMoved = 2
	stallTime  = time.Minute
)

// real says that it is long enough to be told.
func (s *stall) real() bool {
	return s.Ticks >= stallTicks && s.moved >= stallMoved && s.To.Wall.Sub(s.From.Wall) >= stallTime
}

func sortGrowth(m map[string]int64) []Growth {
	out := make([]Growth, 0, len(m))
	for k, v := range m {
		out = append(out, Growth{k, v})
	}
	slices.SortFunc(out, func(a, b Growth) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
