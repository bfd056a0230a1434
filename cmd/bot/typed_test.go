package main

import (
	"bytes"
	"strings"
	"testing"

	"faultline/config"
)

// Where nobody can type an address, that is known before anybody tries.
func TestAnEmptyAllowListIsSaidBeforeAnybodyTypes(t *testing.T) {
	for _, allow := range [][]config.HostPattern{nil, {"*.example.org"}} {
		var cfg config.Config
		cfg.StorageAccess.Allow = allow
		if got := policyOf(cfg).TypedStorage; got != (allow != nil) {
			t.Errorf("%q: addresses may be typed: %v", allow, got)
		}
		var out bytes.Buffer
		(&doctor{cfg: cfg, out: &out}).storage(t.Context())
		if said := strings.Contains(out.String(), "storage_access.allow is empty"); said != (allow == nil) {
			t.Errorf("%q: %s", allow, out.String())
		}
	}
}
