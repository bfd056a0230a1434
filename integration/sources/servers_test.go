//go:build sources

package sources

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"faultline/fetch/source/login"
	"faultline/integration/loopback"
)

// account is the ordinary one that prepare.sh makes.
func account() string {
	if a := os.Getenv("FAULTLINE_TEST_ACCOUNT"); a != "" {
		return a
	}
	return "faultline-test"
}

// kinds of host keys that a server has.
var kinds = []string{"ed25519", "ecdsa", "rsa"}

// site is a folder with the keys of everybody, and the servers that know them.
type site struct {
	dir   string
	known string // known_hosts of all servers
}

// newSite makes one that everybody may enter.
func newSite(t testing.TB) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "sources-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	s := &site{dir: dir, known: filepath.Join(dir, "known_hosts")}
	must(t, os.WriteFile(s.known, nil, 0o600))
	s.keygen(t, "user", "ed25519")
	public, err := os.ReadFile(s.path("user.pub"))
	must(t, err)
	must(t, os.WriteFile(s.path("authorized_keys"), public, 0o644))
	s.keygen(t, "ca", "ed25519")
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) keygen(t testing.TB, name, kind string) {
	t.Helper()
	bits := map[string]string{"rsa": "2048", "ecdsa": "256", "ed25519": "256"}[kind]
	run(t, "ssh-keygen", "-q", "-t", kind, "-b", bits, "-N", "", "-C", name, "-f", s.path(name))
}

// sshd starts OpenSSH's server, and gives its address. Lines are added to its configuration.
func (s *site) sshd(t testing.TB, name string, lines ...string) string {
	t.Helper()
	return s.sshdAt(t, loopback.Address(t), name, lines...)
}

func (s *site) sshdAt(t testing.TB, address, name string, lines ...string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	must(t, err)
	conf := []string{"ListenAddress " + host, "Port " + port, "PidFile " + s.path(name+".pid"), "AuthorizedKeysFile " + s.path("authorized_keys"),
		"TrustedUserCAKeys " + s.path("ca.pub"), "StrictModes no", "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
		"PermitRootLogin no", "AllowUsers " + account(), "MaxStartups 100", "MaxSessions 100", "LogLevel VERBOSE", "Subsystem sftp internal-sftp"}
	for _, kind := range kinds {
		key := name + "_" + kind
		s.keygen(t, key, kind)
		conf = append(conf, "HostKey "+s.path(key))
		s.know(t, address, key)
	}
	must(t, os.WriteFile(s.path(name+".conf"), []byte(strings.Join(append(lines, conf...), "\n")+"\n"), 0o644))
	cmd := exec.Command("/usr/sbin/sshd", "-D", "-f", s.path(name+".conf"), "-E", s.path(name+".log"))
	must(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(2 * time.Minute); ; {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return address
		}
		select {
		case <-ended:
			log, _ := os.ReadFile(s.path(name + ".log"))
			t.Fatalf("sshd does not start: %s", log)
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// know adds a host's key to known_hosts.
func (s *site) know(t testing.TB, address, key string) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	must(t, err)
	public, err := os.ReadFile(s.path(key + ".pub"))
	must(t, err)
	f, err := os.OpenFile(s.known, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	fmt.Fprintf(f, "[%s]:%s %s\n", host, port, strings.Join(strings.Fields(string(public))[:2], " "))
	must(t, f.Close())
}

func (s *site) hop(address string) login.Hop {
	return login.Hop{Address: address, User: account(), KeyFile: s.path("user")}
}

// node is the last of the hosts.
func (s *site) node(t testing.TB, addresses ...string) *login.Node {
	t.Helper()
	o := login.Options{KnownHosts: []string{s.known}}
	for _, a := range addresses {
		o.Hops = append(o.Hops, s.hop(a))
	}
	n, err := login.New(o)
	must(t, err)
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// wire is a way to a server that can break.
type wire struct {
	address string
	mu      sync.Mutex
	left    int64 // bytes from the server until it breaks; < 0 = it holds
	refuse  bool
	breaks  int
}

func newWire(t testing.TB, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	w := &wire{address: l.Addr().String(), left: -1}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			w.mu.Lock()
			refuse := w.refuse
			w.mu.Unlock()
			far, err := net.Dial("tcp", to)
			if err != nil || refuse {
				_ = near.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(far, near)
				_ = far.Close()
			}()
			go func() {
				_, _ = io.Copy(near, &breaking{far, w})
				_ = near.Close()
				_ = far.Close()
			}()
		}
	}()
	return w
}

// after lets the wire break when so many bytes more came from the server.
func (w *wire) after(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = n
}

type breaking struct {
	from io.Reader
	*wire
}

func (b *breaking) Read(p []byte) (int, error) {
	n, err := b.from.Read(p[:min(len(p), 16<<10)])
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < 0 {
		return n, err
	}
	if b.left -= int64(n); b.left < 0 {
		b.breaks++
		return 0, io.ErrClosedPipe
	}
	return n, err
}

func run(t testing.TB, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
