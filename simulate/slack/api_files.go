package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (s *Server) filesGetUploadURL(c *call) (reply, *apiError) {
	name, length := c.args.str("filename"), c.args.number("length", -1)
	switch {
	case name == "":
		return nil, missing("filename")
	case length < 0:
		return nil, missing("length")
	case length == 0:
		return nil, fail("invalid_arguments")
	case utf8.RuneCountInString(c.args.str("alt_txt")) > 1000:
		return nil, fail("alt_txt_too_large")
	}
	f := s.newFile(name, s.team.BotUser)
	f.promised, f.AltTxt = length, c.args.str("alt_txt")
	ticket := strings.ToLower(s.id("u"))
	s.uploads[ticket] = f
	return reply{"upload_url": s.base + "/upload/v1/" + ticket, "file_id": f.ID}, nil
}

// serveUpload takes the bytes of a file, raw or as the part "file" of a form. Slack answers in plain text.
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody*8))
	if err != nil {
		http.Error(w, "reading the upload failed", http.StatusBadRequest)
		return
	}
	content := body
	if kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && strings.HasPrefix(kind, "multipart/") {
		if content, err = filePart(body, params["boundary"]); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	entry := Entry{Dir: "in", Kind: "upload", Method: "upload", Token: tokenClass(bearer(r)), Body: readable(content),
		Auth: r.Header.Get("Authorization"), Status: http.StatusOK}
	fault := s.fault("upload", "")
	if fault.before(w, r, s.clock) {
		entry.Status, entry.Error = fault.status(), "fault: "+fault.Do
		s.record(entry)
		return
	}
	status, text := s.takeUpload(r.PathValue("ticket"), content, fault)
	if fault != nil && fault.Do == FailAfter {
		status, text = fault.status(), "the effect took place, the answer did not"
	}
	entry.Status, entry.Response = status, text
	s.record(entry)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprint(w, text)
}

func (s *Server) takeUpload(ticket string, content []byte, fault *Fault) (int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.uploads[ticket]
	switch {
	case f == nil || f.complete:
		return http.StatusNotFound, "unknown or used upload URL"
	case len(content) != f.promised || (fault != nil && fault.Do == SizeMismatch):
		return http.StatusBadRequest, fmt.Sprintf("size mismatch: %d bytes were announced, %d came", f.promised, len(content))
	}
	f.fill(content)
	s.touch()
	return http.StatusOK, "OK - " + strconv.Itoa(len(content))
}

// filePart finds the file in a multipart form: the part named "file", else the first one.
func filePart(body []byte, boundary string) ([]byte, error) {
	reader := multipart.NewReader(bytes.NewReader(body), boundary)
	var other []byte
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading the form: %w", err)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, fmt.Errorf("reading a part of the form: %w", err)
		}
		if part.FormName() == "file" {
			return content, nil
		}
		if other == nil {
			other = content
		}
	}
	if other == nil {
		return nil, errors.New("no file in the form")
	}
	return other, nil
}

// readMultipart reads a form without files, for Web API calls.
func readMultipart(body []byte, boundary string) (url.Values, error) {
	form, err := multipart.NewReader(bytes.NewReader(body), boundary).ReadForm(maxBody)
	if err != nil {
		return nil, fmt.Errorf("reading the form: %w", err)
	}
	return form.Value, nil
}

func (s *Server) filesComplete(c *call) (reply, *apiError) {
	var wanted []struct{ ID, Title string }
	if err := json.Unmarshal(c.args.raw("files"), &wanted); err != nil || len(wanted) == 0 {
		return nil, missing("files")
	}
	var files []*File
	for _, want := range wanted {
		f := s.files[want.ID]
		if f == nil || f.deleted || !f.uploaded || f.complete {
			return nil, fail("file_not_found")
		}
		if want.Title != "" {
			f.Title = want.Title
		}
		files = append(files, f)
	}
	targets := strings.FieldsFunc(c.args.str("channels"), func(r rune) bool { return r == ',' })
	if id := c.args.str("channel_id"); id != "" {
		targets = append(targets, id)
	}
	body, apiErr := s.readContent(args{json: map[string]json.RawMessage{
		"text": encode(c.args.str("initial_comment")), "blocks": orNull(c.args.raw("blocks"))}}, maxText)
	if apiErr != nil {
		return nil, apiErr
	}
	var rooms []*room
	for _, id := range targets {
		r, err := s.channelFor(id)
		switch {
		case err != nil:
			return nil, err
		case r.Archived:
			return nil, fail("is_archived")
		case !r.has(s.team.BotUser):
			return nil, fail("not_in_channel")
		}
		if err := r.thread(c.args.str("thread_ts")); err != nil {
			return nil, err
		}
		rooms = append(rooms, r)
	}
	var out []reply
	for _, f := range files {
		f.complete = true
		out = append(out, reply{"id": f.ID, "title": f.Title})
	}
	for _, r := range rooms {
		m := s.byBot(body)
		m.Files, m.Upload, m.ThreadTS = files, true, c.args.str("thread_ts")
		s.share(r, s.post(r, m))
	}
	s.touch()
	return reply{"files": out}, nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// ownFile finds a complete file by the argument "file".
func (s *Server) ownFile(c *call) (*File, *apiError) {
	f := s.files[c.args.str("file")]
	switch {
	case f == nil || !f.complete:
		return nil, fail("file_not_found")
	case f.deleted:
		return nil, fail("file_deleted")
	}
	return f, nil
}

func (s *Server) filesInfo(c *call) (reply, *apiError) {
	f, err := s.ownFile(c)
	if err != nil {
		return nil, err
	}
	shown := *f
	if c.hideShares {
		shown.Shares.Public, shown.Shares.Private = nil, nil
	}
	return reply{"file": shown, "comments": []string{}, "response_metadata": reply{"next_cursor": ""}}, nil
}

func (s *Server) filesDelete(c *call) (reply, *apiError) {
	f, err := s.ownFile(c)
	if err != nil {
		return nil, err
	}
	if f.User != s.team.BotUser {
		return nil, fail("cant_delete_file")
	}
	f.deleted, f.content = true, nil
	for _, r := range s.channels {
		for _, m := range r.messages {
			m.dropFile(f)
			if m.Upload && len(m.Files) == 0 && m.Text == "" && m.Blocks == nil && !m.Deleted {
				s.remove(r, m)
			}
		}
	}
	s.touch()
	return reply{}, nil
}

func (m *Message) dropFile(f *File) {
	var left []*File
	for _, other := range m.Files {
		if other != f {
			left = append(left, other)
		}
	}
	m.Files = left
}

// serveFile is url_private: the content for whoever has a token with files:read. The pages of the playground use another
// address.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	_, id, _ := strings.Cut(r.PathValue("id"), "-")
	s.mu.Lock()
	f := s.files[id]
	var content []byte
	status := http.StatusOK
	switch token := s.token(bearer(r)); {
	case token == nil:
		// Slack sends a browser to its sign-in page, with status 200 after the redirect: clients that forget the token
		// save a page of HTML. Here it is the redirect's first half.
		status = http.StatusFound
	case !(&call{token: token}).has("files:read"):
		status = http.StatusForbidden
	case f == nil || f.deleted || !f.uploaded:
		status = http.StatusNotFound
	default:
		content = f.content
	}
	s.mu.Unlock()
	s.record(Entry{Dir: "in", Kind: "download", Method: "download", Token: tokenClass(bearer(r)), Status: status, Query: r.URL.Path,
		Auth: r.Header.Get("Authorization")})
	fault := s.fault("download", "")
	if fault.before(w, r, s.clock) {
		return
	}
	switch status {
	case http.StatusFound:
		w.Header().Set("Location", "https://"+s.team.Domain+".slack.com/?redir="+url.QueryEscape(r.URL.Path))
		w.WriteHeader(status)
	case http.StatusOK:
		w.Header().Set("Content-Type", f.Mimetype)
		w.Header().Set("Content-Disposition", "attachment")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(content) // the client may have gone
	default:
		http.Error(w, http.StatusText(status), status)
	}
}

func (s *Server) token(value string) *Token {
	for _, t := range s.team.Tokens {
		if t.Value == value && !t.Revoked {
			return &t
		}
	}
	return nil
}
