package verify

import "encoding/binary"

const (
	// minLong is how long a string must be to be looked for by its grams; shorter ones are looked for one by one.
	minLong = 12
	gram    = 4
	// gramBits is the size of the table that tells most places without a second look.
	gramBits = 16
)

// grams finds several long strings in one go, looking only at every stride-th place: wherever one of them stands, one of
// its first grams stands at such a place.
type grams struct {
	stride int
	bits   [1 << gramBits / 64]uint64
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
			h := gramHash(v)
			g.bits[h/64] |= 1 << (h % 64)
			g.places[v] = append(g.places[v], gramPlace{i, off})
		}
	}
	return g
}

func gramHash(v uint32) uint32 { return v * 2654435761 >> (32 - gramBits) }

// find calls hit for every place at which one of the strings stands, those of one string from left to right.
func (g *grams) find(list []search, b []byte, hit func(search, at int)) {
	far := 4 * g.stride
	for i := 0; i+gram <= len(b); i += g.stride {
		for i+far+gram <= len(b) && g.maybe(b[i:i+far+gram]) == 0 {
			i += far
		}
		v := binary.LittleEndian.Uint32(b[i:])
		h := gramHash(v)
		if g.bits[h/64]>>(h%64)&1 == 0 {
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

// maybe is 0 if none of the strings has its gram at the first four places of b.
func (g *grams) maybe(b []byte) uint64 {
	s := g.stride
	h0 := gramHash(binary.LittleEndian.Uint32(b))
	h1 := gramHash(binary.LittleEndian.Uint32(b[s:]))
	h2 := gramHash(binary.LittleEndian.Uint32(b[2*s:]))
	h3 := gramHash(binary.LittleEndian.Uint32(b[3*s:]))
	return (g.bits[h0/64]>>(h0%64) | g.bits[h1/64]>>(h1%64) | g.bits[h2/64]>>(h2%64) | g.bits[h3/64]>>(h3%64)) & 1
}
