package nccltests

import (
	"bufio"
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

// HeadLen is how much of a file Recognise wants to see.
const HeadLen = 64 << 10

var (
	parameters = pattern.New(`^# ?n?[tT]hreads?:? \d+ n?(?:Gpus|GPUs)?:? ?\d+ minBytes:? \d+ maxBytes:? \d+`)
	device     = pattern.New(`^#? +Rank +(\d{1,7})(?: +Group +(\d{1,7}))? +Pid +(\d{1,10}) +on +(\S{1,256}) +device +(\d{1,4}) +\[([0-9a-fA-Fx:.]{1,16})\] ?(.{0,80})$`)
	starting   = pattern.New(`^# Collective test (starting|concluded): ([a-z_]{1,32})_perf`)
	command    = pattern.New(`(?:^|[\s/])((?:all_reduce|all_gather|reduce_scatter|alltoallv?|broadcast|reduce|sendrecv|gather|scatter|hypercube))_perf(?:_mpi)?(?:\s|$)`)
	version    = pattern.New(`^#? ?(?:nccl|rccl)-tests:? [vV]ersion:? (\S{1,40})`)
	average    = pattern.New(`^#? ?Avg bus bandwidth +: +(-?[0-9.]{1,16}|nan)(?: +(OK|FAILED))?`)
	bounds     = pattern.New(`^#? ?Out of bounds values +: +(\d{1,18}) (OK|FAILED)`)
	failure    = pattern.New(`^(\S{1,256}): Test (?:CUDA|HIP|NCCL|RCCL) failure .{1,200}$`)
)

// Recognise says that a file is the output of a test, or a log that holds one: the line of its parameters, or the header of its table
// under the list of its devices. A log that merely quotes a row is none.
func Recognise(head []byte) bool {
	if !bytes.Contains(head, []byte("minBytes")) && !bytes.Contains(head, []byte("algbw")) {
		return false
	}
	devices, header := false, false
	for len(head) > 0 {
		var l []byte
		l, head, _ = bytes.Cut(head, []byte("\n"))
		if len(l) > lines.Max {
			continue
		}
		text := strings.TrimRight(string(l), "\r")
		for range 2 {
			switch {
			case parameters.MatchString(text):
				return true
			case device.MatchString(text):
				devices = true
			case columns(text) != nil:
				header = true
			}
			rest, _, ok := lines.Peel(text)
			if !ok {
				break
			}
			text = rest
		}
		if devices && header {
			return true
		}
	}
	return false
}

// Read reads all tests of a file; other lines between are passed over.
func Read(ctx context.Context, in io.Reader) ([]Run, error) {
	br := bufio.NewReaderSize(in, 4096)
	start, err := br.Peek(64)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if t := bytes.TrimLeft(start, " \t\r\n\xef\xbb\xbf"); len(t) > 0 && t[0] == '{' {
		return readJSON(br)
	}
	in = br
	r := &reader{}
	err = lines.Each(ctx, in, func(l lines.Line) error {
		text := l.Text
		for range 3 {
			if r.line(l, text) {
				return nil
			}
			rest, _, ok := lines.Peel(text)
			if !ok {
				return nil
			}
			text = rest
		}
		return nil
	})
	r.close()
	return r.runs, err
}

type reader struct {
	runs    []Run
	run     *Run
	next    string   // the collective that a command names, for the next test
	columns []string // of the present table
}

// open starts a test unless the present one is still at its beginning.
func (r *reader) open(at lines.Place, fresh bool) *Run {
	if r.run != nil && (!fresh || len(r.run.Rows)+len(r.run.Devices) == 0 && !r.run.HasAverage) {
		return r.run
	}
	r.close()
	r.run = &Run{Collective: r.next, Start: at, OutOfBounds: -1}
	r.next = ""
	return r.run
}

func (r *reader) close() {
	if r.run != nil && len(r.run.Devices)+len(r.run.Rows) > 0 {
		if len(r.runs) < maxRuns {
			r.runs = append(r.runs, *r.run)
		}
	}
	r.run, r.columns = nil, nil
}

// line takes one line and says whether it was of a test.
func (r *reader) line(l lines.Line, text string) bool {
	body := strings.TrimLeft(text, " ")
	switch {
	case body == "":
		return true
	case ascii.Digit(body[0]):
		return r.row(l, body)
	case parameters.MatchString(body):
		name := ""
		if r.run != nil && len(r.run.Rows)+len(r.run.Devices) == 0 {
			name = r.run.Collective
		}
		if run := r.open(l.Place, true); run.Collective == "" {
			run.Collective = name
		}
		return true
	}
	if m := device.FindStringSubmatch(text); m != nil {
		// Lists of devices are printed once per test: a rank seen before begins another.
		d := Device{Rank: atoi(m[1]), Group: atoi(m[2]), Host: m[4]}
		run := r.open(l.Place, r.run != nil && (len(r.run.Rows) > 0 || r.run.HasAverage))
		if len(run.Devices) < maxDevices {
			run.Devices = append(run.Devices, d)
		}
		return true
	}
	if c := columns(text); c != nil {
		r.open(l.Place, r.run != nil && r.run.HasAverage)
		r.columns = c
		return true
	}
	return r.words(l, text, body)
}

// words reads the lines around the table.
func (r *reader) words(l lines.Line, text, body string) bool {
	if m := starting.FindStringSubmatch(body); m != nil {
		if m[1] == "starting" {
			r.open(l.Place, true).Collective = m[2]
		} else if r.run != nil && (r.run.Collective == "" || r.run.Collective == m[2]) {
			r.run.Collective = m[2]
			r.close()
		}
		return true
	}
	if version.MatchString(body) {
		r.open(l.Place, r.run != nil && r.run.HasAverage)
		return true
	}
	if m := bounds.FindStringSubmatch(body); m != nil {
		if r.run != nil {
			r.run.OutOfBounds, r.run.Failed, r.run.OutOfBoundsAt = int64(atoi(m[1])), m[2] == "FAILED", l.Place
		}
		return true
	}
	if m := average.FindStringSubmatch(body); m != nil {
		if r.run != nil && !r.run.HasAverage {
			if v, err := strconv.ParseFloat(m[1], 64); err == nil {
				r.run.Average, r.run.HasAverage, r.run.AverageAt, r.run.Below = v, true, l.Place, m[2] == "FAILED"
			}
		}
		return true
	}
	if m := failure.FindStringSubmatch(body); m != nil {
		if r.run != nil && len(r.run.Errors) < maxErrors {
			r.run.Errors = append(r.run.Errors, Failure{Host: m[1], Place: l.Place})
		}
		return true
	}
	if m := command.FindStringSubmatch(text); m != nil && !strings.Contains(text, "NCCL INFO") {
		if r.run != nil && (len(r.run.Rows) > 0 || r.run.HasAverage) {
			r.close()
		}
		if r.run == nil || r.run.Collective == "" {
			r.next = strings.TrimSuffix(m[1], "v")
		}
	}
	return false
}

// columns reads a table's header: "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong"; nil if it is none.
func columns(text string) []string {
	body, ok := strings.CutPrefix(strings.TrimLeft(text, " "), "#")
	if !ok || !strings.Contains(body, "algbw") || !strings.Contains(body, "busbw") {
		return nil
	}
	names := strings.Fields(body)
	if len(names) < 6 || len(names) > 24 || names[0] != "size" || names[1] != "count" {
		return nil
	}
	for i, n := range names {
		if n == "cputime" {
			names[i] = "time"
		}
	}
	if !slices.Contains(names, "time") {
		return nil
	}
	return names
}

// row reads one line of the table by the names of its columns.
func (r *reader) row(l lines.Line, body string) bool {
	if r.run == nil || r.columns == nil || l.Cut {
		return false
	}
	cells := strings.Fields(body)
	if len(cells) < len(r.columns) || len(cells) > len(r.columns)+2 {
		return false
	}
	w := Row{Place: l.Place, Out: Half{Wrong: -1}, In: Half{Wrong: -1}}
	h := &w.Out
	times := 0
	for i, name := range r.columns {
		c := cells[i]
		ok := true
		switch name {
		case "size":
			w.Size, ok = number(c)
		case "count":
			_, ok = number(c)
		case "type":
			w.Type = c
			ok = !ascii.Digit(c[0])
		case "time":
			if times++; times == 2 {
				h = &w.In
			}
			h.Micros, ok = decimal(c)
			h.There = ok
			ok = ok || c == "N/A"
		case "algbw":
			if h.Alg, ok = decimal(c); ok {
				h.decimal = decimals(c)
			} else {
				ok, h.There = c == "N/A", false
			}
		case "busbw":
			if h.Bus, ok = decimal(c); !ok {
				ok, h.There = c == "N/A", false
			}
		case "timestamp":
			if r.run.Began == "" && i+1 < len(cells) {
				r.run.Began = began(c + " " + cells[i+1])
			}
		case "#wrong":
			if n, whole := number(c); whole {
				h.Wrong = n
			} else {
				ok = c == "N/A"
			}
		}
		if !ok {
			return false
		}
	}
	if len(r.run.Rows) >= maxRows {
		r.run.RowsMore++
		copy(r.run.Rows, r.run.Rows[1:]) // the last ones are the large sizes
		r.run.Rows[maxRows-1] = w
		return true
	}
	r.run.Rows = append(r.run.Rows, w)
	return true
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func number(s string) (int64, bool) {
	if s == "" || !ascii.Digit(s[0]) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func decimal(s string) (float64, bool) {
	if s == "" || !ascii.Digit(s[0]) || len(s) > 24 {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

func decimals(s string) int {
	_, frac, ok := strings.Cut(s, ".")
	if !ok {
		return 0
	}
	return min(len(frac), 6)
}
