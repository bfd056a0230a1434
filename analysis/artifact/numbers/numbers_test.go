package numbers

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func TestRecognise(t *testing.T) {
	for _, c := range []struct {
		name, head string
		want       bool
	}{
		{"Lightning's metrics.csv", "epoch,lr,step,train_loss\n0,,9,2.31\n", true},
		{"W&B's export", "\"Step\",\"run-1 - train/loss\",\"loss\"\n\"1\",\"2.0\",\"2.0\"\n", true},
		{"JSON lines", `{"step": 1, "rank": 0, "loss": 2.31}` + "\n" + `{"step": 2, "rank": 0, "loss": NaN}` + "\n", true},
		{"checksums", "rank,step,param_checksum,replica_group\n0,1,9f2c,dp0\n", true},
		{"a log in JSON", `{"message": "loss 3 at step 4", "level": "INFO"}` + "\n", false},
		{"a chart of W&B", "\"Step\",\"amber-sun-12 - train/loss\",\"amber-sun-12 - train/loss__MIN\"\n1,2.5,2.5\n", true},
		{"the bounds of a chart alone", "Step,amber-sun-12 - train/loss__MIN\n1,2.5\n", false},
		{"a log", "INFO step, loss, done\n", false},
		{"prose with commas", "step,loss and other things we print,\nto the log\n", false},
		{"values without headings", "1,2.3,4\n", false},
		{"an evaluation", "step,eval_loss\n1,2\n", false},
		{"nothing", "", false},
	} {
		if got := Recognise([]byte(c.head)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func points(t *testing.T, text string) []Point {
	t.Helper()
	tab, err := Read(context.Background(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []Point
	for _, r := range tab.Rows {
		if got := text[r.At.Off:][:r.At.Len]; !strings.Contains(got, r.Text) || int64(strings.Count(text[:r.At.Off], "\n")+1) != r.At.Line {
			t.Errorf("%q is not in line %d: %q", r.Text, r.At.Line, got)
		}
		out = append(out, Point{"t.csv", r})
	}
	return out
}

// table writes losses of four ranks over steps; bad says from which step on a rank's are none, −1 never.
func table(bad [4]int) string {
	var b strings.Builder
	b.WriteString("step,rank,loss\r\n")
	for step := range 8 {
		for rank := range 4 {
			v := fmt.Sprintf("%.3f", 3-0.1*float64(step)+0.01*float64(rank))
			if bad[rank] >= 0 && step >= bad[rank] {
				v = "nan"
			}
			fmt.Fprintf(&b, "%d,%d,%s\r\n", step, rank, v)
		}
	}
	return b.String()
}

func TestTheFirstNaN(t *testing.T) {
	for _, c := range []struct {
		name string
		bad  [4]int
		want int
	}{
		{"one rank, then all", [4]int{5, 5, 4, 5}, 2},
		{"one rank alone", [4]int{-1, 3, -1, -1}, 1},
		{"two at once", [4]int{5, 4, 4, 5}, None},
		{"all at once", [4]int{4, 4, 4, 4}, None},
		{"nobody", [4]int{-1, -1, -1, -1}, None},
	} {
		o, ok := FirstNaN(points(t, table(c.bad)))
		if ok != (c.want != None) || ok && o.First.Rank != c.want {
			t.Errorf("%s: %v %+v", c.name, ok, o.First)
		}
	}
	// The rows of rank 3 for that step are missing: it may have been first.
	text := strings.Replace(table([4]int{5, 5, 4, 5}), "4,3,2.630\r\n", "", 1)
	if o, ok := FirstNaN(points(t, text)); ok {
		t.Errorf("rank %d accused, and rank 3 was not seen", o.First.Rank)
	}
}

// A norm over all ranks is none on all of them at once: it follows the rank whose own loss was none in that step.
func TestTheFirstNaNBesideAGlobalNorm(t *testing.T) {
	var b strings.Builder
	for step := range 8 {
		for rank := range 4 {
			loss, norm := "2.5", "0.5"
			if step >= 5 {
				norm = "NaN"
			}
			if step == 5 && rank == 3 || step > 5 {
				loss = "NaN"
			}
			fmt.Fprintf(&b, "{\"step\": %d, \"rank\": %d, \"loss_local\": %s, \"grad_norm_global\": %s}\n", step, rank, loss, norm)
		}
	}
	if o, ok := FirstNaN(points(t, b.String())); !ok || o.First.Rank != 3 || o.First.Step != 5 {
		t.Errorf("%v %+v", ok, o.First)
	}
}

func TestSplits(t *testing.T) {
	sums := func(at, rank int) string {
		var b strings.Builder
		b.WriteString("step,rank,replica_group,param_checksum\n")
		for step := range 6 {
			for r := range 4 {
				v := 1000 + step
				if step >= at && (r == rank || rank < 0) {
					v += 7 + r
				}
				fmt.Fprintf(&b, "%d,%d,dp0,%x\n", step, r, v)
			}
		}
		return b.String()
	}
	s := Splits(points(t, sums(3, 2)))
	if len(s) != 1 || !s[0].One() || s[0].Odd[0].Rank != 2 || s[0].Odd[0].Step != 3 || s[0].Equal.Step != 2 || s[0].Group != "dp0" {
		t.Errorf("%+v", s)
	}
	if s := Splits(points(t, sums(3, -1))); len(s) != 1 || s[0].One() || len(s[0].Odd) != 4 {
		t.Errorf("all differ: %+v", s)
	}
	if s := Splits(points(t, sums(0, 2))); len(s) != 0 {
		t.Errorf("they were never equal: %+v", s)
	}
	if s := Splits(points(t, table([4]int{-1, -1, -1, -1}))); len(s) != 0 {
		t.Errorf("losses are each rank's own: %+v", s)
	}
}

func TestWhatIsNoTable(t *testing.T) {
	for _, text := range []string{"", "a,b\n1,2\n", "step,loss\n", "\"step,loss\n1,2\n", strings.Repeat("x", 1<<17)} {
		if _, err := Read(context.Background(), strings.NewReader(text)); err == nil {
			t.Errorf("%.20q is read", text)
		}
	}
	tab, err := Read(context.Background(), strings.NewReader("step,loss\n1,2\nnonsense\n"+strings.Repeat("9", 1<<17)+"\n2,inf"))
	if err != nil || len(tab.Rows) != 2 || tab.Odd != 2 || !tab.Rows[1].NaN {
		t.Errorf("%+v %v", tab, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(table([4]int{5, 5, 4, 5})))
	f.Add([]byte(`{"step": 1, "rank": 0, "loss": -Infinity, "x": {"a": [1]}}` + "\n" + `{"step": 2, "grad_norm": "nan"}`))
	f.Add([]byte("step,rank,\"train/loss\"\"\",checksum\n1,2,,\"a\"\"b\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		Recognise(data)
		tab, err := Read(context.Background(), strings.NewReader(string(data)))
		if err != nil {
			return
		}
		var ps []Point
		for _, r := range tab.Rows {
			if r.At.Off < 0 || r.At.Off+int64(r.At.Len) > int64(len(data)) {
				t.Fatalf("%+v is outside", r.At)
			}
			ps = append(ps, Point{"f", r})
		}
		FirstNaN(ps)
		Splits(ps)
	})
}

// divided writes checksums of eight ranks, two tensor-parallel by four data-parallel: each shard is the same on its four copies. odd are
// the ranks whose own is another from step 3 on.
func divided(odd ...int) string {
	var b strings.Builder
	b.WriteString("step,rank,tp_rank,data_parallel_rank,param_checksum\n")
	for step := range 6 {
		for rank := range 8 {
			sum := fmt.Sprintf("s%dt%d", step, rank%2)
			for _, o := range odd {
				if o == rank && step >= 3 {
					sum += "x" + fmt.Sprint(rank)
				}
			}
			fmt.Fprintf(&b, "%d,%d,%d,%d,%s\n", step, rank, rank%2, rank/2, sum)
		}
	}
	return b.String()
}

// Inside which group values part is told by the columns that place the ranks.
func TestWithinGroups(t *testing.T) {
	ps := points(t, divided(5))
	if s := Splits(ps); len(s) != 0 {
		t.Errorf("shards differ by right: %+v", s)
	}
	groups := Groups(ps)
	if fmt.Sprint(groups[Data]) != "[[0 2 4 6] [1 3 5 7]]" || fmt.Sprint(groups[Tensor]) != "[[0 1] [2 3] [4 5] [6 7]]" || len(groups[Expert])+len(groups[Pipeline])+len(groups[Context]) > 0 {
		t.Errorf("%v", groups)
	}
	s := Within(ps, groups)
	if len(s) != 1 || s[0].Axis != Data || fmt.Sprint(s[0].Members) != "[1 3 5 7]" || !s[0].One() || s[0].Odd[0].Rank != 5 || s[0].Odd[0].Step != 3 || s[0].Equal.Step != 2 {
		t.Errorf("%+v", s)
	}
	if s := Within(points(t, divided(4, 5)), groups); len(s) != 2 || s[0].Odd[0].Rank != 4 || s[1].Odd[0].Rank != 5 {
		t.Errorf("two at once: %+v", s)
	}
	// A column too few: two ranks would stand in one place.
	few := strings.NewReplacer("tp_rank", "other").Replace(divided(5))
	if g := Groups(points(t, few)); len(g[Data]) > 0 {
		t.Errorf("%v", g)
	}
	moved := divided(5) + "6,5,0,0,s6\n"
	if g := Groups(points(t, moved)); len(g[Data])+len(g[Tensor]) > 0 {
		t.Errorf("a rank in two places: %v", g)
	}
}
