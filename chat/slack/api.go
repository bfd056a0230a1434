package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"faultline/config"
)

const (
	defaultAPI = "https://slack.com/api/"
	// callTimeout bounds one call; Slack answers within seconds or not at all.
	callTimeout = 30 * time.Second
	// maxAnswer bounds what is read of an answer; the largest, a page of a thread, is some megabytes.
	maxAnswer = 16 << 20
	// unstatedWait is the wait after a 429 that names none.
	unstatedWait = 30 * time.Second
	// maxWait bounds a wait that Slack asks for; more than this is a mistake in the header.
	maxWait = time.Hour
)

// Config is what it takes to reach Slack.
type Config struct {
	BotToken config.Secret // xoxb-…
	AppToken config.Secret // xapp-…, Socket Mode only
	// APIURL is the address of the Web API, with a slash at the end; "" is Slack's. Another one is for tests.
	APIURL string
}

// Client calls Slack's Web API. It is the chat.Surface too. It never repeats a call by itself.
type Client struct {
	cfg     Config
	base    *url.URL
	http    *http.Client
	metrics *Metrics
	log     *slog.Logger
	now     func() time.Time
	limits  *limiter
	cache   cache

	mu     sync.Mutex
	scopes []string // granted, as the newest answer says; nil while unknown
	self   Identity
}

// NewClient makes a client; now may be nil. It calls nothing yet.
func NewClient(cfg Config, m *Metrics, log *slog.Logger, now func() time.Time) (*Client, error) {
	if cfg.APIURL == "" {
		cfg.APIURL = defaultAPI
	}
	base, err := url.Parse(cfg.APIURL)
	if err != nil || base.Host == "" || !strings.HasSuffix(base.Path, "/") {
		return nil, fmt.Errorf("the Slack Web API address %q is not a URL ending with a slash", cfg.APIURL)
	}
	if now == nil {
		now = time.Now
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	return &Client{
		cfg: cfg, base: base, metrics: m, log: log, now: now, limits: newLimiter(),
		cache: cache{channels: map[string]cached[channelAnswer]{}, groups: map[string]cached[[]string]{}},
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a redirect would carry the token, or bring a sign-in page for a file
		}},
	}, nil
}

// APIError is an answer of Slack that says no.
type APIError struct {
	Method, Code     string   // "chat.postMessage", "not_in_channel"
	Messages         []string // what exactly is wrong with the arguments
	Needed, Provided string   // scopes, for missing_scope
}

func (e *APIError) Error() string {
	s := "Slack refused " + e.Method + ": " + e.Code
	if e.Needed != "" {
		s += ", the app lacks the scope " + e.Needed
	}
	if len(e.Messages) > 0 {
		s += ": " + cut(strings.Join(e.Messages, "; "), 500)
	}
	return s
}

// LimitedError says that Slack wants fewer calls: nothing was done.
type LimitedError struct {
	Method string
	After  time.Duration
}

func (e *LimitedError) Error() string {
	return fmt.Sprintf("Slack asks to wait %s before the next %s", e.After, e.Method)
}

// UnclearError says that nobody knows whether Slack did what was asked: the connection broke, or Slack failed half-way.
type UnclearError struct {
	Method string
	Cause  error
}

func (e *UnclearError) Error() string {
	return "it is unknown whether Slack did " + e.Method + ": " + e.Cause.Error()
}
func (e *UnclearError) Unwrap() error { return e.Cause }

// NotSentError says that the call did not reach Slack: nothing was done.
type NotSentError struct {
	Method string
	Cause  error
}

func (e *NotSentError) Error() string { return e.Method + " did not reach Slack: " + e.Cause.Error() }
func (e *NotSentError) Unwrap() error { return e.Cause }

// code returns Slack's word for what is wrong, or "".
func code(err error) string {
	var e *APIError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// head is what every answer has.
type head struct {
	OK       bool   `json:"ok"`
	Error    string `json:"error"`
	Needed   string `json:"needed"`
	Provided string `json:"provided"`
	Meta     struct {
		Messages []string `json:"messages"`
		Cursor   string   `json:"next_cursor"`
	} `json:"response_metadata"`
}

// halfDone are the errors of an answer after which "it is possible that some aspect of the operation succeeded", as
// Slack's reference says.
var halfDone = map[string]bool{"fatal_error": true, "internal_error": true}

// call calls a method with the bot's token and reads the answer into out (which may be nil).
func (c *Client) call(ctx context.Context, method string, args url.Values, out any) error {
	return c.callAs(ctx, c.cfg.BotToken, method, args, out)
}

func (c *Client) callAs(ctx context.Context, token config.Secret, method string, args url.Values, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.APIURL+method, strings.NewReader(args.Encode()))
	if err != nil {
		return fmt.Errorf("calling %s: %w", method, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	h, err := c.do(req, method, out)
	if h != nil && token == c.cfg.BotToken {
		if list := h.Get("X-OAuth-Scopes"); list != "" {
			c.mu.Lock()
			c.scopes = strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
			c.mu.Unlock()
		}
	}
	c.metrics.Calls.WithLabelValues(method, outcome(err)).Inc()
	return err
}

// do sends a request and tells apart what was done, what was not, and what is unclear.
func (c *Client) do(req *http.Request, method string, out any) (http.Header, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreached(method, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return resp.Header, &LimitedError{method, retryAfter(resp.Header)}
	case resp.StatusCode >= 500:
		return resp.Header, &UnclearError{method, fmt.Errorf("HTTP status %d", resp.StatusCode)}
	case resp.StatusCode != http.StatusOK:
		return resp.Header, &APIError{Method: method, Code: "http_" + strconv.Itoa(resp.StatusCode)}
	case err != nil:
		return resp.Header, &UnclearError{method, fmt.Errorf("reading the answer: %w", err)}
	}
	var h head
	if err := json.Unmarshal(body, &h); err != nil {
		return resp.Header, &UnclearError{method, errors.New("the answer is no JSON")}
	}
	switch {
	case h.OK:
	case h.Error == "ratelimited" || h.Error == "rate_limited":
		return resp.Header, &LimitedError{method, retryAfter(resp.Header)}
	case halfDone[h.Error] || h.Error == "":
		return resp.Header, &UnclearError{method, errors.New("Slack says " + first(h.Error, "neither yes nor no"))}
	default:
		return resp.Header, &APIError{Method: method, Code: h.Error, Messages: h.Meta.Messages, Needed: h.Needed, Provided: h.Provided}
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			return resp.Header, &UnclearError{method, fmt.Errorf("the answer has an unexpected format: %w", notes(err))}
		}
	}
	return resp.Header, nil
}

// unreached tells a call that never left from one that may have arrived. The text of the error is ours: url.Error quotes
// the address, which for response_url is a secret.
func unreached(method string, err error) error {
	var address *url.Error
	if errors.As(err, &address) {
		err = address.Err
	}
	var op *net.OpError
	var dns *net.DNSError
	if (errors.As(err, &op) && op.Op == "dial") || errors.As(err, &dns) {
		return &NotSentError{method, err}
	}
	return &UnclearError{method, err}
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After")), 64)
	if err != nil || !(seconds >= 0) {
		return unstatedWait
	}
	if seconds > maxWait.Seconds() {
		return maxWait
	}
	return max(time.Duration(seconds*float64(time.Second)), time.Second)
}

// outcome is the label of a result in the metrics.
func outcome(err error) string {
	var limited *LimitedError
	var unclear *UnclearError
	var unsent *NotSentError
	var no *APIError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &limited):
		return "rate limited"
	case errors.As(err, &unclear):
		return "unclear"
	case errors.As(err, &unsent):
		return "unreachable"
	case errors.As(err, &no):
		return cut(no.Code, 60)
	}
	return "error"
}

// trusted says whether an address may be called because it is Slack's, or that of the API in tests.
func (c *Client) trusted(u *url.URL) bool {
	if u.User != nil {
		return false
	}
	if u.Scheme == c.base.Scheme && strings.EqualFold(u.Host, c.base.Host) {
		return true
	}
	host := strings.ToLower(u.Hostname())
	for _, domain := range []string{"slack.com", "slack-gov.com", "slack-files.com"} {
		if u.Scheme == "https" && (u.Port() == "" || u.Port() == "443") && (host == domain || strings.HasSuffix(host, "."+domain)) {
			return true
		}
	}
	return false
}

// learnScopes makes sure that the scopes are known.
func (c *Client) learnScopes(ctx context.Context) error {
	if _, known := c.granted(); known {
		return nil
	}
	return c.call(ctx, "auth.test", url.Values{}, nil)
}

// granted says whether the bot has one of the scopes; known is false while nobody asked Slack.
func (c *Client) granted(scopes ...string) (has, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, have := range c.scopes {
		for _, want := range scopes {
			if have == want {
				return true, true
			}
		}
	}
	return false, c.scopes != nil
}
