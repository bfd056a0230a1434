package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looplab/fsm"
)

// NotAllowedError says that an event does not fit the state, and what would.
type NotAllowedError struct {
	State   State
	Event   Event
	Allowed []Event
}

func (e *NotAllowedError) Error() string {
	names := make([]string, len(e.Allowed))
	for i, ev := range e.Allowed {
		names[i] = string(ev)
	}
	return fmt.Sprintf("%s is not possible while the investigation is %s (possible: %s)", e.Event, e.State, strings.Join(names, ", "))
}

// Next is the transition function: where the event leads from the state.
//
// The machine is built anew for each question and has no callbacks, because looplab/fsm v1.0.3 wedges for good when a
// context ends or a callback panics in the middle of a transition; for the same reason the context's end is hidden
// from it.
func Next(ctx context.Context, from State, event Event) (State, error) {
	m := machine(from)
	err := m.Event(context.WithoutCancel(ctx), string(event))
	var same fsm.NoTransitionError
	if err != nil && !errors.As(err, &same) {
		return from, &NotAllowedError{State: from, Event: event, Allowed: Allowed(from)}
	}
	return State(m.Current()), nil
}

// Allowed lists the events that a state takes, sorted.
func Allowed(s State) []Event {
	var events []Event
	for _, name := range machine(s).AvailableTransitions() {
		events = append(events, Event(name))
	}
	slices.Sort(events)
	return events
}

func machine(s State) *fsm.FSM {
	rows := make([]fsm.EventDesc, 0, len(Table))
	for _, row := range Table {
		desc := fsm.EventDesc{Name: string(row.Event), Dst: string(row.To)}
		for _, from := range row.From {
			desc.Src = append(desc.Src, string(from))
		}
		rows = append(rows, desc)
	}
	return fsm.NewFSM(string(s), rows, nil)
}

// Diagram is docs/workflow.md: the table as a Mermaid diagram, and the states in words.
func Diagram() string {
	var b strings.Builder
	b.WriteString("# The investigation as a state machine\n\n")
	b.WriteString("Generated from `workflow/table.go` by `go test ./workflow -update`. Do not edit.\n\n```mermaid\nstateDiagram-v2\n")
	fmt.Fprintf(&b, "    [*] --> %s\n", Requested)
	for _, state := range States {
		for _, row := range Table {
			if slices.Contains(row.From, state.State) {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", state.State, row.To, row.Event)
			}
		}
	}
	b.WriteString("```\n\n| state | phase | moved by | leaves by itself | what it is for |\n|---|---|---|---|---|\n")
	for _, s := range States {
		by := map[Kind]string{Working: "a step", Waiting: "a person or the timer", Settled: "new evidence"}[s.Kind]
		timer := "never"
		if s.After > 0 {
			timer = fmt.Sprintf("after %s: `%s`", plainDuration(s.After.Minutes()), s.OnTimeout)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.State, s.Phase, by, timer, s.Why)
	}
	return b.String()
}

// plainDuration writes minutes the way people do.
func plainDuration(minutes float64) string {
	switch {
	case minutes >= 48*60:
		return fmt.Sprintf("%g days", minutes/60/24)
	case minutes > 60:
		return fmt.Sprintf("%g hours", minutes/60)
	default:
		return fmt.Sprintf("%g minutes", minutes)
	}
}
