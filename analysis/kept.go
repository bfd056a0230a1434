package analysis

import (
	"sync"

	"faultline/analysis/scan"
	"faultline/incident"
)

// What is kept of compressed files: of all together, and of one at most.
const (
	maxKept     = 64 << 20
	maxKeptFile = 4 << 20
)

// keeper spares compressed files being decompressed once more for their quotations. What the verifier reads, it unpacks
// by itself.
type keeper struct {
	mu    sync.Mutex
	files map[string]*scan.Kept
}

func newKeeper() *keeper { return &keeper{files: map[string]*scan.Kept{}} }

// keep returns a scanner that keeps what it delivers of the file.
func (k *keeper) keep(sc *scan.Scanner, file string, files int) *scan.Scanner {
	if k == nil {
		return sc
	}
	kept := scan.NewKept(min(maxKept/files, maxKeptFile))
	k.mu.Lock()
	k.files[file] = kept
	k.mu.Unlock()
	return sc.Keep(kept)
}

// fill gives quotations of a file their text and returns those whose text was not kept.
func (k *keeper) fill(file string, evs []*incident.Evidence) (rest []*incident.Evidence) {
	if k == nil || k.files[file] == nil {
		return evs
	}
	for _, e := range evs {
		text, ok := k.files[file].At(e.Offset, quoteLimit)
		if !ok {
			rest = append(rest, e)
			continue
		}
		if e.Span > 0 && e.Span < len(text) {
			text = text[:e.Span]
		}
		setQuote(e, text)
	}
	return rest
}
