//go:build realais

package ais

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"faultline/incident"
)

// breakage is one way to break a cluster, or to leave it whole, and what may be said of it afterwards.
type breakage struct {
	name string
	// local: the daemons' clocks show the zone of the job's machines, and not UTC.
	local bool
	// sampled breakages run each time; FAULTLINE_BREAKAGES=all runs all.
	sampled bool
	job     func(*job)
	// happens when all ranks have done eight steps; what it returns is undone or awaited before the logs are taken.
	happens func(t *testing.T, c *cluster) func()
	want    story
}

// target3 reads from the third target only, with one rank; the others do not touch it.
func target3(t *testing.T, c *cluster, j *job) {
	var there, elsewhere []string
	for i := range dataset {
		if c.home(t, object(i)) == targetID(3) {
			there = append(there, object(i))
		} else {
			elsewhere = append(elsewhere, object(i))
		}
	}
	j.own = map[int][]string{0: elsewhere, 1: elsewhere, 2: there, 3: elsewhere}
}

func (c *cluster) admin(t *testing.T, method, path, body string) {
	t.Helper()
	if _, err := c.ask(method, path, "", body); err != nil {
		t.Error(err)
	}
}

func (c *cluster) freeze(t *testing.T, id string, lasts time.Duration) func() {
	p := c.nodes[id].cmd.Process
	_ = p.Signal(syscall.SIGSTOP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(lasts)
		_ = p.Signal(syscall.SIGCONT)
	}()
	return func() {
		<-done
		await(t, soon, "its return", func() bool { return c.has(t, id) })
		time.Sleep(12 * time.Second)
	}
}

var (
	implicated = []string{"implicated"}
	notBlamed  = []string{"cleared", "open"}
	everybody  = []int{0, 1, 2, 3}
	nodes      = []string{"gpu01", "gpu02"}
)

func breakages() []breakage {
	stall := story{ranks: everybody, nodes: nodes, target: targetID(3), mechanisms: []string{"ais-silent-stall", "ais-network"}, judgements: implicated}
	changed := func(target string) story {
		return story{ranks: everybody, nodes: nodes, target: target, mechanisms: []string{"ais-administration", "ais-rebalance"}, judgements: implicated}
	}
	alone := story{ranks: []int{2}, nodes: nodes, innocent: true, judgements: notBlamed}
	halts := func(j *job) { j.ranks[2].halts = 12 }
	none := func() {}
	maintenance := func(skip bool) func(*testing.T, *cluster) func() {
		return func(t *testing.T, c *cluster) func() {
			c.admin(t, http.MethodPut, "/v1/cluster", fmt.Sprintf(`{"action":"start-maintenance","value":{"sid":%q,"skip_rebalance":%t}}`, targetID(3), skip))
			return none
		}
	}
	remove := func(value string) func(*testing.T, *cluster) func() {
		return func(t *testing.T, c *cluster) func() {
			c.admin(t, http.MethodDelete, "/v1/buckets/"+bucket+"?provider=ais", `{"action":"delete-listrange","value":`+value+`}`)
			return none
		}
	}
	var list []string
	for i := 60; i < 200; i++ {
		list = append(list, fmt.Sprintf("%q", object(i)))
	}
	listed := `{"objnames":[` + strings.Join(list, ",") + `]}`
	return []breakage{
		{name: "frozen", sampled: true, happens: func(t *testing.T, c *cluster) func() { return c.freeze(t, targetID(3), 60*time.Second) }, want: stall},
		{name: "frozen-local", local: true, happens: func(t *testing.T, c *cluster) func() { return c.freeze(t, targetID(3), 60*time.Second) }, want: stall},
		{name: "frozen-briefly", happens: func(t *testing.T, c *cluster) func() { return c.freeze(t, targetID(3), 34*time.Second) }, want: stall},
		{name: "maintenance", sampled: true, happens: maintenance(true), want: changed(targetID(3))},
		{name: "maintenance-local", local: true, happens: maintenance(true), want: changed(targetID(3))},
		{name: "deleted-list", sampled: true, happens: remove(listed), want: changed("nobody")},
		{name: "deleted-range-local", local: true, happens: remove(`{"template":"shard-{00060..00199}.tar"}`), want: changed("nobody")},
		{name: "bucket-destroyed", happens: func(t *testing.T, c *cluster) func() {
			c.admin(t, http.MethodDelete, "/v1/buckets/"+bucket+"?provider=ais", `{"action":"destroy-bck"}`)
			return none
		}, want: changed("nobody")},
		{name: "proxy-killed", sampled: true, happens: func(t *testing.T, c *cluster) func() {
			c.end(proxyID, syscall.SIGKILL)
			return func() { c.run(t, proxyID); await(t, soon, "the proxy", c.ready) }
		}, want: story{ranks: everybody, nodes: nodes, target: proxyID, mechanisms: []string{"ais-daemon-restart"}, judgements: implicated}},
		{name: "restarts-in-a-row", happens: func(t *testing.T, c *cluster) func() {
			return c.restart(t, targetID(1), targetID(2), targetID(3))
		}, want: story{ranks: everybody, nodes: nodes, mechanisms: []string{"ais-daemon-restart", "ais-rebalance"}, judgements: implicated}},
		{name: "mountpath-detached", happens: func(t *testing.T, c *cluster) func() {
			if _, err := c.ask(http.MethodDelete, "/v1/reverse/daemon/mountpaths?dntres=true", targetID(3), `{"action":"detach-mp","value":"`+c.mountpath(targetID(3), 1)+`"}`); err != nil {
				t.Error(err)
			}
			return none
		}, want: story{ranks: everybody, nodes: nodes, target: targetID(3), mechanisms: []string{"ais-administration", "ais-disk-fault"}, judgements: implicated}},
		{name: "halts-beside-load", sampled: true, job: halts, happens: func(t *testing.T, c *cluster) func() { return c.crowd(t, 25*time.Second) }, want: alone},
		{name: "halts-beside-load-local", local: true, job: halts, happens: func(t *testing.T, c *cluster) func() { return c.crowd(t, 25*time.Second) }, want: alone},
		{name: "halts-beside-other-deletion", job: halts, happens: func(t *testing.T, c *cluster) func() {
			c.admin(t, http.MethodPost, "/v1/buckets/archive?provider=ais", `{"action":"create-bck"}`)
			c.admin(t, http.MethodPut, "/v1/objects/archive/a?provider=ais", "x")
			c.admin(t, http.MethodDelete, "/v1/buckets/archive?provider=ais", `{"action":"delete-listrange","value":{"objnames":["a"]}}`)
			return none
		}, want: alone},
		{name: "halts-beside-deletion-of-unread", sampled: true, job: halts, happens: func(t *testing.T, c *cluster) func() {
			c.admin(t, http.MethodPut, "/v1/objects/"+bucket+"/unread?provider=ais", "x")
			return remove(`{"objnames":["unread"]}`)(t, c)
		}, want: alone},
		{name: "halts-beside-configuration", job: halts, happens: func(t *testing.T, c *cluster) func() {
			c.admin(t, http.MethodPut, "/v1/cluster/set-config?log.level=4", "")
			return none
		}, want: alone},
	}
}

// restart stops targets and starts them anew, one after the other, as an upgrade does. What it returns waits for the end of it.
func (c *cluster) restart(t *testing.T, ids ...string) func() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, id := range ids {
			c.end(id, syscall.SIGTERM)
			time.Sleep(2 * time.Second)
			c.run(t, id)
			time.Sleep(6 * time.Second)
		}
	}()
	return func() {
		<-done
		await(t, soon, "their return", func() bool { return !slices.ContainsFunc(ids, func(id string) bool { return !c.has(t, id) }) })
	}
}

// crowd are others who read as fast as they can.
func (c *cluster) crowd(t *testing.T, lasts time.Duration) func() {
	end := time.Now().Add(lasts)
	for k := range 6 {
		go func() {
			for i := k; time.Now().Before(end); i++ {
				_, _ = c.ask(http.MethodGet, "/v1/objects/"+bucket+"/"+object(i%dataset)+"?provider=ais", "", "")
			}
		}()
	}
	return func() {}
}

// Each breakage is done to a cluster of its own under a job's load; the report may name who was broken and nobody else, and clears
// nobody who was.
func TestBreakages(t *testing.T) {
	for _, b := range breakages() {
		if !b.sampled && os.Getenv("FAULTLINE_BREAKAGES") != "all" {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.play(t)
		})
	}
}

func (b *breakage) play(t *testing.T) {
	p := plan{}
	if b.local {
		p.zone = "Asia/Tokyo"
	}
	c := start(t, p)
	c.fill(t, 64<<10)
	undo := func() {}
	_, ended := launch(t, c, time.Hour, func(j *job) {
		target3(t, c, j)
		if b.job != nil {
			j.own = nil
			b.job(j)
		}
		j.at = map[int]func(){8: func() { undo = b.happens(t, c) }}
	})
	logs := ended()
	undo()
	time.Sleep(3 * time.Second) // lines are written out every second
	archives := c.archived(t)
	if keep := os.Getenv("FAULTLINE_KEEP"); keep != "" {
		for from, to := range map[string]string{logs: "logs", archives: "ais-logs"} {
			if err := os.CopyFS(filepath.Join(keep, t.Name(), to), os.DirFS(from)); err != nil {
				t.Error(err)
			}
		}
	}
	b.want.holds(t, c.diagnoseWith(t, "", logs, "--ais-logs", archives))
}

// holds compares a report with what may be said.
func (want *story) holds(t *testing.T, r incident.Report) {
	t.Helper()
	v, s := r.Verdict, r.Storage
	component := ""
	if v.Root.Component != nil {
		component = *v.Root.Component
	}
	t.Logf("%s %s %.2f, root %v %q, storage %s, targets %v, clocks %q: %s", v.Status, v.Mechanism, v.Confidence, v.Root.Ranks, component, s.Judgement, s.Targets, s.Clocks, v.Summary)
	if !slices.Contains(want.judgements, s.Judgement) {
		t.Errorf("the storage is %s, want one of %v", s.Judgement, want.judgements)
	}
	if len(want.mechanisms) > 0 && !slices.Contains(want.mechanisms, v.Mechanism) {
		t.Errorf("mechanism %s, want one of %v", v.Mechanism, want.mechanisms)
	}
	for _, target := range s.Targets {
		if want.innocent || want.target != "" && target != want.target {
			t.Errorf("%s is accused", target)
		}
	}
	for _, rank := range v.Root.Ranks {
		if !slices.Contains(want.ranks, rank) {
			t.Errorf("rank %d is accused", rank)
		}
	}
}
