package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/fetch/source"
)

// script answers commands: by the first key that the command line begins with, without `env …`.
type fakeCommand struct {
	answers map[string]source.Output
	ran     []string
}

func (s *fakeCommand) Run(_ context.Context, argv ...string) (source.Output, error) {
	line := strings.Join(argv[len(seconds):], " ")
	s.ran = append(s.ran, line)
	best := ""
	for k := range s.answers {
		if strings.HasPrefix(line, k) && len(k) > len(best) {
			best = k
		}
	}
	if best == "" {
		return source.Output{}, fmt.Errorf("nobody runs %q", line)
	}
	return s.answers[best], nil
}

const listed22 = "Account JobID JobIDRaw\nState Elapsed"

func mustID(t *testing.T, s string) ID {
	t.Helper()
	id, err := ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

var (
	invalidJob = source.Output{Stderr: []byte("slurm_load_jobs error: Invalid job id specified\n"), Code: 1}
	failedJob  = row("7", "7", "alice", "FAILED", "1:0", "n[1-2]", "1000", "1010", "1100", "train") + row("7.0", "7.0", "", "FAILED", "1:0", "n[1-2]", "1000", "1010", "1100", "python")
)

func TestCommands(t *testing.T) {
	ctx := context.Background()
	t.Run("a version without paths in its accounting asks the controller too", func(t *testing.T) {
		s := &fakeCommand{answers: map[string]source.Output{
			"sacct -e": {Stdout: []byte(listed22)}, "sacct -D": {Stdout: []byte(failedJob)},
			"scontrol show job 7": {Stdout: []byte("JobId=7 JobName=train\n   UserId=alice(1)\n   JobState=COMPLETING\n   StartTime=1010 EndTime=1100\n   Restarts=1\n   StdErr=/w/e\n   StdOut=/w/o\n")},
		}}
		jobs, err := (&Commands{Command: s}).Jobs(ctx, mustID(t, "7"))
		if err != nil || len(jobs) != 1 {
			t.Fatal(jobs, err)
		}
		j := jobs[0]
		if j.StdOut != "/w/o" || j.StdErr != "/w/e" || j.Newest().State() != completing || j.Newest().Restart != 1 || len(j.Newest().Steps) != 1 || j.Source != "sacct" {
			t.Errorf("%+v", j)
		}
		if !strings.Contains(s.ran[1], "-D -P -n --delimiter="+separator+" -j 7 -o JobID,") || !strings.HasSuffix(s.ran[1], ",JobName") || strings.Contains(s.ran[1], "StdOut") {
			t.Errorf("ran %q", s.ran)
		}
	})
	t.Run("a column that was there at the probe and is not any more", func(t *testing.T) {
		s := &refusing{fakeCommand{answers: map[string]source.Output{
			"sacct -e": {Stdout: []byte(listed22 + " StdOut StdErr Restarts")}, "sacct -D": {Stdout: []byte(failedJob)}, "scontrol": invalidJob,
		}}}
		if jobs, err := (&Commands{Command: s}).Jobs(ctx, mustID(t, "7")); err != nil || len(jobs) != 1 {
			t.Error(jobs, err)
		}
	})
	t.Run("no accounting at all", func(t *testing.T) {
		off := source.Output{Stderr: []byte("Slurm accounting storage is disabled\n"), Code: 1}
		s := &fakeCommand{answers: map[string]source.Output{
			"sacct -e": {Stdout: []byte(listed22)}, "sacct -D": off,
			"scontrol show job": {Stdout: []byte("JobId=7 JobName=train\n   JobState=FAILED\n   StartTime=1010 EndTime=1100\n   NodeList=n1\n")},
		}}
		jobs, err := (&Commands{Command: s}).Jobs(ctx, mustID(t, "7"))
		if err != nil || jobs[0].Source != "scontrol" || len(jobs[0].Notes) != 1 {
			t.Fatal(jobs, err)
		}
		s.answers["scontrol show job"] = invalidJob
		if _, err = (&Commands{Command: s}).Jobs(ctx, mustID(t, "7")); err == nil || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "accounting storage is disabled") {
			t.Error(err)
		}
	})
	t.Run("empty with code 0 is unknown, or hidden", func(t *testing.T) {
		s := &fakeCommand{answers: map[string]source.Output{"sacct -e": {Stdout: []byte(listed22)}, "sacct -D": {}, "scontrol": invalidJob}}
		if _, err := (&Commands{Command: s}).Jobs(ctx, mustID(t, "7")); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "only to its owner") {
			t.Error(err)
		}
	})
	t.Run("an array, an element, a raw id", func(t *testing.T) {
		rows := row("16_3", "19", "a", "COMPLETED", "0:0", "n1", "1", "2", "3", "x") + row("16_4", "16", "a", "FAILED", "3:0", "n1", "1", "2", "3", "x")
		s := &fakeCommand{answers: map[string]source.Output{"sacct -e": {Stdout: []byte(listed22)}, "sacct -D": {Stdout: []byte(rows)}, "scontrol": invalidJob}}
		for in, want := range map[string]string{"16": "16_3 16_4", "16_3": "16_3", "19": "16_3", "16_[3-4]": "16_3 16_4"} {
			jobs, err := (&Commands{Command: s}).Jobs(ctx, mustID(t, in))
			var got []string
			for _, j := range jobs {
				got = append(got, j.ID)
			}
			if err != nil || strings.Join(got, " ") != want {
				t.Errorf("%s: %v, %v", in, got, err)
			}
		}
	})
	t.Run("batch scripts", func(t *testing.T) {
		s := &fakeCommand{answers: map[string]source.Output{
			"scontrol write batch_script 7 -": {Code: 1, Stderr: []byte("Invalid job id")},
			"sacct -B":                        {Stdout: []byte("Batch Script for 7\n-----\n#!/bin/bash\n#SBATCH -o x\n")},
		}}
		if got, err := (&Commands{Command: s}).Script(ctx, mustID(t, "7")); err != nil || got != "#!/bin/bash\n#SBATCH -o x\n" {
			t.Errorf("%q, %v", got, err)
		}
		s.answers["sacct -B"] = source.Output{Stdout: []byte("Batch Script for 7\n-----\nNONE\n")}
		if got, err := (&Commands{Command: s}).Script(ctx, mustID(t, "7")); err == nil || !strings.Contains(err.Error(), "Invalid job id") {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("who else died", func(t *testing.T) {
		line := func(id, end, nodes string) string { return strings.Join([]string{id, end, nodes}, separator) + "\n" }
		s := &fakeCommand{answers: map[string]source.Output{"sacct -a": {Stdout: []byte(line("7", "1100", "n1") + line("8", "1200", "n[2-3]") + line("9", "1300", "n9") + line("10", "9999", "n1"))}}}
		c := &Cluster{Backends: []Backend{&Commands{Command: s}}}
		jobs := jobsOf(t, failedJob)
		others, sharing, ok := c.Neighbours(ctx, &jobs[0], jobs[0].Newest())
		if others != 2 || sharing != 1 || !ok {
			t.Error(others, sharing, ok)
		}
		if !strings.Contains(s.ran[0], "-E uts1400") || !strings.Contains(s.ran[0], "-S uts800") {
			t.Error(s.ran)
		}
	})
}

// refusing refuses the column Restarts.
type refusing struct{ fakeCommand }

func (r *refusing) Run(ctx context.Context, argv ...string) (source.Output, error) {
	if strings.Contains(strings.Join(argv, " "), "Restarts") {
		return source.Output{Code: 1, Stderr: []byte(`sacct: error: Invalid field requested: "Restarts"`)}, nil
	}
	out, err := r.fakeCommand.Run(ctx, argv...)
	if cols := argv[len(argv)-1]; strings.Contains(cols, "StdOut") {
		out.Stdout = []byte(strings.ReplaceAll(string(out.Stdout), separator+"/w"+separator, separator+"/w"+separator+"/o"+separator+"/e"+separator))
	}
	return out, err
}

func TestAProgramOnThisMachine(t *testing.T) {
	out, err := Local{}.Run(context.Background(), "env", "A=b", "sh", "-c", "echo $A; echo bad >&2; exit 3")
	if err != nil || string(out.Stdout) != "b\n" || string(out.Stderr) != "bad\n" || out.Code != 3 {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := (Local{}).Run(context.Background(), "/no/such/program"); err == nil {
		t.Error("what is not there was run")
	}
}

// rest is a slurmrestd.
func rest(t *testing.T, paths []string, answer func(path, token string) (int, string)) *REST {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi/v3" {
			var b []string
			for _, p := range paths {
				b = append(b, fmt.Sprintf("%q:{}", p))
			}
			fmt.Fprintf(w, `{"paths":{%s}}`, strings.Join(b, ","))
			return
		}
		code, body := answer(r.URL.Path, r.Header.Get("X-Slurm-User-Token"))
		if code == http.StatusFound {
			w.Header().Set("Location", "http://elsewhere.invalid/")
		}
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	client, err := NewClient("")
	if err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("SLURM_JWT=first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &REST{URL: server.URL, TokenFile: token, Client: client}
}

var paths42 = []string{
	"/slurm/v0.0.40/job/{job_id}", "/slurm/v0.0.42/job/{job_id}", "/slurmdb/v0.0.42/job/{job_id}", "/slurmdb/v0.0.41/job/{job_id}", "/slurm/v0.0.99/job/{job_id}",
}

func TestSlurmrestd(t *testing.T) {
	ctx := context.Background()
	answers := func(code int, body string) func(string, string) (int, string) {
		return func(string, string) (int, string) { return code, body }
	}
	for name, c := range map[string]struct {
		code    int
		body    string
		unknown bool
		says    string
	}{
		"unknown in new versions":   {404, `{"errors":[{"error_number":2017,"error":"Invalid job id specified"}]}`, true, ""},
		"unknown in old versions":   {500, `{"errors":[{"error_code":2017,"description":"Invalid job id specified"}]}`, true, ""},
		"nothing shown":             {200, `{"jobs":[],"errors":[]}`, true, "only to its owner"},
		"an old token":              {401, "Authentication failure", false, "write a new one there with `scontrol token`"},
		"a redirect":                {302, "", false, "don't send tokens there"},
		"the database is down":      {500, `{"errors":[{"error_number":7000,"description":"Unable to connect\nto database"}]}`, false, `answered 500: "Unable to connect to database"`},
		"no JSON":                   {200, "<html>", false, "unexpected format"},
		"an error with a good code": {200, `{"errors":[{"error_number":1,"error":"odd"}]}`, false, `error 1 "odd"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rest(t, paths42, answers(c.code, c.body)).Jobs(ctx, mustID(t, "7"))
			if errors.Is(err, ErrUnknown) != c.unknown || err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "first") {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("the newest known version, and a token for each request", func(t *testing.T) {
		var seen []string
		var r *REST
		r = rest(t, paths42, func(path, token string) (int, string) {
			seen = append(seen, path+" "+token)
			if err := os.WriteFile(r.TokenFile, []byte("second"), 0o600); err != nil {
				t.Error(err)
			}
			return 200, `{"jobs":[{"job_id":7,"user":"alice","state":{"current":["RUNNING"]},"job_state":["RUNNING"],"nodes":"n1","time":{"submission":1,"start":2},"start_time":2,"standard_output":"/o"}]}`
		})
		jobs, err := r.Jobs(ctx, mustID(t, "7"))
		if err != nil || len(jobs) != 1 || jobs[0].StdOut != "/o" {
			t.Fatalf("%+v, %v", jobs, err)
		}
		if want := []string{"/slurmdb/v0.0.42/job/7 first", "/slurm/v0.0.42/job/7 second"}; !slices.Equal(seen, want) {
			t.Error(seen)
		}
	})
	t.Run("nodes as scontrol prints them", func(t *testing.T) {
		r := rest(t, paths42, answers(200, `{"nodes":[{"name":"n1","state":["DOWN","NOT_RESPONDING"],"reason":"lost\npower","boot_time":{"set":true,"number":5},"reason_changed_at":{"set":true,"number":9}},{"name":"other"}]}`))
		got, err := r.Nodes(ctx, []string{"n1"})
		if err != nil || got != "NodeName=n1\n   State=DOWN+NOT_RESPONDING\n   BootTime=5 SlurmdStartTime=None\n   LastBusyTime=None\n   Reason=lost power [@9]\n\n" {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("a token that cannot be read", func(t *testing.T) {
		r := rest(t, paths42, answers(200, "{}"))
		r.TokenFile = filepath.Join(t.TempDir(), "none")
		if _, err := r.Jobs(ctx, mustID(t, "7")); err == nil || !strings.Contains(err.Error(), "can't read the token") {
			t.Error(err)
		}
	})
}

// told is a backend that says what it is told.
type told struct {
	answers [][]Job
	err     error
	asked   int
}

func (f *told) Jobs(context.Context, ID) ([]Job, error) {
	f.asked++
	if f.err != nil {
		return nil, f.err
	}
	return f.answers[min(f.asked, len(f.answers))-1], nil
}
func (f *told) Nodes(context.Context, []string) (string, error) { return "", f.err }
func (f *told) Script(context.Context, ID) (string, error)      { return "", ErrUnknown }
func (f *told) Deaths(context.Context, time.Time, time.Time) ([]Death, error) {
	return nil, errors.New("no")
}
func (f *told) String() string { return "a friend" }

func TestClustersAreAskedInTurn(t *testing.T) {
	ctx := context.Background()
	jobs := jobsOf(t, failedJob)
	down := &told{err: errors.New("the SLURM commands on login do not answer")}
	c := &Cluster{Backends: []Backend{down, &told{answers: [][]Job{jobs}}}}
	got, warnings, err := c.Jobs(ctx, mustID(t, "7"))
	if err != nil || len(got) != 1 || len(warnings) != 1 || warnings[0] != "The SLURM commands on login do not answer. I queried a friend instead." {
		t.Error(got, warnings, err)
	}
	c.Backends = []Backend{&told{err: ErrUnknown}, down}
	if _, _, err = c.Jobs(ctx, mustID(t, "7")); err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("one does not know and one did not answer: %v", err)
	}
	c.Backends = []Backend{&told{err: ErrUnknown}}
	if _, _, err = c.Jobs(ctx, mustID(t, "7")); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

func TestAccountingThatHasNotSettledIsAskedForAgain(t *testing.T) {
	early := jobsOf(t, row("7", "7", "a", "CANCELLED", "0:0", "n1", "1000", "1010", "1100", "x")+row("7.0", "7.0", "", "RUNNING", "0:0", "n1", "1000", "1010", "Unknown", "x"))
	late := jobsOf(t, row("7", "7", "a", "CANCELLED", "0:15", "n1", "1000", "1010", "1100", "x")+row("7.0", "7.0", "", "FAILED", "15:0", "n1", "1000", "1010", "1101", "x"))
	b := &told{answers: [][]Job{early, late}}
	now := time.Unix(1101, 0)
	var slept []time.Duration
	c := &Cluster{Backends: []Backend{b}, Now: func() time.Time { return now }, Sleep: func(_ context.Context, d time.Duration) error {
		slept = append(slept, d)
		now = now.Add(d)
		return nil
	}}
	got, warnings, err := c.Jobs(context.Background(), mustID(t, "7"))
	if err != nil || got[0].Newest().last().ExitCode != "0:15" || len(slept) != 1 || slept[0] != 39*time.Second || len(warnings) != 0 {
		t.Errorf("%+v %v %v %v", got, slept, warnings, err)
	}
	now, b.asked, slept = time.Unix(9999, 0), 0, nil
	if _, _, err = c.Jobs(context.Background(), mustID(t, "7")); err != nil || len(slept) != 0 {
		t.Errorf("an old job was waited for: %v, %v", slept, err)
	}
}

func (f *told) Answers(context.Context) error { return f.err }
