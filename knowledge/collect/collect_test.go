package collect

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheCommandIsPastable(t *testing.T) {
	for _, id := range []string{"4242", "4242_7", "4242+1"} {
		text, err := Command(id)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(text, "'"); n != 2 {
			t.Errorf("%s: %d single quotes", id, n)
		}
		if cmd := exec.Command("bash", "-n", "-c", text); cmd.Run() != nil {
			t.Errorf("%s: bash does not read it", id)
		}
		for l := range strings.Lines(text) {
			if len(l) > 1000 {
				t.Errorf("%s: a terminal cuts a line of %d bytes", id, len(l))
			}
		}
	}
	for _, id := range []string{"", "4242; rm -rf /", "$(id)", "4242 ", "-1", "a", "4242_7_8"} {
		if _, err := Command(id); err == nil {
			t.Errorf("%q is taken for a job", id)
		}
	}
}

// srun that runs the task once, here: what the command does on a node is done for real.
const srun = `#!/bin/sh
while [ "$1" != timeout ]; do shift; done
SLURM_JOB_ID=77 SLURM_STEP_ID=9 SLURMD_NODENAME=node07 PATH="$SPY:$PATH" exec "$@"
`

// pySpy stands for the real one, which is not everywhere.
const pySpy = `#!/bin/sh
echo "Process $3: python3 train.py"
echo "Python v3.11.4 (/usr/bin/python3.11)"
echo
echo "Thread $3 (idle): \"MainThread\""
echo "    sleep (train.py:1)"
`

func TestTheCommandGathersWhatIsThere(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 to look at")
	}
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("there is no /proc")
	}
	dir, bin := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"srun": srun, "squeue": "#!/bin/sh\necho 1\n", "py-spy": pySpy} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dump := filepath.Join(t.TempDir(), "fr")
	if err := os.WriteFile(dump+"3", []byte("\x80\x02}."), 0o600); err != nil {
		t.Fatal(err)
	}
	job := exec.Command(python, "-c", "print(flush=True)\nimport time\ntime.sleep(600)")
	job.Env = append(os.Environ(), "SLURM_JOB_ID=77", "SLURM_STEP_ID=0", "SLURM_PROCID=3", "RANK=3", "LOCAL_RANK=1", "SECRET_TOKEN=hunter2", "TORCH_FR_DUMP_TEMP_FILE="+dump)
	out, err := job.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = job.Process.Kill(); _ = job.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil { // it runs
		t.Fatal(err)
	}
	text, err := Command("77")
	if err != nil {
		t.Fatal(err)
	}
	text = strings.Replace(text, fmt.Sprintf("between=%d", between), "between=2", 1)
	for range 3 {
		paste := exec.Command("bash", "-c", text)
		paste.Dir = dir
		paste.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "SPY="+bin)
		said, err := paste.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		t.Logf("%s", said)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	if want := []string{"faultline-77-2.tar.gz", "faultline-77-3.tar.gz", "faultline-77.tar.gz"}; len(left) != len(want) || filepath.Base(left[0]) != want[0] || filepath.Base(left[1]) != want[1] {
		t.Errorf("it left %v", left)
	}
	files := unpack(t, filepath.Join(dir, "faultline-77.tar.gz"))
	for name, want := range map[string]string{
		"stacks-node07.txt":    "RANK=3",
		"processes-node07.txt": "PID",
		"fr3":                  "\x80\x02}.",
		"collected-node07.txt": "faultline collect 1 job=77 node=node07\n",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s holds %q, not %q", name, files[name], want)
		}
	}
	if n := strings.Count(files["stacks-node07.txt"], "==== host=node07 pid="); n != 2 {
		t.Errorf("%d samples of the stacks", n)
	}
	if n := strings.Count(files["collected-node07.txt"], "missing NCCL RAS"); n != 1 {
		t.Errorf("what is missing is listed %d times:\n%s", n, files["collected-node07.txt"])
	}
	for name, text := range files {
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s holds a secret of the process", name)
		}
	}
}

// unpack reads an archive of archives: base name to content.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := map[string]string{}
	var read func(r io.Reader)
	read = func(r io.Reader) {
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		for tr := tar.NewReader(z); ; {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(h.Name, ".tar.gz") {
				read(tr)
				continue
			}
			b, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(h.Name)] = string(b)
		}
	}
	read(f)
	return files
}
