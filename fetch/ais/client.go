// Package ais pulls the logs of the daemons of an AIStore cluster: the cluster map, then each daemon's archive, through a
// proxy. It does not read them. It is plain REST: a few calls that are the same in all releases since 1.3.20.
package ais

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"faultline/config"
)

// Client asks clusters, as far as the rules allow. It is safe for concurrent use.
type Client struct {
	rules config.StorageAccess
	lim   limits
	turns *turns
}

// limits bound what one pull may take.
type limits struct {
	daemons   int // of the cluster map
	parallel  int // daemons that are asked at a time
	archive   int64
	all       int64 // archives of one pull together
	unpacked  int64 // of one archive
	check     time.Duration
	ask       time.Duration // one question that is answered at once
	prepare   time.Duration // a daemon packs all of its logs before it sends the first byte
	stall     time.Duration // between two reads of an archive
	perDaemon time.Duration
	pull      time.Duration
}

var usual = limits{
	daemons:   1000,
	parallel:  4,
	archive:   1 << 30,
	all:       16 << 30,
	unpacked:  64 << 30,
	check:     10 * time.Second, // a person waits for the answer
	ask:       20 * time.Second,
	prepare:   2 * time.Minute,
	stall:     30 * time.Second,
	perDaemon: 5 * time.Minute,
	pull:      20 * time.Minute,
}

// NewClient returns a client that follows the rules of the configuration.
func NewClient(rules config.StorageAccess) *Client {
	return &Client{rules: rules, lim: usual, turns: newTurns()}
}

// Check says within 10 s whether the access opens the cluster: a proxy answers, is ready, shows the cluster map and passes
// requests on. The error is an *Error, or that of a cancelled context.
func (c *Client) Check(ctx context.Context, a Access) error {
	short, cancel := context.WithTimeout(ctx, c.lim.check)
	defer cancel()
	s, fail := c.open(a)
	if fail != nil {
		return a.owned(fail)
	}
	defer s.http.CloseIdleConnections()
	m, fail := s.clusterMap(short)
	if fail == nil {
		fail = s.passesOn(short, m)
	}
	if fail != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		return a.owned(fail)
	}
	return nil
}

// session is an access that is being used.
type session struct {
	http  *http.Client
	at    target
	token config.Secret
	ownCA bool // the access states whose certificates to believe
}

func (c *Client) open(a Access) (*session, *Error) {
	at, fail := a.check(c.rules)
	if fail != nil {
		return nil, fail
	}
	token, fail := a.token(at.host)
	if fail != nil {
		return nil, fail
	}
	secure, fail := a.tls()
	if fail != nil {
		return nil, fail
	}
	return &session{at: at, token: token, ownCA: len(a.CA) > 0, http: &http.Client{
		// A token goes to the address that somebody stated, and to no other.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{ // no Proxy: whoever runs one would see the token
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSClientConfig:        secure,
			TLSHandshakeTimeout:    10 * time.Second,
			DisableCompression:     true, // archives are compressed already, and have to be kept as they are
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost:    c.lim.parallel,
			IdleConnTimeout:        10 * time.Second,
		},
	}}, nil
}

const (
	pathHealth = "/v1/health"
	pathMap    = "/v1/daemon?what=smap"
	pathPass   = "/v1/reverse/daemon?what=smap"
	pathStatus = "/v1/reverse/daemon?what=node_status"
	pathLogs   = "/v1/reverse/daemon?what=log&all=true&severity=info" // INFO holds W and E too
	headerNode = "Ais-Node-Id"

	maxMap     = 16 << 20 // bytes of a cluster map; a daemon takes 700
	maxStatus  = 1 << 20  // bytes of a daemon's status; it takes 5,000
	maxMessage = 16 << 10 // bytes of an error's body
)

// get asks and returns an answer with status 200, whose body the caller closes.
func (s *session) get(ctx context.Context, path, node string, token config.Secret) (*http.Response, *Error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at.base+path, http.NoBody)
	if err != nil {
		return nil, fault(BadEndpoint, "")
	}
	req.Header.Set("User-Agent", "faultline")
	if node != "" {
		req.Header.Set(headerNode, node)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, s.transport(err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxMessage)) // what came of it decides
	var body struct {
		Code    string `json:"tcode"`
		Message string `json:"message"`
	}
	message := string(raw)
	if json.Unmarshal(raw, &body) == nil {
		message = body.Message
	}
	if node != "" {
		switch {
		case resp.StatusCode == http.StatusNotFound && (strings.EqualFold(body.Code, "errNodeNotFound") || strings.Contains(message, "not present in")):
			return nil, fault(NodeGone, "")
		case resp.StatusCode == http.StatusBadGateway, resp.StatusCode == http.StatusGatewayTimeout:
			return nil, fault(NodeDown, "")
		case resp.StatusCode == http.StatusBadRequest, resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusMethodNotAllowed:
			return nil, fault(NotAProxy, s.at.host)
		}
	}
	return nil, status(resp.StatusCode, message, s.at.host, token.Reveal())
}

// daemon is one of the cluster map.
type daemon struct {
	role string // target, proxy
	id   string
}

func (d daemon) String() string { return d.role + " " + d.id }

// clusterMap is what a cluster says of itself.
type clusterMap struct {
	Proxies map[string]struct{} `json:"pmap"`
	Targets map[string]struct{} `json:"tmap"`
	UUID    string              `json:"uuid"`
}

// clusterMap asks for the health first, which takes no token: one that turns out to be something else never sees it.
func (s *session) clusterMap(ctx context.Context) (clusterMap, *Error) {
	health, fail := s.get(ctx, pathHealth, "", "")
	if fail != nil && fail.useless() {
		fail = nil // a gateway in front asks for a token here too
	}
	if fail != nil {
		return clusterMap{}, fail
	}
	if health != nil {
		health.Body.Close()
	}
	resp, fail := s.get(ctx, pathMap, "", s.token)
	if fail != nil {
		return clusterMap{}, fail
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxMap+1))
	if err != nil {
		return clusterMap{}, s.transport(err)
	}
	var m clusterMap
	if len(raw) > maxMap || json.Unmarshal(raw, &m) != nil || len(m.Proxies) == 0 {
		return clusterMap{}, fault(NotAIS, s.at.host)
	}
	return m, nil
}

// passesOn makes sure that requests reach the daemons: a target shows the cluster map as a proxy does, and no more.
func (s *session) passesOn(ctx context.Context, m clusterMap) *Error {
	for id := range m.Proxies {
		if !goodID(id) {
			continue
		}
		resp, fail := s.get(ctx, pathPass, id, s.token)
		if fail == nil {
			resp.Body.Close()
		}
		if fail != nil && (fail.Kind == NodeDown || fail.Kind == NodeGone) {
			return nil // that one is down; the pull will tell
		}
		return fail
	}
	return nil
}

// size is a number of bytes for a sentence.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
