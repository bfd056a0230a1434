package slow

import "testing"

// phase is one with the same time on all ranks.
func phase(name string, was, is float64) Phase {
	return Phase{Name: name, MinWas: was, MinIs: is, MaxWas: was, MaxIs: is}
}

// one is a phase whose slowest rank alone changed.
func one(name string, was, is float64) Phase {
	return Phase{Name: name, MinWas: was, MinIs: was, MaxWas: was, MaxIs: is}
}

// short is one of which only the slowest rank, or only one rank, is known.
func short(name string, was, is float64) Phase { return Phase{Name: name, MaxWas: was, MaxIs: is} }

func TestDecide(t *testing.T) {
	tests := []struct {
		name     string
		phases   []Phase
		was, now float64
		across   bool
		class    Class
		spread   Spread
		waits    bool
	}{
		{"a link", []Phase{phase("forward-compute", 1.3, 1.3), phase("backward-compute", 2.8, 2.8), phase("all-grads-sync", 2.9, 7.1)}, 7, 11.2, true, Communication, Everywhere, false},
		{"some ranks' collectives", []Phase{phase("forward-compute", 1.3, 1.3), phase("backward-compute", 2.8, 2.8), one("all-grads-sync", 2.9, 7.1)}, 7, 11.2, true, Communication, Somewhere, false},
		{"one rank's compute", []Phase{one("forward-compute", 1, 1.5), one("backward-compute", 2, 3), one("all-grads-sync", 1, 2.5)}, 4, 5.5, true, Compute, Somewhere, true},
		{"all ranks' compute", []Phase{phase("forward-compute", 1, 1.5), phase("backward-compute", 2, 3), phase("all-grads-sync", 1, 1)}, 4, 5.5, true, Compute, Everywhere, false},
		{"one rank's data", []Phase{one("batch-generator", 0.02, 1.5), phase("forward-compute", 1, 1), one("all-grads-sync", 1, 2.5)}, 3, 4.5, true, Data, Somewhere, true},
		{"nothing that is timed", []Phase{phase("forward-compute", 1, 1), phase("all-grads-sync", 1, 1), phase("optimizer", 0.1, 0.1)}, 3, 4.5, true, Host, 0, false},
		{"too few timers to say so", []Phase{phase("forward-compute", 1, 1), phase("all-grads-sync", 1, 1)}, 3, 4.5, true, "", 0, false},
		{"two parts that grew alike", []Phase{phase("forward-compute", 1, 2), phase("batch-generator", 1, 2)}, 3, 5, true, "", 0, false},
		{"waits that the work does not explain", []Phase{one("forward-compute", 1, 1.4), one("all-grads-sync", 1, 2.5)}, 3, 4.5, true, "", 0, false},
		{"a phase that is no part of the growth", []Phase{short("data_time", 0.1, 0.2)}, 3, 4.5, false, "", 0, false},
		{"a breakdown of micro-batches", []Phase{short("fwd_microstep", 0.1, 0.1), short("bwd_inner_microstep", 0.2, 0.2), short("bwd_microstep", 0.3, 0.6), short("bwd_allreduce_microstep", 0.1, 0.4), short("step_microstep", 0.02, 0.02)}, 4, 6.8, false, Communication, Unstated, false},
		{"parts within parts count once", []Phase{short("bwd", 3, 3), short("bwd_inner", 2, 2), short("bwd_allreduce", 1, 1), short("fwd", 1, 1), short("step", 0.1, 2.1)}, 4.1, 6.1, false, Optimizer, Unstated, false},
		{"one rank's passes, not told apart", []Phase{one("forward-backward", 3, 5), one("all-grads-sync", 1, 3), phase("optimizer", 0.1, 0.1)}, 4.1, 6.1, true, Compute, Somewhere, true},
		{"passes that hold waits of a pipeline", []Phase{phase("forward-backward", 3, 5), phase("all-grads-sync", 1, 1)}, 4, 6, true, "", 0, false},
		{"a backward pass that holds its all-reduce", []Phase{short("fwd", 1, 1), short("bwd", 2, 4), short("step", 0.1, 0.1)}, 3.1, 5.1, false, "", 0, false},
		{"a backward pass beside its all-reduce", []Phase{short("fwd", 1, 1), short("bwd", 2, 4), short("allreduce", 1, 1)}, 4, 6, false, Compute, Unstated, false},
		{"long names of parts within parts", []Phase{short("forward", 1, 1), short("backward", 3, 4), short("backward_inner", 2, 2), short("backward_allreduce", 1, 2), short("step", 0.1, 0.1)}, 4.1, 5.1, false, Communication, Unstated, false},
		{"passes that gather shards", []Phase{short("fwd", 1, 2), short("bwd_inner", 2, 4), short("bwd_allreduce", 0.0001, 0.0001), short("step", 0.1, 0.1)}, 3.1, 6.1, false, "", 0, false},
		{"timers of an old Megatron", []Phase{short("forward-compute", 0.03, 0.03), short("backward-compute", 0.04, 0.04), short("backward-params-all-reduce", 0.02, 0.06), short("backward-reduce-model-grads", 0.02, 0.06), short("optimizer", 0.02, 0.02)}, 0.12, 0.16, false, Communication, Unstated, false},
		{"names that nobody knows", []Phase{short("frobnicate", 1, 9)}, 3, 11, true, "", 0, false},
		{"words of a hand-written loop", []Phase{short("fwd_bwd_ms", 1, 1), short("comm_time", 1, 3), short("data time", 0.1, 0.1)}, 3, 5, false, Communication, Unstated, false},
		{"groups in front of the words", []Phase{short("time/forward", 1, 1), short("time/dataloader", 1, 3), short("time/backward", 0.1, 0.1)}, 3, 5, false, Data, Unstated, false},
		{"no growth", []Phase{phase("forward-compute", 1, 2)}, 3, 3, true, "", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := Decide(tt.phases, tt.was, tt.now, tt.across)
			if g.Class != tt.class || g.Spread != tt.spread || g.Waits != tt.waits {
				t.Errorf("got %q, spread %d, waits %t; want %q, %d, %t", g.Class, g.Spread, g.Waits, tt.class, tt.spread, tt.waits)
			}
		})
	}
}

// A phase whose name says nothing of its kind is told as it is printed, where the step grew by it.
func TestAPhaseOfNoKnownKindIsNamed(t *testing.T) {
	all := []Phase{short("timing_s/gen", 33, 75), short("timing_s/ref", 8, 8), short("timing_s/odd", 1, 3), short("timing_s/sum", 300, 700)}
	g := Decide(all, 70, 112, false)
	if g.Class != "" || len(g.Phases) != 1 || g.Phases[0].Name != "timing_s/gen" {
		t.Errorf("got %+v", g)
	}
	if g := Decide(all[1:3], 70, 112, false); len(g.Phases) > 0 {
		t.Errorf("of phases that do not explain it: %+v", g)
	}
}

// What grew is told where it may hold waits as well: only what that means is open.
func TestPassesThatMayHaveWaitedAreNamed(t *testing.T) {
	g := Decide([]Phase{phase("forward-backward", 4.1, 6.3), phase("all-grads-sync", 2.9, 2.9), phase("optimizer", 0.2, 0.2)}, 7.2, 9.4, true)
	if g.Class != "" || len(g.Phases) != 1 || g.Phases[0].Name != "forward-backward" {
		t.Errorf("%q: %+v", g.Class, g.Phases)
	}
}
