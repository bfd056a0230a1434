//go:build realais

package ais

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	proxyID = "ais-proxy-0"
	targets = 3
	// secondProxy is the number of the proxy beside the first, where a plan has two: those of the targets lie between.
	secondProxy = targets + 1
	bucket      = "speech"
	secret      = "a-secret-of-this-test-alone"
)

func targetID(i int) string { return fmt.Sprintf("ais-target-%d", i) }

func proxyName(i int) string { return fmt.Sprintf("ais-proxy-%d", i) }

// cluster is a proxy and three targets of one test alone, with AuthN on.
type cluster struct {
	dir   string
	base  int // the first of its ports
	nodes map[string]*node
	uuid  string
	// jobToken is the one that the job of this test has.
	jobToken string
	// certified: the daemons speak HTTPS, with this certificate; nil = HTTP.
	certified *certificate
	// backend is the cluster that the bucket's objects come from, where it is a copy; nil = they are this cluster's own.
	backend *cluster
}

// node is one daemon. Its folder outlives its process, as a machine's disk does.
type node struct {
	dir  string
	args []string
	zone string
	cmd  *exec.Cmd
	done chan struct{}
}

// clusters counts, for the ports.
var clusters atomic.Int32

// plan is what may differ between clusters.
type plan struct {
	// disks are the sizes in MB of the targets' disks, each a file system of its own, which its target has for itself; a
	// target without an entry has two folders of this machine's disk.
	disks map[string]int64
	// logs are the sizes in MB of the file systems that targets have for their logs alone.
	logs map[string]int64
	// zone is what the daemons' clocks show; empty is UTC.
	zone string
	// proxies is how many there are; none is one.
	proxies int
	// certified is the certificate of all daemons; nil = they speak HTTP.
	certified *certificate
	// behind: the bucket is another cluster's, of which this one keeps copies.
	behind bool
	// open: anybody may do anything.
	open bool
}

// farther is the name that a cluster has for the one behind it.
const farther = "far"

// start brings a cluster up, with a bucket in it, and registers its end.
func start(t *testing.T, p plan) *cluster {
	t.Helper()
	c := &cluster{dir: t.TempDir(), base: 20000 + 100*int(clusters.Add(1)), nodes: map[string]*node{}, certified: p.certified}
	if p.behind {
		c.backend = start(t, plan{open: true})
	}
	t.Cleanup(c.stop)
	begun := time.Now()
	for i := range targets + max(1, p.proxies) {
		id, args := proxyName(i), []string{"-role=proxy", fmt.Sprintf("-ntargets=%d", targets)}
		if 0 < i && i < secondProxy {
			id = targetID(i)
			args = []string{"-role=target"}
		}
		n := &node{dir: filepath.Join(c.dir, id), zone: cmp.Or(p.zone, "UTC")}
		n.args = append([]string{"-config=" + filepath.Join(n.dir, "ais.json"), "-local_config=" + filepath.Join(n.dir, "ais_local.json"), "-daemon_id=" + id}, args...)
		c.nodes[id] = n
		c.lay(t, n, i, p)
		c.run(t, id)
	}
	await(t, soon, "the cluster", c.ready)
	c.uuid = c.clusterMap(t)["uuid"].(string)
	if c.backend == nil {
		c.must(t, http.MethodPost, c.ofBucket(), `{"action":"create-bck"}`)
	} else {
		c.attach(t)
	}
	t.Logf("a cluster of %d targets after %s", targets, time.Since(begun).Round(100*time.Millisecond))
	return c
}

// port of a daemon: 0 public, 1 control, 2 data.
func (c *cluster) port(i, kind int) int { return c.base + 10*kind + i }

func (c *cluster) endpoint() string { return c.endpointOf(0) }

func (c *cluster) endpointOf(i int) string {
	scheme := "http"
	if c.certified != nil {
		scheme = "https"
	}
	return fmt.Sprintf("%s://127.0.0.1:%d", scheme, c.port(i, 0))
}

// lay writes the configuration of a daemon. What is not said is AIStore's default, but for the times, which are short, and
// for what makes a daemon take a slow machine for a fault: a neighbour has seconds to answer, batches are refused only when
// next to no memory is left or a disk does nothing else.
func (c *cluster) lay(t *testing.T, n *node, i int, p plan) {
	t.Helper()
	paths := map[string]string{}
	for _, d := range []string{"", "conf", "log", "tmp"} {
		folder(t, filepath.Join(n.dir, d))
	}
	if size := p.logs[targetID(i)]; size > 0 {
		memory(t, filepath.Join(n.dir, "log"), fmt.Sprintf("size=%dm", size))
	}
	for mp := range 2 {
		size := p.disks[targetID(i)]
		if i == 0 || i >= secondProxy || mp > 0 && size > 0 {
			break
		}
		path := c.mountpath(targetID(i), mp+1)
		folder(t, path)
		if size > 0 {
			disk(t, path, n.dir, size)
		}
		paths[path] = "disk"
	}
	local := map[string]any{
		"confdir": filepath.Join(n.dir, "conf"), "log_dir": filepath.Join(n.dir, "log"), "fspaths": paths,
		"test_fspaths": map[string]any{"root": "", "count": 0, "instance": 1},
		"host_net": map[string]string{"hostname": "127.0.0.1", "hostname_intra_control": "127.0.0.1", "hostname_intra_data": "127.0.0.1",
			"port": fmt.Sprint(c.port(i, 0)), "port_intra_control": fmt.Sprint(c.port(i, 1)), "port_intra_data": fmt.Sprint(c.port(i, 2))},
	}
	raw, err := json.Marshal(local)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(n.dir, "ais_local.json"), string(raw))
	high, full := 98, 99 // how full this machine's disk is says nothing about the cluster
	if len(p.disks) > 0 {
		high, full = 90, 95
	}
	write(t, filepath.Join(n.dir, "ais.json"), fmt.Sprintf(`{"backend":{},
"log":{"level":"3","max_size":"4mb","max_total":"128mb","flush_time":"1s","stats_time":"2s"},
"periodic":{"stats_time":"2s","notif_time":"30s","retry_sync_time":"2s"},
"timeout":{"cplane_operation":"4s","max_keepalive":"8s","cold_get_conflict":"5s","max_host_busy":"20s","startup_time":"1m","join_startup_time":"3m","send_file_time":"5m","ec_streams_time":"10m","object_md":"2h"},
"proxy":{"primary_url":%[1]q,"original_url":%[1]q,"discovery_url":"","non_electable":false},
"space":{"cleanupwm":65,"lowwm":75,"highwm":%[2]d,"out_of_space":%[3]d,"batch_size":32768,"dont_cleanup_time":"120m"},
"memsys":{"min_free":"128mb","default_buf":"32kb","to_gc":"4gb","hk_time":"3m","min_pct_total":0,"min_pct_free":0},
"net":{"l4":{"proto":"tcp","sndrcv_buf_size":131072},"http":{%[4]s,"idle_conn_time":"6s","idle_conns_per_host":32,"idle_conns":256,"chunked_transfer":true}},
"disk":{"disk_util_low_wm":98,"disk_util_high_wm":99,"disk_util_max_wm":100},
"auth":{"client_auth_required":%[5]t,"signature":{"method":"HMAC"}},
"resilver":{"enabled":true}}`, c.endpoint(), high, full, c.certified.settings(), !p.open))
}

// attach gives a cluster the one behind it.
func (c *cluster) attach(t *testing.T) {
	t.Helper()
	header := http.Header{"Ais-Remote-Ais-Alias": {farther}, "Ais-Remote-Ais-Url": {c.backend.endpoint()}}
	if _, err := c.askWith(30*time.Second, http.MethodPut, "/v1/cluster/attach?what=remote", header, ""); err != nil {
		t.Fatal(err)
	}
	c.must(t, http.MethodHead, c.ofBucket(), "") // who asks for a bucket makes it known
}

// namespace is how a request tells whose bucket it means.
func (c *cluster) namespace() string {
	if c.backend == nil {
		return "provider=ais"
	}
	return "provider=ais&namespace=%40" + c.backend.uuid + "%23"
}

func (c *cluster) ofBucket() string { return "/v1/buckets/" + bucket + "?" + c.namespace() }

func (c *cluster) ofObject(name string) string {
	return "/v1/objects/" + bucket + "/" + name + "?" + c.namespace()
}

func (c *cluster) mountpath(target string, n int) string {
	return filepath.Join(c.dir, target, fmt.Sprintf("mp%d", n))
}

// run starts a daemon.
func (c *cluster) run(t *testing.T, id string) {
	t.Helper()
	n := c.nodes[id]
	out, err := os.OpenFile(filepath.Join(n.dir, "stderr"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	n.cmd = exec.Command(os.Getenv(envNode), n.args...)
	n.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + n.dir, "TMPDIR=" + filepath.Join(n.dir, "tmp"), "TZ=" + n.zone, "AIS_AUTHN_SECRET_KEY=" + secret}
	n.cmd.Stdout, n.cmd.Stderr = out, out
	if err := n.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	done := make(chan struct{})
	n.done = done
	go func() {
		_ = n.cmd.Wait() // how it ended stands in its log
		close(done)
	}()
}

// end stops a daemon and waits for it.
func (c *cluster) end(id string, sig syscall.Signal) {
	n := c.nodes[id]
	if n.cmd == nil || n.cmd.Process == nil {
		return
	}
	_ = n.cmd.Process.Signal(sig) // it may have ended already
	select {
	case <-n.done:
	case <-time.After(20 * time.Second):
		_ = n.cmd.Process.Kill()
		<-n.done
	}
}

func (c *cluster) stop() {
	for id := range c.nodes {
		c.end(id, syscall.SIGKILL)
	}
}

func (c *cluster) ready() bool {
	client := &http.Client{Timeout: 10 * time.Second, Transport: c.certified.transport()}
	r, err := client.Get(c.endpoint() + "/v1/health?prr=true")
	if err != nil {
		return false
	}
	r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// ask sends one request as the administrator. PUTs of objects go to the target that the proxy names.
func (c *cluster) ask(method, path, node, body string) ([]byte, error) {
	header := http.Header{}
	if node != "" {
		header.Set("Ais-Node-Id", node)
	}
	return c.askWith(30*time.Second, method, path, header, body)
}

// askWith does so for a time, with more in the request's header.
func (c *cluster) askWith(limit time.Duration, method, path string, header http.Header, body string) ([]byte, error) {
	req, err := http.NewRequest(method, c.endpoint()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header
	req.Header.Set("Authorization", "Bearer "+mint(admin, time.Hour))
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Timeout: limit, Transport: c.certified.transport()}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, bytes.TrimSpace(raw))
	}
	return raw, err
}

func (c *cluster) must(t *testing.T, method, path, body string) []byte {
	t.Helper()
	raw, err := c.ask(method, path, "", body)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (c *cluster) clusterMap(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(c.must(t, http.MethodGet, "/v1/daemon?what=smap", ""), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// has says whether a daemon is in the cluster map.
func (c *cluster) has(t *testing.T, id string) bool {
	members := c.clusterMap(t)
	_, target := members["tmap"].(map[string]any)[id]
	_, proxy := members["pmap"].(map[string]any)[id]
	return target || proxy
}

// dataset is how many objects there are to train on, shard the size of each.
const (
	dataset = 300
	shard   = 64 << 10
)

func object(i int) string { return fmt.Sprintf("shard-%05d.tar", i) }

// fill puts the dataset into the bucket.
func (c *cluster) fill(t *testing.T, size int) {
	t.Helper()
	body := strings.Repeat("x", size)
	for i := range dataset {
		c.must(t, http.MethodPut, c.ofObject(object(i)), body)
	}
}

// home is the target that keeps an object.
func (c *cluster) home(t *testing.T, name string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, c.endpoint()+c.ofObject(name), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+mint(admin, time.Hour))
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	at, err := resp.Location()
	if err != nil {
		t.Fatal(err)
	}
	for i := range targets {
		if at.Port() == fmt.Sprint(c.port(i+1, 0)) || at.Port() == fmt.Sprint(c.port(i+1, 2)) {
			return targetID(i + 1)
		}
	}
	t.Fatalf("%s is at %s", name, at)
	return ""
}

// soon is how long anything may take that surely comes, on a slow machine that does much else.
const soon = 4 * time.Minute

func await(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(limit); !is(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%s: not after %s", what, limit)
		}
	}
}

func listens(port int) bool {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func folder(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
