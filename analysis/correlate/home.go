package correlate

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"faultline/analysis/aislog"
)

// The home of an object is the target that AIStore keeps it at: of all targets the one whose id, hashed with the object's name,
// weighs most. It follows from the names alone, so that it tells whether the object that a request wanted lay on a target that
// was taken away. Source: AIStore core/meta/hrw.go, cmn/bck.go (MakeUname), cmn/xoshiro256, 3.20 to 5.0.

// home is the target at which an object ("bucket/name") lies with all targets in service, "" where not all are known by name.
func (x *inquiry) home(object string) string {
	targets := x.targets()
	bucket, name, ok := strings.Cut(object, "/")
	if !ok || len(targets) == 0 {
		return ""
	}
	out := ""
	for _, provider := range x.providers(bucket) {
		h := weightiest(targets, provider+"/@#/"+bucket+"/"+name)
		if out != "" && out != h {
			return "" // buckets of two providers have this name
		}
		out = h
	}
	return out
}

// targets are the names of all targets that the cluster map counts, nil where some are not known.
func (x *inquiry) targets() []string {
	var out []string
	most := 0
	for i, d := range x.daemons {
		most = max(most, d.Targets)
		if d.Role == aislog.Target && d.ID != "" && !slices.Contains(out, x.self(i)) {
			out = append(out, x.self(i))
		}
	}
	for id := range x.peers() {
		if x.role(id) == string(aislog.Target) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	if len(out) != most {
		return nil
	}
	slices.Sort(out)
	return out
}

// peers are the ids of daemons that others name.
func (x *inquiry) peers() map[string]bool {
	out := map[string]bool{}
	for _, d := range x.daemons {
		for i := range d.Groups {
			if p := d.Groups[i].Peer; p != "" {
				out[p] = true
			}
		}
	}
	return out
}

// providers are those by which the daemons' records name a bucket; AIStore's own where none does.
func (x *inquiry) providers(bucket string) []string {
	var out []string
	for _, d := range x.daemons {
		for i := range d.Groups {
			for k := range d.Groups[i].Events {
				scheme, rest, ok := strings.Cut(d.Groups[i].Events[k].Object, "://")
				if b, _, _ := strings.Cut(rest, "/"); ok && b == bucket && !slices.Contains(out, scheme) {
					out = append(out, scheme)
				}
			}
		}
	}
	if len(out) == 0 {
		out = []string{"ais"}
	}
	return out
}

// weightiest is the target to which the hash of a name gives the most weight.
func weightiest(targets []string, uname string) string {
	digest := xxh64(uname, hashSeed)
	out, most := "", uint64(0)
	for _, id := range targets {
		if w := scramble(xxh64(id, hashSeed) ^ digest); w >= most {
			out, most = id, w
		}
	}
	return out
}

// hashSeed is AIStore's (cos.MLCG32).
const hashSeed = 1103515245

// scramble is one step of xoshiro256** seeded by splitmix64.
func scramble(seed uint64) uint64 {
	z := seed + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z = (z ^ z>>31) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z = (z ^ z>>31) * 5
	return bits.RotateLeft64(z, 7) * 9
}

// Primes of xxHash.
const (
	prime1 uint64 = 11400714785074694791
	prime2 uint64 = 14029467366897019727
	prime3 uint64 = 1609587929392839161
	prime4 uint64 = 9650029242287828579
	prime5 uint64 = 2870177450012600261
)

// xxh64 is the 64-bit xxHash of a string.
func xxh64(s string, seed uint64) uint64 {
	b := []byte(s)
	h := seed + prime5
	if len(b) >= 32 {
		v := [4]uint64{seed + prime1 + prime2, seed + prime2, seed, seed - prime1}
		for ; len(b) >= 32; b = b[32:] {
			for i := range v {
				v[i] = mix(v[i], binary.LittleEndian.Uint64(b[8*i:]))
			}
		}
		h = bits.RotateLeft64(v[0], 1) + bits.RotateLeft64(v[1], 7) + bits.RotateLeft64(v[2], 12) + bits.RotateLeft64(v[3], 18)
		for _, w := range v {
			h = (h^mix(0, w))*prime1 + prime4
		}
	}
	h += uint64(len(s))
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64(h^mix(0, binary.LittleEndian.Uint64(b)), 27)*prime1 + prime4
	}
	if len(b) >= 4 {
		h = bits.RotateLeft64(h^uint64(binary.LittleEndian.Uint32(b))*prime1, 23)*prime2 + prime3
		b = b[4:]
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

func mix(acc, input uint64) uint64 {
	return bits.RotateLeft64(acc+input*prime2, 31) * prime1
}
