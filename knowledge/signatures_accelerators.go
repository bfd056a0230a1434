package knowledge

// acceleratorSignatures: what the runtimes of TPUs, Ascend NPUs and Gaudi print in places where CUDA has words of its own.
var acceleratorSignatures = []Signature{
	{
		ID: "tpu-halted", Mechanism: "cuda-error", Role: CauseRole, Tier: ProcessKiller,
		Literals: []string{"Core halted unexpectedly"},
		Meaning:  "A core of the TPU stopped in the middle of a program: a failed check in it, or the device.",
		Source:   "libtpu, through PyTorch/XLA and JAX",
		Example:  "INTERNAL: Core halted unexpectedly: INTERNAL: Accelerator device halted prematurely, perhaps due to an on-device check-failure.",
	},
	{
		ID: "tpu-halted-device", Mechanism: "cuda-error", Role: CauseRole, Tier: ProcessKiller,
		Literals: []string{"Accelerator device halted prematurely"}, Not: []string{"Core halted unexpectedly"},
		Meaning: "A core of the TPU stopped in the middle of a program: a failed check in it, or the device.",
		Source:  "libtpu, through PyTorch/XLA and JAX",
		Example: "XlaRuntimeError: INTERNAL: Accelerator device halted prematurely, perhaps due to an on-device check-failure.",
	},
	{
		ID: "tpu-taken", Mechanism: "config-error", Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{"TPU is already in use by "}, Pattern: `in use by (?:another )?process(?: with pid (?P<pid>\d+))?`,
		Meaning: "Another process on this host holds the TPU; only one can.",
		Source:  "libtpu; JAX xla_bridge",
		Example: "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by process with pid 12345.",
	},
	{
		ID: "hccl-notify", Mechanism: "peer-lost", Role: SymptomRole, Tier: ProcessKiller,
		Literals: []string{"he wait execution of the Notify register times out"}, Pattern: `remote rank \[(?P<group_rank>\d+)\]`,
		Meaning: "This NPU waited in vain for another rank inside a collective; that one was late, stuck or gone.",
		Source:  "CANN HCCL, error code EI0002",
		Example: "EI0002: The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify record from remote rank [12].",
	},
	{
		ID: "hccl-socket", Mechanism: "init-unreachable", Role: CauseRole, Tier: ProcessKiller,
		Literals: []string{"Getting socket times out"},
		Meaning:  "Ranks did not find each other while HCCL set up its connections.",
		Source:   "CANN HCCL, error code EI0006",
		Example:  "EI0006: Getting socket times out. Reason: 1. The remote does not initiate a connect request. some NPUs in the cluster are abnormal.",
	},
	{
		ID: "hccl-call", Role: SymptomRole, Tier: ProcessKiller,
		Literals: []string{"DIST call hccl api failed"},
		Meaning:  "A collective call failed; the lines of HCCL beside it say why.",
		Source:   "torch_npu, error code ERR02200",
		Example:  "[ERROR] 2024-05-12-10:00:01 (PID:1234, Device:3, RankID:3) ERR02200 DIST call hccl api failed.",
	},
	{
		ID: "npu-inner", Role: SymptomRole, Tier: ProcessKiller,
		Literals: []string{"The Inner error is reported as above"},
		Meaning:  "An operation on the NPU failed; CANN's own lines say why.",
		Source:   "torch_npu",
		Example:  "RuntimeError: The Inner error is reported as above. The process exits for this inner error, and the current working operator name is HcclAllreduce.",
	},
	{
		ID: "npu-aicore", Mechanism: "cuda-error", Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{" core exception"}, Pattern: `(?:ai ?core|vector core|AICPU) exception|error code is 5070\d\d`,
		Meaning: "A kernel failed on the NPU.",
		Source:  "CANN runtime, error codes 507011 to 507057",
		Example: "rtStreamSynchronize execution failed, reason=[aicore exception][vector core exception]",
	},
	{
		ID: "npu-memory", Mechanism: "gpu-ecc", Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{"HBM MULTI BIT ECC ERROR"},
		Meaning:  "The NPU's memory had an error that it could not correct.",
		Source:   "torch_npu, NPUStream and NPUException",
		Example:  "RuntimeError: HBM MULTI BIT ECC ERROR. time us= 1718000000.",
	},
	{
		ID: "gaudi-memory", Mechanism: "gpu-oom", Role: CauseRole, Tier: LoopCrash, Direct: true, Own: true,
		Literals: []string{"MODULE:PT_DEVMEM Allocation failed"}, Pattern: `(?:\[Rank:(?P<rank>\d{1,7})\] )?FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::(?P<tried>\d+)`,
		Meaning: "The accelerator had no memory left for this allocation.",
		Source:  "Intel Gaudi PyTorch bridge",
		Example: "RuntimeError: [Rank:2] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::1073741824 (1024)MB",
	},
	{
		ID: "gaudi-fatal", Mechanism: "cuda-error", Role: CauseRole, Tier: ProcessKiller, Own: true,
		Literals: []string{"FATAL ERROR :: MODULE:PT_"}, Not: []string{"PT_DEVMEM Allocation failed"}, Pattern: `(?:\[Rank:(?P<rank>\d{1,7})\] )?FATAL ERROR :: MODULE:(?P<module>PT_\w+) (?P<text>.{1,120})`,
		Meaning: "The accelerator's runtime reported an error and gave up.",
		Source:  "Intel Gaudi PyTorch bridge",
		Example: "RuntimeError: [Rank:0] FATAL ERROR :: MODULE:PT_SYNHELPER Graph execution failed. synStatus 26 [Generic failure].",
	},
	{
		// What the agent does with memory that is not the program's.
		ID: "rocm-aperture", Mechanism: "cuda-error", Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{"aborting with error : HSA_STATUS_ERROR"}, Pattern: `(?P<status>HSA_STATUS_ERROR_(?:MEMORY_APERTURE_VIOLATION|ILLEGAL_INSTRUCTION|EXCEPTION|MEMORY_FAULT))`,
		Meaning: "A kernel on the GPU did something it must not, and ROCm stopped its queue.",
		Source:  "ROCm clr rocclr/device/rocm/rocdevice.cpp",
		Example: ":0:rocdevice.cpp :2982: Callback: Queue 0x7f aborting with error : HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory beyond the largest legal address. code: 0x29",
	},
}
