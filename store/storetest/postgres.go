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
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// Postgres is a server of its own for one test: on a socket in a directory that nobody else can enter, gone afterwards.
type Postgres struct {
	dir    string
	tool   func(name string, args ...string) *exec.Cmd
	schema atomic.Int64
}

// StartPostgres starts the newest server that Debian's package postgresql brought. Where it is missing the test is
// skipped, unless the environment says CI=true: there it fails.
func StartPostgres(t testing.TB) *Postgres {
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
	bin := filepath.Dir(found[len(found)-1])

	dir, err := os.MkdirTemp("", "pg") // not t.TempDir: the name of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} // it must not outlive a test that is killed
	if os.Getuid() == 0 {
		attr.Credential = servant(t, dir)
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.SysProcAttr, cmd.Env = dir, attr, append(os.Environ(), "LC_ALL=C.UTF-8")
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := command("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := command("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200")
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	ended := serve(t, server)
	p := &Postgres{dir: dir, tool: command}
	db, err := sql.Open("pgx", p.dsn("public"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for deadline := time.Now().Add(time.Minute); ; {
		if err = db.PingContext(context.Background()); err == nil {
			return p
		}
		select {
		case <-ended:
			t.Fatalf("PostgreSQL does not start:\n%s", log.String())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("PostgreSQL does not answer: %v", err)
		}
	}
}

// serve starts the server and stops it when the test ends. The thread that starts a process must live as long: its end
// is what Pdeathsig reports.
func serve(t testing.TB, server *exec.Cmd) (ended chan struct{}) {
	t.Helper()
	started := make(chan error)
	ended = make(chan struct{})
	go func() {
		runtime.LockOSThread()
		err := server.Start()
		started <- err
		if err == nil {
			_ = server.Wait()
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT) // a fast stop
		<-ended
	})
	return ended
}

// servant gives the directory to the user postgres, because initdb refuses root.
func servant(t testing.TB, dir string) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
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
