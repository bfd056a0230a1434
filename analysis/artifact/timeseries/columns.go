package timeseries

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/pattern"
)

// column is what a heading stands for.
type column int

const (
	nothing column = iota
	timeColumn
	stepColumn
	keyColumn
	nameColumn // of a quantity, whose value stands in another
	valueColumn
)

var (
	stepHead  = pattern.New(`(?i)^(?:[\w/]*_)?(?:step|iter|iteration)s?$`)
	keyHead   = pattern.New(`(?i)^#?(?:.*[_ ])?(?:rank|gpu|idx|index|host(?:name)?|node|port|dev(?:ice)?|iface|interface|nic|hca|cpu|core|socket|ep|pp|tp|dp|stage|expert|worker|shard|pid|lane)(?:_?id)?$`)
	nameHead  = pattern.New(`(?i)^(?:counter|metric|name|field|measurement|stat|key|quantity)$`)
	epochHead = pattern.New(`(?i)^(?:_?timestamp|time|ts?|epoch|unix(?:time)?|wall_?time|date)(?:_?m?s)?$`)
)

// take adds the series of a grid.
func (t *Table) take(g *grid) {
	if g.crossed(t) {
		return
	}
	kinds := g.classify()
	times, epochs := slices.Index(kinds, timeColumn), false
	if times >= 0 {
		_, stamped := whole(g.rows[0].cells[times])
		epochs = !stamped
	}
	steps, names := slices.Index(kinds, stepColumn), slices.Index(kinds, nameColumn)
	stem := g.members(kinds)
	by := map[string]*Series{}
	distinct := map[string]bool{}
	for _, x := range g.rows {
		st, step := x.stamp, int64(None)
		if times >= 0 {
			st = stampOf(x.cells[times], epochs)
		}
		if steps >= 0 {
			step, _ = strconv.ParseInt(x.cells[steps], 10, 64)
		}
		if st.Kind == line.NoStamp && step == None {
			continue
		}
		distinct[momentKey(st, step)] = true
		var keys []Key
		for i, k := range kinds {
			if k == keyColumn {
				keys = append(keys, Key{clean(g.names[i]), x.cells[i]})
			}
		}
		for i, k := range kinds {
			v, ok := 0.0, false
			if k == valueColumn {
				v, ok = number(x.cells[i])
			}
			if !ok {
				continue
			}
			what, own := clean(g.names[i]), keys
			if m := stem[i]; m.member != "" {
				what, own = m.what, append(slices.Clone(keys), Key{"", m.member})
			}
			if names >= 0 {
				what = x.cells[names]
			}
			t.add(by, what, own, Point{st, step, v, x.cells[i], x.Place})
		}
	}
	if len(distinct) < leastTimes { // one look is no course
		for _, s := range by {
			i := slices.Index(t.Series, s)
			t.Series = slices.Delete(t.Series, i, i+1)
		}
	}
}

func (t *Table) add(by map[string]*Series, what string, keys []Key, p Point) {
	var b strings.Builder
	b.WriteString(what)
	for _, k := range keys {
		b.WriteString("\x00" + k.Name + "\x00" + k.Value)
	}
	s := by[b.String()]
	if s == nil {
		if len(t.Series) >= maxSeries {
			return
		}
		s = &Series{What: what, Keys: keys}
		by[b.String()] = s
		t.Series = append(t.Series, s)
	}
	s.Points = append(s.Points, p)
}

func momentKey(st line.Stamp, step int64) string {
	if step != None {
		return strconv.FormatInt(step, 10)
	}
	return strings.Join([]string{strconv.Itoa(int(st.Day)), strconv.Itoa(int(st.Hour)), strconv.Itoa(int(st.Minute)), strconv.Itoa(int(st.Second)), strconv.FormatInt(st.Unix, 10)}, ":")
}

// stampOf is the time that a cell states.
func stampOf(s string, epoch bool) line.Stamp {
	if !epoch {
		st, _ := whole(s)
		return st
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return line.Stamp{}
	}
	for v >= lastEpoch {
		v /= 1000
	}
	sec, part := math.Modf(v)
	return line.Stamp{Kind: line.Epoch, Unix: int64(sec), Nanos: int32(part * 1e9)}
}

// Epochs that logs are written in, in seconds.
const (
	firstEpoch = 1e9
	lastEpoch  = 1e10
)

// classify says what each column is.
func (g *grid) classify() []column {
	out := make([]column, len(g.names))
	for i, name := range g.names {
		out[i] = g.kind(i, strings.TrimSpace(name))
	}
	return out
}

func (g *grid) kind(i int, name string) column {
	stamps, numbers, blank := 0, 0, 0
	values := map[string]int{}
	for _, x := range g.rows {
		c := x.cells[i]
		if _, ok := whole(c); ok {
			stamps++
		} else if missing(c) {
			blank++
		} else if _, ok := number(c); ok {
			numbers++
		}
		if len(values) <= maxMembers {
			values[c]++
		}
	}
	n := len(g.rows) - blank
	mostly := func(k int) bool { return n > 0 && 10*k >= 9*n }
	switch {
	case mostly(stamps):
		return timeColumn
	case mostly(numbers) && epochHead.MatchString(name) && g.epochs(i):
		return timeColumn
	case mostly(numbers) && stepHead.MatchString(name):
		return stepColumn
	case mostly(numbers) && (keyHead.MatchString(name) || g.cycles(i)) && len(values) <= maxMembers && g.whole(i):
		return keyColumn
	case mostly(numbers):
		return valueColumn
	case numbers > 0 || stamps > 0 || blank > 0 || len(values) > maxMembers:
	case nameHead.MatchString(name) && len(values) > 1:
		return nameColumn
	case len(values) > 1 || keyHead.MatchString(name): // what is the same in every row names nobody
		return keyColumn
	}
	return nothing
}

// whole says that a column holds whole numbers without a unit.
func (g *grid) whole(i int) bool {
	return !slices.ContainsFunc(g.rows, func(x row) bool { _, err := strconv.ParseInt(x.cells[i], 10, 64); return err != nil })
}

func (g *grid) epochs(i int) bool {
	v, err := strconv.ParseFloat(g.rows[0].cells[i], 64)
	return err == nil && (v >= firstEpoch && v < lastEpoch || v >= 1e3*firstEpoch && v < 1e3*lastEpoch)
}

// cycles says that a column counts through the members of a group again and again, from 0 or 1.
func (g *grid) cycles(i int) bool {
	if first := g.rows[0].cells[i]; first != "0" && first != "1" {
		return false
	}
	n := slices.IndexFunc(g.rows[1:], func(x row) bool { return x.cells[i] == g.rows[0].cells[i] }) + 1
	if n < 2 || len(g.rows) < 2*n {
		return false
	}
	seen := map[string]bool{}
	for k := range n {
		seen[g.rows[k].cells[i]] = true
	}
	for k := n; k < len(g.rows); k++ {
		if g.rows[k].cells[i] != g.rows[k%n].cells[i] {
			return false
		}
	}
	return len(seen) == n
}

// memberOf is what a heading says that names a member: "rank3/step_s" is step_s of rank3.
type memberOf struct{ member, what string }

var (
	digits = pattern.New(`\d+`)
	parts  = pattern.New(`[^\s/:.]+`)
)

// members finds headings that are alike but for a number that counts: they name members of a group.
func (g *grid) members(kinds []column) map[int]memberOf {
	stems := map[string][]int{}
	values := 0
	for i, k := range kinds {
		if k != valueColumn {
			continue
		}
		values++
		name := clean(g.names[i])
		if loc := digits.FindStringIndex(name); loc != nil {
			stem := name[:loc[0]] + "#" + name[loc[1]:]
			stems[stem] = append(stems[stem], i)
		}
	}
	out := map[int]memberOf{}
	for stem, list := range stems {
		named := len(list) == values && strings.IndexByte(stem, '#') > 1 // and p50, p99 are nobody
		if len(list) < 2 || !named && !counting(g.names, list) {
			continue
		}
		for _, i := range list {
			name := clean(g.names[i])
			at := digits.FindStringIndex(name)[0]
			m := memberOf{member: name}
			for _, loc := range parts.FindAllStringSubmatchIndex(name, -1) {
				if loc[0] <= at && at < loc[1] {
					m.member = name[loc[0]:loc[1]]
					m.what = strings.Trim(name[:loc[0]]+" "+name[loc[1]:], " /:.")
				}
			}
			if m.what == "" {
				if a, b, ok := strings.Cut(m.member, "_"); ok && digits.MatchString(a) {
					m.member, m.what = a, b
				}
			}
			out[i] = m
		}
	}
	return out
}

// counting says that the numbers in headings follow one another.
func counting(names []string, list []int) bool {
	last := -1
	for _, i := range list {
		n, err := strconv.Atoi(digits.FindString(names[i]))
		if err != nil || last >= 0 && n != last+1 {
			return false
		}
		last = n
	}
	return true
}

// clean is a heading without what the file puts around it.
func clean(name string) string { return strings.Trim(name, "# :") }

// crossed takes a table whose headings are times: each row is the course of a quantity, named by its last cell in front of the times.
func (g *grid) crossed(t *Table) bool {
	var keys []int
	stamps := map[int]line.Stamp{}
	for i, n := range g.names {
		if st, ok := whole(n); ok {
			stamps[i] = st
		} else {
			keys = append(keys, i)
		}
	}
	if len(stamps) < leastTimes || len(keys) == 0 {
		return false
	}
	by := map[string]*Series{}
	for _, x := range g.rows {
		last := keys[len(keys)-1]
		var own []Key
		for _, i := range keys[:len(keys)-1] {
			own = append(own, Key{clean(g.names[i]), x.cells[i]})
		}
		for i := range g.names {
			st, timed := stamps[i]
			if v, ok := number(x.cells[i]); timed && ok {
				t.add(by, x.cells[last], own, Point{st, None, v, x.cells[i], x.Place})
			}
		}
	}
	return true
}
