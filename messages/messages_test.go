package messages

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"faultline/incident"
)

var update = flag.Bool("update", false, "write the golden files")

type format struct {
	ext   string
	write func(io.Writer, *incident.Report) error
}

// glossarySection is left out of golden files: its wording is knowledge's and changes with it.
var glossarySection = regexp.MustCompile(`(?s)<section id="words">.*?</section>\n?`)

var formats = []format{
	{"json", JSON},
	{"md", Markdown},
	{"txt", func(w io.Writer, r *incident.Report) error { return Terminal(w, r, Style{Width: 100}) }},
	{"narrow.txt", func(w io.Writer, r *incident.Report) error { return Terminal(w, r, Style{Width: 60, Verbose: true}) }},
	{"html", func(w io.Writer, r *incident.Report) error {
		var b bytes.Buffer
		if err := HTML(&b, r, someContext()); err != nil {
			return err
		}
		_, err := w.Write(glossarySection.ReplaceAll(b.Bytes(), nil))
		return err
	}},
	{"postmortem.md", func(w io.Writer, r *incident.Report) error { return Postmortem(w, r, Story{}) }},
	{"first.txt", func(w io.Writer, r *incident.Report) error {
		_, err := fmt.Fprintln(w, strings.Join(append(FirstScreen(r, 0), "", RankMapAlt(r)), "\n"))
		return err
	}},
	{"pixels", func(w io.Writer, r *incident.Report) error {
		var b bytes.Buffer
		if err := RankMapPNG(&b, r); err != nil {
			return err
		}
		img, err := png.Decode(&b)
		if err != nil {
			return err
		}
		p := img.(*image.Paletted) // pixels, not bytes: another compressor is not another picture
		_, err = fmt.Fprintf(w, "%v %x\n", p.Rect, sha256.Sum256(fmt.Appendf(p.Pix, "%v", p.Palette)))
		return err
	}},
}

func someContext() Extras {
	return Extras{Context: map[string]Excerpt{
		"node09.err:20177":       {First: 20175, Lines: []string{"HF_TOKEN=abcdefgh12345", "<b>before</b>", "[rank77]: the line itself", "after"}},
		"dir`|<b>/x.err:7":       {First: 6, Lines: []string{evilText, evilText}},
		"a file nobody cites:12": {First: 12, Lines: []string{"not shown anywhere"}},
	}}
}

func render(t *testing.T, f format, r *incident.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormatsMatchTheirGoldenFiles(t *testing.T) {
	for name, fixture := range fixtures {
		for _, f := range formats {
			if (name == "hostile" && f.ext == "json") || (f.ext == "json" && name != "oom" && name != "minimal") {
				continue // large, and held to the schema elsewhere
			}
			path := filepath.Join("testdata", name+"."+f.ext)
			got := render(t, f, fixture())
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs; look at the change, then run with -update", path)
			}
		}
	}
}

// The picture that the documentation shows is what the code draws.
func TestTheExamplePictureIsCurrent(t *testing.T) {
	const path = "../docs/rankmap-example.png"
	var b bytes.Buffer
	if err := RankMapPNG(&b, stall()); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	img, err := png.Decode(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(img, old) {
		t.Errorf("%s is not what RankMapPNG draws; look, then run with -update", path)
	}
}

func TestTheSameReportGivesTheSameBytes(t *testing.T) {
	for name, fixture := range fixtures {
		for _, f := range formats {
			first, second := render(t, f, fixture()), render(t, f, fixture())
			if first != second {
				t.Errorf("%s as %s is not deterministic", name, f.ext)
			}
		}
	}
}

func TestRenderingDoesNotTouchTheReport(t *testing.T) {
	for name, fixture := range fixtures {
		r := fixture()
		before, _ := json.Marshal(r)
		for _, f := range formats {
			render(t, f, r)
		}
		if after, _ := json.Marshal(r); !bytes.Equal(before, after) {
			t.Errorf("%s was changed by rendering", name)
		}
	}
}

func TestHostileTextIsInertEverywhere(t *testing.T) {
	r := hostile()
	for _, f := range formats {
		got := render(t, f, r)
		if !utf8.ValidString(got) {
			t.Errorf("%s: invalid UTF-8", f.ext)
		}
		for _, bad := range []string{"\x00", "\x1b", "\u202e", "hunter2secret", "abcdefgh12345", "not shown anywhere"} {
			if strings.Contains(got, bad) {
				t.Errorf("%s contains %q", f.ext, bad)
			}
		}
	}
	page := render(t, formats[4], r)
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d script elements in the page", n)
	}
	for _, bad := range []string{"<img", "<b>before", "http://", "https://", "ZgotmplZ", " style="} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if !strings.Contains(page, "default-src &#39;none&#39;") {
		t.Error("the page has no content security policy")
	}
}

// Outside its code fences, Markdown must not contain a raw tag, and every fence must close.
func TestMarkdownFencesCannotBeBroken(t *testing.T) {
	open := ""
	for i, l := range strings.Split(render(t, formats[1], hostile()), "\n") {
		s := strings.TrimLeft(l, " ")
		ticks := s[:len(s)-len(strings.TrimLeft(s, "`"))]
		switch {
		case open == "" && len(ticks) >= 3 && s == ticks:
			open = ticks
		case open != "" && s == ticks && len(ticks) >= len(open):
			open = ""
		case open == "" && (strings.Contains(l, "<") || strings.Contains(l, "@")):
			if !strings.Contains(l, "`dir") && !strings.Contains(l, "``") {
				t.Errorf("line %d: raw markup outside a fence: %q", i+1, l)
			}
		}
	}
	if open != "" {
		t.Error("a fence never closes")
	}
}

func TestFirstScreenIsShort(t *testing.T) {
	for name, fixture := range fixtures {
		r := fixture()
		r.Verdict.Why = strings.Repeat(r.Verdict.Why+" and on ", 40)
		limit := firstScreenLines
		if name == "healthy" {
			limit = calmLines
		}
		for columns, width := range map[int]int{0: firstScreenWidth, 40: minWidth, 80: 80, 120: 120} {
			lines := FirstScreen(r, columns)
			most := map[int]int{minWidth: 2 * limit, 80: (4*limit + 2) / 3}[width] // as much text, on shorter lines
			if len(lines) > max(limit, most) || len(lines) == 0 {
				t.Errorf("%s at %d: %d lines", name, columns, len(lines))
			}
			for _, l := range lines {
				if textWidth(l) > width {
					t.Errorf("%s at %d: %d columns: %q", name, columns, textWidth(l), l)
				}
			}
		}
	}
}

func TestANarrowScreenCutsNoMoreThanAWideOne(t *testing.T) {
	for name, fixture := range fixtures {
		cuts := func(columns int) int {
			return strings.Count(strings.Join(FirstScreen(fixture(), columns), "\n"), "…")
		}
		for _, columns := range []int{minWidth, 80} {
			if cuts(columns) > cuts(firstScreenWidth) {
				t.Errorf("%s at %d:\n%s", name, columns, strings.Join(FirstScreen(fixture(), columns), "\n"))
			}
		}
	}
}

func TestWhatIsCutEndsAfterAWord(t *testing.T) {
	text := "one two three four five six seven"
	for columns := 12; columns < 40; columns++ {
		got := cut(text, columns)
		if textWidth(got) > columns || !strings.HasSuffix(got, "…") || !strings.HasPrefix(text+" ", strings.TrimSuffix(got, "…")+" ") {
			t.Errorf("at %d: %q", columns, got)
		}
	}
}

func TestFirstScreenNamesRankNodeAndDecision(t *testing.T) {
	text := strings.Join(FirstScreen(stall(), 0), "\n")
	for _, want := range []string{"rank 77 on node09", "OK to resubmit without node09", "step 12,000", "Who: confirmed; why: can't tell.", "Storage logs"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	text = strings.Join(FirstScreen(undecided(), 0), "\n")
	for _, want := range []string{"Can't tell yet: need the logs of node3 and node5", "0.50", "0.30", "0.20", "node3, node5", "24-31,40-47", "the logs of node3 and node5"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTerminalKeepsToItsWidth(t *testing.T) {
	for name, fixture := range fixtures {
		for _, width := range []int{60, 72, 80, 100, 140} {
			var b bytes.Buffer
			r := fixture()
			for i := range r.Recommendations { // commands stay in one piece
				r.Recommendations[i].Command = ""
			}
			for i := range r.Verdict.Needs {
				r.Verdict.Needs[i].Command = ""
			}
			if err := Terminal(&b, r, Style{Width: width}); err != nil {
				t.Fatal(err)
			}
			for _, l := range strings.Split(b.String(), "\n") {
				if textWidth(l) > width {
					t.Errorf("%s at %d: %d columns: %q", name, width, textWidth(l), l)
				}
			}
		}
	}
}

func TestColourOnlyWhereAsked(t *testing.T) {
	var plain, colour bytes.Buffer
	if err := Terminal(&plain, stall(), Style{}); err != nil {
		t.Fatal(err)
	}
	if err := Terminal(&colour, stall(), Style{Color: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(colour.String(), "\x1b[") {
		t.Error("colour where none was asked for, or none where it was")
	}
}

func TestLargeJobsStaySmall(t *testing.T) {
	r := big()
	for _, f := range formats {
		n := len(render(t, f, r))
		if limit := 5 << 20; n > limit && f.ext != "json" {
			t.Errorf("%s of 16,384 ranks has %d bytes", f.ext, n)
		}
	}
	m := buildMap(stallOf(32768, 8, 12345)).perNode(2048, 32)
	cells, ranks, roots := 0, 0, 0
	for _, row := range m.Rows {
		for _, c := range row.Cells {
			cells++
			ranks += len(c.Ranks)
			if c.Root {
				roots++
			}
		}
	}
	if cells > 2048 || ranks != 32768 || roots != 1 {
		t.Errorf("%d cells for %d ranks, %d of them the root's", cells, ranks, roots)
	}
}

func TestVerificationSaysWhatWasReRead(t *testing.T) {
	r := &incident.Report{}
	r.Verification.Quotes = incident.Ratio{Held: 41, Checked: 41}
	r.Verification.Counts = incident.Ratio{Held: 7, Checked: 7}
	if got, want := verified(r), "Checked against the raw files and confirmed: 41 of 41 quotations and 7 of 7 counts."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRangesAndNodeLists(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{ranges(nil), ""},
		{ranges([]int{5, 3, 4, 4, 9}), "3-5,9"},
		{ranges([]int{1, 2}), "1,2"},
		{nodeList([]string{"node10", "node09", "node08", "gpu1"}), "gpu1, node[08-10]"},
		{nodeList([]string{"a1", "a2"}), "a1, a2"},
		{nodeList([]string{"n-1-9", "n-1-10", "login"}), "login, n-1-9, n-1-10"},
		{grouped(-1234567), "-1,234,567"},
		{bytesText(412_000_000), "412 MB"},
		{bytesText(1_250_000_000), "1.2 GB"},
		{clip("日本語テキスト", 7), "日本語…"},
		{strings.Join(wrap("日本語 テキスト aaa", 8), "|"), "日本語|テキスト|aaa"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestProgressBar(t *testing.T) {
	p := ProgressBar{Label: "reading"}
	f := func(done, total int64, d time.Duration, width int, want string) {
		t.Helper()
		got := p.Line(done, total, d, width)
		if got != want || textWidth(got) > width {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(0, 1000, 0, 80, "reading  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░    0%  0 B of 1 kB")
	f(7, 7, time.Second, 30, "reading  100%  7 B of 7 B  7…")
	f(10, 0, time.Second, 60, "reading  10 B  10 B/s")
	if got := p.Line(500_000_000, 1_000_000_000, 5*time.Second, 80); !strings.Contains(got, " 50%  500 MB of 1 GB  100 MB/s  5s left") {
		t.Errorf("got %q", got)
	}
}

func TestSentences(t *testing.T) {
	for in, want := range map[string]string{
		"rank 62 ran out":        "Rank 62 ran out.",
		"everyone: waited…":      "Everyone: waited…",
		"torch.cuda said so":     "torch.cuda said so.",
		"py-spy dump":            "py-spy dump.",
		"Already.":               "Already.",
		"":                       "",
		"élan vital":             "Élan vital.",
		"3 ranks  waited\nlong ": "3 ranks waited long.",
	} {
		if got := sentence(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := cut("and so on…", 40); got != "and so on…" {
		t.Errorf("got %q", got)
	}
	if got := cut("abcdefgh", 8); got != "abcdefg…" {
		t.Errorf("got %q", got)
	}
}

// Ranks whose node nothing proves are in the map, in rows that say so.
func TestRankMapKeepsRanksWithoutNode(t *testing.T) {
	r := minimal()
	for i := range 10 {
		r.Ranks = append(r.Ranks, incident.RankState{Rank: i, Role: incident.Missing})
	}
	r.Ranks[3].Node = "a1"
	m := buildMap(r)
	if len(m.Rows) != 3 || m.Rows[0].Node != "a1" || m.Rows[1].Node != "node? 0-2,4-8" || !m.Rows[2].Unknown {
		t.Errorf("got %+v", m.Rows)
	}
	if alt := RankMapAlt(r); !strings.Contains(alt, "10 ranks on 1 node, node unknown for 9 ranks") || !strings.Contains(alt, "10 without any log") {
		t.Errorf("got %q", alt)
	}
}

func TestPageExplainsTheTermsItUses(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, stall(), Extras{}); err != nil {
		t.Fatal(err)
	}
	words := glossarySection.FindString(b.String())
	if !strings.Contains(words, "<dt>checkpoint</dt>") || strings.Contains(words, "<dt>expert parallel</dt>") {
		t.Errorf("the page explains\n%s", words)
	}
}
