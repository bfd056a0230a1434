package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/analysis/verify"
	"faultline/incident"
	"faultline/simulate"
)

// nightly is the name of the job whose histories are played.
const nightly = "nightly-70b"

// crash is one incident that a machine, the code or neither may explain.
func crash(t *testing.T, mechanism string, seed uint64) *simulate.Incident {
	t.Helper()
	inc := play(t, simulate.Spec{Seed: seed, Mechanism: mechanism, Torch: "2.5", Layout: simulate.Layout{Kind: "ddp", TP: 1, CP: 1, EP: 1, DP: 64, PP: 1},
		NodeCount: 16, PerNode: 4, FileMode: "node"})
	env := fmt.Sprintf("SLURM_JOB_NAME=%s\n+ srun torchrun --nproc_per_node 4 train.py --lr 0.2 --new 7 --out /runs/%d\n", nightly, inc.Played.Job)
	inc.Files = append(inc.Files, simulate.File{Name: "environment.txt", Data: []byte(env)})
	return inc
}

// compared diagnoses an incident with a history; nil bytes are none.
func compared(t *testing.T, inc *simulate.Incident, history []byte) *incident.Report {
	t.Helper()
	dir := t.TempDir()
	in := analysis.Input{Sources: put(t, filepath.Join(dir, "logs"), inc.Files), WorldSize: 64, Version: "test"}
	if history != nil {
		path := filepath.Join(dir, "history.jsonl")
		if err := os.WriteFile(path, history, 0o600); err != nil {
			t.Fatal(err)
		}
		in.History = []incident.Source{{Name: "history.jsonl", Path: path, Bytes: int64(len(history)), Origin: "history"}}
	}
	r, err := analysis.Diagnose(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if err := sound(r); err != nil {
		t.Errorf("with this history: %v", err)
	}
	files := verify.Files{}
	for _, s := range slices.Concat(in.Sources, in.History) {
		files[s.Name] = s.Path
	}
	if _, failures, err := verify.Report(t.Context(), files, r); err != nil || len(failures) > 0 {
		t.Errorf("it does not hold: %v %+v", err, failures)
	}
	if b, _ := json.Marshal(r); bytes.Contains(b, []byte("u-secret-key")) {
		t.Error("the report shows the key of the submitter")
	}
	return r
}

// judged is all of a report that a history may not change without weighing.
func judged(r *incident.Report) string {
	b, _ := json.Marshal([]any{r.Verdict, r.Action, r.Chain, r.Timeline, r.Hypotheses, r.Recommendations, r.Groups, r.Ranks})
	return string(b)
}

func TestAHistoryWeighsOnlyWhereChanceIsNoExplanation(t *testing.T) {
	t.Parallel()
	mechanisms := []string{"native-crash", "cuda-error"}
	if raced {
		mechanisms = mechanisms[:1]
	}
	for _, mechanism := range mechanisms {
		inc := crash(t, mechanism, 5)
		alone := compared(t, inc, nil)
		if len(alone.Verdict.Root.Nodes) != 1 || alone.Job.Name == nil || *alone.Job.Name != nightly {
			t.Fatalf("%s: root %+v of job %v", mechanism, alone.Verdict.Root, alone.Job.Name)
		}
		host := alone.Verdict.Root.Nodes[0]
		if slices.Contains(alone.Action.ExcludeNodes, host) || alone.Action.Owner != "job-code" {
			t.Fatalf("%s: alone it says %+v", mechanism, alone.Action)
		}
		for _, kind := range simulate.Histories() {
			for seed := range uint64(cases(4)) {
				data, truth := simulate.History(inc, simulate.HistorySpec{Seed: seed, Kind: kind, Name: nightly, Item: "/data/shard-7.tar"})
				name := fmt.Sprintf("%s, %s, seed %d", mechanism, kind, seed)
				r := compared(t, inc, data)
				if r.History == nil || r.History.Runs != truth.Runs {
					t.Fatalf("%s: %+v, and %d runs are told of", name, r.History, truth.Runs)
				}
				weighs := ""
				for _, rec := range r.History.Recurrences {
					if rec.Weighs {
						weighs += rec.Kind
					}
				}
				want := truth.Weighs
				if want == "item" {
					want = "" // this failure names none
				}
				if weighs != want {
					t.Errorf("%s: %q weighs, not %q: %+v", name, weighs, want, r.History.Recurrences)
				}
				switch want {
				case "":
					if judged(r) != judged(alone) {
						t.Errorf("%s: what does not weigh changes the report:\n%s\n%s", name, judged(alone), judged(r))
					}
				case "host":
					if !slices.Equal(r.Action.ExcludeNodes, []string{host}) || r.Action.Owner != "cluster" || r.Action.Resubmit != "yes" ||
						!strings.Contains(r.Recommendations[0].Text, "Drain and test "+host) || !strings.Contains(r.Recommendations[0].Text, " of 41 earlier runs") {
						t.Errorf("%s: %+v %+v %s", name, r.Action, r.Recommendations[0], r.Verdict.Summary)
					}
				case "step":
					if r.Action.Resubmit != "after-fix" || r.Action.Owner != "job-code" || len(r.Action.ExcludeNodes) > 0 || !strings.Contains(r.Recommendations[0].Text, "step") {
						t.Errorf("%s: %+v %+v", name, r.Action, r.Recommendations[0])
					}
				}
				if r.Verdict.Mechanism != alone.Verdict.Mechanism || !slices.Equal(r.Verdict.Root.Nodes, alone.Verdict.Root.Nodes) {
					t.Errorf("%s: it accuses another", name)
				}
			}
		}
	}
}

func TestTheLastGoodRunIsCompared(t *testing.T) {
	t.Parallel()
	inc := crash(t, "native-crash", 8)
	data, truth := simulate.History(inc, simulate.HistorySpec{Kind: "good", Name: nightly})
	good := compared(t, inc, data).History.LastGood
	if good == nil || good.Run != truth.Good {
		t.Fatalf("%+v, and the last good run is %s", good, truth.Good)
	}
	var kinds, said []string
	for _, d := range good.Differences {
		kinds = append(kinds, d.What)
		said = append(said, fmt.Sprintf("%s %s: %s > %s", d.What, d.Name, d.Was, d.Now))
		if len(d.Evidence) == 0 {
			t.Errorf("%s %s has no evidence", d.What, d.Name)
		}
	}
	want := append(slices.Clone(truth.Changed), "argument") // --new and --out are new, --old is gone, --lr is another
	if !slices.Equal(kinds, want) {
		t.Errorf("%v, not %v", said, want)
	}
	if !slices.Contains(said, "argument lr: 0.1 > 0.2") || !slices.Contains(said, "nodes-removed : spare01 > ") {
		t.Errorf("%v", said)
	}
	// A job's own id in a value is no difference.
	moved := bytes.ReplaceAll(data, []byte(`"old": "1"`), []byte(`"out": "/runs/1003"`))
	for _, d := range compared(t, inc, moved).History.LastGood.Differences {
		if d.Name == "out" {
			t.Errorf("%+v: the value holds each job's own id", d)
		}
	}
}

// The order of a history's lines means nothing; neither does a line that stands there twice.
func TestTheOrderOfAHistoryDoesNotMatter(t *testing.T) {
	t.Parallel()
	inc := crash(t, "native-crash", 6)
	p := rand.New(rand.NewPCG(*seed, 11))
	for i, kind := range simulate.Histories() {
		if raced && i%3 != 0 {
			continue
		}
		data, _ := simulate.History(inc, simulate.HistorySpec{Kind: kind, Name: nightly})
		base := withoutLines(compared(t, inc, data))
		lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
		for range 2 {
			p.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			if got := withoutLines(compared(t, inc, append(bytes.Join(lines, []byte("\n")), '\n'))); got != base {
				t.Errorf("%s: another order, another report:\n%s\n%s", kind, base, got)
			}
		}
		if kind == "hostile" {
			continue
		}
		if got := compared(t, inc, append(slices.Clone(data), data...)); judgedHistory(got) != judgedHistory(compared(t, inc, data)) {
			t.Errorf("%s: each line twice, another report", kind)
		}
	}
}

// withoutLines is a report without the places in its history, and without the warnings, which name them.
func withoutLines(r *incident.Report) string {
	h := *r.History
	for i := range h.Recurrences {
		h.Recurrences[i].Evidence = nil
	}
	if h.LastGood != nil {
		h.LastGood.Evidence = nil
		for i := range h.LastGood.Differences {
			h.LastGood.Differences[i].Evidence = nil
		}
	}
	for i := range r.Hypotheses {
		for j := range r.Hypotheses[i].For {
			r.Hypotheses[i].For[j].Evidence = nil
		}
	}
	b, _ := json.Marshal(h)
	return string(b) + judged(r)
}

func judgedHistory(r *incident.Report) string { return withoutLines(r) }

func TestTheSameItemAgainIsTheData(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range 30 {
		fmt.Fprintf(&log, "[rank3]: {'loss': 2.1, 'step': %d}\n2026-05-01 10:00:%02d,000 INFO step %d/1000 loss 2.1\n", i, i, i)
	}
	log.WriteString("[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/opt/train.py\", line 4, in <module>\n[rank3]:     for batch in loader:\n" +
		"[rank3]:   File \"/usr/lib/python3.11/site-packages/torch/utils/data/dataloader.py\", line 701, in __next__\n[rank3]:     data = self._next_data()\n" +
		"[rank3]: tarfile.ReadError: unexpected end of data in shard '/data/shards/0007.tar'\n")
	inc := &simulate.Incident{Spec: simulate.Spec{Mechanism: "bad-sample", PerNode: 4, NodeCount: 2}, Files: []simulate.File{{Name: "error-77-0.out", Data: []byte(log.String())}}}
	inc.Played = simulate.Played{Job: 77, Nodes: []string{"n1", "n2"}, Root: 3, Step: 29}
	const shard = "/data/shards/0007.tar"
	alone := compared(t, inc, nil)
	if alone.Verdict.Mechanism != "bad-sample" || alone.Verdict.Status != incident.Probable || alone.Verdict.Root.Item == nil || *alone.Verdict.Root.Item != shard {
		t.Fatalf("%+v", alone.Verdict)
	}
	for kind, want := range map[string]string{"item": incident.Confirmed, "other-item": incident.Probable, "noise": incident.Probable} {
		data, _ := simulate.History(inc, simulate.HistorySpec{Kind: kind, Name: nightly, Item: shard})
		r := compared(t, inc, data)
		if r.Verdict.Status != want || r.Verdict.Mechanism != "bad-sample" {
			t.Errorf("%s: %s %s, not %s", kind, r.Verdict.Status, r.Verdict.Mechanism, want)
		}
		if kind == "item" && !strings.Contains(r.Recommendations[0].Text, "Remove "+shard+" from the data") {
			t.Errorf("%s: %+v", kind, r.Recommendations[0])
		}
	}
}
