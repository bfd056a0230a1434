package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"faultline/integration/loopback"
	"faultline/simulate"
	"faultline/simulate/slack"
	"faultline/store/storetest"
)

var update = flag.Bool("update", false, "rewrite the golden transcripts")

// binary is the bot, built once, with buildFlags.
var (
	binary     string
	buildFlags []string
)

// brief says that the long matrices (kills at every call, in every state and over both stores; chaos; a crowd of 200) play a
// sample only. FAULTLINE_FULL=1 plays all of it, which takes some ten minutes.
func brief() bool { return testing.Short() || os.Getenv("FAULTLINE_FULL") == "" }

// worldsAtOnce: the tests mostly wait, for a bot keeps to the pace that Slack allows.
const worldsAtOnce = "18"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", worldsAtOnce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	dir, err := os.MkdirTemp("", "faultline-serve-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "bot")
	patient := "-ldflags=-X faultline/chat/slack.storeWithin=" + (slackPatience * 3 / 4).String()
	build := exec.Command("go", append(append([]string{"build", patient}, buildFlags...), "-o", binary, "faultline/cmd/bot")...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the bot: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	storetest.StopShared()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// patience is how long a test waits for what must come; it is no measure of speed.
const patience = 3 * time.Minute

// slackPatience is Slack's time to acknowledge, and to open a window, stretched: what is tested is not how busy the
// machine is.
const slackPatience = 20 * time.Second

// world is a Slack look-alike, a cluster's logs and a bot between them.
type world struct {
	t     *testing.T
	slack *slack.Server
	url   string
	dir   string // everything of this world
	roots string // where the logs of jobs are
	conf  string // configuration file
	ops   string // address of the bot's operators' server

	settings map[string]any // what the configuration file says
	programs string         // a folder of programs that the bot finds before others, "" for none

	mu  sync.Mutex
	bot *exec.Cmd
	log *bytes.Buffer // what all processes wrote
}

type setting func(w *world, conf map[string]any, opts *slack.Options)

// newWorld makes a world without a running bot.
func newWorld(t *testing.T, settings ...setting) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), log: &bytes.Buffer{}}
	w.roots = filepath.Join(w.dir, "cluster")
	if err := os.MkdirAll(w.roots, 0o755); err != nil {
		t.Fatal(err)
	}
	w.ops = loopback.Address(t)
	conf := map[string]any{
		"clusters": []any{map[string]any{"name": "west", "login_host": "login.west", "logs": map[string]any{"roots": []string{w.roots}}}},
		"slack":    map[string]any{"app_token": slack.AppToken, "bot_token": slack.BotToken},
		"channels": []any{map[string]any{"id": slack.Training}, map[string]any{"id": slack.Private}, map[string]any{"id": slack.Shared}},
		"access":   map[string]any{"direct": false},
		"data":     map[string]any{"dir": filepath.Join(w.dir, "data")},
		"ops":      map[string]any{"listen": w.ops},
		"logging":  map[string]any{"level": "debug"},
	}
	opts := slack.Options{Patience: slackPatience}
	for _, set := range settings {
		set(w, conf, &opts)
	}
	w.slack = slack.New(opts)
	url, err := w.slack.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.url = url
	t.Cleanup(func() {
		w.kill()
		_ = w.slack.Close()
		if t.Failed() {
			t.Logf("the bot's log:\n%s", tail(w.logText(), 6000))
		}
	})
	conf["slack"].(map[string]any)["api_url"] = url + "/api/"
	w.conf = filepath.Join(w.dir, "faultline.yaml")
	w.settings = conf
	w.configure(func(map[string]any) {})
	return w
}

// configure changes the bot's configuration file; a running bot reads it at hup.
func (w *world) configure(change func(conf map[string]any)) {
	w.t.Helper()
	change(w.settings)
	raw, err := json.Marshal(w.settings) // JSON is YAML
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.conf, raw, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// hup makes the bot read its configuration again and waits until it says so.
func (w *world) hup() {
	w.t.Helper()
	w.mu.Lock()
	err := w.bot.Process.Signal(syscall.SIGHUP)
	w.mu.Unlock()
	if err != nil {
		w.t.Fatal(err)
	}
	w.poll("the configuration to be read again", func() bool { return strings.Contains(w.logText(), "were reloaded") })
}

// ready waits until the bot says that it is.
func (w *world) ready() {
	w.t.Helper()
	w.poll("the bot to be ready", func() bool {
		res, err := http.Get("http://" + w.ops + "/readyz")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

// poll waits for what the look-alike cannot see.
func (w *world) poll(what string, condition func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("waiting for %s", what)
		}
	}
}

// long leaves a test out of short runs, which play only some of the situations.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("not in a short run")
	}
}

// start makes a world with a running bot.
func start(t *testing.T, settings ...setting) *world {
	t.Helper()
	w := newWorld(t, settings...)
	w.run()
	return w
}

// run starts the bot and waits until Slack can reach it.
func (w *world) run() {
	w.t.Helper()
	// Else the sockets of a process that is dead would be taken for those of the new one.
	w.await("the sockets of the last process to end", func() bool { return w.slack.Sockets() == 0 })
	w.launch()
	w.await("the bot's sockets", func() bool { return w.slack.Sockets() > 0 })
}

func (w *world) launch() {
	w.t.Helper()
	cmd := exec.Command(binary, "serve", "--config", w.conf)
	cmd.Env = []string{"HOME=" + w.dir, "PATH=" + w.programs + ":" + os.Getenv("PATH"), "TMPDIR=" + w.dir, "GOTRACEBACK=crash"}
	cmd.Dir = w.dir
	out := &locked{w}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.bot = cmd
	w.mu.Unlock()
}

type locked struct{ w *world }

func (l *locked) Write(b []byte) (int, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.w.log.Write(b)
}

func (w *world) logText() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// kill ends the bot as a power cut would.
func (w *world) kill() { w.signal(syscall.SIGKILL) }

// stop ends it as an operator would.
func (w *world) stop() { w.signal(syscall.SIGTERM) }

func (w *world) signal(sig syscall.Signal) {
	w.mu.Lock()
	cmd := w.bot
	w.bot = nil
	w.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(sig)
	err := cmd.Wait()
	var exit *exec.ExitError
	if sig == syscall.SIGTERM && errors.As(err, &exit) {
		w.t.Errorf("the bot did not stop well: %v", err)
	}
}

// await waits for a condition on the look-alike.
func (w *world) await(what string, condition func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.slack.Until(ctx, condition); err != nil {
		w.t.Fatalf("waiting for %s: %v\n%s", what, err, w.slack.Transcript(slack.Training))
	}
}

// job writes the logs of a simulated incident where the bot looks for them, except those that hold says to keep back;
// those are returned with their contents.
func (w *world) job(spec simulate.Spec, hold func(name string) bool) (id string, held map[string][]byte) {
	w.t.Helper()
	inc, err := simulate.Generate(spec)
	if err != nil {
		w.t.Fatal(err)
	}
	id = fmt.Sprint(inc.Played.Job)
	dir := filepath.Join(w.roots, id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	held = map[string][]byte{}
	for _, f := range inc.Files {
		if hold != nil && hold(f.Name) {
			held[f.Name] = f.Data
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	return id, held
}

// slash types a command as a user and returns what was answered at once.
func (w *world) slash(user, channel, text string) slack.Ack {
	w.t.Helper()
	d, err := w.slack.Slash(user, channel, "/diagnose", text)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.acked(d)
}

func (w *world) acked(d *slack.Delivery) slack.Ack {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ack, err := d.Wait(ctx)
	if err != nil {
		w.t.Fatalf("not acknowledged: %v", err)
	}
	return ack
}

// message waits for a message that a user can see in a channel or thread and whose text (blocks too) holds all of the words.
func (w *world) message(user, channel string, words ...string) slack.Message {
	w.t.Helper()
	var got slack.Message
	w.await(fmt.Sprintf("a message with %q", words), func() bool {
		for _, m := range w.slack.All(channel) {
			if m.Deleted || m.VisibleTo != "" && m.VisibleTo != user {
				continue
			}
			if holds(m, words) {
				got = m
				return true
			}
		}
		return false
	})
	return got
}

// verdict is the message with the last verdict of the only case in a channel, once the case is reported.
func (w *world) verdict(user, channel string) slack.Message {
	w.t.Helper()
	w.message(user, channel, "report.json")
	got := w.message(user, channel, "citations re-read")
	for _, m := range w.slack.All(channel) {
		if !m.Deleted && holds(m, []string{"citations re-read"}) {
			got = m
		}
	}
	return got
}

// since is message for one that was posted after another in the same channel: words alone may fit an earlier one.
func (w *world) since(after slack.Message, user string, words ...string) slack.Message {
	w.t.Helper()
	var got slack.Message
	w.await(fmt.Sprintf("a new message with %q", words), func() bool {
		for _, m := range w.slack.All(after.Channel) {
			seen := m.VisibleTo == "" || m.VisibleTo == user
			if !m.Deleted && seen && m.TS > after.TS && holds(m, words) {
				got = m
				return true
			}
		}
		return false
	})
	return got
}

func holds(m slack.Message, words []string) bool {
	text := m.Text + "\n" + plainBlocks(m.Blocks)
	for _, f := range m.Files {
		text += "\n" + f.Name
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// plainBlocks are all strings in the blocks, as they stand there.
func plainBlocks(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return b.String()
}

// click presses a button of a message, named by its label, as soon as it is there: a message gets its buttons by edits too.
func (w *world) click(user string, m slack.Message, label string) slack.Ack {
	w.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		d, err := w.slack.Click(user, m.Channel, m.TS, slack.Action{Text: label})
		if err == nil {
			return w.acked(d)
		}
		if time.Now().After(end) {
			w.t.Fatalf("clicking %q: %v\n%s\n%s", label, err, m.Text, w.slack.Transcript(m.Channel))
		}
	}
}

// window waits for a modal of a user with the words in its title or blocks.
func (w *world) window(user string, words ...string) slack.View {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	v, err := w.slack.WaitView(ctx, user, func(v slack.View) bool {
		text := v.Title() + "\n" + plainBlocks(v.Blocks)
		for _, word := range words {
			if !strings.Contains(text, word) {
				return false
			}
		}
		return true
	})
	if err != nil {
		var open []string
		for _, v := range w.slack.Views(user) {
			open = append(open, w.slack.ViewText(v))
		}
		w.t.Fatalf("waiting for a window with %q: %v; open are:\n%s", words, err, strings.Join(open, "\n"))
	}
	return v
}

func (w *world) submit(user string, v slack.View, values map[string]any) slack.Ack {
	w.t.Helper()
	d, err := w.slack.Submit(user, v.ID, values)
	if err != nil {
		w.t.Fatalf("sending the window %q: %v", v.Title(), err)
	}
	return w.acked(d)
}

// get reads from the bot's server for operators.
func (w *world) get(path string) (int, string) {
	w.t.Helper()
	res, err := http.Get("http://" + w.ops + path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// bot runs another command of the binary on the same configuration.
func (w *world) command(args ...string) (string, error) {
	cmd := exec.Command(binary, append(args, "--config", w.conf)...)
	cmd.Env = []string{"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + w.dir}
	cmd.Dir = w.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// quietNow waits until the bot has said all it has to say: nothing is in work or waits to be posted, and what people see
// changes no more.
func (w *world) quietNow(channel string) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for n, same := -1, 0; same < 10; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatal("the channel does not come to rest")
		}
		now := 0
		for _, m := range w.slack.All(channel) {
			now += 1 + m.Edits
		}
		if now == n && w.idle() {
			same++
		} else {
			n, same = now, 0
		}
	}
}

// idle says that the bot has no work: what it waits for is people, or the clock.
func (w *world) idle() bool {
	w.t.Helper()
	for _, name := range []string{"faultline_outbox_posts", `faultline_jobs_waiting{kind="inbound"}`, `faultline_jobs_waiting{kind="run"}`} {
		if w.gauge(name) > 0 {
			return false
		}
	}
	return true
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// golden compares a transcript with the file of the test's name.
func (w *world) golden(channel string) {
	w.t.Helper()
	got := ordered(w.normal(w.slack.Transcript(channel)))
	file := filepath.Join("testdata", strings.ReplaceAll(w.t.Name(), "/", "-")+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	if got != string(want) {
		w.t.Errorf("the transcript is not that of %s (go test ./integration/serve -update):\n%s", file, difference(string(want), got))
	}
}

// normal removes what differs between two runs: temporary paths, durations.
func (w *world) normal(s string) string {
	s = strings.ReplaceAll(s, w.dir, "/world")
	s = deadline.ReplaceAllString(s, "until DEADLINE (UTC)")
	s = here.ReplaceAllString(s, "127.0.0.1:PORT")
	s = delay.ReplaceAllString(s, "your message N s after")
	return took.ReplaceAllString(s, "for N s and")
}

// took are durations in words: how long a search was.
var took = regexp.MustCompile(`for \d+\.\d s and`)

// here are addresses on this machine: every run has others.
var here = regexp.MustCompile(`127\.\d+\.\d+\.\d+:\d+`)

// delay is how long a message was under way.
var delay = regexp.MustCompile(`your message \S+ after`)

// deadline is until when a question waits.
var deadline = regexp.MustCompile(`until \d\d:\d\d on \d+ \w+ \(UTC\)`)

// difference shows the first lines that differ.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		la, lb := at(a, i), at(b, i)
		if la != lb {
			return fmt.Sprintf("line %d\n- %s\n+ %s\n\n%s", i+1, la, lb, strings.Join(b[max(0, i-5):min(len(b), i+10)], "\n"))
		}
	}
	return "they are equal"
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}
