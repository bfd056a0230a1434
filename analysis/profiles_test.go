package analysis

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"faultline/incident"
)

// profileOf is what py-spy records of a rank that loads for so many of 100 samples.
func profileOf(loading int) string {
	of := fmt.Sprintf("process %d:\"python train.py\";thread (0x7f%x);", 4000+loading, loading)
	return fmt.Sprintf(of+"<module> (train.py:88);main (train.py:70);step (train.py:44);__next__ (dataloader.py:701);decode (audio.py:31) %d\n"+
		of+"<module> (train.py:88);main (train.py:70);step (train.py:47);backward (_tensor.py:581) %d\n", loading, 100-loading)
}

func profilesIn(t *testing.T, files map[string]string) incident.Artifact {
	t.Helper()
	r, err := Diagnose(context.Background(), Input{Version: "test", Sources: written(t, one24("step 3 loss 2.1\n"), ""), Evidence: written(t, files, "")})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Artifacts {
		if a.Kind == "folded-stacks" {
			if v := r.Verification.Withdrawn; len(v) > 0 {
				t.Errorf("withdrawn: %v", v)
			}
			return a
		}
	}
	t.Fatalf("no section: %v", r.Warnings)
	return incident.Artifact{}
}

// The rank whose time goes elsewhere is named, with the innermost call that explains it; one that loads like the others is not.
func TestWhoseTimeWentElsewhereIsSaid(t *testing.T) {
	files := map[string]string{}
	for rank := range 4 {
		files[fmt.Sprintf("prof/rank%d.folded", rank)] = profileOf(5 + rank)
	}
	a := profilesIn(t, files)
	if len(a.Findings) != 5 || !strings.HasPrefix(a.Findings[0].Statement, "no function took 20% more") || !strings.Contains(a.Findings[1].Statement, "rank 0: of 100 samples, 95% in backward (_tensor.py), 5% in decode") {
		t.Errorf("alike: %+v", a.Findings)
	}
	files["prof/rank2.folded"] = profileOf(71)
	a = profilesIn(t, files)
	if len(a.Findings) != 1 {
		t.Fatalf("%+v", a.Findings)
	}
	f := a.Findings[0]
	if want := "rank 2 spent 71% of its time in decode (audio.py), the other 3 a median of 6%"; f.Statement != want {
		t.Errorf("%s, not %s", f.Statement, want)
	}
	if len(f.Evidence) != 1 || f.Evidence[0].Line != 1 || !strings.HasSuffix(f.Evidence[0].File, "rank2.folded") {
		t.Errorf("%+v", f.Evidence)
	}
	// Of two, nothing tells which is usual; of few samples, no share means anything.
	two := map[string]string{"rank0.folded": profileOf(5), "rank1.folded": profileOf(71)}
	for _, f := range profilesIn(t, two).Findings {
		if strings.Contains(f.Statement, "median") {
			t.Errorf("of two: %s", f.Statement)
		}
	}
	if a := profilesIn(t, map[string]string{"rank0.folded": "a (x.py:1);b (x.py:2) 3\na (x.py:1);c (x.py:2) 4\n"}); len(a.Findings) != 0 {
		t.Errorf("of seven samples: %+v", a.Findings)
	}
}
