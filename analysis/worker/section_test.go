package worker

import (
	"testing"

	"faultline/analysis/line"
)

// MosaicML's launcher repeats what each failed process had printed; what stands between its marks is that rank's.
func TestSectionsOfALauncherNameTheirRank(t *testing.T) {
	obs := observe(t, `ERROR:composer.cli.launcher:Rank 2 crashed with exit code 1.
Global rank 2 (PID 4711) exited with code 1
----------Begin global rank 2 STDOUT----------

----------End global rank 2 STDOUT----------
----------Begin global rank 2 STDERR----------
Traceback (most recent call last):
  File "train.py", line 91, in <module>
    main()
ValueError: sample 1742 has no tokens
----------End global rank 2 STDERR----------
Traceback (most recent call last):
  File "launch.py", line 9, in <module>
    main()
KeyError: 'after the section'
Global rank 7 (PID 4716) exited with code -6
----------Begin global rank 7 STDERR----------
Traceback (most recent call last):
  File "train.py", line 12, in <module>
    main()
IndexError: cut here
`)
	want := map[string]int{"ValueError": 2, "KeyError": line.Unknown, "IndexError": 7}
	for _, x := range obs.Exceptions {
		if rank, ok := want[x.Type]; ok {
			if x.Who().MPIRank != rank {
				t.Errorf("%s is of rank %d, want %d", x.Type, x.Who().MPIRank, rank)
			}
			delete(want, x.Type)
		}
	}
	if len(want) > 0 {
		t.Errorf("not read: %v", want)
	}
	if c := obs.ChildFailed; len(c) != 3 || c[0].Rank != 2 || !c[0].Root || c[1].Rank != 2 || c[1].Pid != 4711 || c[1].Root || c[2].ExitCode != -6 {
		t.Errorf("failed processes %+v", obs.ChildFailed)
	}
}
