package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"faultline/workflow"
)

const (
	// uploadTimeout bounds one file.
	uploadTimeout = 5 * time.Minute
	// unsized bounds a file whose size nobody noted; it is read into memory to know it.
	unsized = 64 << 20
	// shareLooks and shareWait: Slack shares files some time after it said that it will.
	shareLooks = 6
	shareWait  = time.Second
)

// uploaded is a file that Slack has but nobody sees yet.
type uploaded struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
}

// upload is what became of the attachments of one post.
type upload struct {
	ids  []uploaded
	lost []string
}

// files uploads the attachments and shares all of them in one message. An attachment that cannot be had is named in the
// message instead; when Slack takes no files at all, the message comes without them and says so.
func (s *Sender) files(ctx context.Context, p workflow.Post, at place, f *forms, c content) (result, error) {
	ids, lost := s.sentFiles(p.ID)
	if ids == nil {
		for _, a := range p.Files {
			id, err := s.upload(ctx, a)
			switch why := lostFile(err); {
			case err == nil:
				ids = append(ids, uploaded{id, first(a.Title, a.Name)})
			case why != "":
				s.Log.Error("a file cannot be attached", "post", p.ID, "file", a.Name, "err", err)
				lost = append(lost, fmt.Sprintf("(%s could not be attached: %s)", clean(a.Name), why))
			default:
				return result{}, err
			}
		}
		s.mu.Lock()
		s.uploaded[p.ID] = upload{ids, lost}
		s.mu.Unlock()
	}
	if len(lost) > 0 && len(f.notes) == 0 {
		f.notes = lost
		if g, err := f.again(); err == nil {
			c = g
		}
	}
	if len(ids) == 0 {
		s.Metrics.PostDegraded.WithLabelValues("no files").Inc()
		return s.post(ctx, p, at, c)
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return result{}, fmt.Errorf("writing the list of files: %w", err)
	}
	args := url.Values{"files": {string(list)}, "channel_id": {at.channel}}
	if c.blocks != nil {
		args.Set("blocks", string(c.blocks))
	} else {
		args.Set("initial_comment", c.text)
	}
	if at.thread != "" {
		args.Set("thread_ts", at.thread)
	}
	err = s.call(ctx, "files.completeUploadExternal", at.channel, args, nil)
	s.Client.limits.space(postKey(p), s.Now().Add(postSpacing), s.Now())
	if code(err) == "file_not_found" || code(err) == "invalid_upload" { // they expired: upload them anew
		s.dropFiles(p.ID)
		return result{}, &NotSentError{"files.completeUploadExternal", err}
	}
	if err != nil {
		return result{}, err
	}
	ts := ""
	for look := range shareLooks {
		if look > 0 && s.Sleep(ctx, shareWait) != nil {
			break
		}
		if can, known := s.Client.granted("files:read"); known && !can {
			break // nobody will tell; only an edit of this message would need it
		}
		if ts = s.shareOf(ctx, p, ids); ts != "" {
			break
		}
	}
	r := result{ts: ts}
	if ts != "" && at.thread == "" {
		r.link, _ = s.permalink(ctx, at.channel, ts)
	}
	return r, nil
}

// again makes the form that was made last once more, with the notes that came since.
func (f *forms) again() (content, error) { return f.make(f.level - 1) }

// errNoBlob says that the bytes of an attachment are gone.
var errNoBlob = errors.New("its content is missing in the bot's store")

// lostFile says in words why a file will never be attached; "" when it may be later.
func lostFile(err error) string {
	switch c := code(err); {
	case errors.Is(err, errNoBlob):
		return errNoBlob.Error()
	case c == "", passing[c], locked[c] && c != "missing_scope":
		return ""
	case c == "missing_scope":
		return "the app lacks the scope files:write"
	case c == "storage_limit_reached":
		return "the workspace has no room left for files"
	default:
		return "Slack refused it, " + c
	}
}

// noBlob tells bytes that are gone from those that cannot be read now: the post waits for these.
func (s *Sender) noBlob(ctx context.Context, err error) error {
	if s.Trouble != nil {
		if own := s.Trouble(ctx); own != nil {
			return errors.Join(own, err)
		}
	}
	return errors.Join(errNoBlob, err)
}

// upload gives the bytes of one attachment to Slack. Nobody sees them before they are shared, so every failure may be repeated.
func (s *Sender) upload(ctx context.Context, a workflow.Attachment) (string, error) {
	blob, err := s.Blobs.Open(ctx, a.Blob)
	if err != nil {
		return "", fmt.Errorf("opening %s: %w", a.Name, s.noBlob(ctx, err))
	}
	defer blob.Close()
	size, content := a.Bytes, io.Reader(blob)
	if size <= 0 {
		all, err := io.ReadAll(io.LimitReader(blob, unsized))
		if err != nil || len(all) == 0 {
			return "", fmt.Errorf("reading %s: %w", a.Name, s.noBlob(ctx, err))
		}
		size, content = int64(len(all)), bytes.NewReader(all)
	}
	args := url.Values{"filename": {a.Name}, "length": {strconv.FormatInt(size, 10)}}
	if a.Alt != "" {
		args.Set("alt_txt", cut(a.Alt, 1000))
	}
	var out struct {
		URL text `json:"upload_url"`
		ID  text `json:"file_id"`
	}
	if err := s.call(ctx, "files.getUploadURLExternal", "", args, &out); err != nil {
		return "", harmless(err)
	}
	u, err := url.Parse(string(out.URL))
	if err != nil || !s.Client.trusted(u) {
		return "", &APIError{Method: "files.getUploadURLExternal", Code: "foreign_upload_url"}
	}
	if err := s.put(ctx, u, a.Name, content, size); err != nil {
		return "", err
	}
	return string(out.ID), nil
}

// put sends the bytes. The address is the permission: the token stays here.
func (s *Sender) put(ctx context.Context, u *url.URL, name string, content io.Reader, size int64) error {
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if _, err := w.CreateFormFile("file", name); err != nil {
		return fmt.Errorf("uploading %s: %w", name, err)
	}
	front := bytes.Clone(form.Bytes())
	form.Reset()
	if err := w.Close(); err != nil {
		return fmt.Errorf("uploading %s: %w", name, err)
	}
	end := form.Bytes()
	body := io.MultiReader(bytes.NewReader(front), io.LimitReader(content, size), bytes.NewReader(end))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), body)
	if err != nil {
		return fmt.Errorf("uploading %s: %w", name, errors.New("the address cannot be called"))
	}
	req.ContentLength = int64(len(front)) + size + int64(len(end))
	req.Header.Set("Content-Type", w.FormDataContentType())
	resp, err := s.Client.http.Do(req)
	if err != nil {
		s.Metrics.Calls.WithLabelValues("upload", "unclear").Inc()
		if strings.Contains(err.Error(), "ContentLength=") { // net/http's words for a file that is shorter than noted
			return fmt.Errorf("uploading %s: %w", name, errNoBlob)
		}
		return harmless(unreached("upload", err))
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection can be used again
	s.Metrics.Calls.WithLabelValues("upload", "http_"+strconv.Itoa(resp.StatusCode)).Inc()
	switch {
	case resp.StatusCode == http.StatusOK:
		return nil
	case resp.StatusCode == http.StatusTooManyRequests:
		return &LimitedError{"upload", retryAfter(resp.Header)}
	case resp.StatusCode >= 500:
		return &NotSentError{"upload", fmt.Errorf("HTTP status %d", resp.StatusCode)}
	}
	return &APIError{Method: "upload", Code: "http_" + strconv.Itoa(resp.StatusCode)}
}

// harmless turns an unclear failure of something that nobody sees into one that is simply repeated.
func harmless(err error) error {
	var unclear *UnclearError
	if errors.As(err, &unclear) {
		return &NotSentError{unclear.Method, unclear.Cause}
	}
	return err
}

// shareOf asks in which message of the channel the files are shown; "" when in none, or when Slack does not say.
func (s *Sender) shareOf(ctx context.Context, p workflow.Post, ids []uploaded) string {
	s.Client.limits.used(s.Now(), "files.info")
	f, err := s.Client.fileInfo(ctx, ids[0].ID)
	if err != nil {
		return ""
	}
	for _, where := range []map[string][]share{f.Shares.Public, f.Shares.Private} {
		if list := where[p.Channel]; len(list) > 0 {
			return string(list[len(list)-1].TS)
		}
	}
	return ""
}

// sentFiles are the files of a post that Slack has already, and the remarks about those that it does not get.
func (s *Sender) sentFiles(post int64) (ids []uploaded, lost []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploaded[post]
	return u.ids, u.lost
}

func (s *Sender) dropFiles(post int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uploaded, post)
}

// removeFiles deletes the files of a message. An APIError says that some stay.
func (s *Sender) removeFiles(ctx context.Context, at place) error {
	if err := s.Client.learnScopes(ctx); err != nil {
		return err
	}
	stay := &APIError{Method: "files.delete", Code: "files_stay",
		Messages: []string{"the message was removed, but not its files: the app may not read the channel to find them. Delete them in Slack's file browser"}}
	if !s.mayRead() {
		return stay
	}
	method, args := "conversations.history", url.Values{"channel": {at.channel}, "oldest": {at.ts}, "latest": {at.ts}, "inclusive": {"true"}, "limit": {"1"}}
	if at.thread != "" {
		method = "conversations.replies"
		args.Set("ts", at.thread)
		args.Set("limit", "10") // Slack counts the head of the thread in
	}
	var out struct {
		Messages []remote `json:"messages"`
	}
	if err := s.call(ctx, method, at.channel, args, &out); err != nil {
		if code(err) == "missing_scope" || code(err) == "not_in_channel" {
			return stay
		}
		return err
	}
	for _, m := range out.Messages {
		if string(m.TS) != at.ts {
			continue
		}
		for _, f := range m.Files {
			err := s.call(ctx, "files.delete", "", url.Values{"file": {f.ID.id()}}, nil)
			if err != nil && code(err) != "file_deleted" && code(err) != "file_not_found" {
				return err
			}
		}
	}
	return nil
}
