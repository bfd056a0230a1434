package recorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/pickle"
	"faultline/pattern"
)

// HeadLen is how much of a file Recognise wants to see.
const HeadLen = 512

// MaxDump is the largest pickle that is read: it is held while it is.
const MaxDump = 192 << 20

// ErrOther says that a file is a pickle or JSON, and no dump of the flight recorder.
var ErrOther = errors.New("it is no dump of the flight recorder")

// Recognise says whether a file that begins so may be a dump. Read knows for sure.
func Recognise(head []byte) bool {
	if pickle.Recognise(head) {
		return true
	}
	head = bytes.TrimLeft(head, " \t\r\n")
	return len(head) > 0 && head[0] == '{' && (bytes.Contains(head, []byte(`"pg_config"`)) || bytes.Contains(head, []byte(`"pg_status"`)) ||
		bytes.Contains(head, []byte(`"entries"`)) && bytes.Contains(head, []byte(`"record_id"`)))
}

// Read reads one dump.
func Read(in io.Reader) (*Dump, error) { return new(Shared).Read(in) }

// Read reads a dump.
func (s *Shared) Read(in io.Reader) (*Dump, error) {
	var head [3]byte
	n, err := io.ReadFull(in, head[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	whole := io.MultiReader(bytes.NewReader(head[:n]), in)
	if !pickle.Recognise(head[:n]) {
		return s.readJSON(whole)
	}
	room := s.take()
	defer s.give(room)
	data, err := room.read(whole)
	if err != nil {
		return nil, err
	}
	return s.readPickle(data, &room.values)
}

func (s *Shared) readPickle(data string, room *pickle.Room) (*Dump, error) {
	c := s.newCollector()
	top, err := pickle.Reader{Room: room, Wanted: wanted, Plain: c.plain, Element: c.element}.Read(data)
	if err != nil {
		return nil, err
	}
	switch top.Kind() {
	case pickle.List: // up to 2.2 the entries are all there is
		if len(top.Items()) > 0 {
			return nil, ErrOther
		}
		return c.finish(), nil
	case pickle.Dict:
	default:
		return nil, ErrOther
	}
	d := &c.d
	d.Version = text(top.Get("version"))
	d.Library = text(top.Get("nccl_version")) + text(top.Get("comm_lib_version"))
	if d.Version == "" && c.d.Entries == 0 && len(top.Items()) > 0 {
		return nil, ErrOther
	}
	pairs(top.Get("pg_config"), func(name string, v pickle.Value) {
		if n := text(v.Get("name")); n != "" {
			name = n
		}
		ranks, _ := v.Get("ranks").Text()
		c.group(name, text(v.Get("desc")), ranks)
	})
	pairs(top.Get("pg_status"), func(local string, v pickle.Value) {
		d.status(local, number(v.Get("last_enqueued_collective")), number(v.Get("last_completed_collective")))
	})
	return c.finish(), nil
}

// element takes an entry.
func (c *collector) element(key string, v pickle.Value) bool {
	if key != "entries" && key != "" || v.Kind() != pickle.Dict {
		return false
	}
	w, m, ok := work(v)
	if kept := c.add(&w, ok); kept != nil {
		m.fill(kept)
	}
	return true
}

// pairs walks a dict with texts as keys.
func pairs(v pickle.Value, visit func(string, pickle.Value)) {
	if v.Kind() != pickle.Dict {
		return
	}
	items := v.Items()
	for i := 0; i+1 < len(items) && i < 2*maxGroups; i += 2 {
		if k, ok := items[i].Text(); ok && items[i+1].Kind() == pickle.Dict {
			visit(clip(k), items[i+1])
		}
	}
}

func (c *collector) group(name, desc, ranks string) {
	if d := &c.d; len(d.Groups) < maxGroups {
		d.Groups = append(d.Groups, Group{Name: name, Desc: desc, Ranks: c.shared.ranks(ranks)})
	}
}

func (d *Dump) status(local string, enqueued, completed int64) {
	if len(d.Status) < maxGroups {
		d.Status = append(d.Status, Status{local, enqueued, completed})
	}
}

// ranksOf reads "[0, 1, 2]"; nil for what is no such list.
func ranksOf(s string) []int {
	s = strings.TrimSpace(s)
	if len(s) < 3 || s[0] != '[' || s[len(s)-1] != ']' {
		return nil
	}
	var out []int
	for part := range strings.SplitSeq(s[1:len(s)-1], ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 || len(out) >= maxRanks {
			return nil
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// more is what of an entry is read only where the work is kept.
type more struct{ in, out, inTypes, outTypes, frames pickle.Value }

// work makes an entry of a dict, without what is more. It is false where what every version writes is missing. The last of several
// members of a name counts.
func work(v pickle.Value) (Work, more, bool) {
	w := Work{Record: None, Local: None, Seq: None, SeqName: "collective_seq_id", CreatedNS: None, TimeoutMS: None}
	var m more
	old, p2p := None, None
	items := v.Items()
	for i := 0; i+1 < len(items); i += 2 {
		key, _ := items[i].Text()
		x := items[i+1]
		switch key {
		case "record_id":
			w.Record = number(x)
		case "pg_id":
			w.Local = number(x)
		case "process_group":
			w.Group, w.Desc = "", ""
			if g := words(x); len(g) == 2 {
				w.Group, w.Desc = g[0], g[1]
			}
		case "collective_seq_id":
			w.Seq = number(x)
		case "seq_id": // up to 2.3
			old = number(x)
		case "p2p_seq_id":
			p2p = number(x)
		case "profiling_name":
			w.Op = text(x)
		case "state":
			w.State = text(x)
		case "is_p2p":
			w.P2P = truth(x)
		case "time_created_ns":
			w.CreatedNS = number(x)
		case "timeout_ms":
			w.TimeoutMS = number(x)
		case "input_sizes":
			m.in = x
		case "output_sizes":
			m.out = x
		case "input_dtypes":
			m.inTypes = x
		case "output_dtypes":
			m.outTypes = x
		case "frames":
			m.frames = x
		}
	}
	if w.Seq == None {
		w.Seq, w.SeqName = old, "seq_id"
	}
	w, ok := settled(w, p2p)
	return w, m, ok
}

// fill adds it.
func (m *more) fill(w *Work) {
	w.In, w.Out, w.InTypes, w.OutTypes = sizes(m.in), sizes(m.out), words(m.inTypes), words(m.outTypes)
	for i, f := range m.frames.Items() {
		if i == maxFrames {
			break
		}
		w.Frames = append(w.Frames, Frame{text(f.Get("name")), text(f.Get("filename"))})
	}
}

// settled is a work with the sequence that counts for its kind.
func settled(w Work, p2p int64) (Work, bool) {
	w.P2P = w.P2P || pointToPoint(w.Op)
	if w.P2P && p2p != None {
		w.Seq, w.SeqName = p2p, "p2p_seq_id"
	}
	return w, w.Record != None && w.Seq != None && w.State != ""
}

// pointToPoint says that an operation is one of two ranks: "nccl:send 0->1", "recv".
func pointToPoint(op string) bool {
	op = strings.TrimPrefix(op, "nccl:")
	return len(op) >= 4 && (op[:4] == "send" || op[:4] == "recv") && (len(op) == 4 || op[4] == ' ')
}

// Kind is the operation without the library and the ends: "all_reduce", "send".
func (w *Work) Kind() string {
	_, op, ok := strings.Cut(w.Op, ":")
	if !ok {
		op = w.Op
	}
	op, _, _ = strings.Cut(op, " ")
	return op
}

func clip(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.ToValidUTF8(s, "?")
}

func text(v pickle.Value) string {
	s, _ := v.Text()
	return clip(s)
}

func number(v pickle.Value) int64 {
	if n, ok := v.Int(); ok {
		return n
	}
	return None
}

func truth(v pickle.Value) bool {
	n, ok := v.Int()
	return ok && n != 0
}

func words(v pickle.Value) []string {
	var out []string
	for i, x := range v.Items() {
		if s, ok := x.Text(); ok && i < maxSizes {
			out = append(out, clip(s))
		}
	}
	return out
}

func sizes(v pickle.Value) [][]int64 {
	var out [][]int64
	for i, x := range v.Items() {
		if i == maxSizes {
			break
		}
		dims := []int64{}
		for j, n := range x.Items() {
			if j < maxSizes {
				dims = append(dims, number(n))
			}
		}
		out = append(out, dims)
	}
	return out
}

// lenient is a number that JSON dumps write as a number or as a text.
type lenient int64

// UnmarshalJSON takes a number, a text that is one, or null.
func (n *lenient) UnmarshalJSON(b []byte) error {
	*n = lenient(None)
	if v, err := strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64); err == nil {
		*n = lenient(v)
	}
	return nil
}

type jsonWork struct {
	Record    *lenient  `json:"record_id"`
	Local     *lenient  `json:"pg_id"`
	Group     []string  `json:"process_group"`
	Seq       *lenient  `json:"collective_seq_id"`
	OldSeq    *lenient  `json:"seq_id"`
	P2PSeq    *lenient  `json:"p2p_seq_id"`
	Op        string    `json:"profiling_name"`
	CreatedNS *lenient  `json:"time_created_ns"`
	In        [][]int64 `json:"input_sizes"`
	Out       [][]int64 `json:"output_sizes"`
	InTypes   []string  `json:"input_dtypes"`
	OutTypes  []string  `json:"output_dtypes"`
	State     string    `json:"state"`
	TimeoutMS *lenient  `json:"timeout_ms"`
	P2P       bool      `json:"is_p2p"`
}

func (n *lenient) value() int64 {
	if n == nil {
		return None
	}
	return int64(*n)
}

func (j *jsonWork) work() (Work, bool) {
	w := Work{Record: j.Record.value(), Local: j.Local.value(), Seq: j.Seq.value(), Op: clip(j.Op), State: clip(j.State), P2P: j.P2P,
		CreatedNS: j.CreatedNS.value(), TimeoutMS: j.TimeoutMS.value(), In: j.In[:min(len(j.In), maxSizes)], Out: j.Out[:min(len(j.Out), maxSizes)],
		InTypes: j.InTypes[:min(len(j.InTypes), maxSizes)], OutTypes: j.OutTypes[:min(len(j.OutTypes), maxSizes)]}
	w.SeqName = "collective_seq_id"
	if w.Seq == None {
		w.Seq, w.SeqName = j.OldSeq.value(), "seq_id"
	}
	if len(j.Group) == 2 {
		w.Group, w.Desc = clip(j.Group[0]), clip(j.Group[1])
	}
	return settled(w, j.P2PSeq.value())
}

// readJSON reads the JSON of the control plane, entry by entry.
func (s *Shared) readJSON(in io.Reader) (*Dump, error) {
	c := s.newCollector()
	d := &c.d
	dec := json.NewDecoder(in)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, ErrOther
	}
	known := false
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, broken(err)
		}
		key, _ := t.(string)
		switch key {
		case "entries":
			known = true
			err = c.entries(dec)
		case "pg_config":
			known = true
			var m map[string]struct{ Name, Desc, Ranks string }
			err = dec.Decode(&m)
			for name, g := range m {
				if g.Name != "" {
					name = g.Name
				}
				c.group(clip(name), clip(g.Desc), g.Ranks)
			}
		case "pg_status":
			known = true
			var m map[string]struct {
				Enqueued  *lenient `json:"last_enqueued_collective"`
				Completed *lenient `json:"last_completed_collective"`
			}
			err = dec.Decode(&m)
			for local, s := range m {
				d.status(clip(local), s.Enqueued.value(), s.Completed.value())
			}
		case "version":
			err = dec.Decode(&d.Version)
			d.Version = clip(d.Version)
		case "nccl_version", "comm_lib_version":
			err = dec.Decode(&d.Library)
			d.Library = clip(d.Library)
		default:
			var skip json.RawMessage
			err = dec.Decode(&skip)
		}
		if err != nil {
			return nil, broken(err)
		}
	}
	if !known {
		return nil, ErrOther
	}
	return c.finish(), nil
}

func (c *collector) entries(dec *json.Decoder) error {
	t, err := dec.Token()
	if err != nil || t == nil { // null
		return err
	}
	if t != json.Delim('[') {
		return errors.New("the entries are no list")
	}
	for dec.More() {
		var j jsonWork
		if err := dec.Decode(&j); err != nil {
			return err
		}
		w, ok := j.work()
		c.add(&w, ok)
	}
	_, err = dec.Token()
	return err
}

func broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends in the middle")
	}
	return fmt.Errorf("its JSON is broken: %w", err)
}

var rankInName = pattern.New(`(\d{1,7})(?:\.(?:json|pkl|pickle|bin|gz|zst))*$`)

// RankOf is the rank that the name of a dump states, as PyTorch writes it: at its end ("nccl_trace_rank_12", "_dump_12").
func RankOf(name string) (int, bool) {
	m := rankInName.FindStringSubmatch(path.Base(name))
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil && n < maxRanks
}

// Fits says whether the dump can be this rank's: it is a member of every group that the dump has works of, and of what the
// default group lists.
func (d *Dump) Fits(rank int) bool {
	used := map[string]bool{"0": true}
	for i := range d.Open {
		used[d.Open[i].Group] = true
	}
	for i := range d.Done {
		used[d.Done[i].Group] = true
	}
	for _, g := range d.Groups {
		if _, found := slices.BinarySearch(g.Ranks, rank); used[g.Name] && len(g.Ranks) > 0 && !found {
			return false
		}
	}
	return true
}
