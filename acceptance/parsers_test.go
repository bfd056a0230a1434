package acceptance

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"faultline/analysis"
	"faultline/analysis/filename"
	"faultline/analysis/hostlist"
	"faultline/analysis/line"
	"faultline/analysis/scan"
	"faultline/analysis/verify"
	"faultline/analysis/worker"
	"faultline/fetch"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/messages/blockkit"
	"faultline/messages/redact"
	"faultline/workflow"
)

// parser reads what others wrote. parse returns what is wrong with the outcome, "" where nothing is; it may not panic.
type parser struct {
	name string
	// largest is the longest input it is given; 0: whatever the mixer makes.
	largest int
	// share is its part of the bytes: those that read log text get most of them.
	share int
	parse func(b *bench, in []byte) string
}

// bench is what parsers need besides their input.
type bench struct {
	t       testing.TB
	scanner *worker.Scanner
	dir     string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	sc, err := worker.NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, scanner: sc, dir: t.TempDir()}
}

// file holds the input where a parser wants a path.
func (b *bench) file(name string, in []byte) string {
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, in, 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// parsers are all that text from outside reaches on the way from files to people.
var parsers = []parser{
	{name: "lines", share: 20, parse: parseLines},
	{name: "worker logs", share: 30, parse: parseWorker},
	{name: "signatures", share: 10, parse: parseSignatures},
	{name: "redaction", share: 10, parse: parseSecrets},
	{name: "evidence", share: 6, parse: parseEvidence},
	{name: "whole diagnosis", share: 10, parse: parseIncident},
	{name: "packed files", share: 4, parse: parsePacked},
	{name: "archives", share: 2, largest: 1 << 16, parse: parseArchive},
	{name: "file names", share: 3, largest: 1 << 14, parse: parseNames},
	{name: "host lists", share: 2, largest: 1 << 14, parse: parseHosts},
	{name: "messages", share: 2, largest: 1 << 15, parse: parseMessage},
	{name: "stored investigations", share: 1, largest: 1 << 15, parse: parseStored},
}

func parseLines(_ *bench, in []byte) (wrong string) {
	for _, text := range bytes.Split(in, []byte("\n")) {
		line.Segments(text, func(_ int, seg []byte) {
			seg = line.StripANSI(nil, seg)
			at := 0
			for _, r := range line.Split(seg) {
				if r[0] != at || r[1] < r[0] {
					wrong = "the records do not cover the line"
				}
				at = r[1]
				if p := line.Parse(seg[r[0]:r[1]]); p.Len < 0 || p.Len > r[1]-r[0] {
					wrong = "the prefix is longer than the line"
				}
			}
			line.ParseStamp(seg)
		})
	}
	return wrong
}

func parseWorker(b *bench, in []byte) string {
	obs, err := worker.Read(context.Background(), "error-7-0.out", bytes.NewReader(in), b.scanner)
	switch {
	case err != nil:
		return err.Error()
	case len(obs.Tails) != 1 || obs.Tails[0].Bytes != int64(len(in)):
		return "not all bytes are accounted for"
	}
	return ""
}

func parseSignatures(_ *bench, in []byte) string {
	var ids []knowledge.ID
	for _, text := range bytes.Split(in, []byte("\n")) {
		ids = knowledge.Whole().Match(ids[:0], text)
		for _, id := range ids {
			knowledge.Whole().Fields(id, text)
		}
	}
	return ""
}

func parseSecrets(_ *bench, in []byte) string {
	once := redact.String(string(in))
	if !utf8.ValidString(once) {
		return "the text is no UTF-8"
	}
	if redact.String(once) != once {
		return "redacting twice masks more"
	}
	return ""
}

func parseEvidence(b *bench, in []byte) string {
	files := verify.Files{"f": b.file("f", in)}
	key, _, _ := bytes.Cut(in, []byte("="))
	p := &incident.Predicate{Literals: []string{string(in[len(in)/3 : min(len(in), len(in)/3+9)])}, Fields: []incident.Field{{Key: string(key[max(0, len(key)-12):]), Value: "1"}}}
	_ = verify.Evidence(files, incident.Evidence{Kind: incident.KindCount, Predicate: p, Files: []string{"f"}, N: 1})
	_ = verify.Evidence(files, incident.Quote("f", 1, 0, string(in[:min(len(in), 40)]), p))
	return ""
}

// parseIncident gives the engine two files: the input, and its lines backwards.
func parseIncident(b *bench, in []byte) string {
	half := len(in) / 2
	src := []incident.Source{
		{Name: "error-7-0.out", Path: b.file("error-7-0.out", in[:half]), Bytes: int64(half), Origin: "path"},
		{Name: "error-7-1.out", Path: b.file("error-7-1.out", in[half:]), Bytes: int64(len(in) - half), Origin: "path"},
	}
	r, err := analysis.Diagnose(context.Background(), analysis.Input{Sources: src, Workers: 1})
	if err != nil {
		return "" // nothing to read
	}
	if err := sound(r); err != nil {
		return err.Error()
	}
	return ""
}

func parsePacked(b *bench, in []byte) string {
	magics := [][]byte{{0x1f, 0x8b, 8, 0}, {0x28, 0xb5, 0x2f, 0xfd}, nil}
	r, err := scan.Open(b.file("packed", append(bytes.Clone(magics[len(in)%len(magics)]), in...)))
	if err != nil {
		return ""
	}
	defer r.Close()
	_, _ = worker.Read(context.Background(), "packed", r, b.scanner)
	return ""
}

func parseArchive(b *bench, in []byte) string {
	spool, err := os.MkdirTemp(b.dir, "spool")
	if err != nil {
		b.t.Fatal(err)
	}
	defer os.RemoveAll(spool)
	for _, name := range []string{"a.tar", "a.tar.gz", "a.zip"} {
		set, _ := fetch.Local(context.Background(), []string{b.file(name, in)}, fetch.LocalOptions{SpoolDir: spool})
		for _, s := range set.Sources {
			if dir := filepath.Dir(s.Path); dir != spool && dir != b.dir {
				return s.Name + " escaped to " + s.Path
			}
		}
	}
	return ""
}

func parseNames(_ *bench, in []byte) string {
	var names []string
	for i, n := range bytes.Fields(in) {
		if i == 300 {
			break
		}
		names = append(names, string(n))
	}
	filename.Parse(names)
	filename.Series(names)
	filename.Gaps(names)
	return ""
}

func parseHosts(_ *bench, in []byte) string {
	for _, f := range bytes.Fields(in) {
		if names, err := hostlist.Expand(string(f)); err == nil {
			hostlist.Compress(names)
		}
	}
	return ""
}

func parseMessage(_ *bench, in []byte) string {
	blockkit.ValidateMessage(in)
	blockkit.ValidateView(in)
	return ""
}

func parseStored(_ *bench, in []byte) string {
	inv, err := workflow.DecodeInvestigation(in)
	if err != nil {
		return ""
	}
	if _, err := inv.Encode(); err != nil {
		return "what was read cannot be written: " + err.Error()
	}
	return ""
}
