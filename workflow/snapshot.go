package workflow

import (
	"encoding/json"
	"fmt"

	"faultline/incident"
)

// snapshotVersion is written into every snapshot; see DecodeInvestigation.
const snapshotVersion = 1

// snapshot is an investigation as stores keep it. The paths of the sources are left out of every report's JSON, and
// are kept here.
type snapshot struct {
	Format        int           `json:"format"`
	Investigation Investigation `json:"investigation"`
	Paths         []string      `json:"paths,omitempty"`         // of Investigation.Sources, in their order
	StoragePaths  []string      `json:"storage_paths,omitempty"` // of Investigation.StorageSources
	Written       []int64       `json:"written,omitempty"`       // of Investigation.Sources, while the job runs
}

// Encode returns the investigation as bytes for a store.
func (inv Investigation) Encode() ([]byte, error) {
	snap := snapshot{Format: snapshotVersion, Investigation: inv, Paths: pathsOf(inv.Sources), StoragePaths: pathsOf(inv.StorageSources)}
	if inv.Running {
		for _, s := range inv.Sources {
			snap.Written = append(snap.Written, s.Written)
		}
	}
	b, err := json.Marshal(snap)
	if err != nil {
		return nil, fmt.Errorf("writing investigation %s: %w", inv.ID, err)
	}
	return b, nil
}

// DecodeInvestigation reads what Encode wrote, in this version or an earlier one; members that an earlier version did
// not have keep their zero value, which every one of them is made to bear.
func DecodeInvestigation(b []byte) (Investigation, error) {
	var s snapshot
	if err := json.Unmarshal(b, &s); err != nil {
		return Investigation{}, fmt.Errorf("reading a stored investigation: %w", err)
	}
	if s.Format < 1 || s.Format > snapshotVersion {
		return Investigation{}, fmt.Errorf("a stored investigation has format %d; this program knows 1 to %d: run the version that wrote it, or a newer one", s.Format, snapshotVersion)
	}
	for _, part := range []struct {
		sources []incident.Source
		paths   []string
	}{{s.Investigation.Sources, s.Paths}, {s.Investigation.StorageSources, s.StoragePaths}} {
		if len(part.paths) != len(part.sources) {
			return Investigation{}, fmt.Errorf("investigation %s was stored with %d paths for %d sources", s.Investigation.ID, len(part.paths), len(part.sources))
		}
		for i, path := range part.paths {
			part.sources[i].Path = path
		}
	}
	for i := range s.Investigation.Sources[:min(len(s.Written), len(s.Investigation.Sources))] {
		s.Investigation.Sources[i].Written = s.Written[i]
	}
	return s.Investigation, nil
}

func pathsOf(sources []incident.Source) (paths []string) {
	for _, s := range sources {
		paths = append(paths, s.Path)
	}
	return paths
}
