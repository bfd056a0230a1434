package chat

import (
	"testing"
	"time"

	"faultline/config"
)

func TestAVaultGivesOnceAndForgets(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	v := NewVault(15*time.Minute, func() time.Time { return now })
	put := func(key string) { v.Put(key, map[string]config.Secret{"token": "hunter2"}) }
	put("a")
	if got := v.Take("a"); got["token"].Reveal() != "hunter2" {
		t.Errorf("got %v", got)
	}
	if got := v.Take("a"); got != nil {
		t.Errorf("given twice: %v", got)
	}
	put("b")
	old := v.kept["b"].secrets
	now = now.Add(15 * time.Minute)
	v.Sweep()
	if len(v.kept) != 0 || len(old) != 0 {
		t.Errorf("kept too long: %v %v", v.kept, old)
	}
	if got := v.Take("b"); got != nil {
		t.Errorf("given too late: %v", got)
	}
}
