package moved

import (
	"testing"

	"faultline/analysis/artifact/timeseries"
	"faultline/analysis/slow"
)

// of makes a track from the values before and since.
func of(what, node string, before, after []float64, keys ...timeseries.Key) *Track {
	t := &Track{Series: &timeseries.Series{What: what, Keys: keys}, File: "t.csv", Node: node, Ours: node != ""}
	for _, v := range before {
		t.Before = append(t.Before, Sample{v, &timeseries.Point{Value: v}})
	}
	for _, v := range after {
		t.After = append(t.After, Sample{v, &timeseries.Point{Value: v}})
	}
	return t
}

func TestWhoseQuantityChanged(t *testing.T) {
	level, low := []float64{700, 701, 699, 700}, []float64{400, 399, 401, 400}
	zero, many := []float64{0, 0, 0, 0}, []float64{900, 950, 870, 910}
	gpu := func(n string) timeseries.Key { return timeseries.Key{Name: "gpu", Value: n} }
	for _, c := range []struct {
		name         string
		all          []*Track
		node, member string
		everyone     bool
		class        slow.Class
		none         bool
	}{
		{name: "a node of three", all: []*Track{of("power.limit", "n1", level, level), of("power.limit", "n2", level, low), of("power.limit", "n3", level, level)}, node: "n2", class: slow.Compute},
		{name: "a GPU of a node", all: []*Track{of("pclk", "n1", level, level, gpu("0")), of("pclk", "n1", level, low, gpu("1")), of("pclk", "n1", level, level, gpu("2"))}, node: "n1", member: "gpu 1", class: slow.Compute},
		{name: "all GPUs of a node", all: []*Track{of("pclk", "n1", level, low, gpu("0")), of("pclk", "n1", level, low, gpu("1")), of("pclk", "n2", level, level, gpu("0")), of("pclk", "n2", level, level, gpu("1")), of("pclk", "n3", level, level, gpu("0"))}, node: "n1", class: slow.Compute},
		{name: "parts of a GPU", all: partsOf(func(n string, g, link int) bool { return n == "n1" && g == 2 && link > 1 }), node: "n1", member: "gpu 2", class: slow.Communication},
		{name: "parts of two GPUs", all: partsOf(func(n string, g, link int) bool { return n == "n1" && g > 1 && link == 1 }), node: "n1", none: true},
		{name: "everybody", all: []*Track{of("loader_wait", "n1", level, many), of("loader_wait", "n2", level, many)}, everyone: true, class: slow.Data},
		{name: "one of two, of a known meaning", all: []*Track{of("si", "n1", zero, many), of("si", "n2", zero, zero)}, node: "n1", class: slow.Host},
		{name: "one of two, of unknown meaning", all: []*Track{of("frobs", "n1", zero, many), of("frobs", "n2", zero, zero)}, none: true},
		{name: "half of them", all: []*Track{of("si", "n1", zero, many), of("si", "n2", zero, many), of("si", "n3", zero, zero), of("si", "n4", zero, zero)}, none: true},
		{name: "waiting blames nobody", all: []*Track{of("wait_s", "n1", zero, many), of("wait_s", "n2", zero, zero), of("wait_s", "n3", zero, zero)}, none: true},
		{name: "power drawn follows the pace", all: []*Track{of("power.draw", "n1", level, low), of("power.draw", "n2", level, level), of("power.draw", "n3", level, level)}, none: true},
		{name: "noise", all: []*Track{of("si", "n1", []float64{1, 90, 3, 70}, []float64{80, 2, 95, 88}), of("si", "n2", zero, zero), of("si", "n3", zero, zero)}, none: true},
		{name: "nothing", all: []*Track{of("si", "n1", zero, zero), of("si", "n2", zero, zero)}, none: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := Compare(c.all)
			if c.none {
				if len(got) > 0 {
					t.Fatalf("%s is blamed: %+v", c.all[0].What, got[0])
				}
				return
			}
			if len(got) != 1 {
				t.Fatalf("%d quantities changed, want 1", len(got))
			}
			q := got[0]
			node := ""
			if len(q.Nodes) > 0 {
				node = q.Nodes[0]
			}
			if node != c.node || q.Member != c.member || q.All != c.everyone || q.Class != c.class {
				t.Errorf("node %q, member %q, all %v, class %q", node, q.Member, q.All, q.Class)
			}
		})
	}
}

// partsOf are links of GPUs on two nodes, of which some have lost speed.
func partsOf(lost func(node string, gpu, link int) bool) (out []*Track) {
	for _, n := range []string{"n1", "n2"} {
		for g := range 4 {
			for link := range 4 {
				is := []float64{25, 25, 25}
				if lost(n, g, link) {
					is = []float64{0, 0, 0}
				}
				out = append(out, of("link", n, []float64{25, 25, 25}, is, timeseries.Key{Name: "gpu", Value: string(rune('0' + g))}, timeseries.Key{Name: "link", Value: string(rune('0' + link))}))
			}
		}
	}
	return out
}

func TestACounterThatGrowsOnOnePort(t *testing.T) {
	port := func(n string) timeseries.Key { return timeseries.Key{Name: "Port", Value: n} }
	got, _ := Compare([]*Track{of("FCS", "leaf-1", nil, []float64{58, 204}, port("Et1")), of("FCS", "leaf-1", nil, []float64{12, 12}, port("Et2")), of("FCS", "leaf-1", nil, []float64{0, 0}, port("Et3"))})
	if len(got) != 1 || !got[0].Growing || got[0].Member != "Port Et1" {
		t.Errorf("%+v", got)
	}
}

func TestWithoutAClockTheTableDatesItself(t *testing.T) {
	tr := of("loader", "n1", nil, nil)
	var all []Sample
	for _, v := range []float64{1, 1, 1, 9, 9, 9} {
		all = append(all, Sample{v, &timeseries.Point{Value: v}})
	}
	tr.Split(all)
	if len(tr.Before) != 3 || len(tr.After) != 3 {
		t.Errorf("%d and %d", len(tr.Before), len(tr.After))
	}
}

func TestACountThatOutgrowsTheOthers(t *testing.T) {
	one := func(v float64) []float64 { return []float64{v} }
	got := Outgrown([]*Track{of("CompileTime", "", one(9), one(503)), of("steps", "", one(1000), one(1500)), of("ExecuteTime", "", one(1000), one(3000)), of("frobs", "", one(1), one(900))})
	if len(got) != 1 || got[0].What != "CompileTime" {
		t.Errorf("%+v", got)
	}
	if got := Outgrown([]*Track{of("CompileTime", "", one(90), one(150)), of("steps", "", one(1000), one(1500)), of("ExecuteTime", "", one(1000), one(1600))}); len(got) != 0 {
		t.Errorf("what grows as everything does is told: %+v", got)
	}
}

func TestOneNumberAmongMembersThatAreAllAlike(t *testing.T) {
	var all []*Track
	for i := range 9 {
		v := 200.0
		if i == 4 {
			v = 100
		}
		all = append(all, of("frob", "n"+string(rune('1'+i)), nil, []float64{v}))
	}
	if got := Apart(all); len(got) != 1 || !got[0].Uniform || got[0].Nodes[0] != "n5" {
		t.Errorf("%+v", got)
	}
}
