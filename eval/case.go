package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
	"faultline/simulate"
)

// CaseInput is what the engine is given of a case: the files and what an operator would state, never the answer.
type CaseInput struct {
	ID      string
	Sources []incident.Source
	// Storage are the logs of the storage's daemons, of cases that have a folder ais-logs beside logs.
	Storage []incident.Source
	// Evidence is what was collected beside the logs, of cases that have a folder evidence.
	Evidence []incident.Source
	// WorldSize and Nodes (a host list as typed) are what the operator states; 0 and "" where nobody does.
	WorldSize int
	Nodes     string
	// Known is what is known of the wordings of lines; nil is everything.
	Known *knowledge.Catalogue
}

// The folders of a case, and the file that states its answer.
const (
	answer      = "case.json"
	logsDir     = "logs"
	evidenceDir = "evidence"
)

// caseFile is case.json: of a real case (corpus README) or of a simulated one, which has truth.
type caseFile struct {
	ID    string `json:"id"`
	Title string `json:"title"`

	// What an operator would state.
	Flags flags `json:"flags"`

	// Real cases. (Simulated ones have these too, derived from their truth.)
	Category      string            `json:"category"`
	RootRank      oneOrMany[int]    `json:"root_rank"`
	RootNode      oneOrMany[string] `json:"root_node"`
	CauseBasis    string            `json:"cause_basis"`
	Accept        []string          `json:"accept"`
	Forbid        forbidden         `json:"forbid"`
	DecidableFrom string            `json:"decidable_from"`

	// Simulated cases.
	Truth *simulate.Truth `json:"-"` // see UnmarshalJSON
	Spec  *simulate.Spec  `json:"spec"`
}

// UnmarshalJSON reads case.json. The truth of a simulated case is a table; that of a real one may be a sentence for people.
func (c *caseFile) UnmarshalJSON(b []byte) error {
	type fields caseFile
	if err := json.Unmarshal(b, (*fields)(c)); err != nil {
		return err
	}
	var told struct {
		Truth json.RawMessage `json:"truth"`
	}
	if err := json.Unmarshal(b, &told); err != nil || !bytes.HasPrefix(told.Truth, []byte("{")) {
		return err
	}
	return json.Unmarshal(told.Truth, &c.Truth)
}

type forbidden struct {
	Mechanisms []string `json:"mechanisms"`
	Ranks      []int    `json:"ranks"`
	Nodes      []string `json:"nodes"`
}

type flags struct {
	WorldSize int    `json:"world_size"`
	Nodes     string `json:"nodes"`
}

// oneOrMany reads null, one value or a list of them.
type oneOrMany[T any] []T

func (m *oneOrMany[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*m = nil
		return nil
	}
	var one T
	if json.Unmarshal(b, &one) == nil {
		*m = oneOrMany[T]{one}
		return nil
	}
	return json.Unmarshal(b, (*[]T)(m))
}

// simulated tells the two kinds of cases apart.
func (c *caseFile) simulated() bool { return c.Truth != nil }

// groundTruth says whether the answer of a real case is known and decidable from what is in logs/.
func (c *caseFile) groundTruth() bool {
	return c.DecidableFrom == "worker-logs" && (c.CauseBasis == "source-confirmed" || c.CauseBasis == "log-evident")
}

// control says that nothing failed: whatever is blamed is blamed wrongly.
func (c *caseFile) control() bool {
	if c.simulated() {
		return c.Truth.NoFailure
	}
	return c.Category == "none"
}

// label is the row of the table per mechanism.
func (c *caseFile) label() string {
	switch {
	case c.Spec != nil && c.Spec.Mechanism != "":
		return c.Spec.Mechanism
	case c.simulated():
		return strings.Join(c.Truth.Candidates, " or ")
	case len(c.Accept) > 0:
		return c.Accept[0]
	}
	return c.Category
}

// discover lists the folders of all cases below dirs: a case is a folder that holds case.json.
func discover(dirs []string) ([]string, error) {
	var out []string
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, answer)); err == nil {
			out = append(out, dir)
			continue
		}
		found, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*", answer))
		if err != nil {
			return nil, fmt.Errorf("looking for cases in %s: %w", dir, err)
		}
		if len(found) == 0 {
			if _, err := os.Stat(dir); err != nil {
				return nil, fmt.Errorf("looking for cases: %w", err)
			}
			return nil, fmt.Errorf("%s holds no cases: expected folders with a case.json and logs/", dir)
		}
		for _, f := range found {
			out = append(out, filepath.Dir(f))
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no folder of cases is named")
	}
	return out, nil
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// load reads one case. What is packed is unpacked below scratch. The error is a short reason for the scoreboard and holds no
// path.
func load(dir string, scratch func() (string, error)) (caseFile, CaseInput, error) {
	c := caseFile{ID: filepath.Base(dir)}
	data, err := os.ReadFile(filepath.Join(dir, answer))
	if err != nil {
		return c, CaseInput{}, fmt.Errorf("reading case.json: %w", bare(err))
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, CaseInput{}, fmt.Errorf("reading case.json: %w", err)
	}
	in := CaseInput{ID: c.ID, WorldSize: c.Flags.WorldSize, Nodes: c.Flags.Nodes}
	if in.Sources, err = sources(filepath.Join(dir, logsDir), ""); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, in, fmt.Errorf("reading logs: %w", bare(err))
	}
	if in.Evidence, err = sources(filepath.Join(dir, evidenceDir), evidenceDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, in, fmt.Errorf("reading %s: %w", evidenceDir, bare(err))
	}
	if len(in.Sources) == 0 && len(in.Evidence) == 0 {
		return c, in, errors.New("logs/ holds no file")
	}
	if in.Storage, err = storage(filepath.Join(dir, storageDir), scratch); err != nil {
		return c, in, fmt.Errorf("reading %s: %w", storageDir, bare(err))
	}
	return c, in, nil
}

// sources lists the files below a folder, by name.
func sources(root, prefix string) ([]incident.Source, error) {
	var out []incident.Source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		out = append(out, incident.Source{Name: path.Join(prefix, filepath.ToSlash(rel)), Path: p, Bytes: info.Size(), Origin: "path"})
		return nil
	})
	slices.SortFunc(out, func(a, b incident.Source) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

// bare takes the path out of an error: the scoreboard is the same on every machine.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
