package isolate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// cluster is one whose fault is known. Each outcome is wrong with the chance that flaky says.
type cluster struct {
	fails func(nodes []string) bool
	flaky float64
	dice  *rand.Rand
}

func (c *cluster) outcome(nodes []string) Outcome {
	if c.fails(nodes) != (c.dice.Float64() < c.flaky) {
		return Fail
	}
	return Pass
}

// solve plays the rounds of a search to its end.
func solve(t testing.TB, l *Ledger, c *cluster) (*Finding, int) {
	t.Helper()
	for rounds := 0; ; rounds++ {
		tests, f, err := l.Next()
		if err != nil {
			t.Fatal(err)
		}
		if f != nil {
			return f, rounds
		}
		seen := map[string]bool{}
		for _, test := range tests {
			if len(test.Nodes) == 0 {
				t.Fatalf("test %s has no nodes", test.ID)
			}
			for _, n := range test.Nodes {
				if seen[n] {
					t.Fatalf("round %d: %s is in two tests", test.Round, n)
				}
				seen[n] = true
			}
			if err := l.Record(test.ID, c.outcome(test.Nodes)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func names(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("cn%04d", i))
	}
	return list
}

// fabric hangs sixteen nodes below each leaf, and all leaves below one spine.
func fabric(nodes []string) (list []Branch) {
	spine := Branch{Name: "spine"}
	for i := 0; i < len(nodes); i += 16 {
		leaf := Branch{Name: fmt.Sprintf("leaf%d", i/16), Nodes: nodes[i:min(i+16, len(nodes))]}
		list = append(list, leaf)
		spine.Switches = append(spine.Switches, leaf.Name)
	}
	return append(list, spine)
}

func has(nodes []string, n string) bool { return slices.Contains(nodes, n) }

// TestTheCulpritIsFoundInFewRounds plays searches on clusters of 64 to 1,024 nodes with five wrong outcomes in a hundred.
func TestTheCulpritIsFoundInFewRounds(t *testing.T) {
	runs := 12
	if testing.Short() {
		runs = 5
	}
	if n, err := strconv.Atoi(os.Getenv("FAULTLINE_RUNS")); err == nil {
		runs = n // 500 take some twenty minutes
	}
	for _, looked := range []struct{ kind, fault Kind }{{Node, Node}, {Link, Link}, {Switch, Switch}, {Any, Node}, {Any, Link}, {Any, Switch}} {
		kind := looked.fault
		t.Run(string(looked.kind)+"/"+string(kind), func(t *testing.T) {
			t.Parallel()
			right, wrong, open, over := 0, 0, 0, 0.0
			for run := range runs {
				dice := rand.New(rand.NewPCG(uint64(run), 31))
				sizes := []int{64, 128, 256, 512, 1024}
				if looked.kind != kind || kind == Link && runs < 500 {
					sizes = sizes[:3]
				}
				nodes := names(sizes[run%len(sizes)])
				a := nodes[dice.IntN(len(nodes))]
				b := nodes[dice.IntN(len(nodes))]
				for b == a {
					b = nodes[dice.IntN(len(nodes))]
				}
				l := &Ledger{Kind: looked.kind, Nodes: nodes, Topology: fabric(nodes)}
				c := &cluster{flaky: 0.05, dice: dice}
				want := []string{a}
				bits := math.Log2(float64(len(nodes)))
				switch kind {
				case Node:
					c.fails = func(set []string) bool { return has(set, a) }
				case Link:
					want = []string{a, b}
					slices.Sort(want)
					bits = math.Log2(float64(len(nodes)*(len(nodes)-1)) / 2)
					c.fails = func(set []string) bool { return has(set, a) && has(set, b) }
				case Switch:
					bad := l.Topology[dice.IntN(len(l.Topology)-1)]
					want = []string{bad.Name}
					c.fails = func(set []string) bool {
						return slices.ContainsFunc(set, func(n string) bool { return has(bad.Nodes, n) })
					}
				}
				f, rounds := solve(t, l, c)
				over += float64(rounds) - (1.4*bits + 4)
				switch {
				case slices.Equal(f.Names, want):
					right++
				case f.Kind != "":
					wrong++
					t.Logf("run %d: %v instead of %v after %d rounds (%.5f)", run, f.Names, want, rounds, f.Odds)
				default:
					open++
					t.Logf("run %d: nothing instead of %v after %d rounds: %+v", run, want, rounds, f)
				}
			}
			t.Logf("%d of %d right, %d wrong, %d open; rounds above 1.4 × bits + 4: %.1f on average", right, runs, wrong, open, over/float64(runs))
			if wrong > 0 || float64(right) < 0.99*float64(runs)-1 || over > 0 {
				t.Errorf("%d of %d right, %d wrong, %.1f rounds too many on average", right, runs, wrong, over/float64(runs))
			}
		})
	}
}

func TestAFaultThatDoesNotComeBackIsToldSo(t *testing.T) {
	l := &Ledger{Kind: Any, Nodes: names(64)}
	f, rounds := solve(t, l, &cluster{fails: func([]string) bool { return false }, dice: rand.New(rand.NewPCG(1, 1))})
	if !f.Absent || rounds > 5 {
		t.Errorf("%+v after %d rounds", f, rounds)
	}
}

func TestAFaultOfTheWholeSizeIsToldSo(t *testing.T) {
	l := &Ledger{Kind: Node, Nodes: names(64)}
	f, rounds := solve(t, l, &cluster{fails: func(set []string) bool { return len(set) == 64 }, dice: rand.New(rand.NewPCG(1, 1))})
	if !f.Whole || rounds > 12 {
		t.Errorf("%+v after %d rounds", f, rounds)
	}
}

func TestASuspectIsFoundSooner(t *testing.T) {
	nodes := names(1024)
	fails := func(set []string) bool { return has(set, nodes[700]) }
	_, without := solve(t, &Ledger{Kind: Node, Nodes: nodes}, &cluster{fails: fails, dice: rand.New(rand.NewPCG(2, 2))})
	f, with := solve(t, &Ledger{Kind: Node, Nodes: nodes, Suspects: nodes[696:704]}, &cluster{fails: fails, dice: rand.New(rand.NewPCG(2, 2))})
	if !slices.Equal(f.Names, nodes[700:701]) || with >= without {
		t.Errorf("%v after %d rounds with suspects, %d without", f.Names, with, without)
	}
}

// A wrong suspicion may cost rounds, and never accuses.
func TestAWrongSuspicionAccusesNobody(t *testing.T) {
	nodes := names(128)
	for run := range 20 {
		bad := nodes[100]
		f, _ := solve(t, &Ledger{Kind: Node, Nodes: nodes, Suspects: nodes[:2]},
			&cluster{flaky: 0.05, fails: func(set []string) bool { return has(set, bad) }, dice: rand.New(rand.NewPCG(uint64(run), 5))})
		if !slices.Equal(f.Names, []string{bad}) {
			t.Errorf("run %d: %+v", run, f)
		}
	}
}

func TestTheSameLedgerGivesTheSameRound(t *testing.T) {
	begin := func() *Ledger {
		l := &Ledger{Kind: Any, Nodes: names(40), Topology: fabric(names(40))}
		for range 3 {
			tests, _, err := l.Next()
			if err != nil {
				t.Fatal(err)
			}
			for i, test := range tests {
				if err := l.Record(test.ID, []Outcome{Fail, Pass}[min(i, 1)]); err != nil {
					t.Fatal(err)
				}
			}
		}
		return l
	}
	a, b := begin(), begin()
	if fmt.Sprint(a.Tests) != fmt.Sprint(b.Tests) {
		t.Errorf("%v\n%v", a.Tests, b.Tests)
	}
}

func TestAVoidTestSaysNothing(t *testing.T) {
	l := &Ledger{Kind: Node, Nodes: names(8)}
	tests, _, _ := l.Next()
	before, _ := l.Likely(9)
	if err := l.Record(tests[0].ID, Void); err != nil {
		t.Fatal(err)
	}
	if after, _ := l.Likely(9); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("%v became %v", before, after)
	}
}

// Ledgers are files, and names of nodes may come from logs: what would hang, or could not be pasted into a shell, is refused.
func TestAHostileLedgerIsRefused(t *testing.T) {
	for name, l := range map[string]*Ledger{
		"a name that ends the quotation": {Kind: Node, Nodes: []string{"cn1", "cn2'; reboot; '"}},
		"a list for a name":              {Kind: Node, Nodes: []string{"cn1", "cn[2-3]"}},
		"a round far ahead":              {Kind: Node, Nodes: names(4), Tests: []Test{{ID: "9a", Round: 1 << 40, Nodes: names(2), Outcome: Pass}}},
		"a round before the first":       {Kind: Node, Nodes: names(4), Tests: []Test{{ID: "0a", Nodes: names(2), Outcome: Pass}}},
		"a foreign node in a test":       {Kind: Node, Nodes: names(4), Tests: []Test{{ID: "1a", Round: 1, Nodes: []string{"x"}, Outcome: Pass}}},
	} {
		if _, _, err := l.Next(); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestTheSizeIsFound(t *testing.T) {
	wrong, rounds := 0, 0
	for run := range 200 {
		dice := rand.New(rand.NewPCG(uint64(run), 9))
		z := &Sizes{Of: GPUs, Good: 8, Bad: 512, Step: 8}
		from := 16 + 8*dice.IntN(63)
		l := &Ledger{Sizes: z}
		for n := 0; ; n++ {
			tests, f, err := l.Next()
			if err != nil {
				t.Fatal(err)
			}
			if f != nil {
				rounds += n
				if f.Between != [2]int{from - 8, from} {
					wrong++
				}
				break
			}
			o := Pass
			if (tests[0].Size >= from) != (dice.Float64() < 0.05) {
				o = Fail
			}
			if err := l.Record(tests[0].ID, o); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d of 200 wrong, %.1f rounds on average", wrong, float64(rounds)/200)
	if wrong > 4 || rounds > 200*14 {
		t.Errorf("%d of 200 wrong, %.1f rounds on average", wrong, float64(rounds)/200)
	}
}

func TestBoundsThatAreWrongAreTold(t *testing.T) {
	play := func(from int) *Finding {
		l := &Ledger{Sizes: &Sizes{Of: Batch, Good: 16, Bad: 64}}
		for {
			tests, f, err := l.Next()
			if err != nil {
				t.Fatal(err)
			}
			if f != nil {
				return f
			}
			o := Pass
			if tests[0].Size >= from {
				o = Fail
			}
			_ = l.Record(tests[0].ID, o)
		}
	}
	if f := play(1000); !f.Absent {
		t.Errorf("%+v, expected that it did not come back", f)
	}
	if f := play(4); f.Between != [2]int{0, 16} {
		t.Errorf("%+v, expected that 16 fails already", f)
	}
}

func TestTopologyOfSLURM(t *testing.T) {
	got, err := ReadTopology(strings.NewReader("# fabric\nSwitchName=leaf1 Nodes=cn[01-02]\nSwitchName=leaf2 Nodes=cn03,cn04 # two\nSwitchName=spine Switches=leaf[1-2]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Branch{{Name: "leaf1", Nodes: []string{"cn01", "cn02"}}, {Name: "leaf2", Nodes: []string{"cn03", "cn04"}}, {Name: "spine", Switches: []string{"leaf1", "leaf2"}}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v", got)
	}
	b, err := grow(got, map[string]int{"cn01": 0, "cn02": 1, "cn03": 2, "cn04": 3})
	if err != nil {
		t.Fatal(err)
	}
	of := []int8{0, 0, 0, 1} // cn01 to cn03, cn04
	for i, want := range []uint32{1, 3, 1} {
		if g := b[i].crossed(of); g != want {
			t.Errorf("%s is crossed by groups %b instead of %b", b[i].name, g, want)
		}
	}
	if _, err := grow([]Branch{{Name: "a", Switches: []string{"a"}}}, nil); err == nil {
		t.Error("a switch below itself was taken")
	}
}
