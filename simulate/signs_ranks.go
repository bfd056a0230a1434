package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// playSlowRank is a run that became slower, and reports that set its ranks side by side: one of them is the reason.
func playSlowRank(s *scene) error {
	form := pick(s.rng, "timers", "detector", "warning")
	switch {
	case s.spec.Layout.Kind == "megatron" && form != "warning":
		s.reframe(&megatron)
	case s.spec.Layout.Kind == "megatron":
		s.reframe(&nemo)
	default:
		form = "warning"
	}
	s.startup()
	s.step = s.rng.IntN(4000)
	r := s.anyRank()
	report := func(t time.Duration, slow float64) {
		from := s.here()
		switch form {
		case "timers":
			s.timers(t, r, slow)
		case "detector":
			s.detector(t, r, slow)
		case "warning":
			s.scores(t, r, slow)
		}
		if s.spec.Ablate == "table" {
			s.dropSince(from)
		}
	}
	t := sec(12)
	for range 3 {
		t = s.steps(t, 8+s.rng.IntN(4), nil)
		report(t+ms(5), 1)
	}
	times := 1.8 + s.rng.Float64()
	for range 3 + s.rng.IntN(3) {
		t = s.slow(t, 8, times)
		report(t+ms(5), times)
	}
	s.ends(t, pick(s.rng, byLimit, byCancel, goesOnYet))
	s.title = fmt.Sprintf("rank %d is %.1f times slower than the others", r, times)
	s.judge = func(v *view) Truth {
		truth := Truth{World: s.title, Candidates: []string{"slow-rank"}, ForbidMechanisms: append([]string{"time-limit", "cancelled", "loss-plateau"}, crashes...)}
		if s.spec.Ablate == "table" {
			truth.Candidates = []string{"throughput-regression"}
			return truth
		}
		truth = v.rooted(truth, []int{r})
		// The table may name the node; and the operator's list with a file for each node says whose file the rank is in.
		named := form == "warning" || s.askedNodes && s.spec.FileMode == "node" && v.seen[r]
		if name := s.ranks[r].node.name; named && !slices.Contains(truth.RootNodes, name) {
			truth.RootNodes = append(truth.RootNodes, name)
		}
		return truth
	}
	return nil
}

// timers are Megatron's, of all ranks (--timing-log-option all), printed by the last rank in one write.
func (s *scene) timers(t time.Duration, slow int, times float64) {
	var b strings.Builder
	b.WriteString("times across ranks (ms):")
	for _, name := range []string{"forward-backward", "forward-compute", "backward-compute", "all-grads-sync", "optimizer"} {
		fmt.Fprintf(&b, "\n  %s:", name)
		for _, r := range s.ranks {
			v := 400 * (0.98 + 0.04*s.rng.Float64())
			switch {
			case strings.HasSuffix(name, "compute") && r.id == slow:
				v *= times
			case name == "all-grads-sync" && r.id != slow:
				v *= times // they wait
			}
			fmt.Fprintf(&b, "\n     rank %2d: %.2f", r.id, v)
		}
	}
	s.plain(s.world-1, t, b.String())
}

// detector is Megatron's straggler detector (--log-straggler --straggler-minmax-count), on rank 0.
func (s *scene) detector(t time.Duration, slow int, times float64) {
	const shown = 4
	value := func() float64 { return 300 * (0.985 + 0.01*s.rng.Float64()) }
	var low, high []string
	low = append(low, fmt.Sprintf(" %.2f/%d", 290/times, slow))
	for _, r := range s.ranks {
		if r.id != slow && len(low) < shown {
			low = append(low, fmt.Sprintf(" %.2f/%d", value(), r.id))
		}
	}
	for i := s.world - 1; len(high) < shown; i-- {
		if i != slow {
			high = append(high, fmt.Sprintf(" %.2f/%d", value()+6, i))
		}
	}
	s.plain(0, t, fmt.Sprintf("INFO:megatron.core.utils:^^^^ Bottom %d Ranks with lowest  Etpt(TF):%s,", shown, strings.Join(low, ",")))
	s.plain(0, t+ms(1), fmt.Sprintf("INFO:megatron.core.utils:^^^^ Top    %d Ranks with highest Etpt(TF):%s,", shown, strings.Join(high, ",")))
}

// scores are those of NVIDIA's straggler detection, on rank 0: the table, and a warning below its threshold.
func (s *scene) scores(t time.Duration, slow int, times float64) {
	var b strings.Builder
	other := (slow + 1) % s.world
	rank := func(r int, score float64) string {
		return fmt.Sprintf("  Rank=%d Node=%s Score=%.2f\n", r, s.ranks[r].node.name, score)
	}
	fmt.Fprintf(&b, "GPU relative performance:\n Worst performing 2/%d ranks:\n", s.world)
	b.WriteString(rank(slow, 0.99/times) + rank(other, 0.98))
	fmt.Fprintf(&b, " Best performing 1/%d ranks:\n", s.world)
	b.WriteString(strings.TrimSuffix(rank((slow+2)%s.world, 1), "\n"))
	s.plain(0, t, b.String())
	if times > 1.45 {
		s.plain(0, t+ms(1), fmt.Sprintf("STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: {StragglerId(rank=%d, node='%s')}", slow, s.ranks[slow].node.name))
	}
}
