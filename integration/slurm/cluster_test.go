//go:build realslurm

package slurm

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Nodes of the cluster. Jobs that end by themselves share the first four; the others are for what disturbs neighbours.
const (
	nodes     = 12
	sharedSet = "node[01-04]"   // partition batch
	contested = "node[05-06]"   // partitions low and high
	doomedSet = "node[07-10]"   // partition doomed: nodes die here
	hetSet    = "node[11-12]"   // partition het
	idleAfter = 4 * time.Minute // and anything else that surely comes
)

// cluster is a SLURM of this test alone.
type cluster struct {
	dir     string // everything of it; readable for the user who submits
	work    string // where jobs are submitted and their files are
	base    int    // the first of its ports
	user    account
	daemons map[string]*daemon
	token   string // for slurmrestd
	rest    string // its address
}

type account struct {
	name     string
	uid, gid uint32
}

type daemon struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// start brings up the whole cluster and registers its end.
func start(t *testing.T) *cluster {
	t.Helper()
	for _, p := range []string{"munged", "mariadbd", "slurmctld", "slurmd", "slurmdbd", "slurmrestd"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Fatalf("%s is not installed; run integration/slurm/prepare.sh first", p) // a skip would hide it in CI
		}
	}
	if os.Getuid() != 0 {
		t.Fatal("SLURM's daemons need root")
	}
	dir, err := os.MkdirTemp("", "faultline-slurm-") // short: paths of sockets are
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{dir: dir, work: filepath.Join(dir, "work"), user: lookup(t, "nobody"), daemons: map[string]*daemon{}}
	c.base = freePorts(t, nodes+5)
	c.rest = fmt.Sprintf("127.0.0.1:%d", c.port(portRest))
	t.Cleanup(func() { c.stop(t) })
	c.lay(t)

	begun := time.Now()
	munge := lookup(t, "munge")
	c.run(t, "munged", munge, nil, "munged", "--foreground", "--key-file="+c.path("munge/key"), "--socket="+c.path("munge/s"),
		"--pid-file="+c.path("munge/pid"), "--log-file="+c.path("munge/log"), "--seed-file="+c.path("munge/seed"))
	c.await(t, "munged", func() bool { return exists(c.path("munge/s")) })
	c.database(t)
	c.run(t, "slurmdbd", account{}, nil, "slurmdbd", "-D")
	c.await(t, "slurmdbd", func() bool { return listens(c.port(portDBD)) })
	c.must(t, "sacctmgr", "-i", "add", "cluster", clusterName)
	c.run(t, "slurmctld", account{}, nil, "slurmctld", "-D", "-c")
	for i := 1; i <= nodes; i++ {
		c.slurmd(t, nodeName(i))
	}
	c.await(t, "idle nodes", func() bool {
		out, err := c.try("sinfo", "-h", "-t", "idle", "-o", "%D")
		return err == nil && strings.TrimSpace(out) == strconv.Itoa(nodes)
	})
	for _, line := range strings.Fields(c.must(t, "scontrol", "token", "username="+c.user.name, "lifespan=3600")) {
		c.token = strings.TrimPrefix(line, "SLURM_JWT=")
	}
	c.run(t, "slurmrestd", c.user, []string{"SLURM_JWT=daemon"}, "slurmrestd", "-a", "rest_auth/jwt", c.rest)
	c.await(t, "slurmrestd", func() bool { return listens(c.port(portRest)) })
	t.Logf("%d nodes idle after %s, in %s", nodes, time.Since(begun).Round(10*time.Millisecond), c.dir)
	return c
}

func nodeName(i int) string { return fmt.Sprintf("node%02d", i) }

func (c *cluster) slurmd(t *testing.T, node string) {
	// What the daemon starts inherits the mark: that is how all processes of a node are found.
	c.run(t, node, account{}, []string{nodeMark + node}, "slurmd", "-D", "-N", node)
}

const nodeMark = "FAULTLINE_TEST_NODE="

// database prepares MariaDB's folder and starts it.
func (c *cluster) database(t *testing.T) {
	t.Helper()
	mysql := lookup(t, "mysql")
	install := c.command("mysql_install_db", "--no-defaults", "--user=mysql", "--datadir="+c.path("db/data"), "--skip-test-db", "--auth-root-authentication-method=normal")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("mysql_install_db: %v\n%s", err, out)
	}
	write(t, c.path("db/init.sql"), "CREATE DATABASE slurm_acct_db;\nCREATE USER slurm@'127.0.0.1' IDENTIFIED BY 'slurm';\nCREATE USER slurm@localhost IDENTIFIED BY 'slurm';\n"+
		"GRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1';\nGRANT ALL ON slurm_acct_db.* TO slurm@localhost;\n", 0o644)
	c.run(t, "mariadbd", mysql, nil, "mariadbd", "--no-defaults", "--datadir="+c.path("db/data"), "--socket="+c.path("db/s"), "--pid-file="+c.path("db/pid"),
		"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", c.port(portDB)), "--innodb-buffer-pool-size=128M", "--innodb-lock-wait-timeout=900", "--init-file="+c.path("db/init.sql"))
	c.await(t, "mariadbd", func() bool { return listens(c.port(portDB)) })
}

// run starts a daemon in the foreground, in a session of its own, as the given user (root if empty).
func (c *cluster) run(t *testing.T, name string, as account, env []string, args ...string) {
	t.Helper()
	log, err := os.Create(c.path("log/" + name + ".out"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := c.command(args[0], args[1:]...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if as.name != "" {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: as.uid, Gid: as.gid}
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	d := &daemon{cmd, make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended stands in its log
		close(d.done)
	}()
	c.daemons[name] = d
}

// end stops one daemon and waits for it.
func (c *cluster) end(name string, sig syscall.Signal) {
	d := c.daemons[name]
	if d == nil {
		return
	}
	_ = d.cmd.Process.Signal(sig) // it may have ended already
	select {
	case <-d.done:
	case <-time.After(10 * time.Second):
		_ = d.cmd.Process.Kill()
		<-d.done
	}
	delete(c.daemons, name)
}

// stop ends what start started, jobs first, and nothing else.
func (c *cluster) stop(t *testing.T) {
	if t.Failed() {
		c.showLogs(t)
	}
	if c.daemons["slurmctld"] != nil {
		_, _ = c.try("scancel", "--full", "--signal=KILL", "--user="+c.user.name)
	}
	for _, name := range []string{"slurmrestd", "slurmctld"} {
		c.end(name, syscall.SIGTERM)
	}
	for i := 1; i <= nodes; i++ {
		c.end(nodeName(i), syscall.SIGTERM)
		kill(c.processes(nodeName(i)))
	}
	for _, name := range []string{"slurmdbd", "mariadbd", "munged"} {
		c.end(name, syscall.SIGTERM)
	}
	if !t.Failed() || os.Getenv("FAULTLINE_KEEP") == "" {
		_ = os.RemoveAll(c.dir) // a folder in the system's temporary one
	}
}

// crash is a node that dies: its daemon, the daemons of its steps and all tasks at once, without a word.
func (c *cluster) crash(node string) {
	d := c.daemons[node]
	all := c.processes(node)
	if d != nil {
		all = append(all, d.cmd.Process.Pid)
	}
	kill(all)
	c.end(node, syscall.SIGKILL)
}

func kill(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
	}
}

// processes are those of a node of this cluster: they carry the daemon's mark or, as tasks do, SLURM's own name of the
// node, and in both cases the path of this cluster's configuration.
func (c *cluster) processes(node string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil {
			continue
		}
		ours, here := false, false
		for v := range bytes.SplitSeq(env, []byte{0}) {
			ours = ours || string(v) == "SLURM_CONF="+c.path("etc/slurm.conf")
			here = here || string(v) == nodeMark+node || string(v) == "SLURMD_NODENAME="+node
		}
		if ours && here {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

// command is a program with this cluster's configuration and nothing of a job that runs the tests.
func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.work
	cmd.Env = c.env()
	return cmd
}

func (c *cluster) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "SLURM_CONF=" + c.path("etc/slurm.conf"), "PROGRAMS=" + c.path("programs")}
}

// try runs a command of SLURM as root; must fails the test where it fails.
func (c *cluster) try(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.work
	cmd.Env = append(c.env(), "SLURM_TIME_FORMAT=%s")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w: %s%s", name, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out), nil
}

func (c *cluster) must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := c.try(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// await polls until ready, and fails the test with the daemons' logs if that takes too long.
func (c *cluster) await(t *testing.T, what string, ready func() bool) {
	t.Helper()
	gone := ""
	if !poll(idleAfter, func() bool { gone = c.fallen(); return gone != "" || ready() }) {
		t.Fatalf("no %s within %s", what, idleAfter)
	}
	if gone != "" {
		t.Fatalf("%s ended while waiting for %s", gone, what)
	}
}

// fallen names a daemon that has ended by itself, or "".
func (c *cluster) fallen() string {
	for name, d := range c.daemons {
		select {
		case <-d.done:
			return name
		default:
		}
	}
	return ""
}

func poll(limit time.Duration, ready func() bool) bool {
	const pause = 50 * time.Millisecond
	for end := time.Now().Add(limit); ; time.Sleep(pause) {
		if ready() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

func (c *cluster) showLogs(t *testing.T) {
	logs, _ := filepath.Glob(c.path("log/*"))
	for _, name := range logs {
		b, err := os.ReadFile(name)
		if err != nil || len(b) == 0 {
			continue
		}
		const most = 2000
		t.Logf("--- %s\n%s", filepath.Base(name), b[max(0, len(b)-most):])
	}
}

func lookup(t *testing.T, name string) account {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err1 != nil || err2 != nil {
		t.Fatalf("user %s has the ids %q, %q", name, u.Uid, u.Gid)
	}
	return account{name, uint32(uid), uint32(gid)}
}

// freePorts finds n ports in a row that nobody listens on.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	const first, last = 21000, 31000 // below the ports that the kernel gives out
	for base := first + os.Getpid()%97*n; base < last; base += n {
		free := true
		for p := base; free && p < base+n; p++ {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
			if free = err == nil; free {
				_ = l.Close()
			}
		}
		if free {
			return base
		}
	}
	t.Fatalf("no %d free ports in a row", n)
	return 0
}

func listens(port int) bool {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
