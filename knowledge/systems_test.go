package knowledge

import (
	"strings"
	"testing"
)

func TestAdviceIsGivenInTheWordsOfTheSystem(t *testing.T) {
	for _, c := range []struct {
		system, text, command, wantText, want string
	}{
		{"", adviceSacct.Text, adviceSacct.Command, adviceSacct.Text, adviceSacct.Command},
		{"LSF", adviceSacct.Text, adviceSacct.Command, "Ask LSF how each step ended; the job's own state doesn't show the cause.", "bhist -l {job}"},
		{"Kubernetes", "x", "scontrol show node {node}; journalctl -k -b -1   # on {node}", "x", "kubectl describe node {node}; journalctl -k -b -1   # on {node}"},
		{"Kubernetes", "x", adviceStacks.Command, "x", "kubectl exec POD -- py-spy dump --pid {pid}"},
		{"PBS", "x", "srun --jobid={job} --overlap -w {node} bash -c 'ulimit -a; df -h /dev/shm'", "x", `ssh {node} "bash -c 'ulimit -a; df -h /dev/shm'"`},
		{"Flux", "x", eachNode("dmesg -T", "dmesg"), "x", `for h in $(echo '{nodes}' | tr , ' '); do ssh "$h" 'dmesg -T' > "dmesg-$h.txt"; done`},
		{"LSF", "x", adviceExclude.Command, "x", "bsub -R \"select[hname!='{node}']\" …"},
		{"SageMaker", "x", adviceExclude.Command, "x", ""},
		{"AWS Batch", "x", "ssh {node} 'dmesg -T; uptime'", "x", "ssh {node} 'dmesg -T; uptime'"},
		{AnotherSystem, "Ask SLURM.", "sacct -j {job} -P; sinfo -R; uptime", "Ask the scheduler.", "uptime"},
	} {
		got := Advice{c.text, c.command}.In(c.system)
		if got.Text != c.wantText || got.Command != c.want {
			t.Errorf("%s: %q\n got %q %q\nwant %q %q", c.system, c.command, got.Text, got.Command, c.wantText, c.want)
		}
	}
}

// No advice and no artefact leads to a command of SLURM's where the job was another system's, and what can be pasted keeps its quotes.
func TestNoAdviceForOtherSystemsNamesSLURM(t *testing.T) {
	var all []Advice
	for _, m := range Mechanisms() {
		all = append(all, m.Now...)
		all = append(all, m.Structural...)
		all = append(all, m.NextTime...)
	}
	for _, s := range Whole().Signatures() {
		if !strings.HasPrefix(string(s.ID), "slurm-") {
			all = append(all, s.Do...)
		}
	}
	for _, a := range artefacts {
		all = append(all, Advice{a.What, a.Command}, Advice{a.Why, a.Alive}, Advice{"", a.Next})
	}
	for i := range systems {
		for _, a := range all {
			got := a.In(systems[i].name)
			for _, word := range []string{"sacct", "scontrol", "sinfo", "squeue", "sbatch", "srun", "scancel", "SLURM's records"} {
				if strings.Contains(got.Command, word) || strings.Contains(got.Text, word) {
					t.Errorf("%s: %q %q names %s", systems[i].name, got.Text, got.Command, word)
				}
			}
			if strings.Count(got.Command, "'")%2 != 0 && !strings.Contains(got.Command, "\"") {
				t.Errorf("%s: the quotes of %q do not match", systems[i].name, got.Command)
			}
		}
	}
}

func TestTheLowestSystemHoldsTheMachines(t *testing.T) {
	for _, c := range []struct {
		seen []string
		want string
	}{
		{nil, ""}, {[]string{""}, ""}, {[]string{"Ray"}, "Ray"}, {[]string{"Ray", "Kubernetes"}, "Kubernetes"},
		{[]string{"Kubernetes", "LSF"}, AnotherSystem}, {[]string{"", "PBS"}, "PBS"},
	} {
		seen := map[string]bool{}
		for _, s := range c.seen {
			seen[s] = true
		}
		if got := TheSystem(seen); got != c.want {
			t.Errorf("%v: %q, want %q", c.seen, got, c.want)
		}
	}
	for name, want := range map[string]string{"the kubelet": "Kubernetes", "Moab": "PBS", "EC2": "", "SLURM": "", "LSF": "LSF"} {
		if got := SystemOf(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// An entry of a batch system is named for it, and says so to the engine, which asks no entry for its name.
func TestEntriesSayOfWhichSystemTheyAre(t *testing.T) {
	for _, s := range Whole().Signatures() {
		want := ""
		switch {
		case strings.HasPrefix(string(s.ID), "slurm-"):
			want = "SLURM"
		case strings.HasPrefix(string(s.ID), "k8s-"):
			want = "Kubernetes"
		case strings.Contains(string(s.ID), "sagemaker"):
			want = "SageMaker"
		}
		if s.System != want && !strings.HasPrefix(string(s.ID), EndedWithError) {
			t.Errorf("%s is of %q, want %q", s.ID, s.System, want)
		}
	}
}
