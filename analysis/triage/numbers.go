package triage

import (
	"fmt"
	"strconv"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/pattern"
)

// rate is a way in which step lines print a throughput: the first of the table that a job prints is taken.
type rate struct {
	unit    string
	pattern *pattern.Regexp // group 1 is the number
}

const figure = `([\d][\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)`

// rates are, from what says most on: Megatron-LM, MaxText and NeMo; torchtitan; nanoGPT, llm.c, LitGPT; DeepSpeed, timm; verl; what
// scripts of all kinds print.
var rates = []rate{
	{"tokens/s", pattern.New(`(?i)(?:\btps|tokens?[ _/]?(?:per|/)[ _]?sec(?:ond)?(?:[ _/]?(?:per|/)[ _]?(?:gpu|device))?|tokens?/s(?:/(?:gpu|device))?|tok/s|tgs)['"]?(?: ?\([^)]{1,24}\))?['"]?\s*[:=]\s*'?` + figure)},
	{"tokens/s", pattern.New(`(?i)` + figure + ` ?(?:tok(?:en)?s?/s(?:ec)?|tokens? per second)\b`)},
	{"TFLOP/s per GPU", pattern.New(`(?i)(?:throughput per GPU|tflops?(?:/s)?(?:/(?:gpu|device))?|model_tflops)['"]?(?: ?\([^)]{1,24}\))?\s*[:=]\s*'?` + figure)},
	{"% MFU", pattern.New(`(?i)\bmfu['"]?(?: ?\([^)]{1,12}\))?\s*[:= ]\s*'?` + figure + ` ?%`)},
	{"samples/s", pattern.New(`(?i)(?:samples?(?:_per_|PerSec|/s(?:ec)?|[ _]per[ _]sec(?:ond)?)\w*)['"]?\s*[:=]\s*'?` + figure)},
	{"samples/s", pattern.New(`(?i)` + figure + ` ?(?:samples?|images?|img|imgs|seqs?)/s(?:ec)?\b`)},
	{"throughput", pattern.New(`(?i)\bthroughput['"]?\s*[:=]\s*'?` + figure)},
}

// reading is a number that a step line prints.
type reading struct {
	value float64
	at    *worker.At
}

// readings are what the step lines of a course print in one way.
func (l *look) readings(c *resolve.Course, re *pattern.Regexp) []reading {
	if c == nil {
		return nil
	}
	var out []reading
	for i := range c.Points {
		p := &c.Points[i]
		m := re.FindStringSubmatch(l.said[p.At.Pos])
		if m == nil {
			continue
		}
		if v, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64); err == nil && v >= 0 {
			out = append(out, reading{v, p.At})
		}
	}
	return out
}

// throughput says how much the job gets done, in the logs' own unit.
func (l *look) throughput() {
	for i := range rates {
		if r := l.readings(l.main, rates[i].pattern); len(r) > 0 {
			l.compare(r, rates[i].unit)
			return
		}
	}
	if l.main != nil {
		l.absent("throughput")
	}
}

func (l *look) compare(r []reading, unit string) {
	if len(r) > 4 {
		r = r[1:] // the first step compiles
	}
	values := make([]float64, len(r))
	for i := range r {
		values[i] = r[i].value
	}
	now, last := median(tail(values, recent)), r[len(r)-1].at
	if len(values) < 2*recent+spare {
		l.valued(l.sign(incident.SignThroughput, incident.TriageNone, fmt.Sprintf("%s %s; too few lines to compare", short(now), unit), last), now, 0, unit)
		return
	}
	base := median(values[:recent])
	text, level := fmt.Sprintf("%s %s, %s at its own start", short(now), unit, short(base)), incident.TriageNone
	if base > 0 && now < base/clearly {
		level, text = incident.TriageWarning, text+fmt.Sprintf(": down by %.0f %%", 100*(1-now/base))
		if l.slower == 0 {
			level, l.slower = incident.TriageNote, base/now
		}
	}
	l.valued(l.sign(incident.SignThroughput, level, text, last, r[0].at), now, base, unit)
}

// Shares of a GPU's memory from which on little is left: the method's limits.
const (
	memoryWarn = 85.0
	memoryFull = 95.0
)

// memories are the ways in which step lines print the share of a GPU's memory in use: torchtitan; scripts of all kinds.
var memories = []*pattern.Regexp{
	pattern.New(`(?i)\bmem(?:ory)?\w*['"]?\s*[:=]\s*[^|,;]{0,24}?` + figure + ` ?%`),
	pattern.New(`(?i)` + figure + ` ?% (?:of )?(?:GPU |HBM |CUDA )?mem(?:ory)?\b`),
}

// memory says how full the fullest GPU is.
func (l *look) memory() {
	var worst reading
	rank := resolve.NoRank
	for _, c := range l.f.Courses {
		for _, x := range tail(l.shares(c), recent) {
			if x.value <= 100 && (worst.at == nil || x.value > worst.value) {
				worst, rank = x, c.Rank
			}
		}
	}
	if worst.at == nil {
		l.absent("memory")
		return
	}
	level, text := incident.TriageNone, fmt.Sprintf("%s %% of the GPU", short(worst.value))
	switch {
	case worst.value >= memoryFull:
		level, text = incident.TriageCritical, text+": the next larger batch may not fit"
	case worst.value >= memoryWarn:
		level, text = incident.TriageWarning, text+": little headroom"
	}
	s := l.sign(incident.SignMemory, level, text, worst.at)
	if rank != resolve.NoRank {
		s.Ranks = []int{rank}
	}
	l.valued(s, worst.value, 0, "%")
}

// shares are the shares of a GPU's memory that a course prints, in the first way that it does.
func (l *look) shares(c *resolve.Course) []reading {
	for _, re := range memories {
		if r := l.readings(c, re); len(r) > 0 {
			return r
		}
	}
	return nil
}
