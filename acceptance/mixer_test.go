package acceptance

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"faultline/analysis/worker"
	"faultline/knowledge"
	"faultline/simulate"
)

// mixer makes input that is almost a log: lines of simulated incidents and of the real cases, the examples of every signature
// and the literals that readers look for, cut, crossed and bent. The same seed gives the same bytes.
type mixer struct {
	rng   *rand.Rand
	lines [][]byte // whole lines that some reader knows
	words [][]byte // what lines are put together from
	buf   []byte
}

// tokens are what the grammars of logs hang on, and what has broken parsers before.
var tokens = []string{
	"\n", "\n\n", "\r", "\r\n", "\t", " ", "\x00", "\x1b[31m", "\x1b[", "\xff\xfe", "\xed\xa0\x80", "é", "�", "(", ")", "[", "]", "[[", "]]", "{", "}", "\"", "'", "`",
	"=", ":", ": ", ",", ", ", "|", "/", "-", "--", "..", "%", "*", "<", ">", "\\", "#", "~", "$", "0", "-1", "1", "7", "4294967296", "18446744073709551616",
	"9223372036854775807", "-9223372036854775808", "99999999999999999999999999", "1e309", "1e-400", "nan", "inf", "0x", "00", "1.", ".5", "12:60:61", "2025-02-30",
	"2025-06-03T17:48:01.005271823Z", "E0603 17:48:01.005", "[rank", "[rank0]: ", "[default3]:", "3: ", "rank 7", "[Rank 1] ", "(pid=1, ip=10.0.0.1) ", "node[01-99999999]",
	"node[1-3,5]", "[0-", "tasks 0,2-", "Traceback (most recent call last):\n", "  File \"a.py\", line 1, in f\n", "RuntimeError: ", "During handling of the above exception",
}

func newMixer(t testing.TB, seed uint64) *mixer {
	t.Helper()
	m := &mixer{rng: rand.New(rand.NewPCG(seed, 31))}
	for _, w := range tokens {
		m.words = append(m.words, []byte(w))
	}
	for _, w := range worker.Literals() {
		m.words = append(m.words, []byte(w))
	}
	for _, s := range knowledge.Whole().Signatures() {
		m.lines = append(m.lines, []byte(s.Example))
		m.words = append(m.words, bytes.Fields([]byte(s.Example))...)
	}
	for _, spec := range simulate.Grid(200, seed, 0) {
		if spec.NodeCount*spec.PerNode > 32 {
			continue
		}
		for _, f := range play(t, spec).Files {
			m.take(f.Data)
		}
	}
	files, err := filepath.Glob(filepath.Join(corpus, "*", "logs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil {
			m.take(data)
		}
	}
	return m
}

// take keeps the lines of a file, the first of each shape.
func (m *mixer) take(data []byte) {
	seen := map[string]bool{}
	for _, l := range bytes.Split(data, []byte("\n")) {
		shape := string(bytes.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, l))
		if len(l) > 0 && len(l) < 1<<14 && !seen[shape] && len(seen) < 60 {
			seen[shape] = true
			m.lines = append(m.lines, l)
		}
	}
}

// next is one input of at most so many bytes, valid until the following one is made. Most are short; some are one piece
// repeated, which is what makes a reader slow that looks back.
func (m *mixer) next(largest int) []byte {
	p := m.rng
	size := 1 + p.IntN(1<<(6+p.IntN(8)))
	if p.IntN(200) == 0 {
		size = 1 + p.IntN(1<<18)
	}
	if largest > 0 {
		size = min(size, largest)
	}
	b := m.buf[:0]
	if p.IntN(12) == 0 {
		unit := m.piece(nil)
		for len(b) < size && len(unit) > 0 {
			b = append(b, unit...)
		}
	}
	for len(b) < size {
		n := len(b)
		b = m.piece(b)
		if p.IntN(3) > 0 {
			b = m.bend(b, n)
		}
		if p.IntN(4) > 0 {
			b = append(b, '\n')
		}
	}
	m.buf = b
	return b[:size]
}

// piece appends a run of lines, a part of one, or words.
func (m *mixer) piece(b []byte) []byte {
	p := m.rng
	switch p.IntN(5) {
	case 0, 1: // as they follow each other in a log
		at := p.IntN(len(m.lines))
		for _, l := range m.lines[at:min(len(m.lines), at+1+p.IntN(6))] {
			b = append(append(b, l...), '\n')
		}
	case 2: // the beginning of one, the end of another
		x, y := m.lines[p.IntN(len(m.lines))], m.lines[p.IntN(len(m.lines))]
		b = append(append(b, x[:p.IntN(len(x)+1)]...), y[p.IntN(len(y)+1):]...)
	case 3:
		for range 1 + p.IntN(12) {
			b = append(b, m.words[p.IntN(len(m.words))]...)
			if p.IntN(2) == 0 {
				b = append(b, ' ')
			}
		}
	default:
		b = append(b, m.lines[p.IntN(len(m.lines))]...)
	}
	return b
}

// bend changes what was appended since from.
func (m *mixer) bend(b []byte, from int) []byte {
	p := m.rng
	for range 1 + p.IntN(4) {
		if from >= len(b) {
			return b
		}
		at := from + p.IntN(len(b)-from)
		switch p.IntN(8) {
		case 0:
			b[at] = byte(p.Uint32())
		case 1:
			b[at] ^= 1 << p.IntN(8)
		case 2:
			b = slices.Insert(b, at, m.words[p.IntN(len(m.words))]...)
		case 3: // a part is lost
			b = slices.Delete(b, at, min(len(b), at+1+p.IntN(30)))
		case 4: // a part twice
			b = slices.Insert(b, at, b[at:min(len(b), at+1+p.IntN(60))]...)
		case 5: // a number becomes another
			if b[at] < '0' || b[at] > '9' {
				continue
			}
			end := at
			for end < len(b) && b[end] >= '0' && b[end] <= '9' {
				end++
			}
			b = slices.Replace(b, at, end, strconv.AppendUint(nil, p.Uint64()>>p.IntN(64), 10)...)
		case 6:
			b = append(b[:at:at], bytes.Repeat(m.words[p.IntN(len(m.words))], 1+p.IntN(40))...)
		default: // the rest is lost
			b = b[:at]
		}
	}
	return b
}
