// Package page serves one web page for each case: its report, at a link that only its case file tells.
package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"faultline/messages"
	"faultline/workflow"
)

// Path is below what the handler serves; the case and its key follow.
const Path = "/case/"

// Handler serves the pages.
type Handler struct {
	Load func(ctx context.Context, id string) (workflow.Investigation, error)
	// Bound says that the channel of a case may still ask the bot about anything.
	Bound func(inv workflow.Investigation) bool
	// Expires is how long after its last change a case still has a page.
	Expires time.Duration
	Now     workflow.Clock
	Log     *slog.Logger
}

// Link is the address of a case's page below an address, "" for a case that has none.
func Link(address string, inv *workflow.Investigation) string {
	if !public(inv) {
		return ""
	}
	return strings.TrimSuffix(address, "/") + Path + inv.ID + "/" + key(inv)
}

// public says that a case is shown in a channel and has a report. What is for one person alone has no page.
func public(inv *workflow.Investigation) bool {
	return inv.Key != "" && inv.Report != nil && !inv.Held && !inv.Home.Private
}

// key is what the link carries. It is made from the case's own random key, which buttons carry: neither tells the other's readers more.
func key(inv *workflow.Investigation) string {
	sum := sha256.Sum256([]byte("page of a case\x00" + inv.Key))
	return hex.EncodeToString(sum[:16])
}

// ServeHTTP answers with the report. A case that does not exist, one that has no page and a wrong key are answered alike.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Cache-Control", "private, no-store")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("X-Robots-Tag", "noindex, nofollow")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		head.Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	id, given, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, Path), "/")
	inv, err := h.Load(r.Context(), id)
	if err != nil && !errors.Is(err, workflow.ErrUnknown) {
		h.Log.Error("a case page cannot be served", "error", err)
		http.Error(w, "This case can't be read right now. Try again later.", http.StatusServiceUnavailable)
		return
	}
	switch {
	case err != nil, !public(&inv), subtle.ConstantTimeCompare([]byte(given), []byte(key(&inv))) != 1, !h.Bound(inv):
		http.Error(w, "No such page. Use the link in the case file.", http.StatusNotFound)
		return
	case h.Now().Sub(inv.Since) > h.Expires:
		http.Error(w, "This page has expired. The case's thread has the report.", http.StatusGone)
		return
	}
	var text bytes.Buffer
	if err := messages.HTML(&text, inv.Report, messages.Extras{}); err != nil {
		h.Log.Error("a case page cannot be created", "case", inv.ID, "error", err)
		http.Error(w, "The page can't be created.", http.StatusInternalServerError)
		return
	}
	head.Set("Content-Type", "text/html; charset=utf-8")
	head.Set("Content-Security-Policy", messages.HTMLPolicy()+"; frame-ancestors 'none'; sandbox allow-scripts")
	_, _ = w.Write(text.Bytes()) // whoever asked may be gone
}
