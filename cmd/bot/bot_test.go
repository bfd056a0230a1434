package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"faultline/simulate"
)

// bot is the built binary: these tests see what a person sees.
var bot string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "bot-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	bot = filepath.Join(dir, "bot")
	if out, err := exec.Command("go", "build", "-o", bot, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the binary: %v\n%s", err, out)
		os.Exit(1)
	}
	os.Unsetenv("COLUMNS") // as wide as nobody has said
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

type result struct {
	code     int
	out, err string
}

// call runs the binary in an empty directory.
func call(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	cmd := exec.Command(bot, args...)
	cmd.Dir = t.TempDir()
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// want checks the exit code and that the texts are among what was printed.
func (r result) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\n%s\n%s", r.code, code, r.out, r.err)
	}
	for _, text := range texts {
		if !strings.Contains(r.out+r.err, text) {
			t.Errorf("no %q in\n%s\n%s", text, r.out, r.err)
		}
	}
	if strings.Contains(r.err, "panic:") || strings.Contains(r.err, "goroutine ") {
		t.Errorf("it crashed:\n%s", r.err)
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// failedJob is a log in which one rank ends by an exception.
func failedJob(t *testing.T, dir, job string) string {
	t.Helper()
	write(t, filepath.Join(dir, "slurm-"+job+".out"), `node07:4242:4243 [0] NCCL INFO cudaDriverVersion 12040
[rank0]: Traceback (most recent call last):
[rank0]:   File "/home/me/train.py", line 10, in <module>
[rank0]:     main()
[rank0]: ValueError: bad value in batch
srun: error: node07: task 0: Exited with exit code 1
slurmstepd: error: *** STEP `+job+`.0 ON node07 CANCELLED AT 2026-03-01T10:00:00 ***
`)
	return dir
}

// prose are lines of a help that flow: paragraphs, and what a flag is for unless it is one long word.
var prose = regexp.MustCompile(`^(?:        )?\S+ \S`)

func TestEveryFlagIsDocumentedWithAnExample(t *testing.T) {
	for _, cmd := range newRootCommand(env{}).Commands() {
		name := cmd.Name()
		help := call(t, "", name, "--help")
		help.want(t, 0, "Usage: bot "+name)
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(f.Usage, "e.g. --"+f.Name) {
				t.Errorf("bot %s --%s has no example", name, f.Name)
			}
			if !strings.Contains(help.out, "\n  --"+f.Name) {
				t.Errorf("bot %s --help does not list --%s", name, f.Name)
			}
		})
		for line := range strings.Lines(help.out) { // examples are whole, to be pasted
			if prose.MatchString(line) && len([]rune(line)) > plainWidth+len("\n") {
				t.Errorf("bot %s --help is wider than the terminal: %q", name, line)
			}
		}
		call(t, "", "help", name).want(t, 0, "Usage: bot "+name)
		call(t, "", "help").want(t, 0, name, cmd.Short)
	}
}

func TestWrongUsageIsAnsweredWithWhatToDo(t *testing.T) {
	logs := failedJob(t, t.TempDir(), "4242")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "bot COMMAND --help"},
		{[]string{"diagnoze"}, `unknown command "diagnoze"; did you mean "diagnose"?`},
		{[]string{"help", "diag"}, `unknown command "diag"; did you mean "diagnose"?`},
		{[]string{logs}, "bot diagnose " + logs},
		{[]string{"diagnose", "--verb", logs}, "unknown flag --verb; did you mean --verbose?\nRun \"bot diagnose --help\" for the flags."},
		{[]string{"diagnose", "-format", "json", logs}, "unknown flag -format; did you mean --format?"},
		{[]string{"diagnose", logs, "--world-size"}, "--world-size needs a value, e.g. --world-size 128"},
		{[]string{"diagnose", "--world-size", "many", logs}, `--world-size "many" is not a whole number, e.g. --world-size 128`},
		{[]string{"check", "--wait", "3"}, `--wait "3" is not a duration, e.g. --wait 2m`},
		{[]string{"eval", "--seed", "-1"}, `--seed "-1" is not a whole number of 0 or more, e.g. --seed 7`},
		{[]string{"completion", "tcsh"}, "bash, zsh or fish"},
		{[]string{"man", filepath.Join(logs, "nowhere")}, "there is no directory"},
		{[]string{"diagnose"}, "give the directory"},
		{[]string{"diagnose", "--nope", logs}, "bot diagnose --help"},
		{[]string{"diagnose", "--format", "pdf", logs}, "choose one of terminal, markdown, json, html"},
		{[]string{"diagnose", "--job", "4242"}, "or a configuration that lists"},
		{[]string{"diagnose", "--out", "r.pdf", logs}, ".html, .md, .json or .txt"},
		{[]string{"diagnose", "--out", "r.PNG", logs}, "--png r.PNG for the rank map"},
		{[]string{"simulate", "--mechanism", "rank-stalled", "--ranks", "1", "--out", "x"}, "--ranks 1: must be at least 2"},
		{[]string{"simulate", "--mechanism", "rank-stalled", "--ranks", "32768", "--out", "x"}, "bot simulate: a job has 2 to 16384 ranks, not 32768"},
		{[]string{"diagnose", "--color", "blue", logs}, "choose one of auto, always, never"},
		{[]string{"diagnose", "--nodes", "node[01-", logs}, "write it as SLURM does"},
		{[]string{"diagnose", "--world-size", "-4", logs}, "at least 1"},
		{[]string{"diagnose", "--workers", "-4", logs}, "limits.workers"},
		{[]string{"diagnose", "--config", "/does/not/exist", logs}, "/does/not/exist"},
		{[]string{"diagnose", "--log-level", "loud", logs}, "choose one of debug"},
		{[]string{"diagnose", "--job", "", logs}, "not a job ID"},
		{[]string{"console", "x"}, "bot diagnose x"},
		{[]string{"simulate"}, "--out"},
		{[]string{"simulate", "--mechanism", "nope", "--out", "x"}, "--list"},
		{[]string{"simulate", "--ranks", "8", "--out", "x"}, "--mechanism"},
		{[]string{"eval"}, "--simulated"},
		{[]string{"eval", "--format", "pdf", logs}, "text, markdown or json"},
		{[]string{"eval", "--against", "x", logs}, "runs only the frozen cases"},
		{[]string{"eval", "--sample", logs}, "--against"},
		{[]string{"eval", "--against", "x", "--format", "markdown"}, "text or json"},
		{[]string{"demo", "--mechanism", "nope"}, "--list"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			r := call(t, "", c.args...)
			r.want(t, exitUsage, c.want)
			for _, foreign := range []string{"strconv", "shorthand", "pflag", "invalid argument", "flag needs"} {
				if strings.Contains(r.err, foreign) {
					t.Errorf("%q is the library's word:\n%s", foreign, r.err)
				}
			}
		})
	}
}

func TestTheShellCompletesCommandsFlagsAndValues(t *testing.T) {
	for _, shell := range shells {
		call(t, "", "completion", shell).want(t, exitOK, "__complete")
	}
	for want, args := range map[string][]string{
		"diagnose\t":     {"dia"},
		"--world-size\t": {"diagnose", "--wor"},
		"markdown\n":     {"diagnose", "--format", "m"},
		"never\n":        {"explain", "--color", "n"},
		"gpu-oom\n":      {"simulate", "--mechanism", "gpu-"},
		"zsh\n":          {"completion", ""},
		"postmortem\n":   {"help", "post"},
	} {
		if r := call(t, "", append([]string{"__complete"}, args...)...); !strings.Contains(r.out, want) {
			t.Errorf("%q: no %q in\n%s", args, want, r.out)
		}
	}
}

func TestEachCommandHasAManualPage(t *testing.T) {
	dir := t.TempDir()
	call(t, "", "man", dir).want(t, exitOK)
	for _, cmd := range newRootCommand(env{}).Commands() {
		raw, err := os.ReadFile(filepath.Join(dir, "bot-"+cmd.Name()+".1"))
		if err != nil {
			t.Fatal(err)
		}
		page := string(raw)
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(page, `.TP`+"\n"+`\fB`+troff("--"+f.Name)) {
				t.Errorf("bot-%s.1 lacks --%s", cmd.Name(), f.Name)
			}
		})
		if strings.Count(page, "\n.nf\n") != strings.Count(page, "\n.fi\n") {
			t.Errorf("bot-%s.1 leaves an example open", cmd.Name())
		}
	}
	if got := troff(`.a \b -c`); got != `\&.a \eb \-c` {
		t.Errorf("%s", got)
	}
}

func TestBadInputGetsOneSentenceThatNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	binary := write(t, filepath.Join(dir, "model.bin"), strings.Repeat("\x00\x01\x02\xff\xfe", 5000))
	source := filepath.Join(dir, "source")
	write(t, filepath.Join(source, "logo.png"), "\x89PNG\r\n\x1a\n"+strings.Repeat("\x00\x01", 500))
	for name, path := range map[string]string{
		"missing path":      filepath.Join(dir, "nowhere"),
		"empty directory":   empty,
		"binary file":       binary,
		"something else":    source,
		"a socket's device": os.DevNull,
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, "", "diagnose", path)
			r.want(t, exitUnreadable, filepath.Base(path))
			if lines := strings.Count(strings.TrimSpace(r.err), "\n") + 1; lines > 3 {
				t.Errorf("%d lines:\n%s", lines, r.err)
			}
		})
	}
}

func TestAFileThatMayNotBeReadIsNamedAndTheRestAnalysed(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := failedJob(t, t.TempDir(), "4242")
	secret := write(t, filepath.Join(dir, "slurm-4242-1.out"), "x\n")
	if err := os.Chmod(secret, 0); err != nil {
		t.Fatal(err)
	}
	call(t, "", "diagnose", "--format", "json", dir).want(t, 0, "slurm-4242-1.out", "unreadable")
	call(t, "", "diagnose", dir).want(t, 0, "1 unreadable file")
}

func TestPartlyReadableInputGivesAReportWithWarnings(t *testing.T) {
	dir := failedJob(t, t.TempDir(), "4242")
	write(t, filepath.Join(dir, "model.bin"), strings.Repeat("\x00\x01\x02\xff\xfe", 5000))
	r := call(t, "", "diagnose", "--format", "json", dir, filepath.Join(dir, "nowhere"))
	if r.code == exitUnreadable || r.code == exitUsage {
		t.Fatalf("exit code %d\n%s", r.code, r.err)
	}
	var report struct {
		Schema   string
		Warnings []string
	}
	if err := json.Unmarshal([]byte(r.out), &report); err != nil {
		t.Fatal(err)
	}
	if warned := strings.Join(report.Warnings, "\n"); !strings.Contains(warned, "nowhere") {
		t.Errorf("warnings %q", warned)
	}
}

func TestSeveralJobsAreListedWithEndAndNodes(t *testing.T) {
	dir := t.TempDir()
	failedJob(t, dir, "4242")
	failedJob(t, dir, "4343")
	r := call(t, "", "diagnose", dir)
	r.want(t, exitUsage, "--job 4242", "--job 4343", "2026-03-01", "node07")
	one := call(t, "", "diagnose", "--job", "4343", "--format", "json", dir)
	if one.code == exitUsage || !strings.Contains(one.out, `"id": "4343"`) {
		t.Errorf("exit code %d\n%s%s", one.code, one.out, one.err)
	}
	call(t, "", "diagnose", "--job", "1", dir).want(t, exitUsage, "4242", "4343")
}

func TestAnArchiveWithHostileEntriesCannotClimbOut(t *testing.T) {
	dir := t.TempDir()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range []tar.Header{
		{Name: "../../climbed.out", Typeflag: tar.TypeReg},
		{Name: "/climbed-abs.out", Typeflag: tar.TypeReg},
		{Name: "link.out", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		{Name: "pipe", Typeflag: tar.TypeFifo},
		{Name: "slurm-4242.out", Typeflag: tar.TypeReg},
	} {
		body := "[rank0]: ValueError: bad\n"
		h.Mode = 0o644
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(body))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	archive := write(t, filepath.Join(dir, "sub", "logs.tar"), buf.String())
	r := call(t, "", "diagnose", "--format", "json", archive)
	r.want(t, r.code, "climbed.out", "slurm-4242.out")
	if r.code == exitUsage || r.code == exitUnreadable {
		t.Errorf("exit code %d: what could be read was not analysed\n%s", r.code, r.err)
	}
	if strings.Contains(r.out, "root:x:0") {
		t.Error("a link was followed")
	}
	for _, gone := range []string{filepath.Join(dir, "climbed.out"), filepath.Join(filepath.Dir(dir), "climbed.out"), "/climbed-abs.out"} {
		if _, err := os.Stat(gone); err == nil {
			t.Errorf("%s was written", gone)
		}
	}
}

func TestTheReportIsWrittenInEveryFormatAndThePictureToo(t *testing.T) {
	logs := failedJob(t, t.TempDir(), "4242")
	out := t.TempDir()
	for format, begin := range map[string]string{"json": "{", "html": "<!", "markdown": "#", "terminal": ""} {
		file := filepath.Join(out, "report."+format)
		png := filepath.Join(out, format+".png")
		r := call(t, "", "diagnose", logs, "--format", format, "--out", file, "--png", png)
		raw, err := os.ReadFile(file)
		if err != nil || len(raw) == 0 || !strings.HasPrefix(strings.TrimSpace(strings.ToLower(string(raw))), begin) {
			t.Errorf("%s: %d bytes, %v\n%s", format, len(raw), err, r.err)
		}
		if picture, err := os.ReadFile(png); err != nil || !bytes.HasPrefix(picture, []byte("\x89PNG")) {
			t.Errorf("%s: no picture, %v", format, err)
		}
		if !strings.HasPrefix(r.out, "A Python exception ended the job") || !strings.HasSuffix(r.out, "\n\nFull report: "+file+"\n") || strings.Contains(r.out, "Decision") {
			t.Errorf("%s: no first screen with the path of the report:\n%s", format, r.out)
		}
	}
	call(t, "", "diagnose", logs, "--out", filepath.Join(out, "no", "such", "dir.json: there is no directory")).want(t, exitUnreadable, "dir.json")
}

func TestTheReportDoesNotDependOnWhereAndHowItWasMade(t *testing.T) {
	a, b := failedJob(t, t.TempDir(), "4242"), failedJob(t, filepath.Join(t.TempDir(), "deeper", "down"), "4242")
	first := call(t, "", "diagnose", "--format", "json", "--workers", "1", a)
	second := call(t, "", "diagnose", "--workers", "16", "--format=json", b)
	if first.out != second.out || first.out == "" {
		t.Errorf("different:\n%s\n%s", first.out, second.out)
	}
}

func TestNothingIsColouredAndNoBarIsDrawnOffATerminal(t *testing.T) {
	logs := failedJob(t, t.TempDir(), "4242")
	if r := call(t, "", "diagnose", logs); strings.Contains(r.out+r.err, "\x1b") {
		t.Errorf("control sequences: %q %q", r.out, r.err)
	}
	if r := call(t, "", "diagnose", "--color", "always", logs); !strings.Contains(r.out, "\x1b[") {
		t.Errorf("--color always shows none: %q", r.out)
	}
}

func TestLoggingIsStructuredAndApart(t *testing.T) {
	logs := failedJob(t, t.TempDir(), "4242")
	r := call(t, "", "diagnose", "--log-level", "info", "--log-format", "json", "--format", "json", logs)
	for _, line := range strings.Split(strings.TrimSpace(r.err), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %q", line)
		}
	}
	if !json.Valid([]byte(r.out)) {
		t.Error("the report is not JSON alone")
	}
}

func TestTheDemoRunsTheWholeInvestigation(t *testing.T) {
	html := filepath.Join(t.TempDir(), "report.html")
	r := call(t, "", "demo", "--html", html)
	r.want(t, 0, "> /diagnose ", "I looked for logs of job", "Because:", "> report", "What was examined", "What actually happened")
	if raw, err := os.ReadFile(html); err != nil || !bytes.Contains(raw, []byte("</html>")) {
		t.Errorf("HTML: %d bytes, %v", len(raw), err)
	}
	if again := call(t, "", "demo"); len(again.out) == 0 {
		t.Error("a second time it says nothing")
	}
}

var update = flag.Bool("update", false, "rewrite the picture in the README")

// The picture in the README is what the demo really shows for the late file: the revised first screen.
func TestThePictureInTheREADMEIsTheDemos(t *testing.T) {
	r := call(t, "", "demo")
	_, picture, found := strings.Cut(r.out, "/late\n")
	picture, _, ended := strings.Cut(picture, "quotations re-read")
	if !found || !ended {
		t.Fatalf("the demo shows no late file:\n%s", r.out)
	}
	lines := strings.Split(strings.TrimSpace(picture), "\n")
	picture = strings.Join(lines[:len(lines)-1], "\n") // the last one is cut at the figure
	file := filepath.Join("..", "..", "README.md")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(raw), "```text\n")
	_, after, fenced := strings.Cut(rest, "\n```\n")
	if !fenced {
		t.Fatal("the README has no picture")
	}
	want := before + "```text\n" + strings.TrimSpace(picture) + "\n```\n" + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(raw) {
		t.Errorf("the picture in the README is not what the demo shows; run go test ./cmd/bot -run Picture -update\n%s", picture)
	}
}

func TestWhatIsNoJobIDIsSaidSoBeforeAnythingIsLookedFor(t *testing.T) {
	root := t.TempDir()
	cfg := write(t, filepath.Join(root, "c.yaml"), fmt.Sprintf("clusters: [{name: west, logs: {roots: [%q]}}]\n", root))
	for _, id := range []string{"", "4242;id", "12345678901234567", "-1", "0", "１２３", "$(id)", "4242 4243", "4242\nid", "123_[x]"} {
		for _, command := range []string{"diagnose", "doctor"} {
			r := call(t, "", command, "--config", cfg, "--job", id)
			r.want(t, exitUsage, "not a job ID", "4242_7")
			if strings.Contains(r.err+r.out, "bot doctor --") || strings.Contains(r.err, "\nid") {
				t.Errorf("%s --job %q: %s", command, id, r.err)
			}
		}
	}
	call(t, "", "diagnose", "--config", cfg, "--job", "123_[1-4]").want(t, exitUnreadable, "no logs for job 123_[1-4]", "bot doctor --job '123_[1-4]'")
}

func TestTheDemoCanBeAnswered(t *testing.T) {
	r := call(t, "status\nquit\n", "demo", "--interactive")
	r.want(t, 0, "Type /diagnose", "No investigation yet")
}

func TestTheConsoleIsTheSameConversation(t *testing.T) {
	root := t.TempDir()
	failedJob(t, filepath.Join(root, "4242"), "4242")
	out := t.TempDir()
	cfg := write(t, filepath.Join(root, "c.yaml"), fmt.Sprintf("clusters: [{logs: {roots: [%q]}}]\noutput: {dir: %q}\n", root, out))
	r := call(t, "/diagnose 4242\nglossary straggler\nreport\nhistory\nquit\n", "console", "--config", cfg)
	r.want(t, 0, "found logs: ", "What was examined", "verifying -> reported")
	if _, err := os.Stat(filepath.Join(out, "job-4242.html")); err != nil {
		t.Error(err)
	}
	call(t, "/diagnose 242\n", "console", "--config", cfg).want(t, 0, "I looked for logs of job 242")
}

func TestSimulatedCasesAreScored(t *testing.T) {
	dir := t.TempDir()
	call(t, "", "simulate", "--count", "3", "--seed", "5", "--out", dir).want(t, 0, dir)
	call(t, "", "eval", dir, "--failures").want(t, 0)
	call(t, "", "eval", "--simulated", "2", "--format", "json").want(t, 0, "cases")
	call(t, "", "simulate", "--list").want(t, 0, simulate.Mechanisms(0)...)
	call(t, "", "version").want(t, 0, version)
}

func TestStandardInputIsRead(t *testing.T) {
	log := "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"train.py\", line 3, in <module>\n[rank0]:     main()\n[rank0]: ValueError: no such layout\n"
	call(t, log, "diagnose", "--full", "-").want(t, exitOK, "ValueError: no such layout", "stdin:4")
}
