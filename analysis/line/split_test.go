package line

import (
	"reflect"
	"testing"
)

func pieces(in string) []string {
	var out []string
	for _, r := range Split([]byte(in)) {
		out = append(out, in[r[0]:r[1]])
	}
	return out
}

func TestSplitFindsGluedRecords(t *testing.T) {
	const (
		e24  = "[rank9]:[E318 08:49:08.965796097 ProcessGroupNCCL.cpp:744] [Rank 1] Some NCCL operations"
		e21  = "[E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog caught"
		warn = "node7:42:43 [6] misc/socket.cc:518 NCCL WARN Net : x"
	)
	for _, c := range []struct {
		name string
		want []string
	}{
		{"nothing glued", []string{e24}},
		{"progress bar in front", []string{"DeepGEMM warmup:  45%|████▍     | 7361/16384 [05:43<06:50, 21.99it/s]", e24}},
		{"old bar in front", []string{"Epoch 0:   6%|██ consumed_samples=2.56e+7]", e21}},
		{"two ranks", []string{e24, e24}},
		{"old, two ranks", []string{e21, e21}},
		{"traceback of another rank", []string{"loss 2.0", "[rank3]: Traceback (most recent call last):"}},
		{"frame of another rank", []string{"[rank1]:   File \"x\"", "[rank3]:   File \"y\""}},
		{"final line of another rank", []string{"42%", "[rank3]: torch.OutOfMemoryError: CUDA out of memory"}},
		{"bare traceback", []string{"5/10 [00:01<00:03]", "Traceback (most recent call last):"}},
		{"nccl warn", []string{"12it/s] ", warn}},
		{"nccl warn with stamp", []string{"12it/s]", "[2025-06-03 17:48:01] " + warn}},
		{"nccl warn twice", []string{warn + " ", warn}},
		{"slurm", []string{"iteration 12", "slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT x ***", "srun: error: n1: task 0: Killed"}},
		{"torchrun's agent", []string{"3it/s]", "W0703 21:51:58.777000 924 torch/distributed/elastic/multiprocessing/api.py:1014] Sending"}},
		{"torchrun's label", []string{"it/s]", "[default3]:" + e24}},
		{"terminate", []string{"terminate called after throwing an instance of 'c10::DistBackendError'", "  what():  [Rank 1] x", "  what():  [Rank 2] x"}},
		{"terminate twice", []string{"terminate called after throwing an instance of 'a'", "terminate called after throwing an instance of 'a'"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := ""
			for _, s := range c.want {
				in += s
			}
			if got := pieces(in); !reflect.DeepEqual(got, c.want) {
				t.Errorf("Split(%q)\n got %q\nwant %q", in, got, c.want)
			}
		})
	}
}

func TestSplitLeavesQuotedAndUnlikelyMarksAlone(t *testing.T) {
	for _, in := range []string{
		"", "x", "user said [rank3]: hello", "he wrote \"[rank3]:[E318 08:49:08.965796097 ProcessGroupNCCL.cpp:744] x\"",
		"see '[E ProcessGroupNCCL.cpp:458] x'", "[rank1]:[E ProcessGroupNCCL.cpp:1] thread terminated: [Rank 3] Watchdog", "size=22290.0[Rank 87] (after 20 iterations)",
		"Original Traceback (most recent call last):", "  traceback : Traceback (most recent call last):", "array [E 3]", "[PG 3 Rank 5] x [PG 4 Rank 6]",
		"run with NCCL INFO or NCCL WARN", "NCCL WARN", "slurmstepd: error: x", "0: slurmstepd: error: *** STEP", "[default3]:terminate called after throwing an instance of 'a'", "12: [default3]:[rank99]:[E ProcessGroupNCCL.cpp:1] x",
	} {
		if got := pieces(in); len(got) != 1 || got[0] != in {
			t.Errorf("Split(%q) = %q", in, got)
		}
	}
}

func TestSegmentsSplitAtCarriageReturns(t *testing.T) {
	for _, c := range []struct {
		in   string
		offs []int
		want []string
	}{
		{"", []int{0}, []string{""}},
		{"\r", []int{0}, []string{""}},
		{"a", []int{0}, []string{"a"}},
		{"a\r", []int{0}, []string{"a"}},
		{"a\rbc\r", []int{0, 2}, []string{"a", "bc"}},
		{"\r\ra", []int{2}, []string{"a"}},
		{"a\r\rb", []int{0, 3}, []string{"a", "b"}},
	} {
		var offs []int
		var got []string
		Segments([]byte(c.in), func(off int, seg []byte) { offs, got = append(offs, off), append(got, string(seg)) })
		if !reflect.DeepEqual(offs, c.offs) || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v %q", c.in, offs, got)
		}
	}
}

func TestStripANSI(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "\x1b[31mred\x1b[0m": "red", "\x1b[38;5;12mx\x1b[K": "x", "a\x1b": "a", "a\x1b[3": "a", "\x1b]0;title\x07x": "x",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link", "\x1b[3\x01[rank1]:": "\x01[rank1]:", "\x1b\x1b[0mx": "x", "\x1b(Bx": "Bx",
	} {
		if got := string(StripANSI(nil, []byte(in))); got != want {
			t.Errorf("StripANSI(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestParseStamp(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Stamp
		n    int
	}{
		{"2023-03-06T03:17:51 DUE", dt(2023, 3, 6, 3, 17, 51, 0, 0), 19},
		{"2024-02-17_10:12:13", dt(2024, 2, 17, 10, 12, 13, 0, 0), 19},
		{"2025-06-03 17:48:01,123", dt(2025, 6, 3, 17, 48, 1, 123000000, 0), 23},
		{"2025-06-03T17:48:01.123456789Z", zoned(dt(2025, 6, 3, 17, 48, 1, 123456789, 0), 0), 30},
		{"2025-06-03T17:48:01-0330", zoned(dt(2025, 6, 3, 17, 48, 1, 0, 0), -210), 24},
		{"2025-06-03 17:48:01 +0000 x", zoned(dt(2025, 6, 3, 17, 48, 1, 0, 0), 0), 25},
		{"2025-06-03 17:48:01 UTC", zoned(dt(2025, 6, 3, 17, 48, 1, 0, 0), 0), 23},
		{"2025-06-03 17:48:01 -5 x", dt(2025, 6, 3, 17, 48, 1, 0, 0), 19},
		{"2025/06/03 17:48:01", dt(2025, 6, 3, 17, 48, 1, 0, 0), 19},
		{"20250603-17:48:01.5", dt(2025, 6, 3, 17, 48, 1, 500000000, 0), 19},
		{"Fri Aug 30 11:43:14 2024", Stamp{Kind: DateTime, Year: 2024, Month: 8, Day: 30, Hour: 11, Minute: 43, Second: 14}, 24},
		{"Jul  9 10:42:47", md(7, 9, 10, 42, 47, 0, 0), 15},
		{"17:48:01", Stamp{Kind: TimeOnly, Hour: 17, Minute: 48, Second: 1}, 8},
		{"23:59:60", Stamp{Kind: TimeOnly, Hour: 23, Minute: 59, Second: 60}, 8},
		{"2025-06-03", Stamp{}, 0}, {"2025-06-32 17:48:01", Stamp{}, 0}, {"24:00:00", Stamp{}, 0}, {"17:48:011", Stamp{}, 0}, {"", Stamp{}, 0},
		{"2025-06-03 17:48", Stamp{}, 0}, {"Foo 12 17:48:01", Stamp{}, 0}, {"1717436881", Stamp{}, 0},
	} {
		if s, n := ParseStamp([]byte(c.in)); s != c.want || n != c.n {
			t.Errorf("ParseStamp(%q) = %+v, %d; want %+v, %d", c.in, s, n, c.want, c.n)
		}
	}
}

func TestLabelledPassesOnLaunchersLabelsOnly(t *testing.T) {
	outer := Parse([]byte("12: [default3]:[rank99]: x")).Who
	got := Parse([]byte("[rank5]:[E ProcessGroupNCCL.cpp:1] x")).Who.Labelled(outer)
	if got.Task != 12 || got.Local != 3 || got.Role != "default" || got.Global != 5 {
		t.Errorf("%+v", got)
	}
	if got := NoOne.Labelled(outer); got.Global != Unknown || got.Task != 12 {
		t.Errorf("%+v", got)
	}
	if got := NoOne.Labelled(Parse([]byte("node7:42:43 [6] NCCL INFO x")).Who); got != NoOne {
		t.Errorf("another writer's host was passed on: %+v", got)
	}
}
