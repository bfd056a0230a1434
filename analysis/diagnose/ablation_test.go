package diagnose

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"faultline/analysis/artifact/kernel"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/simulate"
	"faultline/simulate/slow"
)

// opinion is what a verdict says, without its words.
func opinion(r *incident.Report) string {
	v := &r.Verdict
	var set []string
	for _, c := range v.Candidates {
		set = append(set, c.Mechanism)
	}
	return fmt.Sprint(v.Status, v.Mechanism, set, v.Root.Ranks, v.Root.Nodes)
}

// A mechanism that changes no verdict is dead weight: without each of them, some incident must be judged otherwise. The
// incidents come from several places; the first that shows a mechanism to matter is enough.
func TestEveryMechanismChangesSomeVerdict(t *testing.T) {
	all := mechanism.All()
	shownBy := map[knowledge.Slug]string{}
	place := ""
	try := func(f *resolve.Facts) {
		with := opinion(run(f, all))
		for _, slug := range proposed(f, all) {
			if shownBy[slug] != "" {
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(all), func(m mechanism.Mechanism) bool { return m.Slug == slug })
			if opinion(run(f, rest)) != with {
				shownBy[slug] = place
			}
		}
	}
	for _, from := range []struct {
		place string
		play  func()
	}{
		{"simulator", func() {
			for _, spec := range ablationSpecs() {
				try(facts(t, spec))
			}
		}},
		{"real case", func() {
			cases, err := filepath.Glob("../../../shared/corpus/*/logs")
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range cases {
				try(read(t, logs(t, dir), nil, 0))
			}
		}},
		{"slow job", func() {
			for _, kind := range slow.Slow() {
				c, err := slow.Play(slow.Spec{Seed: 5, Kind: kind, Timers: slow.MinMax, Evidence: slow.Nothing, Nodes: 2, PerNode: 4})
				if err != nil {
					t.Fatal(err)
				}
				try(read(t, c.Logs, nil, c.WorldSize))
			}
		}},
		{"storage logs", func() { try(beside(t, readsFromStore(deadAnswer), clusterOf(deadTarget))) }},
		{"kernel log", func() {
			f := read(t, []simulate.File{{Name: "train.log", Data: []byte(fieldSteps)}}, nil, 0)
			f.Kernel = []*resolve.KernelEvent{{Event: &kernel.Event{}, Could: knowledge.GPUOffBus, Node: "n2"}}
			try(f)
		}},
		// What the simulator does not play, the examples of the signatures say.
		{"example", func() {
			for _, s := range knowledge.Whole().Signatures() {
				if s.Role == knowledge.CauseRole && s.Mechanism != "" && shownBy[s.Mechanism] == "" {
					try(read(t, spoken(5, 3, s.Example), nil, 8))
				}
			}
		}},
	} {
		place = from.place
		from.play()
	}
	counts := map[string]int{}
	for _, m := range all {
		if shownBy[m.Slug] == "" {
			t.Errorf("%s changes no verdict", m.Slug)
		}
		counts[shownBy[m.Slug]]++
	}
	if n := counts["simulator"]; n < 20 || n == len(all) {
		t.Errorf("the simulator alone shows %d of %d mechanisms to matter", n, len(all))
	}
	t.Logf("of %d mechanisms, shown to matter by: %v", len(all), counts)
}

// logs are the plain files of a real case.
func logs(t testing.TB, dir string) []simulate.File {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []simulate.File
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, simulate.File{Name: e.Name(), Data: data})
	}
	return out
}

// elsewhere are direct lines whose verdict needs more than the line: the words that SLURM prints about a node are read
// from SLURM's own lines.
var elsewhere = map[knowledge.ID]bool{"slurm-memory-error": true}

// A line that confirms its mechanism by itself gives that verdict, while the job trains or, where that is what it speaks
// of, before the first step; the rank that wrote it is the root, or nobody is. It never leaves a job that did not fail.
func TestADirectLineGivesItsMechanism(t *testing.T) {
	n := 0
	for _, s := range knowledge.Whole().Signatures() {
		if s.Role != knowledge.CauseRole || !s.Direct || s.Mechanism == "" || elsewhere[s.ID] {
			continue
		}
		n++
		train := run(read(t, spoken(5, 3, s.Example), nil, 8), mechanism.All()).Verdict
		start := run(read(t, spoken(5, 0, s.Example), nil, 8), mechanism.All()).Verdict
		if train.Mechanism != string(s.Mechanism) && start.Mechanism != string(s.Mechanism) {
			t.Errorf("%s: %q gives %s, before the first step %s, expected %s", s.ID, s.Example, train.Mechanism, start.Mechanism, s.Mechanism)
		}
		for _, v := range []incident.Verdict{train, start} {
			if len(v.Root.Ranks) > 0 && !slices.Equal(v.Root.Ranks, []int{5}) {
				t.Errorf("%s: accuses %v, rank 5 wrote it", s.ID, v.Root.Ranks)
			}
			if v.Status == incident.NoFailure && exceptionLine.MatchString(s.Example) {
				t.Errorf("%s: %q ends a process, and the verdict is %s", s.ID, s.Example, v.Mechanism)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d direct signatures", n)
	}
}

// What is noise or information in one line leaves a run that trains unaccused.
func TestHarmlessLinesAccuseNobody(t *testing.T) {
	n := 0
	for _, s := range knowledge.Whole().Signatures() {
		if s.Role != knowledge.NoiseRole && s.Role != knowledge.InfoRole || exceptionLine.MatchString(s.Example) {
			continue
		}
		n++
		r := run(read(t, spoken(5, 3, s.Example), nil, 8), mechanism.All())
		if v := &r.Verdict; len(v.Root.Ranks) > 0 || v.Status == incident.Confirmed {
			t.Errorf("%s: %q gives %s (%s) of rank %v", s.ID, s.Example, v.Mechanism, v.Status, v.Root.Ranks)
		}
	}
	if n < 20 {
		t.Errorf("only %d harmless signatures", n)
	}
}

// ablationSpecs are small undamaged incidents of every mechanism and several releases.
func ablationSpecs() []simulate.Spec {
	var out []simulate.Spec
	for _, s := range simulate.Grid(300, 11, 0) {
		if s.NodeCount*s.PerNode <= 64 && s.Damage != "zst" {
			out = append(out, s)
		}
	}
	return out
}

// proposed are the mechanisms that propose themselves for a run, without repetition.
func proposed(f *resolve.Facts, all []mechanism.Mechanism) []knowledge.Slug {
	s := &mechanism.Scene{Facts: f, Graph: waitfor.Build(f)}
	d := arbitrate(s, all)
	var out []knowledge.Slug
	for _, p := range d.proposals {
		out = appendNew(out, p.Mechanism)
	}
	if len(f.Daemons) > 0 {
		out = append(out, "ais-daemon") // its proposals have the mechanism that the daemons' logs show
	}
	if len(f.Kernel) > 0 {
		out = append(out, "fault-at-end") // likewise, of a kernel's log
	}
	return out
}

// The order in which mechanisms are asked must not decide anything but ties.
func TestTheOrderOfMechanismsDoesNotMatter(t *testing.T) {
	all := mechanism.All()
	back := slices.Clone(all)
	slices.Reverse(back)
	for i, spec := range ablationSpecs() {
		if i%3 != 0 {
			continue
		}
		f := facts(t, spec)
		a, b := run(f, all), run(f, back)
		sa, sb := setOf(a), setOf(b)
		if !slices.Equal(sa, sb) || a.Verdict.Status != b.Verdict.Status {
			t.Errorf("%+v: %s %v, asked backwards %s %v", spec, a.Verdict.Status, sa, b.Verdict.Status, sb)
		}
	}
}

func setOf(r *incident.Report) []string {
	var out []string
	for _, c := range r.Verdict.Candidates {
		out = append(out, c.Mechanism)
	}
	slices.Sort(out)
	return out
}
