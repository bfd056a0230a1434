package gpustate

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/analysis/line"
)

func read(t *testing.T, text string) *State {
	t.Helper()
	s := readAll(t, text)
	if len(s) != 1 {
		t.Fatalf("%d states of %.200q", len(s), text)
	}
	return s[0]
}

func readAll(t *testing.T, text string) []*State {
	t.Helper()
	if !Recognise([]byte(text)) {
		t.Fatalf("not recognised: %.200q", text)
	}
	s, err := Read(context.Background(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func corpus(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob("../../../../shared/corpus/" + pattern)
	if err != nil || len(files) != 1 {
		t.Skip("no corpus")
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func value(t *testing.T, g *GPU, k Key, want int64) {
	t.Helper()
	if v := g.Of(k); v == nil || v.N != want {
		t.Errorf("GPU %d %s: %s is %+v, not %d", g.Index, g.PCI, k, v, want)
	}
}

func TestTheTable(t *testing.T) {
	s := read(t, corpus(t, "001-*/logs/*.nvidia-smi.log"))
	if s.Form != Table || len(s.GPUs) != 8 || len(s.Processes) != 10 || s.Stamp.Kind != line.DateTime || s.Stamp.Hour != 4 {
		t.Fatalf("%+v", s)
	}
	for i, busy := range []int64{0, 100, 100, 100, 100, 100, 100, 100} {
		value(t, &s.GPUs[i], Busy, busy)
		value(t, &s.GPUs[i], Volatile, 0)
	}
	value(t, &s.GPUs[0], Power, 68)
	value(t, &s.GPUs[0], Used, 22377)
	if s.GPUs[1].PCI != "0000:0b:00" || s.Processes[0].Pid != 280058 || s.Processes[0].GPU != 0 {
		t.Errorf("%+v %+v", s.GPUs[1], s.Processes[0])
	}
}

func TestARowThatCannotBeRead(t *testing.T) {
	s := read(t, `Sat Mar  4 04:38:36 2023
| NVIDIA-SMI 525.60.13    Driver Version: 525.60.13    CUDA Version: 12.0     |
|===============================+======================+======================|
|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |                    3 |
| N/A   28C    P0    68W / 400W |  22377MiB / 81920MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
|   1  NVIDIA A100-SXM...  ERR! | 00000000:0B:00.0 ERR!|                 ERR! |
|ERR!  ERR! ERR!    ERR! / ERR! |      0MiB / 81920MiB |    ERR!      Default |
`)
	if len(s.GPUs) != 2 {
		t.Fatalf("%+v", s.GPUs)
	}
	value(t, &s.GPUs[0], Volatile, 3)
	if v := s.GPUs[1].Of(Unread); v == nil || v.N < 1 {
		t.Errorf("%+v", s.GPUs[1])
	}
}

func TestCSV(t *testing.T) {
	s := read(t, corpus(t, "001-*/logs/*.gpu-util.log"))
	if s.Form != CSV || len(s.GPUs) != 8 {
		t.Fatalf("%+v", s)
	}
	value(t, &s.GPUs[0], Busy, 0)
	value(t, &s.GPUs[7], Busy, 100)
	s = read(t, "index, pci.bus_id, ecc.errors.uncorrected.volatile.total, remapped_rows.pending, remapped_rows.failure\n0, 00000000:07:00.0, 0, No, No\n1, 00000000:0B:00.0, 2, Yes, No\n2, 00000000:0C:00.0, [GPU is lost], [GPU is lost], No\n")
	value(t, &s.GPUs[1], Volatile, 2)
	value(t, &s.GPUs[1], Pending, 1)
	value(t, &s.GPUs[1], Failure, 0)
	value(t, &s.GPUs[2], Unread, 1)
}

func TestColumnsOfAQuery(t *testing.T) {
	for _, c := range []struct {
		head string
		want bool
	}{
		{"index, utilization.gpu [%], memory.used [MiB]", true},
		{"timestamp, name, pci.bus_id, clocks.current.sm [MHz], pcie.link.width.current, pcie.link.width.max, some.new_column [W]", true},
		{"timestamp, name, index, step, loss", false}, // another program's
		{"pci.bus_id, step, loss", false},
		{"timestamp, pci.bus_id, pstate, Loss of it", false},
	} {
		if got := columns(c.head) != nil; got != c.want {
			t.Errorf("%s: %v", c.head, got)
		}
	}
}

func TestWhenAToolRan(t *testing.T) {
	const lost = "Unable to determine the device handle for GPU0000:52:00.0: GPU is lost.  Reboot the system to recover this GPU\n"
	for _, text := range []string{
		"Sun Sep 14 08:31:00 UTC 2025\n" + lost,
		"Sun Sep 14 08:31:00 2025\n" + lost,
		"==============NVSMI LOG==============\n\nTimestamp                           : Sun Sep 14 08:31:00 2025\nDriver Version                      : 470.1\n\nAttached GPUs                       : 1\nGPU 00000000:52:00.0\n    Product Name                    : X\n",
		"timestamp, pci.bus_id, pstate\n2025/09/14 08:31:00.000, 00000000:52:00.0, P0\n2025/09/14 08:41:00.000, 00000000:52:00.0, P0\n",
	} {
		if !Recognise([]byte(text)) {
			t.Errorf("not recognised: %s", text)
		}
		states, err := Read(context.Background(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if s := states[0].Stamp; s.Year != 2025 || s.Month != 9 || s.Day != 14 || s.Hour != 8 || s.Minute != 31 {
			t.Errorf("%+v of %s", s, text)
		}
	}
}

func TestQuery(t *testing.T) {
	s := read(t, `
==============NVSMI LOG==============

Timestamp                                 : Mon Jun  2 17:48:01 2025
Driver Version                            : 550.54.15
CUDA Version                              : 12.4

Attached GPUs                             : 2
GPU 00000000:07:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 1
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 2
        Aggregate
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 1
            DRAM Correctable              : 7
            DRAM Uncorrectable            : 9
            SRAM Threshold Exceeded       : No
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 1
        Pending                           : Yes
        Remapping Failure Occurred        : No
    Clocks Event Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Active
    Utilization
        Gpu                               : 100 %
        Memory                            : 12 %
GPU 00000000:0B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    ECC Errors
        Volatile
            DRAM Uncorrectable            : 0
    Retired Pages
        Double Bit ECC                    : N/A
    Temperature
        GPU Current Temp                  : 33 C
`)
	if s.Form != Query || len(s.GPUs) != 2 || s.Stamp.Day != 2 {
		t.Fatalf("%+v", s)
	}
	g := &s.GPUs[0]
	value(t, g, Volatile, 3)
	value(t, g, Aggregate, 10)
	value(t, g, Remapped, 1)
	value(t, g, Pending, 1)
	value(t, g, Failure, 0)
	value(t, g, SlowHW, 1)
	value(t, g, SlowHeat, 0)
	value(t, g, SlowPower, 1)
	value(t, g, Busy, 100)
	value(t, &s.GPUs[1], Heat, 33)
}

const xmlText = `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Mon Jun  2 17:48:01 2025</timestamp>
	<driver_version>570.86.15</driver_version>
	<attached_gpus>1</attached_gpus>
	<gpu id="00000000:07:00.0">
		<product_name>NVIDIA H100 80GB HBM3</product_name>
		<gpu_recovery_action>Drain and Reset</gpu_recovery_action>
		<pci>
			<pci_gpu_link_info>
				<pcie_gen>
					<max_link_gen>5</max_link_gen>
					<current_link_gen>5</current_link_gen>
				</pcie_gen>
				<link_widths>
					<max_link_width>16x</max_link_width>
					<current_link_width>8x</current_link_width>
				</link_widths>
			</pci_gpu_link_info>
		</pci>
		<clocks_event_reasons>
			<clocks_event_reason_hw_slowdown>Active</clocks_event_reason_hw_slowdown>
		</clocks_event_reasons>
		<ecc_errors>
			<volatile>
				<sram_uncorrectable_secded>1</sram_uncorrectable_secded>
				<dram_uncorrectable>2</dram_uncorrectable>
			</volatile>
			<aggregate>
				<dram_uncorrectable>9</dram_uncorrectable>
				<sram_threshold_exceeded>Yes</sram_threshold_exceeded>
			</aggregate>
		</ecc_errors>
		<remapped_rows>
			<remapped_row_unc>1</remapped_row_unc>
			<remapped_row_pending>Yes</remapped_row_pending>
			<remapped_row_failure>No</remapped_row_failure>
		</remapped_rows>
	</gpu>
</nvidia_smi_log>
`

func TestXML(t *testing.T) {
	s := read(t, xmlText)
	if s.Form != XML || len(s.GPUs) != 1 || s.GPUs[0].PCI != "0000:07:00" {
		t.Fatalf("%+v", s)
	}
	for k, want := range map[Key]int64{Volatile: 3, Aggregate: 9, Remapped: 1, Pending: 1, Failure: 0, SlowHW: 1, Width: 8, WidthMax: 16, Gen: 5, GenMax: 5, Recovery: 1, Threshold: 1} {
		value(t, &s.GPUs[0], k, want)
	}
}

func TestPCIeOfTheOtherForms(t *testing.T) {
	s := read(t, "==============NVSMI LOG==============\n\nGPU 00000000:07:00.0\n    GPU Recovery Action                   : None\n    PCI\n        GPU Link Info\n            PCIe Generation\n                Max                       : 4\n                Current                   : 3\n            Link Width\n                Max                       : 16x\n                Current                   : 8x\n    ECC Errors\n        Aggregate\n            DRAM Uncorrectable            : 0\n        Channel Repair Pending            : No\n        TPC Repair Pending                : Yes\n")
	for k, want := range map[Key]int64{Width: 8, WidthMax: 16, Gen: 3, GenMax: 4, Pending: 1, Aggregate: 0} {
		value(t, &s.GPUs[0], k, want)
	}
	s = read(t, "index, pci.bus_id, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max\n0, 00000000:07:00.0, 1, 4, 16, 16\n1, 00000000:0B:00.0, 4, 4, 4, 16\n")
	value(t, &s.GPUs[1], Width, 4)
	value(t, &s.GPUs[0], Gen, 1)
}

func TestNVLink(t *testing.T) {
	s := read(t, "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-abcdefab-cdef-abdc-abcd-abababababab)\n\t Link 0: Replay Errors: 7\n\t Link 0: Recovery Errors: 2\n\t Link 0: CRC Errors: 0\n\n\t Link 1: Replay Errors: 1\n\t Link 1: Recovery Errors: 0\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-abcdefab-cdef-abdc-abcd-abababababac)\n\t Link 0: <inactive>\n\t Link 1: 26.562 GB/s\n\t Link 2: 25 GB/s\n")
	if len(s.GPUs) != 2 {
		t.Fatalf("%+v", s)
	}
	value(t, &s.GPUs[0], NVLink, 8)
	value(t, &s.GPUs[0], Relinked, 2)
	value(t, &s.GPUs[1], NVLinkOff, 1)
	value(t, &s.GPUs[1], NVLinkOn, 2)
}

const diagText = `{
	"DCGM GPU Diagnostic" : 
	{
		"test_categories" : 
		[
			{
				"category" : "Hardware",
				"tests" : 
				[
					{
						"name" : "GPU Memory",
						"results" : 
						[
							{
								"gpu_ids" : "0",
								"status" : "Pass"
							},
							{
								"gpu_ids" : "3",
								"status" : "Fail",
								"warnings" : "Detected row remap failure for GPU 3"
							}
						]
					},
					{
						"name" : "pcie",
						"results" : 
						[
							{
								"entity_group" : "GPU",
								"entity_id" : 5,
								"status" : "Warn"
							}
						]
					}
				]
			}
		]
	}
}
`

func TestDiagnosticInJSON(t *testing.T) {
	s := read(t, diagText)
	if s.Form != DiagJSON || len(s.Troubles) != 2 || s.Troubles[0].GPU != 3 || s.Troubles[0].What != "GPU Memory" || s.Troubles[0].Warning || s.Troubles[1].GPU != 5 || !s.Troubles[1].Warning || s.Troubles[1].What != "pcie" {
		t.Fatalf("%+v", s)
	}
}

func TestWhatItSaysInstead(t *testing.T) {
	s := read(t, corpus(t, "051-*/logs/*.nvidia-smi.log"))
	if s.Form != Refusal || len(s.Troubles) != 1 || s.Troubles[0].Kind != "handle" || s.Troubles[0].PCI != "0000:03:00" {
		t.Fatalf("%+v", s)
	}
	for text, kind := range map[string]string{
		"Unable to determine the device handle for GPU0000:5D:00.0: GPU is lost.  Reboot the system to recover this GPU\n": "lost",
		"Unable to determine the device handle for GPU 3: 0000:5D:00.0: Unknown Error\n":                                   "handle",
		"No devices were found\n": "none",
		"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver": "driver",
		"Failed to initialize NVML: Driver/library version mismatch\n":                                                          "driver",
	} {
		if s := read(t, text); len(s.Troubles) != 1 || s.Troubles[0].Kind != kind {
			t.Errorf("%s: %+v", text, s.Troubles)
		}
	}
}

func TestDCGM(t *testing.T) {
	s := read(t, `Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
| GPU Memory                | Pass - All                                     |
| Diagnostic                | Fail - GPU: 3                                  |
| PCIe                      | Warn - GPU: 5                                  |
`)
	if s.Form != Diag || len(s.Troubles) != 2 || s.Troubles[0].GPU != 3 || s.Troubles[0].What != "Diagnostic" || !s.Troubles[1].Warning {
		t.Fatalf("%+v", s.Troubles)
	}
	s = read(t, `+---------------------------+----------------------------------------------------------+
| Health Monitor Report                                                                |
+===========================+==========================================================+
| Overall Health            | Failure                                                  |
| GPU                       |                                                          |
| -> 3                      | Failure                                                  |
|    -> Errors              |                                                          |
|       -> NVLink system    | Failure                                                  |
`)
	if s.Form != Health || len(s.Troubles) != 1 || s.Troubles[0].GPU != 3 || s.Troubles[0].What != "NVLink" {
		t.Fatalf("%+v", s)
	}
}

func TestROCm(t *testing.T) {
	s := read(t, corpus(t, "073-*/logs/rocm-smi.log"))
	if s.Form != ROCm || len(s.GPUs) != 8 {
		t.Fatalf("%+v", s)
	}
	value(t, &s.GPUs[7], Power, 138)
}

func TestLogsThatQuoteAToolAreNone(t *testing.T) {
	for _, text := range []string{"", "step 1\nNo devices were found\n", "name, loss\n1, 2\n", "[rank0]: RuntimeError: Unable to determine the device handle for GPU0000:03:00.0: Unknown Error\n", "GPU 0: ok\n"} {
		if Recognise([]byte(text)) {
			t.Errorf("recognised: %q", text)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{xmlText, diagText, "GPU 0: a (UUID: GPU-abcdefab)\n\t Link 0: CRC Errors: 7\n", "| NVIDIA-SMI 1 Driver Version: 1 |\n|   0  A  On   | 00000000:07:00.0 Off |                    3 |\n", "==NVSMI LOG==\nGPU 00000000:07:00.0\n    ECC Errors\n        Volatile\n            DRAM Uncorrectable : 2\n",
		"index, name, power.draw [W]\n0, a, 1\n", "Unable to determine the device handle for GPU0000:03:00.0: x\n", "| Health Monitor Report\n| GPU ID: 3 | Failure |\n| PCIe | x", "GPU0\tGPU1\tCPU Affinity\nGPU0\tX\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		Recognise(data)
		Pasted(data)
		states, err := Read(context.Background(), strings.NewReader(string(data)))
		if err != nil {
			return
		}
		check := func(p Place) {
			if p.Off < 0 || p.Off+int64(p.Len) > int64(len(data)) {
				t.Fatalf("%+v of %d bytes", p, len(data))
			}
		}
		for _, s := range states {
			for i := range s.GPUs {
				check(s.GPUs[i].Place)
				for _, v := range s.GPUs[i].Values {
					check(v.Place)
				}
			}
			for _, x := range s.Troubles {
				check(x.Place)
			}
		}
	})
}

const twoGPUs = `+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |
| N/A   38C    P0             210W /  700W |   71021MiB /  81559MiB |    100%      Default |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:43:00.0 Off |                 ERR! |
|ERR!  ERR! ERR!             N/A /  ERR!  |   71021MiB /  81559MiB |     ERR!      Default |
+-----------------------------------------+------------------------+----------------------+
`

// One file often holds what a loop over the nodes printed.
func TestEachNodeHasItsState(t *testing.T) {
	label := func(host string) string {
		var b strings.Builder
		for l := range strings.Lines(twoGPUs) {
			b.WriteString(host + ": " + l)
		}
		return b.String()
	}
	mixed := func() string { // pdsh writes lines as they come
		var b strings.Builder
		for l := range strings.Lines(twoGPUs) {
			b.WriteString("n7: " + l + "n8: " + l)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"headings":    "==== n7 ====\n" + twoGPUs + "==== n8 ====\n" + twoGPUs,
		"pdsh":        label("n7") + label("n8"),
		"pdsh, mixed": mixed(),
		"clush -b":    "---------------\nn7\n---------------\n" + twoGPUs + "---------------\nn8\n---------------\n" + twoGPUs,
		"prompts":     "root@n7:~# nvidia-smi\n" + twoGPUs + "root@n8:~# nvidia-smi\n" + twoGPUs,
	} {
		s := readAll(t, text)
		if len(s) != 2 || s[0].Host != "n7" || s[1].Host != "n8" {
			t.Errorf("%s: %d states, %+v", name, len(s), s[0])
			continue
		}
		for _, x := range s {
			if len(x.GPUs) != 2 || x.GPUs[1].PCI != "0000:43:00" || x.GPUs[1].Of(Unread) == nil || x.GPUs[0].Of(Unread) != nil {
				t.Errorf("%s: %+v", name, x)
			}
		}
	}
	if s := readAll(t, strings.ReplaceAll(label("0"), "0: ", " 0: ")+strings.ReplaceAll(label("1"), "1: ", " 1: ")); len(s) != 2 || s[0].Host != "" {
		t.Errorf("srun -l: %+v", s)
	}
}

func TestLinksByLetters(t *testing.T) {
	s := read(t, "dcgmi nvlink --link-status\n+----------------------+\n|  NvLink Link Status  |\n+----------------------+\nGPUs:\n    gpuId 0:\n        U U U U U U\n    gpuId 1:\n        U D U U D _\nNvSwitches:\n    No NvSwitches found.\n\nKey: Up=U, Down=D, Disabled=X, Not Supported=_\n")
	if len(s.GPUs) != 2 || s.GPUs[0].Of(NVLinkOff) != nil || s.GPUs[1].Of(NVLinkOff) == nil || s.GPUs[1].Of(NVLinkOff).N != 2 {
		t.Errorf("%+v", s)
	}
}

func TestLinesOfMonitor(t *testing.T) {
	s := read(t, "# gpu    pwr  gtemp  mtemp     sm    mem \n# Idx      W      C      C      %      % \n    0    640     61     60    100     40 \n    1    110     40      -      0      0 \n    0    655     62     60     99     40 \n")
	if len(s.GPUs) != 2 || s.GPUs[0].Of(Power).N != 655 || s.GPUs[0].Of(Busy).N != 100 || s.GPUs[1].Of(Busy).N != 0 {
		t.Errorf("%+v", s.GPUs)
	}
}

// All reasons of a slow-down stand in one number in some outputs, and some programs print a row for each GPU every few seconds.
func TestSlowReasonsInOneNumber(t *testing.T) {
	s := read(t, "timestamp, name, pci.bus_id, temperature.gpu, clocks.sm [MHz], utilization.gpu [%], clocks_throttle_reasons.active\n"+
		"2025/03/04 10:05:00.000, NVIDIA H100 80GB HBM3, 00000000:1b:00.0, 54, 1980 MHz, 100 %, 0x0000000000000004\n"+
		"2025/03/04 10:05:00.000, NVIDIA H100 80GB HBM3, 00000000:43:00.0, 88, 420 MHz, 100 %, 0x0000000000000048\n"+
		"2025/03/04 10:05:05.000, NVIDIA H100 80GB HBM3, 00000000:1b:00.0, 54, 1980 MHz, 0 %, 0x0000000000000000\n"+
		"2025/03/04 10:05:05.000, NVIDIA H100 80GB HBM3, 00000000:43:00.0, 71, 1980 MHz, 98 %, 0x0000000000000000\n")
	if len(s.GPUs) != 2 {
		t.Fatalf("%d GPUs", len(s.GPUs))
	}
	for _, k := range []Key{SlowHW, SlowHeat} {
		value(t, &s.GPUs[0], k, 0)
		value(t, &s.GPUs[1], k, 1)
	}
	value(t, &s.GPUs[1], SlowPower, 0)
	value(t, &s.GPUs[0], Busy, 0)
	value(t, &s.GPUs[1], Heat, 88)
}
