//go:build realslurm && amd64

package slurm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/preflight"
)

// nets gives each of the four shared nodes a network of its own, joined by a switch. Its name is also the folder of what the nodes'
// tasks need.
type nets struct {
	t        *testing.T
	dir, bot string
	c        *cluster
}

const masterPort = "29511"

func (n *nets) space(node string) string { return filepath.Base(n.dir) + "-" + node }

func (n *nets) ip(line string) {
	n.t.Helper()
	if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %s: %v: %s", line, err, out)
	}
}

var machines = []string{"node01", "node02", "node03", "node04"}

func newNets(t *testing.T, c *cluster, bot string) *nets {
	t.Helper()
	n := &nets{t, c.path(fmt.Sprintf("fl%d", os.Getpid())), bot, c}
	folder(t, n.dir, account{})
	t.Cleanup(func() {
		for _, node := range append(machines, "switch") {
			_ = exec.Command("ip", "netns", "del", n.space(node)).Run()
		}
	})
	sw := n.space("switch")
	n.ip("netns add " + sw)
	n.ip("-n " + sw + " link add br0 type bridge")
	n.ip("-n " + sw + " link set br0 up")
	for i, node := range machines {
		ns := n.space(node)
		n.ip("netns add " + ns)
		n.ip("link add eth0 netns " + ns + " type veth peer name " + node + " netns " + sw)
		n.ip(fmt.Sprintf("-n %s addr add 10.78.0.%d/24 dev eth0", ns, i+1))
		n.ip("-n " + ns + " link set lo up")
		n.ip("-n " + ns + " link set eth0 up")
		n.ip("-n " + sw + " link set " + node + " master br0")
		n.ip("-n " + sw + " link set " + node + " up")
	}
	return n
}

// in runs a tool on a node.
func (n *nets) in(node string, args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", append([]string{"netns", "exec", n.space(node)}, args...)...).CombinedOutput(); err != nil {
		n.t.Fatalf("%v on %s: %v: %s", args, node, err, out)
	}
}

// fault is one thing that is wrong on node03, or on the way to it.
type fault struct {
	name string
	// hosts is a name that the node does not know; task is what is broken where its task begins; do and undo are broken around the job.
	hosts, task string
	do, undo    func(n *nets)
	args, env   []string
	code        int
	want        []string // of the lead's output or the node's own
	alone       bool     // no other node may be named
}

func faults(n *nets) []fault {
	at := func(node string, lines ...string) func(*nets) {
		return func(n *nets) {
			for _, l := range lines {
				n.in(node, strings.Fields(l)...)
			}
		}
	}
	lib := filepath.Join(n.dir, "lib")
	wide := func(n *nets, mtu, port string) {
		for _, node := range machines {
			n.in(node, "ip", "link", "set", "eth0", "mtu", mtu)
			n.in("switch", "ip", "link", "set", node, "mtu", mtu)
		}
		n.in("switch", "ip", "link", "set", "node03", "mtu", port)
	}
	var holder *exec.Cmd
	return []fault{
		{name: "nothing"},
		{name: "a broken name", hosts: "storage", args: []string{"--name", "storage"}, code: 1, want: []string{"node03: name resolution: storage: "}, alone: true},
		{name: "the name of the first node", hosts: "node01", args: []string{"--wait", "5s"}, code: 1,
			want: []string{"node03: rendezvous: did not reach the rendezvous", "node03: name resolution: node01: "}, alone: true},
		{name: "a full disk", task: "mount -t tmpfs -o size=1m none " + n.c.work, code: 1, want: []string{"node03: directory: cannot write " + n.c.work + ": no space left on device"}, alone: true},
		{name: "a small MTU", do: at("node03", "ip link set eth0 mtu 1300"), undo: at("node03", "ip link set eth0 mtu 1500"),
			want: []string{"node03: MTU: 1300, and 1500 on 3 other nodes"}, alone: true},
		{name: "a path that loses large packets",
			do: func(n *nets) {
				wide(n, "9000", "1500")
				for _, node := range machines { // hardware would cut what the kernel hands over whole
					n.in(node, "ethtool", "-K", "eth0", "tso", "off", "gso", "off", "gro", "off")
				}
			},
			undo: func(n *nets) {
				wide(n, "1500", "1500")
				for _, node := range machines {
					n.in(node, "ethtool", "-K", "eth0", "tso", "on", "gso", "on", "gro", "on")
				}
			}, code: 1, want: []string{"node03: network: cannot send to node04: packets of 500 bytes get through", "and node02 cannot send to it"}, alone: true},
		{name: "a rendezvous port in use", env: []string{"MASTER_ADDR=node01", "MASTER_PORT=" + masterPort},
			do: func(n *nets) {
				holder = exec.Command("ip", "netns", "exec", n.space("node01"), "python3", "-m", "http.server", masterPort)
				if err := holder.Start(); err != nil {
					n.t.Fatal(err)
				}
				n.t.Cleanup(func() { _ = holder.Process.Kill() })
				if !poll(time.Minute, func() bool {
					out, _ := exec.Command("ip", "netns", "exec", n.space("node01"), "ss", "-Hltn").Output()
					return strings.Contains(string(out), ":"+masterPort)
				}) {
					n.t.Fatal("nobody took the port")
				}
			},
			undo: func(*nets) { _ = holder.Process.Kill(); _ = holder.Wait() }, code: 1,
			want: []string{"node01: rendezvous port: cannot open MASTER_PORT " + masterPort + ": "}},
		{name: "a rendezvous port that a firewall closes", env: []string{"MASTER_ADDR=node01", "MASTER_PORT=" + masterPort},
			do:   at("node01", "ip rule add to 10.78.0.3 ipproto tcp sport "+masterPort+" blackhole"),
			undo: at("node01", "ip rule del to 10.78.0.3 ipproto tcp sport "+masterPort+" blackhole"), code: 1,
			want: []string{"node03: rendezvous port: cannot reach node01:" + masterPort + ": i/o timeout"}, alone: true},
		{name: "a port of InfiniBand that is down", task: "mount --bind " + n.dir + "/class /sys/class", want: []string{"node03: port: mlx5_0 port 1 is DOWN"}, alone: true},
		{name: "a slow link", do: at("node03", "tc qdisc add dev eth0 root tbf rate 40mbit burst 64k latency 50ms"), undo: at("node03", "tc qdisc del dev eth0 root"),
			code: 1, want: []string{"node03: network: sends "}, alone: true},
		{name: "a clock that is ahead", task: "AS=(env " + skewBy + "=12 " + os.Args[0] + ")", want: []string{"node03: clock: 12."}, alone: true},
		{name: "a library that is missing", task: "mount -t tmpfs none " + lib, args: []string{"--library", "libnccl.so.2"}, env: []string{"LD_LIBRARY_PATH=" + lib}, code: 1,
			want: []string{"node03: library: libnccl.so.2: not found"}, alone: true},
		{name: "a library that another one needs", task: "mount --bind /dev/null " + lib + "/libcudart.so.12", args: []string{"--library", "libnccl.so.2"}, env: []string{"LD_LIBRARY_PATH=" + lib}, code: 1,
			want: []string{"node03: library: libnccl.so.2: it needs libcudart.so.12, which was not found"}, alone: true},
		{name: "a node that does not come", task: "exec sleep 1", args: []string{"--wait", "4s"}, code: 1, want: []string{"node03: rendezvous: did not reach the rendezvous"}, alone: true},
		{name: "nothing any more", args: []string{"--library", "libnccl.so.2", "--name", "storage"}, env: []string{"LD_LIBRARY_PATH=" + lib, "MASTER_ADDR=node01", "MASTER_PORT=" + masterPort}},
	}
}

// setUp writes what the tasks of the nodes begin with.
func (n *nets) setUp(f fault) {
	n.t.Helper()
	for i, node := range machines {
		hosts := "127.0.0.1 localhost\n10.78.0.9 storage\n"
		for j, other := range machines {
			hosts += fmt.Sprintf("10.78.0.%d %s\n", j+1, other)
		}
		task := "AS=()\n"
		if i == 2 {
			var kept []string
			for line := range strings.Lines(hosts) {
				if f.hosts == "" || !strings.HasSuffix(line, " "+f.hosts+"\n") {
					kept = append(kept, line)
				}
			}
			hosts, task = strings.Join(kept, ""), task+f.task+"\n"
		}
		write(n.t, filepath.Join(n.dir, node+".hosts"), hosts, 0o644)
		write(n.t, filepath.Join(n.dir, node+".sh"), task, 0o644)
	}
}

// check runs bot check as a step of SLURM, on four nodes, and returns what was printed and its exit code.
func (n *nets) check(f fault) (string, int) {
	n.t.Helper()
	n.setUp(f)
	args := []string{"-N4", "--ntasks-per-node=1", "--label", n.c.path("programs/onnode.sh"), n.bot, "check", "--write", n.c.work, "--send", "1s"}
	cmd := n.c.command("srun", append(args, f.args...)...)
	cmd.Env = append(cmd.Env, "NETS="+n.dir)
	cmd.Env = append(cmd.Env, f.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		n.t.Fatal(err)
	}
	return out.String(), code
}

// What a check before the job must find is really broken on one node of four, and each time it is named and nothing else is.
func TestWhatIsBrokenIsFoundBeforeTheJob(t *testing.T) {
	for _, tool := range []string{"ip", "tc", "ethtool", "python3", "cc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is not installed; run integration/slurm/prepare.sh first", tool)
		}
	}
	dir := t.TempDir()
	bot := filepath.Join(dir, "bot")
	if out, err := exec.Command("go", "build", "-o", bot, "../../cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	n := newNets(t, start(t), bot)
	n.libraries()
	for _, f := range faults(n) {
		t.Run(f.name, func(t *testing.T) {
			if f.do != nil {
				f.do(n)
				defer f.undo(n)
			}
			began := time.Now()
			out, code := n.check(f)
			took := time.Since(began)
			t.Logf("exit %d after %s\n%s", code, took.Round(10*time.Millisecond), out)
			if code != f.code || strings.Contains(out, "not ready") != (code != 0) {
				t.Errorf("exit code %d, want %d", code, f.code)
			}
			if took > time.Minute {
				t.Errorf("it took %s", took)
			}
			for _, want := range f.want {
				if !strings.Contains(out, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			for line := range strings.Lines(out) {
				_, line, _ = strings.Cut(line, preflight.Prefix)
				if level, rest, ok := strings.Cut(line, " "); ok && slices.Contains([]string{"FAIL", "WARN"}, level) {
					// All nodes write to the one disk of this machine, which other tests keep busy: that it is slow is true.
					busyDisk := strings.Contains(rest, "writes at only")
					if !busyDisk && (len(f.want) == 0 || f.alone && !strings.HasPrefix(strings.TrimSpace(rest), "node03: ")) {
						t.Errorf("a sound node is named: %s", line)
					}
				}
			}
		})
	}
	t.Run("the training", n.wraps)
}

// libraries lays out what the faults need: a library that needs another, and an adapter whose port is down.
func (n *nets) libraries() {
	n.t.Helper()
	lib, port := filepath.Join(n.dir, "lib"), filepath.Join(n.dir, "class/infiniband/mlx5_0/ports/1")
	for _, d := range []string{lib, port} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			n.t.Fatal(err)
		}
	}
	write(n.t, filepath.Join(port, "state"), "1: DOWN\n", 0o644)
	write(n.t, filepath.Join(port, "rate"), "400 Gb/sec (4X NDR)\n", 0o644)
	for _, args := range [][]string{
		{"-shared", "-o", filepath.Join(lib, "libcudart.so.12"), "-Wl,-soname,libcudart.so.12", "-x", "c", "/dev/null"},
		{"-shared", "-o", filepath.Join(lib, "libnccl.so.2"), "-Wl,-soname,libnccl.so.2", "-x", "c", "/dev/null", "-x", "none", "-Wl,--no-as-needed", filepath.Join(lib, "libcudart.so.12")},
	} {
		if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
			n.t.Fatalf("cc %v: %v: %s", args, err, out)
		}
	}
}

// trained is a training that counts what it is told, and ends when it may.
const trained = `trap 'echo got USR1' USR1; echo running; while [ ! -e stop ]; do sleep 0.1; done; exit 7`

// wraps has SLURM signal a step whose tasks the check has started: each training hears it once, and SLURM gets its exit code.
func (n *nets) wraps(t *testing.T) {
	n.setUp(fault{})
	dir := filepath.Join(n.c.work, "wrap")
	folder(t, dir, account{})
	cmd := n.c.command("srun", "-N4", "--ntasks-per-node=2", "--chdir="+dir, n.c.path("programs/onnode.sh"), n.bot, "check", "--send", "200ms", "--wrap", "--", "sh", "-c", trained)
	cmd.Env = append(cmd.Env, "NETS="+n.dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		write(t, filepath.Join(dir, "stop"), "", 0o644)
		err := cmd.Wait()
		if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 7 {
			t.Errorf("srun: %v, want exit code 7\n%s", err, out.String())
		}
		if n := strings.Count(out.String(), "got USR1\n"); n != 8 {
			t.Errorf("%d of 8 signals in the output:\n%s", n, out.String())
		}
	}()
	logs := func(text string, times int) bool {
		list, _ := filepath.Glob(filepath.Join(dir, "train-*.log"))
		have := 0
		for _, name := range list {
			b, _ := os.ReadFile(name)
			if strings.Count(string(b), text) == times {
				have++
			}
		}
		return have == 8
	}
	if !poll(time.Minute, func() bool { return logs("\nrunning\n", 1) }) {
		t.Fatalf("the training does not run:\n%s", out.String())
	}
	id := strings.TrimSpace(n.c.must(t, "squeue", "-h", "-o", "%i"))
	n.c.must(t, "scancel", "--signal=USR1", id)
	if !poll(time.Minute, func() bool { return logs("got USR1\n", 1) }) {
		t.Error("not every training heard the signal")
	}
	time.Sleep(time.Second) // a second signal would have come
	if !logs("got USR1\n", 1) {
		t.Error("a training heard the signal twice")
	}
}
