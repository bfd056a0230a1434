package verify

import "encoding/binary"

const (
	// minLong is how long a string must be to be looked for by its grams; shorter ones are looked for one by one.
	minLong = 12
	gram    = 4
	// gramBits is the size of the table that tells most places without a second look.
	gramBits = 14
)

// grams finds several long strings in one go, looking only at every stride-th place: wherever one of them stands, one of
// its first grams stands at such a place.
type grams struct {
	stride int
	marks  [1 << gramBits]byte
	places map[uint32][]gramPlace
}

// gramPlace is where in which string a gram stands.
type gramPlace struct{ search, offset int }

// gramsOf is nil where no string is long.
func gramsOf(list []search) *grams {
	g := &grams{places: map[uint32][]gramPlace{}}
	for _, q := range list {
		if n := len(q.needle) - gram + 1; n > minLong-gram && (g.stride == 0 || n < g.stride) {
			g.stride = n
		}
	}
	if g.stride == 0 {
		return nil
	}
	for i, q := range list {
		if len(q.needle) < minLong {
			continue
		}
		for off := range g.stride {
			v := binary.LittleEndian.Uint32(q.needle[off:])
			g.marks[gramHash(v)] = 1
			g.places[v] = append(g.places[v], gramPlace{i, off})
		}
	}
	return g
}

func gramHash(v uint32) uint32 { return v * 2654435761 >> (32 - gramBits) }

// find calls hit for every place at which one of the strings stands, those of one string from left to right.
func (g *grams) find(list []search, b []byte, hit func(search, at int)) {
	s := g.stride
	far := 8 * s
	for i := 0; i+gram <= len(b); i += s {
		for ; i+far <= len(b); i += far {
			w := b[i : i+far]
			if g.marks[gramHash(binary.LittleEndian.Uint32(w))]|g.marks[gramHash(binary.LittleEndian.Uint32(w[s:]))]|
				g.marks[gramHash(binary.LittleEndian.Uint32(w[2*s:]))]|g.marks[gramHash(binary.LittleEndian.Uint32(w[3*s:]))]|
				g.marks[gramHash(binary.LittleEndian.Uint32(w[4*s:]))]|g.marks[gramHash(binary.LittleEndian.Uint32(w[5*s:]))]|
				g.marks[gramHash(binary.LittleEndian.Uint32(w[6*s:]))]|g.marks[gramHash(binary.LittleEndian.Uint32(w[7*s:]))] != 0 {
				break
			}
		}
		if i+gram > len(b) {
			return
		}
		v := binary.LittleEndian.Uint32(b[i:])
		if g.marks[gramHash(v)] == 0 {
			continue
		}
		places := g.places[v]
		for k := len(places) - 1; k >= 0; k-- { // the larger the offset, the further left the string begins
			p := places[k]
			from, needle := i-p.offset, list[p.search].needle
			if from >= 0 && len(b)-from >= len(needle) && string(b[from:from+len(needle)]) == string(needle) {
				hit(p.search, from)
			}
		}
	}
}
