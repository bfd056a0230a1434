package gpustate

import (
	"strconv"
	"strings"

	"faultline/analysis/artifact/kernel"
	"faultline/analysis/ascii"
	"faultline/pattern"
)

// queryKeys are the lines of nvidia-smi -q that are kept: the end of their path of headings, and their name. Sources: nvidia-smi -q of
// drivers 418 (page retirement, "Double Bit"), 450 to 570 (row remapper, "DRAM Uncorrectable", SRAM in two from 535 on).
var queryKeys = []struct {
	under, name string
	key         Key
}{
	{"Volatile", "DRAM Uncorrectable", Volatile}, {"Volatile", "SRAM Uncorrectable", Volatile}, {"Volatile", "SRAM Uncorrectable Parity", Volatile}, {"Volatile", "SRAM Uncorrectable SEC-DED", Volatile},
	{"Volatile/Double Bit", "Total", Volatile},
	{"Aggregate", "DRAM Uncorrectable", Aggregate}, {"Aggregate", "SRAM Uncorrectable", Aggregate}, {"Aggregate", "SRAM Uncorrectable Parity", Aggregate}, {"Aggregate", "SRAM Uncorrectable SEC-DED", Aggregate},
	{"Aggregate/Double Bit", "Total", Aggregate},
	{"Remapped Rows", "Uncorrectable Error", Remapped}, {"Remapped Rows", "Pending", Pending}, {"Remapped Rows", "Remapping Failure Occurred", Failure},
	{"Retired Pages", "Double Bit ECC", Retired}, {"Retired Pages", "Pending Page Blacklist", Pending}, {"Retired Pages", "Pending", Pending},
	{"Clocks Throttle Reasons", "HW Slowdown", SlowHW}, {"Clocks Event Reasons", "HW Slowdown", SlowHW},
	{"HW Slowdown", "HW Thermal Slowdown", SlowHeat}, {"Clocks Throttle Reasons", "HW Thermal Slowdown", SlowHeat}, {"Clocks Event Reasons", "HW Thermal Slowdown", SlowHeat},
	{"HW Slowdown", "HW Power Brake Slowdown", SlowPower}, {"Clocks Throttle Reasons", "HW Power Brake Slowdown", SlowPower}, {"Clocks Event Reasons", "HW Power Brake Slowdown", SlowPower},
	{"Clocks Throttle Reasons", "SW Thermal Slowdown", SlowSoft}, {"Clocks Event Reasons", "SW Thermal Slowdown", SlowSoft},
	{"ECC Errors", "Channel Repair Pending", Pending}, {"ECC Errors", "TPC Repair Pending", Pending}, {"Aggregate", "SRAM Threshold Exceeded", Threshold},
	{"PCIe Generation", "Max", GenMax}, {"PCIe Generation", "Current", Gen}, {"Link Width", "Max", WidthMax}, {"Link Width", "Current", Width}, {"", "GPU Recovery Action", Recovery},
	{"Utilization", "Gpu", Busy}, {"Utilization", "GPU", Busy}, {"FB Memory Usage", "Used", Used}, {"Temperature", "GPU Current Temp", Heat},
	{"Power Readings", "Power Draw", Power}, {"GPU Power Readings", "Power Draw", Power}, {"GPU Power Readings", "Instantaneous Power Draw", Power}, {"Power Readings", "Power Limit", Limit}, {"GPU Power Readings", "Current Power Limit", Limit},
}

// query reads one line of nvidia-smi -q: a heading, or "name : value"; what belongs to a heading is indented more.
func (r *reader) query(raw string, p Place) {
	s := strings.TrimSpace(raw)
	if s == "" {
		return
	}
	indent := len(raw) - len(strings.TrimLeft(raw, " "))
	if m := queryGPU.FindStringSubmatch(s); m != nil {
		r.row = r.gpu(GPU{Index: -1, PCI: kernel.Address(m[1]), Place: p})
		r.path, r.depth = nil, nil
		return
	}
	for len(r.depth) > 0 && r.depth[len(r.depth)-1] >= indent {
		r.path, r.depth = r.path[:len(r.path)-1], r.depth[:len(r.depth)-1]
	}
	name, value, pair := strings.Cut(s, " : ")
	name = strings.TrimSpace(name)
	if !pair {
		if len(r.path) < 16 {
			r.path, r.depth = append(r.path, strings.TrimSuffix(strings.TrimSpace(s), " :")), append(r.depth, indent)
		}
		return
	}
	value = strings.TrimSpace(value)
	if r.row == nil {
		return
	}
	r.unread(value, p)
	if name == "HW Slowdown" && len(r.path) < 16 { // a value that has others below it
		defer func() { r.path, r.depth = append(r.path, name), append(r.depth, indent) }()
	}
	path := strings.Join(r.path, "/")
	for _, k := range queryKeys {
		if k.name != name || path != k.under && !strings.HasSuffix(path, "/"+k.under) {
			continue
		}
		r.row.state(k.key, value, p)
		return
	}
}

// sum adds to a count that a tool states in parts; of yes and no the worse counts.
func (g *GPU) sum(k Key, n int64, p Place) {
	if k != Volatile && k != Aggregate && k != NVLink && k != Relinked && k != NVLinkOff && k != NVLinkOn {
		g.add(k, n, p)
		return
	}
	if v := g.Of(k); v != nil {
		if n > 0 && v.N == 0 {
			v.Place = p
		}
		v.N += n
		return
	}
	g.add(k, n, p)
}

// state is a number, or a yes.
func state(s string) (int64, bool) {
	switch s {
	case "Yes", "Active":
		return 1, true
	case "No", "Not Active", "None":
		return 0, true
	}
	return count(s)
}

// csvKeys are the columns of --query-gpu that are kept. Source: nvidia-smi --help-query-gpu.
var csvKeys = map[string]Key{
	"ecc.errors.uncorrected.volatile.total": Volatile, "ecc.errors.uncorrected.aggregate.total": Aggregate, "remapped_rows.uncorrectable": Remapped, "remapped_rows.pending": Pending,
	"remapped_rows.failure": Failure, "retired_pages.double_bit.count": Retired, "retired_pages.dbe": Retired, "retired_pages.pending": Pending,
	"clocks_throttle_reasons.hw_slowdown": SlowHW, "clocks_event_reasons.hw_slowdown": SlowHW, "clocks_throttle_reasons.hw_thermal_slowdown": SlowHeat, "clocks_event_reasons.hw_thermal_slowdown": SlowHeat,
	"clocks_throttle_reasons.hw_power_brake_slowdown": SlowPower, "clocks_event_reasons.hw_power_brake_slowdown": SlowPower, "clocks_throttle_reasons.sw_thermal_slowdown": SlowSoft, "clocks_event_reasons.sw_thermal_slowdown": SlowSoft,
	"pcie.link.width.current": Width, "pcie.link.width.max": WidthMax, "pcie.link.gen.current": Gen, "pcie.link.gen.gpucurrent": Gen, "pcie.link.gen.max": GenMax, "gpu_recovery_action": Recovery,
	"utilization.gpu": Busy, "power.draw": Power, "power.draw.instant": Power, "power.limit": Limit, "temperature.gpu": Heat, "memory.used": Used, "clocks.sm": Clock, "clocks.current.sm": Clock,
}

// csvNames are columns that a header of --query-gpu may have beside them.
var csvNames = map[string]bool{"index": true, "name": true, "gpu_name": true, "uuid": true, "gpu_uuid": true, "pci.bus_id": true, "gpu_bus_id": true, "timestamp": true, "count": true, "driver_version": true, "serial": true,
	"memory.total": true, "memory.free": true, "utilization.memory": true, "fan.speed": true, "pstate": true, "clocks.mem": true, "clocks.gr": true, "pcie.link.gen.gpumax": true, "pcie.link.gen.hostmax": true,
	"temperature.memory": true, "ecc.mode.current": true, "mig.mode.current": true, "ecc.errors.corrected.volatile.total": true, "ecc.errors.corrected.aggregate.total": true, "remapped_rows.correctable": true,
	"pid": true, "process_name": true, "used_gpu_memory": true, "compute_mode": true, "persistence_mode": true, "clocks_throttle_reasons.active": true, "clocks_event_reasons.active": true}

var inUnits = pattern.New(` \[[^\]]{1,12}\]$`)

// anyColumn is what names of --query-gpu look like: drivers add some every year.
var anyColumn = pattern.New(`^[a-z][a-z0-9_]{1,40}(?:\.[a-z0-9_]{1,40}){0,5}$`)

// columns reads a header of CSV; nil where a name cannot be one of nvidia-smi's, or hardly any is known as one.
func columns(s string) []string {
	if !strings.Contains(s, ", ") || len(s) > 2048 {
		return nil
	}
	var out []string
	known, own := 0, false // own: no other program calls a column so
	for c := range strings.SplitSeq(s, ", ") {
		c = inUnits.ReplaceAllString(strings.TrimSpace(c), "")
		switch {
		case csvNames[c] || csvKeys[c] != "":
			known++
			own = own || strings.Contains(c, ".") || c == "uuid" || c == "gpu_uuid" || c == "pstate"
		case !anyColumn.MatchString(c):
			return nil
		}
		out = append(out, c)
	}
	if known < len(out) && (known < 3 || !own) {
		return nil
	}
	return out
}

// csv reads one row.
func (r *reader) csv(s string, p Place) {
	cells := strings.Split(s, ", ")
	if len(cells) != len(r.names) {
		return
	}
	g := GPU{Index: -1, Place: p}
	pr := Process{GPU: -1, Pid: -1, Place: p}
	for i, c := range cells {
		c = strings.TrimSpace(c)
		switch r.names[i] {
		case "index":
			g.Index = number(c)
		case "timestamp":
			r.when(c)
		case "pci.bus_id", "gpu_bus_id":
			g.PCI = kernel.Address(c)
		case "pid":
			pr.Pid = number(c)
		}
		if k := r.columns[i]; k != "" {
			g.state(k, c, p)
		}
		if slowReasons[r.names[i]] {
			g.slowed(c, p)
		}
		if ascii.Has(c, "[GPU is lost]", "[Unknown Error]", "ERR!") {
			g.add(Unread, 1, p)
		}
	}
	if pr.Pid > 0 {
		if pr.PCI = g.PCI; len(r.s.Processes) < maxProcesses {
			r.s.Processes = append(r.s.Processes, pr)
		}
		return
	}
	if g.Index < 0 && g.PCI == "" {
		g.Index = len(r.s.GPUs) // the rows are in the order of the indices
	}
	if same := r.sampled(&g); same != nil {
		same.again(&g)
		return
	}
	r.gpu(g)
}

// slowReasons are columns that state all reasons in one number, a bit each.
var slowReasons = map[string]bool{"clocks_throttle_reasons.active": true, "clocks_event_reasons.active": true}

// slowBits are those of them that are kept. Source: nvml.h, nvmlClocksEventReason….
var slowBits = []struct {
	bit int64
	key Key
}{{0x8, SlowHW}, {0x20, SlowSoft}, {0x40, SlowHeat}, {0x80, SlowPower}}

func (g *GPU) slowed(cell string, p Place) {
	hex, ok := strings.CutPrefix(cell, "0x")
	bits, err := strconv.ParseInt(hex, 16, 64)
	if !ok || err != nil {
		return
	}
	for _, b := range slowBits {
		g.add(b.key, min(bits&b.bit, 1), p)
	}
}

// sampled is the GPU that an earlier row is about, where the tool printed a row for each every few seconds (--loop).
func (r *reader) sampled(g *GPU) *GPU {
	if g.PCI == "" {
		return nil
	}
	for i := range r.s.GPUs {
		if x := &r.s.GPUs[i]; x.PCI == g.PCI && x.Index == g.Index {
			return x
		}
	}
	return nil
}

// again adds a later row: of what comes and goes it has the last word, of everything else the worst counts.
func (g *GPU) again(later *GPU) {
	for _, v := range later.Values {
		if old := g.Of(v.Key); old != nil && (v.Key == Busy || v.Key == Power || v.Key == Used || v.Key == Clock) {
			*old = v
			continue
		}
		g.add(v.Key, v.N, v.Place)
	}
}

var (
	diagFail   = pattern.New(`(?i)^\| *([A-Za-z][^|]{1,60}?) *\| *(Fail|Warn)(?: - (?:GPUs?:? ([\d, ]+))?[^|]*| *)\|`)
	diagGPU    = pattern.New(`^\| *\| *GPU(\d{1,4}): (?:Fail|Warn)`)
	healthLine = pattern.New(`^\| *(?:->|GPU(?: ID)?:?) *(\d{1,4}) *\| *(Failure|Warning)`)
	healthText = pattern.New(`^\|[ |]*(?:-> )?(PCIe|NVLink|PMU|MCU|Memory|SM|InfoROM|Thermal|Power|Driver|NVSwitch)\b`)
)

// dcgm reads a row of dcgmi's tables.
func (r *reader) dcgm(s string, p Place) {
	t := Trouble{Kind: "test", GPU: -1, Place: p}
	if r.now == Health {
		t.Kind = "health"
		m := healthLine.FindStringSubmatch(s)
		if m == nil {
			if n := len(r.s.Troubles); n > 0 && r.s.Troubles[n-1].Kind == "health" && r.s.Troubles[n-1].What == "" {
				if w := healthText.FindStringSubmatch(s); w != nil {
					r.s.Troubles[n-1].What = w[1]
				}
			}
			return
		}
		t.GPU, t.Warning = number(m[1]), strings.HasPrefix(m[2], "Warn")
		r.trouble(t)
		return
	}
	if m := diagGPU.FindStringSubmatch(s); m != nil { // DCGM 4 has a row for each GPU
		if n := len(r.s.Troubles); n > 0 && r.s.Troubles[n-1].Kind == "test" && r.s.Troubles[n-1].GPU < 0 {
			r.s.Troubles[n-1].GPU = number(m[1])
		}
		return
	}
	m := diagFail.FindStringSubmatch(s)
	if m == nil {
		return
	}
	t.What, t.Warning = m[1], strings.EqualFold(m[2], "warn")
	if f := strings.FieldsFunc(m[3], func(c rune) bool { return c == ',' || c == ' ' }); len(f) > 0 {
		for _, x := range f {
			t.GPU = number(x)
			r.trouble(t)
		}
		return
	}
	r.trouble(t)
}

var rocmRow = pattern.New(`^(\d{1,3}) +.*?(\d+(?:\.\d+)?)°?[cC] +(\d+(?:\.\d+)?)W .* (\d+)% +(\d+)%$`)

// rocm reads a row of rocm-smi's table.
func (r *reader) rocm(s string, p Place) {
	m := rocmRow.FindStringSubmatch(s)
	if m == nil {
		return
	}
	g := GPU{Index: number(m[1]), Place: p}
	g.cells(m, p, []Key{2: Heat, 3: Power, 5: Busy})
	r.gpu(g)
}
