package slurm

import (
	"slices"
	"strings"
	"testing"

	"faultline/fetch/source"
)

func said(text string) source.Output { return source.Output{Stdout: []byte(text)} }

func TestATestIsSubmittedOnce(t *testing.T) {
	b := Batch{Name: "faultline-F-1-4-1a", Dir: "/scratch/f", Flags: []string{"--nodes=2", "--nodelist=cn[01-02]"}, Command: "all_reduce_perf -g 1"}
	refused := source.Output{Code: 1, Stderr: []byte("sbatch: error: invalid partition")}
	for name, c := range map[string]struct {
		answers map[string]source.Output
		id, why string
		submits int
	}{
		"new":                 {map[string]source.Output{"squeue": said(""), "sacct": said(""), "sbatch": said("77;west\n")}, "77", "", 1},
		"it waits or runs":    {map[string]source.Output{"squeue": said("76\n")}, "76", "", 0},
		"it ended":            {map[string]source.Output{"squeue": said(""), "sacct": said("75\n")}, "75", "", 0},
		"no accounting":       {map[string]source.Output{"squeue": said(""), "sacct": refused, "sbatch": said("77\n")}, "77", "", 1},
		"nobody can tell":     {map[string]source.Output{"squeue": refused, "sacct": refused, "sbatch": said("77\n")}, "", "squeue said", 0},
		"the cluster refuses": {map[string]source.Output{"squeue": said(""), "sacct": said(""), "sbatch": refused}, "", "invalid partition", 1},
	} {
		fake := &fakeCommand{answers: c.answers}
		id, err := (&Commands{Command: fake}).Submit(t.Context(), b)
		if id != c.id || (err != nil) != (c.why != "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %q, %v", name, id, err)
		}
		n := 0
		for _, line := range fake.ran {
			if strings.HasPrefix(line, "squeue") && !strings.Contains(line, "--states=all") {
				t.Errorf("%s: a job that just ended is not found by %s", name, line)
			}
			if strings.HasPrefix(line, "sbatch") {
				n++
				if line != "sbatch --parsable --job-name=faultline-F-1-4-1a --chdir=/scratch/f --output=faultline-F-1-4-1a-%j.out --nodes=2 --nodelist=cn[01-02] --wrap=srun all_reduce_perf -g 1" {
					t.Errorf("%s: %s", name, line)
				}
			}
		}
		if n != c.submits {
			t.Errorf("%s: submitted %d times: %v", name, n, fake.ran)
		}
	}
	fake := &fakeCommand{}
	if _, err := (&Commands{Command: fake}).Submit(t.Context(), Batch{Flags: slices.Concat(b.Flags, []string{"/tmp/script"})}); err == nil || len(fake.ran) > 0 {
		t.Errorf("a script is taken for a flag: %v", fake.ran)
	}
}
