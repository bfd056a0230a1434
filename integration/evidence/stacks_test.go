//go:build realevidence

package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Modules at the paths by which frames are known. What waits in them is real; PyTorch's own frames are in integration/realtorch.
var modules = map[string]string{
	"torch/__init__.py":                     "",
	"torch/distributed/__init__.py":         "",
	"torch/distributed/distributed_c10d.py": "import threading\ndef all_reduce(x):\n    threading.Event().wait()\n",
	"torch/utils/__init__.py":               "",
	"torch/utils/data/__init__.py":          "",
	"torch/utils/data/dataloader.py":        "import queue\ndef _try_get_data():\n    queue.Queue().get()\n",
	"train.py": `import faulthandler, os, signal, sys, threading
from torch.distributed.distributed_c10d import all_reduce
from torch.utils.data.dataloader import _try_get_data
def step(rank):
    if rank == 2:
        _try_get_data()
    all_reduce(rank)
rank = int(os.environ["RANK"])
out = open(sys.argv[1], "w")
faulthandler.register(signal.SIGUSR1, file=out, all_threads=True)
threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
step(rank)
`,
}

// Four processes stand still; the real faulthandler, gdb, the kernel and ps say where.
func TestRealStacks(t *testing.T) {
	dir := t.TempDir()
	for name, text := range modules {
		p := filepath.Join(dir, "src", name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	handed := filepath.Join(dir, "handed")
	if err := os.Mkdir(handed, 0o755); err != nil {
		t.Fatal(err)
	}
	var pids []string
	for rank := range 4 {
		stack := filepath.Join(handed, fmt.Sprintf("faulthandler-rank%d.txt", rank))
		cmd := exec.Command("python3", filepath.Join(dir, "src", "train.py"), stack)
		cmd.Env = append(os.Environ(), fmt.Sprintf("RANK=%d", rank))
		said, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		if _, err := said.Read(make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, fmt.Sprint(cmd.Process.Pid))
		for look := 1; look <= 2; look++ {
			for range 100 { // until it has come to its place: what is written before that is overwritten
				time.Sleep(50 * time.Millisecond)
				if wchan, err := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", cmd.Process.Pid)); err != nil || strings.Contains(string(wchan), "futex") || look == 2 {
					break
				}
			}
			if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			for range 1200 {
				if text, _ := os.ReadFile(stack); strings.Count(string(text), "in <module>") >= look {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
		bt, err := exec.Command("gdb", "-nx", "-p", pids[rank], "-batch", "-ex", "thread apply all bt").CombinedOutput()
		if err != nil || !bytes.Contains(bt, []byte("#0 ")) {
			t.Fatalf("gdb: %v\n%s", err, bt)
		}
		if err := os.WriteFile(filepath.Join(handed, fmt.Sprintf("gdb-rank%d.txt", rank)), bt, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, err := exec.Command("ps", "-o", "pid,stat,wchan:32,cmd", "-p", strings.Join(pids, ",")).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(handed, "ps.txt"), list, 0o644); err != nil {
		t.Fatal(err)
	}
	bot := filepath.Join(dir, "bot")
	if out, err := exec.Command("go", "build", "-o", bot, "../../cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	out, err := exec.Command(bot, "diagnose", "--format", "json", "--world-size", "4", "--evidence", handed).Output()
	var r struct {
		Verdict struct {
			Mechanism string
			Root      struct{ Ranks []int }
		}
		Artifacts []struct {
			Kind     string
			Files    []string
			Findings []struct{ Statement string }
		}
		Warnings     []string
		Verification struct{ Quotes struct{ Held, Checked int } }
	}
	if jsonErr := json.Unmarshal(out, &r); jsonErr != nil {
		t.Fatalf("%v, %v", err, jsonErr)
	}
	t.Logf("%+v", r)
	if r.Verdict.Mechanism != "dataloader-stall" || !slices.Equal(r.Verdict.Root.Ranks, []int{2}) {
		t.Errorf("%s of %v; rank 2 waits for its loader", r.Verdict.Mechanism, r.Verdict.Root.Ranks)
	}
	if len(r.Artifacts) != 1 || r.Artifacts[0].Kind != "stacks" || len(r.Warnings) > 0 {
		t.Errorf("not everything is read: %+v, warnings %v", r.Artifacts, r.Warnings)
	}
	if q := r.Verification.Quotes; q.Held != q.Checked || q.Checked == 0 {
		t.Errorf("%d of %d quotations confirmed", q.Held, q.Checked)
	}
}
