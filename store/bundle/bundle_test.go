package bundle

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/incident"
	"faultline/messages/redact"
	"faultline/workflow"
)

var update = flag.Bool("update", false, "write the golden files")

// blobs are attachments in memory.
type blobs map[string]string

func (b blobs) Open(_ context.Context, key string) (io.ReadCloser, error) {
	text, ok := b[key]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (b blobs) Delete(_ context.Context, key string) error {
	delete(b, key)
	return nil
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// secret is built at run time, so that no scanner of repositories mistakes it for a leak.
var secret = "hf_" + strings.Repeat("AbCdEfGh", 5)

const log0 = "[rank0]: ValueError: bad value in batch\nsrun: error: node07: task 0: Exited with exit code 1\n"

// saved puts an incident into a store: a first verdict, a revision, a dispute, the end.
func saved(t *testing.T, store workflow.Durable, dir string) workflow.Investigation {
	t.Helper()
	first := filepath.Join(dir, "slurm-4242.out")
	if err := os.WriteFile(first, []byte(log0), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(log0))
	version := "1.2"
	report := &incident.Report{
		Schema: incident.Schema, Engine: incident.Engine{Version: version, RulesVersion: "r7"},
		Verdict: incident.Verdict{Status: incident.Confirmed, Origin: "job", Mechanism: "exception", Confidence: 0.97,
			Summary: "Rank 0 ended by an exception.", Why: "A traceback says so."},
		Action:    incident.Action{Resubmit: "after-fix", Owner: "job-code", Text: "Mend the data, then resubmit."},
		Revisions: []incident.Revision{{Was: "nobody knows", Now: "an exception", Because: "slurm-4242.out:1 says it, token=" + secret}},
		Sources: []incident.Source{
			{Name: "slurm-4242.out", SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(log0)), Origin: "path"},
			{Name: "../gone|.out", SHA256: strings.Repeat("0", 64), Bytes: 7, Origin: "path"},
		},
	}
	inv := workflow.Investigation{
		ID: "F-1", Key: "miyqnkvb73u54ry7qrzpc66wak", Cluster: "west", Job: "4242", State: workflow.Closed, Since: noon.Add(2 * time.Hour), Asked: noon,
		Home:    workflow.Home{Team: "T1", Channel: "C1", Requester: "U1"},
		Sources: []incident.Source{{Name: "slurm-4242.out", Path: first, Bytes: int64(len(log0)), Origin: "path"}, {Name: "../gone|.out", Path: filepath.Join(dir, "gone"), Bytes: 7, Origin: "path"}, {Name: "other.out", Path: first, Bytes: 3, Origin: "path"}},
		Report:  report, Told: "Rank 0 ended by an exception", Verdicts: 2, Superseded: []string{"cause unknown"}, Acting: []string{"U1"},
		Storage: "skipped by U1", Warnings: []string{"one file is no log"},
		Outcome: &workflow.Outcome{Verdict: "right", Fix: "removed the bad sample", By: "U2"},
	}
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	change := workflow.Change{
		Investigation: &inv,
		Entries: []workflow.Entry{
			{At: at(0), Kind: "transition", To: workflow.Requested, Actor: "U1", Text: "investigation of job 4242 requested"},
			{At: at(1), Kind: "fetched", Text: "3 files"},
			{At: at(2), Kind: "transition", From: workflow.AwaitingAIS, Event: workflow.SkipStorage, To: workflow.Verifying, Actor: "U1"},
			{At: at(3), Kind: "revision", Text: "was: nobody knows; now: an exception"},
			{At: at(4), Kind: "refused", Actor: "U9", Text: "may not close"},
			{At: at(5), Kind: "transition", From: workflow.Reported, Event: workflow.Close, To: workflow.Closed, Actor: "U2", Text: "mended; password=" + secret},
		},
		Posts: []workflow.Post{
			{Investigation: "F-1", Kind: workflow.PostMessage, Key: workflow.KeyCase, Channel: "C1", Payload: []byte(`{"text":"Case *file* of job 4242 ` + "```" + `"}`)},
			{Investigation: "F-1", Kind: workflow.PostFiles, Key: "final-1", Channel: "C1", Thread: workflow.KeyCase, Payload: []byte(`{"text":"the report"}`),
				Files: []workflow.Attachment{{Name: "report.json", Blob: "b1", Bytes: 2}, {Name: "report.md", Blob: "lost", Bytes: 2}}},
			{Investigation: "F-1", Kind: workflow.PostEdit, Key: workflow.KeyCase, Channel: "C1", Payload: []byte(`{"text":"closed","n":12345678901234567890}`)},
		},
	}
	if err := store.Save(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	send(t, store)
	inv.Version++
	return inv
}

// send pretends that everything that is due was posted.
func send(t *testing.T, store workflow.Durable) {
	t.Helper()
	for range 20 {
		due, err := store.Due(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range due {
			if err := errors.Join(store.Sending(t.Context(), p.ID), store.Sent(t.Context(), p.ID, "17000000.00000"+string(rune('0'+p.ID)), "")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func fixture(t *testing.T) (Source, *workflow.Memory, blobs) {
	t.Helper()
	store := workflow.NewMemory()
	store.Now = func() time.Time { return noon }
	saved(t, store, t.TempDir())
	attached := blobs{"b1": "{}"}
	return Source{Store: store, Blobs: attached}, store, attached
}

func unzip(t *testing.T, b []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	return files
}

func TestTheTrailMatchesItsGoldenFiles(t *testing.T) {
	src, _, _ := fixture(t)
	inc, err := Read(t.Context(), src, "F-1")
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(io.Writer) error{"incident.json": inc.JSON, "incident.md": inc.Markdown} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, b.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%s differs from its golden file (go test ./store/bundle -update writes it):\n%s", name, b.String())
		}
	}
}

func TestAZipHoldsTheTrailTheReportsAndTheCitedLogs(t *testing.T) {
	src, _, _ := fixture(t)
	var b bytes.Buffer
	m, err := Write(t.Context(), &b, src, "F-1")
	if err != nil {
		t.Fatal(err)
	}
	files := unzip(t, b.Bytes())
	for _, name := range []string{"attachments/final-1/report.json", "evidence/slurm-4242.out", "incident.json", "incident.md", "manifest.json", "report/postmortem.html", "report/postmortem.md", "report/report.html", "report/report.json", "report/report.md"} {
		if _, ok := files[name]; !ok {
			t.Errorf("no %s among %d files", name, len(files))
		}
	}
	if len(files) != 10 {
		t.Errorf("%d files: a log that no report cites does not belong there", len(files))
	}
	if files["evidence/slurm-4242.out"] != log0 {
		t.Errorf("the log is %q", files["evidence/slurm-4242.out"])
	}
	var stored Manifest
	if err := json.Unmarshal([]byte(files["manifest.json"]), &stored); err != nil {
		t.Fatal(err)
	}
	for _, item := range stored.Files {
		sum := sha256.Sum256([]byte(files[item.Path]))
		if hex.EncodeToString(sum[:]) != item.SHA256 || int(item.Bytes) != len(files[item.Path]) {
			t.Errorf("the manifest is wrong about %s", item.Path)
		}
		if item.Path == "evidence/slurm-4242.out" && (item.Raw == nil || item.Raw.Unchanged == nil || !*item.Raw.Unchanged) {
			t.Errorf("the raw log is not told: %+v", item)
		}
	}
	if len(m.Missing) != 2 || m.Missing[0].Path != "attachments/final-1/report.md" || m.Missing[1].Path != "evidence/gone_.out" {
		t.Errorf("missing: %+v", m.Missing)
	}
	for name, text := range files {
		if strings.Contains(text, secret) {
			t.Errorf("%s holds the secret", name)
		}
	}
}

func TestOnlyWhoOwnsALogGetsItRaw(t *testing.T) {
	for mine, want := range map[bool]string{true: "raw/slurm-4242.out", false: "evidence/slurm-4242.out"} {
		src, store, _ := fixture(t)
		src.Raw = func(string, fs.FileInfo) bool { return mine }
		inv, err := store.Load(t.Context(), "F-1")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(inv.Sources[0].Path, []byte("token="+secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := Write(t.Context(), &b, src, "F-1"); err != nil {
			t.Fatal(err)
		}
		files := unzip(t, b.Bytes())
		if len(files) != 10 || files[want] == "" {
			t.Errorf("own %t: %d files, and no %s", mine, len(files), want)
		}
		for name, text := range files {
			if strings.Contains(text, secret) != (name == "raw/slurm-4242.out") {
				t.Errorf("own %t: %s holds the secret, or should", mine, name)
			}
		}
	}
}

func TestWhatIsOfAnEarlierVerdictSaysSo(t *testing.T) {
	inv := workflow.Investigation{Verdicts: 2, Told: "b", Superseded: []string{"a"}}
	for key, want := range map[string]bool{"final-1": true, "map-1": true, "final-2": false, "case": false, "files-1": false, "": false} {
		if got := superseded(inv, key); (got != "") != want {
			t.Errorf("%s: %q", key, got)
		}
	}
	inv.Superseded = append(inv.Superseded, "b")
	if superseded(inv, "final-2") == "" {
		t.Error("a disputed verdict counts as one that holds")
	}
	src, _, _ := fixture(t)
	m, err := Write(t.Context(), io.Discard, src, "F-1")
	if err != nil {
		t.Fatal(err)
	}
	if m.Files[0].Path != "attachments/final-1/report.json" || !strings.Contains(m.Files[0].Note, "verdict 1 of 2") {
		t.Errorf("%+v", m.Files[0])
	}
}

func TestTheSameIncidentGivesTheSameZip(t *testing.T) {
	var zips [2]bytes.Buffer
	for i := range zips {
		src, _, _ := fixture(t)
		if _, err := Write(t.Context(), &zips[i], src, "F-1"); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(zips[0].Bytes(), zips[1].Bytes()) {
		t.Error("two zips of one incident differ")
	}
	r, err := zip.NewReader(bytes.NewReader(zips[0].Bytes()), int64(zips[0].Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
	}
	if !slices.IsSorted(names[:len(names)-4]) { // the manifest comes last: it says what is in all others
		t.Errorf("not in order: %q", names)
	}
}

func TestALogThatChangedSaysSo(t *testing.T) {
	src, store, _ := fixture(t)
	inv, err := store.Load(t.Context(), "F-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inv.Sources[0].Path, []byte("something else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Write(t.Context(), io.Discard, src, "F-1")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(m.Files, func(it Item) bool { return it.Path == "evidence/slurm-4242.out" })
	if i < 0 || *m.Files[i].Raw.Unchanged || !strings.Contains(m.Files[i].Note, "changed") {
		t.Errorf("%+v", m.Files)
	}
}

func TestACompressedLogIsUnpackedAndKeepsTheHashOfItsFile(t *testing.T) {
	src, store, _ := fixture(t)
	inv, err := store.Load(t.Context(), "F-1")
	if err != nil {
		t.Fatal(err)
	}
	file := inv.Sources[0].Path + ".gz"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(log0)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), os.WriteFile(file, packed.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	inv.Sources = []incident.Source{{Name: "slurm-4242.out.gz", Path: file}}
	inv.Report.Sources = []incident.Source{{Name: "slurm-4242.out.gz"}}
	if err := store.Save(t.Context(), workflow.Change{Investigation: &inv}); err != nil {
		t.Fatal(err)
	}
	src.OpenLog = func(path string) (io.ReadCloser, error) {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return gzip.NewReader(bytes.NewReader(b))
	}
	var b bytes.Buffer
	m, err := Write(t.Context(), &b, src, "F-1")
	if err != nil {
		t.Fatal(err)
	}
	if got := unzip(t, b.Bytes())["evidence/slurm-4242.out.gz.txt"]; got != log0 {
		t.Errorf("the log is %q", got)
	}
	sum := sha256.Sum256(packed.Bytes())
	i := slices.IndexFunc(m.Files, func(it Item) bool { return it.Raw != nil })
	if i < 0 || m.Files[i].Raw.SHA256 != hex.EncodeToString(sum[:]) || m.Files[i].Raw.Unchanged != nil {
		t.Errorf("%+v", m.Files)
	}
}

func TestAForgottenIncidentSaysWhenAndByWhom(t *testing.T) {
	src, store, _ := fixture(t)
	if err := store.Forget(t.Context(), "F-1", "U7"); err != nil {
		t.Fatal(err)
	}
	_, err := Read(t.Context(), src, "F-1")
	if !errors.Is(err, ErrForgotten) || !strings.Contains(err.Error(), "2026-03-01 12:00:00 by U7") {
		t.Errorf("%v", err)
	}
	if _, err := Read(t.Context(), src, "F-2"); !errors.Is(err, workflow.ErrUnknown) {
		t.Errorf("%v", err)
	}
}

func TestLogsAreMaskedLineByLine(t *testing.T) {
	begin, end := "-----BEGIN RSA "+"PRIVATE KEY-----", "-----END RSA "+"PRIVATE KEY-----"
	f := func(name, in, want string) {
		t.Helper()
		var b bytes.Buffer
		if err := redactLog(&b, strings.NewReader(in), maxLog); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
	f("nothing", "", "")
	f("plain", "a\nb", "a\nb")
	f("line ends", "a\r\nb\r\n", "a\nb\n")
	f("progress bar", "10%\r20%\nnext\n", "10%␍20%\nnext\n")
	f("token", "x\nHF_TOKEN="+secret+"\ny\n", "x\nHF_TOKEN=[masked]\ny\n")
	f("value on the next line", "password:\n  hunter22\nhunter\n", "password:\n  [masked]\nhunter\n")
	f("ordinary line after a colon", "Traceback (most recent call last):\n  File x\n", "Traceback (most recent call last):\n  File x\n")
	f("private key", "a "+begin+"\nMIIE\nMIIF\n"+end+" tail\nb\n", "a [masked]\n[masked]\n[masked]\n[masked] tail\nb\n")
	f("key in one line", begin+"MIIE"+end+"\nb\n", "[masked]\nb\n")
	f("cut key", begin+"\nMIIE", "[masked]\n[masked]")
	f("colours and NUL", "\x1b[31mred\x1b[0m\x00\n", "red\uFFFD\n")
}

func TestALongLineIsCutAndTheNextKeepsItsNumber(t *testing.T) {
	long := strings.Repeat("x", maxLine-10) + " " + secret + strings.Repeat("y", 3*maxLine)
	var b bytes.Buffer
	if err := redactLog(&b, strings.NewReader("first\n"+long+"\nthird\n"), maxLog); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 4 || lines[2] != "third" {
		t.Fatalf("%d lines", len(lines))
	}
	if len(lines[1]) > maxLine+100 || strings.Contains(b.String(), secret[:8]) {
		t.Errorf("a line of %d bytes", len(lines[1]))
	}
	if !strings.Contains(lines[1], "bytes of this line are left out]") {
		t.Error("the cut is not told")
	}
}

func TestALongLogIsCutAndSaysSo(t *testing.T) {
	var b bytes.Buffer
	err := redactLog(&b, strings.NewReader(strings.Repeat("line\n", 100)), 50)
	if !errors.Is(err, errCut) || b.Len() != 50 {
		t.Errorf("%v after %d bytes", err, b.Len())
	}
}

func TestNamesStayInTheirFolder(t *testing.T) {
	p := &packer{}
	for _, c := range [][2]string{
		{"a/b.out", "e/a/b.out"}, {"a/b.out", "e/a/b.out (2)"}, {"../../etc/passwd", "e/etc/passwd"}, {"/abs", "e/abs"}, {`c:\x`, "e/c_/x"},
		{"..", "e/file"}, {"a\x00b", "e/a\uFFFDb"}, {secret, "e/[masked]"},
	} {
		if got := p.name("e", c[0]); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

// Whatever a log holds: no more and no fewer lines, and nothing that the redactor would still mask.
func FuzzRedactLog(f *testing.F) {
	f.Add("a\nb\r\nc\rd\n")
	f.Add("password:\nhunter22\n")
	f.Add("-----BEGIN " + "PRIVATE KEY-----\nMIIE\n")
	f.Fuzz(func(t *testing.T, in string) {
		var b bytes.Buffer
		if err := redactLog(&b, strings.NewReader(in), maxLog); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Count(b.String(), "\n"), strings.Count(in, "\n"); got != want {
			t.Errorf("%d lines of %d: %q", got, want, b.String())
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if redact.String(line) != line {
				t.Errorf("not clean: %q becomes %q", line, redact.String(line))
			}
		}
	})
}
