package slack

import (
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
	"unicode/utf8"
)

// Entry is one line of the journal: a request or a frame, in or out. Nothing is hidden in it, tokens included: tests
// search it for what should never have been sent. What a user types into a modal goes out to the app, so search the
// entries with Dir "in" for secrets that users typed.
type Entry struct {
	Seq     int       `json:"seq"`
	At      time.Time `json:"at"`
	Dir     string    `json:"dir"`              // in: from the app; out: to the app; user: what somebody did
	Kind    string    `json:"kind"`             // api, upload, download, hook, frame, http, ack, lost, closed, socket, user
	Method  string    `json:"method,omitempty"` // for frames, the socket
	Channel string    `json:"channel,omitempty"`
	Token   string    `json:"token,omitempty"` // bot, app, other, none
	Auth    string    `json:"auth,omitempty"`  // the Authorization or signature header
	Query   string    `json:"query,omitempty"`
	// Body is the whole body as it came; of a body that is no text, its size and sha256.
	Body     string `json:"body,omitempty"`
	Status   int    `json:"status,omitempty"`
	Response string `json:"response,omitempty"`
	Error    string `json:"error,omitempty"`
}

type journal struct {
	mu      sync.Mutex
	entries []Entry
	out     io.Writer
	broken  error
}

// record writes an entry. It may be called with or without mu: the journal has a lock of its own.
func (s *Server) record(e Entry) {
	j := &s.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Seq, e.At = len(j.entries)+1, s.clock.Now().UTC()
	j.entries = append(j.entries, e)
	if j.out != nil && j.broken == nil {
		_, j.broken = j.out.Write(append(encode(e), '\n'))
	}
}

// detach lets go of the writer.
func (j *journal) detach() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.out = nil
}

// Journal returns everything so far, oldest first.
func (s *Server) Journal() []Entry {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return slices.Clone(s.journal.entries)
}

// JournalError says whether writing the journal has failed; later entries are in memory only.
func (s *Server) JournalError() error {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return s.journal.broken
}

// Calls is how often each Web API method was used, refused calls included, those stopped by faults and limits excluded.
func (s *Server) Calls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for k, v := range s.calls {
		out[k] = v
	}
	return out
}

// readable is a body for the journal.
func readable(body []byte) string {
	if utf8.Valid(body) {
		return string(body)
	}
	return fmt.Sprintf("%d bytes, sha256 %x", len(body), sha256.Sum256(body))
}
