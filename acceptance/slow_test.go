package acceptance

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
	"faultline/messages"
	"faultline/simulate"
	"faultline/simulate/slow"
)

// slowJob is the report of a slow job with what is at hand beside its logs.
func slowJob(t *testing.T, spec slow.Spec) (*slow.Case, *incident.Report) {
	t.Helper()
	c, err := slow.Play(spec)
	if err != nil {
		t.Fatal(err)
	}
	return c, slowReport(t, c)
}

func slowReport(t *testing.T, c *slow.Case) *incident.Report {
	t.Helper()
	dir := t.TempDir()
	in := analysis.Input{Version: "test", JobID: "4242", WorldSize: c.WorldSize, Sources: put(t, filepath.Join(dir, "logs"), c.Logs)}
	if len(c.Evidence) > 0 {
		in.Evidence = put(t, filepath.Join(dir, "evidence"), c.Evidence)
	}
	r, err := analysis.Diagnose(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// slowMisses says what of a report is not what the bytes determine; accused is true where somebody is blamed without ground.
func slowMisses(c *slow.Case, r *incident.Report) (class, place, accused bool, why string) {
	got := said(r)
	slices.Sort(got)
	want := slices.Sorted(slices.Values(c.Truth.Set))
	if c.Truth.Well {
		for _, m := range got {
			if !slices.Contains(want, m) {
				return true, false, true, fmt.Sprintf("a healthy job is called %v", got)
			}
		}
		return false, false, false, ""
	}
	root := r.Verdict.Root
	for _, n := range root.Nodes {
		accused = accused || n != c.Truth.Node
	}
	for _, x := range root.Ranks {
		accused = accused || c.Truth.Rank >= 0 && x != c.Truth.Rank
	}
	for _, n := range r.Action.ExcludeNodes {
		accused = accused || n != c.Truth.Node
	}
	class = !slices.Equal(got, want)
	place = c.Truth.Node != "" && !slices.Contains(root.Nodes, c.Truth.Node) || c.Truth.Rank >= 0 && !slices.Contains(root.Ranks, c.Truth.Rank)
	if class || place || accused {
		why = fmt.Sprintf("said %v of %v %v, true is %v of %q %d: %s", got, root.Nodes, root.Ranks, want, c.Truth.Node, c.Truth.Rank, r.Verdict.Summary)
	}
	return class, place, accused, why
}

var onsetClock = regexp.MustCompile(`(?:since|on,) (\d\d:\d\d:\d\d)`)

// onsetOff is by how much a report's onset differs from the true one, where both are known and the steps slowed down at once.
func onsetOff(c *slow.Case, r *incident.Report) (time.Duration, bool) {
	m := onsetClock.FindStringSubmatch(r.Verdict.Summary)
	if m == nil || c.Truth.Line == 0 {
		return 0, false
	}
	at, err := time.Parse("15:04:05", m[1])
	if err != nil {
		return 0, false
	}
	const day = 24 * time.Hour
	on := c.Truth.Onset
	off := (at.Sub(at.Truncate(day)) - on.Sub(on.Truncate(day))).Abs()
	return min(off, day-off), true
}

// Slow jobs of all kinds, timers and evidence get the cause that their bytes determine, the place where these prove it, and nobody is
// accused without ground; jobs that only look slow stay healthy.
func TestSlowJobsAreToldApart(t *testing.T) {
	t.Parallel()
	const all = 1200
	specs := slow.Grid(cases(all), *seed)
	var n, well, classes, places, placed, accusations, timed, late int
	by := map[string]int{}
	for _, spec := range specs {
		c, r := slowJob(t, spec)
		class, place, accused, why := slowMisses(c, r)
		if accused {
			accusations++
		}
		if why != "" {
			by[string(spec.Kind)]++
			t.Logf("%s, timers %s, evidence %s, %d×%d, noise %d, seed %d: %s", spec.Kind, spec.Timers, spec.Evidence, spec.Nodes, spec.PerNode, spec.Noise, spec.Seed, why)
		}
		if w := r.Verification.Withdrawn; len(w) > 0 {
			t.Errorf("%+v: withdrawn %v", spec, w)
		}
		if c.Truth.Well {
			well++
			continue
		}
		n++
		if class {
			classes++
		}
		if off, ok := onsetOff(c, r); ok {
			timed++
			if off > c.Truth.Line+time.Second {
				late++
				t.Logf("%+v: the onset is off by %s, a line takes %s: %s", spec, off, c.Truth.Line, r.Verdict.Summary)
			}
		}
		if c.Truth.Node != "" {
			placed++
			if place {
				places++
			}
		}
	}
	t.Logf("onset within one line of the log: %d of %d", timed-late, timed)
	if 20*late > timed {
		t.Error("onsets are wrong")
	}
	t.Logf("%d slow jobs: cause %.1f %%, place %.1f %% of %d; %d healthy; %d accusations without ground; misses %v", n, 100-100*float64(classes)/float64(n), 100-100*float64(places)/float64(max(placed, 1)), placed,
		well, accusations, by)
	if accusations > 0 || 100*classes > 3*n || 100*places > placed {
		t.Error("asked are 97 % of causes, 99 % of places and no accusation without ground")
	}
}

// The worked example says on the first screen what grew, where, since when, what is lost and what to do next, as far as
// the evidence at hand proves it.
func TestTheThroughputThatCollapsedAtNight(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		evidence slow.Evidence
		says     []string
		not      []string
	}{
		{slow.All, []string{"node-09", "02:47", "all-grads-sync 2.90 s → 7.10 s", "38%", "GPU hours", "Exclude node-09", "nccl-tests"}, nil},
		{slow.Tests, []string{"node-09", "02:47", "all-grads-sync 2.90 s → 7.10 s", "38%", "Exclude node-09"}, nil},
		{slow.Counters, []string{"node-09", "02:47", "all-grads-sync 2.90 s → 7.10 s", "38%", "Exclude node-09"}, nil},
		{slow.GPUs, []string{"02:47", "all-grads-sync 2.90 s → 7.10 s", "nccl-tests"}, []string{"node-09"}},
		{slow.Nothing, []string{"02:47", "all-grads-sync 2.90 s → 7.10 s", "38%", "GPU hours", "nccl-tests"}, []string{"node-09", "slow GPU"}},
	} {
		_, r := slowJob(t, slow.PostMortem(tt.evidence))
		screen := strings.Join(strings.Fields(strings.Join(messages.FirstScreen(r, 0), " ")), " ")

		for _, s := range tt.says {
			if !strings.Contains(screen, s) {
				t.Errorf("with %s the first screen does not say %q:\n%s", tt.evidence, s, screen)
			}
		}
		for _, s := range tt.not {
			if strings.Contains(screen, s) {
				t.Errorf("with %s the first screen says %q:\n%s", tt.evidence, s, screen)
			}
		}
	}
}

// A slow link and a slow GPU on two nodes explain a slow job alike: both stay, and neither node is named.
func TestTwoSuspectsOfASlowJobAreNotChosenBetween(t *testing.T) {
	t.Parallel()
	spec := slow.Spec{Seed: 3, Kind: slow.BadLink, Timers: slow.None, Evidence: slow.Tests, Nodes: 4, PerNode: 4}
	c, err := slow.Play(spec)
	if err != nil {
		t.Fatal(err)
	}
	spec.Kind, spec.Evidence = slow.HotGPU, slow.GPUs
	for spec.Seed = 4; ; spec.Seed++ {
		hot, err := slow.Play(spec)
		if err != nil {
			t.Fatal(err)
		}
		if hot.Truth.Node != c.Truth.Node {
			c.Evidence = append(c.Evidence, hot.Evidence...)
			break
		}
	}
	r := slowReport(t, c)
	got := said(r)
	slices.Sort(got)
	if !slices.Equal(got, []string{"slow-communication", "slow-rank"}) || len(r.Verdict.Root.Nodes)+len(r.Action.ExcludeNodes) > 0 {
		t.Errorf("said %v of %v, without %v: %s", got, r.Verdict.Root.Nodes, r.Action.ExcludeNodes, r.Verdict.Why)
	}
}

// What the tests reach is set beside what the ports of the nodes carry, where a tool states their rate.
func TestASlowLinkIsSetBesideWhatItsPortsCarry(t *testing.T) {
	t.Parallel()
	c, err := slow.Play(slow.PostMortem(slow.Tests))
	if err != nil {
		t.Fatal(err)
	}
	var ports strings.Builder
	for i := range 8 {
		fmt.Fprintf(&ports, "node-09: CA 'mlx5_%d'\nnode-09: \tCA type: MT4123\nnode-09: \tNumber of ports: 1\nnode-09: \tPort 1:\nnode-09: \t\tState: Active\nnode-09: \t\tPhysical state: LinkUp\n"+
			"node-09: \t\tRate: 200\nnode-09: \t\tBase lid: %d\nnode-09: \t\tLink layer: InfiniBand\n", i, 31+i)
	}
	c.Evidence = append(c.Evidence, simulate.File{Name: "ibstat.txt", Data: []byte(ports.String())})
	r := slowReport(t, c)
	if want := "8 × InfiniBand HDR carry 200 GB/s"; !strings.Contains(r.Verdict.Why, want) {
		t.Errorf("%q does not say %q", r.Verdict.Why, want)
	}
}
