package ais

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"faultline/config"
)

// canary is a token that must never be seen anywhere but in the header.
const canary = "eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkiOiJ5ZXMifQ.c2lnbmF0dXJlLWNhbmFyeQ"

// cluster is a proxy and its daemons, as far as this client sees them. testdata/smap.json is the map of a real cluster.
type cluster struct {
	health func(w http.ResponseWriter)
	smap   func(w http.ResponseWriter, r *http.Request)
	pass   func(w http.ResponseWriter, r *http.Request) // a request to a proxy by way of this one
	status func(w http.ResponseWriter, r *http.Request) // nil: as before 3.23
	// logs by daemon; others give a good archive.
	logs map[string]func(w http.ResponseWriter, r *http.Request)

	mu                sync.Mutex
	asked             map[string]int // daemon → requests
	open              map[string]int // daemon → requests at this moment
	overlap, parallel int
	tokens            map[string]int // path → requests with a token
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	if c.tokens == nil {
		c.tokens, c.asked, c.open = map[string]int{}, map[string]int{}, map[string]int{}
	}
	if r.Header.Get("Authorization") == "Bearer "+canary {
		c.tokens[r.URL.Path]++
	}
	c.mu.Unlock()
	switch r.URL.RequestURI() {
	case "/v1/health":
		if c.health != nil {
			c.health(w)
		}
	case "/v1/daemon?what=smap":
		if c.smap != nil {
			c.smap(w, r)
			return
		}
		raw, _ := os.ReadFile("testdata/smap.json")
		_, _ = w.Write(raw)
	case "/v1/reverse/daemon?what=smap":
		if c.pass != nil {
			c.pass(w, r)
		}
	case "/v1/reverse/daemon?what=node_status":
		if c.status == nil {
			http.NotFound(w, r)
			return
		}
		c.status(w, r)
	case "/v1/reverse/daemon?what=log&all=true&severity=info":
		c.archive(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (c *cluster) archive(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Ais-Node-Id")
	c.mu.Lock()
	c.asked[id]++
	if c.open[id]++; c.open[id] > 1 {
		c.overlap++
	}
	busy := 0
	for _, n := range c.open {
		busy += n
	}
	c.parallel = max(c.parallel, busy)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.open[id]--
		c.mu.Unlock()
	}()
	if special := c.logs[id]; special != nil {
		special(w, r)
		return
	}
	_, _ = w.Write(packed("aistarget.vm.INFO.1120-231339.1", logText))
}

var logText = strings.Repeat("I 23:13:39.1 config:1 all is well\n", 500)

// packed is a tar.gz of one log.
func packed(name, text string) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	z.Write(tarOf(name, text))
	z.Close()
	return buf.Bytes()
}

func tarOf(name, text string) []byte {
	var buf bytes.Buffer
	t := tar.NewWriter(&buf)
	if name != "" {
		t.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))})
		t.Write([]byte(text))
	}
	t.Close()
	return buf.Bytes()
}

func gzipped(b []byte) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	z.Write(b)
	z.Close()
	return buf.Bytes()
}

// noise does not compress, so that a cut stream has given something before.
func noise(n int) string {
	b, x := make([]byte, n), uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return string(b)
}

// fails answers as AIStore does.
func fails(code int, tcode, message string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"tcode":%q,"message":%q,"method":"GET","url_path":%q,"status":%d}`, tcode, message, r.URL.Path, code)
	}
}

// blocked never answers while the test runs.
func blocked(t *testing.T) func(http.ResponseWriter, *http.Request) {
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	return func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}
}

func serve(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

var loopback = config.StorageAccess{Allow: []config.HostPattern{"127.0.0.1"}}

// quick has the patience of a test: long enough for a busy machine where nothing hangs, short where something does.
func quick(rules config.StorageAccess) *Client {
	c := NewClient(rules)
	c.lim.check, c.lim.ask = 20*time.Second, 20*time.Second
	return c
}

func access(url string) Access { return Access{Endpoint: url, Token: canary} }

// kindOf is the kind of an *Error; it also holds every sentence against the canary.
func kindOf(t *testing.T, err error) Kind {
	t.Helper()
	if err == nil {
		return ""
	}
	noCanary(t, err.Error(), fmt.Sprintf("%+v %#v", err, err))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%T is no *Error: %v", err, err)
	}
	return e.Kind
}

func noCanary(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		for _, part := range strings.Split(canary, ".") {
			if strings.Contains(text, part) || strings.Contains(text, fmt.Sprintf("%x", part)) {
				t.Errorf("the token is in %q", text)
			}
		}
	}
}
