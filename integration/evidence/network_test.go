//go:build realevidence

package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"faultline/incident"
)

// pair are two network namespaces, each with an interface eth0, joined by a cable.
type pair struct {
	t    *testing.T
	a, b string
}

// addresses of the first and of the second.
const near, far = "10.77.0.1", "10.77.0.2"

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t, fmt.Sprintf("fl%da", os.Getpid()), fmt.Sprintf("fl%db", os.Getpid())}
	t.Cleanup(func() {
		for _, ns := range []string{p.a, p.b} {
			_ = exec.Command("ip", "netns", "del", ns).Run()
		}
	})
	for _, line := range []string{
		"netns add " + p.a, "netns add " + p.b,
		"link add eth0 netns " + p.a + " type veth peer name eth0 netns " + p.b,
		"-n " + p.a + " addr add " + near + "/24 dev eth0", "-n " + p.b + " addr add " + far + "/24 dev eth0",
		"-n " + p.a + " link set lo up", "-n " + p.b + " link set lo up", "-n " + p.a + " link set eth0 up", "-n " + p.b + " link set eth0 up",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: this machine gives no network namespaces: ip %s: %v: %s", line, err, out)
		}
	}
	p.until("both ends answer", func() bool { _, err := p.try(p.a, "ping", "-c", "1", "-W", "1", far); return err == nil })
	return p
}

func (p *pair) try(ns string, args ...string) (string, error) {
	out, err := exec.Command("ip", append([]string{"netns", "exec", ns}, args...)...).CombinedOutput()
	return string(out), err
}

// run runs a tool in one of the namespaces; how it ends does not matter, as long as it says something.
func (p *pair) run(ns string, args ...string) string {
	p.t.Helper()
	out, err := p.try(ns, args...)
	if out == "" {
		p.t.Fatalf("%v says nothing: %v", args, err)
	}
	return out
}

func (p *pair) must(ns string, args ...string) {
	p.t.Helper()
	if out, err := p.try(ns, args...); err != nil {
		p.t.Fatalf("%v: %v: %s", args, err, out)
	}
}

func (p *pair) until(what string, f func() bool) {
	p.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !f(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("it never came that %s", what)
		}
	}
}

// resent is how many segments of TCP the first namespace has sent a second time.
func (p *pair) resent() int {
	p.t.Helper()
	const counters = "Tcp: "
	var names []string
	for line := range strings.Lines(p.run(p.a, "cat", "/proc/net/snmp")) {
		rest, ok := strings.CutPrefix(line, counters)
		if !ok {
			continue
		}
		if names == nil { // a line of names stands before that of the numbers
			names = strings.Fields(rest)
			continue
		}
		if i := slices.Index(names, "RetransSegs"); i >= 0 {
			n, err := strconv.Atoi(strings.Fields(rest)[i])
			if err != nil {
				p.t.Fatal(err)
			}
			return n
		}
	}
	p.t.Fatal("the kernel does not count what is sent again")
	return 0
}

// serve starts a server in the second namespace and waits until it listens.
func (p *pair) serve(port string, args ...string) {
	p.t.Helper()
	cmd := exec.Command("ip", append([]string{"netns", "exec", p.b}, args...)...)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	p.until("port "+port+" is open", func() bool {
		out, _ := p.try(p.b, "ss", "-Hltn")
		return strings.Contains(out, ":"+port+" ")
	})
}

// bot hands files to the binary, of two nodes, and returns its report.
func bot(t *testing.T, files map[string]string) *incident.Report {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, "evidence", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(dir, "train.log")
	if err := os.WriteFile(log, []byte("[rank0]: step 1 loss 3.2\n[rank0]: step 2 loss 3.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary(t), "diagnose", "--format", "json", "--nodes", "node1,node2", "--evidence", filepath.Join(dir, "evidence"), log)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	_ = cmd.Run() // how it ends says how sure it is
	var r incident.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for _, w := range r.Warnings {
		if strings.HasPrefix(w, "not used") || strings.HasPrefix(w, "not read") {
			t.Errorf("%s", w)
		}
	}
	if len(r.Verification.Withdrawn) > 0 {
		t.Errorf("withdrawn: %v", r.Verification.Withdrawn)
	}
	return &r
}

// build makes the binary once for all tests; the folder stays in the system's for temporary files until it is cleared.
var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(os.TempDir(), "faultline-evidence-bot")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/bot").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("building the binary: %w: %s", err, out)
	}
	return path, err
})

func binary(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// says finds a finding of a kind that holds all words.
func says(r *incident.Report, kind string, words ...string) bool {
	for _, a := range r.Artifacts {
		if a.Kind != kind {
			continue
		}
	findings:
		for _, f := range a.Findings {
			for _, w := range words {
				if !strings.Contains(f.Statement, w) {
					continue findings
				}
			}
			return len(f.Evidence) > 0
		}
	}
	return false
}

func expect(t *testing.T, r *incident.Report, kind string, words ...string) {
	t.Helper()
	if says(r, kind, words...) {
		return
	}
	for _, a := range r.Artifacts {
		for _, f := range a.Findings {
			t.Logf("%s: %s", a.Kind, f.Statement)
		}
	}
	t.Errorf("nothing of %s says %q", kind, words)
}

// iperf3's JSON and text are read as it measured.
func TestIperf3(t *testing.T) {
	p := newPair(t)
	p.serve("5201", "iperf3", "-s")
	measured := func(args ...string) (said string) {
		p.until("the server is free", func() bool { // it is not, for a moment, after another client
			said = p.run(p.a, append([]string{"iperf3", "-c", far, "-t", "1"}, args...)...)
			return !strings.Contains(said, "server is busy")
		})
		return said
	}
	asJSON, text := measured("-J"), measured()
	refused := p.run(p.a, "iperf3", "-c", far, "-p", "5999", "-J")
	var want struct {
		End struct {
			Received struct {
				Bits float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal([]byte(asJSON), &want); err != nil {
		t.Fatal(err)
	}
	r := bot(t, map[string]string{"a.json": asJSON, "b.txt": text, "c.json": refused})
	gbits := fmt.Sprintf("%.4g Gb/s", want.End.Received.Bits/1e9)
	expect(t, r, "path-tests", "iperf3 from 10.77.0.1 to "+far, gbits)
	expect(t, r, "path-tests", "failed")
	n := 0
	for _, a := range r.Artifacts {
		for _, f := range a.Findings {
			if a.Kind == "path-tests" && strings.Contains(f.Statement, "Gb/s") {
				n++
			}
		}
	}
	if n < 2 {
		t.Errorf("%d measurements", n)
	}
}

// ping that may not be cut, against another size of packets.
func TestPingFindsTheSizeOfPackets(t *testing.T) {
	p := newPair(t)
	r := bot(t, map[string]string{"ping-node1.txt": p.run(p.a, "ping", "-M", "do", "-c", "2", "-s", "8972", far) + p.run(p.a, "ping", "-M", "do", "-c", "2", "-s", "1472", far)})
	expect(t, r, "fabric", "packets of 9000 bytes from node1", "accepts at most 1500")
	// The sender may send large packets, the receiver drops them, and nobody says so.
	p.must(p.a, "ip", "link", "set", "eth0", "mtu", "9000")
	large, small := p.run(p.a, "ping", "-M", "do", "-c", "2", "-W", "1", "-s", "8972", far), p.run(p.a, "ping", "-M", "do", "-c", "2", "-W", "1", "-s", "1472", far)
	if !strings.Contains(small, " 0% packet loss") || !strings.Contains(large, "100% packet loss") {
		t.Skipf("SKIPPED: this kernel lets the sizes through: %s%s", large, small)
	}
	r = bot(t, map[string]string{"ping-node1.txt": large + small})
	expect(t, r, "fabric", "of 9000 bytes from node1", "silently dropped, but packets of 1500 bytes get through")
}

// ip and ethtool: sizes that differ between hosts, a link that went away and came back, one that is gone.
func TestInterfaces(t *testing.T) {
	p := newPair(t)
	p.must(p.b, "ip", "link", "set", "eth0", "mtu", "9000")
	r := bot(t, map[string]string{"link-node1.txt": p.run(p.a, "ip", "-s", "-s", "link"), "link-node2.txt": p.run(p.b, "ip", "-s", "-s", "link"),
		"eth-node1.txt": p.run(p.a, "ethtool", "eth0")})
	expect(t, r, "fabric", "the MTU on eth0", "9000", "1500")

	stamped := func() string {
		return time.Now().UTC().Format("Mon Jan _2 15:04:05 UTC 2006") + "\n" + p.run(p.a, "ip", "-s", "-s", "link", "show", "dev", "eth0")
	}
	first := stamped()
	p.must(p.b, "ip", "link", "set", "eth0", "down")
	p.until("the carrier is gone", func() bool {
		return strings.Contains(p.run(p.a, "ip", "link", "show", "dev", "eth0"), "NO-CARRIER") && strings.Contains(p.run(p.a, "ip", "link", "show", "dev", "eth0"), "state DOWN")
	})
	gone := p.run(p.a, "ip", "-s", "link") + p.run(p.a, "ethtool", "eth0")
	r = bot(t, map[string]string{"state-node1.txt": gone})
	expect(t, r, "fabric", "not up: eth0 of node1", "no carrier")
	p.must(p.b, "ip", "link", "set", "eth0", "up")
	p.until("the carrier is back", func() bool { return strings.Contains(p.run(p.a, "ip", "link", "show", "dev", "eth0"), "state UP") })
	time.Sleep(1100 * time.Millisecond) // date has seconds
	r = bot(t, map[string]string{"state-node1.txt": first + stamped()})
	expect(t, r, "fabric", "eth0 of node1", "tx_transns grew", "carrier")
	if len(r.Verdict.Root.Nodes) > 0 {
		t.Errorf("accused: %v", r.Verdict.Root.Nodes)
	}
}

// What Linux itself keeps in files.
func TestFilesOfSys(t *testing.T) {
	p := newPair(t)
	text := p.run(p.a, "sh", "-c", "mount -t sysfs none /sys 2>/dev/null; grep . /sys/class/net/eth0/statistics/rx_crc_errors /sys/class/net/eth0/mtu /sys/class/net/eth0/operstate /sys/class/net/eth0/carrier_changes /dev/null")
	if !strings.Contains(text, "/sys/class/net/eth0/mtu:1500") {
		t.Skipf("SKIPPED: no /sys of the namespace here: %s", text)
	}
	expect(t, bot(t, map[string]string{"sys-node1.txt": text}), "fabric", "carrier_changes", "no second snapshot")
}
