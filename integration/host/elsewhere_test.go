//go:build linux

package host

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"faultline/store/storetest"
)

// road is the way to a server: open, closed, or one on which nothing moves.
type road struct {
	listener net.Listener
	to       func() (net.Conn, error)

	mu     sync.Mutex
	state  int // 0 open, 1 closed, 2 still
	moved  *sync.Cond
	travel map[net.Conn]bool
}

const (
	open = iota
	closed
	still
)

func newRoad(t *testing.T, to func() (net.Conn, error)) *road {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &road{listener: l, to: to, travel: map[net.Conn]bool{}}
	r.moved = sync.NewCond(&r.mu)
	go r.serve()
	t.Cleanup(func() {
		_ = l.Close()
		r.set(closed)
	})
	return r
}

func (r *road) set(state int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = state
	if state == closed {
		for c := range r.travel {
			_ = c.Close()
		}
	}
	r.moved.Broadcast()
}

// pass waits while nothing moves.
func (r *road) pass() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.state == still {
		r.moved.Wait()
	}
}

func (r *road) serve() {
	for {
		from, err := r.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			r.pass()
			to, err := r.to()
			if err != nil {
				_ = from.Close()
				return
			}
			if !r.enters(from, to) {
				_, _ = from.Close(), to.Close()
				return
			}
			go r.carry(from, to)
			r.carry(to, from)
		}()
	}
}

// enters notes both ends, unless the road is closed: asked in one step, or a connection that came just before would outlive its closing.
func (r *road) enters(from, to net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == closed {
		return false
	}
	r.travel[from], r.travel[to] = true, true
	return true
}

func (r *road) carry(from, to net.Conn) {
	defer func() {
		r.mu.Lock()
		delete(r.travel, from)
		delete(r.travel, to)
		r.mu.Unlock()
		_, _ = from.Close(), to.Close()
	}()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		r.pass()
		if _, werr := to.Write(b[:n]); err != nil || werr != nil {
			return
		}
	}
}

func (r *road) becomes(state int) func(*world) func() {
	return func(*world) func() {
		r.set(state)
		return func() { r.set(open) }
	}
}

// elsewhere are the troubles of what is not on the bot's host.
func elsewhere(t *testing.T) []trouble {
	return append(postgres(t), buckets(t)...)
}

func postgres(t *testing.T) []trouble {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) == 0 && os.Getenv("CI") != "true" {
		t.Log("PostgreSQL is not installed: its troubles are left out")
		return nil
	}
	dsn := storetest.StartPostgres(t).DSN(t)
	at, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	do := func(t *testing.T, statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := db.ExecContext(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	socket := filepath.Join(at.Query().Get("host"), ".s.PGSQL.5432")
	var n atomic.Int64
	in := func(name string, begin func(w *world, role string, way *road) func(), why, told string) trouble {
		role := fmt.Sprint("bot", n.Add(1))
		do(t, "CREATE ROLE "+role+" LOGIN", "CREATE DATABASE "+role+" OWNER "+role)
		way := newRoad(t, func() (net.Conn, error) { return net.Dial("unix", socket) })
		return trouble{
			name: "postgres-" + name, check: "store", why: why, told: told,
			setup: func(w *world) {
				w.conf["data"].(map[string]any)["postgres"] = fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", role, way.listener.Addr(), role)
			},
			begin: func(w *world) func() { return begin(w, role, way) },
		}
	}
	// until nobody is there: one may be coming in just now.
	end := func(t *testing.T, role string) {
		t.Helper()
		for quiet := 0; quiet < 10; quiet++ {
			var n int
			if err := db.QueryRowContext(t.Context(), "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = $1", role).Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				quiet = 0
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return []trouble{
		in("down", func(w *world, _ string, way *road) func() { return way.becomes(closed)(w) }, "", storeNot+"can't reach PostgreSQL"),
		in("still", func(w *world, _ string, way *road) func() { return way.becomes(still)(w) }, "", storeNot+"the database isn't responding"),
		in("read-only", func(w *world, role string, _ *road) func() {
			do(w.t, "ALTER ROLE "+role+" SET default_transaction_read_only = on",
				"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '"+role+"'")
			return func() { do(w.t, "ALTER ROLE "+role+" RESET default_transaction_read_only") }
		}, "read-only transaction", storeNot+"PostgreSQL is read-only"),
		in("no-connection-left", func(w *world, role string, _ *road) func() {
			do(w.t, "ALTER ROLE "+role+" CONNECTION LIMIT 0")
			end(w.t, role)
			return func() { do(w.t, "ALTER ROLE "+role+" CONNECTION LIMIT -1") }
		}, "too many connections", storeNot+"PostgreSQL has no connections left"),
		in("database-closed", func(w *world, role string, _ *road) func() {
			do(w.t, "ALTER DATABASE "+role+" ALLOW_CONNECTIONS false")
			end(w.t, role)
			return func() { do(w.t, "ALTER DATABASE "+role+" ALLOW_CONNECTIONS true") }
		}, "not currently accepting connections", storeNot),
	}
}

// bucket is as much of S3 as the bot asks for.
type bucket struct{ mode atomic.Value }

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	fail := func(status int, code string) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
	}
	switch b.mode.Load() {
	case "refuses":
		fail(http.StatusForbidden, "AccessDenied")
		return
	case "reads-only":
		if r.Method == http.MethodPut {
			fail(http.StatusForbidden, "AccessDenied")
			return
		}
	case "gone":
		fail(http.StatusNotFound, "NoSuchBucket")
		return
	case "slow":
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	}
	if r.Method == http.MethodGet && strings.Contains(r.URL.RawQuery, "list-type") {
		fmt.Fprint(w, `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>cases</Name><KeyCount>0</KeyCount></ListBucketResult>`)
	}
}

func buckets(t *testing.T) []trouble {
	in := func(name, why string) trouble {
		b := &bucket{}
		b.mode.Store("")
		server := httptest.NewServer(b)
		t.Cleanup(server.Close)
		at := server.Listener.Addr().String()
		way := newRoad(t, func() (net.Conn, error) { return net.Dial("tcp", at) })
		x := trouble{name: "bucket-" + name, check: "archive", why: why}
		x.setup = func(w *world) {
			w.conf["archive"] = map[string]any{
				"bucket": "cases", "region": "us-east-1", "endpoint": "http://" + way.listener.Addr().String(), "access_key": "a", "secret_key": "s",
			}
		}
		x.begin = func(*world) func() {
			b.mode.Store(name)
			return func() { b.mode.Store("") }
		}
		if name == "down" {
			x.begin = way.becomes(closed)
		}
		return x
	}
	return []trouble{
		in("down", ""), in("refuses", "can't list"), in("reads-only", "can't write to"), in("gone", "doesn't exist"), in("slow", ""),
	}
}

// Who is on the way in when the road closes does not get through.
func TestAClosedRoadHasNobodyOnIt(t *testing.T) {
	there, enter := make(chan struct{}), make(chan struct{})
	far, server := net.Pipe()
	t.Cleanup(func() { _ = server.Close() })
	r := newRoad(t, func() (net.Conn, error) {
		close(there)
		<-enter
		return far, nil
	})
	c, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	<-there
	r.set(closed)
	close(enter)
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection is open: %v", err)
	}
}
