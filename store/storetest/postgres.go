//go:build linux

package storetest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// Postgres is a server on a socket in a directory that nobody else can enter.
type Postgres struct {
	dir    string
	tool   func(name string, args ...string) *exec.Cmd
	schema atomic.Int64
	ended  chan struct{}
	signal func(os.Signal) error
}

// StartPostgres starts a server of its own for one test: the newest that Debian's package postgresql brought. Where it is missing the
// test is skipped, unless the environment says CI=true: there it fails.
func StartPostgres(t testing.TB) *Postgres {
	t.Helper()
	bin := installed(t)
	p, err := start(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	return p
}

// shared is the server of all tests of a program that need places only. Starting one takes more than a second of processor time.
var shared struct {
	once   sync.Once
	server *Postgres
	err    error
}

// SharedPostgres is StartPostgres for tests that change nothing beyond their own places. TestMain calls StopShared.
func SharedPostgres(t testing.TB) *Postgres {
	t.Helper()
	bin := installed(t)
	shared.once.Do(func() { shared.server, shared.err = start(bin) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// StopShared stops what SharedPostgres started.
func StopShared() {
	if shared.server != nil {
		shared.server.stop()
	}
}

// installed is the folder of the newest release.
func installed(t testing.TB) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		why := "PostgreSQL is not installed: apt-get install postgresql"
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	slices.SortFunc(found, func(a, b string) int { return release(a) - release(b) })
	return filepath.Dir(found[len(found)-1])
}

func start(bin string) (*Postgres, error) {
	dir, err := os.MkdirTemp("", "pg") // not t.TempDir: the name of a socket has at most 107 bytes
	if err != nil {
		return nil, err
	}
	p, err := startIn(dir, bin)
	if err != nil {
		_ = os.RemoveAll(dir)
	}
	return p, err
}

func startIn(dir, bin string) (*Postgres, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} // it must not outlive a test that is killed
	if os.Getuid() == 0 {
		who, err := servant(dir)
		if err != nil {
			return nil, err
		}
		attr.Credential = who
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.SysProcAttr, cmd.Env = dir, attr, append(os.Environ(), "LC_ALL=C.UTF-8")
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := command("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	server := command("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=400")
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	p := &Postgres{dir: dir, tool: command, ended: make(chan struct{})}
	if err := p.serve(server); err != nil {
		return nil, fmt.Errorf("starting PostgreSQL: %w", err)
	}
	if err := p.answers(&log); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// answers waits until the server takes connections.
func (p *Postgres) answers(log fmt.Stringer) error {
	db, err := sql.Open("pgx", p.dsn("public"))
	if err != nil {
		return err
	}
	defer db.Close()
	for deadline := time.Now().Add(time.Minute); ; {
		if err = db.PingContext(context.Background()); err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("PostgreSQL does not start:\n%s", log)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("PostgreSQL does not answer: %w", err)
		}
	}
}

// serve starts the server. The thread that starts a process must live as long: its end is what Pdeathsig reports.
func (p *Postgres) serve(server *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := server.Start()
		if err == nil {
			p.signal = server.Process.Signal
		}
		started <- err
		if err == nil {
			_ = server.Wait()
		}
		close(p.ended)
	}()
	return <-started
}

// stop is a fast one.
func (p *Postgres) stop() {
	_ = p.signal(syscall.SIGINT)
	<-p.ended
	_ = os.RemoveAll(p.dir)
}

// servant gives the directory to the user postgres, because initdb refuses root.
func servant(dir string) (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// release is the number in /usr/lib/postgresql/15/bin/initdb.
func release(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

func (p *Postgres) dsn(schema string) string {
	return "postgres://postgres@/postgres?" + url.Values{"host": {p.dir}, "search_path": {schema}}.Encode()
}

// DSN is the address of an empty place for tables.
func (p *Postgres) DSN(t testing.TB) string {
	t.Helper()
	schema := fmt.Sprint("place", p.schema.Add(1))
	db, err := sql.Open("pgx", p.dsn("public"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), "CREATE SCHEMA "+schema); err != nil {
		t.Fatal(err)
	}
	return p.dsn(schema)
}

// Backup keeps what a place holds as docs/operations.md says, with pg_dump. What it returns puts it back with pg_restore, in the place of
// what is there by then.
func (p *Postgres) Backup(t testing.TB, dsn string) (restore func()) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	schema := u.Query().Get("search_path")
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := p.tool(name, append([]string{"-h", p.dir, "-U", "postgres"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	file := filepath.Join(p.dir, schema+".dump")
	run("pg_dump", "-Fc", "--no-owner", "-n", schema, "-f", file, "postgres")
	return func() {
		t.Helper()
		run("psql", "-q", "-c", "DROP SCHEMA "+schema+" CASCADE", "postgres")
		run("pg_restore", "--no-owner", "-d", "postgres", file)
	}
}
