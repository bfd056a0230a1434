package knowledge

// Xid is one number of the errors that NVIDIA's driver writes to the kernel log.
type Xid struct {
	Number    int
	Name      string // short, as the catalogue names it
	Meaning   string // one sentence for people
	Role      Role
	Mechanism string // slug this number speaks for, or ""
	// Check is what to do first where no mechanism says it; a second line is a command.
	Check string
}

// XidSource is where the numbers are explained by their maker.
const XidSource = "NVIDIA Xid catalogue, docs.nvidia.com/deploy/xid-errors"

// xids holds the numbers that training jobs meet, in order. The signatures of kernel lines (gpuHardwareSignatures) and this
// table must agree; a test holds them together.
var xids = []Xid{
	{8, "GPU stopped processing", "A job's kernel kept the GPU too long, or the GPU stopped by itself.", CauseRole, "cuda-error", ""},
	{13, "graphics engine exception", "A kernel did something illegal on the GPU, as an address or an instruction that does not exist: mostly the program; the hardware if the same unit repeats it under different jobs.", CauseRole, "cuda-error", ""},
	{31, "MMU page fault", "A kernel touched GPU memory that is not mapped: mostly the program (CUDA reports an illegal memory access).", CauseRole, "cuda-error", ""},
	{32, "corrupted push buffer", "The driver read damaged commands for the GPU: driver, PCIe or hardware, rarely the program.", SymptomRole, "", "Read the lines around it in the kernel log; if the same GPU repeats it, have it tested.\nssh NODE 'dmesg -T | grep -i xid; dcgmi diag -r 3'"},
	{38, "driver firmware error", "The driver met an error of the GPU's firmware.", SymptomRole, "", "Have the GPU reset; if it comes back, compare the driver's version with NVIDIA's release notes."},
	{43, "GPU stopped processing", "The work of one process was thrown away after its own fault; the GPU goes on.", CauseRole, "cuda-error", ""},
	{45, "preemptive cleanup", "The driver cleaned up after a process that was killed or failed before.", ConsequenceRole, "", "Look for what came before it: another Xid (“caused by previous Xid N” names it), or the signal that ended the process."},
	{48, "double-bit ECC error", "The GPU's memory has an error that it cannot correct.", CauseRole, "gpu-ecc", ""},
	{61, "micro-controller breakpoint", "A controller inside the GPU stopped.", CauseRole, "gpu-firmware", ""},
	{62, "micro-controller halt", "A controller inside the GPU stopped.", CauseRole, "gpu-firmware", ""},
	{63, "row remapping or page retirement recorded", "The GPU set a bad row of memory aside; harmless alone, a reset makes it take effect.", InfoRole, "gpu-ecc", ""},
	{64, "row remapping or page retirement failed", "The GPU has bad memory that it could not set aside.", CauseRole, "gpu-ecc", ""},
	{68, "video decoder exception", "A unit of the GPU failed under the work it was given: mostly the program or the driver.", CauseRole, "cuda-error", ""},
	{69, "graphics engine class error", "A unit of the GPU failed under the work it was given: mostly the program or the driver.", CauseRole, "cuda-error", ""},
	{74, "NVLink error", "The link between two GPUs failed; look at both of its ends.", CauseRole, "gpu-nvlink", ""},
	{79, "GPU has fallen off the bus", "The GPU no longer answers on PCIe (power, heat, or hardware); nothing on it can be saved.", CauseRole, "gpu-off-bus", ""},
	{92, "high single-bit ECC rate", "The GPU's memory needs correction often: a warning, not yet a failure.", InfoRole, "gpu-ecc", ""},
	{94, "contained ECC error", "The GPU's memory returned data it could not correct; only the process that owned them dies.", CauseRole, "gpu-ecc", ""},
	{95, "uncontained ECC error", "The GPU's memory returned data it could not correct, and it is not known whose: reset before anything else runs there.", CauseRole, "gpu-ecc", ""},
	{109, "context switch timeout", "The GPU could not take a process off in time: mostly a kernel of the job or the driver.", CauseRole, "cuda-error", ""},
	{110, "security fault", "The GPU refused work for security reasons: driver, firmware or hardware.", SymptomRole, "", "Have the GPU reset; if it comes back, show the administrators the line with its time."},
	{119, "GSP RPC timeout", "The GPU's own processor (GSP) stopped answering the driver.", CauseRole, "gpu-firmware", ""},
	{120, "GSP error", "The GPU's own processor (GSP) crashed.", CauseRole, "gpu-firmware", ""},
	{121, "C2C link corrected error", "The link between GPU and CPU (Grace) corrected an error: a warning.", InfoRole, "", "Watch whether it grows; alone it explains no failure."},
	{122, "SPI RPC read failure", "The GPU could not read its board's flash memory; rarely fatal for the job.", InfoRole, "", "Look for another Xid beside it."},
	{123, "SPI RPC write failure", "The GPU could not write its board's flash memory; rarely fatal for the job.", InfoRole, "", "Look for another Xid beside it."},
	{124, "SPI RPC erase failure", "The GPU could not erase its board's flash memory; rarely fatal for the job.", InfoRole, "", "Look for another Xid beside it."},
	{125, "inforom failure", "The GPU's board information could not be read or written; rarely fatal for the job.", InfoRole, "", "Look for another Xid beside it."},
	{136, "link training failed", "A link between GPUs could not be brought up.", CauseRole, "gpu-nvlink", ""},
	{137, "NVLink remote access fault", "A GPU was refused access to the memory of another: often because that other GPU or its process died first, else the program.", SymptomRole, "", "Look at the other GPUs and processes of the same node: what failed there a moment before?"},
	{140, "unrecovered ECC error", "The GPU's memory has an error that it cannot correct.", CauseRole, "gpu-ecc", ""},
	{143, "GPU initialisation error", "The GPU could not be started.", CauseRole, "gpu-firmware", ""},
	{144, "NVLink 5 unit SAW", nvlink5, SymptomRole, "gpu-nvlink", ""},
	{145, "NVLink 5 unit RLW", nvlink5, SymptomRole, "gpu-nvlink", ""},
	{146, "NVLink 5 unit TLW", nvlink5, SymptomRole, "gpu-nvlink", ""},
	{147, "NVLink 5 unit TREX", nvlink5, SymptomRole, "gpu-nvlink", ""},
	{148, "NVLink 5 unit NVLPW_CTRL", nvlink5, SymptomRole, "gpu-nvlink", ""},
	{149, "NVLink 5 unit NETIR", nvlink5, SymptomRole, "gpu-nvlink", ""},
	{150, "NVLink 5 unit MSE", nvlink5, SymptomRole, "gpu-nvlink", ""},
	{154, "recovery action changed", "The driver itself says what the GPU needs next: nothing, a reset, a reboot of the node, or to be drained.", InfoRole, "", "Do what the line says, and look for the Xid just before it: that is the failure."},
}

const nvlink5 = "A part of the link between GPUs reports an error: “Fatal” in the line means that the link failed, “Nonfatal” is often noise."

// Xids returns the table, by number.
func Xids() []Xid { return append([]Xid(nil), xids...) }

// XidByNumber finds one number.
func XidByNumber(n int) (Xid, bool) {
	for _, x := range xids {
		if x.Number == n {
			return x, true
		}
	}
	return Xid{}, false
}
