package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/incident"
)

// past is a history that is made run by run.
type past struct {
	t   *testing.T
	rng *rand.Rand
	b   strings.Builder
	n   int
}

func newPast(t *testing.T, seed uint64) *past {
	return &past{t: t, rng: rand.New(rand.NewPCG(seed, 3))}
}

// run is a run on 8 of 40 nodes with settings by chance; change makes it what a test wants.
func (p *past) run(failed bool, change ...func(*Record)) {
	p.n++
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(p.n*7*60+p.rng.IntN(24*60)) * time.Minute)
	r := Record{Schema: Schema, Job: fmt.Sprint(p.n), Name: "nightly", Completed: !failed, Status: "no-failure", Mechanism: "completed", Origin: "none",
		Start: start.Format(time.RFC3339), End: start.Add(time.Duration((1 + 20*p.rng.Float64()) * float64(time.Hour))).Format(time.RFC3339),
		Versions: map[string]string{"torch": "2.6.0"}, Arguments: map[string]string{"lr": fmt.Sprint(p.rng.IntN(3)), "seed": fmt.Sprint(p.n)}}
	r.ID = ID("", r.Job, 0)
	for _, i := range p.rng.Perm(40)[:8] {
		r.Nodes = append(r.Nodes, fmt.Sprintf("n%02d", i))
	}
	if failed {
		r.Status, r.Mechanism, r.Origin = "confirmed", "native-crash", "software"
		r.RootNodes = []string{r.Nodes[p.rng.IntN(8)]}
	}
	for _, f := range change {
		f(&r)
	}
	b, err := r.Line()
	if err != nil {
		p.t.Fatal(err)
	}
	p.b.Write(b)
}

// saved is a run that saved every 30 minutes, the last time so many seconds before it failed.
func saved(r *Record, before float64) []incident.Precursor {
	start, _ := time.Parse(time.RFC3339, r.Start)
	end, _ := time.Parse(time.RFC3339, r.End)
	over := end.Sub(start).Seconds()
	return []incident.Precursor{{Kind: incident.BeforeSave, N: 1 + int(over/1800), Last: before, Over: over}}
}

func (p *past) trends() []Trend {
	b := read(p.t, p.b.String())
	if b.Warnings != nil {
		p.t.Fatal(b.Warnings)
	}
	return b.Trends()
}

func kinds(list []Trend) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.Kind+" "+t.What)
	}
	return out
}

func TestWhatFailuresGoWithIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		play func(p *past)
		want string
	}{
		"a node": {func(p *past) {
			for range 9 {
				p.run(true, func(r *Record) { r.Nodes[0] = "bad"; r.RootNodes = []string{"bad"} })
			}
		}, "node bad"},
		"a setting": {func(p *past) {
			for i := range 24 {
				p.run(i%3 != 0, func(r *Record) { r.Arguments["fused"] = "true" })
			}
		}, "setting fused=true"},
		"a change": {func(p *past) {
			for i := range 40 {
				p.run(i%4 == 3, func(r *Record) {
					r.Versions["driver"], r.Arguments = fmt.Sprint(550+p.n/4), nil
					r.Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(p.n) * 24 * time.Hour).Format(time.RFC3339)
					r.End = r.Start
				})
			}
		}, "change driver"},
		"an hour": {func(p *past) {
			for range 12 {
				p.run(true, func(r *Record) {
					end := time.Date(2026, 3, 1+p.n%28, 3, p.rng.IntN(50), 0, 0, time.UTC)
					r.Start, r.End = end.Add(-time.Duration(1+p.rng.IntN(9))*time.Hour).Format(time.RFC3339), end.Format(time.RFC3339)
				})
			}
		}, "time-of-day"},
		"a duration": {func(p *past) {
			for range 8 {
				p.run(true, func(r *Record) {
					start, _ := time.Parse(time.RFC3339, r.Start)
					r.End = start.Add(12*time.Hour + time.Duration(p.rng.IntN(20))*time.Minute).Format(time.RFC3339)
				})
			}
		}, "duration nightly"},
		"what came before": {func(p *past) {
			for i := range 10 {
				p.run(true, func(r *Record) { r.Before = saved(r, float64(20+10*i)) })
			}
		}, "precursor save"},
	} {
		found := 0
		for seed := range uint64(20) {
			p := newPast(t, seed)
			for i := range 60 {
				if name == "a change" {
					break
				}
				p.run(i%12 == 0)
			}
			c.play(p)
			got := p.trends()
			if slices.ContainsFunc(kinds(got), func(k string) bool {
				return k == c.want || strings.HasPrefix(k, c.want+" 02:") || strings.HasPrefix(k, c.want+" 03:") || strings.HasPrefix(k, c.want+" 04:")
			}) {
				found++
			} else {
				t.Logf("%s, seed %d: %q", name, seed, kinds(got))
			}
			for _, x := range got {
				if x.Chance >= unlikely || x.Statement == "" {
					t.Errorf("%s: %+v", name, x)
				}
			}
		}
		if found < 19 {
			t.Errorf("%s: found in %d of 20 histories", name, found)
		}
	}
}

// What is noise, or little, says nothing.
func TestNoTrendIsToldOfNoise(t *testing.T) {
	told := 0
	for seed := range uint64(200) {
		p := newPast(t, seed)
		for i := range 60 {
			p.run(i%5 == 0, func(r *Record) {
				if !r.Completed { // at any time between two saves
					r.Before = saved(r, 1800*p.rng.Float64())
				}
			})
		}
		if got := p.trends(); len(got) > 0 {
			told++
			t.Logf("seed %d: %q", seed, kinds(got))
		}
	}
	if told > 6 { // of 200 at 1 in 100
		t.Errorf("noise is told as a trend in %d of 200 histories", told)
	}
	p := newPast(t, 2)
	for i := range 16 { // three of four failures are no five
		p.run(i%4 == 0, func(r *Record) { r.Before = saved(r, 10) })
	}
	if got := p.trends(); slices.ContainsFunc(got, func(x Trend) bool { return x.Kind == "precursor" }) {
		t.Errorf("%q", kinds(got))
	}
	p = newPast(t, 1)
	for i := range 11 {
		p.run(i < 8, func(r *Record) { r.Nodes[0] = "bad"; r.RootNodes = []string{"bad"} })
	}
	if got := p.trends(); len(got) > 0 {
		t.Errorf("%d runs are too few: %q", p.n, kinds(got))
	}
}

func TestFishersTest(t *testing.T) {
	for _, c := range []struct {
		k, n, failed, all int
		want              float64
	}{{3, 4, 4, 8, 17.0 / 70}, {4, 4, 4, 8, 1.0 / 70}, {0, 4, 4, 8, 1}} { // a lady who tastes tea
		if got := fisher(c.k, c.n, c.failed, c.all); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%+v: %g", c, got)
		}
	}
}
