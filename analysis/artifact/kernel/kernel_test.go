package kernel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"faultline/analysis/line"
)

func read(t *testing.T, text string) *Log {
	t.Helper()
	l, err := Read(context.Background(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestHeaders(t *testing.T) {
	const msg = "NVRM: Xid (PCI:0000:65:00): 79, pid='N/A', GPU has fallen off the bus."
	for name, c := range map[string]struct {
		text, host string
		task       int
		stamp      line.Stamp
	}{
		"dmesg":                           {"[12345.678901] " + msg, "", -1, line.Stamp{Kind: line.Uptime, Emitter: line.Kernel, Unix: 12345, Nanos: 678901000}},
		"dmesg early":                     {"[    3.000001] " + msg, "", -1, line.Stamp{Kind: line.Uptime, Emitter: line.Kernel, Unix: 3, Nanos: 1000}},
		"dmesg caller":                    {"[12345.678901] [ T1234] " + msg, "", -1, line.Stamp{Kind: line.Uptime, Emitter: line.Kernel, Unix: 12345, Nanos: 678901000}},
		"dmesg -T":                        {"[Fri Aug 30 11:43:14 2024] " + msg, "", -1, line.Stamp{Kind: line.DateTime, Emitter: line.Kernel, Year: 2024, Month: 8, Day: 30, Hour: 11, Minute: 43, Second: 14}},
		"dmesg --decode":                  {"kern  :err   : [12345.678901] " + msg, "", -1, line.Stamp{Kind: line.Uptime, Emitter: line.Kernel, Unix: 12345, Nanos: 678901000}},
		"dmesg iso":                       {"2025-01-25T10:34:54,859532+00:00 " + msg, "", -1, line.Stamp{Kind: line.Zoned, Emitter: line.Kernel, Year: 2025, Month: 1, Day: 25, Hour: 10, Minute: 34, Second: 54, Nanos: 859532000}},
		"journal":                         {"Jul 09 10:42:47 pool0-0082 kernel: " + msg, "pool0-0082", -1, line.Stamp{Kind: line.MonthDay, Emitter: line.Kernel, Month: 7, Day: 9, Hour: 10, Minute: 42, Second: 47}},
		"journal iso":                     {"2025-06-03T17:48:01+0200 n7 kernel: " + msg, "n7", -1, line.Stamp{Kind: line.Zoned, Emitter: line.Kernel, Year: 2025, Month: 6, Day: 3, Hour: 17, Minute: 48, Second: 1, ZoneOffset: 120}},
		"syslog":                          {"May  9 07:08:57 n7.cluster kernel: [680111.646286] " + msg, "n7.cluster", -1, line.Stamp{Kind: line.MonthDay, Emitter: line.Kernel, Month: 5, Day: 9, Hour: 7, Minute: 8, Second: 57}},
		"alert":                           {"Xid errors on instance: n7, Error: May 19 07:08:57 n7 kernel: [680111.646286] " + msg, "n7", -1, line.Stamp{Kind: line.MonthDay, Emitter: line.Kernel, Month: 5, Day: 19, Hour: 7, Minute: 8, Second: 57}},
		"srun -l":                         {"12: [Fri Aug 30 11:43:14 2024] " + msg, "", 12, line.Stamp{Kind: line.DateTime, Emitter: line.Kernel, Year: 2024, Month: 8, Day: 30, Hour: 11, Minute: 43, Second: 14}},
		"pdsh":                            {"node-3: [12345.678901] " + msg, "node-3", -1, line.Stamp{Kind: line.Uptime, Emitter: line.Kernel, Unix: 12345, Nanos: 678901000}},
		"journal json":                    {`{"_HOSTNAME":"n7","__REALTIME_TIMESTAMP":"1748972881005000","PRIORITY":"2","_TRANSPORT":"kernel","MESSAGE":"` + msg + `"}`, "n7", -1, line.Stamp{Kind: line.Zoned, Emitter: line.Kernel, Year: 2025, Month: 6, Day: 3, Hour: 17, Minute: 48, Second: 1, Nanos: 5000000}},
		"journal bytes":                   {`{"_HOSTNAME":"n7","__REALTIME_TIMESTAMP":"1748972881005000","_TRANSPORT":"kernel","MESSAGE":` + strings.ReplaceAll(fmt.Sprint([]byte(msg+"\n\x01")), " ", ",") + `}`, "n7", -1, line.Stamp{Kind: line.Zoned, Emitter: line.Kernel, Year: 2025, Month: 6, Day: 3, Hour: 17, Minute: 48, Second: 1, Nanos: 5000000}},
		"dmesg json":                      {"{\n   \"dmesg\": [\n      {\n         \"pri\": 3,\n         \"time\": 12345.678901,\n         \"msg\": \"" + msg + "\"\n      }\n   ]\n}", "", -1, line.Stamp{Kind: line.Uptime, Emitter: line.Kernel, Unix: 12345, Nanos: 678901000}},
		"dmesg json -x":                   {"{\n   \"dmesg\": [\n      {\n         \"fac\": \"kern\",\n         \"pri\": \"notice\",\n         \"time\":     0.000000,\n         \"caller\": \"T0\",\n         \"msg\": \"Linux version 6.8 \\\"x\\\"\"\n      },{\n         \"fac\": \"kern\",\n         \"pri\": \"err\",\n         \"time\":     3.000001,\n         \"msg\": \"" + msg + "\"\n      }\n   ]\n}", "", -1, line.Stamp{Kind: line.Uptime, Emitter: line.Kernel, Unix: 3, Nanos: 1000}},
		"dmesg json, all of it in a line": {`{"dmesg":[{"pri":6,"time":0,"msg":"Linux version 6.8"},{"pri":3,"time":12345.5,"msg":"` + msg + `"}]}`, "", -1, line.Stamp{Kind: line.Uptime, Emitter: line.Kernel, Unix: 12345, Nanos: 500000000}},
		"dmesg json, an object in a line": {`{"pri":3,"time":12345.678901,"msg":"` + msg + `"}`, "", -1, line.Stamp{Kind: line.Uptime, Emitter: line.Kernel, Unix: 12345, Nanos: 678901000}},
		"no stamp":                        {"kernel: " + msg, "", -1, line.Stamp{}},
	} {
		l := read(t, c.text+"\n")
		if len(l.Events) != 1 {
			t.Errorf("%s: %d events", name, len(l.Events))
			continue
		}
		e := l.Events[0]
		if e.Kind != Xid || e.Number != 79 || e.PCI != "0000:65:00" || e.Pid != -1 || e.Host != c.host || e.Task != c.task || !reflect.DeepEqual(e.Stamp, c.stamp) {
			t.Errorf("%s: %+v", name, e)
		}
		if !Recognise([]byte(c.text + "\n")) {
			t.Errorf("%s: not recognised", name)
		}
	}
}

func TestAMessageInJSONStandsWhereItsTextDoes(t *testing.T) {
	for name, text := range map[string]string{
		"lines":    "{\n   \"dmesg\": [\n      {\n         \"pri\": 3,\n         \"time\": 5.000001,\n         \"msg\": \"NVRM: Xid (PCI:0000:65:00): 79, x\"\n      }\n   ]\n}\n",
		"one line": `{"dmesg":[{"pri":6,"time":0.5,"msg":"usb 1-1: new device"},{"pri":3,"time":5.1,"msg":"NVRM: Xid (PCI:0000:65:00): 79, x"}]}` + "\n",
		"cut":      `{"dmesg":[{"pri":3,"time":5.1,"msg":"NVRM: Xid (PCI:0000:65:00): 79, x"},{"pri":3,"time":5.1,"ms`,
	} {
		l := read(t, text)
		if len(l.Events) != 1 {
			t.Fatalf("%s: %d events", name, len(l.Events))
		}
		e := l.Events[0]
		got := text[e.Off : int(e.Off)+e.Len]
		if !strings.Contains(got, "Xid (PCI:0000:65:00): 79") || strings.Contains(got, "usb") || int64(strings.Count(text[:e.Off], "\n")) != e.Line-1 {
			t.Errorf("%s: line %d is %q", name, e.Line, got)
		}
	}
	if Recognise([]byte(`{"step": 4, "time": 3.1, "msg": "Xid", "pri": 2}` + "\n")) {
		t.Error("an object of a program is taken for a kernel's")
	}
}

func TestEvents(t *testing.T) {
	for text, want := range map[string]Event{
		"NVRM: Xid (PCI:0000:cb:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC 7, TPC 7, SM 0): Illegal Instruction Parameter": {Kind: Xid, Number: 13, PCI: "0000:cb:00", Pid: -1, Links: -1},
		"NVRM: Xid (PCI:0000:cb:00): 109, pid=1797828, name=pt_main_thread, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x58005":                       {Kind: Xid, Number: 109, PCI: "0000:cb:00", Pid: 1797828, Name: "pt_main_thread", Links: -1},
		"NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001 caused by previous Xid 149":                                                  {Kind: Xid, Number: 45, PCI: "0000:dc:00", Pid: 1818990, Name: "python3", Previous: 149, Links: -1},
		"NVRM: Xid (PCI:0018:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004)":            {Kind: Xid, Number: 145, PCI: "0018:01:00", Pid: -1, NonFatal: true, Links: 13},
		"NVRM: Xid (PCI:0019:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x025001c6 0x00000000)":                                                       {Kind: Xid, Number: 149, PCI: "0019:01:00", Pid: -1, Fatal: true, Links: 0},
		"NVRM: Xid (0000:03:00): 14, Channel 00000001":                                                                                                                  {Kind: Xid, Number: 14, PCI: "0000:03:00", Pid: -1, Links: -1},
		"NVRM: Xid (PCI:0000:10:1c): 63, pid=1850, Row Remapper: New row marked for remapping, reset gpu to activate":                                                   {Kind: Xid, Number: 63, PCI: "0000:10:1c", Pid: 1850, Links: -1},
		"NVRM: Xid (PCI:0000:90:1c): 64, ...":                                                                                                                           {Kind: Xid, Number: 64, PCI: "0000:90:1c", Pid: -1, Links: -1},
		"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 34 egress non-posted PRIV error (First)":                                                     {Kind: SXid, Number: 12028, PCI: "0000:c1:00", Pid: -1, NonFatal: true, Links: 34},
		"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up":                                                                               {Kind: SXid, Number: 20034, PCI: "0000:c1:00", Pid: -1, Fatal: true, Links: 30},
		"NVRM: GPU 0000:65:00.0: GPU has fallen off the bus.":                                                                                                           {Kind: OffBus, PCI: "0000:65:00", Pid: -1, Links: -1},
		"pcieport 0000:00:03.0: AER: Corrected error received: 0000:00:03.0":                                                                                            {Kind: AER, PCI: "0000:00:03", Name: "Corrected", NonFatal: true, Pid: -1, Links: -1},
		"pcieport 0000:00:03.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)":                                                             {Kind: AER, PCI: "0000:00:03", Name: "Corrected", NonFatal: true, Pid: -1, Links: -1},
		"nvidia 0000:65:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)":                                                      {Kind: AER, PCI: "0000:65:00", Name: "Uncorrected (Fatal)", Fatal: true, Pid: -1, Links: -1},
		"amdgpu 0000:c5:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=2662395, emitted seq=2662397":                                                                {Kind: AMDGPU, PCI: "0000:c5:00", Name: "ring timeout", Pid: -1, Links: -1},
		"amdgpu 0000:c5:00.0: amdgpu: GPU reset begin!":                                                                                                                 {Kind: AMDGPU, PCI: "0000:c5:00", Name: "reset", Pid: -1, Links: -1},
		"amdgpu 0000:e3:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!":                                                                 {Kind: AMDGPU, PCI: "0000:e3:00", Name: "uncorrectable", Pid: -1, Links: -1},
		"Memory cgroup out of memory: Killed process 4242 (pt_main_thread) total-vm:1kB, anon-rss:1kB, file-rss:1kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0": {Kind: OOM, Pid: 4242, Name: "pt_main_thread", Links: -1},
		"Out of memory: Killed process 4242 (python3) total-vm:1kB":                                                                                                     {Kind: OOM, Pid: 4242, Name: "python3", Global: true, Links: -1},
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0-1,oom_memcg=/slurm/uid_1000/job_123/step_0,task_memcg=/slurm/uid_1000/job_123/step_0/task_3,task=python3,pid=4242,uid=1000": {Kind: OOM, Pid: 4242, Name: "python3", Job: "123",
			Cgroup: "/slurm/uid_1000/job_123/step_0/task_3", Links: -1},
		"INFO: task python:280058 blocked for more than 120 seconds.":                                             {Kind: HungTask, Pid: 280058, Name: "python", Links: -1},
		"watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [python3:4242]":                                        {Kind: Lockup, Pid: 4242, Name: "python3", Links: -1},
		"mlx5_core 0000:5d:00.0 ibp93s0: Link down":                                                               {Kind: Link, PCI: "0000:5d:00", Name: "ibp93s0", Down: true, Pid: -1, Links: -1},
		"mlx5_core 0000:5d:00.0 ibp93s0: Link up":                                                                 {Kind: Link, PCI: "0000:5d:00", Name: "ibp93s0", Pid: -1, Links: -1},
		"NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: No, D-RST: No": {Kind: Xid, Number: 94, PCI: "0000:01:00", Pid: 7194, Links: -1},
		"I/O error, dev nvme1n1, sector 131209936 op 0x1:(WRITE) flags 0x9800 phys_seg 7 prio class 2":            {Kind: Disk, Name: "nvme1n1", Down: true, Pid: -1, Links: -1},
		"nvme nvme1: I/O 900 QID 2 timeout, reset controller":                                                     {Kind: Disk, Name: "nvme1", Down: true, Pid: -1, Links: -1},
		"EXT4-fs error (device sda1): ext4_journal_check_start:83: comm python3: Detected aborted journal":        {Kind: Disk, Name: "sda1", Down: true, Pid: -1, Links: -1},
		"EXT4-fs (sda1): Remounting filesystem read-only":                                                         {Kind: Disk, Name: "sda1", Down: true, Pid: -1, Links: -1},
		"XFS (md0): Filesystem has been shut down due to log error (0x2).":                                        {Kind: Disk, Name: "md0", Down: true, Pid: -1, Links: -1},
		"md/raid1:md0: Disk failure on nvme0n1p2, disabling device.":                                              {Kind: Disk, Name: "nvme0n1p2", Down: true, Pid: -1, Links: -1},
		"NVRM: GPU 0000:9b:00.0: RmInitAdapter failed! (0x26:0x65:0x1)":                                           {Kind: OffBus, PCI: "0000:9b:00", Name: NotStarted, Pid: -1, Links: -1},
		"nfs: server filer7 not responding, still trying":                                                         {Kind: Storage, Name: "nfs filer7", Down: true, Pid: -1, Links: -1},
		"{1}[Hardware Error]: event severity: fatal":                                                              {Kind: Machine, Fatal: true, Pid: -1, Links: -1},
		"{1}[Hardware Error]: event severity: corrected":                                                          {Kind: Machine, NonFatal: true, Pid: -1, Links: -1},
	} {
		got, ok := event([]byte(text))
		want.Message, want.Count = text, 1
		if len(want.Message) > maxMessage {
			want.Message = want.Message[:maxMessage]
		}
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", text, got, want)
		}
	}
	for _, text := range []string{"nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Data {0x000001c0, 0x00bd5c8a}", "nvidia-nvswitch2: open (major=240)", "NVRM: Xid: none", "Killed process"} {
		if e, ok := event([]byte(text)); ok {
			t.Errorf("%s: %+v", text, e)
		}
	}
}

func TestAWorkerLogThatQuotesTheKernelIsNone(t *testing.T) {
	for _, text := range []string{
		"iteration 1\niteration 2\n[12345.678901] NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.\niteration 3\niteration 4\n",
		"[rank0]: Traceback (most recent call last):\n[rank0]:   File \"x.py\", line 1, in <module>\n",
		"[2025-06-03 17:48:01] n7:1:2 [0] misc/socket.cc:1 NCCL WARN x\n",
		"[1579244743.735971] [n7:12:0] ucp_worker.c:1720 UCX  WARN  x\n",
		`{"_HOSTNAME":"n7;reboot","__REALTIME_TIMESTAMP":"1748972881005000","_TRANSPORT":"kernel","MESSAGE":"NVRM: Xid (PCI:0000:65:00): 79, GPU"}` + "\n",
		`{"__REALTIME_TIMESTAMP":"1748972881005000","_TRANSPORT":"stdout","MESSAGE":"NVRM: Xid (PCI:0000:65:00): 79, GPU"}` + "\n",
		"srun: error: n7: task 17: Killed\n", "", "2025-06-03T17:48:01Z step 1 loss 2.0\n",
		"[12.345678] epoch 1\n[13.345678] epoch 2\n", // seconds since the start of a program
	} {
		if Recognise([]byte(text)) {
			t.Errorf("recognised: %q", text)
		}
	}
}

func TestReportsThatAreAlikeAreOne(t *testing.T) {
	var b strings.Builder
	for range 100000 {
		b.WriteString("[  +0.000213] pcieport 0000:00:03.0: AER: Corrected error received: 0000:00:03.0\n")
	}
	l := read(t, b.String())
	if len(l.Events) != 1 || l.Events[0].Count != 100000 || l.Events[0].Line != 1 || l.Events[0].Last.Line != 100000 {
		t.Fatalf("%d events: %+v", len(l.Events), l.Events[0])
	}
}

func TestWhatTiesSecondsSinceBootToAClock(t *testing.T) {
	l := read(t, "[    1.500000] rtc_cmos 00:00: setting system clock to 2024-08-30T11:43:14 UTC (1725018194)\n[12345.678901] NVRM: Xid (PCI:0000:65:00): 79, x\n")
	if len(l.Clocks) != 1 || l.Clocks[0].Uptime != 1.5 || l.Clocks[0].Wall.Kind != line.Zoned || l.Clocks[0].Wall.Hour != 11 {
		t.Fatalf("%+v", l.Clocks)
	}
	l = read(t, "May 19 07:08:57 n7 kernel: [680111.646286] NVRM: Xid (PCI:0000:65:00): 79, x\n")
	if len(l.Clocks) != 1 || l.Clocks[0].Uptime != 680111.646286 || l.Clocks[0].Wall.Kind != line.MonthDay {
		t.Fatalf("%+v", l.Clocks)
	}
}

func TestDistancesAreAddedUp(t *testing.T) {
	l := read(t, "[Aug30 11:43] usb 1-1: x\n[  +9.500000] NVRM: Xid (PCI:0000:65:00): 79, x\n[ +61.000000] NVRM: Xid (PCI:0000:65:00): 45, x\n")
	if len(l.Events) != 2 || l.Events[0].Stamp.Second != 9 || l.Events[1].Stamp.Minute != 44 || l.Events[1].Stamp.Second != 10 {
		t.Fatalf("%+v", l.Events)
	}
}

func TestTheStackOfAHungTask(t *testing.T) {
	files, err := filepath.Glob("../../../../shared/corpus/001-*/logs/*.dmesg.log")
	if err != nil || len(files) != 1 {
		t.Skip("no corpus")
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := Read(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	var python *Event
	for i := range l.Events {
		if e := &l.Events[i]; e.Kind == HungTask && e.Name == "python" {
			python = e
		}
	}
	if python == nil || python.Pid != 280058 || python.Count != 9 || !strings.Contains(strings.Join(python.Stack, " "), "mmfs26") {
		t.Fatalf("%+v", python)
	}
}

func TestAddresses(t *testing.T) {
	for in, want := range map[string]string{"0000:65:00": "0000:65:00", "00000000:65:00.0": "0000:65:00", "PCI:0018:01:00": "0018:01:00", "65:00.0": "0000:65:00", "00010000:65:00.0": "10000:65:00", "": "", "x": "", "0000:zz:00": ""} {
		if got := Address(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	for in, want := range map[string]string{"5d000": "0000:5d:00", "101c0": "0000:10:1c", "1801000": "0018:01:00", "": "", "xyz": ""} {
		if got := BusID(in); got != want {
			t.Errorf("busId %q: %q, not %q", in, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"[12345.678901] NVRM: Xid (PCI:0000:65:00): 79, x\n", "Jul 09 10:42:47 n kernel: [1.000000] INFO: task p:1 blocked for more than 120 seconds.\n a+0x1/0x2 [nfs]\n",
		"[Aug30 11:43] x\n[ +61.000000] y\n", "12: n7: [Fri Aug 30 11:43:14 2024] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task_memcg=/,task=p,pid=1\n", "<4>[ 1.000000] x", "kern  :err   : [", "[] ", "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		Recognise(data)
		l, err := Read(context.Background(), strings.NewReader(string(data)))
		if err != nil {
			return
		}
		for _, e := range l.Events {
			if e.Off < 0 || e.Off+int64(e.Len) > int64(len(data)) || e.Line < 1 || e.Line > l.Lines || e.Count < 1 {
				t.Fatalf("%+v of %d bytes", e, len(data))
			}
		}
	})
}

// The driver's probe says in three lines of one print which GPU does not answer; only the first has a header.
func TestAGPUThatIsNamedAboveHasFallenOffTheBus(t *testing.T) {
	const head, tail = "[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0\n", "NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
	for name, text := range map[string]string{
		"indented":     head + "               " + tail + "               NVRM: fallen off the bus and is not responding to commands.\n",
		"with headers": head + "[ 1843.308146] " + tail + "[ 1843.308147] NVRM: fallen off the bus and is not responding to commands.\n",
	} {
		l, err := Read(t.Context(), strings.NewReader(text))
		if err != nil || len(l.Events) != 1 || l.Events[0].Kind != OffBus || l.Events[0].PCI != "0000:b3:00" || l.Events[0].Line != 3 {
			t.Errorf("%s: %v %+v", name, err, l)
		}
	}
	far := head + strings.Repeat("[ 1843.400000] usb 1-1: new device\n", 3) + "[ 1844.000000] NVRM: fallen off the bus and is not responding to commands.\n"
	if l, err := Read(t.Context(), strings.NewReader(far)); err != nil || len(l.Events) != 1 || l.Events[0].PCI != "" {
		t.Errorf("a GPU named far above: %v %+v", err, l)
	}
}
