package isolate

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A component that fails alone is found though a test lies now and then, and none is accused where all work.
func TestTheComponentThatFailsIsFound(t *testing.T) {
	components := []string{"compute", "memory", "data", "communication"}
	wrong, most := 0, 0
	const runs = 2000
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 7))
		bad := append(slices.Clone(components), "none")[seed%5]
		l := &Ledger{Components: components, Command: ComponentTest, Nodes: []string{"cn01", "cn02"}}
		for {
			tests, f, err := l.Next()
			if err != nil {
				t.Fatal(err)
			}
			if f != nil {
				if bad == "none" && !f.Absent || bad != "none" && !slices.Equal(f.Names, []string{bad}) {
					wrong++
				}
				break
			}
			for _, x := range tests {
				fails := x.Part == bad
				if random.Float64() < 0.05 {
					fails = !fails
				}
				_ = l.Record(x.ID, map[bool]Outcome{true: Fail, false: Pass}[fails])
			}
			most = max(most, tests[0].Round)
		}
	}
	t.Logf("%d of %d wrong, at most %d rounds", wrong, runs, most)
	if wrong > runs/100 || most > 2*componentRuns {
		t.Errorf("%d of %d wrong, %d rounds", wrong, runs, most)
	}
}

func TestComponentsThatCannotBeTestedAreRefused(t *testing.T) {
	for _, l := range []*Ledger{
		{Components: []string{"data"}, Command: "./run", Nodes: []string{"cn01"}},
		{Components: []string{"data; rm"}, Command: ComponentTest, Nodes: []string{"cn01"}},
		{Components: []string{"data"}, Command: ComponentTest},
	} {
		if _, _, err := l.Next(); err == nil {
			t.Errorf("%+v is taken", l)
		}
	}
	l := &Ledger{Components: []string{"data"}, Command: ComponentTest, Nodes: []string{"cn01"}}
	for range componentRuns {
		tests, f, _ := l.Next()
		if f != nil {
			t.Fatal(f)
		}
		_ = l.Record(tests[0].ID, Void)
	}
	_, f, _ := l.Next()
	if f == nil || f.Absent || !strings.Contains(l.Conclude(f)[0].Text, "could not run") {
		t.Errorf("%+v", f)
	}
}
