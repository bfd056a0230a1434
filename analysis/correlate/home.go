package correlate

import (
	"math/bits"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// The home of an object is the target that AIStore keeps it at: of all targets the one whose id, hashed with the object's name,
// weighs most. It follows from the names alone, so that it tells whether the object that a request wanted lay on a target that
// was taken away. Source: AIStore core/meta/hrw.go, cmn/bck.go (MakeUname), cmn/xoshiro256, 3.20 to 5.0.

// home is the target at which an object ("bucket/name") lies with all targets in service, "" where not all are known by name.
func (x *inquiry) home(object string) string {
	targets := x.members().targets
	in, name, ok := strings.Cut(object, "/")
	if !ok || len(targets) == 0 {
		return ""
	}
	buckets := x.members().buckets[in]
	if len(buckets) == 0 {
		buckets = []bucket{{scheme: "ais", name: in}}
	}
	out := ""
	for _, b := range buckets {
		h := weightiest(targets, b.uname(name))
		if out != "" && out != h {
			return "" // two buckets have this name
		}
		out = h
	}
	return out
}

// weightiest is the target to which the hash of a name gives the most weight.
func weightiest(targets []string, uname string) string {
	digest := xxh64(uname)
	out, most := "", uint64(0)
	for _, id := range targets {
		if w := scramble(xxh64(id) ^ digest); w >= most {
			out, most = id, w
		}
	}
	return out
}

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

// xxh64 is the hash that AIStore takes of names.
func xxh64(s string) uint64 {
	h := xxhash.NewWithSeed(1103515245) // cos.MLCG32
	_, _ = h.WriteString(s)             // it never fails
	return h.Sum64()
}
