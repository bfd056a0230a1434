package workflow

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite generated files")

func TestDiagramInTheDocsIsGeneratedFromTheTable(t *testing.T) {
	file := filepath.Join("..", "docs", "workflow.md")
	if *update {
		if err := os.WriteFile(file, []byte(Diagram()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Diagram() {
		t.Errorf("%s is not what the table says; run go test ./workflow -update", file)
	}
}

func TestEveryRowOfTheTableSpeaksOfDeclaredStates(t *testing.T) {
	type edge struct {
		from State
		on   Event
	}
	seen := map[edge]State{}
	for _, row := range Table {
		for _, s := range append([]State{row.To}, row.From...) {
			if _, ok := About(s); !ok {
				t.Errorf("%s: state %q is not declared", row.Event, s)
			}
		}
		for _, from := range row.From {
			if to, dup := seen[edge{from, row.Event}]; dup {
				t.Errorf("%s in %s leads to both %s and %s", row.Event, from, to, row.To)
			}
			seen[edge{from, row.Event}] = row.To
		}
	}
}

func TestEveryStateIsReachedAndIsLeft(t *testing.T) {
	reached := map[State]bool{Requested: true}
	for grew := true; grew; {
		grew = false
		for _, row := range Table {
			for _, from := range row.From {
				if reached[from] && !reached[row.To] {
					reached[row.To], grew = true, true
				}
			}
		}
	}
	for _, s := range States {
		if !reached[s.State] {
			t.Errorf("no path leads to %s", s.State)
		}
		if len(Allowed(s.State)) == 0 {
			t.Errorf("nothing leads out of %s", s.State)
		}
	}
}

func TestEveryStateThatWaitsHasATimerThatFits(t *testing.T) {
	for _, s := range States {
		if s.Kind == Settled {
			if s.After != 0 {
				t.Errorf("%s rests but has a timer", s.State)
			}
			continue
		}
		if s.After <= 0 {
			t.Errorf("%s may last for ever", s.State)
		}
		if to, err := Next(context.Background(), s.State, s.OnTimeout); err != nil || to == s.State {
			t.Errorf("timer of %s: %s leads to %s, %v", s.State, s.OnTimeout, to, err)
		}
		if s.Why == "" || s.Doing == "" {
			t.Errorf("%s is not explained", s.State)
		}
	}
}

// Silence ends: by timers alone, every state comes to rest, and one that has a verdict to show does so.
func TestTimersAloneLeadToRest(t *testing.T) {
	for _, s := range States {
		at, steps := s, 0
		for at.Kind != Settled {
			next, err := Next(context.Background(), at.State, at.OnTimeout)
			if err != nil {
				t.Fatal(err)
			}
			at, _ = About(next)
			if steps++; steps > len(States) {
				t.Fatalf("timers of %s run in circles", s.State)
			}
		}
	}
}

func TestRandomWalksStayInsideTheTable(t *testing.T) {
	events := map[Event]bool{}
	for _, row := range Table {
		events[row.Event] = true
	}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		at := Requested
		for range 40 {
			allowed := Allowed(at)
			if len(allowed) == 0 {
				t.Fatalf("seed %d: stuck in %s", seed, at)
			}
			may := map[Event]bool{}
			for _, e := range allowed {
				may[e] = true
			}
			for e := range events { // every event either moves or is refused with the state unchanged
				to, err := Next(context.Background(), at, e)
				if (err == nil) != may[e] {
					t.Fatalf("seed %d: %s in %s: %v, allowed %v", seed, e, at, err, allowed)
				}
				if _, known := About(to); !known || (err != nil && to != at) {
					t.Fatalf("seed %d: %s in %s led to %q", seed, e, at, to)
				}
			}
			at, _ = Next(context.Background(), at, allowed[rnd.IntN(len(allowed))])
		}
	}
}

func TestAnEndedContextDoesNotWedgeTheMachine(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	to, err := Next(ctx, Requested, Start)
	if to != LocatingJob || err != nil {
		t.Errorf("got %s, %v", to, err)
	}
}
