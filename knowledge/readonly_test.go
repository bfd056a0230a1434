package knowledge

import (
	"slices"
	"strings"
	"testing"
)

// What a command does to a node decides whether it may name one that nothing accuses; an unknown program is taken to do harm.
func TestOnlyWhatLooksIsHarmless(t *testing.T) {
	for command, want := range map[string]bool{
		"ssh {node} 'nvidia-smi -q -d ECC; dmesg -T | grep -Ei \"xid|aer\" | tail -5'": true,
		"ssh {node} dmesg -T > dmesg-{node}.txt":                                       true,
		"ssh {node} nvidia-smi -L; export X=1":                                         true,
		"clush -w {nodes} 'timeout 10 stat -f . || echo no answer'":                    true,
		"ssh {node} 'for i in 0 1; do npu-smi info -t ecc -i $i; done'":                true,
		"srun -w {nodes} all_reduce_perf -b 8M":                                        true,
		"sbatch --nodes=4 train.sh":                                                    true,
		"ssh {node} 'nvidia-smi --gpu-reset'":                                          false,
		"ssh {node} 'dmesg -T; nvidia-smi -r'":                                         false,
		"ssh {node} dmesg -C":                                                          false,
		"ssh {node} 'dcgmi diag -r 3; nvidia-smi -q'":                                  false,
		"ssh {node} 'perfquery -x -R'":                                                 false,
		"ssh {node} 'uptime && sudo reboot'":                                           false,
		"ssh {node} 'uptime\nreboot'":                                                  false,
		"ssh {node} 'echo 1 > /proc/sys/vm/drop_caches'":                               false,
		"ssh {node} 'cat $(rm -rf /scratch)'":                                          false,
		"ssh {node} 'env X=1 reboot'":                                                  false,
		"ssh {node} 'timeout 5 reboot'":                                                false,
		"ssh {node} 'sysctl -w vm.swappiness=1'":                                       false,
		"ssh {node} 'systemctl restart slurmd'":                                        false,
		"clush -w {nodes} 'systemctl restart slurmd'":                                  false,
		"scontrol update NodeName={node} State=DRAIN Reason=\"GPU error\"":             false,
		"ticket new --queue gpu --node {node}":                                         false,
		"kubectl cordon {node}":                                                        false,
		"ssh {node} 'for i in 0 1; do nvidia-smi -i $i -r; done'":                      false,
		"ssh {node}":         false,
		"ssh {node} 'uptime": false,
		"ssh {node} 'journalctl --vacuum-size=1M'":      false,
		"ssh {node} 'curl -sS -X DELETE http://host/x'": false,
		"ssh {node} 'ip link set eth0 down'":            false,
	} {
		if got := (Advice{Command: command}).Harmless(); got != want {
			t.Errorf("%s: harmless is %t", command, got)
		}
	}
}

// The commands that name a node and change it, or take much of it, are these: whoever adds another decides so here.
func TestWhatChangesANodeIsListed(t *testing.T) {
	want := []string{
		`ipmitool -H {node}-bmc sel list | tail`,
		`ssh {node} 'aws s3 cp s3://BUCKET/SHARD - | wc -c'`,
		`ssh {node} 'curl -sS -m 60 -o /dev/null -w "%{speed_download}" OBJECT_URL'`,
		`ssh {node} 'dcgmi diag -r 3; nvidia-smi -q -d ECC,ROW_REMAPPER'`,
		`ssh {node} 'dcgmi diag -r 4'`,
		`ssh {node} 'gsutil cat gs://BUCKET/SHARD | wc -c'`,
		`ssh {node} 'nvidia-smi --gpu-reset'`,
		`ssh {node} nvidia-bug-report.sh`,
	}
	var got []string
	for _, a := range everyAdvice() {
		if !a.Harmless() && !slices.Contains(got, a.Command) {
			got = append(got, a.Command)
		}
		if strings.Contains(a.Command, onNodes) && !a.Harmless() {
			t.Errorf("runs on all nodes of the job, and does not only look: %s", a.Command)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func everyAdvice() (all []Advice) {
	for _, m := range Mechanisms() {
		all = slices.Concat(all, m.Now, m.Structural, m.NextTime)
		if o := m.OfAIStore; o != nil {
			all = slices.Concat(all, o.Now, o.Structural, o.NextTime)
		}
	}
	for _, s := range Whole().Signatures() {
		all = slices.Concat(all, s.Do)
	}
	return all
}
