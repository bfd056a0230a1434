package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

func TestExplainAnswers(t *testing.T) {
	for _, c := range []struct {
		name, stdin string
		args        []string
		code        int
		want        []string
	}{
		{"an error line", "", []string{"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."}, 0, []string{"[gpu-oom-allocator]", "this line alone is proof", "gpu-oom:", "expandable_segments:True", "Source"}},
		{"several arguments", "", []string{"exit", "code", "137"}, 0, []string{"SIGKILL", "The code alone doesn't tell which"}},
		{"a negative number is no flag", "", []string{"-9"}, 0, []string{"SIGKILL"}},
		{"slurm's pair", "", []string{"0:53"}, 0, []string{"log folder"}},
		{"an Xid", "", []string{"Xid", "79"}, 0, []string{"gpu-off-bus", "Cluster team", "scontrol update NodeName=NODE State=DRAIN"}},
		{"NVIDIA's own advice", "", []string{"Xid", "79"}, 0, []string{"RESTART_BM: restart the node"}},
		{"a library's words", "", []string{"RuntimeError: Expected to mark a variable ready only once."}, 0, []string{"[ddp-ready-twice]", "Mostly", "use_reentrant=False", "TORCH_DISTRIBUTED_DEBUG=DETAIL", "Cost:"}},
		{"what a variable costs", "", []string{"CUDA_LAUNCH_BLOCKING"}, 0, []string{"Cost", "nothing overlaps"}},
		{"slurm's words", "", []string{"slurmstepd: error: Exceeded job memory limit"}, 0, []string{"[slurm-memory-limit]", "host-oom"}},
		{"an errno", "", []string{"errno", "116"}, 0, []string{"ESTALE", "storage-unresponsive"}},
		{"a term", "", []string{"straggler"}, 0, []string{"The rank that others wait for"}},
		{"a variable that is none", "", []string{"NCCL_TIMEOUT"}, 0, []string{"Not an NCCL variable", "init_process_group(timeout="}},
		{"a mechanism", "", []string{"rank-stalled"}, 0, []string{"One rank stalled", "Unlike", "py-spy dump"}},
		{"a reason of the scheduler", "", []string{"ReqNodeNotAvail"}, 0, []string{"sinfo -R"}},
		{"a pipe", "srun: error: node03: task 5: Killed\nOSError: [Errno 28] No space left on device\n", nil, 0, []string{"[storage-full]", "line 2", "Also in it"}},
		{"a dash", "stale\nOSError: [Errno 116] Stale file handle\n", []string{"-"}, 0, []string{"[storage-stale]"}},
		{"everything in full", "CUDA out of memory. Tried to allocate 2.00 GiB\nOSError: [Errno 28] No space left on device\n", []string{"--all"}, 0, []string{"[gpu-oom-allocator]", "[storage-full]"}},
		{"nothing known", "", []string{"stragler"}, exitInconclusive, []string{"No match", "straggler"}},
		{"nothing at all", "", nil, exitUsage, []string{"bot explain --list"}},
		{"white space", " \n\t\n", []string{"-"}, exitUsage, []string{"bot explain --list"}},
		{"a format that is none", "", []string{"--format", "pdf", "x"}, exitUsage, []string{"terminal, markdown, json"}},
		{"a list with a text", "", []string{"--list", "x"}, exitUsage, []string{"omit the text"}},
		{"a flag that is none", "", []string{"--nope", "x"}, exitUsage, []string{"bot explain --help"}},
		{"a file that is none", "", []string{"--file", "/does/not/exist"}, exitUnreadable, []string{"/does/not/exist"}},
		{"a file and a text", "", []string{"--file", "x", "y"}, exitUsage, []string{"only one"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			call(t, c.stdin, append([]string{"explain"}, c.args...)...).want(t, c.code, c.want...)
		})
	}
}

func TestExplainWritesEveryFormat(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "traceback.txt"), "Traceback (most recent call last):\nOSError: [Errno 28] No space left on device: '/x' token=abcdefgh12345678\n")
	for _, format := range explainFormats {
		r := call(t, "", "explain", "--file", file, "--format", format)
		r.want(t, 0, "storage-full", "[masked]")
		if strings.Contains(r.out, "abcdefgh12345678") || strings.Contains(r.out, "\x1b") {
			t.Errorf("%s shows a secret or a control sequence:\n%s", format, r.out)
		}
	}
	var doc struct {
		Schema  string
		Entries []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(call(t, "", "explain", "--file", file, "--format", "json").out), &doc); err != nil || len(doc.Entries) < 2 || doc.Entries[0].ID != "storage-full" {
		t.Errorf("%v %+v", err, doc)
	}
}

func TestExplainListsAllThatIsKnown(t *testing.T) {
	for _, format := range explainFormats {
		call(t, "", "explain", "--list", "--format", format).want(t, 0, "rank-stalled", "gpu-oom-allocator", "Xid 79", "errno 28", "NCCL_TIMEOUT", "NODE_FAIL", "straggler", "SIGKILL")
	}
}

func TestExplainSurvivesHostileText(t *testing.T) {
	hostile := "\x1b]0;title\x07\x00\xff\xfe <!channel> CUDA error: \x1b[2Jan illegal memory access was encountered" + strings.Repeat("A", 1<<20) + "\n" + strings.Repeat("(", 5000)
	r := call(t, hostile, "explain")
	r.want(t, 0, "cuda-illegal-access", "Only the first")
	if strings.Contains(r.out, "\x1b") || strings.Contains(r.out, "\x00") || len(r.out) > 20_000 {
		t.Errorf("%d bytes, control characters: %q", len(r.out), r.out[:200])
	}
}
