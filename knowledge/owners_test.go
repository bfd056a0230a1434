package knowledge

import "testing"

func TestWhoDoesWhatAnAdviceSays(t *testing.T) {
	for name, c := range map[string]struct {
		advice  Advice
		failure Owner
		want    Owner
	}{
		"a node of a job whose fault is not known": {adviceKernelLog, OwnerUnknown, OwnerCluster},
		"a node, though the code is at fault":      {adviceKernelLog, OwnerCode, OwnerCluster},
		"the job's own settings":                   {adviceRecorder, OwnerCluster, OwnerUnknown},
		"the settings of a job whose code fails":   {adviceRecorder, OwnerCode, OwnerCode},
		"leaving a node out":                       {adviceExclude, OwnerCluster, OwnerUnknown},
		"no command":                               {adviceMachine, OwnerStorage, OwnerStorage},
		"saving, though a node died":               {adviceCheckpoint, OwnerCluster, OwnerUnknown},
		"staging, though a mount failed":           {adviceStage, OwnerStorage, OwnerUnknown},
		"the store's own tool":                     {Advice{"Check the disks.", "ais storage mountpath"}, OwnerUnknown, OwnerStorage},
	} {
		if got := c.advice.OwnedBy(c.failure); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}
