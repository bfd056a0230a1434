package triage

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// Limits of a voice's silence: it must be out of all proportion to the pauses that this process is seen to make.
const (
	voiceGaps  = 10.0
	voicePause = 3.0
	voiceLeast = 60.0
)

func (v *voice) limit() float64 { return max(voiceGaps*v.usual, voicePause*v.longest, voiceLeast) }

// speakers are the processes with a rhythm of their own: step lines, or lines of any kind that come again and again in a file of theirs.
func (l *look) speakers() []voice {
	var out []voice
	index := map[string]int{}
	add := func(v voice) {
		i, ok := index[v.name]
		if !ok {
			index[v.name] = len(out)
			out = append(out, v)
			return
		}
		o := &out[i]
		if v.ago < o.ago {
			o.last, o.ago = v.last, v.ago
		}
		o.usual, o.longest, o.step = max(o.usual, v.usual), max(o.longest, v.longest), max(o.step, v.step)
	}
	for _, c := range l.f.Courses {
		p := &c.Points[len(c.Points)-1]
		usual, longest := c.Rhythm()
		if usual > 0 {
			add(l.voice(c.Rank, c.File, p.At, p.T, usual, longest, p.Step))
		}
	}
	for i := range l.f.Tails {
		r := l.f.Tails[i].Rhythm
		if rank, ok := l.f.Owner(l.f.Tails[i].File); ok && r != nil {
			add(l.voice(rank, l.f.Tails[i].File, &r.At, l.f.At(r.At), r.Usual, r.Longest, -1))
		}
	}
	return slices.DeleteFunc(out, func(v voice) bool { return !v.timed })
}

func (l *look) voice(rank int, file string, at *worker.At, m resolve.Moment, usual, longest float64, step int64) voice {
	v := voice{rank: rank, name: path.Base(file), last: at, usual: usual, longest: longest, step: step}
	v.ago, v.timed = l.clock.least(m, file)
	v.node = l.f.NodeOf(*at)
	if rank == resolve.NoRank {
		return v
	}
	v.name = "rank " + strconv.Itoa(rank)
	r := l.f.Rank(rank)
	if r == nil {
		return v
	}
	if v.node == "" {
		v.node = r.Node
	}
	if ago, ok := l.clock.since(r.Last); ok && ago < v.ago { // it printed something else since
		v.ago, v.last = ago, &r.LastAt
	}
	return v
}

// called is the process with its node.
func (v *voice) called() string {
	if v.node != "" {
		return v.name + " (" + v.node + ")"
	}
	return v.name
}

// voices names who printed last, and who went silent while others print.
func (l *look) voices() {
	all := l.speakers()
	if len(all) == 0 {
		l.files()
		return
	}
	slices.SortStableFunc(all, func(a, b voice) int {
		switch {
		case a.ago > b.ago:
			return -1
		case a.ago < b.ago:
			return 1
		}
		return a.rank - b.rank
	})
	oldest, newest := all[0], all[len(all)-1]
	for _, v := range all {
		if v.ago > v.limit() && newest.ago < v.limit()/2 {
			l.silent = append(l.silent, v)
		}
	}
	if len(l.silent) > 0 && l.t.State != incident.StateEnded {
		l.silenced(newest)
		return
	}
	text := fmt.Sprintf("%s ago, %s", span(newest.ago), newest.called())
	if len(all) > 1 {
		text = fmt.Sprintf("%s ago; oldest %s", ages(newest.ago, oldest.ago), oldest.called())
	}
	if quiet := l.gpus() - len(all); quiet > 0 {
		text += fmt.Sprintf("; %s prints nothing during training", count(quiet, "other rank"))
		if quiet > 1 {
			text = strings.Replace(text, "prints nothing during training", "print nothing during training", 1)
		}
	}
	l.valued(l.sign(incident.SignLines, incident.TriageNone, text, oldest.last, newest.last), oldest.ago, 0, "s")
}

// silenced tells who went silent.
func (l *look) silenced(newest voice) {
	var names, nodes []string
	var ranks []int
	var places []*worker.At
	least := l.silent[0].ago
	for _, v := range l.silent {
		if v.rank == resolve.NoRank {
			names = append(names, v.name)
		} else {
			ranks = append(ranks, v.rank)
		}
		if v.node != "" && !slices.Contains(nodes, v.node) {
			nodes = append(nodes, v.node)
		}
		least = min(least, v.ago)
		if len(places) < 2 {
			places = append(places, v.last)
		}
	}
	slices.Sort(nodes)
	who := few(names)
	if len(ranks) > 0 {
		who = join(strings.TrimPrefix(map[bool]string{true: "rank ", false: "ranks "}[len(ranks) == 1], "")+ids(ranks), who)
		who = strings.TrimSuffix(who, ", ")
	}
	if len(nodes) > 0 {
		who += " on " + few(nodes)
	}
	text := fmt.Sprintf("%s silent for %s; %s printed %s ago", who, span(least), newest.called(), span(newest.ago))
	s := l.sign(incident.SignLines, incident.TriageWarning, text, append(places, newest.last)...)
	slices.Sort(ranks)
	s.Ranks, s.Nodes = ranks, nodes
	l.valued(s, least, 0, "s")
}

// ages is a stretch of ages.
func ages(newest, oldest float64) string {
	a, b := span(newest), span(oldest)
	if a == b {
		return a
	}
	return a + " to " + b
}

// files says when the files were last written, where no process is known to print all the time.
func (l *look) files() {
	newest, oldest, any := 0.0, 0.0, false
	var at *worker.At
	for i := range l.f.Tails {
		t := &l.f.Tails[i]
		ago, ok := l.clock.untouched(t.File)
		if !ok {
			if ago, ok = l.clock.since(l.f.At(t.Last)); !ok {
				continue
			}
		}
		if !any || ago < newest {
			newest = ago
			if at = nil; l.f.At(t.Last).Valid {
				at = &t.Last
			}
		}
		oldest, any = max(oldest, ago), true
	}
	if !any {
		l.absent("line timestamps")
		return
	}
	text := span(newest) + " ago"
	if len(l.f.Tails) > 1 {
		text = fmt.Sprintf("%s ago in %d files", ages(newest, oldest), len(l.f.Tails))
	}
	l.valued(l.sign(incident.SignLines, incident.TriageNone, text, at), newest, 0, "s")
}
