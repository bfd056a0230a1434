// Package frtrace reads what PyTorch's own analysis of flight recorders prints (torchfrtrace, tools/flight_recorder/fr_trace.py, python -m
// torch.distributed.flight_recorder.fr_trace): which collective of which group did not match, and who was missing in it or called
// something else. Its ranks are those of the job.
//
// Formats: PyTorch 2.5 to 2.10 (components/builder.py, components/types.py: EntryState.log). A report of one collective is a sentence and
// lines "name: value" below it. The analysis goes through a group's collectives in order and reports the first that does not match: all
// before it did, on all members. Who is called the culprit there only differs from the first rank that was looked at.
package frtrace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/analysis/ascii"
	"faultline/pattern"
)

// Kind is what did not match.
type Kind string

// The kinds of reports.
const (
	Missing  Kind = "missing"  // ranks did not join
	Mismatch Kind = "mismatch" // ranks joined with something else
	State    Kind = "state"    // the same call, further on some ranks than on others
	Open     Kind = "open"     // dumps are missing, and nothing can be said
)

// Report is what is said of one collective.
type Report struct {
	lines.Place
	Kind     Kind
	Seq      int64  // −1 unknown
	Group    string // "0:default_pg"
	Op       string // "all_reduce"
	Missing  []int
	MissedAt lines.Place
	Expected []int
	World    int // members of the group; 0 unknown
	Culprits []int
	ErrorAt  lines.Place
	Frame    string // innermost of the program, "reduce_loss at /w/train.py:211"
}

// Joined are the members that are in the collective: those that are expected and not missing.
func (r *Report) Joined() []int {
	return slices.DeleteFunc(slices.Clone(r.Expected), func(id int) bool { return slices.Contains(r.Missing, id) })
}

// Analysis is one file.
type Analysis struct {
	Reports []Report
}

const (
	maxReports = 4096
	maxRanks   = 1 << 17
)

var (
	head = pattern.New(`Not all ranks joining collective(?:[,:]? sequence number:? (\d{1,18})| (\d{1,18}) at entry \d+|\b)`)
	// From before 2.6 everything stands on one line.
	oneLine = pattern.New(`Not all ranks joining collective for group (\S+) collective (?:nccl|xccl|gloo):(\S+).* Missing ranks are (\{[^}]*\})`)
	differ  = pattern.New(`(?:Collective sequence number: (\d{1,18}) has errors|Input/output mismatch in the collective sequence number: (\d{1,18}))`)
	culprit = pattern.New(`Culprit rank (\d{1,6}); Error type: ([A-Z_]+)`)
	missed  = pattern.New(`we missed FR dumps from ranks \((\{[^}]*\})\)`)
)

// sequence stands wherever differ matches, and is looked for much faster.
const sequence = "ollective sequence number: "

// Recognise knows such output by one of its sentences.
func Recognise(start []byte) bool {
	return bytes.Contains(start, []byte("Not all ranks joining collective")) || bytes.Contains(start, []byte(sequence)) && differ.Match(start) || bytes.Contains(start, []byte("we missed FR dumps from ranks"))
}

// Read reads a file.
func Read(ctx context.Context, r io.Reader) (*Analysis, error) {
	a := &Analysis{}
	var at *Report
	stack := false
	begin := func(x Report) {
		at, stack = nil, false
		if len(a.Reports) == maxReports {
			return
		}
		a.Reports = append(a.Reports, x)
		at = &a.Reports[len(a.Reports)-1]
	}
	err := lines.Each(ctx, r, func(l lines.Line) error {
		switch {
		case strings.Contains(l.Text, "Not all ranks joining collective"):
			x := Report{Place: l.Place, Kind: Missing, Seq: -1}
			if m := head.FindStringSubmatch(l.Text); m != nil {
				x.Seq = number(m[1] + m[2])
			}
			if m := oneLine.FindStringSubmatch(l.Text); m != nil {
				x.Group, x.Op, x.Missing, x.MissedAt = m[1], m[2], ranks(m[3]), l.Place
			}
			begin(x)
			return nil
		case strings.Contains(l.Text, sequence):
			if m := differ.FindStringSubmatch(l.Text); m != nil {
				begin(Report{Place: l.Place, Kind: Mismatch, Seq: number(m[1] + m[2])})
				return nil
			}
		case strings.Contains(l.Text, "we missed FR dumps from ranks"):
			if m := missed.FindStringSubmatch(l.Text); m != nil {
				begin(Report{Place: l.Place, Kind: Open, Seq: -1, Missing: ranks(m[1]), MissedAt: l.Place})
			}
			return nil
		}
		if at == nil {
			return nil
		}
		if stack {
			if f, ok := frame(l.Text); !ok {
				stack = false
			} else if at.Frame == "" && !library(f) {
				at.Frame = f
			}
		}
		at.line(l)
		stack = stack || strings.Contains(l.Text, "collective stack trace:")
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(a.Reports) == 0 {
		return nil, errors.New("it holds no report of torchfrtrace")
	}
	return a, nil
}

// line reads one of the lines below a report's first.
func (r *Report) line(l lines.Line) {
	name, value, ok := strings.Cut(strings.TrimSpace(l.Text), ": ")
	if !ok {
		return
	}
	if i := strings.LastIndex(name, "] "); i >= 0 {
		name = name[i+2:] // a logger's prefix
	}
	switch name {
	case "group info":
		r.Group = clip(value)
	case "collective":
		_, op, _ := strings.Cut(value, ":")
		op, _, _ = strings.Cut(op, " ")
		r.Op = clip(op)
	case "missing ranks":
		r.Missing, r.MissedAt = ranks(value), l.Place
	case "expected ranks":
		if r.Expected = ranks(value); len(r.Expected) == 0 {
			r.World = max(0, int(number(value)))
		}
	case "world size":
		r.World = max(0, int(number(value)))
	case "error msg":
		r.ErrorAt = l.Place
		state := true
		for _, m := range culprit.FindAllStringSubmatch(value, -1) {
			if id := int(number(m[1])); id >= 0 && id < maxRanks && len(r.Culprits) < maxRanks {
				r.Culprits = append(r.Culprits, id)
			}
			state = state && m[2] == "COLLECTIVE_STATE_MISMATCH"
		}
		slices.Sort(r.Culprits)
		r.Culprits = slices.Compact(r.Culprits)
		if state && len(r.Culprits) > 0 {
			r.Kind = State
		}
	}
}

func clip(s string) string {
	if len(s) > 256 {
		s = s[:256]
	}
	return strings.ToValidUTF8(s, "?")
}

func number(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n > 1<<40 {
		return -1
	}
	return n
}

// ranks reads a set as Python prints it: "{3, 4, 5}"; nil where it is none.
func ranks(s string) []int {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{") {
		return nil
	}
	s, _, _ = strings.Cut(s[1:], "}")
	var out []int
	for x := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(x))
		if err != nil || n < 0 || n >= maxRanks {
			return nil
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var framed = pattern.New(`^\s*(\S[^\n]{0,200}?) at (\S{1,300}:\d{1,7})\s*$`)

// frame reads "all_reduce at /p/torch/distributed/distributed_c10d.py:2707".
func frame(s string) (string, bool) {
	m := framed.FindStringSubmatch(s)
	if m == nil {
		return "", strings.TrimSpace(s) == ""
	}
	return clip(m[1] + " at " + m[2]), true
}

func library(f string) bool {
	return f == "" || ascii.Has(f, "torch/distributed/", "torch/utils/", "contextlib.py")
}
