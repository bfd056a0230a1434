package knowledge

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// families lists the tables in the order of Match: where a line speaks for several signatures, the earlier table is the
// more specific evidence.
var families = [][]Signature{
	checkSignatures,
	memorySignatures,
	cudaSignatures,
	acceleratorSignatures,
	gpuHardwareSignatures,
	nativeSignatures,
	loaderSignatures,
	networkSignatures,
	peerSignatures,
	startupSignatures,
	versionSignatures,
	configSignatures,
	limitSignatures,
	schedulerSignatures,
	signalSignatures,
	kubernetesSignatures,
	storageSignatures,
	clientSignatures,
	checkpointSignatures,
	sampleSignatures,
	numericSignatures,
	collectiveSignatures,
	teardownSignatures,
	slowSignatures,
	endedSignatures,
	noiseSignatures,
}

const (
	// maxMatchText bounds what is searched of one line. Error lines are short; what is longer is a dump of data.
	maxMatchText = 64 << 10
	// A Pattern sees this much before and after the signature's first literal.
	patternBefore, patternAfter = 512, 4096
	// maxTries bounds at how many places of one line a signature is held against what stands around its first literal.
	maxTries = 16
)

// compiled is the matching form of a table: first literals hashed by their first four bytes, so that one walk over
// the text finds every candidate whatever the number of signatures.
type compiled struct {
	all     []Signature
	pattern []func() expression // compiled when it is first needed; nil where there is none
	byID    map[ID]int
	firsts  []first                     // by hash of their first four bytes, those of one hash in table order
	bucket  [1<<hashBits + 1]uint16     // by that hash: where its firsts begin; they end where the next one's begin
	begins  [1 << beginBits / 64]uint64 // the same bytes by a longer hash: few other places of a text pass
}

// first is the first literal of signature n. Its first eight bytes stand side by side with others': what only begins like it is
// dismissed without a look at anything else, of which little is in a cache when a line of trouble comes.
type first struct {
	head, mask uint64
	lit        string
	n          int32
}

// expression is a signature's pattern.
type expression struct {
	*regexp.Regexp
	needs [][]byte // see needs
}

const (
	hashBits  = 12
	beginBits = 16
)

// index compiles the tables at the first use: tests of packages that never match a line should not pay for it.
var index = sync.OnceValue(func() *compiled {
	all := slices.Concat(families...)
	patterns := make([]func() expression, len(all))
	for i := range all {
		patterns[i] = all[i].compile()
	}
	return compile(all, patterns)
})

// compile returns what compiles the signature's pattern when it is first needed; nil where there is none.
func (s *Signature) compile() func() expression {
	if s.Pattern == "" {
		return nil
	}
	pattern, literals := s.Pattern, s.Literals
	return sync.OnceValue(func() expression { return expression{regexp.MustCompile(pattern), needs(pattern, literals)} })
}

// compile makes signatures, with their patterns, fit for matching.
func compile(all []Signature, patterns []func() expression) *compiled {
	c := &compiled{all: all, pattern: patterns, byID: map[ID]int{}}
	for i, s := range c.all {
		c.byID[s.ID] = i
		h := hash4([]byte(s.Literals[0]))
		c.begins[h/64] |= 1 << (h % 64)
		c.bucket[bucketOf(h)+1]++
	}
	for b := range 1 << hashBits {
		c.bucket[b+1] += c.bucket[b]
	}
	c.firsts = make([]first, len(c.all))
	next := c.bucket
	for i, s := range c.all {
		f := first{lit: s.Literals[0], n: int32(i)}
		f.head, f.mask = eight([]byte(f.lit)), ^uint64(0)>>(64-8*min(len(f.lit), 8))
		b := bucketOf(hash4([]byte(f.lit)))
		c.firsts[next[b]] = f
		next[b]++
	}
	return c
}

func hash4(b []byte) uint32 {
	return binary.LittleEndian.Uint32(b) * 2654435761 >> (32 - beginBits)
}

func bucketOf(h uint32) uint32 { return h >> (beginBits - hashBits) }

// eight are the first eight bytes of b, or what there is of them.
func eight(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	var w [8]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint64(w[:])
}

// match also tells how many places it looked at closely: a line that repeats a literal must not cost a pattern each time.
func (c *compiled) match(dst []ID, text []byte) (ids []ID, looks int) {
	var room [16]try
	tried := room[:0]
	for i := 0; i+4 <= len(text); i++ {
		h := hash4(text[i:])
		if c.begins[h/64]>>(h%64)&1 == 0 {
			continue
		}
		word, b := eight(text[i:]), bucketOf(h)
		firsts := c.firsts[c.bucket[b]:c.bucket[b+1]]
		for k := range firsts {
			f := &firsts[k]
			if (word^f.head)&f.mask != 0 || len(text)-i < len(f.lit) || string(text[i:i+len(f.lit)]) != f.lit {
				continue
			}
			n := f.n
			at := slices.IndexFunc(tried, func(t try) bool { return t.n == n })
			if at < 0 {
				at = len(tried)
				tried = append(tried, try{n: n})
			}
			t := &tried[at]
			if t.found || t.times == maxTries {
				continue
			}
			t.times++
			looks++
			t.found = c.holds(int(n), text, i)
		}
	}
	// Few signatures match one line: an insertion sort brings them into table order.
	for i := 1; i < len(tried); i++ {
		for j := i; j > 0 && tried[j].n < tried[j-1].n; j-- {
			tried[j], tried[j-1] = tried[j-1], tried[j]
		}
	}
	for _, t := range tried {
		if t.found {
			dst = append(dst, c.all[t.n].ID)
		}
	}
	return dst, looks
}

// try is what is known of a signature whose first literal was met.
type try struct {
	n     int32
	times int
	found bool
}

// fields returns what the pattern of a signature captures.
func (c *compiled) fields(id ID, text []byte) map[string]string {
	n, ok := c.byID[id]
	if !ok || c.pattern[n] == nil {
		return nil
	}
	text = bound(text)
	first := c.all[n].Literals[0]
	from := 0
	for range maxTries {
		i := bytes.Index(text[from:], []byte(first))
		if i < 0 {
			return nil
		}
		i += from
		if m := c.pattern[n]().FindSubmatch(window(text, i)); m != nil {
			var fields map[string]string
			for k, name := range c.pattern[n]().SubexpNames() {
				if name == "" || len(m[k]) == 0 {
					continue
				}
				if fields == nil {
					fields = map[string]string{}
				}
				fields[name] = strings.ToValidUTF8(string(m[k]), "\uFFFD")
			}
			return fields
		}
		from = i + 1
	}
	return nil
}

// holds decides signature n where its first literal stands at text[at:].
func (c *compiled) holds(n int, text []byte, at int) bool {
	s := &c.all[n]
	rest := text[at+len(s.Literals[0]):]
	for _, lit := range s.Literals[1:] {
		i := bytes.Index(rest, []byte(lit))
		if i < 0 {
			return false
		}
		rest = rest[i+len(lit):]
	}
	for _, not := range s.Not {
		if bytes.Contains(text, []byte(not)) {
			return false
		}
	}
	if c.pattern[n] == nil {
		return true
	}
	near, e := window(text, at), c.pattern[n]()
	return possible(e.needs, near) && e.Match(near)
}

func window(text []byte, at int) []byte {
	return text[max(0, at-patternBefore):min(len(text), at+patternAfter)]
}

func bound(text []byte) []byte {
	if len(text) > maxMatchText {
		return text[:maxMatchText]
	}
	return text
}
