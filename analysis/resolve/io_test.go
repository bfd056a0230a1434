package resolve

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// script is a log file of one rank: lines with their time of day behind a date.
func script(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		at, msg, _ := strings.Cut(l, " ")
		fmt.Fprintf(&b, "2026-03-01 %s,000 - app - WARNING - %s\n", at, msg)
	}
	return b.String()
}

// stepLine is a progress line with a time (TorchTitan).
func stepLine(at string, n int) string {
	return fmt.Sprintf("[titan] 2026-03-01 %s,000 - root - INFO - step: %d  loss:  2.1543  grad_norm: 0.41  memory: 60.2GiB(75.9%%)  tps: 5,812  tflops: 380.1  mfu: 38.4%%\n", at, n)
}

const tenacity = "Retrying a.b in 1.2 seconds as it raised ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))."

func steps(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		b.WriteString(stepLine(fmt.Sprintf("10:%02d:00", i), i))
	}
	return b.String()
}

func TestHowALadderEnds(t *testing.T) {
	raised := "Traceback (most recent call last):\n  File \"/usr/lib/site-packages/urllib3/connectionpool.py\", line 844, in urlopen\n    x()\n" +
		"urllib3.exceptions.MaxRetryError: HTTPConnectionPool(host='ais', port=51080): Max retries exceeded with url: /v1/o (Caused by x)\n"
	tests := []struct {
		name string
		logs logs
		want []string // outcomes, in the order of the ladders
		idle int
	}{
		{"steps after it", logs{"rank_0.log": steps(1, 20), "rank_1.log": script("10:05:00 reading a.tar failed, retrying 1/5")}, []string{Recovered}, 0},
		{"three retries of one ladder", logs{"rank_0.log": steps(1, 20), "rank_1.log": script("10:05:00 read failed, retrying 1/5", "10:05:02 read failed, retrying 2/5", "10:05:04 read failed, retrying 3/5")}, []string{Recovered}, 0},
		{"a count that begins anew is another ladder", logs{"rank_0.log": steps(1, 20), "rank_1.log": script("10:05:00 read failed, retrying 1/5", "10:05:02 read failed, retrying 1/5")}, []string{Recovered, Recovered}, 0},
		{"the last try, and nothing after it", logs{"rank_0.log": steps(1, 5), "rank_1.log": script("10:05:00 read failed, retrying 4/5", "10:05:02 read failed, retrying 5/5")}, []string{Exhausted}, 0},
		{"the last try, and steps after it", logs{"rank_0.log": steps(1, 20), "rank_1.log": script("10:05:00 read failed, retrying 5/5")}, []string{Recovered}, 0},
		{"an error raised", logs{"rank_0.log": steps(1, 5), "rank_1.log": script("10:05:00 Retrying (Retry(total=4, connect=0, read=0, redirect=None, status=None)) after connection broken by 'X': /v1/o") + raised}, []string{Exhausted}, 0},
		{"where the logs end", logs{"rank_0.log": steps(1, 5), "rank_1.log": script("10:05:00 read failed, retrying 2/5")}, []string{Open}, 0},
		{"a reset after half a minute of quiet", logs{"rank_0.log": steps(1, 20), "rank_1.log": script("10:01:00 hello", "10:05:00 "+tenacity)}, []string{Recovered}, 1},
		{"a reset without quiet before", logs{"rank_0.log": steps(1, 20), "rank_1.log": script("10:04:50 hello", "10:05:00 "+tenacity)}, []string{Recovered}, 0},
		{"resets of many clients at one instant", logs{"rank_0.log": steps(1, 20), "rank_1.log": script("10:01:00 hello", "10:05:00 "+tenacity),
			"rank_2.log": script("10:01:00 hello", "10:05:01 "+tenacity), "rank_3.log": script("10:01:00 hello", "10:05:02 "+tenacity)}, []string{Recovered, Recovered, Recovered}, 0},
		{"a second retry is no idle reset", logs{"rank_0.log": steps(1, 20), "rank_1.log": script("10:01:00 hello", "10:05:00 "+tenacity, "10:05:03 "+tenacity)}, []string{Recovered}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := tt.logs.resolve(t, 4)
			var got []string
			idle := 0
			for _, l := range f.Ladders {
				got = append(got, l.Outcome)
				if l.Idle {
					idle++
				}
			}
			if !reflect.DeepEqual(got, tt.want) || idle != tt.idle {
				t.Errorf("got %v with %d idle, want %v with %d", got, idle, tt.want, tt.idle)
			}
		})
	}
}

func TestCountsAreBySumsOfFilesAndRanks(t *testing.T) {
	f := logs{
		"rank_0.log": steps(1, 20),
		"rank_1.log": script("10:05:00 "+tenacity, "10:06:00 "+tenacity, "10:07:00 AIStore batch.get() failed: x. Falling back to sequential GET requests."),
		"rank_2.log": script("10:05:30 "+tenacity, "10:07:00 Failed to fetch object a.flac from bucket ais://b: timed out"),
	}.resolve(t, 4)
	if f.Resets.Total != 3 || f.Resets.PerFile["rank_1.log"] != 2 || f.Resets.PerRank[2] != 1 {
		t.Errorf("resets: %+v", f.Resets)
	}
	if f.LoaderErrors.Total != 2 || f.LoaderErrors.PerRank[1] != 1 || f.LoaderErrors.PerFile["rank_2.log"] != 1 {
		t.Errorf("loader errors: %+v", f.LoaderErrors)
	}
}

// The order in which files are read, and how many hold the lines, changes no count and no outcome.
func TestLaddersDoNotDependOnTheOrderOfFiles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		all := logs{"rank_0.log": steps(1, 5+rnd.IntN(20))}
		for r := 1; r < 5; r++ {
			var lines []string
			for i := range rnd.IntN(6) {
				lines = append(lines, fmt.Sprintf("10:%02d:%02d reading failed: timed out, retrying %d/3", 1+i*3, rnd.IntN(60), 1+rnd.IntN(3)))
			}
			all[fmt.Sprintf("rank_%d.log", r)] = script(lines...)
		}
		summary := func() string {
			f := all.resolve(t, 5) // a map is walked in another order each time
			var b strings.Builder
			for _, l := range f.Ladders {
				fmt.Fprintln(&b, l.Rank, l.Outcome, l.Top, l.Lines, l.Idle, l.First.Pos, l.Last.Pos)
			}
			return b.String()
		}
		first := summary()
		for range 3 {
			if again := summary(); again != first {
				t.Fatalf("got\n%s\nand\n%s", first, again)
			}
		}
	}
}

func TestFailuresToReadThatTrainingSurvivedAreLeftOut(t *testing.T) {
	skipped := "Traceback (most recent call last):\n  File \"/a/dataset.py\", line 3, in __getitem__\n    f()\nPIL.UnidentifiedImageError: cannot identify image file '/d/1.jpg'\n"
	f := logs{"rank_0.log": steps(1, 4) + skipped + steps(5, 20)}.resolve(t, 1)
	for _, fl := range f.Failures {
		t.Errorf("kept: %s", fl.Text)
	}
	if len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], "1 report of read or write errors (bad-sample; first at rank_0.log:") {
		t.Errorf("warnings: %q", f.Warnings)
	}
	if f := (logs{"rank_0.log": steps(1, 4) + skipped}).resolve(t, 1); len(f.Failures) != 1 {
		t.Errorf("the last thing that a rank says is a failure: got %d", len(f.Failures))
	}
}
