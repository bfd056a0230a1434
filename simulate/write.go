package simulate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// caseFile is case.json: the fields of the corpus, and the exact truth next to them.
type caseFile struct {
	ID            string         `json:"id"`
	Title         string         `json:"title"`
	SourceURLs    []string       `json:"source_urls"`
	Versions      map[string]any `json:"versions"`
	Framework     string         `json:"framework"`
	WorldSize     int            `json:"world_size"`
	Nodes         int            `json:"nodes"`
	Category      string         `json:"category"`
	RootRank      any            `json:"root_rank"` // null, one rank, or a list
	RootNode      any            `json:"root_node"`
	Cause         string         `json:"established_cause"`
	LogSupports   string         `json:"log_supports"`
	Observable    map[string]any `json:"observable"`
	MustNotSay    []string       `json:"must_not_say"`
	Notes         string         `json:"notes"`
	CauseBasis    string         `json:"cause_basis"`
	Copy          string         `json:"copy"`
	Accept        []string       `json:"accept"`
	Forbid        forbid         `json:"forbid"`
	DecidableFrom string         `json:"decidable_from"`
	Truth         Truth          `json:"truth"`
	Flags         flags          `json:"flags"`
	Spec          Spec           `json:"spec"`
}

type forbid struct {
	Mechanisms []string `json:"mechanisms"`
	Ranks      []int    `json:"ranks"`
	Nodes      []string `json:"nodes"`
}

type flags struct {
	WorldSize int    `json:"world_size"`
	Nodes     string `json:"nodes"`
}

// categories of the corpus by mechanism; where a truth is a set, its first member decides, or "unknown".
var categories = map[string]string{
	"rank-stalled": "straggler", "dataloader-stall": "data-stall", "lone-waiter": "collective-desync", "collective-mismatch": "collective-desync",
	"uneven-data": "data", "bad-sample": "data", "dataloader-worker-killed": "data", "collective-hang": "fabric-hang", "gpu-hang": "gpu-hardware",
	"gpu-ecc": "gpu-hardware", "gpu-off-bus": "gpu-hardware", "gpu-nvlink": "gpu-hardware", "gpu-oom": "gpu-oom", "cuda-error": "cuda-error",
	"host-oom": "host-oom", "link-error": "network", "peer-lost": "network", "init-unreachable": "rendezvous-startup", "config-error": "rendezvous-startup",
	"non-finite-loss": "numerical", "exception": "software", "native-crash": "software", "version-mismatch": "software", "watchdog-stuck": "software",
	"node-failure": "infrastructure-node-failure", "preempted": "preemption", "time-limit": "time-limit", "completed": "none", "cancelled": "none",
	"checkpoint-io": "checkpoint", "storage-full": "storage-io", "storage-unresponsive": "storage-io", "storage-retries-exhausted": "storage-io",
}

func category(t Truth) string {
	switch {
	case t.NoFailure:
		return "none"
	case t.Storage != nil && t.Storage.Implicated():
		return "storage-io"
	case len(t.Candidates) > 1:
		return "unknown"
	}
	for _, c := range t.Candidates {
		if k, ok := categories[c]; ok {
			return k
		}
	}
	return "unknown"
}

// oneOrMany is null for none, the value itself for one, a list for more.
func oneOrMany[T any](xs []T) any {
	switch len(xs) {
	case 0:
		return nil
	case 1:
		return xs[0]
	}
	return xs
}

// Write puts an incident into dir/<ID>/: the files in logs/, those of the storage's daemons in ais-logs/, and case.json.
func Write(dir string, inc *Incident) error {
	root := filepath.Join(dir, inc.ID)
	logs := filepath.Join(root, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return fmt.Errorf("simulate: making %s: %w", logs, err)
	}
	for _, f := range inc.Files {
		if err := os.WriteFile(filepath.Join(logs, f.Name), f.Data, 0o644); err != nil {
			return fmt.Errorf("simulate: writing %s: %w", f.Name, err)
		}
	}
	for _, f := range inc.Storage {
		to := filepath.Join(root, "ais-logs", filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return fmt.Errorf("simulate: making the folder of %s: %w", f.Name, err)
		}
		if err := os.WriteFile(to, f.Data, 0o644); err != nil {
			return fmt.Errorf("simulate: writing %s: %w", f.Name, err)
		}
	}
	t, from := inc.Truth, "worker-logs"
	if len(inc.Storage) > 0 {
		from = "worker-logs and ais-logs"
	}
	support := "full"
	if len(t.Candidates) > 1 {
		support = "symptom-only"
	}
	c := caseFile{
		ID: inc.ID, Title: inc.Title, SourceURLs: []string{}, Versions: map[string]any{"torch": inc.Spec.Torch}, Framework: inc.Spec.Layout.Kind,
		WorldSize: inc.Spec.NodeCount * inc.Spec.PerNode, Nodes: inc.Spec.NodeCount, Category: category(t),
		RootRank: oneOrMany(t.RootRanks), RootNode: oneOrMany(t.RootNodes), Cause: t.World, LogSupports: support, Observable: map[string]any{},
		MustNotSay: []string{}, Notes: "simulated; truth is what the emitted bytes determine", CauseBasis: "simulated", Copy: "generated",
		Accept: t.Candidates, Forbid: forbid{Mechanisms: t.ForbidMechanisms, Ranks: t.Intermediates, Nodes: []string{}}, DecidableFrom: from,
		Truth: t, Flags: flags{WorldSize: inc.WorldSize, Nodes: inc.Nodes}, Spec: inc.Spec,
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("simulate: encoding the case of %s: %w", inc.ID, err)
	}
	if err := os.WriteFile(filepath.Join(root, "case.json"), append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("simulate: writing the case of %s: %w", inc.ID, err)
	}
	return nil
}
