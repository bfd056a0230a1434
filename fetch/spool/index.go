package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"faultline/fetch/source"
)

// note is what is known of a file that was taken, or begun.
type note struct {
	Place   string    `json:"place"`
	Name    string    `json:"name"`
	Mark    string    `json:"mark,omitempty"`
	Whole   bool      `json:"whole,omitempty"`
	Size    int64     `json:"size"`
	Written time.Time `json:"written"`
	// Sum is the content's, of a file that was taken.
	Sum string `json:"sha256,omitempty"`
	// Taken is when it was.
	Taken time.Time `json:"taken,omitzero"`
	// Synced is how many bytes of a part are on the disk for certain; what follows them is not believed after a restart.
	Synced int64 `json:"synced,omitempty"`
}

func noteOf(place string, f source.File) note {
	return note{Place: place, Name: f.Name, Mark: f.Mark, Whole: f.Whole, Size: f.Size, Written: f.Written.UTC()}
}

// is says whether f is, for all that can be seen from outside, what was noted.
func (n note) is(f source.File) bool {
	return n.Mark == f.Mark && n.Size == f.Size && (f.Whole && n.Whole || n.Written.Equal(f.Written))
}

// coarse is how long after its last write a file may be written once more without a change of what its source tells of it: login
// nodes count whole seconds, and their clocks differ from ours.
const coarse = 10 * time.Second

// doubtful says that the file may have been written again in the moment in which it was taken.
func (n note) doubtful() bool { return !n.Whole && n.Taken.Sub(n.Written) < coarse }

// beganAs says whether f may be what was noted, perhaps longer by now.
func (n note) beganAs(f source.File) bool {
	return n.Mark == f.Mark && n.Whole == f.Whole && (n.Size == f.Size || !f.Whole && n.Size < f.Size)
}

// key names a file of a place.
func key(place, name string) string {
	h := sha256.Sum256([]byte(place + "\x00" + name))
	return hex.EncodeToString(h[:])
}

func (s *Spool) blobFile(sum string) string { return filepath.Join(s.dir, "blob", sum[:2], sum) }
func (s *Spool) partFile(key string) string { return filepath.Join(s.dir, "part", key) }
func (s *Spool) partNote(key string) string { return filepath.Join(s.dir, "part", key+".json") }
func (s *Spool) haveNote(key string) string { return filepath.Join(s.dir, "have", key+".json") }

// readNote gives a note; the second result is false where there is none, or none that is whole.
func readNote(name, place, file string) (note, bool) {
	b, err := os.ReadFile(name)
	if err != nil {
		return note{}, false
	}
	var n note
	if json.Unmarshal(b, &n) != nil || n.Place != place || n.Name != file || n.Sum != "" && !isSum(n.Sum) || n.Size < 0 || n.Synced < 0 {
		return note{}, false
	}
	return n, true
}

// writeNote replaces a note. It needs no sync: a note that a crash took costs a fetch, no truth.
func writeNote(name string, n note) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", b, 0o600); err != nil {
		_ = os.Remove(name + ".new")
		return err
	}
	return os.Rename(name+".new", name)
}

func isSum(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && hex.EncodeToString(b) == s
}

// sumIn is the content that a note names.
func sumIn(name string) string {
	var n note
	b, err := os.ReadFile(name)
	if err != nil || json.Unmarshal(b, &n) != nil {
		return ""
	}
	return n.Sum
}
