package kernel

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

var setOfHang = []string{"collective-hang", "gpu-hang"}

// play writes what happens and says what of it can be known.
func (p *player) play() Truth {
	k, g, pid := p.kern[p.node(p.bad)], p.gpu(p.bad), p.pid(p.bad)
	truth := Truth{Ranks: []int{p.bad}, Nodes: []string{p.node(p.bad)}, GPU: g, Exact: p.NCCL, Set: true}
	xid := func(at float64, n int, rest string) { k.add(p.at(at), "NVRM: Xid (PCI:%s): %d, %s", g, n, rest) }
	proc := fmt.Sprintf("pid=%d, name=pt_main_thread", pid)
	control := func() Truth {
		return Truth{Mechanisms: setOfHang, Set: true}
	}
	p.boring()
	switch p.Fault {
	case OffBus:
		xid(-2, 79, "pid='N/A', GPU has fallen off the bus.")
		k.add(p.at(-2), "NVRM: GPU %s.0: GPU has fallen off the bus.", g)
		p.hang(nil)
		truth.Mechanisms = []string{"gpu-off-bus"}
	case OffBusLoud:
		for i := range 40 {
			k.add(p.at(-30+float64(i)/2), "pcieport 0000:%02x:01.0: AER: Corrected error received: 0000:%02x:01.0", 0x1a, 0x1a)
		}
		k.add(p.at(-3), "pcieport 0000:1a:01.0: AER: Uncorrected (Fatal) error received: 0000:1a:01.0")
		k.add(p.at(-2), "NVRM: GPU at PCI:%s: GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7", g)
		xid(-2, 79, "pid='N/A', GPU has fallen off the bus.")
		xid(-1, 154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
		xid(5, 119, "pid='N/A', name=<unknown>, Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20803032 0x5a4).")
		p.hang(nil)
		truth.Mechanisms = []string{"gpu-off-bus"}
	case ECC:
		xid(-1, 48, proc+", DBE (double bit error) ECC Error 0x00000001")
		xid(-1, 63, proc+", Row Remapper: New row marked for remapping, reset gpu to activate.")
		xid(-1, 95, proc+", Uncontained ECC error")
		p.cuda(p.bad, "unspecified launch failure")
		p.hang(map[int]bool{p.bad: true})
		truth.Mechanisms, truth.Set = []string{"gpu-ecc"}, false
	case Contained:
		xid(-1, 94, proc+", Contained: SM (0x1). RST: No, D-RST: No")
		xid(-1, 45, proc+", Ch 00000008")
		p.cuda(p.bad, "unspecified launch failure")
		p.hang(map[int]bool{p.bad: true})
		truth.Mechanisms, truth.Set = []string{"gpu-ecc"}, false
	case NVLink:
		xid(-1, 74, "pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)")
		p.hang(nil)
		truth.Mechanisms = []string{"gpu-nvlink"}
	case NVLink5:
		xid(-1, 149, "NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x025001c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)")
		xid(0, 45, proc+", Ch 00000001 caused by previous Xid 149")
		p.hang(nil)
		truth.Mechanisms = []string{"gpu-nvlink"}
	case Switch:
		k.add(p.at(-1), "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up")
		k.add(p.at(-1), "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Severity 5 Engine instance 30 Sub-engine instance 00")
		k.add(p.at(-1), "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Data {0x00000000, 0x00000000, 0x00000000, 0x00000000}")
		p.hang(nil)
		truth.Mechanisms, truth.Ranks, truth.GPU, truth.Exact = []string{"gpu-nvlink"}, nil, "", true
	case GSP:
		xid(8, 119, "pid='N/A', name=<unknown>, Timeout after 6s of waiting for RPC response from GPU3 GSP! Expected function 76 (GSP_RM_CONTROL) (0x2080a0d7 0x4).")
		xid(20, 119, "pid='N/A', name=<unknown>, Timeout after 6s of waiting for RPC response from GPU3 GSP! Expected function 76 (GSP_RM_CONTROL) (0x2080a0d7 0x4).")
		p.hang(nil)
		truth.Mechanisms = []string{"gpu-firmware"}
	case Timeout:
		xid(10, 109, proc+", Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x58005")
		p.hang(nil)
		truth.Mechanisms = []string{"gpu-hang"}
	case Program:
		xid(-1, 31, proc+", Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_3 faulted @ 0x7f12_9c000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ")
		xid(0, 43, proc+", Ch 00000008")
		p.cuda(p.bad, "an illegal memory access was encountered")
		p.hang(map[int]bool{p.bad: true})
		truth.Mechanisms, truth.GPU, truth.Exact, truth.Set = []string{"cuda-error"}, "", true, false
	case OOM:
		k.add(p.at(-1), "pt_main_thread invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0")
		k.add(p.at(-1), "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0-1,oom_memcg=/slurm/uid_1000/job_%d/step_0,task_memcg=/slurm/uid_1000/job_%d/step_0/task_0,task=pt_main_thread,pid=%d,uid=1000", p.job, p.job, pid)
		k.add(p.at(-1), "Memory cgroup out of memory: Killed process %d (pt_main_thread) total-vm:412000kB, anon-rss:380000kB, file-rss:1000kB, shmem-rss:0kB, UID:1000 pgtables:900kB oom_score_adj:0", pid)
		p.failed(p.bad, -9, p.at(1))
		p.hang(map[int]bool{p.bad: true})
		truth.Mechanisms, truth.GPU, truth.Exact = []string{"host-oom"}, "", true
	case Storage:
		p.asleep(k, "pt_main_thread", pid, 130)
		p.hang(nil)
		truth.Mechanisms, truth.GPU = []string{"storage-unresponsive"}, ""
	case AMD:
		k.add(p.at(5), "amdgpu %s.0: amdgpu: ring sdma0 timeout, signaled seq=2662395, emitted seq=2662397", g)
		k.add(p.at(6), "amdgpu %s.0: amdgpu: GPU reset begin!", g)
		k.add(p.at(9), "amdgpu %s.0: amdgpu: GPU reset(2) succeeded!", g)
		p.hang(nil)
		truth.Mechanisms = []string{"gpu-hang"}
	case Port:
		k.add(p.at(-4), "mlx5_core 0000:5d:00.0 ibp93s0: Link down")
		p.hang(nil)
		truth.Mechanisms, truth.Ranks, truth.GPU, truth.Exact = []string{"link-error"}, nil, "", true

	case LongBefore:
		xid(-(2*3600 + 17*60), 79, "pid='N/A', GPU has fallen off the bus.")
		p.hang(nil)
		return control()
	case Teardown:
		xid(limit+5, 45, proc+", Ch 00000008")
		xid(limit+6, 43, proc+", Ch 00000008")
		xid(limit+12*60, 79, "pid='N/A', GPU has fallen off the bus.") // somebody reset it
		p.hang(nil)
		return control()
	case Repair:
		xid(-1, 63, "pid='N/A', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to activate.")
		xid(-1, 92, "pid='N/A', name=<unknown>, High single-bit ECC error rate")
		p.hang(nil)
		return control()
	case OtherNode:
		o := &klog{node: "cpu91", form: p.Form, zone: p.Zone, boot: k.boot, task: 77}
		p.kern["cpu91"] = o
		o.add(p.at(-500), "usb 1-1: new high-speed USB device number 2 using xhci_hcd")
		o.add(p.at(-2), "NVRM: Xid (PCI:0000:1b:00): 79, pid='N/A', GPU has fallen off the bus.")
		p.hang(nil)
		return control()
	case OtherGPU:
		k.add(p.at(-2), "NVRM: Xid (PCI:0000:f1:00): 79, pid='N/A', GPU has fallen off the bus.")
		p.hang(nil)
		return control()
	case OtherProc:
		k.add(p.at(-2), "NVRM: Xid (PCI:0000:f1:00): 94, pid=777001, name=python3, Contained: SM (0x1). RST: No, D-RST: No")
		p.hang(nil)
		return control()
	case OtherOOM:
		k.add(p.at(-2), "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0-1,oom_memcg=/slurm/uid_1001/job_999/step_0,task_memcg=/slurm/uid_1001/job_999/step_0/task_0,task=python3,pid=777001,uid=1001")
		k.add(p.at(-2), "Memory cgroup out of memory: Killed process 777001 (python3) total-vm:412000kB, anon-rss:380000kB, file-rss:1000kB, shmem-rss:0kB, UID:1001 pgtables:900kB oom_score_adj:0")
		p.hang(nil)
		return control()
	case Corrected:
		for i := range 200 {
			k.add(p.at(-100+float64(i)/2), "pcieport 0000:00:03.0: AER: Corrected error received: 0000:00:03.0")
			k.add(p.at(-100+float64(i)/2), "pcieport 0000:00:03.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)")
		}
		p.hang(nil)
		return control()
	case Healthy:
		xid(-1, 31, proc+", Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_3 faulted @ 0x7f12_9c000000.")
		xid(1, 45, proc+", Ch 00000008")
		p.say(p.world()-1, "[after training is done] datetime: %s ", p.at(2).Format("2006-01-02 15:04:05"))
		p.say(p.world()-1, "  successfully saved checkpoint from iteration    1500 to /ckpt")
		return Truth{Mechanisms: []string{"completed"}}
	case NonFatal:
		k.add(p.at(-2), "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 11012, Non-fatal, Link 34 ingress single bit ECC")
		xid(-2, 145, "RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004)")
		p.hang(nil)
		return control()
	case TwoUndated:
		for i, n := range p.nodes {
			p.kern[n].form = Bare
			p.kern[n].add(p.at(-2), "NVRM: Xid (PCI:%s): 79, pid='N/A', GPU has fallen off the bus.", p.gpus[i%len(p.gpus)])
		}
		p.hang(nil)
		return control()
	case OtherTask:
		p.asleep(k, "epilog.sh", 777001, 130)
		p.hang(nil)
		return control()
	case SurvivedXid:
		xid(-240, 74, "pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)")
		p.hang(nil)
		return control()
	}
	if p.Form == Labels || p.Form == Plain || p.Form == Bare || p.Form == Ctime { // the node stands in the file's name alone
		truth.Nodes = slices.Clone(truth.Nodes)
	}
	return truth
}

// asleep writes the kernel's words of a process that waits for a server of NFS.
func (p *player) asleep(k *klog, name string, pid int, at float64) {
	for i := range 3 {
		t := p.at(at + 120*float64(i))
		k.add(t, "INFO: task %s:%d blocked for more than 120 seconds.", name, pid)
		for _, l := range strings.Split("      Tainted: P           OE    --------- -  - 4.18.0-372.36.1.el8_6.x86_64 #1\n\"echo 0 > /proc/sys/kernel/hung_task_timeout_secs\" disables this message.\ntask:"+name+"      state:D stack:    0 pid:1 ppid: 1 flags:0x00000080\nCall Trace:\n __schedule+0x2d1/0x860\n schedule+0x35/0xa0\n rpc_wait_bit_killable+0x1e/0xa0 [sunrpc]\n __wait_on_bit+0x6c/0x80\n nfs4_proc_open+0x10/0x40 [nfsv4]\n do_syscall_64+0x5b/0x1b0", "\n") {
			k.add(t, "%s", l)
		}
	}
}

// boring is what every kernel log holds.
func (p *player) boring() {
	for _, n := range p.nodes {
		k := p.kern[n]
		k.add(k.boot, "Linux version 5.14.0-427.el9.x86_64 (mockbuild@x) (gcc (GCC) 11.4.1) #1 SMP PREEMPT_DYNAMIC")
		if k.form != Bare && p.Fault != TwoUndated {
			k.add(k.boot.Add(1500*time.Millisecond), "rtc_cmos 00:04: setting system clock to %s UTC (%d)", k.boot.Add(1500*time.Millisecond).Format("2006-01-02T15:04:05"), k.boot.Unix()+1)
		}
		k.add(k.boot.Add(20*time.Second), "nvidia-uvm: Loaded the UVM driver, major device number 507.")
		k.add(k.boot.Add(25*time.Second), "mlx5_core 0000:5d:00.0: Port module event: module 0, Cable plugged")
		k.add(p.start.Add(-3*time.Hour), "nvidia-nvswitch2: open (major=240)")
		k.add(p.start.Add(-2*time.Minute), "sshd[30462]: segfault at 0 ip 0000000000000000 sp 00007ffe8ceaabb8 error 14 in sshd[55d80c773000+d0000]")
	}
}
