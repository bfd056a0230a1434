package novel

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"faultline/analysis/line"
)

// read reads texts as files, each with its last line that holds "step " as its last step.
func read(t *testing.T, texts map[string]string) (files []*File) {
	t.Helper()
	for name, text := range texts {
		f, err := Read(context.Background(), name, strings.NewReader(text), Options{LastStep: int64(strings.LastIndex(text, "step ")), Size: int64(len(text))})
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

func steps(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "step %d loss %d.5\n", i, n-i)
	}
	return b.String()
}

// Every row of the table of weights changes the score of some line, by its points.
func TestEveryRowOfTheTableCounts(t *testing.T) {
	base := steps(30)
	several := func(with string, n int) map[string]string {
		m := map[string]string{}
		for i := range 8 {
			m[fmt.Sprintf("%d.log", i)] = base
			if i < n {
				m[fmt.Sprintf("%d.log", i)] += with
			}
		}
		return m
	}
	one := func(text string) map[string]string { return map[string]string{"a.log": text} }
	stepped := World{Stepped: true}
	good := World{Stepped: true, HasGood: true, Good: func(uint64) bool { return true }}
	fresh := World{Stepped: true, HasGood: true, Good: func(uint64) bool { return false }}
	noise := World{Stepped: true, Known: func(string) Known { return Known{Noise: true} }}
	echo := World{Stepped: true, Known: func(string) Known { return Known{Echo: true} }}
	late := World{Stepped: true, Behind: func(string, Place, string) (bool, bool) { return false, false }}
	timed := World{Stepped: true, When: func(_ string, _ Place, text string) (float64, bool) { return float64(len(text)), true }}
	told := World{Stepped: true, Ranks: []int{0, 1, 2, 3, 4, 5, 6, 7}, Place: func(file string, _ Place, _ *line.Who) (int, string) { return int(file[0] - '0'), "" }}
	named := World{Stepped: true, Names: func(string) string { return "gn7" }}
	covered := map[string]bool{}
	for _, c := range []struct {
		name, key string
		texts     map[string]string
		world     World
		want      string // parts with their points
	}{
		{"a crash as the last word", "mux", one(base + "mux: panicked\n"), stepped, "severity 40 position 18 rarity 8 temporal 4"},
		{"an error as the last word", "mux", one(base + "mux failed\n"), stepped, "severity 30 position 18 rarity 8 temporal 4"},
		{"a warning as the last word", "mux", one(base + "mux lost\n"), stepped, "position 18 severity 12 rarity 8 temporal 4"},
		{"a last word that tells nothing", "mux=", one(base + "mux=None\n"), World{}, "words -20 position 18 rarity 8 temporal 4"},
		{"a last line of code", "    go(mux)", one(base + "  File \"a.py\", line 3, in f\n    go(mux)\n"), World{}, "words -20 position 18 rarity 8 temporal 4"},
		{"among the last", "mux", one(base + "mux failed\nbye\n"), stepped, "severity 30 position 14 rarity 8 temporal 4"},
		{"right after the last step", "mux", one(base + "mux failed\na\nb\nc\nd\ne\n" + strings.Repeat("x y\n", 9)), stepped, "severity 30 position 14 rarity 8 temporal 4"},
		{"after the last step", "mux", one(base + "a a\nb b\nc c\nmux failed\nd d\ne e\nf f\ng g\n"), stepped, "severity 30 position 10 rarity 8 temporal 4"},
		{"three of them", "mux", one(base + "mux failed\nmux failed\nmux failed\n"), stepped, "severity 30 position 18 rarity 4 temporal 4"},
		{"very many", "mux", one(base + strings.Repeat("mux failed\n", 300)), stepped, "severity 30 position 18 background -15 rarity -8"},
		{"one file of eight", "mux", several("mux failed\n", 1), stepped, "severity 30 position 18 spatial 15 rarity 8 temporal 4"},
		{"all files", "mux", several("mux failed\n", 8), stepped, "severity 30 position 18 temporal 4"},
		{"training went on", "mux", one(base + "mux failed\n" + base), stepped, "background -60 severity 30 rarity 8"},
		{"good runs print it", "mux", one(base + "mux failed\n"), good, "cross-job -60 severity 30 position 18 rarity 8 temporal 4"},
		{"no good run prints it", "mux", one(base + "mux failed\n"), fresh, "severity 30 position 18 cross-job 10 rarity 8 temporal 4"},
		{"known as noise", "mux", one(base + "mux failed\n"), noise, "known -40 severity 30 position 18 rarity 8 temporal 4"},
		{"known as an echo", "mux", one(base + "mux failed\n"), echo, "severity 30 position 18 known -10 rarity 8 temporal 4"},
		{"below another", "mux", one(base + "dup failed\nmux failed\n"), stepped, "severity 30 order -20 position 18 rarity 8 temporal 4"},
		{"before all others", "mux", one(base + "mux failed\nmuch, much later all else failed\n"), timed, "severity 30 order 20 position 14 rarity 8 temporal 4"},
		{"advice", "Hint", one(base + "Hint: see whether mux failed\n"), stepped, "severity 30 words -25 position 18 rarity 8 temporal 4"},
		{"announcing what follows", "mux", one(base + "mux failed:\n"), stepped, "severity 30 words -25 position 18 rarity 8 temporal 4"},
		{"how it ended, beside why", "mux", one(base + "mux exited with code 3\ndup failed\n"), stepped, "severity 30 end -15 position 14 rarity 8 temporal 4"},
		{"all but one", "mux", several("mux failed\n", 7), told, "severity 30 spatial 22 position 18 temporal 4"},
		{"beside a file with steps", "mux", map[string]string{"a.log": base, "b.log": "mux failed\n" + strings.Repeat("x y\nz w\n", 40)}, late, "severity 30 spatial 15 rarity 8 position 6"},
		{"all along", "mux", map[string]string{"a.log": strings.Repeat("mux failed\nx y\nz w\n", 40)}, World{}, "severity 30 background -15 position 14"},
		{"naming a node", "mux", several("mux failed on gn7\n", 1), named, "severity 30 position 18 spatial 15 names 8 rarity 8 temporal 4"},
		{"a call that failed", "n1:7:9 [0] mux.cc", one(base + "n1:7:8 [0] plug.cc:2 NCCL WARN no plug\nn1:7:9 [0] mux.cc:8 NCCL WARN lane 3 is torn\nn1:7:8 [0] NCCL INFO other\nn1:7:9 [0] NCCL INFO mux.cc:9 -> 3\n"), stepped, "severity 30 outcome 15 position 14 rarity 8"},
		{"a call that one does without", "n1:7:9 [0] mux.cc", one(base + "n1:7:9 [0] mux.cc:8 NCCL WARN lane 3 is torn\nn1:7:9 [0] NCCL INFO mux.cc:9 -> 0\n"), stepped, "severity 30 outcome -15 position 14 rarity 8"},
		{"with a stack", "panic: mux", one(base + "panic: mux\n\ngoroutine 1 [running]:\nmain.f()\n\t/a/f.go:3 +0x1\n"), stepped, "severity 40 position 14 stack 10 rarity 8"},
	} {
		found := false
		for _, l := range Weigh(read(t, c.texts), c.world, 100) {
			if !strings.HasPrefix(l.Text, c.key) {
				continue
			}
			found = true
			var got []string
			sum := 0
			for _, p := range l.Parts {
				got = append(got, fmt.Sprintf("%s %d", p.Name, p.Points))
				covered[fmt.Sprintf("%s %d", p.Name, p.Points)] = true
				sum += p.Points
			}
			if s := strings.Join(got, " "); s != c.want || sum != l.Score {
				t.Errorf("%s: %s (%d), not %s", c.name, s, l.Score, c.want)
			}
		}
		if !found {
			t.Errorf("%s: the line is not there", c.name)
		}
	}
	for _, r := range rules {
		if !covered[fmt.Sprintf("%s %d", r.part, r.points)] {
			t.Errorf("no case shows %s %d", r.part, r.points)
		}
	}
}

func TestOneRankOfASharedFileIsTold(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		for r := range 8 {
			fmt.Fprintf(&b, "[rank%d]: step %d loss 1.5\n", r, i)
		}
	}
	b.WriteString("[rank5]: mux failed\n[rank1]: bye\n[rank2]: bye\n[rank3]: bye\n[rank4]: bye\n")
	w := World{Stepped: true, Writers: func(string) int { return 8 }, Place: func(_ string, _ Place, who *line.Who) (int, string) {
		if who == nil {
			return -1, ""
		}
		return who.Global, ""
	}}
	top := Weigh(read(t, map[string]string{"job.log": b.String()}), w, 1)[0]
	if top.Rank != 5 || !top.Minority || !strings.Contains(top.Text, "mux failed") {
		t.Errorf("%+v", top)
	}
}

// What is looked at of a large file is its beginning, its end and what follows the last step; lines and offsets are those of the whole.
func TestALargeFileIsReadAtItsEnds(t *testing.T) {
	var b strings.Builder
	b.WriteString("first failed\n")
	b.WriteString(strings.Repeat("quiet line without end\n", 100_000))
	b.WriteString("the middle failed\n")
	b.WriteString(strings.Repeat("quiet line without end\n", 50_000))
	last := b.Len()
	b.WriteString("step 12 loss 0.5\nbehind it failed\n")
	b.WriteString(strings.Repeat("quiet line without end\n", 100_000))
	b.WriteString("last failed\n")
	atItsEnds(t, b.String(), last, strings.Count(b.String(), "\n"))
	b.WriteString("without an end") // is a line as well
	atItsEnds(t, b.String(), last, strings.Count(b.String(), "\n")+1)
}

func atItsEnds(t *testing.T, text string, last, lines int) {
	t.Helper()
	src := strings.NewReader(text)
	f, err := Read(context.Background(), "a", src, Options{LastStep: int64(last), StepLine: int64(strings.Count(text[:last], "\n")) + 1, Size: int64(len(text)), Lines: int64(lines),
		Budget: 256 << 10, Skip: func(n int64) error { _, err := src.Seek(n, io.SeekCurrent); return err }})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range f.Kinds {
		if !strings.HasSuffix(k.Text, "failed") {
			continue
		}
		got = append(got, k.Text)
		if at := text[k.At.Off:]; !strings.HasPrefix(at, k.Text) || int64(strings.Count(text[:k.At.Off], "\n"))+1 != k.At.Line {
			t.Errorf("%q is not at %+v", k.Text, k.At)
		}
	}
	if s := strings.Join(got, ", "); s != "first failed, behind it failed, last failed" {
		t.Errorf("read %s", s)
	}
	if f.Lines != int64(strings.Count(text, "\n")) || f.Skipped == 0 {
		t.Errorf("%d lines, %d bytes skipped", f.Lines, f.Skipped)
	}
}

// Memory does not grow with the number of different lines.
func TestShapesAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&b, "%s failed\n", strings.Map(func(r rune) rune { return r - '0' + 'g' }, fmt.Sprint(i)))
	}
	f, err := Read(context.Background(), "a", strings.NewReader(b.String()), Options{LastStep: -1, Size: int64(b.Len())})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Kinds) > mostKinds+mostBad || !f.Crowded {
		t.Errorf("%d shapes are kept, crowded %v", len(f.Kinds), f.Crowded)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("step 1\nTraceback (most recent call last):\n  File \"a\", line 1, in f\n    x\nValueError\n\r\r\n\x00\xff\n"), int64(3), int64(9))
	f.Fuzz(func(t *testing.T, text []byte, last, budget int64) {
		src := strings.NewReader(string(text))
		skip := func(n int64) error { _, err := src.Seek(n, io.SeekCurrent); return err }
		file, err := Read(context.Background(), "a", src, Options{LastStep: last, StepLine: 1, Size: int64(len(text)), Lines: int64(strings.Count(string(text), "\n")), Budget: budget, Skip: skip})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range file.Kinds {
			if k.At.Off < 0 || k.At.Off > int64(len(text)) || k.At.Line < 1 || k.N < 1 {
				t.Errorf("%+v", k)
			}
		}
		Weigh([]*File{file}, World{Stepped: last >= 0}, 10)
	})
}

// All tracebacks begin alike: what they end in tells one from another.
func TestTracebacksOfDifferentFilesAreNotOne(t *testing.T) {
	const begin = "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\n"
	texts := map[string]string{}
	for i := range 4 {
		texts[fmt.Sprintf("%d.log", i)] = steps(3) + begin + fmt.Sprintf("mux.LaneError: lane %d is gone\n", i)
	}
	texts["3.log"] = steps(3) + begin + "ValueError: shard 7 is empty\n"
	got := map[string]int{}
	for _, l := range Weigh(read(t, texts), World{Stepped: true}, 20) {
		if l.Stop != nil {
			got[l.Stop.Type] = l.Files
		}
	}
	if got["mux.LaneError"] != 3 || got["ValueError"] != 1 {
		t.Errorf("files of each: %v", got)
	}
}
