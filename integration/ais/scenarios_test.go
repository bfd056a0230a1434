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

// A target is killed while a job reads batches. The shards of one rank are on it; the others wait for that rank, and time out.
func TestATargetIsKilled(t *testing.T) {
	t.Parallel()
	c := start(t, plan{})
	c.fill(t, shard)
	var there, elsewhere []string
	for i := range dataset {
		if c.home(t, object(i)) == targetID(3) {
			there = append(there, object(i))
		} else {
			elsewhere = append(elsewhere, object(i))
		}
	}
	most := slices.Clone(there) // of its batches; the target that has most of a batch puts it together
	for i := 3; i < len(most); i += 4 {
		most[i] = elsewhere[i]
	}
	killed := make(chan struct{})
	_, ended := launch(t, c, time.Hour, func(j *job) {
		j.own = map[int][]string{0: elsewhere, 1: elsewhere, 2: most, 3: elsewhere}
		j.at = map[int]func(){8: func() { c.end(targetID(3), syscall.SIGKILL); close(killed) }}
	})
	select {
	case <-killed:
		c.pulledInPart(t, targetID(3))
	case <-time.After(soon):
		t.Error("the job never came to step 8")
	}
	logs := ended()
	await(t, soon, "the eviction", func() bool { return !c.has(t, targetID(3)) })
	c.run(t, targetID(3))
	await(t, soon, "its return", func() bool { return c.has(t, targetID(3)) && listens(c.port(3, 0)) })
	c.writes(t, "removing t["+targetID(3)+"]", proxyID)
	r := c.judged(t, logs, story{ranks: []int{2}, nodes: []string{"gpu02"}, target: targetID(3), mechanisms: []string{"ais-daemon-restart"}, judgements: []string{"implicated"}})
	if v, s := r.Verdict, r.Storage; v.Status != "confirmed" || v.Root.Component == nil || *v.Root.Component != "ais:"+targetID(3) || !slices.Equal(v.Root.Ranks, []int{2}) ||
		!slices.Equal(s.Targets, []string{targetID(3)}) || s.Clocks != "proven" {
		t.Errorf("%s, root %+v, targets %v, clocks %s", v.Status, v.Root, s.Targets, s.Clocks)
	}
	lives(t, r, targetID(3), "killed", "open")
	if n := about(daemon(t, r, proxyID), "keepalive-failed", targetID(3)); n == 0 {
		t.Error("the proxy did not see that the target was gone")
	}
	if n := about(daemon(t, r, proxyID), "removed", targetID(3)); n != 1 {
		t.Errorf("the target was taken out of the cluster map once, not %d times", n)
	}
	if n := about(daemon(t, r, proxyID), "unreachable", targetID(3)); n == 0 {
		t.Error("a request that the proxy could not pass on is not seen")
	}
}

// A target's disk is filled by somebody else. The job that writes into the bucket cannot.
func TestADiskIsFull(t *testing.T) {
	t.Parallel()
	c := start(t, plan{disks: map[string]int64{targetID(2): 40}})
	c.fill(t, 8<<10)
	c.leave(t, targetID(2), 1<<20)
	_, ended := launch(t, c, time.Hour, func(j *job) { j.saves = 200 << 10 })
	logs := ended()
	c.writes(t, "ErrCapExceeded", targetID(2))
	r := c.judged(t, logs, story{ranks: []int{0}, nodes: []string{"gpu01"}, target: targetID(2), mechanisms: []string{"storage-full"}, judgements: []string{"implicated"}})
	if !slices.Equal(r.Storage.Targets, []string{targetID(2)}) || r.Storage.Clocks != "proven" {
		t.Errorf("targets %v, clocks %s", r.Storage.Targets, r.Storage.Clocks)
	}
	if n := counted(daemon(t, r, targetID(2)), "out-of-space"); n == 0 {
		t.Error("the target does not say that its disk is full")
	}
	for _, other := range []string{targetID(1), targetID(3)} {
		if n := counted(daemon(t, r, other), "out-of-space"); n > 0 {
			t.Errorf("%s has room, and %d records say that it has none", other, n)
		}
	}
}

// The disk of a target is busier than its watermarks allow: it refuses batches.
func TestADiskIsBusy(t *testing.T) {
	t.Parallel()
	c := start(t, plan{disks: map[string]int64{targetID(1): 100, targetID(2): 100, targetID(3): 100}})
	c.fill(t, shard)
	j, ended := launch(t, c, time.Hour, func(j *job) { j.early, j.pause = true, 100*time.Millisecond })
	trains(t, j, 8)
	c.occupy(t, targetID(2))
	c.must(t, http.MethodPut, "/v1/cluster/set-config?disk.disk_util_low_wm=1&disk.disk_util_high_wm=2&disk.disk_util_max_wm=3", "")
	logs := ended()
	c.writes(t, "err.getbatch.n:", targetID(1), targetID(2), targetID(3))
	c.writes(t, "aism[set-config", proxyID)
	// Who may be accused is whom the job's logs name; each of them writes that it rejected when it likes.
	for i, id := range []string{proxyID, targetID(1), targetID(2), targetID(3)} {
		if named(t, logs, fmt.Sprintf(":%d/", c.port(i, 0))) {
			c.writes(t, "rejected due to resource pressure", id)
		}
	}
	r := c.judged(t, logs, story{ranks: []int{0, 1, 2, 3}, nodes: []string{"gpu01", "gpu02"}, mechanisms: []string{"ais-resource-pressure"}, judgements: []string{"implicated"}})
	rejected, failed := 0, int64(0)
	for _, d := range r.Storage.Daemons {
		n := counted(d, "batch-rejected")
		rejected += n
		failed += grew(d, "err.getbatch.n")
		if n == 0 && d.ID != nil && slices.Contains(r.Storage.Targets, *d.ID) {
			t.Errorf("%s is accused, and rejected nothing", *d.ID)
		}
	}
	if rejected == 0 || failed == 0 {
		t.Errorf("%d records of rejected batches, and counters that say %d", rejected, failed)
	}
	if counted(daemon(t, r, proxyID), "config-changed") == 0 {
		t.Error("the change of the watermarks is not seen")
	}
}

// The job's token is valid for some seconds only.
func TestTheJobsTokenExpires(t *testing.T) {
	t.Parallel()
	c := start(t, plan{})
	c.fill(t, 16<<10)
	_, ended := launch(t, c, 12*time.Second, nil)
	logs := ended()
	c.writes(t, "auth.fail.n:", proxyID)
	r := c.judged(t, logs, story{mechanisms: []string{"ais-auth"}, judgements: []string{"implicated"}})
	if s := r.Storage; s.Side == nil || *s.Side != "client" || len(s.Targets) > 0 {
		t.Errorf("a token that ran out is on the client's side, not %v, and no daemon's fault: %v", s.Side, s.Targets)
	}
	if n := counted(daemon(t, r, proxyID), "refused"); n == 0 {
		t.Error("the proxy does not say that it refused tokens")
	}
	if n := grew(daemon(t, r, proxyID), "auth.fail.n"); n == 0 {
		t.Error("the proxy's counter of refused tokens did not grow")
	}
}

// Somebody takes a mountpath out of service, and what lies on it is gone for the job.
func TestAMountpathIsDisabled(t *testing.T) {
	t.Parallel()
	c := start(t, plan{})
	c.fill(t, 16<<10)
	j, ended := launch(t, c, time.Hour, nil)
	trains(t, j, 8)
	if _, err := c.ask(http.MethodPost, "/v1/reverse/daemon/mountpaths?dntres=true", targetID(2), `{"action":"disable-mp","value":"`+c.mountpath(targetID(2), 1)+`"}`); err != nil {
		t.Fatal(err)
	}
	logs := ended()
	c.writes(t, "disabled mountpath", targetID(2))
	r := c.judged(t, logs, story{ranks: []int{0, 1, 2, 3}, nodes: []string{"gpu01", "gpu02"}, target: targetID(2), mechanisms: []string{"ais-administration"}, judgements: []string{"implicated"}})
	if n := counted(daemon(t, r, targetID(2)), "mountpath-off"); n == 0 {
		t.Error("the target does not say that its mountpath is off")
	}
}

// The cluster is well, a rank stands still, and somebody tries tokens that are none. None of that is the cluster's fault.
func TestARankStallsBesideAHealthyCluster(t *testing.T) {
	t.Parallel()
	c := start(t, plan{})
	c.fill(t, 16<<10)
	_, ended := launch(t, c, time.Hour, func(j *job) { j.ranks[2].halts = 12 })
	logs := ended()
	for name, c2 := range map[string]struct{ token, says string }{
		"another key": {signed(may(c.uuid, showCluster), time.Hour, "another"), "rejected the token's signature"},
		"expired":     {mint(may(c.uuid, showCluster), -time.Minute), "has expired"},
		"no rights":   {mint(may(c.uuid, objects), time.Hour), "SHOW-CLUSTER"},
		"cut":         {mint(admin, time.Hour)[:30], "three parts"},
		"none":        {"", "requires a token"},
	} {
		r := c.diagnoseWith(t, c2.token, logs, "--ais-endpoint", "env")
		if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, c2.says) }) || len(r.Storage.Daemons) > 0 {
			t.Errorf("%s: %q", name, r.Warnings)
		}
		if !slices.Equal(r.Verdict.Root.Ranks, []int{2}) {
			t.Errorf("%s: the job's own logs were judged otherwise: %+v", name, r.Verdict.Root)
		}
	}
	c.writes(t, "token validation failed", proxyID)
	r := c.judged(t, logs, story{ranks: []int{2}, nodes: []string{"gpu02"}, innocent: true, judgements: []string{"cleared", "open"}})
	if !slices.Equal(r.Verdict.Root.Ranks, []int{2}) {
		t.Errorf("rank 2 stalled, not %v", r.Verdict.Root.Ranks)
	}
	looks := 0
	for _, d := range r.Storage.Daemons {
		for _, e := range d.Events {
			switch {
			case e.Level == "alarm":
				t.Errorf("%s alarms without a reason: %s (%d)", d.Name, e.What, e.Count)
			case e.Kind == "refused":
				looks += e.Count
			}
		}
	}
	if looks == 0 {
		t.Error("the refused tokens are not in the proxy's log")
	}
}

// pulledInPart looks at the cluster while a target is down: what the others wrote comes, and what did not is said.
func (c *cluster) pulledInPart(t *testing.T, gone string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "error-7300-0.out"), "2026-11-20 23:15:03,123 - train - INFO - step: 1/50000 loss: 2.3000\n")
	r := c.diagnose(t, dir)
	said := slices.ContainsFunc(r.Warnings, func(w string) bool {
		return strings.HasPrefix(w, "No logs from target "+gone+": the proxy can't reach it")
	})
	if !said && !c.has(t, gone) {
		t.Fatal("it was taken out of the cluster map before the bot looked, some half a minute after it died")
	}
	if !said || len(r.Storage.Daemons) != targets {
		t.Errorf("%d daemons; %q", len(r.Storage.Daemons), r.Warnings)
	}
}

// story is what a report may say. Empty is nobody.
type story struct {
	ranks      []int
	nodes      []string
	target     string   // the only one that may be blamed; "" = any of the cluster
	innocent   bool     // the storage may not be blamed at all
	mechanisms []string // empty = whatever does not accuse anybody else
	judgements []string
}

// judged pulls and judges twice, over the network and from the archives, and holds the report against the story.
func (c *cluster) judged(t *testing.T, logs string, want story) incident.Report {
	t.Helper()
	r := c.diagnose(t, logs)
	v, s := r.Verdict, r.Storage
	t.Logf("%s %s %.2f, origin %s, root %v %v, storage %s, %s, targets %v, clocks %q, warnings %q", v.Status, v.Mechanism, v.Confidence, v.Origin, v.Root.Ranks, v.Root.Nodes, s.Status, s.Judgement, s.Targets, s.Clocks, r.Warnings)
	if len(s.Daemons) != targets+1 {
		t.Errorf("%d daemons were read: %q", len(s.Daemons), r.Warnings)
	}
	if slices.ContainsFunc(r.Warnings, func(w string) bool {
		return strings.Contains(w, "logs of") || strings.Contains(w, "pulled") || strings.Contains(w, "Left out")
	}) {
		t.Errorf("the pull was not complete: %q", r.Warnings)
	}
	for _, d := range s.Daemons {
		if d.Cluster == nil || *d.Cluster != c.uuid {
			t.Errorf("%s is of cluster %v", d.Name, d.Cluster)
		}
		if d.ID != nil && *d.ID != want.target {
			lives(t, r, *d.ID, "open")
		}
	}
	for _, rank := range v.Root.Ranks {
		if !slices.Contains(want.ranks, rank) {
			t.Errorf("rank %d is accused", rank)
		}
	}
	for _, node := range v.Root.Nodes {
		if !slices.Contains(want.nodes, node) {
			t.Errorf("%s is accused", node)
		}
	}
	for _, target := range s.Targets {
		if want.target != "" && !strings.Contains(target, want.target) || want.innocent {
			t.Errorf("%s is accused", target)
		}
	}
	if len(want.mechanisms) > 0 && !slices.Contains(want.mechanisms, v.Mechanism) {
		t.Errorf("mechanism %s, want one of %v", v.Mechanism, want.mechanisms)
	}
	if !slices.Contains(want.judgements, s.Judgement) {
		t.Errorf("the storage is %s, want one of %v", s.Judgement, want.judgements)
	}
	archives := c.archived(t, true)
	if keep := os.Getenv("FAULTLINE_KEEP"); keep != "" { // for a closer look
		for from, to := range map[string]string{logs: "logs", archives: "ais-logs"} {
			if err := os.CopyFS(filepath.Join(keep, t.Name(), to), os.DirFS(from)); err != nil {
				t.Error(err)
			}
		}
	}
	again := c.diagnoseWith(t, "", logs, "--ais-logs", archives)
	if a := again.Verdict; a.Mechanism != v.Mechanism || a.Status != v.Status || !slices.Equal(a.Root.Ranks, v.Root.Ranks) || again.Storage.Judgement != s.Judgement {
		t.Errorf("the archives are judged otherwise: %s %s %v %s", a.Status, a.Mechanism, a.Root.Ranks, again.Storage.Judgement)
	}
	for _, d := range s.Daemons {
		if d.ID != nil && !slices.Equal(ends(daemon(t, again, *d.ID)), ends(d)) {
			t.Errorf("the lives of %s are other ones in the archives: %v", d.Name, ends(daemon(t, again, *d.ID)))
		}
	}
	return r
}

// lives holds how the lives of a daemon ended.
func lives(t *testing.T, r incident.Report, id string, want ...string) {
	t.Helper()
	if got := ends(daemon(t, r, id)); !slices.Equal(got, want) {
		t.Errorf("the lives of %s ended %v, want %v", id, got, want)
	}
}

// about is how many records of a kind a daemon wrote about another.
func about(d incident.StorageDaemon, kind, peer string) (n int) {
	for _, e := range d.Events {
		if e.Kind == kind && e.Peer != nil && strings.Contains(*e.Peer, peer) {
			n += e.Count
		}
	}
	return n
}

// named says whether a text stands in one of the job's logs.
func named(t *testing.T, logs, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(logs, "*.out"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(raw), text)
	})
}

// writes waits until the log of one of the daemons holds a text: they write it out some time after it happened.
func (c *cluster) writes(t *testing.T, text string, ids ...string) {
	t.Helper()
	await(t, soon, text, func() bool {
		return slices.ContainsFunc(ids, func(id string) bool {
			raw, err := c.ask(http.MethodGet, "/v1/reverse/daemon?what=log", id, "")
			return err == nil && strings.Contains(string(raw), text)
		})
	})
}

func trains(t *testing.T, j *job, steps int) {
	t.Helper()
	await(t, soon, "steps of the job", func() bool { return j.steps() >= steps })
}
