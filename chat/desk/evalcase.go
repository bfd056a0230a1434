package desk

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"faultline/incident"
	"faultline/messages/redact"
	"faultline/workflow"
)

// ErrNoConsent says that a case may not become a test: the person who asked did not agree, or nobody said that the verdict
// was wrong.
var ErrNoConsent = errors.New("the requester has not agreed to share this case as a test, or nobody has marked its verdict wrong")

// evalCase is case.json as `bot eval` reads it. What people believe is a suspicion, not ground truth: whoever adopts
// the case for a scoreboard looks at it first.
type evalCase struct {
	ID            string     `json:"id"`
	Title         string     `json:"title"`
	Flags         evalFlags  `json:"flags"`
	Category      string     `json:"category"`
	RootRank      *int       `json:"root_rank"`
	RootNode      *string    `json:"root_node"`
	CauseBasis    string     `json:"cause_basis"`
	Accept        []string   `json:"accept"`
	Forbid        evalForbid `json:"forbid"`
	DecidableFrom string     `json:"decidable_from"`
	Copy          string     `json:"copy"`
	Notes         []string   `json:"notes"`
}

type evalFlags struct {
	WorldSize int    `json:"world_size,omitempty"`
	Nodes     string `json:"nodes,omitempty"`
}

type evalForbid struct {
	Mechanisms []string `json:"mechanisms"`
	Ranks      []int    `json:"ranks"`
	Nodes      []string `json:"nodes"`
}

// EvalName is the folder of the case that EvalCase makes of an investigation.
func EvalName(id string) string { return "disputed-" + strings.ToLower(id) }

// EvalCase writes a disputed investigation as a case of `bot eval` below dir, redacted, and returns its folder. Only
// the person who asked can agree to that: ErrNoConsent otherwise.
func EvalCase(ctx context.Context, inv workflow.Investigation, open func(path string) (*os.File, error), dir string) (folder string, err error) {
	o := inv.Outcome
	if o == nil || !o.Consent || o.By != inv.Home.Requester || o.Verdict != "wrong" || inv.Report == nil {
		return "", ErrNoConsent
	}
	c := evalCase{
		ID: EvalName(inv.ID), Title: redact.String(inv.Told), Category: "unknown",
		Flags:      evalFlags{WorldSize: inv.WorldSize, Nodes: strings.Join(inv.Nodes, ",")},
		CauseBasis: "source-suspected", Accept: []string{}, DecidableFrom: "worker-logs", Copy: "redacted",
		Forbid: evalForbid{Mechanisms: []string{}, Ranks: []int{}, Nodes: []string{}},
	}
	if wrong := inv.Report.Verdict.Mechanism; wrong != o.Mechanism {
		c.Forbid.Mechanisms = append(c.Forbid.Mechanisms, wrong)
	}
	if o.Mechanism != "" {
		c.Accept = append(c.Accept, o.Mechanism)
	} else {
		c.DecidableFrom = "none"
	}
	for _, note := range []string{o.Cause, o.Fix} {
		if note != "" {
			c.Notes = append(c.Notes, redact.String(note))
		}
	}
	folder = filepath.Join(dir, c.ID)
	for i, s := range inv.Sources {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		name := path.Clean("/" + strings.ReplaceAll(redact.String(s.Name), `\`, "/"))[1:]
		if name == "" {
			name = fmt.Sprintf("file-%d", i+1)
		}
		err := redactFile(open, s, filepath.Join(folder, "logs", filepath.FromSlash(name)))
		if errors.Is(err, errNoText) {
			c.Notes = append(c.Notes, "left out because it is not text and can't be redacted: "+name)
			continue
		}
		if err != nil {
			return "", fmt.Errorf("copying %s: %w", name, err)
		}
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return "", fmt.Errorf("writing the case: %w", err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("writing the case: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "case.json"), append(b, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("writing the case: %w", err)
	}
	return folder, nil
}

var errNoText = errors.New("not a text")

// redactFile copies a log with every recognised secret masked. Compressed files become plain ones.
func redactFile(open func(path string) (*os.File, error), s incident.Source, to string) error {
	in, err := open(s.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, longestLine)
	if head, _ := r.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
		z, err := gzip.NewReader(r)
		if err != nil {
			return errNoText
		}
		r = bufio.NewReaderSize(z, longestLine)
		to = strings.TrimSuffix(to, ".gz")
	} else if head, _ := r.Peek(4); string(head) == "\x28\xb5\x2f\xfd" || string(head) == "\xfd7zX" {
		return errNoText
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	err = redactLines(w, r)
	return errors.Join(err, w.Flush(), out.Close())
}

// longestLine is redacted in one piece, in bytes; a longer line is cut, because a secret could lie across the cut.
const longestLine = 1 << 20

func redactLines(w io.Writer, r *bufio.Reader) error {
	key := false // inside of a private key, which has several lines
	for {
		line, err := r.ReadSlice('\n')
		cut := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !cut && !errors.Is(err, io.EOF) {
			return err
		}
		text := string(line)
		switch {
		case strings.Contains(text, "PRIVATE KEY") && strings.Contains(text, "-----BEGIN"):
			key = true
			text = redact.Mask + "\n"
		case key:
			key = !strings.Contains(text, "-----END")
			text = redact.Mask + "\n"
		default:
			text = redact.String(text)
		}
		if cut {
			text = strings.TrimRight(text, "\n") + " [cut]\n"
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = r.ReadSlice('\n')
			}
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
}
