package eval

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"faultline/simulate"
)

func TestACollectorsWordsStandInThePlaceOfLabels(t *testing.T) {
	inc, err := merged(simulate.Spec{Seed: 3, Mechanism: "native-crash", Torch: "2.6", Layout: simulate.Layout{Kind: "ddp", TP: 1, CP: 1, EP: 1, DP: 16, PP: 1}, NodeCount: 2, PerNode: 8})
	if err != nil {
		t.Fatal(err)
	}
	k := Collector{Template: "<{host}>.{index} {pad:22:pod}| {text}"}
	files, done := k.recollect(inc)
	if !done {
		t.Fatal("no labels are found")
	}
	replaced := 0
	for i, f := range files {
		was, now := strings.Split(string(inc.Files[i].Data), "\n"), strings.Split(string(f.Data), "\n")
		for n := range now {
			m := label.FindStringSubmatch(was[n])
			if m == nil {
				continue
			}
			replaced++
			if want := "." + m[1] + " train-4242-worker-" + m[1]; !strings.Contains(now[n], want) || !strings.HasSuffix(now[n], "| "+was[n][len(m[0]):]) {
				t.Fatalf("%q became %q", was[n], now[n])
			}
		}
	}
	if replaced < 16 {
		t.Errorf("%d lines are collected", replaced)
	}
}

func TestEachMadeUpCollectorTellsProcessesApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		k := madeUp(r)
		if !k.tellsProcess() || strings.Count(k.Template, "{text}") != 1 {
			t.Errorf("%q", k.Template)
		}
		w := writer{host: "gx7", pod: "pod-3", index: 3, pid: 41}
		if line := k.fill(&w, `say "a\b"`, (&simulate.Incident{}).Played.Start, 7); k.JSON && !json.Valid([]byte(line)) {
			t.Errorf("%q is no record", line)
		}
	}
}
