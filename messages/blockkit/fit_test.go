package blockkit

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// maker makes random messages in which every single thing carries a token, so that what is gone can be counted.
type maker struct {
	r      *rand.Rand
	big    bool
	tokens map[string]int // kind of loss → how many were made
}

// token is a mark at the start of a text; kinds are p(aragraph), r(ow), b(utton), c(hoice), i(mage), f(ield).
func (m *maker) token(kind string) string {
	m.tokens[kind]++
	return fmt.Sprintf("{%s%d}", kind, m.tokens[kind])
}

var hostileText = []string{"<!channel> & <@U1>", "100% of 1+1", "a\x00b", "\u202eright", "`` ``` ``", "\x1b[31mred", "語", "\xff\xfe", "&amp;&amp;", "*_~"}

// text has a random length: mostly small, at times beyond every limit.
func (m *maker) text(kind string) string {
	n := []int{0, 1, 10, 74, 75, 76, 150, 300, 2000, 3000, 3001, 12000, 20000}[m.r.IntN(13)]
	if n > 300 && (!m.big && m.r.IntN(8) > 0 || m.r.IntN(3) > 0) {
		n = m.r.IntN(300)
	}
	if m.big && m.r.IntN(2000) == 0 {
		n = 1 << 20
	}
	s := m.token(kind)
	for len(s) < n {
		s += hostileText[m.r.IntN(len(hostileText))] + strings.Repeat("x", m.r.IntN(1+n/3))
	}
	return s
}

func (m *maker) object(kind string) *Text {
	t := Plain(m.text(kind))
	if m.r.IntN(2) == 0 {
		t = Mrkdwn(t.Text)
	}
	if m.r.IntN(20) == 0 {
		t.Type = "html"
	}
	return t
}

// count is a random number up to most, mostly small.
func (m *maker) count(most int) int {
	if !m.big || m.r.IntN(8) > 0 {
		return m.r.IntN(min(4, most) + 1)
	}
	return m.r.IntN(most + 1)
}

func (m *maker) inlines(runs int) Inlines {
	var out Inlines
	for range runs {
		switch m.r.IntN(8) {
		case 0:
			out = append(out, Link{URL: []string{"https://x.org", "javascript:1", ""}[m.r.IntN(3)], Text: m.text("p")})
		case 1:
			out = append(out, &Run{Text: m.text("p"), Style: &Style{Code: true}})
		default:
			out = append(out, Run{Text: m.text("p")})
		}
	}
	if m.r.IntN(10) == 0 {
		out = append(out, User{UserID: []string{"U1", "here", ""}[m.r.IntN(3)]}, Emoji{Name: []string{"", "x"}[m.r.IntN(2)]}, nil)
	}
	return out
}

func (m *maker) rich() RichText {
	var es RichElements
	for range 1 + m.count(60) {
		switch m.r.IntN(4) {
		case 0:
			es = append(es, RichSection{Elements: m.inlines(1)})
		case 1:
			es = append(es, Preformatted{Border: m.r.IntN(3), Elements: m.inlines(1)})
		case 2:
			es = append(es, Quote{Elements: m.inlines(1)})
		default:
			l := RichList{Style: []string{Ordered, Bullet, "stars"}[m.r.IntN(3)], Indent: m.r.IntN(12), Offset: m.r.IntN(9) - 3}
			for range m.count(400) {
				l.Elements = append(l.Elements, RichSection{Elements: m.inlines(1)})
			}
			es = append(es, l)
		}
	}
	return RichText{BlockID: m.id(), Elements: es}
}

func (m *maker) id() string {
	return []string{"", "same", "same", strings.Repeat("i", 300), "id" + strconv.Itoa(m.r.IntN(1000))}[m.r.IntN(5)]
}

func (m *maker) rows() []Row {
	columns := m.r.IntN(26)
	n := m.count(120)
	if m.big && m.r.IntN(100) == 0 {
		n = m.r.IntN(10001)
	}
	header := Row{}
	for range columns {
		header = append(header, RawText{Text: "head"})
	}
	rows := []Row{header}
	for range n {
		row := Row{RawText{Text: m.text("r")}}
		for range m.r.IntN(columns + 1) {
			switch m.r.IntN(5) {
			case 0:
				row = append(row, RawNumber{Value: []float64{1, math.NaN(), math.Inf(1)}[m.r.IntN(3)]})
			case 1:
				row = append(row, RichText{BlockID: "no", Elements: RichElements{RichSection{Elements: Inlines{Run{Text: strings.Repeat("r", m.r.IntN(5000))}}}}})
			case 2:
				row = append(row, nil)
			default:
				row = append(row, RawText{Text: strings.Repeat("c", m.r.IntN(60))})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (m *maker) options() []Option {
	var out []Option
	for range m.count(300) {
		m.tokens["c"]++
		n := m.tokens["c"]
		out = append(out, Option{Text: Plain(fmt.Sprintf("{c%d}%s", n, strings.Repeat("o", m.r.IntN(100)))), Value: fmt.Sprint(n)})
	}
	return out
}

func (m *maker) button() Button {
	b := Button{ActionID: []string{"same", "a" + strconv.Itoa(m.r.IntN(100)), strings.Repeat("z", 300)}[min(m.r.IntN(40), 2)%3], Text: m.object("b"),
		Style: []string{"", Primary, Danger, "green"}[m.r.IntN(4)], Value: strings.Repeat("v", m.r.IntN(30)*m.r.IntN(80))}
	if m.r.IntN(5) == 0 {
		b.Confirm = &Confirm{Title: Plain(strings.Repeat("t", m.r.IntN(200))), Text: Plain(strings.Repeat("t", m.r.IntN(500))), Deny: Plain("")}
	}
	return b
}

func (m *maker) block() Block {
	switch m.r.IntN(12) {
	case 0:
		return Header{BlockID: m.id(), Text: m.object("p")}
	case 1:
		return Divider{BlockID: m.id()}
	case 2:
		var ts []Text
		for range m.count(30) {
			ts = append(ts, *m.object("p"))
		}
		return Context{Elements: ts}
	case 3, 4:
		var es Elements
		for range m.count(40) {
			es = append(es, m.button())
		}
		if m.r.IntN(4) == 0 {
			opts := m.options()
			es = append(es, StaticSelect{ActionID: "s", Options: opts, InitialOption: &Option{Text: Plain("gone"), Value: "gone"}})
		}
		return Actions{BlockID: m.id(), Elements: es}
	case 5:
		m.tokens["i"]++
		return Image{AltText: fmt.Sprintf("{i%d}%s", m.tokens["i"], strings.Repeat("a", m.r.IntN(4000))), SlackFile: &SlackFile{ID: []string{"", "F1"}[m.r.IntN(2)]}}
	case 6:
		m.tokens["f"]++
		label := Plain(fmt.Sprintf("{f%d}%s", m.tokens["f"], strings.Repeat("l", m.r.IntN(3000))))
		return Input{BlockID: m.id(), Label: label, Element: []Element{PlainTextInput{ActionID: "value", MaxLength: m.r.IntN(5000), MinLength: m.r.IntN(5000),
			InitialValue: strings.Repeat("i", m.r.IntN(4000))}, URLTextInput{}, FileInput{MaxFiles: 70}}[m.r.IntN(3)]}
	case 7:
		return DataTable{BlockID: m.id(), Caption: strings.Repeat("c", m.r.IntN(300)), PageSize: m.r.IntN(300), RowHeaderColumnIndex: m.r.IntN(40), Rows: m.rows()}
	case 8:
		return Table{Rows: m.rows()[1:], ColumnSettings: make([]Column, m.r.IntN(30))}
	case 9:
		s := Section{BlockID: m.id()}
		if m.r.IntN(3) > 0 {
			s.Text = m.object("p")
		}
		for range m.count(30) {
			s.Fields = append(s.Fields, *m.object("p"))
		}
		if m.r.IntN(4) == 0 {
			b := m.button()
			s.Accessory = &b
		}
		return &s
	default:
		return m.rich()
	}
}

var lossNouns = map[string]string{"p": "paragraph", "r": "table row", "b": "button", "c": "choice", "i": "picture", "f": "field"}

var tokens = regexp.MustCompile(`\{[a-z]\d+\}`)

var lossCount = regexp.MustCompile(`^(\d+) (text|paragraph|table row|table column|button|choice|picture|field)s? `)

// Whatever a message holds, what Fit makes of it is valid and within the budget, and what is gone is counted.
func TestRandomMessagesFitAndNothingGoesInSilence(t *testing.T) {
	n := 2500
	switch {
	case testing.Short():
		n = 1000
	case os.Getenv("FAULTLINE_FULL") != "":
		n = 10000
	}
	messages, split, lost := 0, 0, 0
	for i := range n {
		m := &maker{rand.New(rand.NewPCG(uint64(i), 7)), i%20 == 0, map[string]int{}}
		in := Message{Text: m.text("t")}
		for range m.count(80) {
			in.Blocks = append(in.Blocks, m.block())
		}
		out, overflow := Fit(in)
		messages += len(out)
		if len(out) > 1 {
			split++
		}
		if len(overflow) > 0 {
			lost++
		}
		if len(out) > mostMessages || len(out) == 0 {
			t.Fatalf("message %d: %d messages", i, len(out))
		}
		checkFit(t, fmt.Sprintf("message %d", i), out, overflow, m.tokens)
		if i%4 > 0 {
			continue
		}
		for j, o := range out {
			if again, overflow := Fit(o); len(again) != 1 || len(overflow) > 0 || !reflect.DeepEqual(again[0], o) {
				t.Fatalf("message %d, part %d: fitted once more it is something else (%v)\n%s\n%s", i, j, overflow, encode(t, o), encode(t, again))
			}
		}
		single, overflow := FitOne(in)
		checkFit(t, fmt.Sprintf("message %d as one", i), []Message{single}, overflow, m.tokens)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d messages became %d; %d were split, of %d something was cut or left out", n, messages, split, lost)
	if split == 0 || lost == 0 {
		t.Error("nothing was tested")
	}
}

func checkFit(t *testing.T, name string, out []Message, overflow []string, made map[string]int) {
	t.Helper()
	var all strings.Builder
	for j, o := range out {
		raw := encode(t, o)
		all.Write(raw)
		for _, p := range append(ValidateMessage(raw), OverBudget(raw)...) {
			t.Errorf("%s, part %d: %v", name, j, p)
		}
	}
	text := all.String()
	there := map[string]bool{}
	for _, token := range tokens.FindAllString(text, -1) {
		there[token] = true
	}
	said := map[string]int{}
	for _, s := range overflow {
		if g := lossCount.FindStringSubmatch(s + " "); g != nil {
			said[g[2]], _ = strconv.Atoi(g[1])
		}
		if strings.Contains(s, "could not be shown") {
			t.Errorf("%s: the last resort was needed", name)
		}
	}
	for kind, noun := range lossNouns {
		gone := 0
		for i := 1; i <= made[kind]; i++ {
			if !there[fmt.Sprintf("{%s%d}", kind, i)] {
				gone++
			}
		}
		if gone > said[noun] {
			t.Errorf("%s: %d of %d %ss are gone, %d are said to be: %v", name, gone, made[kind], noun, said[noun], overflow)
		}
		if said[noun] > 0 && !strings.Contains(text, counted(said[noun], noun)) {
			t.Errorf("%s: no message says that %d %ss were left out: %v", name, said[noun], noun, overflow)
		}
	}
}

func TestWhatFitsIsNotTouched(t *testing.T) {
	m, v := everything()
	out, overflow := Fit(m)
	if len(out) != 1 || len(overflow) != 0 || !reflect.DeepEqual(out[0], m) {
		t.Errorf("%v\n%s\n%s", overflow, encode(t, out), encode(t, m))
	}
	got, overflow := FitView(v)
	if len(overflow) != 0 || !reflect.DeepEqual(got, v) {
		t.Errorf("%v\n%s\n%s", overflow, encode(t, got), encode(t, v))
	}
}

func TestFitDoesNotChangeItsArgument(t *testing.T) {
	for i := range 200 {
		m := &maker{rand.New(rand.NewPCG(uint64(i), 3)), true, map[string]int{}}
		in := Message{Text: "x"}
		for range 5 {
			b := m.block()
			switch b.(type) {
			case Table, DataTable: // may hold numbers that JSON does not have
			default:
				in.Blocks = append(in.Blocks, b)
			}
		}
		before := encode(t, in)
		Fit(in)
		if after := encode(t, in); string(after) != string(before) {
			t.Fatalf("was\n%s\nis\n%s", before, after)
		}
	}
}

// Buttons are what people wait for: they are there however much else is left out.
func TestButtonsSurviveALargeMessage(t *testing.T) {
	var bs Blocks
	for range 5000 {
		bs = append(bs, Section{Text: Plain(strings.Repeat("x", 2000))})
	}
	bs = append(bs, Actions{Elements: Elements{Button{ActionID: "close", Text: Plain("Close the case")}}})
	out, overflow := Fit(Message{Text: "x", Blocks: bs})
	if len(out) != mostMessages || !strings.Contains(string(encode(t, out)), "Close the case") || len(overflow) != 1 {
		t.Errorf("%d messages, %v", len(out), overflow)
	}
	single, _ := FitOne(Message{Text: "x", Blocks: bs})
	if !strings.Contains(string(encode(t, single)), "Close the case") || !strings.Contains(string(encode(t, single)), "Left out here") {
		t.Error("a single message lost its button or its note")
	}
}

func TestALongTableIsSplitWithItsHeader(t *testing.T) {
	rows := []Row{{RawText{Text: "time"}, RawText{Text: "event"}}}
	for i := range 250 {
		rows = append(rows, Row{RawText{Text: fmt.Sprint(i)}, RawText{Text: "something"}})
	}
	out, overflow := Fit(Message{Text: "Timeline", Blocks: Blocks{DataTable{Caption: "Timeline", Rows: rows}}})
	if len(out) != 3 || len(overflow) != 0 {
		t.Fatalf("%d messages, %v", len(out), overflow)
	}
	for i, m := range out {
		table := m.Blocks[0].(DataTable)
		if table.Caption != fmt.Sprintf("Timeline (part %d of 3)", i+1) || !reflect.DeepEqual(table.Rows[0], rows[0]) {
			t.Errorf("part %d: %s", i, encode(t, table.Rows[0]))
		}
	}
	if out[1].Text != "(continued, 2 of 3) Timeline" {
		t.Errorf("got %q", out[1].Text)
	}
}

func TestClipCountsCharactersAndTearsNothingApart(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 5, "short"},
		{"語語語語", 4, "語語語語"},
		{"語語語語語", 4, "語語語…"},
		{strings.Repeat("x", 101), 100, strings.Repeat("x", 72) + cutMark},
		{"abc&amp;def", 7, "abc…"},
		{"abc&amp;def", 9, "abc&amp;…"},
		{"ab", 1, "…"},
	} {
		if got := Clip(c.in, c.n); got != c.want || utf8.RuneCountInString(got) > c.n {
			t.Errorf("Clip(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestViewsAreFitted(t *testing.T) {
	v := View{PrivateMetadata: strings.Repeat("p", 3001), Title: Plain(strings.Repeat("t", 99))}
	for i := range 300 {
		v.Blocks = append(v.Blocks, Input{BlockID: "b", Label: Plain(fmt.Sprintf("label %d", i)), Element: PlainTextInput{ActionID: "value"}})
	}
	v.Blocks = append(v.Blocks, Table{Rows: []Row{{RawText{Text: "x"}}}})
	got, overflow := FitView(v)
	for _, p := range ValidateView(encode(t, got)) {
		t.Error(p)
	}
	if want := "[1 text cut short 1 table row left out 201 fields left out the private_metadata (too long) left out]"; fmt.Sprint(overflow) != want {
		t.Errorf("got %v, want %s", overflow, want)
	}
	empty, _ := FitView(View{})
	for _, p := range ValidateView(encode(t, empty)) {
		t.Error(p)
	}
}

// The sizes that Fit reckons with are those that the validator counts.
func TestSizesAreThoseOfTheValidator(t *testing.T) {
	m, v := everything()
	for i := range 300 {
		mk := &maker{rand.New(rand.NewPCG(uint64(i), 5)), true, map[string]int{}}
		out, _ := Fit(Message{Blocks: Blocks{mk.block()}})
		for _, o := range out {
			m.Blocks = append(m.Blocks, o.Blocks...)
		}
	}
	for _, b := range append(m.Blocks, v.Blocks...) {
		c := examine(encode(t, Message{Text: "x", Blocks: Blocks{b}}), false)
		if shown, tables := measure(b); shown != c.shown || tables != c.tables {
			t.Errorf("%d and %d, want %d and %d: %s", shown, tables, c.shown, c.tables, encode(t, b))
		}
	}
}

// What can be read as a message can be fitted.
func FuzzFit(f *testing.F) {
	m, _ := everything()
	f.Add([]byte(encode(f, m)))
	for _, b := range builders {
		f.Add([]byte(encode(f, b(200))))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m Message
		if json.Unmarshal(raw, &m) != nil {
			return
		}
		out, overflow := Fit(m)
		checkFit(t, "fuzz", out, overflow, nil)
	})
}
