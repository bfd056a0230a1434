package ras

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// maxJSON is the largest answer that is read: it is held while it is.
const maxJSON = 64 << 20

// maxDepth is far above what the client writes.
const maxDepth = 32

var (
	errBroken = errors.New("its JSON is broken")
	errShort  = errors.New("it ends in the middle")
	errDeep   = errors.New("its JSON is nested too deeply")
)

// readJSON reads the client's JSON, one document after another.
func readJSON(ctx context.Context, name string, in io.Reader) ([]*Snapshot, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxJSON+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxJSON {
		return nil, fmt.Errorf("it is larger than %d MiB", maxJSON>>20)
	}
	p := &parser{ctx: ctx, b: data}
	var out []*Snapshot
	for p.blank(); p.i < len(p.b) && len(out) < maxSnapshots; p.blank() {
		if p.b[p.i] != '{' {
			return out, errBroken
		}
		d := document{p: p, s: &Snapshot{File: name, JSON: true, At: p.at("")}}
		if err := d.read(); err != nil {
			return out, err
		}
		out = append(out, d.s)
	}
	for _, s := range out { // a verifier reads one document, whole and well-formed
		if len(out) > 1 || p.mended {
			s.nowhere()
		}
	}
	return out, nil
}

// nowhere forgets the places: what cannot be read as JSON is quoted by its lines.
func (s *Snapshot) nowhere() {
	clear := func(rs []Rank) {
		for i := range rs {
			rs[i].At.Place = ""
		}
	}
	s.At.Place = ""
	for i := range s.Comms {
		c := &s.Comms[i]
		c.At.Place = ""
		clear(c.Missing)
		clear(c.Failed)
		for k := range c.Counts {
			c.Counts[k].At.Place = ""
			clear(c.Counts[k].Ranks)
		}
	}
}

type document struct {
	p      *parser
	s      *Snapshot
	listed int
}

func (d *document) read() error {
	return d.p.object(0, func(key string) error {
		switch key {
		case "timestamp":
			if t, err := time.Parse(time.DateTime, d.p.text()); err == nil {
				d.s.Time = t.Unix()
			}
		case "communicators":
			return d.p.array(1, func(i int) error { return d.comm(fmt.Sprintf("communicators[%d]", i)) })
		default:
			return d.p.skip(1)
		}
		return d.p.err
	})
}

func (d *document) comm(place string) error {
	c := Comm{At: d.p.at(place)}
	counts := map[string]map[int64]*Count{}
	err := d.p.object(2, func(key string) error {
		switch key {
		case "hash":
			c.Hash = hash([]byte(d.p.text()))
		case "size":
			c.Size = int(d.p.number())
		case "ranks":
			return d.p.array(3, func(i int) error {
				return d.rank(fmt.Sprintf("%s.ranks[%d]", place, i), &c, counts)
			})
		case "missing_ranks":
			return d.p.array(3, func(i int) error {
				return d.rank(fmt.Sprintf("%s.missing_ranks[%d]", place, i), &c, nil)
			})
		default:
			return d.p.skip(3)
		}
		return d.p.err
	})
	for op, values := range counts {
		if len(values) < 2 {
			continue // all have launched as many
		}
		for _, k := range values {
			k.Op = op
			c.Counts = append(c.Counts, *k)
		}
	}
	slices.SortFunc(c.Counts, func(a, b Count) int { return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(b.Value, a.Value)) })
	d.s.Comms = append(d.s.Comms, c)
	return err
}

// rank reads a rank, a missing one where counts is nil.
func (d *document) rank(place string, c *Comm, counts map[string]map[int64]*Count) error {
	r := Rank{Rank: Unknown, At: d.p.at(place)}
	type launched struct {
		op string
		n  int64
	}
	var ops []launched
	err := d.p.object(4, func(key string) error {
		switch key {
		case "rank":
			r.At.Line, r.At.Off, r.At.Len = d.p.here()
			r.Rank = int(d.p.number())
		case "host":
			r.Host = d.p.text()
		case "pid":
			r.Pid = int(d.p.number())
		case "cuda_dev":
			r.GPU = strconv.FormatInt(d.p.number(), 10)
		case "status":
			return d.p.object(5, func(key string) error {
				switch key {
				case "considered_dead":
					r.Dead = d.p.truth()
				case "async_error", "init_state":
					if e := d.p.number(); e != 0 && e != inProgress {
						r.Error = e
					}
				default:
					return d.p.skip(6)
				}
				return d.p.err
			})
		case "collective_counts":
			return d.p.object(5, func(key string) error {
				if len(ops) < 64 {
					ops = append(ops, launched{key, d.p.number()})
					return d.p.err
				}
				return d.p.skip(6)
			})
		default:
			return d.p.skip(5)
		}
		return d.p.err
	})
	if err != nil {
		return err
	}
	if d.listed++; d.listed > maxListed || r.Rank < 0 {
		return nil
	}
	if counts == nil {
		c.Missing = append(c.Missing, r)
		return nil
	}
	if r.Error != 0 {
		c.Failed = append(c.Failed, r)
	}
	for _, o := range ops {
		if counts[o.op] == nil {
			counts[o.op] = map[int64]*Count{}
		}
		k := counts[o.op][o.n]
		if k == nil {
			k = &Count{Value: o.n, At: r.At}
			counts[o.op][o.n] = k
		}
		k.N++
		k.Ranks = append(k.Ranks, r)
	}
	return nil
}

// inProgress is ncclInProgress, which is no error.
const inProgress = 7

// parser reads JSON in place, and knows where it is. A comma that lacks between members is made up for.
type parser struct {
	ctx    context.Context
	b      []byte
	i      int
	err    error
	line   int64 // lines ended before lineAt
	lineAt int
	mended bool
}

func (p *parser) blank() {
	for p.i < len(p.b) && (p.b[p.i] == ' ' || p.b[p.i] == '\n' || p.b[p.i] == '\r' || p.b[p.i] == '\t') {
		p.i++
	}
}

// here is the line at hand.
func (p *parser) here() (line, off int64, length int) {
	p.line += int64(bytes.Count(p.b[p.lineAt:p.i], []byte{'\n'}))
	p.lineAt = p.i
	start := bytes.LastIndexByte(p.b[:p.i], '\n') + 1
	end := bytes.IndexByte(p.b[p.i:], '\n')
	if end < 0 {
		end = len(p.b) - p.i
	}
	return p.line + 1, int64(start), min(p.i+end-start, 4096)
}

func (p *parser) at(place string) At {
	l, off, n := p.here()
	return At{l, off, n, place}
}

// next skips to the next byte that is no blank.
func (p *parser) next() byte {
	p.blank()
	if p.i >= len(p.b) {
		p.err = errShort
		return 0
	}
	return p.b[p.i]
}

func (p *parser) object(depth int, member func(string) error) error {
	if depth > maxDepth {
		return errDeep
	}
	if p.next() != '{' {
		return p.null()
	}
	p.i++
	for n := 0; ; n++ {
		c := p.next()
		if c == '}' {
			p.i++
			return nil
		}
		if n > 0 {
			if c == ',' {
				p.i++
				c = p.next()
			} else {
				p.mended = true
			}
		}
		if c != '"' {
			return cmp.Or(p.err, errBroken)
		}
		key := p.text()
		if p.err != nil || p.next() != ':' {
			return cmp.Or(p.err, errBroken)
		}
		p.i++
		p.next()
		if err := member(key); err != nil {
			return err
		}
		if p.err != nil {
			return p.err
		}
	}
}

func (p *parser) array(depth int, element func(int) error) error {
	if depth > maxDepth {
		return errDeep
	}
	if p.next() != '[' {
		return p.null()
	}
	p.i++
	for n := 0; ; n++ {
		if n&0xfff == 0 && p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		c := p.next()
		if c == ']' {
			p.i++
			return nil
		}
		if n > 0 {
			if c == ',' {
				p.i++
				p.next()
			} else {
				p.mended = true
			}
		}
		if p.err != nil {
			return p.err
		}
		before := p.i
		if err := element(n); err != nil {
			return err
		}
		if p.i == before {
			return errBroken
		}
	}
}

func (p *parser) null() error {
	if p.err != nil {
		return p.err
	}
	if bytes.HasPrefix(p.b[p.i:], []byte("null")) {
		p.i += 4
		return nil
	}
	return errBroken
}

// text reads a string, as it stands between its quotes.
func (p *parser) text() string {
	if p.next() != '"' {
		p.err = cmp.Or(p.err, errBroken)
		return ""
	}
	p.i++
	start := p.i
	for p.i < len(p.b) && p.b[p.i] != '"' {
		if p.b[p.i] == '\\' {
			p.i++
		}
		p.i++
	}
	if p.i >= len(p.b) {
		p.i, p.err = len(p.b), errShort
		return ""
	}
	p.i++
	return clip(p.b[start : p.i-1])
}

func (p *parser) number() int64 {
	c := p.next()
	neg := c == '-'
	if neg {
		p.i++
	}
	n, k := digits(p.b[p.i:])
	if k == 0 {
		p.err = cmp.Or(p.err, errBroken)
	}
	p.i += k
	if neg {
		return -n
	}
	return n
}

func (p *parser) truth() bool {
	p.next()
	yes := bytes.HasPrefix(p.b[p.i:], []byte("true"))
	if !yes && !bytes.HasPrefix(p.b[p.i:], []byte("false")) {
		p.err = cmp.Or(p.err, errBroken)
		return false
	}
	p.i += 5
	if yes {
		p.i--
	}
	return yes
}

// skip passes over a value.
func (p *parser) skip(depth int) error {
	switch c := p.next(); {
	case p.err != nil:
		return p.err
	case c == '{':
		return p.object(depth, func(string) error { return p.skip(depth + 1) })
	case c == '[':
		return p.array(depth, func(int) error { return p.skip(depth + 1) })
	case c == '"':
		p.text()
		return p.err
	}
	start := p.i
	for p.i < len(p.b) && !bytes.ContainsRune([]byte(",]} \n\r\t"), rune(p.b[p.i])) {
		p.i++
	}
	if p.i == start {
		return errBroken
	}
	return nil
}
