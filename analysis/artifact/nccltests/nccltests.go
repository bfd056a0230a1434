// Package nccltests reads what NVIDIA's nccl-tests print (all_reduce_perf and its siblings; AMD's rccl-tests print the same): who took
// part, and for each size the time, the algorithm's and the bus's bandwidth and how many values came out wrong.
//
// Formats: nccl-tests src/common.cu and src/<collective>.cu, 2.0 to 2.17, as text and as the JSON of -J. Columns differ over versions and collectives (redop and root
// are there or not; "error", the largest difference, became "#wrong", a number of elements, in 2.11), so they are read by the
// names in the header, never by position.
package nccltests

import (
	"math"
	"slices"

	"faultline/analysis/artifact/lines"
)

// Run is one test: one collective over one set of processes.
type Run struct {
	// Collective is its name as the program states it ("all_reduce"); "" where nothing in the file does.
	Collective string
	Start      lines.Place // its first line
	Devices    []Device
	Rows       []Row
	RowsMore   int // rows beyond what is kept
	// Average is the last line's "Avg bus bandwidth"; HasAverage says that it is there: then the test came to its end.
	Average    float64
	HasAverage bool
	AverageAt  lines.Place
	// Below: the program was told a least average (NCCL_TESTS_MIN_BW), and this is below 90 % of it.
	Below bool
	// Began is when, as the file states it, in the local time of the host; "" where it does not.
	Began string
	// JSON: rows stand in objects, not in lines. Each is how many ranks follow one another from each device that is listed.
	JSON bool
	Each int
	// OutOfBounds is how many sizes had values beyond the limit, −1 where the line is missing.
	OutOfBounds   int64
	Failed        bool // the line says FAILED
	OutOfBoundsAt lines.Place
	// Errors are lines by which the test itself ended: "Test CUDA failure", "Test NCCL failure".
	Errors []Failure
}

// Device is one rank of the test.
type Device struct {
	Rank, Group int
	Host        string
}

// Row is one size.
type Row struct {
	Size    int64
	Type    string
	Out, In Half // out of place, in place
	Place   lines.Place
	Record  string // the object in JSON
}

// Half is one of a row's two measurements.
type Half struct {
	Micros, Alg, Bus float64
	// Wrong is how many elements were wrong; −1: not checked (N/A), or an old version, which prints the largest difference.
	Wrong   int64
	There   bool
	decimal int // digits behind the point of Alg and Bus
	// Value and WrongValue are Bus and Wrong as JSON has them.
	Value, WrongValue string
}

// Failure is a line by which the program ended.
type Failure struct {
	Host  string
	Place lines.Place
}

// Bounds of what is kept.
const (
	maxRuns    = 512
	maxDevices = 1 << 16
	maxRows    = 256
	maxErrors  = 16
)

// factors is what turns a collective's algorithm bandwidth into its bus bandwidth over n ranks. Source: <Collective>GetBw of nccl-tests,
// and its doc/PERFORMANCE.md.
var factors = map[string]func(n float64) float64{
	"all_reduce":     func(n float64) float64 { return 2 * (n - 1) / n },
	"all_gather":     share,
	"reduce_scatter": share,
	"alltoall":       share,
	"gather":         share,
	"scatter":        share,
	"broadcast":      one,
	"reduce":         one,
	"sendrecv":       one,
	"hypercube":      one,
}

func share(n float64) float64 { return (n - 1) / n }
func one(float64) float64     { return 1 }

// Factor is bus bandwidth over algorithm bandwidth; ok is false for a collective or a number of ranks that is not known.
func Factor(collective string, n int) (float64, bool) {
	f := factors[collective]
	if f == nil || n < 2 {
		return 0, false
	}
	return f(float64(n)), true
}

// Hosts are the machines that took part, in order.
func (r *Run) Hosts() []string {
	var out []string
	for i := range r.Devices {
		out = append(out, r.Devices[i].Host)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Ranks is how many ranks work on one collective: all, or those of a group where the test was split; 0 where the list has gaps or
// the groups differ in size.
func (r *Run) Ranks() int {
	groups, ranks := map[int]int{}, map[int]bool{}
	most, each := -1, max(r.Each, 1)
	for i := range r.Devices {
		groups[r.Devices[i].Group] += each
		ranks[r.Devices[i].Rank] = true
		most = max(most, r.Devices[i].Rank)
	}
	if len(ranks) != len(r.Devices) || most+each != len(ranks)*each {
		return 0 // the list was cut, or two tests are mixed
	}
	n := 0
	for _, k := range groups {
		if n != 0 && n != k {
			return 0
		}
		n = k
	}
	return n
}

// Peak is the bus bandwidth at the largest size that was measured, out of place where that is there: what tests are compared by.
func (r *Run) Peak() (Row, float64, bool) {
	best := -1
	for i := range r.Rows {
		if best < 0 || r.Rows[i].Size >= r.Rows[best].Size {
			best = i
		}
	}
	if best < 0 {
		return Row{}, 0, false
	}
	bus, ok := r.Rows[best].Best()
	return r.Rows[best], bus, ok
}

// Took is how many ranks took part, in all groups.
func (r *Run) Took() int { return len(r.Devices) * max(r.Each, 1) }

// At is the row of one size; the last one where a test went through the sizes several times.
func (r *Run) At(size int64) (Row, bool) {
	for i := len(r.Rows) - 1; i >= 0; i-- {
		if r.Rows[i].Size == size {
			return r.Rows[i], true
		}
	}
	return Row{}, false
}

// Best is the larger bus bandwidth of a row's two measurements.
func (w *Row) Best() (float64, bool) {
	switch {
	case w.Out.There && w.In.There:
		return max(w.Out.Bus, w.In.Bus), true
	case w.Out.There:
		return w.Out.Bus, true
	case w.In.There:
		return w.In.Bus, true
	}
	return 0, false
}

// Wrong is how many elements were wrong in a row.
func (w *Row) Wrong() int64 { return max(w.Out.Wrong, 0) + max(w.In.Wrong, 0) }

// Inferred is the collective as its numbers tell it where nothing names it: the factor between its two bandwidths over n ranks.
// "all_reduce", "share" (all-gather, reduce-scatter, all-to-all) or "one" (broadcast, send and receive); "" where that is open.
func (r *Run) Inferred() string {
	n := r.Ranks()
	if n < 3 {
		return "" // over two ranks the factors fall together
	}
	found := ""
	for i := range r.Rows {
		for _, h := range []Half{r.Rows[i].Out, r.Rows[i].In} {
			if !h.There || h.Alg < 1 {
				continue
			}
			kind := ""
			for name, f := range map[string]float64{"all_reduce": 2 * share(float64(n)), "share": share(float64(n)), "one": 1} {
				if agree(h, f) {
					if kind != "" {
						return ""
					}
					kind = name
				}
			}
			if kind == "" || found != "" && kind != found {
				return ""
			}
			found = kind
		}
	}
	return found
}

// Odd are the rows whose bandwidths do not belong together: the bus's is not the algorithm's times the factor of the collective
// over these ranks, or the algorithm's is not size over time. Rounding is allowed for. checked is how many could be.
func (r *Run) Odd() (odd []Row, checked int) {
	f, known := Factor(r.Collective, r.Ranks())
	for i := range r.Rows {
		w := &r.Rows[i]
		bad := false
		for _, h := range []Half{w.Out, w.In} {
			if !h.There || h.Alg <= 0 {
				continue
			}
			if known {
				checked++
				bad = bad || !agree(h, f)
			}
			if r.Collective != "hypercube" && h.Micros > 0 {
				// Times have at least three digits that count; a size over a time is GB/s.
				want := float64(w.Size) / h.Micros / 1000
				bad = bad || math.Abs(want-h.Alg) > half(h.decimal)+want*0.006
			}
		}
		if bad {
			odd = append(odd, *w)
		}
	}
	return odd, checked
}

func agree(h Half, f float64) bool {
	return math.Abs(h.Alg*f-h.Bus) <= half(h.decimal)*(1+f)+1e-9
}

// half is half a unit of the last digit printed.
func half(decimals int) float64 { return 0.5000001 * math.Pow10(-decimals) }
