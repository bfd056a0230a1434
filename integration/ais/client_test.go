//go:build realais

package ais

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// client reads from a cluster as a rank does with AIStore's Python SDK, one request at a time.
type client struct {
	endpoint string
	token    string
	// namespace is how its requests tell whose bucket they mean.
	namespace string
	http      *http.Client
}

func newClient(endpoint, token, namespace string) *client {
	return &client{endpoint, token, namespace, &http.Client{
		Timeout:   20 * time.Second, // the SDK's, to read
		Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: 3 * time.Second}).DialContext, DisableKeepAlives: true},
	}}
}

// apiError is an answer that is none of those asked for, as the SDK prints it.
type apiError struct {
	status       int
	message, url string
}

func (e *apiError) Error() string {
	return fmt.Sprintf("STATUS:%d, MESSAGE:%s, REQ_URL:%s", e.status, e.message, e.url)
}

// pythonClass is what the SDK raises it as.
func (e *apiError) pythonClass() string {
	if e.status == http.StatusNotFound {
		return "aistore.sdk.errors.ErrObjNotFound"
	}
	return "aistore.sdk.errors.AISError"
}

// brokenError is a connection that was not made, or broke, as requests prints it.
type brokenError struct{ class, text string }

func (e *brokenError) Error() string { return e.text }

// errShort is a batch that ended before its last object.
var errShort = errors.New("the stream of a batch ended early")

// batch asks for some objects in one stream and reads it to its end; the target that has most of them is to put it together.
// It returns how many came.
func (c *client) batch(ctx context.Context, names []string) (int, error) {
	type entry struct {
		Name string `json:"objname"`
	}
	request := struct {
		Mime      string  `json:"mime"`
		In        []entry `json:"in"`
		Coer      bool    `json:"coer"`
		OnlyName  bool    `json:"onob"`
		Streaming bool    `json:"strm"`
	}{Mime: ".tar", Streaming: true}
	for _, n := range names {
		request.In = append(request.In, entry{n})
	}
	raw, err := json.Marshal(request)
	if err != nil {
		return 0, err
	}
	body, err := c.get(ctx, "/v1/ml/moss/"+bucket+"?"+c.namespace+"&coloc=1", raw)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	in, n := tar.NewReader(body), 0
	for {
		_, err := in.Next()
		if errors.Is(err, io.EOF) && n == len(names) {
			return n, nil
		}
		if err == nil {
			_, err = io.Copy(io.Discard, in)
		}
		if err != nil {
			return n, fmt.Errorf("%w: %d of %d: %w", errShort, n, len(names), err)
		}
		n++
	}
}

// object reads one object.
func (c *client) object(ctx context.Context, name string) error {
	body, err := c.get(ctx, "/v1/objects/"+bucket+"/"+name+"?"+c.namespace, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := io.Copy(io.Discard, body); err != nil {
		return &brokenError{"requests.exceptions.ChunkedEncodingError", "('Connection broken: IncompleteRead(0 bytes read)', IncompleteRead(0 bytes read))"}
	}
	return nil
}

// put writes one object.
func (c *client) put(ctx context.Context, name string, size int) error {
	body, err := c.ask(ctx, http.MethodPut, "/v1/objects/"+bucket+"/"+name+"?"+c.namespace, bytes.Repeat([]byte("x"), size))
	if err != nil {
		return err
	}
	return body.Close()
}

func (c *client) get(ctx context.Context, path string, body []byte) (io.ReadCloser, error) {
	return c.ask(ctx, http.MethodGet, path, body)
}

func (c *client) ask(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.endpoint+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, asPython(err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return nil, asPython(err)
	}
	said := struct {
		Message string `json:"message"`
	}{strings.TrimSpace(string(raw))}
	_ = json.Unmarshal(raw, &said) // the text as it is, otherwise
	return nil, &apiError{resp.StatusCode, said.Message, resp.Request.URL.String()}
}

// asPython words a failed request as requests does.
func asPython(err error) error {
	var u *url.Error
	if !errors.As(err, &u) {
		return err
	}
	at, bad := url.Parse(u.URL)
	if bad != nil {
		return err
	}
	pool := fmt.Sprintf("HTTPConnectionPool(host='%s', port=%s): ", at.Hostname(), at.Port())
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, syscall.ECONNREFUSED):
		return &brokenError{"requests.exceptions.ConnectionError", pool + "Max retries exceeded with url: " + at.RequestURI() +
			" (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7f1c2a9d4f10>: Failed to establish a new connection: [Errno 111] Connection refused'))"}
	case u.Timeout() && dials(err):
		return &brokenError{"requests.exceptions.ConnectTimeout", pool + "Max retries exceeded with url: " + at.RequestURI() +
			" (Caused by ConnectTimeoutError(<urllib3.connection.HTTPConnection object at 0x7f1c2a9d4f10>, 'Connection to " + at.Hostname() + " timed out. (connect timeout=3)'))"}
	case u.Timeout():
		return &brokenError{"requests.exceptions.ReadTimeout", pool + "Read timed out. (read timeout=20)"}
	case errors.Is(err, syscall.ECONNRESET):
		return &brokenError{"requests.exceptions.ConnectionError", "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"}
	}
	return &brokenError{"requests.exceptions.ConnectionError", "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))"}
}

// dials says that a request failed before there was a connection.
func dials(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
