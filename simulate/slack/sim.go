package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// order is the body of a driver request under /sim/; each request uses a part of it.
type order struct {
	User    string         `json:"user"`
	Channel string         `json:"channel"`
	Thread  string         `json:"thread"`
	TS      string         `json:"ts"`
	View    string         `json:"view"`
	Command string         `json:"command"`
	Text    string         `json:"text"`
	Files   []string       `json:"files"`
	Values  map[string]any `json:"values"`
	All     bool           `json:"all"`
	Use     Action         `json:"use"`
	// NoWait answers at once instead of with the acknowledgement.
	NoWait bool       `json:"no_wait"`
	Fault  Fault      `json:"fault"`
	Go     Disconnect `json:"disconnect"`
}

// routeDriver offers the driver's methods as JSON: POST for what users do, GET for what they see.
func (s *Server) routeDriver() {
	for path, do := range map[string]func(order) (*Delivery, any, error){
		"slash": func(o order) (*Delivery, any, error) {
			d, err := s.Slash(o.User, o.Channel, o.Command, o.Text)
			return d, nil, err
		},
		"say": func(o order) (*Delivery, any, error) {
			m, d, err := s.Say(o.User, o.Channel, o.Thread, o.Text, o.Files...)
			return d, m.TS, err
		},
		"click": func(o order) (*Delivery, any, error) {
			d, err := s.Click(o.User, o.Channel, o.TS, o.Use)
			return d, nil, err
		},
		"view/click": func(o order) (*Delivery, any, error) {
			d, err := s.ClickInView(o.User, o.View, o.Use, o.Values)
			return d, nil, err
		},
		"view/submit": func(o order) (*Delivery, any, error) {
			d, err := s.Submit(o.User, o.View, o.Values)
			return d, nil, err
		},
		"view/close": func(o order) (*Delivery, any, error) {
			d, err := s.CloseView(o.User, o.View, o.All)
			return d, nil, err
		},
		"home": func(o order) (*Delivery, any, error) {
			d, err := s.OpenHome(o.User)
			return d, nil, err
		},
		"invite": func(o order) (*Delivery, any, error) { return nil, nil, s.Invite(o.Channel, o.User) },
		"kick":   func(o order) (*Delivery, any, error) { return nil, nil, s.Kick(o.Channel, o.User) },
		"fault":  func(o order) (*Delivery, any, error) { s.AddFault(o.Fault); return nil, nil, nil },
		"heal":   func(order) (*Delivery, any, error) { s.ClearFaults(); s.SetDeaf(false); return nil, nil, nil },
		"deafen": func(order) (*Delivery, any, error) { s.SetDeaf(true); return nil, nil, nil },
		"cut":    func(order) (*Delivery, any, error) { s.CutSockets(); return nil, nil, nil },
		"disconnect": func(o order) (*Delivery, any, error) {
			return nil, s.Disconnect(o.Go), nil
		},
	} {
		s.mux.HandleFunc("POST /sim/"+path, s.order(do))
	}
	s.mux.HandleFunc("POST /sim/upload", s.simUpload)
	s.mux.HandleFunc("GET /sim/events", s.simEvents)
	s.mux.HandleFunc("GET /sim/wait", s.simWait)
	for path, read := range map[string]func(url.Values) any{
		"messages":   func(q url.Values) any { return s.simMessages(q) },
		"views":      func(q url.Values) any { return s.simViews(q.Get("user")) },
		"journal":    func(url.Values) any { return s.Journal() },
		"channels":   func(url.Values) any { return s.Channels() },
		"calls":      func(url.Values) any { return s.Calls() },
		"sockets":    func(url.Values) any { return s.Sockets() },
		"files":      func(url.Values) any { return s.Files() },
		"transcript": func(q url.Values) any { return s.Transcript(q.Get("channel")) },
	} {
		s.mux.HandleFunc("GET /sim/"+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			writeJSON(w, http.StatusOK, reply{"ok": true, path: read(r.URL.Query())})
		})
	}
}

// foreign says that a request comes from a page of somebody else, which must not play with the simulation: by its
// origin, or by a name that was made to point to this machine.
func foreign(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host != r.Host
}

// order reads the body, does what it says and answers with the acknowledgement.
func (s *Server) order(do func(order) (*Delivery, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if foreign(r) {
			writeJSON(w, http.StatusForbidden, reply{"ok": false, "error": "from another origin"})
			return
		}
		var o order
		dec := json.NewDecoder(io.LimitReader(r.Body, maxBody))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&o); err != nil && !errors.Is(err, io.EOF) {
			writeJSON(w, http.StatusBadRequest, reply{"ok": false, "error": "reading the order: " + err.Error()})
			return
		}
		d, result, err := do(o)
		out := reply{"ok": true, "result": result}
		if err == nil && d != nil && !o.NoWait {
			var ack Ack
			if ack, err = d.Wait(r.Context()); err == nil {
				out["ack"] = ack
			}
		}
		var refusal Refusal
		switch {
		case errors.As(err, &refusal):
			writeJSON(w, http.StatusUnprocessableEntity, reply{"ok": false, "error": err.Error(), "refused": refusal})
		case err != nil:
			writeJSON(w, http.StatusUnprocessableEntity, reply{"ok": false, "error": err.Error()})
		default:
			writeJSON(w, http.StatusOK, out)
		}
	}
}

// simMessages lists messages as one user sees them.
func (s *Server) simMessages(q url.Values) any {
	type shown struct {
		Message
		Ephemeral bool   `json:"ephemeral,omitempty"`
		Edits     int    `json:"edits,omitempty"`
		Plain     string `json:"plain"` // everything in it as readable text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []shown{}
	for _, m := range s.seen(q.Get("channel"), q.Get("user"), q.Get("thread")) {
		out = append(out, shown{Message: m, Ephemeral: m.VisibleTo != "", Edits: m.Edits, Plain: s.plain(&m)})
	}
	return out
}

// simViews lists the open modals of a user, the topmost last.
func (s *Server) simViews(user string) any {
	type shown struct {
		View
		Title      string `json:"title"`
		CallbackID string `json:"callback_id"`
		Plain      string `json:"plain"` // everything in it as readable text
	}
	out := []shown{}
	for _, v := range s.Views(user) {
		out = append(out, shown{View: v, Title: v.Title(), CallbackID: v.CallbackID(), Plain: s.ViewText(v)})
	}
	return out
}

// simWait answers when a user sees a message that contains a text (?channel=, user=, thread=, text=), or a modal does
// (without channel); 408 if the caller's patience (?seconds=, 30 unless set) ends first.
func (s *Server) simWait(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	seconds, err := strconv.Atoi(q.Get("seconds"))
	if err != nil {
		seconds = 30
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	found := ""
	err = s.Until(ctx, func() bool {
		found = s.whereIs(q.Get("text"), q)
		return found != ""
	})
	if err != nil {
		writeJSON(w, http.StatusRequestTimeout, reply{"ok": false, "error": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, reply{"ok": true, "result": found})
}

// whereIs returns the ts of a message, or the id of a modal, that shows a text.
func (s *Server) whereIs(text string, q url.Values) string {
	if q.Get("channel") == "" {
		for _, v := range s.Views(q.Get("user")) {
			if strings.Contains(s.ViewText(v), text) {
				return v.ID
			}
		}
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.seen(q.Get("channel"), q.Get("user"), q.Get("thread")) {
		if strings.Contains(s.plain(&m), text) {
			return m.TS
		}
	}
	return ""
}

// simUpload takes a user's file, for a file input: a form with the field "user" and the part "file".
func (s *Server) simUpload(w http.ResponseWriter, r *http.Request) {
	if foreign(r) {
		writeJSON(w, http.StatusForbidden, reply{"ok": false, "error": "from another origin"})
		return
	}
	id, err := s.takeUserFile(w, r)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, reply{"ok": false, "error": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, reply{"ok": true, "result": id})
}

func (s *Server) takeUserFile(w http.ResponseWriter, r *http.Request) (string, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody*8)
	part, header, err := r.FormFile("file")
	if err != nil {
		return "", fmt.Errorf("reading the upload: %w", err)
	}
	defer part.Close()
	content, err := io.ReadAll(part)
	if err != nil {
		return "", fmt.Errorf("reading the file: %w", err)
	}
	return s.Upload(r.FormValue("user"), header.Filename, content)
}

// simEvents tells a page, by server-sent events, that something has changed; the page then fetches what it shows.
func (s *Server) simEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	for n := 0; ; n++ {
		s.mu.Lock()
		changed, closed := s.changed, s.closed
		s.mu.Unlock()
		if _, err := fmt.Fprintf(w, "id: %d\ndata: changed\n\n", n); err != nil || out.Flush() != nil || closed {
			return
		}
		if !next(r.Context(), changed) {
			return
		}
	}
}

// next waits for a change, and then a moment for more of them. The moment spares the page, nothing depends on it.
func next(ctx context.Context, changed <-chan struct{}) bool {
	select {
	case <-changed:
	case <-ctx.Done():
		return false
	}
	calm := time.NewTimer(50 * time.Millisecond)
	defer calm.Stop()
	select {
	case <-calm.C:
	case <-ctx.Done():
		return false
	}
	return true
}
