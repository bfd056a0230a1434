package scan

import "encoding/binary"

// The filter: every literal of minLong bytes or more holds, in any window of stride+3 bytes of it, one complete 4-gram
// at each residue modulo stride. So if the stride 4-grams of one window are in a table, looking at one 4-gram every
// stride bytes of the text misses no literal.
const (
	stride  = 4
	gram    = 4
	minLong = stride + gram - 1
	hashLog = 14
)

// entry says that literal lit has this 4-gram at offset off.
type entry struct {
	gram uint32
	lit  uint16
	off  uint16
}

type filter struct {
	flags   [1 << hashLog]uint8
	buckets map[uint32][]entry // by hash; consulted only where flags is set
	lits    []string
}

func hash(g uint32) uint32 { return g * 2654435761 >> (32 - hashLog) }

// newFilter builds the table for the literals of minLong bytes or more; ids index lits.
func newFilter(lits []string) *filter {
	f := &filter{buckets: map[uint32][]entry{}, lits: lits}
	for id, l := range lits {
		if len(l) < minLong {
			continue
		}
		w := rarest(l)
		for off := w; off < w+stride; off++ {
			g := binary.LittleEndian.Uint32([]byte(l[off : off+gram]))
			h := hash(g)
			f.flags[h] = 1
			f.buckets[h] = append(f.buckets[h], entry{gram: g, lit: uint16(id), off: uint16(off)})
		}
	}
	return f
}

// next is the start of the first literal that the filter meets in b[from:to], −1 if there is none. Another literal of
// the same line may begin before it.
func (f *filter) next(b []byte, from, to int) int {
	p := from
	for ; p+3*stride+gram <= to; p += 4 * stride {
		q := b[p : p+3*stride+gram : p+3*stride+gram]
		if f.flags[hash(binary.LittleEndian.Uint32(q))]|
			f.flags[hash(binary.LittleEndian.Uint32(q[stride:]))]|
			f.flags[hash(binary.LittleEndian.Uint32(q[2*stride:]))]|
			f.flags[hash(binary.LittleEndian.Uint32(q[3*stride:]))] == 0 {
			continue
		}
		for k := p; k < p+4*stride; k += stride {
			if s := f.verify(b, k, from, to, nil); s >= 0 {
				return s
			}
		}
	}
	for ; p+gram <= to; p += stride {
		if s := f.verify(b, p, from, to, nil); s >= 0 {
			return s
		}
	}
	return -1
}

// collect calls hit for each literal found in b[from:to], with its end.
func (f *filter) collect(b []byte, from, to int, hit func(lit uint16, end int)) {
	for p := from; p+gram <= to; p += stride {
		f.verify(b, p, from, to, hit)
	}
}

// verify compares the literals whose 4-gram may stand at p. Without hit it returns the start of the first that does.
func (f *filter) verify(b []byte, p, from, to int, hit func(lit uint16, end int)) int {
	g := binary.LittleEndian.Uint32(b[p:])
	h := hash(g)
	if f.flags[h] == 0 {
		return -1
	}
	for _, e := range f.buckets[h] {
		if e.gram != g {
			continue
		}
		l := f.lits[e.lit]
		s := p - int(e.off)
		if s < from || s+len(l) > to || string(b[s:s+len(l)]) != l {
			continue
		}
		if hit == nil {
			return s
		}
		hit(e.lit, s+len(l))
	}
	return -1
}

// rarest is the offset of the window of minLong bytes whose 4-grams are the least frequent in logs, by an estimate.
func rarest(l string) int {
	best, at := 0.0, 0
	for w := 0; w+minLong <= len(l); w++ {
		cost := 0.0
		for o := w; o < w+stride; o++ {
			cost += frequency(l[o : o+gram])
		}
		if w == 0 || cost < best {
			best, at = cost, w
		}
	}
	return at
}

// frequency estimates how often a 4-gram occurs in training logs.
func frequency(g string) float64 {
	if common[g] {
		return 1
	}
	f := 1.0
	for i := 0; i < len(g); i++ {
		f *= weight(g[i]) / 16
	}
	return f
}

// weight is a byte's rough share in training logs, relative to the others.
func weight(c byte) float64 {
	switch {
	case c == ' ' || c == '0':
		return 10
	case c >= '1' && c <= '9':
		return 6
	case c == 'e' || c == 'a' || c == 'i' || c == 'n' || c == 'o' || c == 'r' || c == 's' || c == 't':
		return 6
	case c >= 'a' && c <= 'z':
		return 3
	case c == '.' || c == ':' || c == '-' || c == '/' || c == ',' || c == '_' || c == '[' || c == ']' || c == '|' || c == '=':
		return 4
	case c >= 'A' && c <= 'Z':
		return 1
	}
	return 0.5
}

// common are 4-grams that nearly every line of some training log holds, whatever their letters.
var common = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range []string{
		"[INFO] ", " INFO ", " - INFO - ", "WARNING", "NCCL INFO Channel", " [rank", "]:[E", "[Rank ", "  File \"", "/site-packages/torch/",
		"/python3", "ProcessGroupNCCL.cpp:", "iteration", "elapsed time per iteration (ms): ", "consumed samples", "learning rate: ",
		"global batch size", "lm loss: ", "loss scale", "grad norm", "throughput", "rank", "step", "epoch", "Epoch ", "it/s]", "████", "    ", "----", "====", "****",
	} {
		for i := 0; i+gram <= len(s); i++ {
			m[s[i:i+gram]] = true
		}
	}
	return m
}()
