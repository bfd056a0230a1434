package preflight

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Visit is one node at one check, a line of a record of health.
type Visit struct {
	Schema string    `json:"schema"`
	At     time.Time `json:"at"`
	Job    string    `json:"job,omitempty"`
	Pass   bool      `json:"pass"` // nothing was wrong with this node
	Facts  Facts     `json:"facts"`
}

// VisitSchema names the version of the lines.
const VisitSchema = "faultline.health/v1"

// Bounds of a record that is read: lines of another size are no visits.
const (
	mostVisits = 1 << 20
	mostLine   = mostFacts + 4096
)

// Visits are what a check notes of its nodes.
func Visits(all []Facts, findings []Finding, at time.Time, job string) []Visit {
	var out []Visit
	for i := range all {
		bad := slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Fail && f.Node == all[i].Node })
		if !all[i].Lost {
			out = append(out, Visit{VisitSchema, at.UTC().Truncate(time.Second), job, !bad, all[i]})
		}
	}
	return out
}

// WriteVisits appends lines.
func WriteVisits(w io.Writer, visits []Visit) error {
	var b strings.Builder
	for _, v := range visits {
		line, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("writing the visit of %s: %w", v.Facts.Node, err)
		}
		b.Write(append(line, '\n'))
	}
	_, err := io.WriteString(w, b.String()) // at once: several jobs may write to one record
	return err
}

// LastPasses are the newest visits at which nodes passed, by node. Lines that are none are counted and left out.
func LastPasses(r io.Reader) (last map[string]Visit, unread int, err error) {
	last = map[string]Visit{}
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), mostLine)
	for n := 0; in.Scan() && n < mostVisits; n++ {
		var v Visit
		if json.Unmarshal(in.Bytes(), &v) != nil || v.Schema != VisitSchema || v.Facts.Node == "" {
			unread++
			continue
		}
		if was, ok := last[v.Facts.Node]; v.Pass && (!ok || !v.At.Before(was.At)) {
			last[v.Facts.Node] = v
		}
	}
	if err := in.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, unread, fmt.Errorf("reading the record: %w", err)
	}
	return last, unread, nil
}

// Changed are findings of what is not as it was when a node last passed.
func Changed(last map[string]Visit, all []Facts) []Finding {
	var out []Finding
	for i := range all {
		was, ok := last[all[i].Node]
		if !ok || all[i].Lost {
			continue
		}
		changes := differences(&was.Facts, &all[i])
		if len(changes) == 0 {
			continue
		}
		out = append(out, Finding{Node: all[i].Node, Level: Warn, Check: "changed",
			Text: fmt.Sprintf("since its last pass on %s: %s", was.At.Format(time.DateOnly), strings.Join(changes, "; "))})
	}
	slices.SortFunc(out, func(a, b Finding) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

// Limits of what counts as a change of a figure that is never quite the same.
const (
	slowerShare = 0.7 // of the rate between nodes, or of writing
	lessMemory  = 0.95
)

// differences are those between two visits of one node that say something of its health.
func differences(was, now *Facts) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	text := func(what, before, after string) {
		if before != after && before != "" && after != "" {
			say("%s %s, previously %s", what, clip(after), clip(before))
		}
	}
	text("kernel", was.Kernel, now.Kernel)
	text("libc", was.Libc, now.Libc)
	if a, b := len(was.GPUs), len(now.GPUs); a != b {
		say("number of GPUs %d, previously %d", b, a)
	} else {
		for i := range now.GPUs {
			a, b := was.GPUs[i], now.GPUs[i]
			text(fmt.Sprintf("GPU %d", b.Index), a.Name, b.Name)
			if i == 0 {
				text("driver", a.Driver, b.Driver)
			}
			if a.Slowdown != b.Slowdown && b.Slowdown != "" {
				say("GPU %d clocks held down (%s)", b.Index, clip(b.Slowdown))
			}
		}
	}
	if float64(now.Memory) < lessMemory*float64(was.Memory) {
		say("%s of memory, previously %s", size(now.Memory), size(was.Memory))
	}
	for _, p := range was.Ports {
		i := slices.IndexFunc(now.Ports, func(o Port) bool { return o.Device == p.Device && o.Port == p.Port })
		switch {
		case i < 0:
			say("port %s/%s is gone", clip(p.Device), clip(p.Port))
		default:
			text("port "+clip(p.Device)+"/"+clip(p.Port), p.State, now.Ports[i].State)
			text("rate of "+clip(p.Device)+"/"+clip(p.Port), p.Rate, now.Ports[i].Rate)
		}
	}
	for _, n := range was.Interfaces {
		i := slices.IndexFunc(now.Interfaces, func(o Interface) bool { return o.Name == n.Name })
		switch {
		case i < 0:
			say("interface %s is gone", clip(n.Name))
		case now.Interfaces[i].MTU != n.MTU:
			say("MTU of %s is %d, previously %d", clip(n.Name), now.Interfaces[i].MTU, n.MTU)
		}
	}
	if was.Rate > 0 && now.Rate > 0 && now.Rate < slowerShare*was.Rate {
		say("sends %s/s, previously %s/s", size(int64(now.Rate)), size(int64(was.Rate)))
	}
	for _, r := range []struct {
		what          string
		before, after float64
	}{{"an all-reduce over its GPUs reaches", was.peak(), now.peak()}, {"writes over RDMA at", was.RDMA, now.RDMA}} {
		if r.after > 0 && r.after < slowerShare*r.before {
			say("%s %s, previously %s", r.what, gigabytes(r.after), gigabytes(r.before))
		}
	}
	for _, d := range was.Dirs {
		i := slices.IndexFunc(now.Dirs, func(o Dir) bool { return o.Path == d.Path && o.Write == d.Write })
		if i >= 0 && d.Rate > 0 && now.Dirs[i].Rate > 0 && now.Dirs[i].Rate < slowerShare*d.Rate {
			say("writes %s/s to %s, previously %s/s", size(int64(now.Dirs[i].Rate)), clip(d.Path), size(int64(d.Rate)))
		}
	}
	return out
}
