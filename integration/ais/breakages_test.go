//go:build realais

package ais

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"faultline/incident"
)

// breakage is one way to break a cluster, or to leave it whole, and what may be said of it afterwards.
type breakage struct {
	name string
	plan plan
	job  func(*cluster, *job)
	// happens when all ranks have done the steps of settled; what it returns undoes it, or awaits its end.
	happens func(t *testing.T, c *cluster) func()
	// mild is what a job may outlive; the others have to end it.
	mild bool
	want story
}

// variant is how a breakage is met.
type variant struct {
	// local: the daemons' clocks show the zone of the job's machines, and not UTC.
	local bool
	// crowded: others read the same objects all the time.
	crowded bool
}

func (v variant) String() string {
	zone, load := "utc", "quiet"
	if v.local {
		zone = "local"
	}
	if v.crowded {
		load = "crowded"
	}
	return zone + "-" + load
}

// settled is how many steps a job does before its store is broken: some half a minute, in which the daemons write what they write of
// a healthy cluster.
const settled = 40

// variants of each breakage. Each is pulled twice: before what was broken is whole again, and afterwards.
var variants = []variant{{}, {local: true}, {crowded: true}, {local: true, crowded: true}}

// sample is what each run of the test plays; FAULTLINE_BREAKAGES=all plays every variant of every breakage, =once one variant of each, in
// turn, =once:a,b one of these, and =a,b every variant of these.
var sample = map[string]variant{
	"frozen": {}, "maintenance": {local: true}, "deleted-list": {crowded: true}, "proxy-killed": {}, "restarts-in-a-row": {local: true},
	"disk-stuck": {}, "halts": {crowded: true}, "backend-killed": {local: true}, "halts-beside-deletion-of-unread": {}, "halts-after-a-short-freeze": {},
}

// chosen says whether a variant of a breakage, the nth of all, is played.
func (b *breakage) chosen(n int, v variant) bool {
	pick := os.Getenv("FAULTLINE_BREAKAGES")
	names, once := strings.CutPrefix(pick, "once:")
	switch {
	case pick == "":
		sampled, ok := sample[b.name]
		return ok && sampled == v
	case pick == "all":
		return true
	case pick == "once":
		return variants[n%len(variants)] == v
	case once && variants[n%len(variants)] != v:
		return false
	}
	return slices.Contains(strings.Split(names, ","), b.name)
}

// tally counts what the reports say, over all breakages.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (n *tally) add(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.counts[what]++
}

// Each breakage is done to a cluster of its own under a job's load; the report may name who was broken and nobody else, and clears
// nobody who was.
func TestBreakages(t *testing.T) {
	all := &tally{counts: map[string]int{}}
	t.Run("play", func(t *testing.T) { // returns when all of them have ended
		for n, b := range breakages() {
			for _, v := range variants {
				if b.chosen(n, v) {
					t.Run(b.name+"/"+v.String(), func(t *testing.T) {
						t.Parallel()
						b.play(t, v, all)
					})
				}
			}
		}
	})
	for _, what := range slices.Sorted(maps.Keys(all.counts)) {
		t.Logf("%4d reports %s", all.counts[what], what)
	}
}

func (b *breakage) play(t *testing.T, v variant, all *tally) {
	p := b.plan
	if v.local {
		p.zone = "Asia/Tokyo"
	}
	c := start(t, p)
	c.fill(t, shard)
	undo, leave := func() {}, func() {}
	j, ended := launch(t, c, time.Hour, func(j *job) {
		target3(t, c, j)
		j.total = settled + 152
		if b.job != nil {
			j.own = nil
			b.job(c, j)
		}
		j.at = map[int]func(){settled: func() { undo = b.happens(t, c) }}
		if v.crowded {
			j.at[2] = func() { leave = c.crowd() }
		}
	})
	logs := ended()
	leave()
	want := b.want
	if j.outlived() {
		if !b.mild {
			t.Error("the job outlived it")
		}
		want = story{judgements: []string{"cleared", "open", "none"}, innocent: true}
	}
	time.Sleep(3 * time.Second) // lines are written out every second
	for _, state := range []string{"broken", "whole"} {
		if state == "whole" {
			undo()
			time.Sleep(3 * time.Second)
		}
		archives := c.archived(t, false)
		if archives == "" {
			continue // a cluster whose only proxy is away cannot be asked
		}
		if keep := os.Getenv("FAULTLINE_KEEP"); keep != "" {
			to := filepath.Join(keep, b.name+"-"+v.String()+"-"+state)
			for from, name := range map[string]string{logs: "logs", archives: "ais-logs"} {
				if err := os.CopyFS(filepath.Join(to, name), os.DirFS(from)); err != nil {
					t.Error(err)
				}
			}
		}
		t.Run(state, func(t *testing.T) {
			want.holds(t, c.diagnoseWith(t, "", logs, "--ais-logs", archives), all)
		})
	}
}

// holds compares a report with what may be said.
func (want *story) holds(t *testing.T, r incident.Report, all *tally) {
	t.Helper()
	v, s := r.Verdict, r.Storage
	component := ""
	if v.Root.Component != nil {
		component = *v.Root.Component
	}
	t.Logf("%s %s %.2f, root %v %q, storage %s, targets %v, clocks %q: %s", v.Status, v.Mechanism, v.Confidence, v.Root.Ranks, component, s.Judgement, s.Targets, s.Clocks, v.Summary)
	kind, wrong := "of a broken store", ""
	if want.innocent {
		kind = "of a whole store"
	}
	fault := func(what, format string, args ...any) {
		wrong = cmp.Or(wrong, what)
		t.Errorf(format, args...)
	}
	accused := want.innocent && s.Judgement == "implicated"
	for _, target := range s.Targets {
		accused = accused || want.innocent || want.target != "" && target != want.target
	}
	if accused {
		fault("accuse who is innocent", "%v are accused, the storage is %s", s.Targets, s.Judgement)
	}
	if !want.innocent && s.Judgement == "cleared" {
		fault("clear who is guilty", "the storage is cleared")
	}
	if !slices.Contains(want.judgements, s.Judgement) {
		fault("leave it open", "the storage is %s, want one of %v", s.Judgement, want.judgements)
	}
	open := s.Judgement == "open"
	if len(want.mechanisms) > 0 && !open && !slices.Contains(want.mechanisms, v.Mechanism) {
		fault("name another mechanism", "mechanism %s, want one of %v", v.Mechanism, want.mechanisms)
	}
	for _, rank := range v.Root.Ranks {
		if !slices.Contains(want.ranks, rank) {
			fault("accuse a rank", "rank %d is accused", rank)
		}
	}
	all.add(kind + ": " + cmp.Or(wrong, "right"))
	if wrong == "" {
		all.add(kind + ": right, and " + s.Judgement)
	}
}
