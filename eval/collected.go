package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/incident"
	"faultline/simulate"
)

// A collector merges the lines of many processes into one file, and puts before each line who wrote it. No two do it alike: a template is made
// up for each case, so that no list of formats helps.

// Collector is how one merges logs: a template of what stands before each line, or of a record around it.
type Collector struct {
	Template string
	JSON     bool
}

// writer is a process whose lines are collected.
type writer struct {
	host, pod         string
	index, local, pid int
	errors            bool // of the line at hand
}

var (
	label     = regexp.MustCompile(`^ *(\d+): `)
	clockTime = regexp.MustCompile(`\b(\d\d):(\d\d):(\d\d)(?:[.,](\d{3}))?`)
	field     = regexp.MustCompile(`\{(text|host|fqdn|ip|pod|index1|index|local|pid|stream|level|seq|pad|ts)(?::([^{}]*))?\}`)
	errorWord = regexp.MustCompile(`(?i)error|traceback|warn|fatal`)
)

// merged is the case played again with all its processes in one log, each line behind srun's label: what a collector starts from.
func merged(spec simulate.Spec) (*simulate.Incident, error) {
	spec.FileMode, spec.Prefixes, spec.Damage = "single", []string{"srun-label"}, ""
	return simulate.Generate(spec)
}

// tellsProcess says that the processes of a node can be told apart.
func (k *Collector) tellsProcess() bool {
	return slices.ContainsFunc(field.FindAllStringSubmatch(k.Template, -1), func(m []string) bool {
		return slices.Contains([]string{"pod", "index", "index1", "local", "pid"}, m[1]) || m[1] == "pad" && !strings.HasSuffix(m[2], "host")
	})
}

// recollect puts a collector's words in the place of srun's labels; done is false where there are no labels.
func (k *Collector) recollect(inc *simulate.Incident) (files []simulate.File, done bool) {
	files = slices.Clone(inc.Files)
	for i, f := range files {
		lines := strings.Split(strings.TrimSuffix(string(f.Data), "\n"), "\n")
		most := 0
		for _, l := range lines {
			if m := label.FindStringSubmatch(l); m != nil {
				n, _ := strconv.Atoi(m[1])
				most = max(most, n+1)
			}
		}
		if most < 2 {
			continue
		}
		done = true
		each := max(1, most/max(1, len(inc.Played.Nodes)))
		now := inc.Played.Start
		for n, l := range lines {
			m := label.FindStringSubmatch(l)
			if m == nil {
				continue
			}
			text := l[len(m[0]):]
			if c := clockTime.FindStringSubmatch(text[:min(len(text), 100)]); c != nil {
				part := func(k int) int { v, _ := strconv.Atoi(c[k]); return v }
				now = time.Date(now.Year(), now.Month(), now.Day(), part(1), part(2), part(3), part(4)*1e6, time.UTC)
			}
			index, _ := strconv.Atoi(m[1])
			w := writer{index: index, local: index % each, pid: 4000 + 37*index, pod: fmt.Sprintf("train-4242-worker-%d", index), errors: errorWord.MatchString(text)}
			w.host = inc.Played.Nodes[min(index/each, len(inc.Played.Nodes)-1)]
			lines[n] = k.fill(&w, text, now, n)
		}
		files[i] = simulate.File{Name: f.Name, Data: []byte(strings.Join(lines, "\n") + "\n")}
	}
	return files, done
}

// collect runs a simulated case twice with all its processes in one log: behind srun's labels, and as another collector has them.
func (t *Tried) collect(ctx context.Context, c *caseFile, opts Options, temp string) error {
	if c.Spec == nil {
		return nil
	}
	inc, err := merged(*c.Spec)
	if err != nil {
		return fmt.Errorf("playing a case again: %w", err)
	}
	c.Truth = &inc.Truth
	r := rand.New(rand.NewPCG(seedOf(t.ID), 2))
	k := madeUp(r)
	if n := len(opts.Collectors); n > 0 {
		k = opts.Collectors[r.IntN(n)]
	}
	again := *inc
	again.Files, t.Tried = k.recollect(inc)
	t.Out = []string{k.Template}
	if !t.Tried {
		return nil
	}
	var reports [2]*incident.Report
	for i, inc := range []*simulate.Incident{inc, &again} {
		dir := filepath.Join(temp, fmt.Sprint(i))
		if err := simulate.Write(dir, inc); err != nil {
			return err
		}
		_, in, err := load(filepath.Join(dir, inc.ID), func() (string, error) { return temp, nil })
		if err != nil {
			return err
		}
		if reports[i], err = protected(ctx, in, opts.engine()); err != nil {
			return err
		}
	}
	today, then := reports[0], reports[1]
	right, judged := rightOf(c, today)
	t.Today = judged && right
	t.Confident = t.Today && today.Verdict.Confidence >= Sure
	key := keyLines(today)
	for i := range key {
		t.Key = append(t.Key, fmt.Sprintf("%s:%d %s", key[i].File, key[i].Line, key[i].Text))
		key[i].Text = label.ReplaceAllString(key[i].Text, "")
	}
	t.judge(c, today, then, nil, key)
	if t.Today && len(today.Verdict.Root.Ranks)+len(today.Verdict.Root.Nodes) > 0 {
		ok := samePlace(&today.Verdict, &then.Verdict, k.tellsProcess())
		t.Placed = &ok
	}
	return nil
}

// samePlace says that the ranks are named again, or, where none are or nobody tells the processes of a node apart, the nodes. A collector may
// give a node the name of its container.
func samePlace(today, then *incident.Verdict, processes bool) bool {
	if len(today.Root.Ranks) > 0 && (processes || len(then.Root.Ranks) > 0) {
		return slices.Equal(today.Root.Ranks, then.Root.Ranks)
	}
	return len(then.Root.Nodes) == len(today.Root.Nodes)
}

// fill fills in a template for one line.
func (k *Collector) fill(w *writer, text string, at time.Time, seq int) string {
	var value func(string) string
	value = func(m string) string {
		f := field.FindStringSubmatch(m)
		either := func(a, b string) string {
			if out, err, ok := strings.Cut(f[2], "|"); ok {
				a, b = out, err
			}
			if w.errors {
				return b
			}
			return a
		}
		switch f[1] {
		case "text":
			if k.JSON {
				b, _ := json.Marshal(text) // a string
				return string(b[1 : len(b)-1])
			}
			return text
		case "host":
			return w.host
		case "fqdn":
			return w.host + ".cluster.example"
		case "ip":
			return fmt.Sprintf("10.4.%d.%d", w.index/200, w.index%200+10)
		case "pod":
			return w.pod
		case "index":
			return strconv.Itoa(w.index)
		case "index1":
			return strconv.Itoa(w.index + 1)
		case "local":
			return strconv.Itoa(w.local)
		case "pid":
			return strconv.Itoa(w.pid)
		case "stream":
			return either("stdout", "stderr")
		case "level":
			return either("INFO", "ERROR")
		case "seq":
			return strconv.Itoa(100000 + seq)
		case "pad":
			width, name, _ := strings.Cut(f[2], ":")
			n, _ := strconv.Atoi(strings.TrimLeft(width, "-0"))
			v := value("{" + name + "}")
			switch {
			case strings.HasPrefix(width, "0"):
				return strings.Repeat("0", max(0, n-len(v))) + v
			case strings.HasPrefix(width, "-"):
				return fmt.Sprintf("%*s", n, v)
			}
			return fmt.Sprintf("%-*s", n, v)
		case "ts":
			switch f[2] {
			case "unix":
				return strconv.FormatInt(at.Unix(), 10)
			case "unixms":
				return strconv.FormatInt(at.UnixMilli(), 10)
			case "unixns":
				return strconv.FormatInt(at.UnixNano(), 10)
			}
			return at.Format(f[2])
		}
		return m
	}
	return field.ReplaceAllStringFunc(k.Template, value)
}

// madeUp is a template that nobody has seen.
func madeUp(r *rand.Rand) Collector {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	type column struct{ key, value string }
	who := []column{
		{pick("host", "node", "hostname", "instance", "machine", "nodeName"), pick("{host}", "{host}", "{fqdn}")},
		{pick("pod", "pod_name", "container", "replica", "task", "unit"), "{pod}"},
		{pick("index", "task", "replica", "worker", "proc", "rank", "shard"), "{index}"},
	}
	columns := []column{who[1+r.IntN(2)]} // one at least tells the processes of a node apart
	if r.IntN(2) == 0 {
		columns = append(columns, who[0])
	}
	for _, more := range []struct {
		of100 int
		column
	}{
		{70, column{pick("time", "ts", "@timestamp", "when"), pick("{ts:2006-01-02T15:04:05.000Z}", "{ts:2006-01-02 15:04:05.000}", "{ts:Jan _2 15:04:05}", "{ts:15:04:05}", "{ts:unixms}")}},
		{30, column{pick("stream", "source", "fd"), pick("{stream}", "{stream:O|E}", "{stream:1|2}")}},
		{20, column{pick("level", "severity", "lvl"), "{level}"}},
		{15, column{pick("seq", "offset", "id"), "{seq}"}},
		{25, column{"pid", "{pid}"}},
		{50, column{pick("job", "namespace", "service", "app"), pick("llm-pretrain", "team-a", "pytorch", "job-4242", "main")}},
	} {
		if r.IntN(100) < more.of100 {
			columns = append(columns, more.column)
		}
	}
	r.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
	if r.IntN(100) < 30 {
		columns = append(columns, column{pick("message", "msg", "log", "text", "body", "content", "data"), "{text}"})
		r.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
		var members []string
		for _, c := range columns {
			v := `"` + c.value + `"`
			if slices.Contains([]string{"{index}", "{pid}", "{seq}", "{ts:unixms}"}, c.value) {
				v = c.value
			}
			members = append(members, fmt.Sprintf(`"%s": %s`, c.key, v))
		}
		return Collector{Template: "{" + strings.Join(members, ", ") + "}", JSON: true}
	}
	var parts []string
	style := pick("%[2]s", "[%[2]s]", "(%[2]s)", "<%[2]s>", "%[1]s=%[2]s", "%[2]s")
	for _, c := range columns {
		if r.IntN(3) == 0 {
			style = pick("%[2]s", "[%[2]s]", "(%[2]s)", "{%[2]s}", "%[1]s=%[2]s", "%[1]s:%[2]s", "[%[1]s %[2]s]")
		}
		parts = append(parts, fmt.Sprintf(style, c.key, c.value))
	}
	return Collector{Template: strings.Join(parts, pick(" ", " ", " | ", "/", ",", "\t", " - ", ":")) + pick(": ", " | ", "> ", " - ", " :: ", "\t", " >>> ", ": ", " ") + "{text}"}
}
