// Package numbers reads tables of what a training run measured of itself, step by step and rank by rank: CSV with a line of headings, or
// JSON lines, as CSVLogger, W&B's and MLflow's exports, and people's own scripts write them. It keeps losses, norms of gradients and
// checksums of parameters, each with the line it stands in.
//
// Sources: Lightning's CSVLogger (metrics.csv: epoch, step, train_loss, …; empty cells where a line has no such value),
// TensorBoard's and W&B's CSV (Step, _step), Hugging Face's trainer_state entries as JSON lines (loss, grad_norm, step).
package numbers

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"faultline/pattern"
)

// HeadLen is how much of a file Recognise wants to see.
const HeadLen = 8 << 10

// None is a step or a rank that is not stated.
const None = -1

// What a value is.
const (
	Loss     = "loss"
	Gradient = "gradient norm"
	Checksum = "checksum"
)

// Table is what one file says.
type Table struct {
	Form   string // csv, jsonl
	Ranked bool   // each line states a rank; else the file's name may
	Rows   []Row  // in order of the file
	Lines  []Line // of a table in CSV, what each says
	Odd    int    // lines that are none of the table
}

// Line is a row of a table as the object in JSON that says the same: so it is read as other programs write it.
type Line struct {
	At   Place
	Text string
}

// Row is one value of one line.
type Row struct {
	Rank  int
	Step  int64
	What  string // Loss, Gradient, Checksum
	Name  string // the column
	Group string // of ranks that must agree, where a column states it: "dp"; "" not stated
	Text  string // as written
	NaN   bool   // or infinite
	At    Place
	Pos   Position
}

// Position is where a rank stands in a job that is divided in several ways, by axis; Unplaced where no column states it.
type Position [Axes]int32

// The ways in which jobs are divided.
const (
	Tensor = iota
	Context
	Expert
	Data
	Pipeline
	Axes
)

// Unplaced is a position along an axis that is not stated.
const Unplaced = -1

// AxisNames are the axes for people, AxisShort as programs write them.
var (
	AxisNames = [Axes]string{"tensor", "context", "expert", "data", "pipeline"}
	AxisShort = [Axes]string{"tp", "cp", "ep", "dp", "pp"}
)

var nowhere = Position{Unplaced, Unplaced, Unplaced, Unplaced, Unplaced}

// Place is where a line stands; Key and Text of a row find the value in it.
type Place struct {
	Line, Off int64
	Len       int
}

const (
	maxRows  = 1 << 18
	maxLines = 1 << 14
	maxLine  = 64 << 10
	maxCols  = 1024
)

// column is what a heading or a key stands for.
type column uint8

const (
	other column = iota
	rankColumn
	stepColumn
	lossColumn
	gradientColumn
	checksumColumn
	groupColumn
	axisColumn // and the axes behind it
)

// columns are the names, without case and with "_" for what stands between words.
var columns = []struct {
	is   column
	name *pattern.Regexp
}{
	{rankColumn, pattern.New(`^(?:global_)?rank$`)},
	{stepColumn, pattern.New(`^(?:_?step|global_step|train_step|iteration|iter)$`)},
	{groupColumn, pattern.New(`^(?:replica_group|dp_group|data_parallel_group|replica)$`)},
	{checksumColumn, pattern.New(`^(?:param(?:eter)?s?|weights?|model)_?(?:checksum|hash|crc|sha256|md5|digest)$|^checksum$`)},
	{gradientColumn, pattern.New(`^(?:[a-z]+_)?(?:grad(?:ient)?s?_norm|gnorm)(?:_[a-z]+)?$`)},
	{lossColumn, pattern.New(`^(?:[a-z]+_)?loss(?:_[a-z]+)?$`)},
}

// elsewhere are words of a loss or a norm that is not the training's own.
var elsewhere = pattern.New(`(?:^|_)(?:val|valid|validation|eval|test|dev|aux|scale|scaler|balance|weight|best|target|ratio|clip|clipped|threshold|z)(?:_|$)`)

// columnOf is what a name stands for.
func columnOf(name string) column {
	if i := strings.LastIndex(name, " - "); i >= 0 { // W&B's export of a chart: "amber-sun-12 - train/loss"
		name = name[i+len(" - "):]
	}
	if len(name) > 64 {
		return other
	}
	name = strings.ToLower(strings.TrimSpace(name))
	if i := strings.LastIndexByte(name, '/'); i >= 0 { // train/loss
		if p := name[:i]; p != "train" && p != "training" && p != "trainer" {
			return other
		}
		name = name[i+1:]
	}
	name = strings.NewReplacer(" ", "_", "-", "_").Replace(name)
	for _, c := range columns {
		if c.name.MatchString(name) && !elsewhere.MatchString(name) {
			return c.is
		}
	}
	if m := axisNames.FindStringSubmatch(name); m != nil {
		for i := range Axes {
			if m[i+1] != "" {
				return axisColumn + column(i)
			}
		}
	}
	return other
}

// axisNames are the columns that place a rank: Megatron's and DeepSpeed's words for them.
var axisNames = pattern.New(`^(?:(tp|tensor(?:_model)?_parallel)|(cp|context_parallel)|(ep|expert(?:_model)?_parallel)|(dp|data_parallel)|(pp|pipeline(?:_model)?_parallel))_rank$`)

// measured says that columns make a table of such numbers: a step, and something that is compared.
func measured(cols []column) bool {
	step, value := false, false
	for _, c := range cols {
		step = step || c == stepColumn
		value = value || c == lossColumn || c == gradientColumn || c == checksumColumn
	}
	return step && value
}

// Recognise says whether a file that begins so is such a table: its first line is a heading of at least two columns, or each of
// its first lines is an object with a step and a number that is compared. A log of a worker is neither.
func Recognise(head []byte) bool {
	first, rest, _ := bytes.Cut(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), []byte("\n"))
	first = bytes.TrimSpace(first)
	if len(first) == 0 || len(first) > maxLine {
		return false
	}
	if first[0] == '{' {
		cols, ok := objectColumns(first)
		if !ok || !measured(cols) {
			return false
		}
		second, _, whole := bytes.Cut(rest, []byte("\n"))
		if second = bytes.TrimSpace(second); whole && len(second) > 0 {
			_, ok = objectColumns(second)
		}
		return ok
	}
	sep := separator(first)
	names, ok := cells(first, sep)
	if !ok || len(names) < 2 {
		return false
	}
	var cols []column
	for _, n := range names {
		if _, err := strconv.ParseFloat(n, 64); err == nil {
			return false // a line of values
		}
		cols = append(cols, columnOf(n))
	}
	if !measured(cols) {
		return false
	}
	second, _, whole := bytes.Cut(rest, []byte("\n"))
	if !whole || len(bytes.TrimSpace(second)) == 0 {
		return true
	}
	values, ok := cells(bytes.Trim(second, " \r\n"), sep)
	return ok && len(values) == len(names)
}

// separator is what stands between the cells of a table that begins so.
func separator(heading []byte) byte {
	if bytes.IndexByte(heading, ',') < 0 {
		return '\t'
	}
	return ','
}

// cells divides a line of CSV, or of the same with tabs. Quoted cells lose their quotes; a quote within a cell is doubled.
func cells(b []byte, sep byte) ([]string, bool) {
	var out []string
	for {
		if len(out) >= maxCols {
			return nil, false
		}
		if len(b) > 0 && b[0] == '"' {
			var cell []byte
			i := 1
			for {
				n := bytes.IndexByte(b[i:], '"')
				if n < 0 {
					return nil, false
				}
				cell = append(cell, b[i:i+n]...)
				i += n + 1
				if i < len(b) && b[i] == '"' {
					cell = append(cell, '"')
					i++
					continue
				}
				break
			}
			out = append(out, string(cell))
			if i == len(b) {
				return out, true
			}
			if b[i] != sep {
				return nil, false
			}
			b = b[i+1:]
			continue
		}
		i := bytes.IndexByte(b, sep)
		if i < 0 {
			return append(out, string(b)), true
		}
		out = append(out, string(b[:i]))
		b = b[i+1:]
	}
}

// parsed is a number as programs write it; NaN and infinity are numbers that are none.
func parsed(s string) (v float64, nan, ok bool) {
	s = strings.TrimSpace(s)
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(v, 0) || s == "" {
		return 0, false, false
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, true, true
	}
	return v, false, true
}
