package diagnose

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

func moment(sec float64) resolve.Moment { return resolve.Moment{T: sec, Unc: 1, Valid: true} }

// failed is a failure of a rank at an offset of a file, at a time (0: none is stated).
func failed(rank int, file string, off int64, sec float64) *resolve.Failure {
	fl := &resolve.Failure{Rank: rank, Role: knowledge.CauseRole, At: &worker.At{Pos: worker.Pos{File: file, Off: off}}, Proc: &resolve.Rank{ID: rank}}
	if sec > 0 {
		fl.T = moment(sec)
	}
	return fl
}

// proposal is one mechanism's, with a time where sec is not 0.
func proposal(slug string, class mechanism.Class, sec float64, fls ...*resolve.Failure) *mechanism.Proposal {
	p := &mechanism.Proposal{Mechanism: knowledge.Slug(slug), Class: class, Base: 0.8, Failures: fls}
	if sec > 0 {
		p.At = moment(sec)
	}
	return p
}

func decide(s *mechanism.Scene, ps ...*mechanism.Proposal) []string {
	var all []mechanism.Mechanism
	for _, p := range ps {
		all = append(all, mechanism.Mechanism{Slug: p.Mechanism, Class: p.Class, Propose: func(*mechanism.Scene) *mechanism.Proposal {
			fresh := *p
			return &fresh
		}})
	}
	var out []string
	for _, w := range arbitrate(s, all).winners {
		out = append(out, string(w.Mechanism))
	}
	slices.Sort(out)
	return out
}

// scene is one in which a time limit ended the job at 1000 s, at offset 500 of batch.out, and a hang was reported at 900 s.
func scene(ended, hung bool) *mechanism.Scene {
	s := &mechanism.Scene{Facts: &resolve.Facts{}, Graph: &waitfor.Graph{}}
	if ended {
		s.Facts.Ends = []*resolve.End{{Line: worker.End{At: worker.At{Pos: worker.Pos{File: "batch.out", Off: 500}}}, T: moment(1000)}}
	}
	if hung {
		s.Graph.Shape, s.Graph.Report = waitfor.Straggle, moment(900)
	}
	return s
}

func TestWhatExplainsWhat(t *testing.T) {
	const (
		env, local, coll, end, symptom, nothing = mechanism.Environment, mechanism.Local, mechanism.Collective, mechanism.Ending, mechanism.Symptom, mechanism.Nothing
		degraded                                = mechanism.Degraded
	)
	named := func(p *mechanism.Proposal, slugs ...knowledge.Slug) *mechanism.Proposal { p.Explains = slugs; return p }
	bare := func(p *mechanism.Proposal) *mechanism.Proposal { p.Bare = true; return p }
	for _, c := range []struct {
		name  string
		scene *mechanism.Scene
		ps    []*mechanism.Proposal
		want  []string
	}{
		{"any failure explains why not nothing failed", scene(false, false), []*mechanism.Proposal{proposal("completed", nothing, 0), proposal("x", local, 0, failed(1, "a", 1, 0))}, []string{"x"}},
		{"a run that is not well is no run that nothing is wrong with", scene(false, false), []*mechanism.Proposal{proposal("completed", nothing, 0), proposal("slow", degraded, 5)}, []string{"slow"}},
		{"what failed displaces what was not well", scene(false, false), []*mechanism.Proposal{proposal("slow", degraded, 5), proposal("x", local, 900, failed(1, "a", 1, 900))}, []string{"x"}},
		{"so does a lost peer", scene(false, false), []*mechanism.Proposal{proposal("slow", degraded, 5), proposal("lost", symptom, 900, failed(1, "a", 1, 900))}, []string{"lost"}},
		{"so does a dead node", scene(false, false), []*mechanism.Proposal{proposal("slow", degraded, 5), proposal("node", env, 900)}, []string{"node"}},
		{"so does a hang", scene(false, true), []*mechanism.Proposal{proposal("slow", degraded, 5), proposal("hang", coll, 900)}, []string{"hang"}},
		{"so does an ending that it does not explain", scene(true, false), []*mechanism.Proposal{proposal("slow", degraded, 5), proposal("preempted", end, 900)}, []string{"preempted"}},
		{"an ending is not the cause where something explains it", scene(true, false), []*mechanism.Proposal{named(proposal("slow", degraded, 5), "limit"), proposal("limit", end, 900)}, []string{"slow"}},
		{"of two that are not well the one that explains the other", scene(false, false), []*mechanism.Proposal{named(proposal("rank", degraded, 0), "slow"), proposal("slow", degraded, 5)}, []string{"rank"}},
		{"a failure explains that others lost their peer", scene(false, false), []*mechanism.Proposal{proposal("lost", symptom, 5, failed(2, "b", 1, 5)), proposal("x", local, 9, failed(1, "a", 1, 9))}, []string{"x"}},
		{"the earlier of two failures, where the times prove it", scene(false, false), []*mechanism.Proposal{proposal("x", local, 100, failed(1, "a", 1, 100)), proposal("y", local, 200, failed(2, "b", 1, 200))}, []string{"x"}},
		{"both, where nothing orders them", scene(false, false), []*mechanism.Proposal{proposal("x", local, 100, failed(1, "a", 1, 100)), proposal("y", local, 101, failed(2, "b", 1, 101))}, []string{"x", "y"}},
		{"the earlier line of one rank in one file", scene(false, false), []*mechanism.Proposal{proposal("x", local, 0, failed(1, "a", 10, 0)), proposal("y", local, 0, failed(1, "a", 5, 0))}, []string{"y"}},
		{"not of two ranks in one file", scene(false, false), []*mechanism.Proposal{proposal("x", local, 0, failed(1, "a", 10, 0)), proposal("y", local, 0, failed(2, "a", 5, 0))}, []string{"x", "y"}},
		{"a named cause that is reported late", scene(false, false), []*mechanism.Proposal{named(proposal("x", local, 130, failed(1, "a", 1, 130)), "y"), proposal("y", local, 100, failed(2, "b", 1, 100))}, []string{"x"}},
		{"a named cause far too late puts nothing in order", scene(false, false), []*mechanism.Proposal{named(proposal("x", local, 300, failed(1, "a", 1, 300)), "y"), proposal("y", local, 100, failed(2, "b", 1, 100))}, []string{"x", "y"}},
		{"a failure before the hang explains it", scene(false, true), []*mechanism.Proposal{proposal("x", local, 100, failed(1, "a", 1, 100)), proposal("hang", coll, 300)}, []string{"x"}},
		{"a failure after the hang is its teardown", scene(false, true), []*mechanism.Proposal{proposal("x", local, 950, failed(1, "a", 1, 950)), proposal("hang", coll, 300)}, []string{"hang"}},
		{"the time limit ends a job that hangs", scene(true, true), []*mechanism.Proposal{proposal("limit", end, 1000), proposal("hang", coll, 300)}, []string{"hang"}},
		{"what is printed after the ending is its consequence", scene(true, false), []*mechanism.Proposal{proposal("limit", end, 1000), proposal("x", local, 0, failed(1, "batch.out", 600, 0))}, []string{"limit"}},
		{"what is printed before the ending is why", scene(true, false), []*mechanism.Proposal{proposal("limit", end, 1000), proposal("x", local, 0, failed(1, "batch.out", 400, 0))}, []string{"x"}},
		{"in another file only stamps can tell", scene(true, false), []*mechanism.Proposal{proposal("limit", end, 1000), proposal("x", local, 1005, failed(1, "a", 1, 1005))}, []string{"limit"}},
		{"an ending with a reason explains lost peers", scene(true, false), []*mechanism.Proposal{proposal("limit", end, 1000), proposal("lost", symptom, 990, failed(1, "batch.out", 400, 990))}, []string{"limit"}},
		{"one without a reason does not, if they came first", scene(true, false), []*mechanism.Proposal{bare(proposal("cancelled", end, 1000)), proposal("lost", symptom, 400, failed(1, "batch.out", 400, 400))}, []string{"lost"}},
		{"one without a reason does, if they came after", scene(true, false), []*mechanism.Proposal{bare(proposal("cancelled", end, 1000)), proposal("lost", symptom, 1001, failed(1, "batch.out", 600, 1001))}, []string{"cancelled"}},
		{"a node's failure explains what failed with it", scene(false, false), []*mechanism.Proposal{proposal("node", env, 2000), proposal("x", local, 1500, failed(1, "a", 1, 1500))}, []string{"node"}},
		{"but nothing that failed long before", scene(false, false), []*mechanism.Proposal{proposal("node", env, 2000), proposal("x", local, 100, failed(1, "a", 1, 100))}, []string{"node", "x"}},
		{"a node's failure explains a hang", scene(false, true), []*mechanism.Proposal{proposal("node", env, 1000), proposal("hang", coll, 300)}, []string{"node"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := decide(c.scene, c.ps...); !slices.Equal(got, c.want) {
				t.Errorf("%v, expected %v", got, c.want)
			}
			slices.Reverse(c.ps)
			if got := decide(c.scene, c.ps...); !slices.Equal(got, c.want) {
				t.Errorf("asked in the other order: %v, expected %v", got, c.want)
			}
		})
	}
}

// Whatever is proposed, somebody wins, and asking in another order changes nothing.
func TestSomebodyAlwaysWins(t *testing.T) {
	for seed := range 20000 {
		p := rand.New(rand.NewPCG(2, uint64(seed)))
		s := scene(p.IntN(2) == 0, p.IntN(2) == 0)
		var ps []*mechanism.Proposal
		for i := range 1 + p.IntN(5) {
			at := float64(p.IntN(3)) * float64(p.IntN(1400))
			class := mechanism.Class(p.IntN(6))
			x := proposal(fmt.Sprint("m", i), class, at)
			x.Base = 0.5 + float64(i)/100
			x.Direct = p.IntN(2) == 0
			x.Bare = class == mechanism.Ending && p.IntN(2) == 0
			if class == mechanism.Local || class == mechanism.Symptom {
				x.Failures = append(x.Failures, failed(p.IntN(3), []string{"a", "b", "batch.out"}[p.IntN(3)], int64(p.IntN(1000)), at))
			}
			if p.IntN(3) == 0 {
				x.Explains = append(x.Explains, knowledge.Slug(fmt.Sprint("m", p.IntN(5))))
			}
			ps = append(ps, x)
		}
		got := decide(s, ps...)
		if len(got) == 0 {
			t.Fatalf("seed %d: of %d proposals none is left", seed, len(ps))
		}
		slices.Reverse(ps)
		if back := decide(s, ps...); !slices.Equal(got, back) {
			t.Fatalf("seed %d: %v, asked backwards %v", seed, got, back)
		}
	}
}

// Looking the endings up finds what comparing a failure with each of them finds.
func TestWhatIsPrintedAfterAnEnding(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		file := func() string { return string(rune('a' + r.IntN(3))) }
		ends := make([]*resolve.End, 1+r.IntN(6))
		for i := range ends {
			ends[i] = &resolve.End{Line: worker.End{At: worker.At{Pos: worker.Pos{File: file(), Off: r.Int64N(8)}}},
				T: resolve.Moment{T: float64(r.IntN(400)), Valid: r.IntN(4) > 0}}
		}
		fl := failed(1, file(), r.Int64N(8), float64(r.IntN(400)))
		want := false
		for _, e := range ends {
			if e.Line.File == fl.At.File {
				want = want || fl.At.Off > e.Line.Off
			} else if w := fl.When(); w.Valid && e.T.Valid {
				want = want || w.T >= e.T.T-2 && w.T < e.T.T+teardown
			}
		}
		if got := endsOf(ends).before(fl); got != want {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
	}
}
