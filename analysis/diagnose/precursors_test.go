package diagnose

import (
	"slices"
	"testing"

	"faultline/incident"
)

func TestWhatCameBeforeAFailureIsCounted(t *testing.T) {
	var r trained
	for range 3 {
		r.steps(60, 2, "2.5")
		r.save()
		r.at += 2
		r.save() // another rank says so, too
	}
	r.steps(10, 2, "2.4")
	r.line("Traceback (most recent call last):")
	r.line(`  File "train.py", line 7, in step`)
	r.line("RuntimeError: CUDA error: an illegal memory access was encountered")
	rep := r.judge(t)
	// The first step ends at 10:00:02, the saves begin at 10:02:00, 10:04:02 and 10:06:04, and it fails at 10:06:26.
	want := []incident.Precursor{{Kind: incident.BeforeSave, N: 3, Last: 22, Over: 384}}
	if !slices.Equal(rep.Before, want) {
		t.Errorf("%s: %+v, want %+v; %+v", rep.Verdict.Mechanism, rep.Before, want, rep.Timeline)
	}

	var fine trained
	fine.steps(60, 2, "2.5")
	fine.save()
	fine.line("Training completed.")
	if rep := fine.judge(t); rep.Before != nil {
		t.Errorf("%s: %+v", rep.Verdict.Mechanism, rep.Before)
	}
}
