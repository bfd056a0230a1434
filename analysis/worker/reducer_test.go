package worker

import (
	"reflect"
	"strings"
	"testing"
)

func TestReductions(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Reduction
	}{
		{"names and numbers, as PyTorch 2.6 prints them", "[rank2]: RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error\n" +
			"[rank2]: Parameters which did not receive grad for rank 2: aux.bias, aux.weight\n[rank2]: Parameter indices which did not receive grad for rank 2: 4 5\n",
			[]Reduction{{Kind: NoGrad, Rank: 2, Names: []string{"aux.bias", "aux.weight"}}, {Kind: NoGrad, Rank: 2, Indices: []int{4, 5}}}},
		{"numbers as a list", "Parameter indices which did not receive grad for rank 11: [7, 8]\n", []Reduction{{Kind: NoGrad, Rank: 11, Indices: []int{7, 8}}}},
		{"a message on one line, quoted", `"Parameters which did not receive grad for rank 0: a.b\nParameter indices"` + "\n", []Reduction{{Kind: NoGrad, Rank: 0, Names: []string{"a.b"}}}},
		{"a name that the file's end cuts", "Parameters which did not receive grad for rank 0: aux.bias, aux.wei", []Reduction{{Kind: NoGrad, Rank: 0, Names: []string{"aux.bias"}, More: true}}},
		{"ready twice with its name", "Parameter at index 3 with name body.bias has been marked as ready twice. This means that multiple autograd engine  hooks have fired\n",
			[]Reduction{{Kind: ReadyTwice, Rank: -1, Names: []string{"body.bias"}, Indices: []int{3}}}},
		{"ready twice without", "Parameter at index 3 has been marked as ready twice. This means that\n", []Reduction{{Kind: ReadyTwice, Rank: -1, Indices: []int{3}}}},
		{"unused in the first step of a static graph", "[I reducer.cpp:578] [Rank 3]: Parameter(s) (in the format of {param_name, index}): {.bias,0}{net1.weight,1} is(are) unused during first iteration. Since\n",
			[]Reduction{{Kind: UnusedFirst, Rank: 3, Names: []string{".bias", "net1.weight"}, Indices: []int{0, 1}}}},
		{"words about it", "the Parameters which did not receive grad for rank N are listed\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := observe(t, c.text).Reductions
			for i := range got {
				got[i].At = At{}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

const logged = "I20261122 17:40:36.950467     7 logger.cpp:213] [Rank 3]: DDP Initialized with: \nbroadcast_buffers: 1\nfind_unused_parameters: 0\n" +
	"device_ids: \nmodule_name: Net\n\nI20261122 17:40:36.971939     7 logger.cpp:377] [Rank 3 / 4] [before iteration 1] Training Net unused_parameter_size=0 \n" +
	" Avg forward compute time: 2324604 \n Avg backward compute time: 13813126 \nAvg backward comm. time: 16394161 \n Avg backward comm/comp overlap time: 11749385\nstep 1\n"

func TestWhatDDPLogsOfItself(t *testing.T) {
	obs := observe(t, logged)
	if len(obs.DDPSetups) != 1 || len(obs.DDPPaces) != 1 {
		t.Fatalf("%d settings, %d paces", len(obs.DDPSetups), len(obs.DDPPaces))
	}
	s := obs.DDPSetups[0]
	var names []string
	for _, x := range s.Settings {
		names = append(names, x.Name+"="+x.Value)
	}
	if got := strings.Join(names, " "); s.Rank != 3 || got != "broadcast_buffers=1 find_unused_parameters=0 device_ids= module_name=Net" {
		t.Errorf("rank %d: %s", s.Rank, got)
	}
	if at := s.Settings[1].At; at.Line != 3 {
		t.Errorf("find_unused_parameters stands in line %d", at.Line)
	}
	p := obs.DDPPaces[0]
	if p.Rank != 3 || p.World != 4 || p.Iteration != 1 || p.Module != "Net" || p.Times[0].Value != "2324604" || p.Times[3].Value != "11749385" || p.Times[2].Line != 10 {
		t.Errorf("%+v", p)
	}
	// 1.9 names no iteration.
	old := observe(t, strings.Replace(logged, "[before iteration 1] ", "", 1))
	if len(old.DDPPaces) != 1 || old.DDPPaces[0].Iteration != -1 || old.DDPPaces[0].Module != "Net" {
		t.Errorf("%+v", old.DDPPaces)
	}
	// Two that write at once: the times are nobody's.
	if torn := observe(t, strings.Replace(logged, " Avg backward compute", " Avg forward compute time: 9\n Avg backward compute", 1)); len(torn.DDPPaces) != 0 {
		t.Errorf("%+v", torn.DDPPaces)
	}
}

func FuzzReductions(f *testing.F) {
	f.Add(logged)
	f.Add("Parameters which did not receive grad for rank 2: aux.bias, aux.weight\nParameter indices which did not receive grad for rank 2: 4 5")
	f.Add("Parameter at index 3 with name body.bias has been marked as ready twice\n{param_name, index}): {.bias,0}{net1.weight,1} is(are) unused during first iteration")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		obs := observe(t, text)
		for _, x := range obs.Reductions {
			if len(x.Names) > maxNames || len(x.Indices) > maxNames || len(x.Names)+len(x.Indices) == 0 {
				t.Errorf("%+v", x)
			}
		}
		for _, x := range obs.DDPSetups {
			if len(x.Settings) == 0 || len(x.Settings) > maxSettings {
				t.Errorf("%+v", x)
			}
		}
	})
}
