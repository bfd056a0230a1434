// Package epilog hears from a cluster that a job has ended: SLURM's EpilogSlurmctld calls it. The call is no authority, for
// what SLURM puts into the script's environment cannot tell a job that somebody cancelled from one that ran out of time: it
// only makes the next question to the accounting come at once.
package epilog

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"faultline/config"
	"faultline/workflow"
)

// Path is below what the handler serves; the cluster's name follows.
const Path = "/hooks/slurm/"

const (
	// maxBody bounds a call: some names and numbers, and a list of nodes.
	maxBody = 64 << 10
	// bodyTime is how long a call may take to arrive.
	bodyTime = 10 * time.Second
	// skew is how far the clock of a signed call may be off.
	skew = 5 * time.Minute
)

// The headers of a signed call: v1= and the HMAC-SHA256, in hexadecimal, of the time (seconds since 1970), a dot and the body.
const (
	headerTime      = "X-Faultline-Time"
	headerSignature = "X-Faultline-Signature"
)

// Handler takes calls of clusters.
type Handler struct {
	// Secrets by cluster. A cluster without one is not heard.
	Secrets map[string]config.Secret
	// Enqueue keeps what is to be done; when it returns, that survives a crash.
	Enqueue func(ctx context.Context, jobs ...workflow.Job) (int, error)
	// Nudge is the job that asks a cluster at once; the same run gives the same job.
	Nudge func(cluster, run string, now time.Time) workflow.Job
	Now   workflow.Clock
	Log   *slog.Logger
}

// ServeHTTP answers 202 when the call was kept, 204 when there is nothing to do, and else why not. A cluster that is not known and
// a secret that is wrong are answered alike.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
		return
	}
	cluster := strings.TrimPrefix(r.URL.Path, Path)
	_ = http.NewResponseController(w).SetReadDeadline(h.Now().Add(bodyTime)) // where that is not possible, the server's own limits hold
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		http.Error(w, "cut short", http.StatusBadRequest)
		return
	}
	now := h.Now()
	if secret := h.Secrets[cluster]; secret == "" || !allowed(secret, r.Header, body, now) {
		h.Log.Warn("a cluster's call was refused: its secret is wrong, or none is configured")
		http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
		return
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		http.Error(w, "not a form", http.StatusBadRequest)
		return
	}
	run, ok := runOf(form)
	if !ok {
		http.Error(w, "SLURM_JOB_ID is missing or not a number", http.StatusBadRequest)
		return
	}
	if endedWell(form) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if _, err := h.Enqueue(r.Context(), h.Nudge(cluster, run, now)); err != nil {
		h.Log.Error("could not store a cluster's call", "cluster", cluster, "error", err)
		http.Error(w, "not stored; the next accounting query finds the job anyway", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// allowed says whether a call knows the secret: as a bearer token, or by a signature of its body.
func allowed(secret config.Secret, head http.Header, body []byte, now time.Time) bool {
	key := []byte(secret.Reveal())
	if bearer, ok := strings.CutPrefix(head.Get("Authorization"), "Bearer "); ok {
		got, want := sha256.Sum256([]byte(bearer)), sha256.Sum256(key) // of one length, whatever was sent
		return subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}
	stamp := head.Get(headerTime)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > skew {
		return false
	}
	sent, ok := strings.CutPrefix(head.Get(headerSignature), "v1=")
	got, err := hex.DecodeString(sent)
	if !ok || err != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return hmac.Equal(got, mac.Sum(nil))
}

var number = regexp.MustCompile(`^[0-9]{1,12}$`)

// runOf names the run: the job's own number, with how often it was started before and when, as far as that version tells.
func runOf(form url.Values) (string, bool) {
	job := form.Get("SLURM_JOB_ID")
	if !number.MatchString(job) {
		return "", false
	}
	run := job
	for _, name := range []string{"SLURM_JOB_RESTART_COUNT", "SLURM_JOB_START_TIME"} {
		run += "/"
		if v := form.Get(name); number.MatchString(v) {
			run += v
		}
	}
	return run, true
}

// endedWell says that neither the script nor any step failed. What may have failed all the same, as a node that was lost, the
// next regular question finds.
func endedWell(form url.Values) bool {
	zero := func(name string) bool {
		v := form.Get(name)
		return v == "0" || v == "0:0"
	}
	return (zero("SLURM_JOB_EXIT_CODE2") || zero("SLURM_JOB_EXIT_CODE")) && zero("SLURM_JOB_DERIVED_EC")
}
