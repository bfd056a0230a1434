package epilog

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"faultline/config"
	"faultline/workflow"
)

const secret = "0123456789abcdef0123456789abcdef"

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

type queue struct {
	keys []string
	err  error
}

func (q *queue) add(_ context.Context, jobs ...workflow.Job) (int, error) {
	for _, j := range jobs {
		q.keys = append(q.keys, j.Key)
	}
	return len(jobs), q.err
}

func handler(q *queue, log *bytes.Buffer) *Handler {
	return &Handler{
		Secrets: map[string]config.Secret{"west": secret, "mute": ""}, Enqueue: q.add, Now: func() time.Time { return now },
		Nudge: func(cluster, run string, _ time.Time) workflow.Job { return workflow.Job{Key: cluster + " " + run} },
		Log:   slog.New(slog.NewTextHandler(log, nil)),
	}
}

func call(body string, head ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, Path+"west", strings.NewReader(body))
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	return r
}

func signed(body, key string, at time.Time) *http.Request {
	stamp := fmt.Sprint(at.Unix())
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%s.%s", stamp, body)
	return call(body, headerTime, stamp, headerSignature, "v1="+hex.EncodeToString(mac.Sum(nil)))
}

func TestCalls(t *testing.T) {
	const failed = "SLURM_JOB_ID=31&SLURM_JOB_EXIT_CODE2=143:0&SLURM_JOB_DERIVED_EC=15&SLURM_JOB_RESTART_COUNT=1"
	bearer := "Bearer " + secret
	get := call(failed, "Authorization", bearer)
	get.Method = http.MethodGet
	other := call(failed, "Authorization", bearer)
	other.URL.Path = Path + "east"
	none := call(failed, "Authorization", "Bearer ")
	none.URL.Path = Path + "mute"
	changed := signed(failed, secret, now)
	changed.Body = call(failed + "0").Body
	for name, c := range map[string]struct {
		r    *http.Request
		code int
		key  string
	}{
		"a bearer":                     {call(failed, "Authorization", bearer), 202, "west 31/1/"},
		"a signature":                  {signed(failed, secret, now.Add(-4*time.Minute)), 202, "west 31/1/"},
		"with its start":               {call(failed+"&SLURM_JOB_START_TIME=1700000000", "Authorization", bearer), 202, "west 31/1/1700000000"},
		"a job that ended well":        {call("SLURM_JOB_ID=31&SLURM_JOB_EXIT_CODE2=0:0&SLURM_JOB_DERIVED_EC=0", "Authorization", bearer), 204, ""},
		"a step that failed":           {call("SLURM_JOB_ID=31&SLURM_JOB_EXIT_CODE2=0:0&SLURM_JOB_DERIVED_EC=1", "Authorization", bearer), 202, "west 31//"},
		"a version that tells nothing": {call("SLURM_JOB_ID=31", "Authorization", bearer), 202, "west 31//"},
		"another method":               {get, 405, ""},
		"no secret":                    {call(failed), 401, ""},
		"a wrong secret":               {call(failed, "Authorization", bearer+"x"), 401, ""},
		"another cluster":              {other, 401, ""},
		"a cluster without a secret":   {none, 401, ""},
		"an old signature":             {signed(failed, secret, now.Add(-6*time.Minute)), 401, ""},
		"a signature with another key": {signed(failed, secret+"x", now), 401, ""},
		"a changed body":               {changed, 401, ""},
		"no job":                       {call("SLURM_JOB_NAME=x", "Authorization", bearer), 400, ""},
		"a job that is no number":      {call("SLURM_JOB_ID=1;rm", "Authorization", bearer), 400, ""},
		"no form":                      {call("%zz", "Authorization", bearer), 400, ""},
		"too much":                     {call(failed+"&x="+strings.Repeat("x", maxBody), "Authorization", bearer), 413, ""},
	} {
		t.Run(name, func(t *testing.T) {
			q, log, w := &queue{}, &bytes.Buffer{}, httptest.NewRecorder()
			handler(q, log).ServeHTTP(w, c.r)
			if got := strings.Join(q.keys, ","); w.Code != c.code || got != c.key {
				t.Errorf("%d %q, want %d %q", w.Code, got, c.code, c.key)
			}
			if strings.Contains(log.String()+w.Body.String(), secret) {
				t.Error("the secret is told")
			}
		})
	}
	q, w := &queue{err: errors.New("disk")}, httptest.NewRecorder()
	handler(q, &bytes.Buffer{}).ServeHTTP(w, call(failed, "Authorization", bearer))
	if w.Code != 503 {
		t.Errorf("not kept, and answered %d", w.Code)
	}
}

// The environment as a real controller made it.
func TestARealEnvironment(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "samples", "slurm", "22.05", "epilogslurmctld_env.txt"))
	if err != nil {
		t.Skipf("the real captures are not here: %v", err)
	}
	form := url.Values{}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		form.Set(name, value)
	}
	q, w := &queue{}, httptest.NewRecorder()
	handler(q, &bytes.Buffer{}).ServeHTTP(w, call(form.Encode(), "Authorization", "Bearer "+secret))
	if w.Code != 202 || strings.Join(q.keys, "") != "west 31/0/" {
		t.Errorf("%d %q", w.Code, q.keys)
	}
}

func FuzzCall(f *testing.F) {
	f.Add("SLURM_JOB_ID=31&SLURM_JOB_EXIT_CODE2=143:0")
	f.Add("%zz=&&;\x00")
	f.Fuzz(func(t *testing.T, body string) {
		q, w := &queue{}, httptest.NewRecorder()
		handler(q, &bytes.Buffer{}).ServeHTTP(w, call(body, "Authorization", "Bearer "+secret))
		for _, k := range q.keys {
			if !strings.HasPrefix(k, "west ") || len(k) > 60 {
				t.Errorf("%q", k)
			}
		}
	})
}
