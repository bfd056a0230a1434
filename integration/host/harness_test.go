//go:build linux

package host

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"faultline/integration/loopback"
	"faultline/simulate"
	"faultline/simulate/slack"
)

const (
	// redWithin and greenWithin are what readiness promises.
	redWithin, greenWithin = 10 * time.Second, 20 * time.Second
	// answerWithin is how long /readyz may take: it waits for nothing.
	answerWithin = 2 * time.Second
	// metricsWithin is how long /metrics may take: it asks the store, and gives up.
	metricsWithin = 8 * time.Second
	// patience is how long a test waits for what is no matter of speed.
	patience = time.Minute
	// atOnce: the tests mostly wait.
	atOnce = "20"
	nobody = 65534
)

var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	dir, err := os.MkdirTemp("", "faultline-host-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // one bot is another user's
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "bot")
	if out, err := exec.Command("go", "build", "-o", binary, "faultline/cmd/bot").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the bot: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// world is a Slack look-alike, the logs of a job, and a bot between them.
type world struct {
	t     *testing.T
	slack *slack.Server
	dir   string
	data  string // data.dir
	roots string
	conf  map[string]any
	ops   string
	uid   int // the bot's; 0 = ours
	bot   *exec.Cmd
	ended chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "host-") // not t.TempDir: what is mounted in it goes first
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &world{t: t, dir: dir, data: filepath.Join(dir, "data"), roots: filepath.Join(dir, "cluster"), ops: loopback.Address(t)}
	for _, d := range []string{w.data, w.roots} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.conf = map[string]any{
		"clusters": []any{map[string]any{"name": "west", "logs": map[string]any{"roots": []string{w.roots}}}},
		"slack":    map[string]any{"app_token": slack.AppToken, "bot_token": slack.BotToken},
		"channels": []any{map[string]any{"id": slack.Training}},
		"data":     map[string]any{"dir": w.data},
		"ops":      map[string]any{"listen": w.ops},
	}
	return w
}

// start starts the bot and waits until it is ready.
func (w *world) start() {
	w.t.Helper()
	w.slack = slack.New(slack.Options{Patience: 20 * time.Second})
	url, err := w.slack.Start("127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.conf["slack"].(map[string]any)["api_url"] = url + "/api/"
	raw, err := json.Marshal(w.conf) // JSON is YAML
	if err != nil {
		w.t.Fatal(err)
	}
	conf := filepath.Join(w.dir, "faultline.yaml")
	if err := os.WriteFile(conf, raw, 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.bot = exec.Command(binary, "serve", "--config", conf)
	w.bot.Env, w.bot.Dir = []string{"HOME=" + w.dir, "PATH=" + os.Getenv("PATH")}, w.dir
	w.bot.Stdout, w.bot.Stderr = w, w
	if w.uid != 0 {
		w.bot.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(w.uid), Gid: uint32(w.uid)}}
		w.must(os.Chown(w.data, w.uid, w.uid))
	}
	if err := w.bot.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.ended = make(chan struct{})
	go func() {
		_ = w.bot.Wait()
		close(w.ended)
	}()
	w.t.Cleanup(func() {
		_ = w.bot.Process.Kill()
		<-w.ended
		_ = w.slack.Close()
		if w.t.Failed() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.t.Logf("the bot's log:\n%s", w.log.String()[max(0, w.log.Len()-5000):])
		}
	})
	w.within(patience, "the bot to be ready", func() bool { code, _ := w.ready(); return code == http.StatusOK })
	w.within(patience, "the bot's sockets", func() bool { return w.slack.Sockets() > 0 })
}

// Write takes what the bot logs.
func (w *world) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// read reads from the bot's server for operators.
func (w *world) read(path string, within time.Duration) (code int, text string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.ops+path, nil)
	if err != nil {
		return 0, "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// ready asks /readyz, which has to answer at once, whatever hangs; 0 where nobody answers.
func (w *world) ready() (int, string) {
	w.t.Helper()
	begun := time.Now()
	code, text, err := w.read("/readyz", 4*answerWithin)
	if took := time.Since(begun); took > answerWithin {
		w.t.Errorf("/readyz took %s: %v", took, err)
	}
	if err != nil {
		return 0, err.Error()
	}
	return code, text
}

// within waits for a condition and returns how long that took.
func (w *world) within(bound time.Duration, what string, condition func() bool) time.Duration {
	w.t.Helper()
	begun := time.Now()
	for !condition() {
		if time.Since(begun) > bound {
			_, ready := w.ready()
			w.t.Fatalf("waited %s for %s; /readyz says:\n%s%s", bound, what, ready, w.slack.Transcript(slack.Training))
		}
		select {
		case <-w.ended:
			w.t.Fatalf("the bot ended while %s was waited for", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return time.Since(begun)
}

// job writes the logs of a job that failed: an archive in the job's folder, so that the bot has to unpack it.
func (w *world) job(seed uint64) string {
	w.t.Helper()
	inc, err := simulate.Generate(simulate.Spec{
		Seed: seed, Mechanism: "rank-stalled", Torch: "2.7", Layout: simulate.Layout{Kind: "ddp", DP: 16}, NodeCount: 2, PerNode: 8, FileMode: "node",
	})
	w.must(err)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	for _, f := range inc.Files {
		w.must(t.WriteHeader(&tar.Header{Name: f.Name, Mode: 0o644, Size: int64(len(f.Data))}))
		_, err := t.Write(f.Data)
		w.must(err)
	}
	w.must(t.Close())
	w.must(z.Close())
	id := fmt.Sprint(inc.Played.Job)
	dir := filepath.Join(w.roots, id)
	w.must(os.Mkdir(dir, 0o755))
	w.must(os.WriteFile(filepath.Join(dir, "logs.tar.gz"), b.Bytes(), 0o644))
	return id
}

// ask types the command and says whether the bot took it; sorry is what it said where not.
func (w *world) ask(job string) (taken bool, sorry string) {
	w.t.Helper()
	d, err := w.slack.Slash(slack.Alice, slack.Training, "/diagnose", job)
	w.must(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ack, err := d.Wait(ctx)
	w.must(err)
	if text := string(ack.Payload); strings.Contains(text, "couldn't save this") {
		return false, text
	}
	return ack.OK, ""
}

// says tells whether the channel has, or had, a message with the words.
func (w *world) says(words string) bool {
	for _, m := range w.slack.All(slack.Training) {
		if strings.Contains(m.Text+string(m.Blocks), words) {
			return true
		}
		for _, f := range m.Files {
			if f.Name == words {
				return true
			}
		}
	}
	return false
}

// count tells how many messages have the words.
func (w *world) count(words string) (n int) {
	for _, m := range w.slack.All(slack.Training) {
		if strings.Contains(m.Text, words) {
			n++
		}
	}
	return n
}

// run runs a program as an operator would.
func (w *world) run(name string, args ...string) {
	w.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		w.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// mount mounts at a folder of the data, which it makes; where that is not permitted the test is skipped.
func (w *world) mount(at string, args ...string) {
	w.t.Helper()
	w.must(os.MkdirAll(at, 0o700))
	if out, err := exec.Command("mount", append(args, at)...).CombinedOutput(); err != nil {
		w.t.Skipf("mounting is not permitted here: %v %s", err, out)
	}
	w.t.Cleanup(func() { _ = exec.Command("umount", "-l", at).Run() })
}

// fill writes until nothing fits any more, and returns what takes it away again.
func (w *world) fill(dir string) (empty func()) {
	w.t.Helper()
	name := filepath.Join(dir, "balloon")
	f, err := os.Create(name)
	w.must(err)
	defer f.Close()
	for b := make([]byte, 1<<20); len(b) > 0; {
		if _, err := f.Write(b); err != nil {
			b = b[:len(b)/2]
		}
	}
	return func() { w.must(os.Remove(name)) }
}
