package worker

import (
	"fmt"
	"strings"
	"testing"
)

// wrapAt wraps every line of text at a column, as a terminal does.
func wrapAt(text string, width int) string {
	var b strings.Builder
	for _, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		for r := []rune(l); ; r = r[width:] {
			if len(r) <= width {
				b.WriteString(string(r) + "\n")
				break
			}
			b.WriteString(string(r[:width]) + "\n")
		}
	}
	return b.String()
}

const wide = `[rank2]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=BROADCAST, NumelIn=112, NumelOut=112, Timeout(ms)=1800000) ran for 1800010 milliseconds before timing out.
[rank2]:[E603 17:48:01.005538748 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank 2]  failure detected by watchdog at work sequence id: 2398459 PG status: last enqueued work: 2398578, last completed work: 2398458
[rank2]:[E603 17:48:02.005538748 ProcessGroupNCCL.cpp:698] [Rank 2] To avoid data inconsistency, we are taking the entire process down.
Exception raised from checkTimeout at /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:632 (most recent call first):
frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x7f15b276c1b6 in /home/someone/miniconda3/envs/openr1/lib/python3.11/site-packages/torch/lib/libc10.so)
frame #1: <unknown function> + 0xe5c6fc (0x7f15606796fc in /home/someone/miniconda3/envs/openr1/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so)
frame #2: <unknown function> + 0x145c0 (0x7f15b2eab5c0 in /home/someone/miniconda3/envs/openr1/lib/python3.11/site-packages/torch/lib/libtorch.so)
frame #3: <unknown function> + 0x94ac3 (0x7f15c8ddcac3 in /lib/x86_64-linux-gnu/libc.so.6)
`

func TestAWrappedFileReadsAsTheOriginal(t *testing.T) {
	want := observe(t, wide)
	for width := 90; width <= 160; width++ {
		text := wrapAt(wide, width)
		var head []phys
		for _, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			head = append(head, phys{raw: []byte(l)})
		}
		if wrapWidth(head) != width {
			continue // too few torn tokens at this width: nothing is joined without evidence
		}
		got := observe(t, text)
		if len(got.Timeouts) != 1 || got.Timeouts[0].Work != want.Timeouts[0].Work {
			t.Errorf("width %d: %+v", width, got.Timeouts)
		}
		if len(got.States) != 1 || got.States[0].Completed != 2398458 || got.States[0].Enqueued != 2398578 {
			t.Errorf("width %d: %+v", width, got.States)
		}
		if len(got.Signals) != 1 {
			t.Errorf("width %d: %+v", width, got.Signals)
		}
	}
	if got := observe(t, wrapAt(wide, 137)); len(got.States) != 1 {
		t.Errorf("137 columns: %+v", got.States)
	}
}

func TestAWrappedFileFilledWithBlanksReadsAsTheOriginal(t *testing.T) {
	before, _, _ := strings.Cut(wide, "Exception raised")
	text := before +
		"training will be stopped now because a rank of the job does not answer any longer\nlast line\n"
	want := observe(t, text)
	checked := 0
	for width := 90; width <= 160; width++ {
		var b strings.Builder
		var head []phys
		for _, l := range strings.Split(strings.TrimSuffix(wrapAt(text, width), "\n"), "\n") {
			l = fmt.Sprintf("%-*s", width, l)
			b.WriteString(l + "\n")
			head = append(head, phys{raw: []byte(l)})
		}
		if wrapWidth(head) != width {
			continue
		}
		checked++
		got := observe(t, b.String())
		if len(got.Timeouts) != 1 || got.Timeouts[0].Work != want.Timeouts[0].Work {
			t.Errorf("width %d: %+v", width, got.Timeouts)
		}
		if len(got.States) != 1 || got.States[0].Completed != 2398458 || got.States[0].Enqueued != 2398578 {
			t.Errorf("width %d: %+v", width, got.States)
		}
		if len(got.Signals) != 1 {
			t.Errorf("width %d: %+v", width, got.Signals)
		}
	}
	if checked == 0 {
		t.Error("no width was taken for wrapped")
	}
}

func TestEquallyLongLinesAreNotWrapped(t *testing.T) {
	var b strings.Builder
	for rank := range 8 {
		fmt.Fprintf(&b, "worker %d of the training job is ready to start with the data set and waits for the others at the barrier\n", rank)
	}
	for rank := range 8 {
		fmt.Fprintf(&b, "[rank%d]: ready to start with the data set and waits for the others of the job at the very first barrier\n", rank)
	}
	var head []phys
	for _, l := range strings.Split(b.String(), "\n") {
		head = append(head, phys{raw: []byte(l)})
	}
	if w := wrapWidth(head); w != 0 {
		t.Errorf("taken for wrapped at %d", w)
	}
}

// PyTorch 2.4 words the dump line otherwise; a short file shows no column at which it would be wrapped.
func TestADumpLineThatIsWrappedInAShortFileIsJoined(t *testing.T) {
	for _, text := range []string{
		"[rank40]:[E413 23:07:45.758756512 ProcessGroupNCCL.cpp:1375] [PG 0 (default_pg) Rank 40] Received a global dump signal from rank 45, and \nwill start to dump the debug info. Last enqueued NCCL work: 261, last completed NCCL work: 261.\n",
		"[rank40]:[E413 23:07:45.758756512 ProcessGroupNCCL.cpp:1375] [PG 0 (default_pg) Rank 40] Received a dump signal due to a collective timeout from  rank 45 and \nwe will try our best to dump the debug info. Last enqueued NCCL work: 261, last completed NCCL work: 261.\n",
	} {
		obs := observe(t, "\n"+text)
		if len(obs.Dumps) != 1 || obs.Dumps[0].Enqueued != 261 || obs.Dumps[0].Completed != 261 || obs.Dumps[0].From != 45 {
			t.Errorf("%s\ngot %+v", text, obs.Dumps)
		}
	}
}

// A logger prints the traceback of what it was given below its warning. Wrapped, the warning and the head of the traceback are several lines each.
func TestAWarningAboveAWrappedTracebackIsSeen(t *testing.T) {
	const label = "(RolloutWorkerOfTheSecondPlacementGroup pid=2370037, ip=172.18.103.5, name=rollout_worker_group_1) "
	text := wide +
		label + "WARNING:loader:the item could not be read from the store and is left out of this batch\n" +
		label + "Traceback (most recent call last):\n" +
		label + "  File \"/opt/venv/lib/python3.11/site-packages/loader/read.py\", line 12, in read\n" +
		label + "    raise ValueError(path)\n" +
		label + "ValueError: /data/shard-000017.tar\n"
	if x := observe(t, text).Exceptions; len(x) != 1 || !x[0].Warned {
		t.Fatalf("not wrapped: %+v", x)
	}
	read := 0
	for width := 90; width <= 160; width++ {
		wrapped := wrapAt(text, width)
		var head []phys
		for _, l := range strings.Split(strings.TrimSuffix(wrapped, "\n"), "\n") {
			head = append(head, phys{raw: []byte(l)})
		}
		if wrapWidth(head) != width || width == 90 || width == 98 {
			continue // at these a whole line, and a label, are as wide as the terminal
		}
		x := observe(t, wrapped).Exceptions
		if len(x) == 0 {
			continue // torn in its last line
		}
		read++
		if !x[0].Warned {
			t.Errorf("width %d: %+v", width, x)
		}
	}
	if read < 20 {
		t.Errorf("read at %d widths", read)
	}
}

// Text that was copied out of a terminal has its short lines filled up with blanks: they show the column though few tokens are torn.
func TestAFileCopiedOutOfATerminal(t *testing.T) {
	const oom = "(raylet) [2025-12-07 09:57:19,206 E 3934 3934] (raylet) node_manager.cc:3277: 3 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 8289f87b78d161ae21bf723c, IP: 10.24.0.226) over the last time period."
	const width = 150
	text := ""
	for _, l := range []string{oom, "(raylet)", "To see more, use the log of this node, which lies in the folder of the session on it, beside those of its workers and of its agents, on the local disk it has"} {
		for line := range strings.Lines(wrapAt(l, width)) {
			text += fmt.Sprintf("%-*s\n", width, strings.TrimSuffix(line, "\n"))
		}
	}
	got := observe(t, text)
	if len(got.Signs) != 1 || !strings.Contains(got.Signs[0].Text, "IP: 10.24.0.226") {
		t.Errorf("%+v", got.Signs)
	}
	if got = observe(t, strings.ReplaceAll(text, "  ", " .")); len(got.Signs) == 1 && strings.Contains(got.Signs[0].Text, "IP: 10.24.0.226") {
		t.Error("joined without evidence")
	}
}
