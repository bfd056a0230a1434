//go:build realais

package ais

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

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

// done does something once, and leaves it as it is.
func done(what func(t *testing.T, c *cluster)) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		what(t, c)
		return func() {}
	}
}

// asked is one request of an administrator.
func asked(method, path, body string) func(*testing.T, *cluster) func() {
	return done(func(t *testing.T, c *cluster) { c.admin(t, method, path, body) })
}

const ofBucket = "/v1/buckets/" + bucket + "?provider=ais"

// leaves takes the third target out of service by one of the ways there are.
func leaves(action string) func(*testing.T, *cluster) func() {
	return asked(http.MethodPut, "/v1/cluster", fmt.Sprintf(`{"action":%q,"value":{"sid":%q,"skip_rebalance":true}}`, action, targetID(3)))
}

// evicts drops a cluster's copies of a range of objects, which come from behind it when they are read again.
func evicts(t *testing.T, c *cluster) {
	t.Helper()
	c.admin(t, http.MethodDelete, c.ofBucket(), `{"action":"evict-listrange","value":{"template":"shard-{00060..00199}.tar"}}`)
	await(t, soon, "the eviction", func() bool { return !c.holds(t, object(60)) && !c.holds(t, object(199)) })
}

// holds says that a copy of an object lies on a disk.
func (c *cluster) holds(t *testing.T, object string) bool {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(c.dir, "*", "mp*", "*", "*", "*", "*", object))
	if err != nil {
		t.Error(err)
	}
	return len(found) > 0
}

// behind does something to the cluster behind one whose copies are gone; what it returns undoes it.
func behind(what func(t *testing.T, c *cluster) func()) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		evicts(t, c)
		return what(t, c.backend)
	}
}

// every does one thing to each daemon of a cluster.
func every(do func(id string) func(*testing.T, *cluster) func()) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		var undo []func()
		for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
			undo = append(undo, do(id)(t, c))
		}
		return func() {
			for _, f := range undo {
				f()
			}
		}
	}
}

// loses takes a mountpath of the third target away.
func loses(method, action string) func(*testing.T, *cluster) func() {
	return done(func(t *testing.T, c *cluster) {
		body := fmt.Sprintf(`{"action":%q,"value":%q}`, action, c.mountpath(targetID(3), 1))
		if _, err := c.ask(method, "/v1/reverse/daemon/mountpaths?dntres=true", targetID(3), body); err != nil {
			t.Error(err)
		}
	})
}

// deletes takes objects out of the bucket.
func deletes(value string) func(*testing.T, *cluster) func() {
	return asked(http.MethodDelete, ofBucket, `{"action":"delete-listrange","value":`+value+`}`)
}

// listed are objects by their names.
func listed(from, to int) string {
	var list []string
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf("%q", object(i)))
	}
	return `{"objnames":[` + strings.Join(list, ",") + `]}`
}

// frozen stops a daemon for a time; what it returns waits until it is there again.
func frozen(id string, lasts time.Duration) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		p := c.nodes[id].cmd.Process
		_ = p.Signal(syscall.SIGSTOP)
		thawed := make(chan struct{})
		go func() {
			defer close(thawed)
			time.Sleep(lasts)
			_ = p.Signal(syscall.SIGCONT)
		}()
		return func() {
			<-thawed
			c.returns(t, id)
			time.Sleep(12 * time.Second)
		}
	}
}

// gone ends a daemon, which comes back when somebody starts it.
func gone(id string, sig syscall.Signal) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		c.end(id, sig)
		return func() { c.run(t, id); c.returns(t, id) }
	}
}

// restarted stops targets and starts them anew, one after the other, as an upgrade does.
func restarted(down time.Duration, ids ...string) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			for _, id := range ids {
				c.end(id, syscall.SIGTERM)
				time.Sleep(down)
				c.run(t, id)
				time.Sleep(6 * time.Second)
			}
		}()
		return func() { <-finished; c.returns(t, ids...) }
	}
}

// returns waits until daemons are members of the cluster.
func (c *cluster) returns(t *testing.T, ids ...string) {
	t.Helper()
	await(t, soon, "their return", func() bool {
		return c.ready() && !slices.ContainsFunc(ids, func(id string) bool { return !c.has(t, id) })
	})
}

// crowd are others who read as fast as a machine allows that has more to do; what it returns ends them.
func (c *cluster) crowd() func() {
	end := make(chan struct{})
	for k := range 4 {
		go func() {
			for i := k; ; i++ {
				select {
				case <-end:
					return
				case <-time.After(10 * time.Millisecond):
					_, _ = c.ask(http.MethodGet, c.ofObject(object(i%dataset)), "", "")
				}
			}
		}()
	}
	return func() { close(end) }
}

// cut drops what is sent to a target: its own requests of others still go out.
func cut(t *testing.T, c *cluster) func() {
	table := fmt.Sprintf("cut%d", c.base)
	ports := fmt.Sprintf("{ %d, %d, %d }", c.port(3, 0), c.port(3, 1), c.port(3, 2))
	command(t, "nft", fmt.Sprintf("add table ip %[1]s; add chain ip %[1]s in { type filter hook input priority 0 ; }; add rule ip %[1]s in tcp dport %[2]s drop", table, ports))
	return func() {
		command(t, "nft", "delete table ip "+table)
		c.returns(t, targetID(3))
		time.Sleep(12 * time.Second)
	}
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
}

// stuck is a disk that takes no more writes, as when its controller hangs.
func stuck(id string) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		command(t, "fsfreeze", "-f", c.mountpath(id, 1))
		return func() {
			command(t, "fsfreeze", "-u", c.mountpath(id, 1))
			time.Sleep(12 * time.Second)
		}
	}
}

// throttled lets a target read next to nothing from its disk, which holds what it has to give and not in memory any more.
func throttled(id string) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		const groups = "/sys/fs/cgroup/blkio"
		group, pid := filepath.Join(groups, fmt.Sprintf("faultline-%d", c.base)), fmt.Sprint(c.nodes[id].cmd.Process.Pid)
		var st syscall.Stat_t
		if err := syscall.Stat(c.mountpath(id, 1), &st); err != nil {
			t.Error(err)
		}
		folder(t, group)
		put(t, filepath.Join(group, "blkio.throttle.read_bps_device"), fmt.Sprintf("%d:%d 8192", st.Dev>>8&0xfff, st.Dev&0xff))
		put(t, filepath.Join(group, "cgroup.procs"), pid)
		c.eachObject(t, id, func(name string) {
			f, err := os.Open(name)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			const dontNeed = 4
			if err := f.Sync(); err != nil {
				t.Error(err)
			}
			_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0)
		})
		return func() {
			put(t, filepath.Join(groups, "cgroup.procs"), pid)
			if err := syscall.Rmdir(group); err != nil {
				t.Error(err)
			}
			time.Sleep(12 * time.Second)
		}
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0); err != nil {
		t.Error(err)
	}
}

// eachObject calls for each file that holds an object of a target.
func (c *cluster) eachObject(t *testing.T, id string, do func(name string)) {
	t.Helper()
	n := 0
	for mp := range 2 {
		err := filepath.WalkDir(c.mountpath(id, mp+1), func(name string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && strings.Contains(e.Name(), "shard-") {
				do(name)
				n++
			}
			return nil // what is not there holds none
		})
		if err != nil {
			t.Error(err)
		}
	}
	if n == 0 {
		t.Errorf("%s holds no objects", id)
	}
}

// fillLog leaves no room where a daemon writes its log.
func (c *cluster) fillLog(t *testing.T, id string) {
	t.Helper()
	f, err := os.Create(filepath.Join(c.nodes[id].dir, "log", "another"))
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
}

// slowed lets next to nothing of what a target answers through, as a bad cable does.
func slowed(id string) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		i := slices.Index([]string{targetID(1), targetID(2), targetID(3)}, id) + 1
		table := fmt.Sprintf("slow%d", c.base)
		ports := fmt.Sprintf("{ %d, %d, %d }", c.port(i, 0), c.port(i, 1), c.port(i, 2))
		command(t, "nft", fmt.Sprintf("add table ip %[1]s; add chain ip %[1]s in { type filter hook input priority 0 ; }; add rule ip %[1]s in tcp sport %[2]s limit rate over 4 kbytes/second drop", table, ports))
		return func() {
			command(t, "nft", "delete table ip "+table)
			time.Sleep(12 * time.Second)
		}
	}
}

// partitioned drops what other targets send to one of them: clients and proxies still reach it.
func partitioned(i int) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		table := fmt.Sprintf("part%d", c.base)
		command(t, "nft", fmt.Sprintf("add table ip %[1]s; add chain ip %[1]s in { type filter hook input priority 0 ; }; add rule ip %[1]s in tcp dport %[2]d drop", table, c.port(i, 2)))
		return func() {
			command(t, "nft", "delete table ip "+table)
			time.Sleep(12 * time.Second)
		}
	}
}

// starved leaves a daemon next to no processor.
func starved(id string) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		const groups = "/sys/fs/cgroup/cpu"
		group, pid := filepath.Join(groups, fmt.Sprintf("faultline-%d", c.base)), fmt.Sprint(c.nodes[id].cmd.Process.Pid)
		folder(t, group)
		put(t, filepath.Join(group, "cpu.cfs_period_us"), "1000000")
		put(t, filepath.Join(group, "cpu.cfs_quota_us"), "1000")
		put(t, filepath.Join(group, "cgroup.procs"), pid)
		return func() {
			put(t, filepath.Join(groups, "cgroup.procs"), pid)
			if err := syscall.Rmdir(group); err != nil {
				t.Error(err)
			}
			time.Sleep(12 * time.Second)
		}
	}
}

// descriptors leaves a daemon only so many open files.
func descriptors(id string, most int) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		pid := fmt.Sprint(c.nodes[id].cmd.Process.Pid)
		command(t, "prlimit", "--pid", pid, fmt.Sprintf("--nofile=%d:4096", most))
		return func() {
			command(t, "prlimit", "--pid", pid, "--nofile=4096:4096")
			time.Sleep(12 * time.Second)
		}
	}
}

// readOnly is what a kernel makes of a disk whose file system has an error.
func readOnly(id string) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		remount := func(how uintptr) {
			if err := syscall.Mount("", c.mountpath(id, 1), "", syscall.MS_REMOUNT|how, ""); err != nil {
				t.Error(err)
			}
		}
		until := time.Now().Add(20 * time.Second)
		for err := syscall.EBUSY; err == syscall.EBUSY && time.Now().Before(until); time.Sleep(50 * time.Millisecond) { // while a file is being written
			if e := syscall.Mount("", c.mountpath(id, 1), "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); e == nil {
				err = 0
			} else {
				err, _ = e.(syscall.Errno)
			}
		}
		return func() {
			remount(0)
			time.Sleep(12 * time.Second)
		}
	}
}

// takeInodes makes empty files until a disk takes no more of them.
func (c *cluster) takeInodes(t *testing.T, id string) {
	t.Helper()
	dir := filepath.Join(c.mountpath(id, 1), "another-tenant")
	folder(t, dir)
	for i := range 1 << 20 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			return
		}
		f.Close()
	}
	t.Error("there are inodes left")
}
