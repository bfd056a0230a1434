package preflight

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func well(node string) Facts {
	return Facts{Node: node, Kernel: "6.8", Libc: "glibc 2.39", Memory: 2 << 40, Rate: 11e9,
		GPUs:       []GPU{{Index: 0, Name: "H100", Driver: "550.54"}, {Index: 1, Name: "H100", Driver: "550.54"}},
		Ports:      []Port{{Device: "mlx5_0", Port: "1", State: "ACTIVE", Rate: "400 Gb/sec (4X NDR)"}},
		Interfaces: []Interface{{Name: "ib0", MTU: 9000}},
		Dirs:       []Dir{{Path: "/ckpt", Write: true, Rate: 2e9}}}
}

func TestWhatChangedSinceANodesLastPassIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Facts)
		say    string // "" nothing
	}{
		"nothing":                 {func(*Facts) {}, ""},
		"noise":                   {func(f *Facts) { f.Rate, f.Free, f.Dirs[0].Rate, f.Memory = 9e9, 5, 1.6e9, f.Memory-1e9 }, ""},
		"another driver":          {func(f *Facts) { f.GPUs[0].Driver = "560.35" }, "driver 560.35, previously 550.54"},
		"a GPU less":              {func(f *Facts) { f.GPUs = f.GPUs[:1] }, "number of GPUs 1, previously 2"},
		"clocks held down":        {func(f *Facts) { f.GPUs[1].Slowdown = "thermal" }, "GPU 1 clocks held down (thermal)"},
		"a slower path":           {func(f *Facts) { f.Rate = 4e9 }, "sends "},
		"a slower disk":           {func(f *Facts) { f.Dirs[0].Rate = 1e8 }, "to /ckpt, previously "},
		"a port that went down":   {func(f *Facts) { f.Ports[0].State = "DOWN" }, "port mlx5_0/1 DOWN, previously ACTIVE"},
		"a port that is slower":   {func(f *Facts) { f.Ports[0].Rate = "100 Gb/sec" }, "rate of mlx5_0/1 100 Gb/sec"},
		"a port that is gone":     {func(f *Facts) { f.Ports = nil }, "port mlx5_0/1 is gone"},
		"another MTU":             {func(f *Facts) { f.Interfaces[0].MTU = 1500 }, "MTU of ib0 is 1500, previously 9000"},
		"memory that is gone":     {func(f *Facts) { f.Memory = 1 << 40 }, "of memory, previously"},
		"a rate that is not told": {func(f *Facts) { f.Rate, f.Kernel = 0, "" }, ""},
	} {
		now := well("cn1")
		c.change(&now)
		last := map[string]Visit{"cn1": {At: time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC), Facts: well("cn1")}}
		got := Changed(last, []Facts{now, well("cn2")})
		switch {
		case c.say == "" && len(got) > 0:
			t.Errorf("%s: %+v", name, got)
		case c.say != "" && (len(got) != 1 || got[0].Node != "cn1" || got[0].Level != Warn || !strings.Contains(got[0].Text, c.say) || !strings.Contains(got[0].Text, "2026-11-20")):
			t.Errorf("%s: %+v, want %q", name, got, c.say)
		}
	}
}

// A node that failed is no measure, nor is what is no visit.
func TestTheRecordKeepsTheNewestPass(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
	sick := well("cn1")
	sick.GPUs = nil
	var b bytes.Buffer
	write := func(f Facts, d int, findings ...Finding) {
		if err := WriteVisits(&b, Visits([]Facts{f}, findings, day(d), "7")); err != nil {
			t.Fatal(err)
		}
	}
	write(well("cn1"), 3)
	write(well("cn1"), 1)
	b.WriteString("{}\nnot JSON\n\x00\n")
	write(sick, 5, Finding{Node: "cn1", Level: Fail})
	write(well("cn2"), 4, Finding{Node: "cn2", Level: Warn})
	write(Facts{Node: "cn3", Lost: true}, 5)
	last, unread, err := LastPasses(&b)
	if err != nil || unread != 3 || len(last) != 2 || !last["cn1"].At.Equal(day(3)) || len(last["cn1"].Facts.GPUs) != 2 || !last["cn2"].Pass {
		t.Errorf("%v, %d, %+v", err, unread, last)
	}
}
