package preflight

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are what Gather looks at beside what every node has.
type Options struct {
	Node  string   // this node's name among those of the job
	Read  []string // directories to be read from
	Write []string // directories to be written to
	Names []string // names that must resolve
	// Libraries are shared libraries that must load with all that they need.
	Libraries []string
	Trial     int64 // bytes written to each directory of Write to see how fast it is, 0 = 64 MiB
	// SMI is the program that lists GPUs, "" = nvidia-smi.
	SMI string
}

// Gather asks this node. Probes run side by side; one that hangs is left behind and named.
func Gather(ctx context.Context, o Options) Facts {
	f := Facts{Node: o.Node, CPUs: runtime.NumCPU(), Env: map[string]string{}}
	if f.Node == "" {
		f.Node, _ = os.Hostname()
	}
	for _, v := range Variables {
		if s, ok := os.LookupEnv(v); ok {
			f.Env[v] = clip(s)
		}
	}
	limits(&f)
	f.Shm, f.ShmFree = room("/dev/shm")
	memory(&f)
	interfaces(&f)
	f.Ports = ports("/sys/class/infiniband")
	probes := map[string]func(context.Context) func(*Facts){
		"nvidia-smi":       func(ctx context.Context) func(*Facts) { return gpus(ctx, o.SMI) },
		"name resolution":  func(ctx context.Context) func(*Facts) { return resolve(ctx, o.Names) },
		"shared libraries": func(ctx context.Context) func(*Facts) { return libraries(ctx, o.Libraries) },
		"rendezvous port":  vacant,
	}
	for _, d := range o.Read {
		probes["reading "+d] = func(context.Context) func(*Facts) { return add(readDir(d)) }
	}
	for _, d := range o.Write {
		probes["writing "+d] = func(context.Context) func(*Facts) { return add(writeDir(d, o.Trial)) }
	}
	ctx, stop := context.WithTimeout(ctx, ofProbe)
	defer stop()
	type answer struct {
		name string
		put  func(*Facts)
	}
	answers := make(chan answer, len(probes)) // a probe that hangs in the kernel cannot be ended
	for name, p := range probes {
		go func() { answers <- answer{name, p(ctx)} }()
	}
	waiting := map[string]bool{}
	for name := range probes {
		waiting[name] = true
	}
	for len(waiting) > 0 {
		select {
		case a := <-answers:
			delete(waiting, a.name)
			a.put(&f)
		case <-ctx.Done():
			for name := range waiting {
				f.Slow = append(f.Slow, name)
			}
			waiting = nil
		}
	}
	slices.Sort(f.Slow)
	slices.SortFunc(f.Dirs, func(a, b Dir) int { return strings.Compare(a.Path, b.Path) })
	return f
}

func add(d Dir) func(*Facts) { return func(f *Facts) { f.Dirs = append(f.Dirs, d) } }

func clip(s string) string { return s[:min(len(s), mostText)] }

// memory reads /proc/meminfo (man 5 proc).
func memory(f *Facts) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return
	}
	for _, line := range strings.Split(string(data), "\n") {
		w := strings.Fields(line)
		if len(w) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(w[1], 10, 64)
		switch w[0] {
		case "MemTotal:":
			f.Memory = kib << 10
		case "MemAvailable:":
			f.Free = kib << 10
		}
	}
}

func interfaces(f *Facts) {
	list, _ := net.Interfaces()
	for _, i := range list {
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
			f.Interfaces = append(f.Interfaces, Interface{i.Name, i.MTU})
		}
	}
}

// ports reads what the kernel says of InfiniBand adapters: ports/N/state holds "4: ACTIVE", ports/N/rate "400 Gb/sec (4X NDR)".
func ports(root string) (list []Port) {
	found, _ := filepath.Glob(filepath.Join(root, "*", "ports", "*"))
	for _, dir := range found {
		read := func(name string) string {
			data, _ := os.ReadFile(filepath.Join(dir, name))
			return clip(strings.TrimSpace(string(data)))
		}
		_, state, _ := strings.Cut(read("state"), ": ")
		list = append(list, Port{Device: filepath.Base(filepath.Dir(filepath.Dir(dir))), Port: filepath.Base(dir), State: state, Rate: read("rate")})
	}
	return list
}

// columns are what nvidia-smi --query-gpu is asked for (nvidia-smi --help-query-gpu).
const columns = "index,name,driver_version,memory.total,memory.used,clocks.current.sm,clocks.max.sm,clocks_throttle_reasons.hw_slowdown,clocks_throttle_reasons.sw_thermal_slowdown"

// gpus asks nvidia-smi, where the driver is loaded or the program is there.
func gpus(ctx context.Context, smi string) func(*Facts) {
	if smi == "" {
		smi = "nvidia-smi"
	}
	path, err := exec.LookPath(smi)
	if err != nil {
		if _, driver := os.Stat("/proc/driver/nvidia/version"); driver == nil {
			return func(f *Facts) { f.GPUTrouble = "the driver is loaded, but nvidia-smi is not on the PATH" }
		}
		return func(*Facts) {}
	}
	out, err := exec.CommandContext(ctx, path, "--query-gpu="+columns, "--format=csv,noheader,nounits").CombinedOutput()
	if err != nil {
		why := clip(strings.TrimSpace(string(out)))
		if why == "" {
			why = err.Error()
		}
		return func(f *Facts) { f.GPUTrouble = "nvidia-smi: " + why }
	}
	list := readGPUs(out)
	return func(f *Facts) { f.GPUs = list }
}

func readGPUs(out []byte) (list []GPU) {
	for line := range bytes.Lines(out) {
		w := strings.Split(strings.TrimSpace(string(line)), ", ")
		if len(w) < 9 {
			continue
		}
		number := func(s string) int { n, _ := strconv.Atoi(s); return n }
		g := GPU{Index: number(w[0]), Name: clip(w[1]), Driver: clip(w[2]), Memory: int64(number(w[3])), Used: int64(number(w[4])), Clock: number(w[5]), MostClock: number(w[6])}
		switch {
		case w[7] == "Active":
			g.Slowdown = "hardware slowdown (heat or power)"
		case w[8] == "Active":
			g.Slowdown = "heat"
		}
		list = append(list, g)
	}
	return list
}

func resolve(ctx context.Context, names []string) func(*Facts) {
	var list []Lookup
	slices.Sort(names)
	for _, n := range slices.Compact(names) {
		l := Lookup{Name: n}
		addrs, err := net.DefaultResolver.LookupHost(ctx, n)
		if l.Addrs = addrs; err != nil {
			var dns *net.DNSError
			if errors.As(err, &dns) {
				err = errors.New(dns.Err)
			}
			l.Trouble = clip(err.Error())
		}
		list = append(list, l)
	}
	return func(f *Facts) { f.Names = list }
}

// rendezvous is where the job itself will meet, "" where nothing states it.
func (f *Facts) rendezvous() string {
	host, port := f.Env["MASTER_ADDR"], f.Env["MASTER_PORT"]
	if host == "" || port == "" {
		return ""
	}
	return net.JoinHostPort(host, port)
}

// mine says whether a name is this machine's.
func mine(ctx context.Context, host string) bool {
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return false
	}
	own, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		ip, _, err := net.ParseCIDR(a.String())
		return err == nil && slices.Contains(addrs, ip.String())
	})
}

// vacant says whether the job can open its rendezvous port, on the node where it will.
func vacant(ctx context.Context) func(*Facts) {
	host, port := os.Getenv("MASTER_ADDR"), os.Getenv("MASTER_PORT")
	if host == "" || port == "" || !mine(ctx, host) {
		return func(*Facts) {}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("", port))
	if err != nil {
		return func(f *Facts) { f.Taken = network(err) }
	}
	_ = l.Close()
	return func(*Facts) {}
}

func readDir(path string) Dir {
	d := Dir{Path: path}
	file, err := os.Open(path)
	if err != nil {
		d.Trouble = why(err)
		return d
	}
	defer file.Close()
	if st, err := file.Stat(); err == nil && st.IsDir() {
		_, err = file.Readdirnames(1)
		if err != nil {
			d.Trouble = "it is empty"
		}
		return d
	}
	if _, err := file.Read(make([]byte, 1)); err != nil {
		d.Trouble = why(err)
	}
	return d
}

// writeDir writes a file, synchronises and removes it.
func writeDir(path string, trial int64) Dir {
	d := Dir{Path: path, Write: true}
	if trial == 0 {
		trial = 64 << 20
	}
	file, err := os.CreateTemp(path, ".faultline-check-*")
	if err != nil {
		d.Trouble = why(err)
		return d
	}
	defer os.Remove(file.Name())
	defer file.Close()
	_, d.Free = room(path)
	block := make([]byte, 4<<20)
	_, _ = rand.Read(block) // what compresses away tells nothing
	began := time.Now()
	for n := int64(0); n < trial; n += int64(len(block)) {
		if _, err := file.Write(block[:min(int64(len(block)), trial-n)]); err != nil {
			d.Trouble = why(err)
			return d
		}
	}
	if err := file.Sync(); err != nil {
		d.Trouble = why(err)
		return d
	}
	if took := time.Since(began).Seconds(); took > 0 {
		d.Rate = float64(trial) / took
	}
	return d
}

// why is an error without the path, which is said beside it.
func why(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return clip(fmt.Sprint(err))
}
