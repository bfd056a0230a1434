package gpumem

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/pickle"
	"faultline/analysis/ascii"
	"faultline/pattern"
)

const (
	// MaxFile is the largest file that is read: it is held while it is.
	MaxFile    = 192 << 20
	maxClasses = 64
)

// ErrOther says that a file says nothing of a GPU's memory.
var ErrOther = errors.New("it is no summary or snapshot of a GPU's memory")

// Read reads a summary or a snapshot.
func Read(ctx context.Context, r io.Reader) (*Memory, error) {
	var text strings.Builder
	n, err := io.Copy(&text, io.LimitReader(r, MaxFile+1))
	switch {
	case err != nil:
		return nil, err
	case n > MaxFile:
		return nil, fmt.Errorf("it is larger than %d MiB", MaxFile>>20)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	data := text.String()
	trimmed := strings.TrimLeft(data, " \t\r\n")
	switch {
	case pickle.Recognise([]byte(data[:min(len(data), 3)])):
		return readPickle(data)
	case ascii.Begins(trimmed, "[", "{"):
		return readJSON(data)
	}
	return readSummary(data)
}

// tally adds up segments.
type tally struct {
	m       Memory
	classes map[int]*Class
	prefix  string // of the places of segments
	seen    int
}

func newTally() *tally {
	return &tally{m: Memory{Device: None, Retries: None}, classes: map[int]*Class{}}
}

// segment takes a segment of bytes, of which some are allocated, and its blocks.
func (t *tally) segment(device, total, allocated int64) bool {
	t.seen++
	if total <= 0 || allocated < 0 || allocated > total || t.m.Reserved > 1<<60 {
		return false
	}
	if t.m.Segments == 0 {
		t.m.Device = device
	}
	t.m.Segments++
	t.m.Reserved += total
	t.m.Allocated += allocated
	if allocated > 0 && allocated < total {
		t.m.Inactive += total - allocated
		if w := &t.m.Worst; total-allocated > w.Total-w.Allocated {
			*w = Segment{fmt.Sprintf("%s[%d]", t.prefix, t.seen-1), total, allocated}
		}
	}
	return true
}

func (t *tally) block(i int, size int64, state string) {
	if strings.HasPrefix(state, "active_alloc") && size > t.m.Block.Size {
		t.m.Block = Block{fmt.Sprintf("%s[%d].blocks[%d]", t.prefix, t.seen-1, i), size}
	}
	switch {
	case size <= 0:
	case state == "inactive":
		t.m.LargestIn = max(t.m.LargestIn, size)
	default:
		k := bits.Len64(uint64(size - 1))
		c := t.classes[k]
		if c == nil {
			if len(t.classes) >= maxClasses {
				return
			}
			c = &Class{Size: 1 << k}
			t.classes[k] = c
		}
		c.Bytes += size
	}
}

func (t *tally) finish() (*Memory, error) {
	if t.m.Segments == 0 {
		return nil, ErrOther
	}
	for _, c := range t.classes {
		t.m.Sizes = append(t.m.Sizes, *c)
	}
	slices.SortFunc(t.m.Sizes, func(a, b Class) int { return cmp.Or(-cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Size, b.Size)) })
	return &t.m, nil
}

// readPickle reads {"segments": [{…, "blocks": [{"size": …, "state": …}]}], "device_traces": …}; before, the list alone. Nothing is
// dropped while it is read: segments share their stacks.
func readPickle(data string) (*Memory, error) {
	t := newTally()
	number := func(v pickle.Value, key string) int64 {
		n, ok := v.Get(key).Int()
		if !ok {
			return None
		}
		return n
	}
	add := func(v pickle.Value) {
		if t.segment(number(v, "device"), number(v, "total_size"), number(v, "allocated_size")) {
			for i, b := range v.Get("blocks").Items() {
				state, _ := b.Get("state").Text()
				t.block(i, number(b, "size"), state)
			}
		}
	}
	top, err := pickle.Reader{}.Read(data)
	if err != nil {
		return nil, err
	}
	if top.Kind() == pickle.Dict {
		top, t.prefix = top.Get("segments"), "segments"
	}
	if top.Kind() == pickle.List {
		for _, v := range top.Items() {
			add(v)
		}
	}
	return t.finish()
}

// segmentJSON is a segment as json.dumps writes it.
type segmentJSON struct {
	Device    *int64 `json:"device"`
	Total     int64  `json:"total_size"`
	Allocated int64  `json:"allocated_size"`
	Blocks    []struct {
		Size  int64  `json:"size"`
		State string `json:"state"`
	} `json:"blocks"`
}

func readJSON(data string) (*Memory, error) {
	t := newTally()
	dec := json.NewDecoder(strings.NewReader(data))
	tok, err := dec.Token()
	if err != nil {
		return nil, ErrOther
	}
	if tok == json.Delim('{') {
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, fmt.Errorf("at byte %d: it is damaged", dec.InputOffset())
			}
			if key == "segments" {
				if tok, err = dec.Token(); err != nil || tok != json.Delim('[') {
					return nil, ErrOther
				}
				t.prefix = "segments"
				break
			}
			var skip json.RawMessage
			if dec.Decode(&skip) != nil {
				return nil, fmt.Errorf("at byte %d: it is damaged", dec.InputOffset())
			}
		}
	}
	for dec.More() {
		var s segmentJSON
		if err := dec.Decode(&s); err != nil {
			if t.m.Segments == 0 {
				return nil, fmt.Errorf("at byte %d: it is damaged", dec.InputOffset())
			}
			break
		}
		device := int64(None)
		if s.Device != nil {
			device = *s.Device
		}
		if t.segment(device, s.Total, s.Allocated) {
			for i, b := range s.Blocks {
				t.block(i, b.Size, b.State)
			}
		}
	}
	return t.finish()
}

var (
	summaryRow = pattern.New(`^\|\s*([A-Z][A-Za-z -]+?)\s*\|\s*(\d+)\s*([KMGT]?i?B)?\s*\|\s*(\d+)\s*([KMGT]?i?B)?\s*\|`)
	stampIn    = pattern.New(`\d[\d:.,TZ+ -]{7,}`) // a time in a label differs from line to line
	summaryOom = pattern.New(`\|\s+CUDA OOMs:\s*(\d+)\s+\|\s+cudaMalloc retries:\s*(\d+)\s`)
)

// maxSeries is of how many summaries in one file the use is kept.
const maxSeries = 4096

// readSummary reads the tables of the first device: the columns are current usage, peak, total allocated, total freed. Of several, as a
// program prints them again and again, the last one counts, and the use in each is kept.
func readSummary(data string) (*Memory, error) {
	var last, m *Memory // the last whole one, and the one that is being read
	var series []Point
	whose := "" // the label in front of its lines
	off, n := int64(0), int64(0)
	for line := range strings.Lines(data) {
		n++
		at := Line{At: off, N: n, Len: len(strings.TrimRight(line, "\r\n"))}
		off += int64(len(line))
		if len(line) > 512 {
			continue
		}
		label := ""
		if i := strings.IndexByte(line, '|'); i > 0 { // a label of srun or a rank in front
			label, line = stampIn.ReplaceAllString(line[:i], ""), line[i:]
		}
		if h := summaryHead.FindStringSubmatch(line); h != nil {
			device, _ := strconv.ParseInt(h[1], 10, 32)
			if last == nil {
				whose = label
			}
			if m = nil; last == nil || last.Device == device && whose == label {
				m = &Memory{Device: device, Reserved: None, Allocated: None, Inactive: None, Retries: None}
			}
			continue
		}
		if m == nil || label != whose {
			continue
		}
		if o := summaryOom.FindStringSubmatch(line); o != nil {
			m.Retries, _ = strconv.ParseInt(o[2], 10, 64)
			at.What = "ooms"
			m.Lines = append(m.Lines, at)
			continue
		}
		if m.row(line, at); m.Reserved != None && m.Allocated != None && m.Reserved >= m.Allocated && last != m {
			last = m
			if len(series) < maxSeries {
				series = append(series, Point{m.Allocated, m.used()})
			}
		}
	}
	if last == nil {
		return nil, ErrOther
	}
	last.Series = series
	return last, nil
}

// used is the line that says what is in use.
func (m *Memory) used() Line {
	for _, l := range m.Lines {
		if l.What == "allocated memory" {
			return l
		}
	}
	return Line{}
}

func (m *Memory) row(line string, at Line) {
	r := summaryRow.FindStringSubmatch(line)
	if r == nil {
		return
	}
	now, ok := amount(r[2], r[3])
	if _, peaked := amount(r[4], r[5]); !ok || !peaked {
		return
	}
	to := map[string]*int64{"Allocated memory": &m.Allocated, "GPU reserved memory": &m.Reserved, "Non-releasable memory": &m.Inactive}[r[1]]
	if to == nil || *to != None {
		return
	}
	*to = now
	at.What = strings.ToLower(r[1])
	m.Lines = append(m.Lines, at)
}

func amount(n, in string) (int64, bool) {
	v, err := strconv.ParseInt(n, 10, 62)
	size, ok := unit(in)
	if err != nil || !ok || v > (1<<60)/size {
		return 0, false
	}
	return v * size, true
}
