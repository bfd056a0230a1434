package repro

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/knowledge"
)

var update = flag.Bool("update", false, "write the golden files")

func ptr[T any](v T) *T { return &v }

// report is a verdict on a job in whose groups the given operations are stuck.
func report(mechanism string, world int, root []int, groups ...incident.Group) *incident.Report {
	r := &incident.Report{Schema: incident.Schema, Groups: groups}
	r.Verdict = incident.Verdict{Status: incident.Probable, Mechanism: mechanism, Candidates: []incident.Candidate{{Mechanism: mechanism}}}
	r.Verdict.Root.Ranks = root
	r.Job.WorldSize = ptr(world)
	return r
}

func group(key, op string, numel int64, ranks ...int) incident.Group {
	g := incident.Group{Key: key, Size: ptr(len(ranks)), Stuck: &incident.Stuck{Op: op, Size: ptr(numel)}}
	for _, rank := range ranks {
		g.Ranks = append(g.Ranks, incident.GroupMember{Rank: ptr(rank)})
	}
	return g
}

func shown(r *incident.Report, statement string, texts ...string) *incident.Report {
	f := incident.Finding{Statement: statement}
	for _, t := range texts {
		f.Evidence = append(f.Evidence, incident.Evidence{Kind: incident.KindQuote, Text: t})
	}
	r.Hypotheses = append(r.Hypotheses, incident.Hypothesis{Mechanism: r.Verdict.Mechanism, Status: "accepted", For: []incident.Finding{f}})
	return r
}

func upTo(n int) (ranks []int) {
	for i := range n {
		ranks = append(ranks, i)
	}
	return ranks
}

var golden = []struct {
	name string
	r    *incident.Report
	o    Options
}{
	{"mismatch-op", shown(report("collective-mismatch", 8, []int{5}), "rank 0 ran ALLREDUCE while rank 5 ran ALLGATHER",
		"Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[4, 2], TensorDtypes=BFloat16, TensorDeviceTypes=x), but Rank 5 is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType=ALLGATHER, TensorShape=[8], TensorDtypes=Float, y)."), Options{CPU: true}},
	{"mismatch-size", shown(report("collective-mismatch", 4, []int{2}, group("0", "ALLREDUCE", 1<<20, 0, 1, 2, 3)),
		"rank 0 on n1 in ALLREDUCE #9 (1048576 elements); rank 2 on n1 in ALLREDUCE #9 (2097152 elements)"), Options{}},
	{"mismatch-dtype", shown(report("collective-mismatch", 2, nil), "",
		"Rank 0 is running collective: CollectiveFingerPrint(OpType=ALLREDUCE, TensorShape=[4], TensorDtypes=Float, x), but Rank 1 is running collective: CollectiveFingerPrint(OpType=ALLREDUCE, TensorShape=[4], TensorDtypes=BFloat16, y)."), Options{CPU: true}},
	{"mismatch-order", report("collective-mismatch", 16, nil, group("dp", "ALLREDUCE", 4096, 0, 4), group("tp", "_ALLGATHER_BASE", 64, 0, 1)), Options{}},
	{"stalled", report("rank-stalled", 4, []int{2}, group("0", "ALLREDUCE", 1, 0, 1, 2, 3)), Options{CPU: true}},
	{"stalled-strided", report("rank-stalled", 64, []int{9}, group("dp", "_REDUCE_SCATTER_BASE", 1<<24, 1, 9, 17, 25)), Options{}},
	{"stalled-pair", report("rank-stalled", 8, []int{3}, group("pp", "RECV", 1<<24, 3, 7)), Options{}},
	{"lone-waiter", report("lone-waiter", 32, []int{0}, group("0", "BROADCAST", 5, upTo(32)...)), Options{CPU: true}},
	{"uneven-data", report("uneven-data", 3, []int{1}, group("0", "ALLREDUCE", 512, 0, 1, 2)), Options{CPU: true}},
	{"collective-hang", report("collective-hang", 16, nil, group("0", "ALLREDUCE", 1<<30, upTo(16)...)), Options{}},
	{"gpu-hang", report("gpu-hang", 16, []int{4}, group("tp", "_ALLGATHER_BASE", 1<<10, 4, 5)), Options{}},
}

func TestScripts(t *testing.T) {
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			s, err := Make(c.r, c.o)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", c.name+".py")
			if *update {
				if err := os.WriteFile(path, s.Text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(s.Text, want) {
				t.Errorf("%s differs; look at the change, then run with -update:\n%s", path, s.Text)
			}
			compile(t, s.Text)
		})
	}
}

// compile lets Python read a script, where there is one.
func compile(t *testing.T, text []byte) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("there is no python3 to read it")
		return
	}
	cmd := exec.Command(python, "-c", "import sys; compile(sys.stdin.read(), 'repro.py', 'exec')")
	cmd.Stdin = bytes.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("Python does not read it: %v\n%s\n%s", err, out, text)
	}
}

func TestWhatTheSmallJobKeeps(t *testing.T) {
	for _, c := range golden {
		s, err := Make(c.r, c.o)
		if err != nil {
			t.Fatal(err)
		}
		text := string(s.Text)
		for _, want := range map[string][]string{
			"mismatch-op":     {"all_reduce(group, ranks, 8, torch.float16", "all_gather(group, ranks, 8, torch.float32", "WORLD = 4", "CULPRIT = 3"},
			"mismatch-size":   {"all_reduce(group, ranks, 1024,", "all_reduce(group, ranks, 2048,", "CULPRIT = 2", `BACKEND = "nccl"`},
			"mismatch-dtype":  {"WORLD = 2", "4, torch.float32", "4, torch.bfloat16"},
			"mismatch-order":  {"second(crossing", "all_gather_into_tensor(group, ranks, 64,"},
			"stalled":         {"CULPRIT = 2", "GROUPS = []"},
			"stalled-strided": {"GROUPS = [[0, 2], [1, 3]]", "reduce_scatter_tensor(group, ranks, 1024,"},
			"lone-waiter":     {"CULPRIT = 0", "broadcast(group, ranks, 5,"},
			"uneven-data":     {"WORLD = 3", "CULPRIT = 1"},
			"collective-hang": {"GROUP_SIZE = 0", "4194304"},
			"gpu-hang":        {"GROUP_SIZE = 2"},
		}[c.name] {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q", c.name, want)
			}
		}
	}
}

// Each operation, on each back end, is a script that Python reads; with each fault.
func TestEveryOperationMakesAScript(t *testing.T) {
	var all bytes.Buffer
	for op := range operations {
		for _, slug := range played() {
			for _, cpu := range []bool{false, true} {
				s, err := Make(report(slug, 8, []int{1}, group("0", op, 7, 0, 1)), Options{CPU: cpu})
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(s.Text), "<no value>") {
					t.Errorf("%s %s: a hole", op, slug)
				}
				fmt.Fprintf(&all, "%s\x00", s.Text)
			}
		}
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 to read them")
	}
	cmd := exec.Command(python, "-c", `import sys; [compile(s, "repro.py", "exec") for s in sys.stdin.read().split("\0")]`)
	cmd.Stdin = &all
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("Python does not read one: %v\n%s", err, out)
	}
}

// played are the mechanisms that a script can show.
func played() (slugs []string) {
	for _, m := range knowledge.Mechanisms() {
		if m.Play.Slip != "" {
			slugs = append(slugs, string(m.Slug))
		}
	}
	return slugs
}

func TestTablesHoldTogether(t *testing.T) {
	for name, o := range operations {
		if o.gloo != "" && operations[o.gloo].Func == "" {
			t.Errorf("%s: Gloo's %s is no operation", name, o.gloo)
		}
	}
}

func TestNothingToShowIsSaid(t *testing.T) {
	r := report("gpu-oom", 8, []int{1})
	r.Recommendations = []incident.Recommendation{{When: "structural", Text: "Later."}, {When: "now", Text: "Reduce the micro-batch size."}}
	var u *UnsuitableError
	if _, err := Make(r, Options{}); !errors.As(err, &u) || !strings.Contains(err.Error(), "gpu-oom") || !strings.HasSuffix(err.Error(), "Instead: Reduce the micro-batch size.") {
		t.Errorf("it says %v", err)
	}
	r = report("rank-stalled", 8, nil)
	r.Verdict.Status = incident.NoFailure
	if _, err := Make(r, Options{}); !errors.As(err, &u) || u.Suspected != "Nothing failed here" {
		t.Errorf("it says %v", err)
	}
}

func TestOfSeveralCandidatesOneIsTaken(t *testing.T) {
	r := report("peer-lost", 8, nil)
	r.Verdict.Candidates = []incident.Candidate{{Mechanism: "peer-lost"}, {Mechanism: "uneven-data"}, {Mechanism: "gpu-hang"}}
	for wanted, got := range map[string]string{"": "uneven-data", "gpu-hang": "gpu-hang"} {
		if s, err := Make(r, Options{Mechanism: wanted}); err != nil || s.Mechanism != got {
			t.Errorf("%q: %v, %v", wanted, s, err)
		}
	}
}

// FuzzMake: whatever a report says, none of its words reaches a script.
func FuzzMake(f *testing.F) {
	evil := "\"\"\"\nimport zzos; zzos.zzsystem(`zz`)\n\"\"\""
	f.Add("ALLREDUCE", evil, "rank 1 in ALLREDUCE #1 (3 elements); rank 2 in "+evil+" #1 (4 elements)", evil, int64(-1), -4)
	f.Add(evil, "n1;zzrm", "Rank 1 is running collective: CollectiveFingerPrint(OpType="+evil, "zznode\n", int64(1)<<62, 1<<30)
	f.Fuzz(func(t *testing.T, op, desc, statement, node string, numel int64, rank int) {
		for _, slug := range played() {
			r := shown(report(slug, rank, []int{rank}, group(desc, op, numel, rank, 1)), statement, statement)
			r.Groups[0].Desc = desc
			r.Verdict.Root.Nodes = []string{node}
			r.Verdict.Summary = desc
			s, err := Make(r, Options{CPU: numel%2 == 0})
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(s.Nodes, func(n string) bool { return strings.ContainsAny(n, " ;\n'\"$`") }) {
				t.Errorf("nodes %q", s.Nodes)
			}
			if n := bytes.Count(s.Text, []byte(`"""`)); n != 4 {
				t.Errorf("%d triple quotes", n)
			}
			for _, w := range word.FindAllString(string(s.Text), -1) {
				if !vocabulary[w] {
					t.Errorf("the word %q is neither of the template nor of the tables", w)
				}
			}
		}
	})
}

var word = regexp.MustCompile(`[^\s0-9()\[\]{},.:=/'"_+*%<>#;-]+`)

// vocabulary are the words that this package writes by itself.
var vocabulary = func() map[string]bool {
	words := map[string]bool{}
	add := func(s string) {
		for _, w := range word.FindAllString(s, -1) {
			words[w] = true
		}
	}
	add(text)
	for _, name := range []string{"plan.go", "repro.go", "tables.go"} {
		source, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		add(string(source))
	}
	for _, m := range knowledge.Mechanisms() {
		if m.Play.Slip != "" {
			add(string(m.Slug) + " " + m.Play.Does)
		}
	}
	return words
}()
