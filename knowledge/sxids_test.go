package knowledge

import (
	"slices"
	"strings"
	"testing"
)

// What the guide calls harmless is so; numbers that it does not explain have the driver's name, and say nothing of how far they reach.
func TestSXids(t *testing.T) {
	harmless := []int{11012, 11021, 11022, 11023, 12021, 12023, 15008, 15011, 19049, 19055, 19057, 19059, 19062, 19065, 19068, 19071, 22013, 24001, 24002, 24003}
	for n := 9000; n < 40000; n++ {
		x, ok := SXidByNumber(n)
		if slices.Contains(harmless, n) != (ok && x.Reach == ReachNothing) {
			t.Errorf("%d: %+v", n, x)
		}
		if ok && (x.Name == "" || strings.Contains(x.Name, "  ") || x.Number != n) {
			t.Errorf("%d: %+v", n, x)
		}
	}
	for n, want := range map[int]SXid{
		12028: {12028, "egress non-posted PRIV error", ReachGPU}, 10003: {10003, "host unhandled_interrupt", ReachUnsaid}, 10006: {10006, "host thermal_shutdown", ReachUnsaid},
		11047: {11047, "ingress mcremaptab_addrtypeerr", ReachUnsaid}, 25010: {25010, "NVLIPT link ali_training_fail", ReachUnsaid}, 26008: {26008, "SOE watchdog", ReachUnsaid},
		20038: {20038, "DLPL rx_pl_error", ReachUnsaid}, 19056: {19056, "NVLTLC rx_sys_dat0_ram_ecc_dbe_err", ReachUnsaid},
	} {
		if got, ok := SXidByNumber(n); !ok || got != want {
			t.Errorf("%d: %+v", n, got)
		}
	}
	for _, n := range []int{0, 10000, 10011, 11048, 26009, 99999} {
		if x, ok := SXidByNumber(n); ok {
			t.Errorf("%d: %+v", n, x)
		}
	}
	for _, x := range SXids() { // every number of the guide is one that the driver has
		if _, ok := driverName(x.Number); !ok {
			t.Errorf("%+v is no number of the driver", x)
		}
	}
}
