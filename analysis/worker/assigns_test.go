package worker

import "testing"

// TestVariablesOfLaunchers: a rank is given together with its host or its local rank, or not at all.
func TestVariablesOfLaunchers(t *testing.T) {
	for text, want := range map[string]Identity{
		"++ hostname: hx3n07  SLURM_PROCID=12 SLURM_LOCALID=1":            {Global: 12, Local: 1, World: -1, Host: "hx3n07", Call: TaskNumber},
		"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_LOCAL_RANK=0 HOSTNAME=q4": {Global: 3, World: -1, Host: "q4"},
		"export PMI_RANK=9; hostname=kn11; SLURM_NTASKS=16":               {Global: 9, Local: -1, World: 16, Host: "kn11"},
		"SLURM_PROCID=12":                        {},
		"error: SLURM_PROCID=12 SLURM_LOCALID=1": {},
		"PMI_RANK=none hostname=kn11":            {},
		"hostname=kn11 seed=3":                   {},
	} {
		obs := observe(t, text+"\n")
		if len(obs.Identities) == 0 {
			if want.Host != "" {
				t.Errorf("%q: nothing", text)
			}
			continue
		}
		got := obs.Identities[0]
		got.At = At{}
		if got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
