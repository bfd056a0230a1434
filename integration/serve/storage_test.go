package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"faultline/simulate/slack"
)

// goodToken opens the storage cluster of these tests. It is put together here, so that no scanner takes it for a leak.
var goodToken = strings.Join([]string{"eyJhbGciOiJIUzI1NiJ9", "eyJjYW5hcnkiOiJ0aGUtdG9rZW4tb2YtdGhlLXRlc3RzIn0", "c2lnbmF0dXJlLW9mLXRoZS1jYW5hcnk"}, ".")

// storageMap is what a proxy of AIStore says about its cluster, as far as it matters: one proxy and two targets.
const storageMap = `{"pmap":{"ais-proxy-0":{"daemon_type":"proxy","daemon_id":"ais-proxy-0","flags":2}},` +
	`"proxy_si":{"daemon_type":"proxy","daemon_id":"ais-proxy-0","flags":2},` +
	`"tmap":{"ais-target-1":{"daemon_type":"target","daemon_id":"ais-target-1","flags":0},"ais-target-2":{"daemon_type":"target","daemon_id":"ais-target-2","flags":0}},` +
	`"uuid":"N_g66e331O","version":"8"}`

// storage is a storage cluster as the bot sees it: the answers of a proxy.
type storage struct {
	*httptest.Server

	mu    sync.Mutex
	smap  string                                 // "" = storageMap
	pulls map[string]int                         // daemon → how often its logs were asked for
	hook  func(http.ResponseWriter, string) bool // before a daemon's logs are sent; true: it has answered
}

func newStorage(t *testing.T) *storage {
	s := &storage{pulls: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// before sets what happens in front of sending logs.
func (s *storage) before(hook func(w http.ResponseWriter, daemon string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

func (s *storage) pulled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, k := range s.pulls {
		n += k
	}
	return n
}

func (s *storage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	uri := r.URL.RequestURI()
	if uri == "/v1/health" {
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+goodToken {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"message":%q,"status":401}`, `invalid token from header "Authorization": invalid token [err: token signature is invalid: signature is invalid]`)
		return
	}
	switch uri {
	case "/v1/daemon?what=smap":
		fmt.Fprint(w, cmp.Or(s.smap, storageMap))
	case "/v1/reverse/daemon?what=smap":
	case "/v1/reverse/daemon?what=log&all=true&severity=info":
		daemon := r.Header.Get("Ais-Node-Id")
		s.mu.Lock()
		s.pulls[daemon]++
		hook := s.hook
		s.mu.Unlock()
		if hook != nil && hook(w, daemon) {
			return
		}
		_, _ = w.Write(daemonLogs(daemon))
	default:
		http.NotFound(w, r)
	}
}

// reaches lets people type addresses on this machine.
func reaches(_ *world, conf map[string]any, _ *slack.Options) {
	conf["storage_access"] = map[string]any{"allow": []string{"127.0.0.1"}}
}

// dataConfig is how a NeMo job that reads from AIStore shows its configuration.
const dataConfig = "    train_ds:\n      use_lhotse: true\n      tarred_audio_filepaths: ais://speech-train/audio__OP_0..127_CL_.tar\n"

// readsData makes the job's logs those of one that reads its data from a store.
func (w *world) readsData(job string) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.roots, job, "*"))
	if err != nil || len(files) == 0 {
		w.t.Fatal("no logs: ", err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(f, append([]byte(dataConfig), raw...), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
}

// askedForStorage starts a stalled job that reads from a store, and returns the question for its logs.
func (w *world) askedForStorage(user, channel string, hold func(string) bool) (job string, question slack.Message, held map[string][]byte) {
	w.t.Helper()
	job, held = w.job(stall(), hold)
	w.readsData(job)
	w.slash(user, channel, job)
	return job, w.message(user, channel, "Can I read the AIStore logs", "Why:"), held
}

// access fills the window for storage logs.
func access(endpoint, token string) map[string]any {
	return map[string]any{"endpoint": endpoint, "token": token}
}

// keptStorage are the storage logs that the bot keeps.
func (w *world) keptStorage() []string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, "data", "spool", "*", "storage", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

func TestStorageIsAskedForFetchedAndALateWorkerLogRevisesTheVerdict(t *testing.T) {
	t.Parallel()
	store := newStorage(t)
	w := start(t, reaches)
	_, question, held := w.askedForStorage(slack.Alice, slack.Training, node1)

	// A wrong token has a sentence of its own, and the question stays.
	w.click(slack.Alice, question, "Give access")
	before := len(ephemerals(w, slack.Alice))
	w.submit(slack.Alice, w.window(slack.Alice, "Token"), access(store.URL, "eyJhbGciOiJIUzI1NiJ9.eyJ3cm9uZyI6MX0.d3Jvbmctc2lnbmF0dXJl"))
	if m := answer(w, slack.Alice, before, "a word on a wrong token"); !strings.Contains(m.Text, "signature") {
		t.Errorf("a wrong token was answered with %q", m.Text)
	}
	if n := store.pulled(); n != 0 {
		t.Errorf("%d daemons were asked with a wrong token", n)
	}

	// The second chance.
	w.click(slack.Alice, question, "Give access")
	w.submit(slack.Alice, w.window(slack.Alice, "Token"), access(store.URL, goodToken))
	w.message(slack.Alice, slack.Training, "I read the logs from 3 storage daemons along with the job's")
	w.message(slack.Alice, slack.Training, "report.json")
	if kept := w.keptStorage(); len(kept) != 3 {
		t.Errorf("kept %q", kept)
	}
	w.quietNow(slack.Training)

	// The log of the other node comes late.
	missing := w.message(slack.Alice, slack.Training, "missing logs", "Upload files")
	w.click(slack.Bob, missing, "Upload files")
	w.uploadTo(slack.Bob, held)
	w.message(slack.Alice, slack.Training, "Because")
	w.quietNow(slack.Training)
	if n := store.pulled(); n != 3 {
		t.Errorf("the daemons were asked %d times", n)
	}
	w.golden(slack.Training)
}

// uploadTo sends files in the window that is open.
func (w *world) uploadTo(user string, files map[string][]byte) {
	w.t.Helper()
	view := w.window(user, "files")
	var ids []string
	for name, data := range files {
		id, err := w.slack.Upload(user, name, data)
		if err != nil {
			w.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	w.submit(user, view, map[string]any{"files": ids})
}

func TestAConfiguredStorageClusterNeedsNoToken(t *testing.T) {
	long(t)
	t.Parallel()
	store := newStorage(t)
	w := start(t, func(_ *world, conf map[string]any, _ *slack.Options) {
		conf["storage"] = []any{map[string]any{"name": "west-ais", "endpoint": store.URL, "token": goodToken}}
		conf["storage_access"] = map[string]any{"ask": true}
	})
	_, question, _ := w.askedForStorage(slack.Alice, slack.Training, nil)
	w.click(slack.Alice, question, "Give access")
	w.submit(slack.Alice, w.window(slack.Alice, "west-ais"), map[string]any{"profile": "west-ais"})
	w.message(slack.Alice, slack.Training, "I read the logs from 3 storage daemons along with the job's")
	w.message(slack.Alice, slack.Training, "report.json")
	if kept := w.keptStorage(); len(kept) != 3 {
		t.Errorf("kept %q", kept)
	}
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

// Nobody is asked for what the bot has.
func TestAConfiguredStorageIsPulledByItself(t *testing.T) {
	long(t)
	t.Parallel()
	store := newStorage(t)
	w := start(t, func(_ *world, conf map[string]any, _ *slack.Options) {
		conf["storage"] = []any{map[string]any{"name": "west-ais", "endpoint": store.URL, "token": goodToken}}
	})
	job, _ := w.job(stall(), nil)
	w.readsData(job)
	w.slash(slack.Alice, slack.Training, job)
	w.message(slack.Alice, slack.Training, "I read the logs from 3 storage daemons along with the job's")
	w.message(slack.Alice, slack.Training, "report.json")
	if kept := w.keptStorage(); len(kept) != 3 {
		t.Errorf("kept %q", kept)
	}
}

// Beside a mention, too: by their content they are the storage's.
func TestStorageLogsCanBeUploaded(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	_, question, _ := w.askedForStorage(slack.Alice, slack.Training, nil)
	w.drops(slack.Alice, question, "here they are", "archive.tar.gz", packed(map[string]string{"ais-logs/aistarget-ais-target-1.tar.gz": string(daemonLogs("ais-target-1"))}))
	w.message(slack.Alice, slack.Training, "I read the logs from 1 storage daemon along with the job's")
	w.message(slack.Alice, slack.Training, "report.json")
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

func TestStorageCanBeSkipped(t *testing.T) {
	long(t)
	t.Parallel()
	w := start(t)
	_, question, _ := w.askedForStorage(slack.Alice, slack.Training, nil)
	w.click(slack.Alice, question, "Skip storage")
	w.message(slack.Alice, slack.Training, "report.json")
	before := len(ephemerals(w, slack.Bob))
	if _, err := w.slack.Click(slack.Bob, question.Channel, question.TS, slack.Action{Text: "Skip storage"}); err == nil {
		answer(w, slack.Bob, before, "a word on a button that is gone")
	}
	w.quietNow(slack.Training)
	w.golden(slack.Training)
}

// A storage cluster serves many teams: what its daemons say of the others' buckets is nobody's here.
func TestBucketsOfOthersAreNowhere(t *testing.T) {
	t.Parallel()
	store := newStorage(t)
	w := start(t, reaches)
	_, question, _ := w.askedForStorage(slack.Alice, slack.Training, nil)
	w.click(slack.Alice, question, "Give access")
	w.submit(slack.Alice, w.window(slack.Alice, "Token"), access(store.URL, goodToken))
	w.message(slack.Alice, slack.Training, "I read the logs from 3 storage daemons along with the job's")
	w.message(slack.Alice, slack.Training, "report.json")
	w.quietNow(slack.Training)
	var places []place
	for _, p := range w.searched() {
		// What was pulled stays as it is, for the last reading.
		if !strings.HasPrefix(p.name, filepath.Join(w.dir, "data", "spool")+string(filepath.Separator)) {
			places = append(places, p)
		}
	}
	w.nowhere("after the report", []canary{{"a bucket of others", []string{otherBucket, "deal/0000"}}}, places)
	shown := false
	for _, p := range places {
		shown = shown || p.name == "the uploaded report.html" && strings.Contains(string(p.data), "[other bucket]")
	}
	if !shown {
		t.Error("nothing of it was in the report: this test searches too little")
	}
}
