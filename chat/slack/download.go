package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"faultline/chat"
	"faultline/workflow"
)

// Download implements chat.Surface. The token goes to Slack's hosts (or the API's, in tests) only, and no redirect is
// followed: Slack answers with one to its sign-in page when the token may not read the file.
//
// The file appears under its path when it is complete, not before.
func (c *Client) Download(ctx context.Context, f chat.File, path string, limit int64) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("downloading %s from Slack: %w", clean(f.Name), err)
		}
	}()
	address := f.URL
	if address == "" {
		if address, err = c.fileURL(ctx, f.ID); err != nil {
			return err
		}
	}
	u, err := url.Parse(address)
	if err != nil || !c.trusted(u) {
		return errors.New("its address is not one of Slack's, so the token is not sent there")
	}
	if limit >= 0 && f.Bytes > limit {
		return fmt.Errorf("it has %d bytes, more than the limit of %d", f.Bytes, limit)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return errors.New("its address cannot be called")
	}
	req.Header.Set("Authorization", "Bearer "+c.cfg.BotToken.Reveal())
	resp, err := c.http.Do(req)
	if err != nil {
		c.metrics.Calls.WithLabelValues("download", "unreachable").Inc()
		return unreached("download", err)
	}
	defer resp.Body.Close()
	c.metrics.Calls.WithLabelValues("download", fmt.Sprintf("http_%d", resp.StatusCode)).Inc()
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return &LimitedError{"download", retryAfter(resp.Header)}
	case resp.StatusCode >= 300 && resp.StatusCode < 400, resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return errors.New("Slack does not let the app read it: does it have the scope files:read, and is it in the channel?") //nolint:staticcheck // a name
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("HTTP status %d", resp.StatusCode)
	case signIn(resp, f.Name):
		return errors.New("Slack sent its sign-in page instead: the app lacks the scope files:read") //nolint:staticcheck // a name
	case limit >= 0 && resp.ContentLength > limit:
		return fmt.Errorf("it has %d bytes, more than the limit of %d", resp.ContentLength, limit)
	}
	return writeFile(path, resp.Body, limit)
}

// signIn says whether the answer is a page for browsers rather than the file.
func signIn(resp *http.Response, name string) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	ext := strings.ToLower(filepath.Ext(name))
	return kind == "text/html" && ext != ".html" && ext != ".htm" && resp.Header.Get("Content-Disposition") == ""
}

func writeFile(path string, r io.Reader, limit int64) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".download-*")
	if err != nil {
		return fmt.Errorf("making the file: %w", workflow.NotKept(err))
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // it is gone after the rename
	if limit >= 0 {
		r = io.LimitReader(r, limit+1)
	}
	n, err := io.Copy(workflow.Keeping(tmp), r)
	if err == nil && limit >= 0 && n > limit {
		err = fmt.Errorf("it exceeds the limit of %d bytes", limit)
	}
	if closed := tmp.Close(); err == nil {
		err = workflow.NotKept(closed)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("putting it in place: %w", workflow.NotKept(err))
	}
	return nil
}

func (c *Client) fileURL(ctx context.Context, id string) (string, error) {
	f, err := c.fileInfo(ctx, id)
	if err != nil {
		return "", err
	}
	if u := first(f.Download, f.Private); u != "" {
		return string(u), nil
	}
	return "", errors.New("Slack names no address for it") //nolint:staticcheck // a name
}

// fileAnswer is what files.info says, as far as it matters.
type fileAnswer struct {
	Download text `json:"url_private_download"`
	Private  text `json:"url_private"`
	Shares   struct {
		Public  map[string][]share `json:"public"`
		Private map[string][]share `json:"private"`
	} `json:"shares"`
}

type share struct {
	TS text `json:"ts"`
}

func (c *Client) fileInfo(ctx context.Context, id string) (fileAnswer, error) {
	var out struct {
		File fileAnswer `json:"file"`
	}
	err := c.call(ctx, "files.info", url.Values{"file": {id}}, &out)
	return out.File, err
}
