package analysis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"faultline/analysis/verify"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/simulate"
)

// write puts files into a directory and returns them as sources.
func write(t testing.TB, files map[string]string) []incident.Source {
	t.Helper()
	dir := t.TempDir()
	var out []incident.Source
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out = append(out, incident.Source{Name: name, Path: path, Bytes: int64(len(text))})
	}
	return out
}

const crash = "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/app/train.py\", line 3, in <module>\n[rank1]:     main()\n[rank1]: ValueError: bad shape\n"

func TestSeveralJobsAreListedNotMixed(t *testing.T) {
	sources := write(t, map[string]string{
		"error-100-0.out": "[rank0]: 2026-03-01 10:00:00,000 hello\n" + crash, "error-100-1.out": "hello\n", "error-99-0.out": "2026-02-01 10:00:00,000 hello\n"})
	_, err := Diagnose(t.Context(), Input{Sources: sources})
	var several *MultipleJobsError
	if !errors.As(err, &several) {
		t.Fatalf("%v, expected the jobs", err)
	}
	if len(several.Jobs) != 2 || several.Jobs[0].ID != "99" || several.Jobs[1].ID != "100" || several.Jobs[1].Files != 2 {
		t.Errorf("jobs %+v, expected 99 and 100 with two files", several.Jobs)
	}
	r, err := Diagnose(t.Context(), Input{Sources: sources, JobID: "100"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Mechanism != "exception" || r.Coverage.Files != 2 {
		t.Errorf("%s from %d files, expected the exception in job 100's two files", r.Verdict.Mechanism, r.Coverage.Files)
	}
	if _, err := Diagnose(t.Context(), Input{Sources: sources, JobID: "7"}); !errors.As(err, &several) {
		t.Errorf("%v: a job that is not there must list those that are", err)
	}
}

// A folder may hold the logs of thousands of jobs: the newest are described, and no file is read once for each of them.
func TestOfManyJobsTheNewestAreDescribed(t *testing.T) {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("error-%d-0.out", 1000+i)] = "[rank0]: 2026-03-01 10:00:00,000 hello\n" + crash
	}
	var opened atomic.Int64
	_, err := Diagnose(t.Context(), Input{Sources: write(t, files), Opener: func(path string) (*os.File, error) {
		opened.Add(1)
		return os.Open(path)
	}})
	var several *MultipleJobsError
	if !errors.As(err, &several) || len(several.Jobs) != 200 {
		t.Fatalf("%v, expected 200 jobs", err)
	}
	newest := several.Newest()
	if newest[0].ID != "1176" || newest[0].End == "" || newest[len(newest)-1].End == "" {
		t.Errorf("%+v to %+v, expected the newest with their ends", newest[0], newest[len(newest)-1])
	}
	if n := opened.Load(); n > 1000 {
		t.Errorf("200 files were opened %d times", n)
	}
}

func TestFilesWithoutAJobBelongToEvery(t *testing.T) {
	got, _, err := selectJob([]incident.Source{{Name: "error-1-0.out"}, {Name: "error-2-0.out"}, {Name: "notes.txt"}}, "2", nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range got {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"error-2-0.out", "notes.txt"}) {
		t.Errorf("%v", names)
	}
}

func TestOfEmptyFilesItIsSaidThatTheyAreEmpty(t *testing.T) {
	var in Input
	for _, name := range []string{"a.log", "b.out"} {
		p := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		in.Sources = append(in.Sources, incident.Source{Name: name, Path: p})
	}
	r, err := Diagnose(t.Context(), in)
	if err != nil || !strings.HasPrefix(r.Verdict.Summary, "every file is empty") || r.Verdict.Status != incident.Inconclusive {
		t.Errorf("%v: %+v", err, r)
	}
}

func TestWhatCanBeReadIsReadAndTheRestNamed(t *testing.T) {
	sources := write(t, map[string]string{"a.log": crash})
	gone := incident.Source{Name: "b.log", Path: filepath.Join(t.TempDir(), "b.log"), Bytes: 10}
	r, err := Diagnose(t.Context(), Input{Sources: append(sources, gone)})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "b.log") }) {
		t.Errorf("nobody is told that b.log was not read: %q", r.Warnings)
	}
	if strings.Contains(strings.Join(r.Warnings, " "), gone.Path) {
		t.Errorf("a report must not hold the place of the files: %q", r.Warnings)
	}
	if !slices.ContainsFunc(r.Coverage.Truncated, func(c incident.CutFile) bool { return c.File == "b.log" && c.How == "unreadable" }) {
		t.Errorf("coverage does not say that b.log is unreadable: %+v", r.Coverage.Truncated)
	}
	_, err = Diagnose(t.Context(), Input{Sources: []incident.Source{gone}})
	if !errors.Is(err, ErrNothingToRead) || !strings.Contains(fmt.Sprint(err), "b.log") {
		t.Errorf("%v, expected that nothing is readable, and which file", err)
	}
}

func TestDiagnosisEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Diagnose(ctx, Input{Sources: write(t, map[string]string{"a.log": crash})}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, expected that it was cancelled", err)
	}
}

func TestProgressReachesTheTotal(t *testing.T) {
	var last, most int64
	_, err := Diagnose(t.Context(), Input{Sources: write(t, map[string]string{"a.log": crash, "b.log": crash, "c.log": "x\n"}),
		Progress: func(done, total int64) { last, most = done, total }})
	if err != nil || last != most || most != int64(2*len(crash)+2) {
		t.Errorf("%d of %d, %v", last, most, err)
	}
}

func TestCitedFilesAreNamedByTheirContent(t *testing.T) {
	r, err := Diagnose(t.Context(), Input{Sources: write(t, map[string]string{"a.log": crash, "quiet.log": "nothing\n"})})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Sources) != 1 || r.Sources[0].Name != "a.log" || len(r.Sources[0].SHA256) != 64 {
		t.Errorf("sources %+v, expected a.log alone, with its hash", r.Sources)
	}
}

func TestWithoutHashesEverythingElseIsTheSame(t *testing.T) {
	sources := write(t, map[string]string{"a.log": crash, "b.log": "hello\n"})
	known := slices.Clone(sources)
	for i := range known {
		known[i].SHA256 = strings.Repeat("0", 64)
	}
	with, err := Diagnose(t.Context(), Input{Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	without, err := Diagnose(t.Context(), Input{Sources: sources, Unhashed: true})
	if err != nil {
		t.Fatal(err)
	}
	if without.Sources[0].SHA256 != "" || with.Sources[0].SHA256 == "" {
		t.Errorf("hashes %q and, where they were not to be taken, %q", with.Sources[0].SHA256, without.Sources[0].SHA256)
	}
	without.Sources[0].SHA256 = with.Sources[0].SHA256
	if !reflect.DeepEqual(with, without) {
		t.Errorf("the report\n%+v differs from\n%+v", without, with)
	}
	given, err := Diagnose(t.Context(), Input{Sources: known, Unhashed: true})
	if err != nil {
		t.Fatal(err)
	}
	if given.Sources[0].SHA256 != known[0].SHA256 {
		t.Errorf("hash %q, expected the one that was known", given.Sources[0].SHA256)
	}
}

// A quotation is text of the file, where it says it is, whatever bytes stand around it.
func TestQuotationsAreTextOfTheFile(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"plain", "plain"},
		{"first\nsecond", "first"},
		{"windows\r\nsecond", "windows"},
		{"ab\xff\xfelonger part", "longer part"},
		{"longer part\xffab", "longer part"},
		{"\xff\xfe\xfd", ""},
		{"grüße", "grüße"},
	} {
		e := incident.Evidence{Kind: incident.KindQuote, Offset: 100}
		setQuote(&e, []byte(c.raw))
		if e.Text != c.want {
			t.Errorf("%q is quoted as %q, expected %q", c.raw, e.Text, c.want)
		}
		if at := int(e.Offset - 100); at > len(c.raw) || !strings.HasPrefix(c.raw[at:], e.Text) {
			t.Errorf("%q: the quotation does not stand at its offset %d", c.raw, at)
		}
	}
}

// What rests on a rejected quotation goes with it; the rest stays.
func TestRejectedEvidenceIsTakenOut(t *testing.T) {
	obs := &worker.Observations{
		Timeouts: []worker.Timeout{{At: worker.At{Pos: worker.Pos{File: "a", Off: 1}}}, {At: worker.At{Pos: worker.Pos{File: "a", Off: 2}}}},
		Signs:    []worker.Sign{{At: worker.At{Pos: worker.Pos{File: "a", Off: 1}}}, {At: worker.At{Pos: worker.Pos{File: "b", Off: 1}}}},
		Tails:    []worker.Tail{{File: "a"}},
	}
	kept := without(obs, map[position]bool{{"a", 1}: true})
	if len(kept.Timeouts) != 1 || kept.Timeouts[0].Off != 2 || len(kept.Signs) != 1 || kept.Signs[0].File != "b" || len(kept.Tails) != 1 {
		t.Errorf("kept %+v", kept)
	}
	if len(obs.Timeouts) != 2 || len(obs.Signs) != 2 {
		t.Error("the observations themselves were changed")
	}
	good, bad := incident.Quote("a", 1, 0, "x", nil), incident.Quote("a", 2, 5, "y", nil)
	r := &incident.Report{Chain: []incident.Link{{Evidence: []incident.Evidence{good, bad}}}, Timeline: []incident.Event{{Evidence: []incident.Evidence{bad}}}}
	prune(r, []verify.Failure{{Evidence: bad}})
	if len(r.Chain[0].Evidence) != 1 || r.Chain[0].Evidence[0].Text != "x" || len(r.Timeline[0].Evidence) != 0 {
		t.Errorf("left: %+v, %+v", r.Chain[0].Evidence, r.Timeline[0].Evidence)
	}
}

// Who waited is proven as a whole, not by three quotations only, although the same files hold tracebacks and blocks of
// several lines; a first look, which does not search everything, claims no such thing.
func TestWhoWaitedIsProvenAsAWhole(t *testing.T) {
	inc, err := simulate.Generate(simulate.Demo())
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range inc.Files {
		files[f.Name] = string(f.Data)
	}
	in := Input{Sources: write(t, files), WorldSize: inc.WorldSize}
	whole, err := Diagnose(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if v := whole.Verification; v.Sets.Held != 1 || v.Sets.Checked != 1 || len(v.Withdrawn) > 0 {
		t.Errorf("%d of %d sets hold, withdrawn: %q", v.Sets.Held, v.Sets.Checked, v.Withdrawn)
	}
	in.Skim = 2000
	look, err := Diagnose(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if v := look.Verification; v.Sets.Checked+v.Absences.Checked > 0 || len(v.Withdrawn) > 0 {
		t.Errorf("a first look claims %d sets and %d absences; withdrawn: %q", v.Sets.Checked, v.Absences.Checked, v.Withdrawn)
	}
}

// BenchmarkDiagnose guards the speed: a hang of 128 ranks on 16 nodes, read, explained and verified.
func BenchmarkDiagnose(b *testing.B) {
	inc, err := simulate.Generate(simulate.Demo())
	if err != nil {
		b.Fatal(err)
	}
	files := map[string]string{}
	total := int64(0)
	for _, f := range inc.Files {
		files[f.Name] = string(f.Data)
		total += int64(len(f.Data))
	}
	in := Input{Sources: write(b, files), WorldSize: inc.WorldSize}
	b.SetBytes(total)
	for b.Loop() {
		if _, err := Diagnose(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAFirstLookQuotesRightAndConfirmsNothing(t *testing.T) {
	noise := strings.Repeat("2026-03-01 10:00:01,000 step 17 loss 2.5\n", 60_000)
	sources := write(t, map[string]string{"error-100-0.out": "[rank0]: 2026-03-01 10:00:00,000 hello\n" + noise + crash})
	whole, err := Diagnose(t.Context(), Input{Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	look, err := Diagnose(t.Context(), Input{Sources: sources, Skim: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if whole.Verdict.Mechanism != "exception" || look.Verdict.Mechanism != "exception" {
		t.Fatalf("%s, %s", whole.Verdict.Mechanism, look.Verdict.Mechanism)
	}
	if look.Verdict.Status == incident.Confirmed || look.Verdict.Confidence > 0.8 || !strings.Contains(strings.Join(look.Warnings, " "), "first look") {
		t.Errorf("%s %.2f %q", look.Verdict.Status, look.Verdict.Confidence, look.Warnings)
	}
	if !slices.EqualFunc(whole.KeyFiles, look.KeyFiles, func(a, b incident.KeyFile) bool { return a.File == b.File && a.Line == b.Line }) {
		t.Errorf("key lines %v and %v", whole.KeyFiles, look.KeyFiles)
	}
}
