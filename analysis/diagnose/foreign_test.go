package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/simulate"
)

// A host that is none of the job's stated nodes is named as such: neither it nor who writes of it is accused, and no scheduler is asked to leave it out.
func TestAHostThatIsNoNodeOfTheJobIsNotAccused(t *testing.T) {
	const (
		failed = "srun: error: Node failure on %s\n"
		killed = "srun: error: %s: task 5: Out Of Memory\n"
		chips  = "The host that have bad TPUs are: %s\n"
	)
	for _, c := range []struct {
		name, line, host string
		nodes            []string
		accused          bool
		excluded         bool
	}{
		{"a node that failed", failed, "n2", []string{"n1", "n2"}, true, true},
		{"a node that failed, by its whole name", failed, "n2.cluster.example", []string{"n1", "n2"}, true, true},
		{"a node that failed, and nobody states the job's", failed, "n2", nil, true, true},
		{"a node of other names than the logs'", failed, "gpu-2", []string{"ip-10-0-0-1", "ip-10-0-0-2"}, true, true},
		{"an address", failed, "10.0.0.2", []string{"n1", "n2"}, true, true},
		{"another job's node that failed", failed, "n7", []string{"n1", "n2"}, false, false},
		{"another job's node was out of memory", killed, "n7", []string{"n1", "n2"}, false, false},
		{"a node was out of memory", killed, "n2", []string{"n1", "n2"}, true, false},
		{"bad chips of another job", chips, "n7", []string{"n1", "n2"}, false, false},
		{"bad chips", chips, "n2", []string{"n1", "n2"}, true, true},
	} {
		r := Run(read(t, []simulate.File{{Name: "slurm-9-n1.out", Data: []byte(fieldSteps + fmt.Sprintf(c.line, c.host))}}, c.nodes, 0))
		short, _, _ := strings.Cut(c.host, ".cluster")
		if got := slices.Contains(r.Verdict.Root.Nodes, short); got != c.accused {
			t.Errorf("%s: %s, %s, nodes %v, named %q", c.name, r.Verdict.Status, r.Verdict.Mechanism, r.Verdict.Root.Nodes, r.Verdict.Root.Named)
		}
		if got := slices.Contains(r.Action.ExcludeNodes, short); got != c.excluded {
			t.Errorf("%s: left out: %v", c.name, r.Action.ExcludeNodes)
		}
		if c.accused {
			continue
		}
		if want := "find out whether " + c.host + " was one of the job"; c.line == failed && !strings.HasPrefix(r.Action.Text, want) {
			t.Errorf("%s: %s", c.name, r.Action.Text)
		}
		if r.Verdict.Root.Named != c.host+" (not one of the job's nodes)" || len(r.Verdict.Root.Nodes) > 0 || r.Verdict.Status == "confirmed" {
			t.Errorf("%s: %s, nodes %v, named %q", c.name, r.Verdict.Status, r.Verdict.Root.Nodes, r.Verdict.Root.Named)
		}
		for _, rec := range r.Recommendations {
			if strings.Contains(rec.Command, "--exclude="+c.host) || strings.Contains(rec.Command, "NodeName="+c.host) {
				t.Errorf("%s: %s", c.name, rec.Command)
			}
		}
	}
}
