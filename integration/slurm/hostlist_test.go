//go:build realslurm

package slurm

import (
	"slices"
	"strings"
	"testing"

	"faultline/analysis/hostlist"
)

// SLURM's own reading of host lists judges ours, in both directions.
func hostlists(t *testing.T, c *cluster) {
	for _, list := range []string{
		"node01", "node[01-12]", "node[01-03,07]", "n[09-11,100]", "n[1-3,2]", "a[1-2]b[3-4]", "ip-10-0-[3-4]-[12,15]", "a,b,c",
		"gpu[001-003],login1,cpu[1-2]", "rack[1-2]node[01-03]", "n[0-0]", "dgx-a100-[008-012]", "x[1],y[2-3]", "node[1-3].cluster", "n[7,7]",
	} {
		want, err := c.try("scontrol", "show", "hostnames", list)
		got, ours := hostlist.Expand(list)
		if err != nil || strings.TrimSpace(want) == "" {
			// What other tools write and this version refuses, we may accept.
			t.Logf("%s: SLURM refuses it, we read %v", list, got)
			continue
		}
		if ours != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: we read %v (%v), SLURM %v", list, got, ours, strings.Fields(want))
			continue
		}
		short := hostlist.Compress(got)
		again, err := c.try("scontrol", "show", "hostnames", short)
		if err != nil {
			t.Errorf("%s: SLURM cannot read our %s: %v", list, short, err)
			continue
		}
		a, b := strings.Fields(want), strings.Fields(again)
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(slices.Compact(a), slices.Compact(b)) {
			t.Errorf("%s: SLURM reads our %s as %v", list, short, b)
		}
	}
}
