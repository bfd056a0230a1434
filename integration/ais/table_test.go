//go:build realais

package ais

import (
	"fmt"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"
)

var (
	implicated = []string{"implicated"}
	notBlamed  = []string{"cleared", "open"}
	everybody  = []int{0, 1, 2, 3}
	nodes      = []string{"gpu01", "gpu02"}
)

// guilty is the story of a broken store: of one daemon, or of anyone's where there is none.
func guilty(target string, mechanisms ...string) story {
	return story{ranks: everybody, nodes: nodes, target: target, mechanisms: mechanisms, judgements: implicated}
}

// hidden is the story of a broken store that its daemons' logs may not show: it may be left open, and is never cleared.
func hidden(target string, mechanisms ...string) story {
	s := guilty(target, mechanisms...)
	s.judgements = []string{"implicated", "open"}
	return s
}

// breakages are what befalls clusters of users, and what looks like it.
func breakages() []breakage {
	third, nobody := targetID(3), "nobody"
	alone := story{ranks: []int{2}, nodes: nodes, innocent: true, judgements: notBlamed}
	halts := func(_ *cluster, j *job) { j.ranks[2].halts = settled + 4 }
	saves := func(_ *cluster, j *job) { j.saves = 200 << 10 }
	proxies := plan{proxies: 2}
	list := []breakage{
		// Daemons that stand still.
		{name: "frozen", happens: frozen(third, 60*time.Second), want: guilty(third, "ais-silent-stall", "ais-network")},
		{name: "frozen-briefly", happens: frozen(third, 34*time.Second), want: guilty(third, "ais-silent-stall", "ais-network")},
		{name: "proxy-frozen", mild: true, happens: frozen(proxyID, 60*time.Second), want: guilty(proxyID, "ais-silent-stall", "ais-network")},
		{name: "frozen-without-room-for-its-log", plan: plan{logs: map[string]int64{third: 1}}, happens: func(t *testing.T, c *cluster) func() {
			c.fillLog(t, third)
			return frozen(third, 60*time.Second)(t, c)
		}, want: guilty(third, "ais-silent-stall", "ais-network")},
		// Daemons that end.
		{name: "killed", happens: gone(third, syscall.SIGKILL), want: guilty(third, "ais-daemon-restart")},
		{name: "stopped", happens: gone(third, syscall.SIGTERM), want: guilty(third, "ais-daemon-restart")},
		{name: "proxy-killed", happens: gone(proxyID, syscall.SIGKILL), want: guilty(proxyID, "ais-daemon-restart")},
		{name: "primary-killed", plan: proxies, mild: true, job: func(c *cluster, j *job) {
			for _, r := range j.ranks {
				r.endpoint = c.endpointOf(secondProxy)
			}
		}, happens: gone(proxyID, syscall.SIGKILL), want: guilty(proxyID, "ais-daemon-restart")},
		{name: "restarts-in-a-row", happens: restarted(25*time.Second, targetID(1), targetID(2), third), want: guilty("", "ais-daemon-restart")},
		{name: "quick-restarts-in-a-row", mild: true, happens: restarted(2*time.Second, targetID(1), targetID(2), third), want: guilty("", "ais-daemon-restart", "ais-rebalance")},
		// What administrators do.
		{name: "maintenance", happens: leaves("start-maintenance"), want: guilty(third, "ais-administration", "ais-rebalance")},
		{name: "decommissioned", happens: leaves("decommission-node"), want: guilty(third, "ais-administration", "ais-rebalance")},
		{name: "shut-down", happens: leaves("shutdown-node"), want: guilty(third, "ais-administration", "ais-daemon-restart")},
		{name: "removed", happens: leaves("rm-unsafe"), want: guilty(third, "ais-administration", "ais-rebalance")},
		{name: "mountpath-detached", happens: loses(http.MethodDelete, "detach-mp"), want: guilty(third, "ais-administration", "ais-disk-fault")},
		{name: "mountpath-disabled", happens: loses(http.MethodPost, "disable-mp"), want: guilty(third, "ais-administration", "ais-disk-fault")},
		{name: "deleted-list", happens: deletes(listed(60, 200)), want: guilty(nobody, "ais-administration")},
		{name: "deleted-range", happens: deletes(`{"template":"shard-{00060..00199}.tar"}`), want: guilty(nobody, "ais-administration")},
		{name: "bucket-destroyed", happens: asked(http.MethodDelete, ofBucket, `{"action":"destroy-bck"}`), want: guilty(nobody, "ais-administration")},
		{name: "bucket-renamed", happens: asked(http.MethodPost, ofBucket+"&bck_to=ais/@%23/elsewhere/", `{"action":"move-bck"}`), want: guilty(nobody, "ais-administration")},
		{name: "reading-forbidden", happens: asked(http.MethodPatch, ofBucket, `{"action":"set-bprops","value":{"access":"2"}}`), want: hidden(nobody, "ais-administration", "ais-auth")},
		// Disks and networks.
		{name: "disk-full", plan: plan{disks: map[string]int64{targetID(2): 60}}, job: saves, happens: done(func(t *testing.T, c *cluster) { c.leave(t, targetID(2), 1<<20) }),
			want: guilty(targetID(2), "storage-full")},
		{name: "disk-stuck", plan: plan{disks: map[string]int64{targetID(2): 100}}, job: saves, happens: stuck(targetID(2)),
			want: hidden(targetID(2), "ais-silent-stall", "ais-disk-fault", "ais-resource-pressure", "ais-network")},
		{name: "disk-throttled", plan: plan{disks: map[string]int64{third: 100}}, happens: throttled(third),
			want: hidden(third, "ais-silent-stall", "ais-disk-fault", "ais-resource-pressure")},
		{name: "objects-erased", happens: done(func(t *testing.T, c *cluster) { c.eachObject(t, third, func(name string) { _ = os.Remove(name) }) }),
			want: guilty(third, "ais-disk-fault", "ais-batch-object-loss")},
		{name: "objects-truncated", happens: done(func(t *testing.T, c *cluster) {
			c.eachObject(t, third, func(name string) { _ = os.Truncate(name, 100) })
		}),
			want: hidden(third, "ais-disk-fault", "ais-batch-object-loss")},
		{name: "cut-off", happens: cut, want: guilty(third, "ais-network")},
		{name: "token-expired", job: func(c *cluster, j *job) {
			c.jobToken = mint(may(c.uuid, objects), 14*time.Second)
			for _, r := range j.ranks {
				r.token = c.jobToken
			}
		}, happens: done(func(*testing.T, *cluster) {}), want: hidden(nobody, "ais-auth")},
	}
	list = append(list, fresh(saves)...)
	// A rank that stands still by itself, beside what does not concern it.
	beside := func(name string, p plan, happens func(*testing.T, *cluster) func()) {
		list = append(list, breakage{name: name, plan: p, job: halts, happens: happens, want: alone})
	}
	beside("halts", plan{}, done(func(*testing.T, *cluster) {}))
	beside("halts-beside-other-deletion", plan{}, done(func(t *testing.T, c *cluster) {
		c.admin(t, http.MethodPost, "/v1/buckets/archive?provider=ais", `{"action":"create-bck"}`)
		c.admin(t, http.MethodPut, "/v1/objects/archive/a?provider=ais", "x")
		c.admin(t, http.MethodDelete, "/v1/buckets/archive?provider=ais", `{"action":"delete-listrange","value":{"objnames":["a"]}}`)
	}))
	beside("halts-beside-deletion-of-unread", plan{}, done(func(t *testing.T, c *cluster) {
		c.admin(t, http.MethodPut, "/v1/objects/"+bucket+"/unread?provider=ais", "x")
		c.admin(t, http.MethodDelete, ofBucket, `{"action":"delete-listrange","value":{"objnames":["unread"]}}`)
	}))
	beside("halts-beside-destruction-of-another", plan{}, done(func(t *testing.T, c *cluster) {
		c.admin(t, http.MethodPost, "/v1/buckets/archive?provider=ais", `{"action":"create-bck"}`)
		c.admin(t, http.MethodDelete, "/v1/buckets/archive?provider=ais", `{"action":"destroy-bck"}`)
	}))
	beside("halts-beside-configuration", plan{}, asked(http.MethodPut, "/v1/cluster/set-config?log.level=4", ""))
	beside("halts-beside-new-primary", proxies, asked(http.MethodPut, "/v1/cluster/proxy/"+proxyName(secondProxy), ""))
	beside("halts-beside-properties", plan{}, asked(http.MethodPatch, ofBucket, `{"action":"set-bprops","value":{"checksum":{"validate_warm_get":true}}}`))
	beside("halts-beside-deletion-one-by-one-of-unread", plan{}, done(func(t *testing.T, c *cluster) {
		for i := range 40 {
			name := fmt.Sprintf("/v1/objects/%s/unread-%d?provider=ais", bucket, i)
			c.admin(t, http.MethodPut, name, "x")
			c.admin(t, http.MethodDelete, name, "")
		}
	}))
	beside("halts-beside-eviction", plan{behind: true}, done(evicts))
	beside("halts-without-room-for-a-log", plan{logs: map[string]int64{third: 1}}, done(func(t *testing.T, c *cluster) { c.fillLog(t, third) }))
	return append(list, breakage{name: "halts-after-a-short-freeze", happens: frozen(third, 6*time.Second),
		job: func(_ *cluster, j *job) { j.ranks[2].halts = settled + 72 }, want: alone})
}

// fresh are ways of breaking a cluster whose expectation was written before any of them was tried.
func fresh(saves func(*cluster, *job)) []breakage {
	third, second, nobody := targetID(3), targetID(2), "nobody"
	own := plan{disks: map[string]int64{second: 100}}
	return []breakage{
		{name: "slow-network", happens: slowed(third), want: hidden(third, "ais-network", "ais-silent-stall", "ais-resource-pressure")},
		{name: "targets-partitioned", job: func(*cluster, *job) {}, happens: partitioned(3), want: hidden(third, "ais-network", "ais-stream-broken", "ais-batch-object-loss")},
		{name: "processor-starved", happens: starved(third), want: hidden(third, "ais-resource-pressure", "ais-silent-stall", "ais-network")},
		{name: "without-descriptors", happens: descriptors(third, 8), want: hidden(third, "ais-resource-pressure", "ais-network", "ais-silent-stall")},
		{name: "disk-read-only", plan: own, job: saves, happens: readOnly(second), want: guilty(second, "ais-disk-fault")},
		{name: "without-inodes", plan: own, job: saves, happens: done(func(t *testing.T, c *cluster) { c.takeInodes(t, second) }), want: guilty(second, "storage-full")},
		{name: "deleted-one-by-one", happens: done(func(t *testing.T, c *cluster) {
			for i := 60; i < 200; i++ {
				c.admin(t, http.MethodDelete, "/v1/objects/"+bucket+"/"+object(i)+"?provider=ais", "")
			}
		}), want: hidden(nobody, "ais-administration", "ais-batch-object-loss")},
		// The bucket is another cluster's; this one's copies are dropped.
		{name: "evicted", plan: plan{behind: true}, mild: true, happens: done(evicts), want: story{judgements: notBlamed, innocent: true}},
		{name: "backend-frozen", plan: plan{behind: true}, mild: true, happens: behind(every(func(id string) func(*testing.T, *cluster) func() {
			return frozen(id, 90*time.Second)
		})), want: hidden(nobody, "ais-backend", "ais-network")},
		{name: "backend-killed", plan: plan{behind: true}, happens: behind(every(func(id string) func(*testing.T, *cluster) func() {
			return gone(id, syscall.SIGKILL)
		})), want: guilty(nobody, "ais-backend")},
		{name: "backend-emptied", plan: plan{behind: true}, happens: behind(deletes(`{"template":"shard-{00060..00199}.tar"}`)),
			want: guilty(nobody, "ais-backend")},
		{name: "rate-limited", job: saves, happens: asked(http.MethodPatch, ofBucket, `{"action":"set-bprops","value":{"rate_limit":{"frontend":{"enabled":true,"interval":"1m","max_tokens":10,"burst_size":5}}}}`),
			want: hidden(nobody, "ais-throttled", "ais-administration")},
	}
}
