package pattern

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func must(t testing.TB, text string) Template {
	t.Helper()
	p, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// job is alice's job 15 on three nodes, outside of any array.
func job(step string, node, rank int) Vars {
	return Vars{Job: 15, Array: NoArray, Task: None, Step: step, Node: node, Host: "vm.lab", Rank: rank, User: "alice", Name: "pat", Restart: None, Release: 2205}
}

func TestNamesAsSLURMMakesThem(t *testing.T) {
	element := Vars{Job: 19, Array: 16, Task: 3, Step: "0", Node: 1, Host: "vm", Rank: 2, User: "alice", Name: "arr", Restart: 0, Release: 2411}
	old := element
	old.Release = 2205
	next := element
	next.Release, next.Restart, next.SLUID = 2511, 2, "s7X"
	het := Vars{Job: 17, Array: 17, Task: NoArray, Step: "0", Node: 0, Host: "vm", Rank: 0, User: "alice", Name: "het", Restart: None}
	for _, c := range []struct {
		template string
		c        Context
		v        Vars
		want     string
	}{
		{"p-%%-%j-%4t-%N-%n-%s-%J-%x-%u.out", Step, job("1", 2, 5), "p-%-15-0005-vm-2-1-15.1-pat-alice.out"},
		{"p-%j-%3t-%3n-%6j.err", Step, job("1", 2, 5), "p-15-005-002-000015.err"},
		{"arr_%A_%a_%j_%J_%4a_%N_%n_%t_%s_%b_%f_%z_%x_%u_%q.out", Batch, element, "arr_16_3_19_19_0003_vm_0_0_batch_3_%f_%z_arr_alice_%q.out"},
		{"arr_%A_%a_%j_%J_%4a_%N_%n_%t_%s_%b_%f_%z_%x_%u_%q.out", Batch, old, "arr_16_3_19_19_0003_vm_0_0_batch_%b_%f_%z_arr_alice_%q.out"},
		{"arrs_%A_%a_%j_%J_%s_%b_%n_%N.err", Step, old, "arrs_16_3_19_19.0_0_%b_1_vm.err"},
		{"het_%A_%a_%j_%J.out", Batch, het, "het_17_4294967294_17_17.out"},
		{"hets_%j_%A_%n_%N_%t_%s_%J.err", Step, het, "hets_17_17_0_vm_0_0_17.0.err"},
		{"%r-%S-%j", Step, next, "2-s7X-19"}, {"%r-%S-%j", Step, element, "%r-%S-19"},
		{"%06j %99999999999j %0j", Batch, element, "000019 0000000019 19"},
		{`a\%j_%x`, Batch, element, "a%j_%x"}, {"100%", Batch, element, "100%"}, {"%3f%5%", Batch, element, "%3f%5%"}, {"%4N", Step, element, "vm"}, {"%3J", Step, element, "019.0"},
	} {
		if got, ok := must(t, c.template).Expand(c.c, c.v); !ok || got != c.want {
			t.Errorf("%s: %q, want %q", c.template, got, c.want)
		}
	}
	if got, ok := must(t, "%j-%n").Expand(Step, Vars{Job: 1, Node: None}); ok {
		t.Errorf("what is not known was named %q", got)
	}
	for _, bad := range []string{"", "a\x00b", "a\nb", strings.Repeat("x", 5000), `\`} {
		if _, err := Parse(bad); !errors.Is(err, ErrTemplate) {
			t.Errorf("%.20q is a pattern", bad)
		}
	}
}

// Every name of the captures is what some pattern gives, and is read back.
func TestRealNamesAreReadBack(t *testing.T) {
	templates := []struct {
		text string
		c    Context
	}{
		{"arr_%A_%a_%j_%J_%4a_%N_%n_%t_%s_%b_%f_%z_%x_%u_%q.out", Batch}, {"arrs_%A_%a_%j_%J_%s_%b_%n_%N.err", Step}, {"het_%A_%a_%j_%J.out", Batch},
		{"hets_%j_%A_%n_%N_%t_%s_%J.err", Step}, {"p-%%-%j-%4t-%N-%n-%s-%J-%x-%u.out", Step}, {"p-%j-%3t-%3n-%6j.err", Step}, {"q-%j-%t.err", Step},
	}
	for version, release := range map[string]int{"22.05": 2205, "24.11": 2411} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "samples", "slurm", version, "pattern_expansion_filenames.txt"))
		if err != nil {
			t.Skipf("the real captures are not here: %v", err)
		}
		for name := range strings.FieldsSeq(string(raw)) {
			fits := 0
			for _, p := range templates {
				known := Unknown()
				known.Release = release
				v, ok := must(t, p.text).Matcher(p.c, known).Match(name)
				if !ok {
					continue
				}
				fits++
				if again, ok := must(t, p.text).Expand(p.c, v); ok && again != name {
					t.Errorf("%s: read as %+v, which is %s", name, v, again)
				}
				glob := must(t, p.text).Glob(p.c, known)
				if ok, err := path.Match(glob, name); !ok || err != nil {
					t.Errorf("%s does not fit %s: %v", name, glob, err)
				}
			}
			if fits != 1 {
				t.Errorf("%s: %d patterns fit", name, fits)
			}
		}
	}
}

func TestMatch(t *testing.T) {
	known := job("", None, None)
	known.Step, known.Host = "", ""
	for _, c := range []struct {
		template, name string
		ok             bool
		node, rank     int
		host           string
	}{
		{"error-%j-%n.out", "error-15-7.out", true, 7, None, ""}, {"error-%j-%n.out", "error-15-7.out.gz", true, 7, None, ""}, {"error-%j-%n.out", "error-15-07.out", false, 0, 0, ""},
		{"error-%j-%n.out", "error-151-7.out", false, 0, 0, ""}, {"error-%j-%2n.out", "error-15-07.out", true, 7, None, ""}, {"%j_%t_log.err", "15_3_log.err.1.zst", true, None, 3, ""},
		{"%x-%j-%N.err", "pat-15-node07.err", true, None, None, "node07"}, {"%x-%j-%N.err", "other-15-node07.err", false, 0, 0, ""}, {"%n-%n", "1-2", false, 0, 0, ""}, {"%n-%n", "2-2", true, 2, None, ""},
		{"%s-%J", "1-15.2", false, 0, 0, ""}, {"%s-%J", "2-15.2", true, None, None, ""}, {"%n", "99999999999", false, 0, 0, ""},
	} {
		v, ok := must(t, c.template).Matcher(Step, known).Match(c.name)
		if ok != c.ok || ok && (v.Node != c.node || v.Rank != c.rank || v.Host != c.host) {
			t.Errorf("%s of %s: %+v, %v", c.name, c.template, v, ok)
		}
	}
}

func sixteen() []string {
	var nodes []string
	for i := range 16 {
		nodes = append(nodes, "node"+string(rune('0'+(i+1)/10))+string(rune('0'+(i+1)%10)))
	}
	return nodes
}

func TestCompleteness(t *testing.T) {
	at := time.Unix(1e9, 0)
	files := func(skip ...int) []Seen {
		var out []Seen
		for i := range 16 {
			if !slices.Contains(skip, i) {
				v := Unknown()
				v.Node, v.Host, v.Rank = i, sixteen()[i]+".lab", i
				out = append(out, Seen{Name: "f" + sixteen()[i], Vars: v, Size: 100, Written: at.Add(time.Duration(i) * time.Second)})
			}
		}
		return out
	}
	change := func(list []Seen, i int, f func(*Seen)) []Seen { f(&list[i]); return list }
	for _, c := range []struct {
		name, template string
		tasks          int
		files          []Seen
		want           string
	}{
		{"all", "e-%n", None, files(), "16 of 16 nodes"},
		{"a node by index", "e-%n", None, files(6), "15 of 16 nodes, missing node07 (index 6)"},
		{"a node by name", "e-%N", None, files(6), "15 of 16 nodes, missing node07 (index 6)"},
		{"tasks", "e-%t", 16, files(3, 4), "14 of 16 tasks, missing task 3, task 4"},
		{"tasks nobody counted", "e-%t", None, files(3), "15 tasks"},
		{"one for all", "e-%j", None, nil, "0 of 1 files, missing e-%j"},
		{"many", "e-%n", None, files(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), "6 of 16 nodes, missing node01 (index 0), node02 (index 1), node03 (index 2), node04 (index 3), node05 (index 4), node06 (index 5), node07 (index 6), node08 (index 7) and 2 more"},
		{"names that are not SLURM's", "e-%N", None, change(files(), 0, func(s *Seen) { s.Vars.Host = "gpu-a" }), "1 of the 16 host names in the names of the files are not SLURM's names of the nodes: I call none missing"},
		{"an index beyond", "e-%n", None, change(files(), 0, func(s *Seen) { s.Vars.Node = 16 }), "fnode01 is of node index 16, and SLURM says that the step had 16 nodes: I call none missing"},
		{"a heterogeneous step", "e-%t", 4, files(), "fnode05 is of task 4, and SLURM says that the step had 4 tasks: I call none missing"},
		{"empty", "e-%n", None, change(files(), 2, func(s *Seen) { s.Size = 0 }), "16 of 16 nodes, empty node03 (index 2)"},
		{"denied", "e-%n", None, change(files(), 2, func(s *Seen) { s.Denied = true }), "15 of 16 nodes, unreadable node03 (index 2)"},
		{"growing", "e-%n", None, change(files(), 2, func(s *Seen) { s.Growing = true }), "16 of 16 nodes, growing node03 (index 2)"},
		{"stopped before the others", "e-%n", None, change(files(), 2, func(s *Seen) { s.Written = at.Add(-time.Hour) }), "16 of 16 nodes, truncated node03 (index 2)"},
		{"SLURM's lines only", "e-%n", None, change(files(), 2, func(s *Seen) {
			s.Start = []byte("slurmstepd-node03: error: couldn't chdir\npyxis: importing docker image: x\n\n")
			s.Size = int64(len(s.Start))
		}), "16 of 16 nodes, header only node03 (index 2)"},
		{"a line of the job", "e-%n", None, change(files(), 2, func(s *Seen) { s.Start = []byte("pyxis: imported\nepoch 1\n"); s.Size = int64(len(s.Start)) }), "16 of 16 nodes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Check(Expect{Template: must(t, c.template), Nodes: sixteen(), Tasks: c.tasks}, c.files)
			if got.String() != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
	half := files()
	for i := range 8 {
		half[i].Written = at.Add(-time.Hour)
	}
	if got := Check(Expect{Template: must(t, "%n"), Nodes: sixteen()}, half); !got.Complete() {
		t.Errorf("half of the files are quiet by nature: %s", got)
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("p-%%-%j-%4t-%N-%n-%s-%J-%x-%u.out", "p-%-15-0005-vm-2-1-15.1-pat-alice.out", uint16(2))
	f.Add("arr_%A_%a_%b_%r", "arr_1_2_3_%r", uint16(0))
	f.Add("a"+Any+"%3"+Any+"%j", "ab%3c4", uint16(3))
	f.Add(`a\b%`, "ab%", uint16(1))
	f.Fuzz(func(t *testing.T, text, name string, n uint16) {
		p, err := Parse(text)
		if err != nil || len(name) > 500 {
			return
		}
		v := Vars{Job: int(n) + 1, Array: int(n), Task: int(n % 7), Step: "0", Node: int(n % 5), Host: "node-1", Rank: int(n % 11), User: "al", Name: "tr", Restart: 1, SLUID: "x1"}
		for _, c := range []Context{Batch, Step} {
			whole, ok := p.Expand(c, v)
			if !ok && strings.Contains(text, Any) {
				p.Glob(c, v)
				p.Matcher(c, v).Match(name)
				continue
			}
			if !ok {
				t.Fatalf("%q has a symbol without a value", text)
			}
			if _, ok := p.Matcher(c, v).Match(whole); !ok {
				t.Fatalf("%q does not read its own %q", text, whole)
			}
			if ok, err := path.Match(p.Glob(c, v), whole); err != nil || !ok {
				t.Fatalf("%q does not fit %q: %v", whole, p.Glob(c, v), err)
			}
			if got, ok := p.Matcher(c, Unknown()).Match(name); ok {
				Check(Expect{Template: p, Nodes: []string{"a", "b"}, Tasks: 2}, []Seen{{Name: name, Vars: got}})
			}
		}
	})
}
