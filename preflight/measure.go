package preflight

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tools read what programs print that measure better than the check itself can, where a node has them; nil = they are not used.
type Tools struct {
	Bus  func(out []byte) ([]Measure, error) // all_reduce_perf of nccl-tests
	RDMA func(out []byte) (float64, error)   // ib_write_bw of perftest: bytes a second
}

// Measure is one size of an all-reduce, and what the GPUs' links carried of it, in bytes a second ("bus bandwidth" of nccl-tests).
type Measure struct {
	Size int64   `json:"size"`
	Rate float64 `json:"rate"`
}

// Baseline is what a healthy node reaches at least, in bytes a second; 0 = not stated.
type Baseline struct{ TCP, Bus, RDMA float64 }

// fields are the members of a baseline by the names that people write.
func (b *Baseline) fields() map[string]*float64 {
	return map[string]*float64{"tcp": &b.TCP, "bus": &b.Bus, "rdma": &b.RDMA}
}

// Set reads "tcp=12,bus=380", in GB/s.
func (b *Baseline) Set(list []string) error {
	for _, text := range list {
		for pair := range strings.SplitSeq(text, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			to, ok := b.fields()[name]
			v, err := strconv.ParseFloat(value, 64)
			if !ok || err != nil || !(v > 0 && v < 1e6) {
				return fmt.Errorf("%q is not tcp=, bus= or rdma= and a number of GB/s", pair)
			}
			*to = v * 1e9
		}
	}
	return nil
}

// MeasureBus has the GPUs of this node add up numbers of several sizes with all_reduce_perf, where that is in the path.
func MeasureBus(ctx context.Context, f *Facts, tools Tools) {
	path, err := exec.LookPath("all_reduce_perf")
	n := len(f.GPUs)
	if v := f.Env["CUDA_VISIBLE_DEVICES"]; v != "" {
		n = min(n, strings.Count(v, ",")+1)
	}
	if err != nil || tools.Bus == nil || n < 2 || f.GPUTrouble != "" {
		return
	}
	ctx, stop := context.WithTimeout(ctx, ofProbe)
	defer stop()
	cmd := exec.CommandContext(ctx, path, "-b", "1M", "-e", "256M", "-f", "16", "-n", "5", "-w", "2", "-g", strconv.Itoa(n))
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end within %s", ofProbe)
	}
	if err == nil {
		f.Bus, err = tools.Bus(out)
	}
	if f.BusTrouble = ""; err != nil {
		f.BusTrouble = clip("all_reduce_perf: " + err.Error())
	}
}

// serveRDMA waits for one ib_write_bw of another node, where this one has an active port and the program. It ends with ctx.
func serveRDMA(ctx context.Context, self *Facts, tools Tools) {
	path, err := exec.LookPath("ib_write_bw")
	active := slices.ContainsFunc(self.Ports, func(p Port) bool { return p.State == "ACTIVE" })
	if err != nil || tools.RDMA == nil || !active {
		return
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":0") // a free port: nothing else takes it in the moment between
	if err != nil {
		return
	}
	port := portOf(l.Addr().String())
	_ = l.Close()
	cmd := exec.CommandContext(ctx, path, append(rdmaFlags, "-p", port)...)
	if cmd.Start() != nil {
		return
	}
	go func() { _ = cmd.Wait() }()
	self.RDMAPort = port
}

// rdmaFlags have ib_write_bw measure for two seconds, and print Gb/s.
var rdmaFlags = []string{"-D", "2", "--report_gbits", "-F"}

// rdmaTo measures the path to the node that serves at addr.
func (m *Meeting) rdmaTo(ctx context.Context, addr string) (d done) {
	host, port, err := net.SplitHostPort(addr)
	path, missing := exec.LookPath("ib_write_bw")
	if err != nil || missing != nil || m.Tools.RDMA == nil || strings.HasPrefix(host, "-") {
		return d
	}
	ctx, stop := context.WithTimeout(ctx, ofProbe)
	defer stop()
	cmd := exec.CommandContext(ctx, path, append(rdmaFlags, "-p", port, host)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end within %s", ofProbe)
	}
	if err == nil {
		d.RDMA, err = m.Tools.RDMA(out)
	}
	if err != nil {
		d.RDMATrouble = clip("ib_write_bw: " + err.Error())
	}
	return d
}

// gigabytes is a rate as people state those of links.
func gigabytes(rate float64) string { return fmt.Sprintf("%.4g GB/s", rate/1e9) }

// peak is the rate at the largest size.
func (f *Facts) peak() float64 {
	if len(f.Bus) == 0 {
		return 0
	}
	return slices.MaxFunc(f.Bus, func(a, b Measure) int { return int(a.Size>>10 - b.Size>>10) }).Rate
}

// sizes are all rates of the GPUs' links.
func (f *Facts) sizes() string {
	var parts []string
	for _, m := range f.Bus {
		parts = append(parts, fmt.Sprintf("%s at %s", gigabytes(m.Rate), size(m.Size)))
	}
	return strings.Join(parts, ", ")
}

// links judges what the tools measured: by the baseline where one is stated, else by what most of three nodes or more reach.
func links(all []Facts, b Baseline, add func(node string, l Level, check, fix, format string, args ...any)) {
	for _, kind := range []struct {
		check, fix string
		least      float64
		of         func(*Facts) float64
		trouble    func(*Facts) string
		what       func(*Facts) string
	}{
		{"GPU links", "nvidia-smi topo -m; nvidia-smi nvlink -s", b.Bus, (*Facts).peak, func(f *Facts) string { return f.BusTrouble },
			func(f *Facts) string {
				return fmt.Sprintf("an all-reduce over %d GPUs reaches %s", len(f.GPUs), f.sizes())
			}},
		{"RDMA", "ibstat; perfquery -x", b.RDMA, func(f *Facts) float64 { return f.RDMA }, func(f *Facts) string { return f.RDMATrouble },
			func(f *Facts) string { return fmt.Sprintf("writes %s to %s over RDMA", gigabytes(f.RDMA), f.To) }},
	} {
		median := middle(all, kind.of)
		for i := range all {
			f := &all[i]
			rate := kind.of(f)
			switch {
			case kind.trouble(f) != "":
				add(f.Node, Warn, kind.check, kind.fix, "not measured: %s", kind.trouble(f))
			case rate > 0 && rate < kind.least:
				add(f.Node, Fail, kind.check, kind.fix, "%s; the baseline is %s", kind.what(f), gigabytes(kind.least))
			case rate > 0 && rate < slowShare*median:
				add(f.Node, Fail, kind.check, kind.fix, "%s; most nodes reach %s", kind.what(f), gigabytes(median))
			}
		}
	}
}

// middle is the median of three rates or more, 0 = of fewer.
func middle(all []Facts, of func(*Facts) float64) float64 {
	var list []float64
	for i := range all {
		if r := of(&all[i]); r > 0 {
			list = append(list, r)
		}
	}
	if len(list) < 3 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// Measured says for people what was measured, "" = nothing: a baseline can be taken from it.
func Measured(all []Facts) string {
	var parts []string
	for _, kind := range []struct {
		what string
		of   func(*Facts) float64
	}{{"TCP", func(f *Facts) float64 { return f.Rate }}, {"all-reduce within a node", (*Facts).peak}, {"RDMA", func(f *Facts) float64 { return f.RDMA }}} {
		var list []float64
		for i := range all {
			if r := kind.of(&all[i]); r > 0 {
				list = append(list, r)
			}
		}
		switch {
		case len(list) == 0:
		case len(list) == 1:
			parts = append(parts, kind.what+" "+gigabytes(list[0]))
		default:
			parts = append(parts, fmt.Sprintf("%s %.4g to %s", kind.what, slices.Min(list)/1e9, gigabytes(slices.Max(list))))
		}
	}
	return strings.Join(parts, "; ")
}
