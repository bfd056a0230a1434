package dumps

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// pair is a member of an object, in the order in which PyTorch writes it.
type pair struct {
	key   string
	value any
}

type object []pair

// write makes the dump of one rank.
func write(spec Spec, r *rank, groups []*group, off bool) []byte {
	library := "nccl_version"
	if spec.Version == "2.10" {
		library = "comm_lib_version"
	}
	top := object{{"version", spec.Version}}
	if spec.Version != "2.4" {
		top = append(top, pair{library, "2.27.3"})
	}
	if off {
		return encode(spec, top)
	}
	own := slices.DeleteFunc(slices.Clone(groups), func(g *group) bool { return !slices.Contains(g.ranks, r.id) })
	var config, status object
	local := map[*group]int{}
	for i, g := range own {
		local[g] = 2 * i // numbers between them were given to groups of another kind
		config = append(config, pair{g.name, object{{"name", g.name}, {"desc", g.desc}, {"ranks", g.list()}}})
		enqueued, completed := 0, 0
		for k, c := range r.program[:r.issued] {
			if c.group == g {
				enqueued++
				if k < r.seen {
					completed++
				}
			}
		}
		status = append(status, pair{fmt.Sprint(local[g]), object{{"last_enqueued_collective", enqueued}, {"last_started_collective", -1}, {"last_completed_collective", completed}}})
	}
	entries := []any{}
	from := max(0, r.issued-spec.Ring)
	op := map[*group]int{}
	for k, c := range r.program[:r.issued] {
		op[c.group]++
		if k < from {
			continue
		}
		entries = append(entries, entry(spec, r, k, c, local[c.group], op[c.group], begun(r, k)))
	}
	top = append(top, pair{"pg_config", config}, pair{"pg_status", status}, pair{"entries", entries})
	return encode(spec, top)
}

// list is the ranks as PyTorch writes them.
func (g *group) list() string {
	if g.listed == "" {
		names := make([]string, len(g.ranks))
		for i, id := range g.ranks {
			names[i] = strconv.Itoa(id)
		}
		g.listed = "[" + strings.Join(names, ", ") + "]"
	}
	return g.listed
}

// begun says that a work that is not seen to have ended has begun on the rank's GPU.
func begun(r *rank, k int) bool {
	return k < r.done || k == r.done && (r.stuck < 0 || r.done < r.stuck)
}

func entry(spec Spec, r *rank, k int, c call, local, opID int, begun bool) object {
	state := "scheduled"
	switch {
	case k < r.seen:
		state = "completed"
	case spec.Timing && begun:
		state = "started"
	}
	name := "nccl:" + c.op
	if strings.HasSuffix(c.op, "_base") {
		name = "nccl:_" + c.op
	}
	collective, p2p := c.seq, 0
	if c.group.p2p { // each rank counts its own
		name, collective, p2p = "nccl:"+c.to, 0, opID
	}
	in, out := c.numel, c.numel
	switch c.op {
	case "all_gather_base":
		in = c.numel / len(c.group.ranks)
	case "reduce_scatter_base":
		out = c.numel / len(c.group.ranks)
	}
	var ended any
	if state == "completed" {
		ended = int64(1758610505_000000000 + k*2_000_000)
	}
	e := object{{"record_id", k}, {"pg_id", local}, {"process_group", []any{c.group.name, c.group.desc}}}
	if spec.Version == "2.9" || spec.Version == "2.10" {
		e = append(e, pair{"thread_name", "python3"}, pair{"thread_id", "23456244340032"})
	}
	e = append(e, object{{"collective_seq_id", collective}, {"p2p_seq_id", p2p}, {"op_id", opID}, {"profiling_name", name}, {"time_created_ns", int64(1758610505_000000000 + k*1_000_000)},
		{"input_sizes", []any{[]any{in}}}, {"input_dtypes", []any{"Float"}}, {"output_sizes", []any{[]any{out}}}, {"output_dtypes", []any{"Float"}}, {"state", state},
		{"time_discovered_started_ns", nil}, {"time_discovered_completed_ns", ended}, {"retired", state == "completed"}, {"timeout_ms", 600000}, {"is_p2p", c.group.p2p}}...)
	return e
}

func encode(spec Spec, top object) []byte {
	if spec.JSON {
		return marshal(top)
	}
	p := pickler{memo: map[string]int{}}
	p.WriteString("\x80\x02")
	p.value(top)
	p.WriteByte('.')
	return p.Bytes()
}

// marshal writes JSON as the control plane does: what stands in the groups is text.
func marshal(v any) []byte {
	var b bytes.Buffer
	switch v := v.(type) {
	case object:
		b.WriteByte('{')
		for i, x := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			key, _ := json.Marshal(x.key)
			b.Write(key)
			b.WriteByte(':')
			if n, ok := x.value.(int); ok && strings.HasPrefix(x.key, "last_") {
				fmt.Fprintf(&b, `"%d"`, n)
				continue
			}
			b.Write(marshal(x.value))
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(marshal(x))
		}
		b.WriteByte(']')
	default:
		raw, _ := json.Marshal(v)
		b.Write(raw)
	}
	return b.Bytes()
}

// pickler writes protocol 2 as PyTorch's C++ pickler does: texts are remembered, pairs are tuples.
type pickler struct {
	bytes.Buffer
	memo map[string]int
}

func (p *pickler) value(v any) {
	switch v := v.(type) {
	case nil:
		p.WriteByte('N')
	case bool:
		p.WriteByte(map[bool]byte{true: 0x88, false: 0x89}[v])
	case int:
		p.integer(int64(v))
	case int64:
		p.integer(v)
	case string:
		p.text(v)
	case object:
		p.WriteString("}(")
		for _, x := range v {
			p.text(x.key)
			p.value(x.value)
		}
		p.WriteByte('u')
	case []any:
		if len(v) == 2 {
			if _, isText := v[0].(string); isText {
				p.value(v[0])
				p.value(v[1])
				p.WriteByte(0x86)
				return
			}
		}
		p.WriteString("](")
		for _, x := range v {
			p.value(x)
		}
		p.WriteByte('e')
	}
}

func (p *pickler) integer(n int64) {
	switch {
	case n >= 0 && n < 1<<8:
		p.Write([]byte{'K', byte(n)})
	case n >= 0 && n < 1<<16:
		p.Write(binary.LittleEndian.AppendUint16([]byte{'M'}, uint16(n)))
	case n >= -1<<31 && n < 1<<31:
		p.Write(binary.LittleEndian.AppendUint32([]byte{'J'}, uint32(n)))
	default:
		p.Write(binary.LittleEndian.AppendUint64([]byte{0x8a, 8}, uint64(n)))
	}
}

func (p *pickler) text(s string) {
	if i, known := p.memo[s]; known {
		if i < 256 {
			p.Write([]byte{'h', byte(i)})
		} else {
			p.Write(binary.LittleEndian.AppendUint32([]byte{'j'}, uint32(i)))
		}
		return
	}
	i := len(p.memo)
	p.memo[s] = i
	p.Write(binary.LittleEndian.AppendUint32([]byte{'X'}, uint32(len(s))))
	p.WriteString(s)
	if i < 256 {
		p.Write([]byte{'q', byte(i)})
	} else {
		p.Write(binary.LittleEndian.AppendUint32([]byte{'r'}, uint32(i)))
	}
}
