package nccltests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"

	"faultline/analysis/ascii"
	"faultline/pattern"
)

// The report that -J FILE (--output_file) writes, since nccl-tests 2.17. Source: src/util.cu, its jsonOutputInit, writeDeviceReport,
// writeBenchmarkLineBody and writeResultFooter (version 2 of the file). It holds the environment of the process, which is never read.

// maxJSON is the largest report that is read; it is what the verifier reads, too.
const maxJSON = 32 << 20

var jsonStart = pattern.New(`^\s*\{\s*"version"\s*:\s*\d{1,4}\s*,\s*"start_time"\s*:\s*"[^"]{0,64}"\s*,\s*"args"\s*:\s*\[\s*"[^"]{0,1000}_perf`)

// RecogniseJSON says that a file is such a report: by how the program begins it, or by its keys where it was written anew.
func RecogniseJSON(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if t := bytes.TrimLeft(head, " \t\r\n"); len(t) == 0 || t[0] != '{' {
		return false
	}
	if jsonStart.Match(head) {
		return true
	}
	for _, key := range []string{`"average_bus_bandwidth"`, `"out_of_bounds"`, `"results"`, `"bus_bw"`} {
		if !bytes.Contains(head, []byte(key)) {
			return false
		}
	}
	return true
}

// value is a number as it was written: the program writes "nan" in quotes, and null where nothing was checked.
type value string

func (v *value) UnmarshalJSON(b []byte) error {
	if len(b) <= 32 {
		*v = value(bytes.Trim(b, `"`))
	}
	return nil
}

func (v value) number() (float64, bool) {
	if v == "" || v[0] != '-' && !ascii.Digit(v[0]) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil && f >= 0 && !math.IsInf(f, 0)
}

type report struct {
	Started string   `json:"start_time"`
	Args    []string `json:"args"`
	Config  struct {
		Threads int `json:"nthreads"`
		GPUs    int `json:"ngpus"`
		Devices []struct {
			Rank  int    `json:"rank"`
			Group int    `json:"group"`
			Host  string `json:"hostname"`
		} `json:"devices"`
	} `json:"config"`
	Results []struct {
		Size int64  `json:"size"`
		Type string `json:"type"`
		Out  *side  `json:"out_of_place"`
		In   *side  `json:"in_place"`
	} `json:"results"`
	Bounds *struct {
		Count int64 `json:"count"`
		Okay  value `json:"okay"`
	} `json:"out_of_bounds"`
	Average *struct {
		Bandwidth value `json:"bandwidth"`
		Okay      value `json:"okay"`
	} `json:"average_bus_bandwidth"`
}

type side struct {
	Time    value `json:"time"`
	CPUTime value `json:"cpu_time"`
	Alg     value `json:"alg_bw"`
	Bus     value `json:"bus_bw"`
	Wrong   value `json:"nwrong"`
}

func readJSON(in io.Reader) ([]Run, error) {
	b, err := io.ReadAll(io.LimitReader(in, maxJSON+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxJSON {
		return nil, fmt.Errorf("too long for a report of nccl-tests: more than %d MiB", maxJSON>>20)
	}
	var r report
	if err := json.Unmarshal(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), &r); err != nil {
		if syntax := new(json.SyntaxError); errors.As(err, &syntax) && syntax.Offset >= int64(len(b)) {
			return nil, errors.New("a report of nccl-tests that is not closed: the test did not come to its end; the table that it prints says how far it came")
		}
		return nil, fmt.Errorf("not the JSON of one run of nccl-tests: %w", err)
	}
	if r.Results == nil && r.Config.Devices == nil {
		return nil, errors.New("JSON, and not of nccl-tests")
	}
	return []Run{r.run()}, nil
}

func (r *report) run() Run {
	out := Run{JSON: true, OutOfBounds: -1, Each: 1, Began: began(r.Started)}
	if len(r.Args) > 0 {
		name := strings.TrimSuffix(path.Base(r.Args[0]), "_mpi")
		if name, ok := strings.CutSuffix(name, "_perf"); ok && factors[strings.TrimSuffix(name, "v")] != nil {
			out.Collective = strings.TrimSuffix(name, "v")
		}
	}
	// The list has the first GPU of each process only.
	if n := r.Config.Threads * r.Config.GPUs; r.Config.Threads > 0 && r.Config.GPUs > 0 && r.Config.Threads < 1<<12 && r.Config.GPUs < 1<<12 {
		out.Each = n
	}
	for _, d := range r.Config.Devices[:min(len(r.Config.Devices), maxDevices)] {
		out.Devices = append(out.Devices, Device{Rank: d.Rank, Group: d.Group, Host: bounded(d.Host, 256)})
	}
	out.RowsMore = max(0, len(r.Results)-maxRows)
	for i := out.RowsMore; i < len(r.Results); i++ {
		w := &r.Results[i]
		out.Rows = append(out.Rows, Row{Size: w.Size, Type: bounded(w.Type, 32), Record: fmt.Sprintf("results[%d]", i),
			Out: w.Out.half(), In: w.In.half()})
	}
	if r.Bounds != nil {
		out.OutOfBounds, out.Failed = r.Bounds.Count, r.Bounds.Okay == "false"
	}
	if r.Average != nil {
		if v, ok := r.Average.Bandwidth.number(); ok {
			out.Average, out.HasAverage, out.Below = v, true, r.Average.Okay == "false"
		}
	}
	return out
}

func (h *side) half() Half {
	if h == nil {
		return Half{Wrong: -1}
	}
	out := Half{Wrong: -1, decimal: 6, Value: string(h.Bus), WrongValue: string(h.Wrong)}
	var times, alg, bus bool
	out.Micros, times = h.Time.number()
	if !times {
		out.Micros, times = h.CPUTime.number()
	}
	out.Alg, alg = h.Alg.number()
	out.Bus, bus = h.Bus.number()
	out.There = times && alg && bus
	if v, ok := h.Wrong.number(); ok && v < 1e18 {
		out.Wrong = int64(v)
	}
	return out
}

var clock = pattern.New(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`)

// began is a time as the program writes it, "" for anything else.
func began(s string) string {
	if clock.MatchString(s) {
		return s
	}
	return ""
}

func bounded(s string, n int) string { return s[:min(len(s), n)] }
