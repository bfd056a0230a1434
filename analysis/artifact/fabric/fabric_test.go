package fabric

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func read(t *testing.T, name string) *File {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if !Recognise(b) {
		t.Errorf("%s is not recognised", name)
	}
	f, err := Read(t.Context(), bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestPorts(t *testing.T) {
	for _, c := range []struct {
		file                             string
		i, of                            int
		host, device                     string
		port                             int
		state, phys                      string
		rate, width, mtu                 float64
		layer                            string
		up, down, noCarrier, loopbackToo bool
	}{
		{"ibstat-clush.txt", 0, 2, "node03", "mlx5_0", 1, "Active", "LinkUp", 400, 0, 0, "InfiniBand", true, false, false, false},
		{"ibstat-clush.txt", 1, 2, "node04", "mlx5_0", 1, "Down", "Polling", 10, 0, 0, "InfiniBand", false, true, false, false},
		{"ibstatus.txt", 0, 2, "", "mlx4_0", 1, "ACTIVE", "LinkUp", 40, 4, 0, "InfiniBand", true, false, false, false},
		{"ibstatus.txt", 1, 2, "", "mlx4_0", 2, "DOWN", "Disabled", 10, 1, 0, "Ethernet", false, true, false, false},
		{"ibv_devinfo-v.txt", 0, 1, "", "mlx5_2", 1, "ACTIVE", "LINK_UP", 200, 4, 1024, "Ethernet", true, false, false, false},
		{"ip-s-s-link.txt", 0, 2, "", "lo", -1, "", "", 0, 0, 65536, "Ethernet", true, false, false, true},
		{"ip-s-s-link.txt", 1, 2, "", "va", -1, "UP", "", 0, 0, 1500, "Ethernet", true, false, false, false},
		{"ip-s-link-down.txt", 1, 2, "", "va", -1, "DOWN", "", 0, 0, 1500, "Ethernet", false, true, true, false},
		{"ethtool.txt", 0, 1, "node03", "va", -1, "no", "", 10, 0, 0, "Ethernet", false, true, false, false},
		{"sysfs.txt", 0, 2, "node11", "mlx5_0", 1, "ACTIVE", "LinkUp", 400, 4, 0, "", true, false, false, false},
		{"sysfs.txt", 1, 2, "node11", "ib0", -1, "", "", 0, 0, 4092, "", true, false, false, false},
	} {
		f := read(t, c.file)
		if len(f.Ports) != c.of {
			t.Errorf("%s: %d ports", c.file, len(f.Ports))
			continue
		}
		p := f.Ports[c.i]
		if p.Host != c.host || p.Device != c.device || p.Port != c.port || p.State.Word != c.state || p.Phys.Word != c.phys || p.Rate.Value != c.rate || p.Width.Value != c.width ||
			p.MTU.Value != c.mtu || p.Layer != c.layer || p.Up() != c.up || p.Down() != c.down || p.NoCarrier != c.noCarrier || p.Loopback != c.loopbackToo {
			t.Errorf("%s: %+v, up %v, down %v", c.file, p, p.Up(), p.Down())
		}
	}
}

func find(f *File, name string, snapshot int) *Reading {
	for i := range f.Readings {
		if f.Readings[i].Name == name && f.Readings[i].Snapshot == snapshot {
			return &f.Readings[i]
		}
	}
	return nil
}

// Counters of ethtool are found without their heading: behind the prompt with the command, be it with grep, and on their own.
func TestStatisticsWithoutTheirHeading(t *testing.T) {
	for name, c := range map[string]struct{ text, host, device string }{
		"grep":        {"[root@node03 ~]# ethtool -S eth0 | grep -v ': 0'\n     rx_packets: 6234918441\n     link_down_events_phy: 7\n     rx_crc_errors_phy: 2\n", "node03", "eth0"},
		"bare":        {"     rx_packets: 6234918441\n     tx_packets: 1\n     rx_crc_errors_phy: 2\n     link_down_events_phy: 7\n", "", ""},
		"a selection": {"rx_crc_errors_phy: 2\nrx_discards_phy: 5\nlink_down_events_phy: 7\n", "", ""},
	} {
		if !Recognise([]byte(c.text)) {
			t.Errorf("%s is not recognised", name)
		}
		f, err := Read(t.Context(), strings.NewReader(c.text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r := find(f, "link_down_events_phy", 0); r == nil || r.Value != 7 || r.Host != c.host || r.Device != c.device {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, text := range []string{"rx_packets: 1\ntx_packets: 2\nrx_bytes: 3\n", "loss: 3\nstep: 4\nrx_discards_phy_total: 5\n", "INFO rx_crc_errors_phy: 2 on eth0\nINFO done\n"} {
		if Recognise([]byte(text)) || Pasted([]byte(text)) {
			t.Errorf("%q is recognised", text)
		}
	}
}

func TestCounters(t *testing.T) {
	f := read(t, "perfquery-twice.txt")
	a, b := find(f, "SymbolErrorCounter", 0), find(f, "SymbolErrorCounter", 1)
	if a == nil || b == nil || a.Value != 12 || b.Value != 1512 || a.Host != "node07" || a.Device != "mlx5_3" || a.Port != 1 || a.LID != 31 || b.At.Unix-a.At.Unix != 600 || a.At.Zone != "UTC" {
		t.Fatalf("%+v, %+v", a, b)
	}
	if r := find(f, "PortRcvErrors", 0); r == nil || !r.Stuck() {
		t.Errorf("%+v", r)
	}
	f = read(t, "ethtool.txt")
	if r := find(f, "link_down_events_phy", 0); r == nil || r.Value != 7 || r.Device != "eth0" || r.Host != "node03" {
		t.Errorf("%+v", r)
	}
	f = read(t, "ip-s-s-link.txt")
	n := 0
	for _, r := range f.Readings {
		if r.Name == "tx_transns" && r.Device == "va" && r.Value == 2 {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%+v", f.Readings)
	}
	f = read(t, "sysfs.txt")
	if r := find(f, "local_ack_timeout_err", 0); r == nil || r.Value != 44 || r.Host != "node11" {
		t.Errorf("%+v", f.Readings)
	}
}

func TestLinksOfTheFabric(t *testing.T) {
	f := read(t, "iblinkinfo.txt")
	if len(f.Links) != 5 {
		t.Fatalf("%+v", f.Links)
	}
	if k := f.Links[3]; k.A.Name != "MF0;sw1:MQM8700/U1" || !k.A.Switch || k.A.Port != 19 || k.B.Name != "node05 mlx5_0" || k.Width != 1 || k.Lane != 53.125 || k.Comment != "Could be 4X" {
		t.Errorf("%+v", k)
	}
	if k := f.Links[4]; k.B.Name != "" {
		t.Errorf("%+v", k)
	}
	f = read(t, "ibqueryerrors.txt")
	if len(f.Links) != 1 || f.Links[0].A.Name != "node09 mlx5_0" || f.Links[0].B.Port != 34 {
		t.Errorf("%+v", f.Links)
	}
	if r := find(f, "SymbolErrorCounter", 0); r == nil || !r.Stuck() || r.Port != 1 {
		t.Errorf("%+v", f.Readings)
	}
}

func TestPings(t *testing.T) {
	f := read(t, "ping-refused.txt")
	if p := f.Pings[0]; len(f.Pings) != 1 || p.Size != 8972 || p.Whole != 9000 || !p.TooLong || !p.Local || p.MTU != 1500 || p.Sent != 2 || p.Received != 0 || !p.Ended {
		t.Errorf("%+v", f.Pings)
	}
	f = read(t, "ping-passes.txt")
	if p := f.Pings[0]; p.TooLong || p.Received != 2 || p.Address != "10.77.0.2" {
		t.Errorf("%+v", p)
	}
	text := "user@ops ~$ ping\nPING node4 (10.0.0.4) 8972(9000) bytes of data.\nFrom 10.0.0.254 icmp_seq=1 Frag needed and DF set (mtu = 1500)\n\n--- node4 ping statistics ---\n3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 2041ms\n"
	f, err := Read(t.Context(), strings.NewReader(text))
	if err != nil || f.Pings[0].MTU != 1500 || f.Pings[0].Local {
		t.Errorf("%+v, %v", f, err)
	}
}

// Every name in the table is as plain() makes it, or it would never be found.
func TestMeaningsAreFound(t *testing.T) {
	for name, m := range meanings {
		if plain(name) != name {
			t.Errorf("%q is never looked up", name)
		}
		if m.Class != Traffic && (m.Title == "" || m.Means == "" || m.Look == "") {
			t.Errorf("%q: %+v", name, m)
		}
	}
	for _, name := range []string{"SymbolErrorCounter", "symbol_error", "link_downed", "LinkDownedCounter", "port_xmit_discards", "PortXmitDiscards", "rx_crc_errors_phy", "VL15Dropped", "VL15_dropped"} {
		if _, ok := MeaningOf(name); !ok {
			t.Errorf("%s is not known", name)
		}
	}
}

// People write above an output where it is from, and when.
func TestARemarkAboveAnOutput(t *testing.T) {
	const counters = "# Port counters: Lid 43 port 1 (CapMask: 0x5A00)\nPortSelect:......................1\nCounterSelect:...................0x0000\nSymbolErrorCounter:..............65127\n" +
		"LinkErrorRecoveryCounter:........9\nLinkDownedCounter:...............0\nPortRcvErrors:...................5120\n"
	for remark, host := range map[string]string{
		"# node03 2026-03-11T04:36:40 perfquery -x -C mlx5_4 -P 1": "node03",
		"## node03.ib 2026-03-11 04:36:40":                         "node03.ib",
		"# counters 2026-03-11T04:36:40":                           "",
		"# node03 2026-03-11T04:36:40 was noisy":                   "",
	} {
		f, err := Read(t.Context(), strings.NewReader(remark+"\n"+counters))
		if err != nil || len(f.Readings) == 0 {
			t.Fatalf("%s: %v", remark, err)
		}
		if r := f.Readings[0]; r.Host != host || host != "" && (!r.At.Known || r.At.Unix%86400 != 4*3600+36*60+40) {
			t.Errorf("%s: host %q at %+v", remark, r.Host, r.At)
		}
	}
}

func TestMoments(t *testing.T) {
	for _, s := range []string{"Sun Nov 22 13:00:00 UTC 2026", "Sun 22 Nov 2026 01:00:00 PM UTC", "2026-11-22 13:00:00", "2026-11-22T13:00:00+00:00", "=== 2026-11-22T13:00:00Z ===", "1795352400", "# date: 2026-11-22 13:00:00"} {
		at, ok := stamp(s)
		if !ok || at.Unix != 1795352400 {
			t.Errorf("%q: %+v, %v", s, at, ok)
		}
	}
	for _, s := range []string{"[2026-11-22 13:00:00,123] step 12 loss 3.1", "iteration 1580", "1234567890123"} {
		if _, ok := stamp(s); ok {
			t.Errorf("%q is no moment", s)
		}
	}
}

// A log that quotes a line or two of these tools stays a log.
func TestLogsAreNone(t *testing.T) {
	log := strings.Repeat("[rank3]: INFO step 12 loss 3.1\n", 40)
	for _, text := range []string{"", "node03: CA 'mlx5_0'\n", log + "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n" + log, "SymbolErrorCounter:....5\n", "{}", log} {
		if Recognise([]byte(text)) {
			t.Errorf("%q", text[:min(len(text), 40)])
		}
	}
	if !Pasted([]byte(log + "CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Polling\n" + log)) {
		t.Error("what is pasted is found")
	}
	if Pasted([]byte(log)) {
		t.Error("nothing is pasted there")
	}
}

func FuzzRead(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.txt")
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		Recognise(b)
		Pasted(b)
		file, err := Read(t.Context(), bytes.NewReader(b))
		if err != nil {
			return
		}
		for _, r := range file.Readings {
			if r.Place.Offset < 0 || r.Place.Offset+int64(r.Place.Len) > int64(len(b)) {
				t.Fatalf("%+v of %d bytes", r, len(b))
			}
			r.Stuck()
		}
		for i := range file.Ports {
			file.Ports[i].Up()
			file.Ports[i].Down()
		}
	})
}

func TestCountersOfRDMAStatistic(t *testing.T) {
	const text = "[ops@node07 ~]$ rdma statistic show link mlx5_0/1\nlink mlx5_0/1 rx_write_requests 2210222 out_of_sequence 312 packet_seq_err 214 local_ack_timeout_err 9 req_cqe_error 0 roce_slow_restart 0\n"
	if !Recognise([]byte(text)) {
		t.Fatal("not recognised")
	}
	f, err := Read(context.Background(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if r := find(f, "local_ack_timeout_err", 0); r == nil || r.Value != 9 || r.Host != "node07" || r.Device != "mlx5_0" || r.Port != 1 {
		t.Errorf("%+v", f.Readings)
	}
	for _, text := range []string{"link to the docs/1 of 2 pages\n", "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ib0\n"} {
		if Recognise([]byte(text)) {
			t.Errorf("recognised %q", text)
		}
	}
}
