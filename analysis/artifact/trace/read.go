package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// ErrOther says that a file is JSON, and no trace of a process that trains.
var ErrOther = errors.New("it holds no events of a profiler")

// Bounds of what is kept of one file while it is read.
const (
	maxSpans = 4 << 20 // of each kind
	maxNotes = 1 << 20 // collectives; and steps and waits for data
	maxText  = 256
)

// Read reads a trace. What is damaged or cut short is read up to there, and Trace.Cut says so; an error says that nothing of it is
// of use.
func Read(ctx context.Context, r io.Reader) (*Trace, error) {
	c := &collector{in: newInput(r), ctx: ctx, t: Trace{Rank: None, World: None}, texts: map[string]string{}}
	err := c.top()
	if ctxErr := ctx.Err(); ctxErr != nil {
		return nil, ctxErr
	}
	if err != nil {
		if c.t.Events == 0 {
			return nil, fmt.Errorf("at byte %d: %w", c.in.base+int64(c.in.pos), err)
		}
		c.t.Cut = fmt.Sprintf("it was read up to byte %d: %v", c.in.base+int64(c.in.pos), err)
	}
	if c.t.Events == 0 {
		return nil, ErrOther
	}
	c.finish()
	return &c.t, nil
}

// collector makes a trace of events, one at a time.
type collector struct {
	in  *input
	ctx context.Context
	t   Trace

	compute, comm, copies spans
	ops                   spans  // of the process, where there is no GPU
	calls                 []note // collectives on the GPU
	works                 []note // collectives of the process
	steps, gpuSteps       []note
	loads                 []note
	texts                 map[string]string // each once
}

// note is an event that is kept with its place.
type note struct {
	ts, dur    int64
	name       string
	group      string
	desc       string
	size       int
	pair, swap bool
	at         place
}

// place is the short form of Place: all that differs from event to event.
type place struct {
	nameOff, durOff   int64
	nameLine, durLine int64
	nameText, nameKey string // as written
	durText, durKey   string
}

func (c *collector) top() error {
	b, err := c.in.take("{[")
	if err != nil {
		return err
	}
	if b == '[' {
		return c.events()
	}
	if b, err = c.in.next(); err != nil {
		return err
	} else if b == '}' {
		return nil
	}
	for {
		if b, err = c.in.next(); err != nil {
			return err
		} else if b != '"' {
			return errForm
		}
		raw, err := c.in.value()
		if err != nil {
			return err
		}
		key := string(raw)
		if _, err = c.in.take(":"); err != nil {
			return err
		}
		b, err := c.in.next()
		if err != nil {
			return err
		}
		switch {
		case key == `"traceEvents"` && b == '[':
			c.in.pos++
			err = c.events()
		case key == `"distributedInfo"`:
			if raw, err = c.in.value(); err == nil {
				c.job(raw)
			}
		default:
			if b == '{' || b == '[' || b == '"' {
				err = c.in.pass()
			} else {
				_, err = c.in.value()
			}
		}
		if err != nil {
			return err
		}
		if b, err = c.in.take(",}"); err != nil {
			return err
		} else if b == '}' {
			return nil
		}
	}
}

// job reads what the profiler says of the job.
func (c *collector) job(raw []byte) {
	var info struct {
		Rank  *int `json:"rank"`
		World *int `json:"world_size"`
	}
	if json.Unmarshal(raw, &info) != nil || info.Rank == nil || info.World == nil || *info.Rank < 0 || *info.Rank >= *info.World || *info.World > 1<<24 {
		return
	}
	c.t.Rank, c.t.World = *info.Rank, *info.World
}

// events reads the list of events, behind its bracket.
func (c *collector) events() error {
	if b, err := c.in.next(); err != nil {
		return err
	} else if b == ']' {
		c.in.pos++
		return nil
	}
	for n := 0; ; n++ {
		if n&0xfff == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if _, err := c.in.next(); err != nil {
			return err
		}
		at := c.in.pos
		base := c.in.base
		raw, err := c.in.value()
		if err != nil {
			return err
		}
		if len(raw) > 0 && raw[0] == '{' {
			if base != c.in.base {
				at = c.in.pos - len(raw)
			}
			if err := c.event(raw, at); err != nil {
				c.in.pos = at // the damage is in it
				return err
			}
		}
		b, err := c.in.take(",]")
		if err != nil {
			return err
		}
		if b == ']' {
			return nil
		}
	}
}

// event is what is looked at of one event before anything is kept of it.
type event struct {
	phase, cat, name, ts, dur, args []byte
	nameAt, nameValue               int
	durAt, durEnd, durValue         int
}

func (c *collector) event(raw []byte, at int) error {
	var e event
	err := members(raw, func(m *member) {
		switch string(m.key) {
		case "ph":
			e.phase = m.value
		case "cat":
			e.cat = m.value
		case "name":
			e.name, e.nameAt, e.nameValue = m.value, m.at, m.start
		case "ts":
			e.ts = m.value
		case "dur":
			e.dur, e.durAt, e.durValue, e.durEnd = m.value, m.at, m.start, m.end
		case "args":
			e.args = m.value
		}
	})
	if err != nil {
		return err
	}
	if e.phase == nil || e.name == nil {
		return nil
	}
	c.t.Events++
	if string(e.phase) != `"X"` || len(e.name) < 2 || e.name[0] != '"' {
		return nil
	}
	ts, ok := nanoseconds(e.ts)
	dur, ok2 := nanoseconds(e.dur)
	if !ok || !ok2 || dur < 0 || ts < 0 || ts > math.MaxInt64-dur {
		return nil
	}
	c.sort(raw, at, &e, ts, dur)
	return nil
}

// sort puts an event where it belongs by its category and name.
func (c *collector) sort(raw []byte, at int, e *event, ts, dur int64) {
	name := e.name[1 : len(e.name)-1]
	switch kindOf(e.cat) {
	case kernelEvent:
		c.t.GPU = true
		if !collectiveKernel(name) {
			c.spare(c.compute.add(ts, dur))
			return
		}
		c.spare(c.comm.add(ts, dur))
		if len(c.calls) >= maxNotes {
			c.t.More++
			return
		}
		n := c.note(raw, at, e, ts, dur)
		n.arguments(c, e.args, name)
		c.calls = append(c.calls, n)
	case copyEvent:
		c.t.GPU = true
		c.spare(c.copies.add(ts, dur))
	case gpuAnnotation:
		if bytes.HasPrefix(name, []byte("ProfilerStep#")) {
			c.keep(&c.gpuSteps, raw, at, e, ts, dur)
		}
	case processEvent:
		switch {
		case bytes.HasPrefix(name, []byte("ProfilerStep#")):
			c.keep(&c.steps, raw, at, e, ts, dur)
		case bytes.HasPrefix(name, []byte("enumerate(DataLoader)#")) && bytes.HasSuffix(name, []byte("__next__")):
			c.keep(&c.loads, raw, at, e, ts, dur)
		case bytes.HasPrefix(name, []byte("FSDP::")) || bytes.HasPrefix(name, []byte("FullyShardedDataParallel")):
			c.t.Sharded = true
		case processCollective(name):
			c.keep(&c.works, raw, at, e, ts, dur)
			if n := len(c.works); n > 0 {
				c.works[n-1].character()
			}
		case !c.t.GPU && bytes.HasPrefix(name, []byte("aten::")):
			c.ops.add(ts, dur)
		}
	}
}

func (c *collector) spare(ok bool) {
	if !ok {
		c.t.More++
	}
}

func (c *collector) keep(list *[]note, raw []byte, at int, e *event, ts, dur int64) {
	if len(*list) >= maxNotes {
		c.t.More++
		return
	}
	n := c.note(raw, at, e, ts, dur)
	n.name = c.once(e.name[1 : len(e.name)-1])
	*list = append(*list, n)
}

// note is an event with its place in the file.
func (c *collector) note(raw []byte, at int, e *event, ts, dur int64) note {
	in := c.in
	n := note{ts: ts, dur: dur, size: None}
	n.at.nameOff, n.at.durOff = in.base+int64(at+e.nameAt), in.base+int64(at+e.durAt)
	n.at.nameLine, n.at.durLine = in.lineOf(at+e.nameAt), in.lineOf(at+e.durAt)
	n.at.nameKey, n.at.durKey = c.once(raw[e.nameAt:e.nameValue]), c.once(raw[e.durAt:e.durValue])
	n.at.durText = string(raw[e.durValue:e.durEnd])
	if len(e.name) <= maxText {
		n.at.nameText = c.once(e.name)
	}
	return n
}

// once keeps a text one time, however often it occurs.
func (c *collector) once(b []byte) string {
	b = b[:min(len(b), maxText)]
	if s, ok := c.texts[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(c.texts) < 1<<16 {
		c.texts[s] = s
	}
	return s
}
