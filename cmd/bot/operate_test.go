package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/chat/slack"
	"faultline/config"
	"faultline/incident"
	"faultline/integration/loopback"
	simslack "faultline/simulate/slack"
	"faultline/store/bundle"
	"faultline/workflow"
)

// here runs a command in this process, with a configuration.
func here(t *testing.T, stdin, yaml string, args ...string) result {
	t.Helper()
	file := write(t, filepath.Join(t.TempDir(), "faultline.yaml"), yaml)
	args = append([]string{args[0], "--config", file}, args[1:]...)
	var out, errs bytes.Buffer
	code := run(t.Context(), args, env{strings.NewReader(stdin), &out, &errs})
	return result{code, out.String(), errs.String()}
}

// look starts a Slack look-alike and returns the configuration of a bot that uses it.
func lookalike(t *testing.T, o simslack.Options) (*simslack.Server, string) {
	t.Helper()
	sim := simslack.New(o)
	base, err := sim.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Close() })
	return sim, fmt.Sprintf("slack: {api_url: %q, bot_token: %s, app_token: %s}\ndata: {dir: %q}\naccess: {any_channel: true}\nops: {listen: %q}\n",
		base+"/api/", simslack.BotToken, simslack.AppToken, filepath.Join(t.TempDir(), "data"), loopback.Address(t))
}

func parsed(t *testing.T, yaml string) config.Config {
	t.Helper()
	cfg, err := config.Parse("test.yaml", []byte(yaml), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// kept opens the store of a configuration and puts a closed incident into it, F-1, with an upload and an attachment.
func kept(t *testing.T, yaml string) *stores {
	t.Helper()
	ctx := t.Context()
	s, err := openStores(ctx, parsed(t, yaml))
	if err != nil {
		t.Fatal(err)
	}
	upload := write(t, filepath.Join(s.Dir, "uploads", "F-1", "slurm-4242.out"), "[rank0]: ValueError: bad\n")
	key, err := s.Blobs.Put(ctx, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	inv := workflow.Investigation{
		ID: "F-1", Job: "4242", State: workflow.Closed, Since: now, Asked: now, Home: workflow.Home{Team: "T1", Channel: simslack.Training, Requester: simslack.Alice},
		Sources: []incident.Source{{Name: "slurm-4242.out", Path: upload, Bytes: 25}},
		Report:  &incident.Report{Sources: []incident.Source{{Name: "slurm-4242.out"}}},
	}
	post := func(kind workflow.PostKind, key, text string, files ...workflow.Attachment) workflow.Post {
		return workflow.Post{Investigation: "F-1", Kind: kind, Key: key, Channel: simslack.Training, Payload: fmt.Appendf(nil, `{"text":%q}`, text), Files: files}
	}
	err = s.Save(ctx, workflow.Change{
		Investigation: &inv,
		Entries:       []workflow.Entry{{Kind: "transition", To: workflow.Requested, Actor: simslack.Alice, Text: "job 4242 requested"}},
		Posts: []workflow.Post{post(workflow.PostMessage, workflow.KeyCase, "Case file of 4242"),
			post(workflow.PostFiles, "final-1", "The report", workflow.Attachment{Name: "report.json", Blob: key, Bytes: 2})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// deliver sends what is in the outbox.
func deliver(t *testing.T, yaml string, s *stores) {
	t.Helper()
	cfg := parsed(t, yaml)
	log := slog.New(slog.DiscardHandler)
	metrics := slack.NewMetrics(nil)
	client, err := slack.NewClient(slack.Config{BotToken: cfg.Slack.BotToken, APIURL: cfg.Slack.APIURL}, metrics, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	sender := &slack.Sender{Client: client, Outbox: s.Durable, Blobs: s.Blobs, Log: log, Metrics: metrics}
	go func() { ended <- sender.Run(ctx) }()
	eventually(t, func() bool {
		n, _, err := s.Backlog(t.Context())
		return err == nil && n == 0
	})
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come true")
		}
	}
}

func shut(t *testing.T, s *stores) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAnIncidentIsExportedWhileTheBotHasTheStore(t *testing.T) {
	yaml := fmt.Sprintf("data: {dir: %q}\n", filepath.Join(t.TempDir(), "data"))
	s := kept(t, yaml)
	defer s.Close()
	file := filepath.Join(t.TempDir(), "f1.zip")
	here(t, "", yaml, "export", "--out", file, "f-1").want(t, 0, "f1.zip: incident F-1")
	r, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
	}
	for _, want := range []string{"attachments/final-1/report.json", "evidence/slurm-4242.out", "incident.json", "incident.md", "manifest.json", "report/report.md"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s in %q", want, names)
		}
	}
	if r := here(t, "", yaml, "export", "--raw", "--out", file, "F-1"); strings.Contains(r.out+r.err, "not masked") {
		t.Errorf("a log that somebody uploaded leaves with its secrets: %s", r.out)
	}
	mine := write(t, filepath.Join(t.TempDir(), "mine.log"), "x\n")
	for name, want := range map[string]bool{mine: true, filepath.Join(s.Dir, "uploads", "F-1", "slurm-4242.out"): false} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := ownLogs(s.gate)(name, info); got != want {
			t.Errorf("%s is taken as it is: %v", name, got)
		}
	}
	here(t, "", yaml, "export", "--raw", "--format", "json", "F-1").want(t, 2, "--raw needs --format zip")
	here(t, "", yaml, "export", "--format", "markdown", "F-1").want(t, 0, "# Incident F-1: job 4242", "job 4242 requested")
	here(t, "", yaml, "export", "--format", "json", "1").want(t, 0, `"schema": "faultline.incident/v1"`)
	here(t, "", yaml, "export", "F-2").want(t, 1, "no incident F-2")
}

func TestCommandsOfOperatorsSayWhatIsWrong(t *testing.T) {
	empty := fmt.Sprintf("data: {dir: %q}\n", filepath.Join(t.TempDir(), "data"))
	for _, c := range []struct {
		yaml string
		args []string
		code int
		want string
	}{
		{empty, []string{"export"}, exitUsage, "give one incident"},
		{empty, []string{"export", "x12"}, exitUsage, "use F-1"},
		{empty, []string{"export", "--format", "pdf", "F-1"}, exitUsage, "zip, markdown, json"},
		{empty, []string{"export", "F-1"}, exitUnreadable, "there is no store in"},
		{empty, []string{"forget"}, exitUsage, "give one incident"},
		{empty, []string{"forget", "--yes", "F-1"}, exitUnreadable, "there is no store in"},
		{empty, []string{"backup"}, exitUsage, "name one file"},
		{empty, []string{"backup", filepath.Join(t.TempDir(), "x")}, exitUnreadable, "there is no store in"},
		{"data: {postgres: 'host=x'}\n", []string{"backup", "x"}, exitUsage, "pg_dump"},
		{empty, []string{"doctor", "x"}, exitUsage, "no argument"},
		{empty, []string{"doctor", "--cluster", "nope", "--job", "1"}, exitUsage, "--cluster nope"},
		{empty + "clusters: [{name: west, logs: {roots: [/tmp]}}]\n", []string{"diagnose", "--cluster", "nope", "--job", "1"}, exitUsage, "no such cluster is configured; choose from west"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) { here(t, "", c.yaml, c.args...).want(t, c.code, c.want) })
	}
	if _, err := os.Stat(parsed(t, empty).Data.Dir); err == nil {
		t.Error("a command that only looks made a data directory")
	}
}

func TestABackupIsAWholeStoreOfItsOwn(t *testing.T) {
	yaml := fmt.Sprintf("data: {dir: %q}\n", filepath.Join(t.TempDir(), "data"))
	s := kept(t, yaml)
	defer s.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "faultline.db")
	here(t, "", yaml, "backup", file).want(t, 0, "it was opened and checked", "/blobs")
	here(t, "", yaml, "backup", file).want(t, 1, "name a new file")
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	restored := fmt.Sprintf("data: {dir: %q}\n", dir)
	again, err := openStores(t.Context(), parsed(t, restored))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if inv, err := again.Load(t.Context(), "F-1"); err != nil || inv.Job != "4242" {
		t.Errorf("%+v, %v", inv, err)
	}
}

func TestForgettingRemovesTheMessagesFromSlackAndEverythingHere(t *testing.T) {
	sim, yaml := lookalike(t, simslack.Options{})
	s := kept(t, yaml)
	here(t, "", yaml, "forget", "--yes", "F-1").want(t, 1, "stop the bot, run this again")
	deliver(t, yaml, s)
	if n := len(sim.All(simslack.Training)); n < 2 {
		t.Fatalf("%d messages", n)
	}
	shut(t, s)
	here(t, "no\n", yaml, "forget", "F-1").want(t, exitUsage, "nothing was removed")
	r := here(t, "f-1\n", yaml, "forget", "F-1")
	r.want(t, 0, "removed: message case", "removed: message final-1", "removed: 1 attachments", "removed: 1 files", "removed: the investigation")
	for _, m := range sim.All(simslack.Training) {
		if !m.Deleted {
			t.Errorf("still in Slack: %+v", m)
		}
	}
	here(t, "", yaml, "forget", "F-1").want(t, 0, "it was forgotten")
	here(t, "", yaml, "export", "F-1").want(t, 1, "it was forgotten")
	if _, err := os.Stat(filepath.Join(s.Dir, "uploads", "F-1")); err == nil {
		t.Error("the upload is left")
	}
}

func TestForgettingReachesWhatWasTakenFromElsewhereAndWhatWatchingNoted(t *testing.T) {
	_, yaml := lookalike(t, simslack.Options{})
	s := kept(t, yaml)
	ctx := t.Context()
	inv, err := s.Load(ctx, "F-1")
	if err != nil {
		t.Fatal(err)
	}
	blob := write(t, filepath.Join(takenIn(s.Dir), "blob", "ab", "abcd"), "a log of the login node\n")
	inv.Sources = append(inv.Sources, incident.Source{Name: "error-4242-0.out", Path: blob, Bytes: 24, Origin: "sftp"})
	note := workflow.Note{Key: "watch/channel/" + inv.Home.Channel, Value: []byte(`{"cases":[{"id":"F-1","key":"k","cluster":"west","job":"4242","name":"secret-model","nodes":["node07"]},{"id":"F-2","key":"l","job":"5"}]}`)}
	if err := s.Save(ctx, workflow.Change{Investigation: &inv, Notes: []workflow.Note{note}}); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	here(t, "", yaml, "forget", "--yes", "F-1").want(t, 0, "removed: 2 files", "removed: its watch notes")
	if _, err := os.Stat(blob); err == nil {
		t.Error("the log is left")
	}
	if s, err = openStores(ctx, parsed(t, yaml)); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	left, err := s.Note(ctx, note.Key)
	if err != nil || strings.Contains(string(left.Value), "secret-model") || !strings.Contains(string(left.Value), "F-2") {
		t.Errorf("%s, %v", left.Value, err)
	}
}

func TestForgettingWithoutSlackIsEndedByTheBot(t *testing.T) {
	sim, yaml := lookalike(t, simslack.Options{})
	s := kept(t, yaml)
	deliver(t, yaml, s)
	shut(t, s)
	here(t, "", strings.ReplaceAll(yaml, "bot_token: "+simslack.BotToken+", ", ""), "forget", "--yes", "F-1").want(t, 0, "no bot token", "they will be deleted when the bot next runs")
	s, err := openStores(t.Context(), parsed(t, yaml))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	deliver(t, yaml, s)
	if err := s.keepHouse(t.Context(), parsed(t, yaml), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Read(t.Context(), s.source(), "F-1"); !errors.Is(err, bundle.ErrForgotten) {
		t.Errorf("%v", err)
	}
	for _, m := range sim.All(simslack.Training) {
		if !m.Deleted {
			t.Errorf("still in Slack: %+v", m)
		}
	}
}

func TestTheDoctorFindsNothingWhereAllIsWell(t *testing.T) {
	_, yaml := lookalike(t, simslack.Options{})
	s := kept(t, yaml)
	defer s.Close()
	if err := os.Chmod(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	failedJob(t, filepath.Join(root, "4242"), "4242")
	yaml += fmt.Sprintf("clusters: [{name: west, logs: {roots: [%q]}}]\n", root)
	r := here(t, "", yaml, "doctor", "--job", "4242")
	r.want(t, 0, "OK    slack", "OK    scopes", "OK    socket", "OK    clock", "OK    disk", "OK    store     intact", "1 incident, 0 of them open",
		"OK    archive   none", "OK    cluster   west", "readable: slurm-4242.out", "no bot is responding")
	if strings.Contains(r.out, "FAIL") || strings.Contains(r.out, simslack.BotToken) {
		t.Errorf("%s", r.out)
	}
	here(t, "", yaml, "doctor", "--job", "99").want(t, 1, "FAIL  job", "logs.patterns")
}

// What is wrong, and the words that say how to fix it.
func TestTheDoctorNamesEachDisease(t *testing.T) {
	ops := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "slack: deaf\nstore: ok\n")
	}))
	defer ops.Close()
	for name, c := range map[string]struct {
		change func(sim *simslack.Server, yaml string) string
		want   []string
	}{
		"unknown token": {func(_ *simslack.Server, yaml string) string {
			return strings.Replace(yaml, simslack.BotToken, "xoxb-wrong", 1)
		}, []string{"FAIL  slack", "Copy all of it again"}},
		"missing scope": {func(sim *simslack.Server, yaml string) string {
			sim.SetScopes(simslack.BotToken, "commands", "chat:write")
			return yaml
		}, []string{"FAIL  scopes    files:write is missing", "WARN  scopes"}},
		"app token without its scope": {func(sim *simslack.Server, yaml string) string {
			sim.SetScopes(simslack.AppToken)
			return yaml
		}, []string{"FAIL  slack", "FAIL  socket"}},
		"no signing secret": {func(_ *simslack.Server, yaml string) string {
			return strings.Replace(yaml, "slack: {", "slack: {mode: both, ", 1)
		}, []string{"signing secret"}},
		"Slack away": {func(sim *simslack.Server, yaml string) string {
			return strings.ReplaceAll(yaml, sim.URL(), "http://127.0.0.1:1") // a port that the kernel gives nobody
		}, []string{"FAIL  slack     Slack can't be reached", "HTTPS_PROXY", "WARN  clock"}},
		"no root": {func(_ *simslack.Server, yaml string) string {
			return yaml + "clusters: [{name: west, logs: {roots: [/does/not/exist]}}]\n"
		}, []string{"FAIL  cluster", "mounted"}},
		"empty root": {func(_ *simslack.Server, yaml string) string {
			return yaml + fmt.Sprintf("clusters: [{name: west, logs: {roots: [%q]}}]\n", t.TempDir())
		}, []string{"WARN  cluster", "mounted"}},
		"archive away": {func(_ *simslack.Server, yaml string) string {
			return yaml + fmt.Sprintf("archive: {bucket: b, endpoint: 'http://%s', access_key: a, secret_key: b}\n", loopback.Address(t))
		}, []string{"FAIL  archive"}},
		"bot not ready": {func(_ *simslack.Server, yaml string) string {
			i := strings.Index(yaml, "ops:")
			return yaml[:i] + fmt.Sprintf("ops: {listen: %q}\n", strings.TrimPrefix(ops.URL, "http://"))
		}, []string{"FAIL  ops", "slack: deaf; store: ok"}},
		"damaged store": {func(_ *simslack.Server, yaml string) string {
			file := databaseFile(parsed(t, yaml).Data.Dir)
			write(t, file, strings.Repeat("this is no database", 1000))
			return yaml
		}, []string{"FAIL  store", "restore the newest backup"}},
		"data directory for everybody": {func(_ *simslack.Server, yaml string) string {
			if err := os.MkdirAll(parsed(t, yaml).Data.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
			return yaml
		}, []string{"WARN  data", "chmod 700"}},
	} {
		t.Run(name, func(t *testing.T) {
			sim, yaml := lookalike(t, simslack.Options{})
			yaml = c.change(sim, yaml)
			code := 0
			if strings.Contains(strings.Join(c.want, ""), "FAIL") || name == "no signing secret" {
				code = 1
			}
			here(t, "", yaml, "doctor").want(t, code, c.want...)
		})
	}
}

// storageProxy answers as a proxy of AIStore does; refuse is the message of a 401 to requests with a token, "" = none.
func storageProxy(t *testing.T, refuse string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" && refuse != "" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"message": %q}`, refuse)
			return
		}
		if r.URL.Path != "/v1/health" {
			fmt.Fprint(w, `{"pmap": {"p1": {}}, "tmap": {"t1": {}}, "uuid": "u"}`)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// jwt is a token of which only the time counts.
func jwt(expires time.Time) string {
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp": %d}`, expires.Unix()))
	return "e30." + claims + ".c2ln"
}

func TestTheDoctorTriesTheStorage(t *testing.T) {
	year := 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		endpoint, token, refuse string
		want                    string
	}{
		"well":              {token: jwt(time.Now().Add(year)), want: "OK    storage   s: a proxy responds"},
		"nothing listens":   {endpoint: "http://127.0.0.1:1", want: "FAIL  storage   s: nothing is listening at 127.0.0.1:1"},
		"junk":              {token: "aabbcc", refuse: "access denied", want: "the token is incomplete: paste all three parts"},
		"expired, not said": {token: jwt(time.Now().Add(-year)), refuse: "access denied", want: "the token has expired: create a new one with `ais auth login`. It is configured as storage[0].token."},
		"of another":        {token: jwt(time.Now().Add(year)), refuse: "signature is invalid", want: "rejected the token's signature"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.endpoint == "" {
				c.endpoint = storageProxy(t, c.refuse)
			}
			yaml := fmt.Sprintf("data: {dir: %q}\nstorage: [{name: s, endpoint: %q, token: %q}]\n", t.TempDir(), c.endpoint, c.token)
			code := 1
			if strings.HasPrefix(c.want, "OK") {
				code = 0
			}
			here(t, "", yaml, "doctor").want(t, code, c.want)
		})
	}
}

func TestTheDoctorComparesClocks(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Format(http.TimeFormat))
	}))
	defer server.Close()
	for off, want := range map[time.Duration]string{0: "OK", time.Minute: "WARN", -10 * time.Minute: "FAIL"} {
		var out bytes.Buffer
		d := &doctor{out: &out, now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(off) }}
		d.skew(t.Context(), "Slack", server.URL)
		if !strings.HasPrefix(out.String(), want) || d.failed != (want == "FAIL") {
			t.Errorf("%s: %s", off, out.String())
		}
	}
}

// brokenBucket answers one call wrongly.
type brokenBucket struct {
	wrong   string
	content []byte
}

func (b *brokenBucket) Put(_ context.Context, _ string, r io.Reader, _ int64) (err error) {
	if b.wrong == "put" {
		return errors.New("denied")
	}
	b.content, err = io.ReadAll(r)
	return err
}

func (b *brokenBucket) Open(context.Context, string) (io.ReadCloser, error) {
	if b.wrong == "open" {
		return io.NopCloser(strings.NewReader("other")), nil
	}
	return io.NopCloser(bytes.NewReader(b.content)), nil
}

func (b *brokenBucket) List(_ context.Context, prefix string) ([]string, error) {
	if b.wrong == "list" {
		return nil, nil
	}
	return []string{prefix}, nil
}

func (b *brokenBucket) Remove(context.Context, string) error {
	if b.wrong == "remove" {
		return errors.New("denied")
	}
	b.content = nil
	return nil
}

func TestTheProbeOfTheArchiveNoticesEveryRightThatIsMissing(t *testing.T) {
	for wrong, want := range map[string]string{"": "", "put": "denied", "open": "comes back changed", "list": "not listed", "remove": "by hand"} {
		b := &brokenBucket{wrong: wrong}
		err := probe(t.Context(), b)
		if text := fmt.Sprint(err); wrong == "" && err != nil || wrong != "" && !strings.Contains(text, want) {
			t.Errorf("%q: %v", wrong, err)
		}
		if wrong != "remove" && b.content != nil {
			t.Errorf("%q: the probe is left", wrong)
		}
	}
}
