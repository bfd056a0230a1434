package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// sound is a node without a fault.
func sound(name string) Facts {
	f := Facts{Node: name, Kernel: "6.8.0", CPUs: 96, Memory: 1 << 40, Free: 900 << 30, Shm: 512 << 30, ShmFree: 512 << 30, OpenFiles: 1 << 20, Locked: -1,
		Env: map[string]string{"MASTER_ADDR": "cn01", "WORLD_SIZE": "32"}, Ports: []Port{{"mlx5_0", "1", "ACTIVE", "400 Gb/sec (4X NDR)"}},
		Interfaces: []Interface{{"ib0", 4092}}, Dirs: []Dir{{Path: "/ckpt", Write: true, Free: 10 << 40, Rate: 1 << 30}}, To: "next", Rate: 20e9, Bus: []Measure{{256 << 20, 800e9}}, RDMA: 46e9}
	for i := range 8 {
		f.GPUs = append(f.GPUs, GPU{Index: i, Name: "NVIDIA H100 80GB HBM3", Driver: "550.90.07", Memory: 81559, Used: 4, Clock: 1980, MostClock: 1980})
	}
	return f
}

func cluster(change func(*Facts)) (all []Facts) {
	for i := range 4 {
		f := sound(fmt.Sprintf("cn%02d", i+1))
		if i == 2 && change != nil {
			change(&f)
		}
		all = append(all, f)
	}
	return all
}

var four = []string{"cn01", "cn02", "cn03", "cn04"}

func TestSoundNodesAreNotComplainedOf(t *testing.T) {
	if got := Judge(cluster(nil), four, Wants{GPUs: 8, Checkpoint: 1 << 40, MTU: 4092}); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	odd := []Facts{{Node: "a"}, {Node: "b"}} // where nothing could be read, nothing is claimed
	if got := Judge(odd, nil, Wants{}); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsWrongIsFoundOnItsNode(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Facts)
		level  Level
		text   string
	}{
		{"a GPU less", func(f *Facts) { f.GPUs = f.GPUs[:7] }, Fail, "7 of 8 GPUs"},
		{"no answer of the driver", func(f *Facts) { f.GPUs, f.GPUTrouble = nil, "nvidia-smi: No devices were found" }, Fail, "No devices were found"},
		{"another driver", func(f *Facts) { f.GPUs[0].Driver = "535.1" }, Fail, "535.1, and 550.90.07 on 3 other nodes"},
		{"memory of an earlier job", func(f *Facts) { f.GPUs[3].Used = 70000 }, Warn, "GPU 3 has 70000 of 81559 MiB in use"},
		{"heat", func(f *Facts) { f.GPUs[1].Slowdown = "heat" }, Warn, "GPU 1 is throttled: heat"},
		{"a port that is down", func(f *Facts) { f.Ports[0].State = "DOWN" }, Warn, "mlx5_0 port 1 is DOWN"},
		{"locked memory", func(f *Facts) { f.Locked = 64 << 10 }, Fail, "ulimit -l is 64.0 KiB"},
		{"open files", func(f *Facts) { f.OpenFiles = 1024 }, Warn, "ulimit -n is 1024"},
		{"shared memory", func(f *Facts) { f.Shm, f.ShmFree = 64<<20, 64<<20 }, Warn, "64.0 MiB of 64.0 MiB free"},
		{"host memory", func(f *Facts) { f.Free = 1 << 30 }, Warn, "1.0 GiB of 1.0 TiB available"},
		{"a full disk", func(f *Facts) { f.Dirs[0].Free = 1 << 30 }, Fail, "1.0 GiB free in /ckpt: a checkpoint needs 1.0 TiB"},
		{"a directory that refuses", func(f *Facts) { f.Dirs[0].Trouble = "permission denied" }, Fail, "cannot write /ckpt: permission denied"},
		{"a slow directory", func(f *Facts) { f.Dirs[0].Rate = 5 << 20 }, Warn, "/ckpt writes at only 5.0 MiB/s"},
		{"a name", func(f *Facts) { f.Names = []Lookup{{Name: "cn01", Trouble: "no such host"}} }, Fail, "cn01: no such host"},
		{"a variable", func(f *Facts) { f.Env["MASTER_ADDR"] = "cn09" }, Fail, "cn09, and cn01 on 3 other nodes"},
		{"a variable that is missing", func(f *Facts) { delete(f.Env, "WORLD_SIZE") }, Fail, "not set, and 32 on 3 other nodes"},
		{"a clock", func(f *Facts) { f.Offset, f.Unsure = 12, 0.01 }, Warn, "-12.0 s off the first node's"},
		{"a slow network", func(f *Facts) { f.Rate = 2e9 }, Fail, "sends 1.9 GiB/s to next; most nodes reach 18.6 GiB/s"},
		{"slower than the baseline", func(f *Facts) { f.Rate, f.Best = 11e9, 11e9 }, Fail, "sends 10.2 GiB/s to next; the baseline is 12 GB/s"},
		{"slow links of GPUs", func(f *Facts) { f.Bus = []Measure{{1 << 20, 9e9}, {256 << 20, 90e9}} }, Fail, "reaches 9 GB/s at 1.0 MiB, 90 GB/s at 256.0 MiB; the baseline is 300 GB/s"},
		{"links of GPUs below most", func(f *Facts) { f.Bus = []Measure{{256 << 20, 310e9}} }, Fail, "most nodes reach 800 GB/s"},
		{"slow RDMA", func(f *Facts) { f.RDMA = 20e9 }, Fail, "writes 20 GB/s to next over RDMA; the baseline is 40 GB/s"},
		{"RDMA that fails", func(f *Facts) { f.RDMA, f.RDMATrouble = 0, "ib_write_bw: Failed status 12" }, Warn, "not measured: ib_write_bw: Failed status 12"},
		{"no network", func(f *Facts) { f.Rate, f.Broken = 0, "connection refused" }, Fail, "cannot send to next: connection refused"},
		{"a small MTU", func(f *Facts) { f.Interfaces[0].MTU = 1500 }, Warn, "ib0 has an MTU of 1500, below 4092"},
		{"a probe that hangs", func(f *Facts) { f.Slow = []string{"writing /ckpt"} }, Fail, "did not respond within 20s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(cluster(c.change), four, Wants{GPUs: 8, Checkpoint: 1 << 40, MTU: 4092, Baseline: Baseline{TCP: 12e9, Bus: 300e9, RDMA: 40e9}})
			at := slices.IndexFunc(got, func(f Finding) bool { return f.Level == c.level && strings.Contains(f.Text, c.text) })
			if at < 0 {
				t.Fatalf("%+v, expected %q", got, c.text)
			}
			for _, f := range got {
				if f.Node != "cn03" {
					t.Errorf("%s is blamed: %s", f.Node, f.Text)
				}
			}
		})
	}
}

func TestNoCommandHoldsWhatCouldRunInAShell(t *testing.T) {
	for _, hostile := range []string{"cn01; reboot", "$(reboot)", "-rf", "a b", "`x`", "cn01\nreboot"} {
		got := Judge(cluster(func(f *Facts) {
			f.To, f.Rate, f.Broken = hostile, 0, "refused"
			f.Names = []Lookup{{Name: hostile, Trouble: "no such host"}}
			f.Dirs = []Dir{{Path: hostile, Trouble: "refused"}}
			f.Ports[0] = Port{Device: hostile, Port: "1", State: "DOWN"}
		}), four, Wants{})
		for _, f := range got {
			if strings.Contains(f.Fix, hostile) {
				t.Errorf("%s: %q", f.Check, f.Fix)
			}
		}
	}
}

func TestWithoutAMajorityNobodyIsNamed(t *testing.T) {
	all := cluster(nil)
	all[0].Env["NCCL_ALGO"], all[1].Env["NCCL_ALGO"] = "Ring", "Ring"
	got := Judge(all, four, Wants{})
	if len(got) != 1 || got[0].Node != "" || !strings.Contains(got[0].Text, "the nodes differ") {
		t.Errorf("%+v", got)
	}
}

func TestANodeThatDoesNotComeIsNamed(t *testing.T) {
	got := Judge(cluster(nil)[:3], four, Wants{})
	if len(got) != 1 || got[0].Node != "cn04" || got[0].Level != Fail {
		t.Errorf("%+v", got)
	}
}

// rehearse holds a meeting on this machine.
func rehearse(t *testing.T, m Meeting, names []string, spoil func(*Facts)) ([]Facts, []Finding, map[string]*End) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.Addr = l.Addr().String()
	type heard struct {
		name string
		end  *End
	}
	ends := make(chan heard, len(names))
	for _, n := range names[1:] {
		go func() {
			f := sound(n)
			if spoil != nil {
				spoil(&f)
			}
			end, err := m.Join(t.Context(), f)
			if err != nil {
				t.Errorf("%s: %v", n, err)
			}
			ends <- heard{n, end}
		}()
	}
	all, findings, err := m.Lead(t.Context(), l, sound(names[0]), func(all []Facts) []Finding { return Judge(all, four, Wants{}) })
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]*End{}
	for range names[1:] {
		h := <-ends
		told[h.name] = h.end
	}
	return all, findings, told
}

func TestNodesMeetAndSendToEachOther(t *testing.T) {
	all, findings, told := rehearse(t, Meeting{Token: "job 7", Nodes: 4, Wait: 20 * time.Second, Send: 200 * time.Millisecond}, four, nil)
	if len(all) != 4 || len(told) != 4-1 {
		t.Fatalf("%d came, %d were told", len(all), len(told))
	}
	for _, f := range all {
		if f.Rate == 0 || f.Broken != "" || f.To == "" || f.To == f.Node {
			t.Errorf("%s sent %.0f to %q: %s", f.Node, f.Rate, f.To, f.Broken)
		}
	}
	for _, f := range findings {
		if f.Check != "network" { // nothing is promised of how fast this machine is
			t.Errorf("%+v", f)
		}
	}
}

func TestWhoDoesNotComeIsWaitedForAndNamed(t *testing.T) {
	began := time.Now()
	_, findings, told := rehearse(t, Meeting{Token: "job 7", Nodes: 4, Wait: time.Second}, four[:3], nil)
	if time.Since(began) > 15*time.Second {
		t.Error("it waited too long")
	}
	if len(findings) != 1 || findings[0].Node != "cn04" {
		t.Errorf("%+v", findings)
	}
	for name, end := range told {
		if end == nil || end.Fails != 1 || len(end.Findings) != 0 {
			t.Errorf("%s was told %+v", name, end)
		}
	}
}

func TestANodeHearsWhatIsWrongWithIt(t *testing.T) {
	_, _, told := rehearse(t, Meeting{Token: "job 7", Nodes: 4, Wait: 20 * time.Second}, four, func(f *Facts) {
		if f.Node == "cn02" {
			f.Env["WORLD_SIZE"] = "31"
		}
	})
	if e := told["cn02"]; e == nil || e.Fails != 1 || len(e.Findings) != 1 {
		t.Errorf("%+v", e)
	}
}

func TestStrangersAreTurnedAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := Meeting{Addr: l.Addr().String(), Token: "job 7", Nodes: 2, Wait: time.Second}
	go func() {
		other := m
		other.Token = "job 8"
		_, _ = other.Join(t.Context(), sound("cn02"))
	}()
	go func() {
		conn, err := net.Dial("tcp", m.Addr)
		if err != nil {
			return
		}
		defer conn.Close()
		for range 1000 {
			if _, err := conn.Write([]byte(strings.Repeat("{", 1024))); err != nil {
				return
			}
		}
	}()
	all, _, err := m.Lead(t.Context(), l, sound("cn01"), func(all []Facts) []Finding { return nil })
	if err != nil || len(all) != 1 {
		t.Errorf("%d came, %v", len(all), err)
	}
}

func TestThisMachineIsRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shard-0"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := Gather(t.Context(), Options{Node: "localhost", Read: []string{dir, filepath.Join(dir, "none")}, Write: []string{dir}, Trial: 1 << 20, SMI: "no-such-program"})
	if f.Memory == 0 || f.Free == 0 || f.OpenFiles == 0 || f.Kernel == "" {
		t.Errorf("%+v", f)
	}
	if len(f.Dirs) != 3 || f.Dirs[0].Trouble != "" && f.Dirs[1].Trouble != "" || f.Dirs[2].Trouble == "" {
		t.Errorf("%+v", f.Dirs)
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".faultline*"))
	if len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	if _, err := json.Marshal(f); err != nil {
		t.Error(err)
	}
}

// A program that hangs, as nvidia-smi does beside a broken GPU, is named and left behind.
func TestAProbeThatHangsIsLeftBehind(t *testing.T) {
	smi := filepath.Join(t.TempDir(), "smi")
	if err := os.WriteFile(smi, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	f := Gather(ctx, Options{Node: "localhost", SMI: smi})
	if f.GPUTrouble == "" && !slices.Contains(f.Slow, "nvidia-smi") {
		t.Errorf("%+v", f)
	}
}

func TestGPUsAreRead(t *testing.T) {
	got := readGPUs([]byte("0, NVIDIA H100 80GB HBM3, 550.90.07, 81559, 4, 1980, 1980, Not Active, Not Active\n1, NVIDIA H100 80GB HBM3, 550.90.07, 81559, 4, 345, 1980, Active, Not Active\nNo devices were found\n"))
	if len(got) != 2 || got[1].Slowdown == "" || got[0].Slowdown != "" || got[1].Memory != 81559 {
		t.Errorf("%+v", got)
	}
}

// In a ring each path has two ends. Two bad paths in a row have one in common.
func TestTheNodeBetweenTwoBadPathsIsNamed(t *testing.T) {
	ring := func(rates ...float64) []Facts {
		all := cluster(nil)
		for i := range all {
			all[i].To, all[i].Rate = all[(i+1)%len(all)].Node, rates[i]
			if rates[i] == 0 {
				all[i].Broken = "connection refused"
			}
		}
		return all
	}
	for _, c := range []struct {
		name  string
		rates []float64
		want  []string
	}{
		{"one path", []float64{9e9, 9e9, 1e9, 9e9}, []string{"cn03: sends 953.7 MiB/s to cn04"}},
		{"both of cn03", []float64{9e9, 1e9, 2e9, 9e9}, []string{"cn03: sends 1.9 GiB/s to cn04; most nodes reach 8.4 GiB/s, and cn02 sends 953.7 MiB/s to it"}},
		{"nothing from and to cn01", []float64{0, 9e9, 9e9, 0}, []string{"cn01: cannot send to cn02: connection refused, and cn04 cannot send to it"}},
		{"three in a row", []float64{0, 0, 0, 9e9}, []string{"cn01: cannot", "cn02: cannot", "cn03: cannot"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(ring(c.rates...), four, Wants{})
			if len(got) != len(c.want) {
				t.Fatalf("%+v", got)
			}
			for i, f := range got {
				if !strings.HasPrefix(f.Node+": "+f.Text, c.want[i]) {
					t.Errorf("%s: %s, want %s", f.Node, f.Text, c.want[i])
				}
			}
		})
	}
}

// Facts that never arrive are a sign of their own: the short greeting did.
func TestANodeWhoseFactsAreLostIsNamed(t *testing.T) {
	all := cluster(nil)
	all[3] = Facts{Node: "cn04", Lost: true}
	got := Judge(all, four, Wants{GPUs: 8})
	if len(got) != 1 || got[0].Node != "cn04" || !strings.Contains(got[0].Text, "large packets") {
		t.Errorf("%+v", got)
	}
}

// A node that is slow once, as beside a backup, is measured again.
func TestASlowNodeIsMeasuredTwice(t *testing.T) {
	f := Facts{Node: "cn01"}
	f.note(order{To: "cn02"}, done{Rate: 1})
	f.note(order{To: "cn02"}, done{Rate: 9})
	if f.Rate != 9 {
		t.Errorf("%+v", f)
	}
	all := cluster(nil)
	all[2].Rate = 1
	if slow, _ := slowest(all, 0); len(slow) != 1 || slow[0] != 2 {
		t.Errorf("%v", slow)
	}
	all[2].Best = all[0].Rate // its program was not given the processor; the network was not slow
	if slow, _ := slowest(all, 0); len(slow) > 0 {
		t.Errorf("%v", slow)
	}
}

func TestALimitOfTheNetworkIsNotOneOfTheReader(t *testing.T) {
	m := Meeting{Addr: "127.0.0.1:0", Token: "job 7"}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // a reader that is hardly ever given the processor
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		n, buf := 0, make([]byte, 256<<10)
		for {
			k, err := conn.Read(buf)
			if n += k; err != nil {
				break
			}
			time.Sleep(30 * time.Millisecond)
		}
		fmt.Fprintf(conn, "%d\n", n)
	}()
	d, err := m.stream(t.Context(), l.Addr().String(), 300*time.Millisecond, nil)
	if err != nil || d.Rate == 0 {
		t.Fatalf("%+v, %v", d, err)
	}
	if runtime.GOOS == "linux" && d.Best < 2*d.Rate {
		t.Errorf("the reader was slow, and the network is blamed: %.0f of %.0f", d.Best, d.Rate)
	}
}

func TestLibrariesAreFoundAsTheLoaderDoes(t *testing.T) {
	l := newLoader(t.Context())
	if got := l.library("libc.so.6"); len(l.cached) > 0 && (got.Trouble != "" || got.Path == "") {
		t.Errorf("%+v", got)
	}
	if got := l.library("libno-such-thing.so.1"); got.Trouble != "not found" {
		t.Errorf("%+v", got)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "libcut.so.1"), []byte("\x7fELF"), 0o644); err != nil {
		t.Fatal(err)
	}
	l.path = []string{dir}
	if got := l.library("libcut.so.1"); got.Trouble == "" || got.Trouble == "not found" {
		t.Errorf("%+v", got)
	}
	l.readCache([]byte("\tlibz.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libz.so.1\n3 libs found\n"))
	if got := l.cached["libz.so.1"]; !slices.Contains(got, "/lib/x86_64-linux-gnu/libz.so.1") {
		t.Errorf("%v", got)
	}
	all := cluster(func(f *Facts) { f.Libraries = []Library{{Name: "libnccl.so.2", Version: "2.20.5"}} })
	for _, i := range []int{0, 1, 3} {
		all[i].Libraries = []Library{{Name: "libnccl.so.2", Version: "2.21.5"}}
	}
	if got := Judge(all, four, Wants{}); len(got) != 1 || got[0].Node != "cn03" || !strings.Contains(got[0].Text, "2.20.5, and 2.21.5 on 3 other nodes") {
		t.Errorf("%+v", got)
	}
}

func TestTheRendezvousPortMustBeFree(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("MASTER_ADDR", "localhost")
	t.Setenv("MASTER_PORT", portOf(l.Addr().String()))
	f := Gather(t.Context(), Options{Node: "cn01", SMI: "no-such-program"})
	if f.Taken == "" {
		t.Error("the port is in use, and it is not said")
	}
	_ = l.Close()
	if f = Gather(t.Context(), Options{Node: "cn01", SMI: "no-such-program"}); f.Taken != "" {
		t.Errorf("%s", f.Taken)
	}
	all, _, _ := rehearse(t, Meeting{Token: "job 7", Nodes: 2, Wait: 20 * time.Second}, four[:2], func(f *Facts) {
		f.Env["MASTER_ADDR"], f.Env["MASTER_PORT"] = "localhost", "1" // another port than the lead's
	})
	if all[1].Unreached != "" {
		t.Errorf("the lead holds no port, and it was tried: %s", all[1].Unreached)
	}
}

func TestANodeMustNotThinkItsNameIsLoopback(t *testing.T) {
	got := Judge(cluster(func(f *Facts) {
		f.Over, f.Names = "ib0", []Lookup{{Name: "cn03", Addrs: []string{"127.0.1.1"}}, {Name: "localhost", Addrs: []string{"127.0.0.1"}}}
	}), four, Wants{})
	if len(got) != 1 || got[0].Node != "cn03" || got[0].Level != Warn || !strings.Contains(got[0].Text, "127.0.1.1") {
		t.Errorf("%+v", got)
	}
}
