package analysis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/incident"
)

// A rank's log of a megabyte ends with its crash: where its main thread stood is read there, whoever searches for it.
func TestStacksAtTheEndOfALargeLogAreRead(t *testing.T) {
	var b strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&b, "[rank3]: step %d: everything is as it should be, loss 2.%d\n", i, i)
	}
	b.WriteString("[rank3]: Fatal Python error: Aborted\n[rank3]: \n[rank3]: Thread 0x00007f11 (most recent call first):\n[rank3]:   File \"/opt/lib/python3.11/site-packages/torch/utils/data/dataloader.py\", line 1251 in _try_get_data\n" +
		"[rank3]:   File \"/home/u/train.py\", line 64 in <module>\n")
	path := filepath.Join(t.TempDir(), "rank3.log")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Diagnose(context.Background(), Input{Sources: []incident.Source{{Name: "rank3.log", Path: path, Bytes: int64(b.Len())}}, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Artifacts) != 1 || r.Artifacts[0].Kind != "stacks" || len(r.Artifacts[0].Findings) != 1 {
		t.Fatalf("%+v", r.Artifacts)
	}
	f := r.Artifacts[0].Findings[0]
	if !strings.Contains(f.Statement, "rank 3") || !strings.Contains(f.Statement, "its data loader") || len(f.Evidence) < 2 || f.Evidence[1].Line != 20004 {
		t.Errorf("%+v", f)
	}
	if len(r.Verdict.Root.Ranks) > 0 && r.Verdict.Mechanism == "dataloader-stall" {
		t.Error("the stack of one rank accuses it")
	}
}
