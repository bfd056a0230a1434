package gpustate

import (
	"bytes"
	"html"
	"strings"

	"faultline/analysis/artifact/kernel"
	"faultline/pattern"
)

// nvidia-smi -q -x prints an element in a line, so that its lines are read one by one as those of its text are. Source: nvidia-smi -q -x of
// drivers 418 to 580 (nvsmi_device_v9.dtd to v13).
var (
	xmlHead  = pattern.New(`^<!DOCTYPE nvidia_smi_log |^<nvidia_smi_log>`)
	xmlFirst = pattern.New(`^<\?xml [^>]{0,80}\?>$`)
	xmlGPU   = pattern.New(`^<gpu id="([0-9A-Fa-f:.]{5,20})">$`)
	xmlLeaf  = pattern.New(`^<([a-z_0-9]{1,64})>([^<]{0,256})</([a-z_0-9]{1,64})>$`)
	xmlOpen  = pattern.New(`^<([a-z_0-9]{1,64})>$`)
	xmlClose = pattern.New(`^</([a-z_0-9]{1,64})>$`)
)

// xmlKeys are the elements that are kept, by the one that they stand in; "" stands for any.
var xmlKeys = map[[2]string]Key{
	{"volatile", "dram_uncorrectable"}: Volatile, {"volatile", "sram_uncorrectable"}: Volatile, {"volatile", "sram_uncorrectable_parity"}: Volatile, {"volatile", "sram_uncorrectable_secded"}: Volatile,
	{"aggregate", "dram_uncorrectable"}: Aggregate, {"aggregate", "sram_uncorrectable"}: Aggregate, {"aggregate", "sram_uncorrectable_parity"}: Aggregate, {"aggregate", "sram_uncorrectable_secded"}: Aggregate,
	{"aggregate", "sram_threshold_exceeded"}: Threshold,
	{"remapped_rows", "remapped_row_unc"}:    Remapped, {"remapped_rows", "remapped_row_pending"}: Pending, {"remapped_rows", "remapped_row_failure"}: Failure,
	{"retired_pages", "pending_retirement"}: Pending, {"retired_pages", "pending_blacklist"}: Pending, {"double_bit_retirement", "retired_count"}: Retired,
	{"", "clocks_throttle_reason_hw_slowdown"}: SlowHW, {"", "clocks_event_reason_hw_slowdown"}: SlowHW, {"", "clocks_throttle_reason_hw_thermal_slowdown"}: SlowHeat, {"", "clocks_event_reason_hw_thermal_slowdown"}: SlowHeat,
	{"", "clocks_throttle_reason_hw_power_brake_slowdown"}: SlowPower, {"", "clocks_event_reason_hw_power_brake_slowdown"}: SlowPower,
	{"", "clocks_throttle_reason_sw_thermal_slowdown"}: SlowSoft, {"", "clocks_event_reason_sw_thermal_slowdown"}: SlowSoft,
	{"utilization", "gpu_util"}: Busy, {"fb_memory_usage", "used"}: Used, {"temperature", "gpu_temp"}: Heat, {"", "power_draw"}: Power, {"", "instant_power_draw"}: Power, {"", "power_limit"}: Limit, {"", "current_power_limit"}: Limit,
	{"pcie_gen", "max_link_gen"}: GenMax, {"pcie_gen", "current_link_gen"}: Gen, {"link_widths", "max_link_width"}: WidthMax, {"link_widths", "current_link_width"}: Width,
	{"", "gpu_recovery_action"}: Recovery,
}

// xml reads one line of nvidia-smi -q -x.
func (r *reader) xml(s string, p Place) {
	if m := xmlGPU.FindStringSubmatch(s); m != nil {
		r.row = r.gpu(GPU{Index: -1, PCI: kernel.Address(m[1]), Place: p})
		r.path = nil
		return
	}
	if m := xmlOpen.FindStringSubmatch(s); m != nil {
		if len(r.path) < 16 {
			r.path = append(r.path, m[1])
		}
		return
	}
	if m := xmlClose.FindStringSubmatch(s); m != nil {
		if m[1] == "gpu" {
			r.row, r.path = nil, nil
		} else if n := len(r.path); n > 0 && r.path[n-1] == m[1] {
			r.path = r.path[:n-1]
		}
		return
	}
	m := xmlLeaf.FindStringSubmatch(s)
	if m == nil || m[1] != m[3] {
		return
	}
	value := html.UnescapeString(strings.TrimSpace(m[2]))
	if r.row == nil {
		return
	}
	r.unread(value, p)
	under := ""
	if n := len(r.path); n > 0 {
		under = r.path[n-1]
	}
	k, ok := xmlKeys[[2]string{under, m[1]}]
	if !ok {
		if k, ok = xmlKeys[[2]string{"", m[1]}]; !ok {
			return
		}
	}
	r.row.state(k, value, p)
}

// state adds a value, if it is one.
func (g *GPU) state(k Key, value string, p Place) {
	n, ok := state(value)
	if k == Recovery { // one of: None, Reset, Reboot, Drain P2P, Drain and Reset
		n, ok = 1, value != "" && value != "N/A"
		if value == "None" {
			n = 0
		}
	}
	if ok {
		g.sum(k, n, p)
	}
}

// dcgmi diag -j prints its JSON a member in a line, in alphabetical order: a test's name stands before its results, and a GPU's number before
// its status. Source: DCGM 2.2 to 4.2, dcgmi/Diag.cpp.
var jsonMember = pattern.New(`^"([a-z_]{1,32})" ?: ?"?([^",{\[]{0,120})"?,?$`)

// diagJSON says that a text is such a report.
func diagJSON(head []byte) bool {
	t := bytes.TrimLeft(head, " \t\r\n")
	return len(t) > 0 && t[0] == '{' && bytes.Contains(head, []byte(`"DCGM `)) && bytes.Contains(head, []byte(`"test_categories"`))
}

// member reads one line of it.
func (r *reader) member(s string, p Place) {
	m := jsonMember.FindStringSubmatch(s)
	if m == nil {
		return
	}
	switch value := strings.TrimSpace(m[2]); m[1] {
	case "name":
		r.test, r.of = value, -1
	case "gpu_id", "gpu_ids", "entity_id":
		r.of = number(value)
	case "status":
		if warn := strings.EqualFold(value, "warn"); warn || strings.EqualFold(value, "fail") {
			r.trouble(Trouble{Kind: "test", GPU: r.of, What: r.test, Warning: warn, Place: p})
		}
		r.of = -1
	case "test_summary":
		r.of = -1
	}
}
