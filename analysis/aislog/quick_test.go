package aislog

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// plainPeer is peer without the cues.
func plainPeer(msg []byte, self string) string {
	if s := between(msg, "shared-dm[", "]"); s != "" {
		for _, arrow := range []string{"<=>", "=>", "<="} {
			if a, b, ok := strings.Cut(s, arrow); ok {
				if a = bare(a); a != self && a != "" {
					return a
				}
				return bare(b)
			}
		}
	}
	for _, before := range []string{"failed reconnecting to ", "reconnect/send: shared-dm --> ", "successful reconnect from ", "?tid=", "&tid="} {
		if s := bare(token(msg, before)); s != "" && s != self {
			return s
		}
	}
	if i := bytes.Index(msg, []byte(" (called by ")); i >= 0 {
		msg = msg[:i]
	}
	if i := bytes.Index(msg, []byte("Smap v")); i > 0 && bytes.Contains(msg[:i], []byte("[")) {
		msg = msg[:i]
	}
	for rest := msg; ; {
		i := bytes.IndexByte(rest, '[')
		if i < 1 || i+1 >= len(rest) {
			return ""
		}
		if c := rest[i-1]; (c == 't' || c == 'p') && (i == 1 || !word(rest[i-2])) {
			if end := bytes.IndexByte(rest[i:], ']'); end > 1 && end <= maxID {
				if id := clip(rest[i+1:i+end], maxID); id != self && ident(id) {
					return id
				}
			}
		}
		rest = rest[i+1:]
	}
}

// What a record says is the same whether or not its cues are asked first.
func FuzzCues(f *testing.F) {
	for _, s := range []string{
		"shared-dm[a<=>b] x", "shared-dm[self=>t[b]] ", "failed reconnecting to t[b], x?tid=c&tid=d", "reconnect/send: shared-dm --> p[q]", "&tid=t[x] ",
		"Get \"http://h/v1/o\": (t[self] t[other]: htrun.go:1) (called by t[third])", "t[self], Smap v3[a, t=3] t[b]", "GET /v1/objects/b/o PUT /v1/daemon x", "t[\xff] [t[x]",
	} {
		f.Add(s)
	}
	sc := scanner(f)
	f.Fuzz(func(t *testing.T, s string) {
		r := &reader{Scanner: sc, f: &File{}, p: &part{id: "self"}}
		msg := []byte(s)
		has := r.cues(msg)
		if got, want := r.peer(msg, has), plainPeer(msg, "self"); got != want {
			t.Errorf("%q: peer %q, not %q", s, got, want)
		}
		if got, want := request(msg, has), request(msg, cueRequest); got != want {
			t.Errorf("%q: request %q, not %q", s, got, want)
		}
	})
}

// A line of counters says the same whatever line was read before it.
func FuzzCounters(f *testing.F) {
	f.Add("{err.get.n:3,get.n:5,state.flags:6}", "{err.get.n:3,get.n:5,put.n:1,state.flags:262}")
	f.Add("{a:1,b:2}", "{a:1,a:2,,b:3:4,:5}")
	f.Add("{a:-1,b:9223372036854775807,c:1", "{a:1234567890123456789,b:,c:1x}")
	f.Add("{ :1,a:1}", "{:1,a:1}")
	f.Fuzz(func(t *testing.T, before, line string) {
		var used, fresh names
		old, _, ok := used.read([]byte(before))
		kept := slices.Clone(old)
		got, whole, ok1 := used.read([]byte(line))
		want, all, ok2 := fresh.read([]byte(line))
		if ok1 != ok2 || ok1 && (whole != all || !reflect.DeepEqual(got, want)) {
			t.Errorf("%q behind %q: %v %v %v, not %v %v %v", line, before, got, whole, ok1, want, all, ok2)
		}
		if ok && !slices.Equal(old, kept) {
			t.Errorf("%q was changed by %q", before, line)
		}
		var sums []Growth
		m := map[string]int64{}
		for _, by := range [][]Growth{kept, want} {
			sums = addTo(sums, by)
			for _, g := range by {
				m[g.Name] += g.N
			}
		}
		if ok && ok2 && !slices.Equal(sums, sortGrowth(m)) {
			t.Errorf("%v, not %v", sums, sortGrowth(m))
		}
	})
}
