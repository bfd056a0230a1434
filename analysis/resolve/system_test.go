package resolve

import (
	"testing"

	"faultline/analysis/worker"
)

func TestTheBatchSystemIsToldByItsOwnLines(t *testing.T) {
	ends := func(names ...string) (list []worker.End) {
		for _, n := range names {
			list = append(list, worker.End{System: n})
		}
		return list
	}
	fact := func(key, value string) worker.Fact { return worker.Fact{Key: key, Value: value} }
	for _, c := range []struct {
		why  string
		obs  worker.Observations
		want string
	}{
		{"nothing tells", worker.Observations{}, ""},
		{"LSF ended it", worker.Observations{Ends: ends("LSF")}, "LSF"},
		{"the cloud took a machine, which says nothing of who started the job", worker.Observations{Ends: ends("EC2")}, ""},
		{"SLURM on machines of Kubernetes", worker.Observations{Ends: ends("the kubelet", "")}, ""},
		{"submitit goes with SLURM", worker.Observations{Ends: ends("submitit")}, ""},
		{"srun told of a task", worker.Observations{Ends: ends("PBS"), TaskExits: []worker.TaskExit{{}}}, ""},
		{"the environment", worker.Observations{Facts: []worker.Fact{fact("system", "PBS")}}, "PBS"},
		{"the environment, and SLURM's", worker.Observations{Facts: []worker.Fact{fact("system", "Kubernetes"), fact("job_id", "77")}}, ""},
		{"Kubernetes' events", worker.Observations{Signs: []worker.Sign{{ID: "k8s-evicted-memory"}}}, "Kubernetes"},
		{"a file of SLURM's", worker.Observations{Ends: ends("Ray"), Tails: []worker.Tail{{File: "a/slurm-77.out"}}}, ""},
		{"Ray on Kubernetes", worker.Observations{Ends: ends("Ray", "Volcano")}, "Kubernetes"},
	} {
		if got := systemOf(nil, &c.obs, nil); got != c.want {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
	}
}
