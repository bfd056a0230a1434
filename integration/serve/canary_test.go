package serve

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"faultline/simulate/slack"
)

// canary is something that must be nowhere, by the strings that would give it away.
type canary struct {
	name string
	tell []string
}

// tokenCanary is a token with the parts that are its own, in the dresses that programs put on text.
func tokenCanary(name, token string) canary {
	c := canary{name: name}
	parts := strings.Split(token, ".")
	if len(parts) == 3 {
		parts = append(parts[1:], token) // the first part of a JWT is the same in all
	}
	for _, p := range parts {
		c.tell = append(c.tell, p, base64.StdEncoding.EncodeToString([]byte(p))[:len(p)/3*4], hex.EncodeToString([]byte(p)), url.QueryEscape(p))
	}
	return c
}

// place is something that is searched.
type place struct {
	name string
	data []byte
}

// eachFile reads all files below a folder. What is temporary may go while it is walked; the rest is read all the same.
func eachFile(dir string, read func(path string, raw []byte)) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var raw []byte
			if raw, err = os.ReadFile(path); err == nil {
				read(path, raw)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// searched is everything that the bot left behind or sent: what it stored, wrote, told Slack and shows to operators. Logs of
// jobs that people handed in are left out: they stay as they are.
func (w *world) searched() []place {
	w.t.Helper()
	var out []place
	data := filepath.Join(w.dir, "data")
	err := eachFile(data, func(path string, raw []byte) {
		if !strings.HasPrefix(path, filepath.Join(data, "uploads")+string(filepath.Separator)) {
			out = append(out, place{path, raw})
		}
	})
	if err != nil {
		w.t.Fatal(err)
	}
	out = append(out, place{"what the bot wrote", []byte(w.logText())})
	for _, e := range w.slack.Journal() {
		if e.Dir != "in" {
			continue
		}
		body := e.Body + "\n" + e.Query
		if plain, err := url.QueryUnescape(body); err == nil {
			body += "\n" + plain
		}
		out = append(out, place{fmt.Sprintf("journal entry %d, %s", e.Seq, e.Method), []byte(body)})
	}
	for _, f := range w.slack.Files() {
		if f.User == slack.BotUser {
			out = append(out, place{"the uploaded " + f.Name, f.Content()})
		}
	}
	w.mu.Lock()
	runs := w.bot != nil
	w.mu.Unlock()
	if runs {
		_, metrics := w.get("/metrics")
		out = append(out, place{"/metrics", []byte(metrics)})
	}
	return out
}

// exported is what `bot export` writes of an incident, with the contents of the zip.
func (w *world) exported(id string) []place {
	w.t.Helper()
	var out []place
	for _, format := range []string{"markdown", "json", "zip"} {
		file := filepath.Join(w.dir, id+"."+format)
		said, err := w.command("export", "--format", format, "--out", file, id)
		if err != nil {
			w.t.Fatalf("exporting %s: %v\n%s", id, err, said)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, place{"what export said", []byte(said)}, place{file, raw})
		if format != "zip" {
			continue
		}
		z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				w.t.Fatal(err)
			}
			raw, err := io.ReadAll(r)
			if err != nil {
				w.t.Fatal(err)
			}
			out = append(out, place{file + "/" + f.Name, raw})
		}
	}
	return out
}

// nowhere looks for canaries. It says where one is, and with what in front, never what it is.
func (w *world) nowhere(when string, canaries []canary, places []place) {
	w.t.Helper()
	const tooMany = 20
	found := 0
	for _, p := range places {
		for _, c := range canaries {
			for _, tell := range c.tell {
				i := bytes.Index(p.data, []byte(tell))
				if i < 0 {
					continue
				}
				if found++; found > tooMany {
					w.t.Fatalf("%s: and more", when)
				}
				w.t.Errorf("%s: %s is in %s, behind %q", when, c.name, p.name, p.data[max(0, i-60):i])
				break
			}
		}
	}
}

// blocked is a storage cluster in the middle of sending its logs.
type blocked struct{ arrived, release chan struct{} }

func (s *storage) block(t *testing.T) *blocked {
	b := &blocked{make(chan struct{}), make(chan struct{})}
	var once, ended sync.Once
	end := func() { ended.Do(func() { close(b.release) }) }
	t.Cleanup(end)
	s.before(func(w http.ResponseWriter, _ string) bool {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		once.Do(func() { close(b.arrived) })
		<-b.release
		return true
	})
	return b
}

// await waits until the bot asks for the logs. What Alice alone was told says why it doesn't.
func (b *blocked) await(w *world) {
	w.t.Helper()
	select {
	case <-b.arrived:
	case <-time.After(patience):
		for _, m := range ephemerals(w, slack.Alice) {
			w.t.Log(m.Text, plainBlocks(m.Blocks))
		}
		w.t.Fatalf("the storage's logs are not asked for\n%s\n%s", w.slack.Transcript(slack.Private), w.logText())
	}
}

// covers says that the search would have found something that is known to be there, in every kind of place.
func (w *world) covers(known string, places []place) {
	w.t.Helper()
	in := map[string]bool{}
	for _, p := range places {
		kind, _, _ := strings.Cut(p.name, " ")
		if filepath.IsAbs(kind) {
			kind = strings.SplitN(filepath.Base(kind), ".", 2)[0]
		}
		in[kind] = in[kind] || bytes.Contains(p.data, []byte(known))
	}
	for _, kind := range []string{"faultline", "journal", "the"} {
		if !in[kind] {
			w.t.Errorf("%q is not found in %s: the search is blind", known, kind)
		}
	}
}

func TestATokenIsNowhere(t *testing.T) {
	t.Parallel()
	store := newStorage(t)
	w := start(t, reaches)
	ghp := "ghp_" + strings.Repeat("Qm3Zt9", 6)
	canaries := []canary{tokenCanary("the token", goodToken), tokenCanary("a GitHub token", ghp)}
	var question slack.Message
	give := func(endpoint string) {
		t.Helper()
		w.click(slack.Alice, question, "Give access")
		w.submit(slack.Alice, w.window(slack.Alice, "Token"), access(endpoint, goodToken))
	}

	// Typed where others can read it.
	for _, text := range []string{goodToken, "12345 " + ghp, "AIS_AUTHN_TOKEN=" + goodToken, "cancel " + ghp, "logs:/data/" + goodToken} {
		before := len(ephemerals(w, slack.Alice))
		w.slash(slack.Alice, slack.Training, text)
		answer(w, slack.Alice, before, "an answer to a typed token")
	}
	w.slash(slack.Alice, slack.Training, "")
	w.submit(slack.Alice, w.window(slack.Alice, "job"), map[string]any{"job": goodToken})
	if _, err := w.slack.CloseView(slack.Alice, "", true); err != nil {
		t.Fatal(err)
	}

	job, asked, _ := w.askedForStorage(slack.Alice, slack.Private, nil)
	question = asked
	before := len(ephemerals(w, slack.Bob))
	if _, _, err := w.slack.Say(slack.Bob, slack.Private, question.ThreadTS, "<@"+slack.BotUser+"> use the token "+goodToken); err != nil {
		t.Fatal(err)
	}
	answer(w, slack.Bob, before, "an answer to a token in the thread")

	// A window that is not filled well; an address with the token; one that says it back.
	w.click(slack.Alice, question, "Give access")
	view := w.window(slack.Alice, "Token")
	w.submit(slack.Alice, view, access("ais://bucket", goodToken))
	w.submit(slack.Alice, w.window(slack.Alice, "Token"), access("http://u:"+goodToken+"@127.0.0.1:1", goodToken))
	if _, err := w.slack.CloseView(slack.Alice, "", true); err != nil {
		t.Fatal(err)
	}
	echo := serveEcho(t)
	for _, address := range []string{echo, echo + "/v1?token=" + goodToken, "http://127.0.0.1:1", "http://elsewhere.example:1"} {
		before := len(ephemerals(w, slack.Alice))
		give(address)
		answer(w, slack.Alice, before, "a refused access")
	}
	w.nowhere("after errors", canaries, w.searched())

	// A power cut while it is used.
	b := store.block(t)
	give(store.URL)
	b.await(w)
	w.kill()
	w.nowhere("after kill -9", canaries, w.searched())
	w.run()
	question = w.since(question, slack.Alice, "I restarted, and tokens are kept only in memory", "Give access")
	w.nowhere("after the restart", canaries, w.searched())

	// A crash while it is used: the dump of all goroutines is in what the bot wrote.
	b = store.block(t)
	give(store.URL)
	b.await(w)
	w.noCore()
	w.signal(syscall.SIGABRT)
	if !strings.Contains(w.logText(), "SIGABRT") || !strings.Contains(w.logText(), "goroutine ") {
		t.Error("there is no dump to be searched")
	}
	w.nowhere("after a crash", canaries, w.searched())
	w.run()
	question = w.since(question, slack.Alice, "I restarted, and tokens are kept only in memory", "Give access")

	store.before(nil)
	give(store.URL)
	w.message(slack.Alice, slack.Private, "I read the logs from 3 storage daemons along with the job's")
	final := w.verdict(slack.Alice, slack.Private)
	w.click(slack.Bob, final, "This is wrong")
	w.submit(slack.Bob, w.window(slack.Bob, "actual"), map[string]any{"cause": "other", "text": "the token " + goodToken + " was\ntoo old, " + ghp + " too"})
	w.message(slack.Alice, slack.Private, "disputes this verdict")
	w.quietNow(slack.Private)
	w.nowhere("in the end", canaries, w.searched())
	w.covers(job, w.searched())
	w.nowhere("in the export", canaries, w.exported("F-1"))
	w.stop()
	w.nowhere("after the stop", canaries, w.searched())
}

// serveEcho is a server that answers with whatever authorization it was shown.
func serveEcho(t *testing.T) string {
	s := newStorage(t)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/health" {
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"message":"cannot use %s","status":500}`, r.Header.Get("Authorization"))
	})
	return s.URL
}

// planted are secrets of every shape that the redactor knows, as training logs show them. {} is where the secret is.
var planted = []struct {
	name, format, prefix, alphabet string
	length                         int
}{
	{"AWS key id", "key {} used", "AKIA", upper, 16},
	{"AWS temporary key id", "boto: {}", "ASIA", upper, 16},
	{"AWS secret", "aws_secret_access_key = {}", "", alnum, 40},
	{"AWS secret in YAML", "AWS_SECRET_ACCESS_KEY: {}", "", alnum, 40},
	{"GitHub classic", "git clone with {} failed", "ghp_", alnum, 36},
	{"GitHub fine-grained", "remote: {}", "github_pat_", alnum, 60},
	{"GitLab", "PRIVATE {}", "glpat-", alnum, 20},
	{"Slack bot", "slack {} ok", "xoxb-", digits, 40},
	{"Slack app", "slack {} ok", "xapp-1-", alnum, 40},
	{"Slack hook", "POST https://hooks.slack.com/services/T000000/B0000000/{}", "", alnum, 24},
	{"Hugging Face", "login({})", "hf_", letters, 34},
	{"OpenAI", "key {},", "sk-", alnum, 48},
	{"OpenAI project", "key {},", "sk-proj-", alnum, 48},
	{"Anthropic", "key {},", "sk-ant-api03-", alnum, 60},
	{"Google", "?k {} &", "AIza", alnum, 35},
	{"NVIDIA", "ngc {}", "nvapi-", alnum, 60},
	{"NGC in context", "NGC_API_KEY={}", "", alnum, 84},
	{"W&B in context", "WANDB_API_KEY={}", "", hexes, 40},
	{"W&B login", "+ wandb login {}", "", hexes, 40},
	{"JWT", "got eyJhbGciOiJIUzI1NiJ9.{}.c2ln from authn", "eyJ", alnum, 40},
	{"AIS token", "AIS_AUTHN_TOKEN=eyJhbGciOiJIUzI1NiJ9.{}.c2ln", "eyJ", alnum, 40},
	{"AIS opaque token", "AIS_AUTHN_TOKEN={}", "", alnum, 22},
	{"bearer header", "Authorization: Bearer {}", "", alnum, 30},
	{"bearer header in Python", "{'Authorization': 'Bearer {}'}", "", alnum, 30},
	{"bearer alone", "sent bearer {} to s3", "", alnum, 30},
	{"basic header", "Authorization: Basic {}", "", letters, 24},
	{"raw authorization", "authorization: {}", "", letters, 18},
	{"password", "password={}", "", alnum, 14},
	{"password in a sentence", "could not login password '{}'", "", alnum, 14},
	{"password in quotes", `password="{}", user=joe`, "", alnum, 20},
	{"password in JSON", `{"password": "{}"}`, "", alnum, 14},
	{"password in escaped JSON", `{\"password\": \"{}\"}`, "", alnum, 14},
	{"database password", "DB_PASSWORD: {}", "", alnum, 14},
	{"token", "token={}", "", alnum, 16},
	{"client secret", "client_secret={}&x=1", "", alnum, 16},
	{"API key", "api_key={}", "", alnum, 16},
	{"API key in Python", "Namespace(api_key='{}', lr=0.1)", "", alnum, 16},
	{"flag", "python train.py --hf-token {} --lr 0.1", "", alnum, 16},
	{"flag password", "mysql --password {}", "", alnum, 16},
	{"user info", "postgres://joe:{}@db:5432/x", "", alnum, 16},
	{"user info, user only", "https://{}@git.example.com/x", "", letters, 20},
	{"signed S3", "https://b.s3.amazonaws.com/k?X-Amz-Credential=AK&X-Amz-Signature={}", "", hexes, 64},
	{"signed Azure", "https://x.blob.core.windows.net/c?sv=1&sig={}&se=2", "", letters, 30},
	{"signed GCS", "https://storage.googleapis.com/b?Signature={}&Expires=1", "", letters, 30},
	{"PEM", "-----BEGIN RSA PRIVATE KEY-----{}-----END RSA PRIVATE KEY-----", "MII", letters, 64},
	{"PEM in lines", "key is\n-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\nsaid the job", "MII", letters, 64},
	{"in colours", "login \x1b[1mpassword=\x1b[32m{}\x1b[0m", "", alnum, 16},
	{"tail of a long line", strings.Repeat("x ", 3000) + "token={}", "", alnum, 16},
}

const (
	alnum   = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0UvWxYz"
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	letters = "AbCdEfGhIjKlMnOpQrStUvWxYz"
	hexes   = "0123456789abcdef"
	digits  = "0123456789"
)

// secret is the nth of many secrets that do not resemble each other. No scanner of repositories takes it for a leak.
func secret(n int, prefix, alphabet string, length int) string {
	b := []byte(prefix)
	for x := uint32(n)*2654435761 + 1; length > 0; length-- {
		x = x*1664525 + 1013904223
		b = append(b, alphabet[int(x>>16)%len(alphabet)])
	}
	return string(b)
}

// crash writes the logs of a job that has raised an exception on every rank, with a message for each.
func (w *world) crash(job string, messages ...string) {
	w.t.Helper()
	dir := filepath.Join(w.roots, job)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	for r, m := range messages {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("rank_%d.log", r)), []byte(raised(r, len(messages), m)), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
}

// raised is the log of one rank that ends with an exception.
func raised(rank, world int, message string) string {
	lines := []string{
		fmt.Sprintf("Initializing distributed: GLOBAL_RANK: %d, MEMBER: %d/%d", rank, rank+1, world),
		fmt.Sprintf("n37:%d:6072 [%d] NCCL INFO ncclCommInitRank comm 0x55b3af19cde5 rank %d nranks %d cudaDev %d nvmlDev %d busId 1b000 commId 0xa267d20475a865da - Init COMPLETE", 5872+rank, rank, rank, world, rank, rank),
		"[INFO] configuration: " + message,
		"Traceback (most recent call last):",
		`  File "/opt/train/pretrain.py", line 412, in <module>`,
		"    main()",
		`  File "/opt/train/engine/loop.py", line 207, in fit`,
		"    loss = self.training_step(batch, step)",
		"RuntimeError: " + message,
	}
	for i := 3; i < len(lines); i++ {
		lines[i] = fmt.Sprintf("[rank%d]: %s", rank, lines[i])
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestSecretsOfTrainingLogsAreNowhere(t *testing.T) {
	long(t)
	t.Parallel()
	const ranks = 8
	w := start(t)
	var canaries []canary
	var messages []string
	for i, p := range planted {
		s := secret(i, p.prefix, p.alphabet, p.length)
		body := s[len(p.prefix):]
		const window = 10 // a part of a secret gives it away too
		c := canary{p.name, []string{body[:window], body[len(body)/2-window/2:][:window], body[len(body)-window:]}}
		canaries = append(canaries, c)
		messages = append(messages, fmt.Sprintf("shape-%d %s", i, strings.ReplaceAll(p.format, "{}", s)))
	}
	channels := []string{slack.Training, slack.Private}
	jobs := 0
	for i := 0; i < len(messages); i += ranks {
		job := fmt.Sprint(70000 + jobs)
		w.crash(job, messages[i:min(i+ranks, len(messages))]...)
		w.slash(slack.Alice, channels[jobs%len(channels)], job)
		jobs++
	}
	w.await("all final verdicts", func() bool {
		n := 0
		for _, f := range w.slack.Files() {
			if f.Name == "report.json" {
				n++
			}
		}
		return n == jobs
	})
	places := w.searched()
	for i := range jobs {
		places = append(places, w.exported(fmt.Sprintf("F-%d", i+1))...)
	}
	w.nowhere("after all reports", canaries, places)
	var all strings.Builder
	for _, p := range places {
		all.Write(p.data)
	}
	shown := 0
	for i := range planted {
		if strings.Contains(html.UnescapeString(all.String()), fmt.Sprintf("shape-%d ", i)) {
			shown++
		}
	}
	if shown < len(planted) {
		t.Errorf("the surroundings of only %d of %d secrets were shown or exported: this test searches too little", shown, len(planted))
	}
	if !strings.Contains(all.String(), "[masked]") {
		t.Error("nothing is masked")
	}
}

// noCore checks that the bot leaves no picture of its memory behind, whatever its parent allows.
func (w *world) noCore() {
	w.t.Helper()
	w.mu.Lock()
	pid := w.bot.Process.Pid
	w.mu.Unlock()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		w.t.Logf("not on Linux: %v", err)
		return
	}
	for _, l := range strings.Split(string(raw), "\n") {
		if f := strings.Fields(l); strings.HasPrefix(l, "Max core file size") && (f[4] != "0" || f[5] != "0") {
			w.t.Errorf("a crash would leave the token in a core file: %s", l)
		}
	}
}
