package preflight

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Limits below which a node is likely to fail a training job.
const (
	leastFiles  = 4096    // a process group opens some hundred sockets, a loader a file for each worker and shard
	leastShm    = 1 << 30 // workers of PyTorch's DataLoader hand batches over in it
	leastFree   = 8 << 30
	leastShare  = 0.5  // of a checkpoint's room: two must fit while one replaces the other
	hotShare    = 0.05 // of a GPU's memory in use before the job starts
	farClock    = 1.0  // seconds; logs of nodes are read side by side
	slowShare   = 0.5  // of the median rate between nodes
	slowWriting = 50 << 20
)

// Judge says what is wrong with the nodes of a job. expected are their names where somebody states them.
func Judge(all []Facts, expected []string, w Wants) []Finding {
	var out []Finding
	add := func(node string, l Level, check, fix, format string, args ...any) {
		out = append(out, Finding{Node: node, Level: l, Check: check, Text: fmt.Sprintf(format, args...), Fix: fix})
	}
	came := map[string]bool{}
	for i := range all {
		came[all[i].Node] = true
		if all[i].Lost {
			add(all[i].Node, Fail, "network", with("ping -M do -s 1400 ", all[i].Node), "connected, but its first long message did not arrive: the path may be losing large packets (MTU)")
			continue
		}
		alone(&all[i], w, func(l Level, check, fix, format string, args ...any) {
			add(all[i].Node, l, check, fix, format, args...)
		})
	}
	for _, n := range expected {
		if !came[n] {
			add(n, Fail, "rendezvous", with("scontrol show node ", n), "did not reach the rendezvous")
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(f Facts) bool { return f.Lost })
	for _, c := range slices.Concat(shared, versions(all)) {
		agree(all, c, add)
	}
	paths(all, w.Baseline.TCP, add)
	links(all, w.Baseline, add)
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Node, b.Node))
	})
	return out
}

// with is a command about something that a node states, "" where that could not be pasted into a shell as it stands.
func with(command, about string) string {
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("._/:@%+-", r)
	}
	if about == "" || about[0] == '-' || strings.ContainsFunc(about, func(r rune) bool { return !plain(r) }) {
		return ""
	}
	return command + about
}

type adder func(l Level, check, fix, format string, args ...any)

// alone judges what a node says of itself.
func alone(f *Facts, w Wants, add adder) {
	for _, p := range f.Slow {
		add(Fail, p, "", "did not respond within %s", ofProbe)
	}
	ofGPUs(f, w, add)
	if f.OpenFiles > 0 && f.OpenFiles < leastFiles {
		add(Warn, "open files", "ulimit -n 65536", "ulimit -n is %d", f.OpenFiles)
	}
	if active := slices.ContainsFunc(f.Ports, func(p Port) bool { return p.State == "ACTIVE" }); active && f.Locked > 0 && f.Locked < 1<<30 {
		add(Fail, "locked memory", "ulimit -l unlimited (limits.conf, or PropagateResourceLimits of SLURM)", "ulimit -l is %s: RDMA can't register memory", size(f.Locked))
	}
	if f.Shm > 0 && f.ShmFree < leastShm {
		add(Warn, "/dev/shm", "docker run --shm-size, or remove old segments", "%s of %s free: DataLoader workers need it", size(f.ShmFree), size(f.Shm))
	}
	if f.Memory > 2*leastFree && f.Free < leastFree {
		add(Warn, "memory", "look for processes left over from an earlier job: ps aux --sort=-rss | head", "%s of %s available", size(f.Free), size(f.Memory))
	}
	for _, p := range f.Ports {
		if p.State != "ACTIVE" {
			add(Warn, "port", with("ibstat ", p.Device), "%s port %s is %s", p.Device, p.Port, p.State)
		}
	}
	for _, d := range f.Dirs {
		ofDir(d, w, add)
	}
	for _, n := range f.Names {
		if n.Trouble != "" {
			add(Fail, "name resolution", with("getent hosts ", n.Name), "%s: %s", n.Name, n.Trouble)
		}
		if n.Name == f.Node && onlyLoopback(n.Addrs) && f.Over != "" && f.Over != "lo" {
			add(Warn, "name resolution", "export GLOO_SOCKET_IFNAME="+f.Over+", or fix /etc/hosts", "resolves its own name to %s: Gloo may tell the other nodes to connect there", n.Addrs[0])
		}
	}
	for _, l := range f.Libraries {
		level := Fail
		if l.Implied {
			level = Warn
		}
		if l.Trouble != "" {
			add(level, "library", with("ldconfig -p | grep ", l.Name), "%s: %s", l.Name, l.Trouble)
		}
	}
	if f.Taken != "" {
		add(Fail, "rendezvous port", with("ss -ltnp sport = :", f.Env["MASTER_PORT"]), "cannot open MASTER_PORT %s: %s", f.Env["MASTER_PORT"], f.Taken)
	}
	if f.Unreached != "" {
		add(Fail, "rendezvous port", with("curl -v telnet://", f.rendezvous()), "cannot reach %s: %s", f.rendezvous(), f.Unreached)
	}
	if off := max(f.Offset, -f.Offset) - f.Unsure; off > farClock {
		add(Warn, "clock", "chronyc tracking", "%.1f s off the first node's", -f.Offset)
	}
	for _, i := range f.Interfaces {
		if w.MTU > 0 && i.MTU < w.MTU && i.MTU > 0 && i.Name != "lo" {
			add(Warn, "MTU", with("ip link show ", i.Name), "%s has an MTU of %d, below %d", i.Name, i.MTU, w.MTU)
		}
	}
}

func ofGPUs(f *Facts, w Wants, add adder) {
	if f.GPUTrouble != "" {
		add(Fail, "GPU", "nvidia-smi; dmesg | grep -i xid", "%s", f.GPUTrouble)
		return
	}
	if w.GPUs > 0 && len(f.GPUs) != w.GPUs {
		add(Fail, "GPU", "nvidia-smi -L; dmesg | grep -i xid", "%d of %d GPUs", len(f.GPUs), w.GPUs)
	}
	for _, g := range f.GPUs {
		if g.Memory > 0 && float64(g.Used) > hotShare*float64(g.Memory)+1024 {
			add(Warn, "GPU memory", "nvidia-smi --query-compute-apps=pid,used_memory --format=csv", "GPU %d has %d of %d MiB in use before the job starts", g.Index, g.Used, g.Memory)
		}
		if g.Slowdown != "" {
			add(Warn, "GPU clock", "nvidia-smi -q -d PERFORMANCE -i "+strconv.Itoa(g.Index), "GPU %d is throttled: %s", g.Index, g.Slowdown)
		}
	}
}

func ofDir(d Dir, w Wants, add adder) {
	use := "read"
	if d.Write {
		use = "write"
	}
	switch {
	case d.Trouble != "":
		add(Fail, "directory", with("ls -ld ", d.Path), "cannot %s %s: %s", use, d.Path, d.Trouble)
	case d.Write && w.Checkpoint > 0 && float64(d.Free) < float64(w.Checkpoint)*(1+leastShare):
		add(Fail, "directory", with("df -h ", d.Path), "%s free in %s: a checkpoint needs %s", size(d.Free), d.Path, size(w.Checkpoint))
	case d.Write && d.Rate > 0 && d.Rate < slowWriting:
		add(Warn, "directory", "", "%s writes at only %s/s", d.Path, size(int64(d.Rate)))
	}
}

// common is something in which all nodes should be alike.
type common struct {
	check string
	level Level
	of    func(*Facts) string
	unset bool // "" is a value; else it is not known
}

var shared = []common{
	{"driver", Fail, func(f *Facts) string {
		if len(f.GPUs) == 0 {
			return ""
		}
		return f.GPUs[0].Driver
	}, false},
	{"GPU model", Fail, func(f *Facts) string {
		if len(f.GPUs) == 0 {
			return ""
		}
		return f.GPUs[0].Name
	}, false},
	{"number of GPUs", Fail, func(f *Facts) string {
		if f.GPUTrouble != "" {
			return ""
		}
		return strconv.Itoa(len(f.GPUs))
	}, false},
	{"kernel", Warn, func(f *Facts) string { return f.Kernel }, false},
	{"libc", Warn, func(f *Facts) string { return f.Libc }, false},
	{"MTU", Warn, func(f *Facts) string {
		if f.MTU == 0 {
			return ""
		}
		return strconv.Itoa(f.MTU)
	}, false},
	{"active ports", Warn, func(f *Facts) string {
		n := 0
		for _, p := range f.Ports {
			if p.State == "ACTIVE" {
				n++
			}
		}
		if len(f.Ports) == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}, false},
	variable("MASTER_ADDR"), variable("MASTER_PORT"), variable("WORLD_SIZE"), variable("NNODES"),
	variable("NCCL_SOCKET_IFNAME"), variable("NCCL_IB_HCA"), variable("NCCL_IB_DISABLE"), variable("NCCL_ALGO"), variable("NCCL_PROTO"), variable("NCCL_NET"),
}

// versions are the libraries whose version is told.
func versions(all []Facts) (list []common) {
	var names []string
	for i := range all {
		for _, l := range all[i].Libraries {
			names = append(names, l.Name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		list = append(list, common{name, Fail, func(f *Facts) string {
			for _, l := range f.Libraries {
				if l.Name == name && l.Trouble == "" {
					return l.Version
				}
			}
			return ""
		}, false})
	}
	return list
}

func onlyLoopback(addrs []string) bool {
	return len(addrs) > 0 && !slices.ContainsFunc(addrs, func(a string) bool { return !net.ParseIP(a).IsLoopback() })
}

func variable(name string) common {
	return common{name, Fail, func(f *Facts) string { return f.Env[name] }, true}
}

// agree names the nodes that differ from most. Where no value has a majority nobody is named.
func agree(all []Facts, c common, add func(node string, l Level, check, fix, format string, args ...any)) {
	by := map[string][]string{}
	known := 0
	for i := range all {
		if v := c.of(&all[i]); v != "" || c.unset {
			by[v] = append(by[v], all[i].Node)
			known++
		}
	}
	if len(by) < 2 {
		return
	}
	var values []string
	for v := range by {
		values = append(values, v)
	}
	slices.SortFunc(values, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(by[b]), len(by[a])), cmp.Compare(a, b))
	})
	if usual := by[values[0]]; 2*len(usual) > known {
		for _, v := range values[1:] {
			for _, n := range by[v] {
				add(n, c.level, c.check, "", "%s, and %s on %d other nodes", named(v), named(values[0]), len(usual))
			}
		}
		return
	}
	var parts []string
	for _, v := range values {
		parts = append(parts, fmt.Sprintf("%s on %d", named(v), len(by[v])))
	}
	add("", c.level, c.check, "", "the nodes differ: %s", strings.Join(parts[:min(4, len(parts))], ", "))
}

func named(v string) string {
	if v == "" {
		return "not set"
	}
	return v
}

// slowest are the nodes that send slower than least, or far slower than most, and the rate of most (0 of fewer than three). A node is
// held to the least that is sure of the others, and the most that is possible of itself.
func slowest(all []Facts, least float64) (slow []int, median float64) {
	median = middle(all, func(f *Facts) float64 { return f.Rate })
	for i := range all {
		if f := &all[i]; f.Rate > 0 && max(f.Rate, f.Best) < max(least, slowShare*median) {
			slow = append(slow, i)
		}
	}
	return slow, median
}

// paths names nodes whose data arrives slowly or not at all. Nodes send in a ring: where two paths in a row are bad, the node between
// them is.
func paths(all []Facts, least float64, add func(node string, l Level, check, fix, format string, args ...any)) {
	slow, median := slowest(all, least)
	at := map[string]int{}
	bad := map[int]string{}
	for i := range all {
		at[all[i].Node] = i
		if all[i].Broken != "" {
			bad[i] = "cannot send to %s: " + all[i].Broken
		}
	}
	for _, i := range slow {
		usual := fmt.Sprintf("most nodes reach %s/s", size(int64(median)))
		if max(all[i].Rate, all[i].Best) >= slowShare*median {
			usual = "the baseline is " + gigabytes(least)
		}
		bad[i] = fmt.Sprintf("sends %s/s to %%s; %s", size(int64(all[i].Rate)), usual)
	}
	before := map[int]int{} // of a node, the bad path to it
	for i := range bad {
		if to, ok := at[all[i].To]; ok {
			before[to] = i
		}
	}
	between := func(i int) (from int, ok bool) {
		from, ok = before[i]
		_, further := before[from]
		_, next := bad[at[all[i].To]]
		return from, ok && bad[i] != "" && !further && !next && len(all) > 2
	}
	for i := range all {
		f := &all[i]
		text := strings.Replace(bad[i], "%s", f.To, 1)
		if text == "" {
			continue
		}
		if to, ok := at[f.To]; ok {
			if _, ok := between(to); ok {
				continue // said of the node between
			}
		}
		fix := with("ping -M do -s 1400 ", f.To)
		if f.Broken == "" {
			fix = "find out which end is at fault with bot isolate --for link"
		}
		if from, ok := between(i); ok {
			text += ", and " + all[from].Node + " " + strings.Replace(bad[from], "%s", "it", 1)
		}
		add(f.Node, Fail, "network", fix, "%s", text)
	}
}

func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
