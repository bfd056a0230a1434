package chat

import (
	"sync"
	"time"

	"faultline/config"
)

// MemoryVault is a Vault in this process: a restart empties it, and so does time.
type MemoryVault struct {
	ttl time.Duration
	now func() time.Time

	mu   sync.Mutex
	kept map[string]kept
}

type kept struct {
	secrets map[string]config.Secret
	until   time.Time
}

// NewVault returns an empty vault that forgets after ttl.
func NewVault(ttl time.Duration, now func() time.Time) *MemoryVault {
	return &MemoryVault{ttl: ttl, now: now, kept: map[string]kept{}}
}

// Put implements Vault.
func (v *MemoryVault) Put(key string, secrets map[string]config.Secret) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sweep()
	v.kept[key] = kept{secrets, v.now().Add(v.ttl)}
}

// Take implements Vault.
func (v *MemoryVault) Take(key string) map[string]config.Secret {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sweep()
	k := v.kept[key]
	delete(v.kept, key)
	return k.secrets
}

// Sweep drops what is too old, also when nobody puts or takes anything.
func (v *MemoryVault) Sweep() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sweep()
}

func (v *MemoryVault) sweep() {
	now := v.now()
	for key, k := range v.kept {
		if !now.Before(k.until) {
			clear(k.secrets)
			delete(v.kept, key)
		}
	}
}
