package knowledge

// SXid is one number of the errors that NVIDIA's driver reports of an NVSwitch.
type SXid struct {
	Number int
	Name   string
	Reach  Reach
}

// Reach is how far an error of an NVSwitch goes by NVIDIA's guide. The line says only Fatal or Non-fatal.
type Reach int

const (
	ReachNothing Reach = iota // corrected by the switch
	ReachSlow                 // packets are sent again
	ReachGPU                  // not fatal to the switch, and yet the traffic of the GPU stalls: jobs are ended with Xid 45
	ReachPort                 // fatal to one port: comes as Xid 74 to the GPU behind it
	ReachFabric               // fatal to all NVLinks of the node
	ReachUnsaid               // the guide does not explain it: its line says whether it is fatal
)

// SXidSource is where the numbers are explained by their maker.
const SXidSource = "NVIDIA Fabric Manager User Guide, DU-09883-001_v1.3, appendix on NVSwitch SXid errors"

// sxids are the numbers that the guide explains.
var sxids = []SXid{
	{11001, "ingress invalid command", ReachPort}, {11004, "ingress invalid ACL", ReachGPU}, {11009, "ingress invalid VCSet", ReachPort},
	{11012, "single-bit ECC error", ReachNothing}, {11013, "ingress header DBE", ReachPort}, {11018, "ingress RID DBE", ReachPort},
	{11019, "ingress RLAN DBE", ReachPort}, {11020, "ingress control parity", ReachPort}, {11021, "single-bit ECC error", ReachNothing},
	{11022, "single-bit ECC error", ReachNothing}, {11023, "single-bit ECC error", ReachNothing}, {12001, "egress crossbar overflow", ReachPort},
	{12002, "egress packet route", ReachPort}, {12020, "egress sequence ID error", ReachFabric}, {12021, "single-bit ECC error", ReachNothing},
	{12022, "egress input ECC DBE", ReachPort}, {12023, "single-bit ECC error", ReachNothing}, {12024, "egress output ECC DBE", ReachPort},
	{12025, "egress credit overflow", ReachPort}, {12026, "egress destination request ID error", ReachPort},
	{12027, "egress destination response ID error", ReachPort}, {12028, "egress non-posted PRIV error", ReachGPU},
	{12030, "egress control parity error", ReachPort}, {12031, "egress credit parity error", ReachPort}, {12032, "egress flit type mismatch", ReachPort},
	{14017, "TS ATO timeout", ReachPort}, {15001, "route buffer over- or underflow", ReachPort}, {15006, "route transdone over- or underflow", ReachPort},
	{15008, "single-bit ECC error", ReachNothing}, {15009, "route GLT DBE", ReachPort}, {15010, "route parity", ReachPort},
	{15011, "single-bit ECC error", ReachNothing}, {15012, "route incoming DBE", ReachPort}, {15013, "route credit parity", ReachPort},
	{19047, "NCISOC header ECC DBE", ReachPort}, {19048, "NCISOC data ECC DBE", ReachPort}, {19049, "single-bit ECC error", ReachNothing},
	{19054, "header RAM ECC DBE", ReachPort}, {19055, "single-bit ECC error", ReachNothing}, {19057, "single-bit ECC error", ReachNothing},
	{19059, "single-bit ECC error", ReachNothing}, {19062, "single-bit ECC error", ReachNothing}, {19065, "single-bit ECC error", ReachNothing},
	{19068, "single-bit ECC error", ReachNothing}, {19071, "single-bit ECC error", ReachNothing}, {19084, "AN1 heartbeat timeout", ReachGPU},
	{20001, "TX replay error", ReachSlow}, {20012, "broken or inconsistent connection", ReachGPU}, {20034, "LTSSM fault up", ReachPort},
	{22003, "Minion halt", ReachFabric}, {22011, "Minion external error", ReachFabric}, {22013, "Minion link DLREQ interrupt", ReachNothing},
	{23001, "ingress SRC-VC buffer overflow", ReachFabric}, {23002, "ingress SRC-VC buffer underflow", ReachFabric},
	{23003, "egress DST-VC credit overflow", ReachFabric}, {23004, "egress DST-VC credit underflow", ReachFabric},
	{23005, "ingress packet burst error", ReachFabric}, {23006, "ingress packet sticky error", ReachFabric},
	{23007, "possible bubbles at ingress", ReachFabric}, {23008, "ingress packet invalid destination", ReachFabric},
	{23009, "ingress packet parity error", ReachFabric}, {24001, "single-bit ECC error", ReachNothing}, {24002, "single-bit ECC error", ReachNothing},
	{24003, "single-bit ECC error", ReachNothing}, {24005, "source track TCEN0 DBE", ReachPort}, {24006, "source track TCEN1 DBE", ReachPort},
	{24007, "source track timeout", ReachPort},
}

// SXidByNumber finds one number: as the guide explains it, else by the driver's own name.
func SXidByNumber(n int) (SXid, bool) {
	for _, x := range sxids {
		if x.Number == n {
			return x, true
		}
	}
	if name, ok := driverName(n); ok {
		return SXid{n, name, ReachUnsaid}, true
	}
	return SXid{}, false
}

// SXids returns the numbers that the guide explains, in order.
func SXids() []SXid { return append([]SXid(nil), sxids...) }
