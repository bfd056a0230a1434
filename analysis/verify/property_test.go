package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"faultline/incident"
)

// world is a synthetic incident with true claims about it.
type world struct {
	content map[string]string // as the verifier sees it, decompressed
	stored  map[string]string
	names   []string
	claims  []incident.Evidence
}

func newWorld(t testing.TB, rng *rand.Rand) *world {
	w := &world{content: map[string]string{}, stored: map[string]string{}}
	total := int64(0)
	downs := int64(0)
	var values []string
	for i := range 2 + rng.IntN(4) {
		var b strings.Builder
		eol := []string{"\n", "\r\n"}[rng.IntN(2)]
		rank, seq := i*8+rng.IntN(8), 1000*(i+1)+rng.IntN(900)
		name := fmt.Sprintf("error-77-%d.out", i)
		values = append(values, strconv.Itoa(rank))
		noise := func() {
			for range rng.IntN(6) {
				switch rng.IntN(5) {
				case 0:
					fmt.Fprintf(&b, "step %d loss 2.%03d%s", rng.IntN(1e6), rng.IntN(1000), eol)
				case 1:
					for k := range rng.IntN(5) {
						fmt.Fprintf(&b, "\r %d%%|#| %d/10", k*10, k)
					}
					b.WriteString(eol)
				case 2:
					b.WriteString("\x1b[32mINFO\x1b[0m hello" + eol)
				case 3:
					b.WriteString(strings.Repeat("\x00", rng.IntN(40)) + eol)
				case 4:
					b.WriteString(strings.Repeat("y", rng.IntN(200)) + "\xff\xfe" + eol)
				}
			}
		}
		quote := func(text string, p *incident.Predicate) {
			content := b.String()
			off := int64(len(content))
			line := int64(strings.Count(content, "\n")) + 1
			b.WriteString(text + eol)
			w.claims = append(w.claims, incident.Quote(name, line, off, text, p))
		}
		noise()
		quote(fmt.Sprintf("[rank%d]:[E 1%d:4%d:0%d.5 x.cpp:5] Timeout: SeqNum=%d, ran for %d milliseconds", rank, i, i, i, seq, 600000+rng.IntN(100000)),
			&incident.Predicate{Literals: []string{"[rank", "SeqNum="}, Fields: []incident.Field{{Key: "SeqNum=", Value: strconv.Itoa(seq)}, {Key: "[rank", Value: strconv.Itoa(rank)}}})
		noise()
		quote(fmt.Sprintf("last enqueued work: %d, last completed work: %d", seq+1, seq),
			&incident.Predicate{Fields: []incident.Field{{Key: "enqueued work: ", Value: strconv.Itoa(seq + 1)}, {Key: "completed work: ", Value: strconv.Itoa(seq)}}, Not: []string{"progress"}})
		for range rng.IntN(3) + 1 {
			noise()
			fmt.Fprintf(&b, "\rworker %d is \x1b[1mdown\x1b[0m now%s", rank, eol)
			downs++
		}
		noise()
		b.WriteString("end" + "\n")
		w.names = append(w.names, name)
		w.content[name] = b.String()
		total += int64(b.Len())
		switch rng.IntN(3) {
		case 0:
			w.stored[name] = b.String()
		case 1:
			w.stored[name] = gz(t, b.String())
		case 2:
			w.stored[name] = zst(t, b.String())
		}
	}
	down := &incident.Predicate{Literals: []string{"worker ", "is down now"}}
	w.claims = append(w.claims,
		incident.Evidence{Kind: incident.KindCount, Predicate: down, Files: w.names, N: downs},
		incident.Evidence{Kind: incident.KindSet, Predicate: down, Capture: &incident.Capture{Key: "worker "}, Files: w.names, Values: values},
		incident.Evidence{Kind: incident.KindAbsence, Predicate: lits("Traceback (most"), Files: w.names, Bytes: total},
	)
	first, second := w.claims[0], w.claims[1]
	ms := func(e incident.Evidence) incident.Evidence {
		p := &incident.Predicate{Fields: []incident.Field{{Key: "ran for ", Value: strings.Fields(e.Text[strings.Index(e.Text, "ran for ")+8:])[0]}}}
		e.Predicate = p
		return e
	}(first)
	n, _ := strconv.ParseInt(ms.Predicate.Fields[0].Value, 10, 64)
	at := 10*3600*1000 + 40*60*1000 - n // file 0: 10:40:00
	w.claims = append(w.claims,
		incident.Evidence{Kind: incident.KindDerived, Formula: "time-minus-ms", Inputs: []incident.Evidence{ms}, Result: fmt.Sprintf("%02d:%02d:%02d", at/3600000, at/60000%60, at/1000%60)},
		incident.Evidence{Kind: incident.KindDerived, Formula: "difference", Inputs: []incident.Evidence{second, first}, Result: "1"},
	)
	return w
}

// corrupt changes one thing of a true claim. ok is false where this kind has nothing of that sort.
func corrupt(rng *rand.Rand, w *world, e incident.Evidence) (out incident.Evidence, what string, ok bool) {
	e.Values, e.Files, e.Inputs = slices.Clone(e.Values), slices.Clone(e.Files), slices.Clone(e.Inputs)
	if e.Predicate != nil {
		p := *e.Predicate
		p.Fields, p.Literals = slices.Clone(p.Fields), slices.Clone(p.Literals)
		e.Predicate = &p
	}
	digit := func(s string) string { // another digit at one place
		i := strings.IndexAny(s, "0123456789")
		return s[:i] + string('0'+(s[i]-'0'+byte(1+rng.IntN(9)))%10) + s[i+1:]
	}
	switch e.Kind {
	case incident.KindQuote:
		switch what = []string{"text", "line", "offset", "file", "field", "literal", "cut", "kind"}[rng.IntN(8)]; what {
		case "text":
			i := rng.IntN(len(e.Text))
			e.Text = e.Text[:i] + string(e.Text[i]^byte(1+rng.IntN(7))) + e.Text[i+1:]
			if strings.Contains(e.Text, "\r") {
				return e, what, false
			}
		case "line":
			e.Line += int64(1 + rng.IntN(5))
		case "offset":
			e.Offset += int64(1 + rng.IntN(30))
		case "file":
			e.File = w.names[(slices.Index(w.names, e.File)+1)%len(w.names)]
		case "field": // also the rank
			f := &e.Predicate.Fields[rng.IntN(len(e.Predicate.Fields))]
			f.Value = digit(f.Value)
		case "literal":
			e.Predicate.Literals = append([]string{"never printed"}, e.Predicate.Literals...)
		case "cut": // the text ends inside the number, and the predicate follows it
			f := &e.Predicate.Fields[0]
			i := strings.Index(e.Text, f.Key) + len(f.Key)
			e.Text = e.Text[:i+len(f.Value)-1]
			f.Value = f.Value[:len(f.Value)-1]
			e.Predicate.Fields = e.Predicate.Fields[:1]
			e.Predicate.Literals = nil
			if f.Value == "" {
				return e, what, false
			}
		case "kind":
			e.Kind = incident.KindCount
		}
	case incident.KindCount:
		switch what = []string{"number", "file dropped", "predicate"}[rng.IntN(3)]; what {
		case "number":
			e.N += int64(1 + rng.IntN(3))
		case "file dropped":
			e.Files = slices.Delete(e.Files, 0, 1)
		case "predicate":
			e.Predicate.Not = []string{"now"}
		}
	case incident.KindSet:
		switch what = []string{"added", "removed", "changed", "file dropped"}[rng.IntN(4)]; what {
		case "added":
			e.Values = append(e.Values, "4096")
		case "removed":
			i := rng.IntN(len(e.Values))
			e.Values = slices.Delete(e.Values, i, i+1)
		case "changed":
			e.Values[len(e.Values)-1] = "5000"
		case "file dropped":
			e.Files = slices.Delete(e.Files, 0, 1)
		}
	case incident.KindAbsence:
		switch what = []string{"bytes", "file dropped", "predicate"}[rng.IntN(3)]; what {
		case "bytes":
			e.Bytes += int64(rng.IntN(100)) + 1
		case "file dropped":
			e.Files = slices.Delete(e.Files, 0, 1)
		case "predicate":
			e.Predicate = lits("enqueued")
		}
	case incident.KindDerived:
		switch what = []string{"result", "input", "formula"}[rng.IntN(3)]; what {
		case "result":
			e.Result = digit(e.Result)
		case "input":
			var sub string
			e.Inputs[0], sub, ok = corrupt(rng, w, e.Inputs[0])
			return e, "input " + sub, ok
		case "formula":
			e.Formula = "sum"
		}
	}
	return e, what, true
}

func TestCorruptedClaimsAreRejected(t *testing.T) {
	worlds, each := 40, 60
	if testing.Short() {
		worlds = 10
	}
	rng := rand.New(rand.NewPCG(1, 2))
	tried := 0
	kinds := map[string]int{}
	for range worlds {
		w := newWorld(t, rng)
		files := write(t, w.stored)
		for _, e := range w.claims {
			if err := Evidence(files, e); err != nil {
				t.Fatalf("a true claim was rejected: %v\n%+v", err, e)
			}
		}
		for range each {
			e, what, ok := corrupt(rng, w, w.claims[rng.IntN(len(w.claims))])
			if !ok {
				continue
			}
			tried++
			kinds[e.Kind+" "+what]++
			if err := Evidence(files, e); err == nil {
				t.Errorf("accepted with corrupted %s: %+v", what, e)
			}
		}
	}
	if !testing.Short() && tried < 1000 {
		t.Errorf("only %d corruptions tried", tried)
	}
	t.Log(tried, kinds)
}

// Cutting a segment into windows anywhere changes nothing.
func TestWindowsDoNotChangeAMatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"ab", "abc", "key=", "key=12", "12", " ", "\x1b[1m", "\x1b]0;t\x07", "\x1b", "\x00", strings.Repeat("z", 300), "end", "no"}
	preds := []*incident.Predicate{lits("ab", "abc", "end"), keyed("key=", "12"), {Literals: []string{"12"}, Not: []string{"no"}}, keyed("key=", "1212", "ab")}
	for range 3000 {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		text := b.String()
		for _, p := range preds {
			pr, err := compile(p, &incident.Capture{Key: "key="})
			if err != nil {
				t.Fatal(err)
			}
			whole := newTally(pr)
			newSegments([]*tally{whole}).end([]byte(text))
			cut := newTally(pr)
			s := newSegments([]*tally{cut})
			for rest := text; ; {
				n := rng.IntN(len(rest) + 1)
				if n == len(rest) {
					s.piece([]byte(rest), true)
					break
				}
				s.piece([]byte(rest[:n]), false)
				rest = rest[n:]
			}
			if whole.n != cut.n || fmt.Sprint(whole.values) != fmt.Sprint(cut.values) {
				t.Fatalf("%q with %+v: whole %d %v, in windows %d %v", text, *p, whole.n, whole.values, cut.n, cut.values)
			}
		}
	}
}

func newTally(p *predicate) *tally {
	return (&pass{}).addTally("", p, 10)
}

// FuzzEvidence holds the streaming verifier to a reading of the definition that has the whole file in its hands.
func FuzzEvidence(f *testing.F) {
	f.Add([]byte(body), "rank", "rank ", "7")
	f.Add([]byte("a\r\x1b[31mb\x1b[0mc k=1.\r\nk=22"), "bc", "k=", "1")
	f.Add([]byte("\x1f\x8bnot gzip"), "not", "n", "ot")
	f.Fuzz(func(t *testing.T, data []byte, literal, key, value string) {
		files := write(t, map[string]string{"f": string(data)})
		p := &incident.Predicate{Literals: []string{literal}, Fields: []incident.Field{{Key: key, Value: value}}}
		if _, err := compile(p, nil); err != nil {
			if Evidence(files, incident.Evidence{Kind: incident.KindCount, Predicate: p, Files: []string{"f"}, N: 1}) == nil {
				t.Fatal("a malformed predicate was accepted")
			}
			return
		}
		if len(data) > 3 && (data[0] == 0x1f || data[0] == 0x28) {
			_ = Evidence(files, incident.Evidence{Kind: incident.KindAbsence, Predicate: p, Files: []string{"f"}, Bytes: 1})
			return
		}
		var n int64
		for _, seg := range strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' || r == '\r' }) {
			clean, _ := strip(nil, []byte(seg), true)
			i := strings.Index(string(clean), key)
			if i < 0 || !strings.Contains(string(clean), literal) {
				continue
			}
			tok, _ := token(clean[i+len(key):])
			if string(tok) == value {
				n++
			}
		}
		if n > 0 {
			if err := Evidence(files, incident.Evidence{Kind: incident.KindCount, Predicate: p, Files: []string{"f"}, N: n}); err != nil {
				t.Fatal(err)
			}
		}
		if Evidence(files, incident.Evidence{Kind: incident.KindCount, Predicate: p, Files: []string{"f"}, N: n + 1}) == nil {
			t.Fatalf("accepted %d, there are %d", n+1, n)
		}
	})
}
