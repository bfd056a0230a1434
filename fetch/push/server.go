package push

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"faultline/config"
	"faultline/fetch/source"
	"faultline/fetch/spool"
)

// Handler takes what is pushed.
type Handler struct {
	// Secrets of each cluster, any of which is good: a new and an old one while they are exchanged. A cluster without one takes
	// nothing.
	Secrets map[string][]config.Secret
	Spool   *spool.Spool
	Shelf   *Shelf
	// Files and Bytes bound what is taken of one job; Keep says for how long.
	Files int
	Bytes int64
	Keep  func(cluster string) time.Duration
	// Arrived is told that a push is complete; may be nil. An error keeps the push, and the caller tells it once more.
	Arrived func(ctx context.Context, cluster, job string) error
	Now     func() time.Time
	Log     *slog.Logger

	mu     sync.Mutex
	offers map[string]map[string]int64 // what may be sent, by job and sum
	order  []string                    // of offers, the oldest first
}

const (
	// mostOffers is how many jobs may be in the middle of a push.
	mostOffers = 500
	// pieceTime is how long a piece may take to arrive.
	pieceTime = 2 * time.Minute
)

// ServeHTTP implements http.Handler. A cluster that is not known and a secret that is wrong are answered alike.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cluster, job, what, ok := target(r.URL.Path)
	switch got := check(h.Secrets[cluster], r, h.Now()); {
	case got == late:
		refuse(w, http.StatusUnauthorized, fmt.Sprintf("the clocks differ by more than %d minutes: the bot's clock says %s", int(skew.Minutes()), h.Now().UTC().Format(time.RFC3339)))
		return
	case got == refused:
		h.Log.Warn("rejected a push: its secret is wrong, or the cluster has none")
		refuse(w, http.StatusUnauthorized, "the secret is wrong, or pushing is not set up for this cluster")
		return
	case !ok:
		refuse(w, http.StatusNotFound, "no such address")
		return
	default:
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(pieceTime)) // where that is not possible, the server's own limits hold
		h.serve(w, r, call{cluster: cluster, job: job, what: what, proven: got == proven, user: r.Header.Get(headerUser)})
	}
}

// call is one call that knows the secret.
type call struct {
	cluster, job, what string
	proven             bool
	user               string
}

// target reads /push/<cluster>/<job>/<what>.
func target(p string) (cluster, job, what string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(p, Path), "/")
	if len(parts) != 3 {
		return parts[0], "", "", false
	}
	return parts[0], parts[1], parts[2], true
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, c call) {
	switch {
	case r.Method == http.MethodPost && (c.what == "offer" || c.what == "done"):
		o, err := h.offer(r, c)
		if err != nil {
			h.fail(w, err)
			return
		}
		answer, err := h.consider(c, o)
		if err == nil && c.what == "done" {
			answer, err = h.done(r.Context(), c, o, answer)
		}
		if err != nil {
			h.fail(w, err)
			return
		}
		reply(w, http.StatusOK, answer)
	case r.Method == http.MethodPut:
		here, err := h.piece(r, c)
		if err != nil {
			h.fail(w, err)
			return
		}
		reply(w, http.StatusOK, Answer{Here: map[string]int64{c.what: here}})
	default:
		refuse(w, http.StatusNotFound, "no such address")
	}
}

// wrong is an error that is the caller's.
type wrong struct {
	status int
	text   string
}

func (e *wrong) Error() string { return e.text }

// offer reads an offer and makes it harmless.
func (h *Handler) offer(r *http.Request, c call) (Offer, error) {
	var o Offer
	text, err := io.ReadAll(&digested{of: http.MaxBytesReader(nil, r.Body, maxOffer), hash: sha256.New(), want: r.Header.Get(headerDigest)})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return o, &wrong{http.StatusRequestEntityTooLarge, "the list of files is too long"}
	case err != nil:
		return o, &wrong{http.StatusBadRequest, "the request was truncated or altered in transit"}
	case json.Unmarshal(text, &o) != nil || !o.clean(c.job):
		return o, &wrong{http.StatusBadRequest, "this version doesn't understand the list of files"}
	}
	if c.proven {
		o.User = line(c.user, maxName)
	}
	return o, nil
}

// consider says what is here of an offer, and lets the rest be sent.
func (h *Handler) consider(c call, o Offer) (Answer, error) {
	var total int64
	sums := map[string]int64{}
	for _, f := range o.Files {
		total += f.Size
		if total > h.Bytes || f.Size > h.Bytes {
			return Answer{}, h.tooMuch(len(o.Files), total)
		}
		sums[f.SHA256] = f.Size
	}
	if len(o.Files) > h.Files {
		return Answer{}, h.tooMuch(len(o.Files), total)
	}
	h.expect(c, sums)
	here := map[string]int64{}
	for sum, size := range sums {
		here[sum] = h.Spool.Begun(c.given(sum, size))
	}
	return Answer{Here: here}, nil
}

func (h *Handler) tooMuch(files int, bytes int64) error {
	return &wrong{http.StatusRequestEntityTooLarge, fmt.Sprintf("these are %d files with %s, but the limit per job is %d files with %s (limits.job_files, limits.job_mb)",
		files, size(bytes), h.Files, size(h.Bytes))}
}

func size(n int64) string {
	if n < 10<<20 {
		return strconv.FormatInt((n+1023)>>10, 10) + " KB"
	}
	return strconv.FormatInt(n>>20, 10) + " MB"
}

func (c call) key() string { return c.cluster + "/" + c.job }

func (c call) given(sum string, size int64) spool.Given {
	return spool.Given{From: c.key(), Sum: sum, Size: size}
}

// expect remembers what may be sent. What a restart forgets, the caller offers again.
func (h *Handler) expect(c call, sums map[string]int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.offers == nil {
		h.offers = map[string]map[string]int64{}
	}
	if h.offers[c.key()] == nil {
		h.order = append(h.order, c.key())
		h.offers[c.key()] = map[string]int64{}
	}
	mine := h.offers[c.key()]
	if len(mine)+len(sums) > 2*h.Files {
		clear(mine)
	}
	for sum, size := range sums { // several machines may push for one job at a time
		mine[sum] = size
	}
	if len(h.order) > mostOffers {
		delete(h.offers, h.order[0])
		h.order = h.order[1:]
	}
}

func (h *Handler) expects(c call) (int64, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	size, ok := h.offers[c.key()][c.what]
	return size, ok
}

// piece takes a piece of one content.
func (h *Handler) piece(r *http.Request, c call) (int64, error) {
	size, ok := h.expects(c)
	at, err := strconv.ParseInt(r.URL.Query().Get("at"), 10, 64)
	if !ok || err != nil {
		return 0, &wrong{http.StatusConflict, "this content was never offered, or too long ago: offer it again"}
	}
	body := &digested{of: http.MaxBytesReader(nil, r.Body, maxPiece), hash: sha256.New(), want: r.Header.Get(headerDigest)}
	return h.Spool.Receive(r.Context(), c.given(c.what, size), at, body)
}

// done makes an offer count, where all of it is here.
func (h *Handler) done(ctx context.Context, c call, o Offer, a Answer) (Answer, error) {
	for _, f := range o.Files {
		if f.Size > 0 && a.Here[f.SHA256] != f.Size {
			return a, &wrong{http.StatusConflict, "it hasn't arrived completely: offer it again"}
		}
	}
	b, err := h.Shelf.put(c.cluster, o, c.proven, h.Now(), h.Files, h.Bytes)
	if errors.Is(err, errTooMuch) {
		n, total := b.size()
		return a, h.tooMuch(n, total)
	}
	if err != nil {
		return a, err
	}
	h.Log.Info("received a job's pushed logs", "cluster", c.cluster, "job", c.job, "files", len(o.Files))
	if h.Arrived != nil {
		if err := h.Arrived(ctx, c.cluster, c.job); err != nil {
			return a, err
		}
	}
	a.Files, a.Bytes = b.size()
	a.Keep = h.Keep(c.cluster)
	return a, nil
}

// fail answers with what went wrong, in words for whoever pushes.
func (h *Handler) fail(w http.ResponseWriter, err error) {
	var theirs *wrong
	switch {
	case errors.As(err, &theirs):
		refuse(w, theirs.status, theirs.text)
		return
	}
	switch source.KindOf(err) {
	case source.Changed:
		refuse(w, http.StatusUnprocessableEntity, "the file changed while being sent")
	case source.DiskFull, source.TooMuch:
		h.Log.Error("no room for pushed files", "error", err)
		refuse(w, http.StatusInsufficientStorage, "the bot has no room for it: ask the bot's administrator to free up space or raise limits.spool_mb")
	case "":
		refuse(w, http.StatusBadRequest, "the request was truncated")
	default:
		h.Log.Error("could not store pushed files", "error", err)
		refuse(w, http.StatusInternalServerError, "the bot couldn't store it; see its log")
	}
}

func refuse(w http.ResponseWriter, status int, text string) { reply(w, status, refusal{text}) }

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // whoever is gone asks again
}

// digested is a body that fails at its end where it is not the one that was signed.
type digested struct {
	of   io.Reader
	hash hash.Hash
	want string
}

var errChanged = &wrong{http.StatusBadRequest, "the request was altered in transit"}

func (d *digested) Read(p []byte) (int, error) {
	n, err := d.of.Read(p)
	d.hash.Write(p[:n])
	if err == io.EOF && hex.EncodeToString(d.hash.Sum(nil)) != d.want {
		return n, errChanged
	}
	return n, err
}
