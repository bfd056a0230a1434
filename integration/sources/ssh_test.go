//go:build sources

package sources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"faultline/fetch/source"
	"faultline/fetch/source/login"
	"faultline/fetch/source/sourcetest"
	"faultline/fetch/spool"
	"faultline/integration/loopback"
)

var ctx = context.Background()

// place is an empty folder of the site, below which the suite writes as root what the account reads.
func (s *site) place(t *testing.T, n *login.Node) sourcetest.Place {
	t.Helper()
	dir, err := os.MkdirTemp(s.dir, "place-")
	must(t, err)
	must(t, os.Chmod(dir, 0o755))
	root := filepath.Join(dir, "root")
	must(t, os.Mkdir(root, 0o755))
	files, err := n.Files(root)
	must(t, err)
	p := sourcetest.OnDisk(files, dir)
	p.Deny = func(t *testing.T, name string) { must(t, os.Chmod(name, 0)) }
	return p
}

func TestOpenSSHBehindAJumpHostIsASource(t *testing.T) {
	s := newSite(t)
	jump, last := s.sshd(t, "jump"), s.sshd(t, "login")
	n := s.node(t, jump, last)
	sourcetest.Run(t, func(t *testing.T) sourcetest.Place { return s.place(t, n) })
	log, err := os.ReadFile(s.path("jump.log"))
	must(t, err)
	if !strings.Contains(string(log), "Accepted publickey for "+account()) {
		t.Errorf("nobody came through the jump host:\n%s", log)
	}
}

// Some accounts may do nothing but SFTP, and OpenSSH's other server of it serves them.
func TestAnAccountForSFTPAlone(t *testing.T) {
	s := newSite(t)
	n := s.node(t, s.sshd(t, "only", "ForceCommand internal-sftp", "AllowTcpForwarding no"))
	p := s.place(t, n)
	p.Write(t, p.Root+"/a", []byte("x"))
	files, err := p.Source.Glob(ctx, p.Root+"/*")
	if err != nil || len(files) != 1 || files[0].Owner != "#0" {
		t.Errorf("%+v, %v", files, err)
	}
	out, err := n.Run(ctx, "id")
	if err == nil && out.Code == 0 {
		t.Errorf("it ran a command: %s", out.Stdout)
	}
}

func TestAccountsHaveTheirNames(t *testing.T) {
	s := newSite(t)
	p := s.place(t, s.node(t, s.sshd(t, "login")))
	p.Write(t, p.Root+"/a", []byte("x"))
	if f, err := p.Source.Stat(ctx, p.Root+"/a"); err != nil || f.Owner != "root" {
		t.Errorf("%+v, %v", f, err)
	}
}

// OpenSSH shows the key that it likes best, unless it is asked for another.
func TestAnyOneKeyOfAHostIsEnoughToKnowIt(t *testing.T) {
	s := newSite(t)
	address := s.sshd(t, "login")
	for _, kind := range kinds {
		must(t, os.WriteFile(s.known, nil, 0o600))
		s.know(t, address, "login_"+kind)
		if err := s.node(t, address).Check(ctx); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	must(t, os.WriteFile(s.known, nil, 0o600))
	s.know(t, address, "user")
	err := s.node(t, address).Check(ctx)
	if source.KindOf(err) != source.HostKey || !strings.Contains(err.Error(), "doesn't match known_hosts") {
		t.Errorf("another's key: %v", err)
	}
	must(t, os.WriteFile(s.known, nil, 0o600))
	if err := s.node(t, address).Check(ctx); source.KindOf(err) != source.UnknownHost {
		t.Errorf("no key: %v", err)
	}
	certified := loopback.Address(t)
	host, port, err := net.SplitHostPort(certified)
	must(t, err)
	run(t, "ssh-keygen", "-q", "-s", s.path("ca"), "-I", "host", "-h", "-n", host, s.path("login_ed25519.pub"))
	s.sshdAt(t, certified, "certified", "HostCertificate "+s.path("login_ed25519-cert.pub"), "HostKey "+s.path("login_ed25519"))
	public, err := os.ReadFile(s.path("ca.pub"))
	must(t, err)
	must(t, os.WriteFile(s.known, []byte(fmt.Sprintf("@cert-authority [%s]:%s %s", host, port, public)), 0o600))
	if err := s.node(t, certified).Check(ctx); err != nil {
		t.Errorf("a certificate: %v", err)
	}
}

func TestKeysOfTheBot(t *testing.T) {
	s := newSite(t)
	address := s.sshd(t, "login")
	try := func(change func(*login.Hop)) error {
		h := s.hop(address)
		change(&h)
		n, err := login.New(login.Options{Hops: []login.Hop{h}, KnownHosts: []string{s.known}})
		must(t, err)
		defer n.Close()
		return n.Check(ctx)
	}
	s.keygen(t, "stranger", "ed25519")
	if err := try(func(h *login.Hop) { h.KeyFile = s.path("stranger") }); source.KindOf(err) != source.Credentials {
		t.Errorf("a stranger's key: %v", err)
	}
	if err := try(func(h *login.Hop) { h.User = "root" }); source.KindOf(err) != source.Credentials {
		t.Errorf("another account: %v", err)
	}
	s.keygen(t, "vouched", "rsa")
	run(t, "ssh-keygen", "-q", "-s", s.path("ca"), "-I", "bot", "-n", account(), "-V", "-5m:+1h", s.path("vouched.pub"))
	if err := try(func(h *login.Hop) { h.KeyFile = s.path("vouched") }); err != nil {
		t.Errorf("a key with a certificate: %v", err)
	}
	run(t, "ssh-keygen", "-q", "-s", s.path("ca"), "-I", "bot", "-n", account(), "-V", "-2h:-1h", s.path("vouched.pub"))
	if err := try(func(h *login.Hop) { h.KeyFile = s.path("vouched") }); source.KindOf(err) != source.Credentials {
		t.Errorf("a certificate that has expired: %v", err)
	}
	socket := s.path("agent")
	agent := exec.Command("ssh-agent", "-D", "-a", socket)
	must(t, agent.Start())
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
	})
	for range 500 {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	withAgent := func(h *login.Hop) { h.KeyFile, h.Agent = "", socket }
	if err := try(withAgent); source.KindOf(err) != source.Credentials {
		t.Errorf("an agent without keys: %v", err)
	}
	add := exec.Command("ssh-add", "-q", s.path("user"))
	add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := try(withAgent); err != nil {
		t.Errorf("an agent: %v", err)
	}
}

func TestCommandsReachTheirProgramAsTheyAre(t *testing.T) {
	s := newSite(t)
	n := s.node(t, s.sshd(t, "jump"), s.sshd(t, "login"))
	words := []string{"", "a b", "$(id)", "`id`", "a'b", `"`, "; id", "*", "~", "#", "&", "|", "a\x1fb", "ä", "=ls", "%1"}
	out, err := n.Run(ctx, append([]string{"printf", "<%s>"}, words...)...)
	if err != nil || string(out.Stdout) != "<"+strings.Join(words, "><")+">" || out.Code != 0 {
		t.Errorf("%q, %v", out.Stdout, err)
	}
	if out, err = n.Run(ctx, "env", "LC_ALL=C", "ls", "/nowhere"); err != nil || out.Code != 2 || !strings.Contains(string(out.Stderr), "No such file") {
		t.Errorf("%d %s, %v", out.Code, out.Stderr, err)
	}
	if out, err = n.Run(ctx, "no-such-program"); err != nil || out.Code != 127 {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err = n.Run(ctx, "sh", "-c", "kill -TERM $$"); err != nil || out.Code != 143 {
		t.Errorf("%+v, %v", out, err)
	}
	why := errors.New("enough")
	stop, cancel := context.WithTimeoutCause(ctx, 300*time.Millisecond, why)
	defer cancel()
	if _, err = n.Run(stop, "sleep", "1000"); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

func TestATransferFromOpenSSHThatIsCutAtEveryTenthLosesNothing(t *testing.T) {
	const size = 20 << 20
	s := newSite(t)
	w := newWire(t, s.sshd(t, "login"))
	for _, kind := range kinds {
		s.know(t, w.address, "login_"+kind)
	}
	p := s.place(t, s.node(t, w.address))
	content := sourcetest.Bytes(size)
	p.Write(t, p.Root+"/error-4242-0.out", content)
	cutAtEveryTenth(t, w, spool.Place{Source: p.Source, ID: "sftp://login", Origin: "sftp"}, p.Root+"/error-4242-0.out", content)
}

// cutAtEveryTenth takes a file over a wire that breaks after a tenth of it, each time in another process as it were.
func cutAtEveryTenth(t *testing.T, w *wire, from spool.Place, name string, content []byte) {
	t.Helper()
	size := int64(len(content))
	file, err := from.Source.Stat(ctx, name)
	must(t, err)
	dir := filepath.Join(t.TempDir(), "spool")
	var fetched int64
	for tries := 1; ; tries++ {
		if tries > 30 {
			t.Fatalf("fetched %d in %d tries", fetched, tries)
		}
		keep, err := spool.Open(dir, spool.Options{})
		must(t, err)
		w.after(size/10 + 500_000)
		got, err := keep.Take(ctx, from, []spool.Want{{File: file}}, nil)
		must(t, err)
		must(t, keep.Close())
		fetched += got.Fetched
		for _, m := range got.Missed {
			if k := source.KindOf(m.Err); k != source.Lost {
				t.Fatalf("try %d: %s: %v", tries, k, m.Err)
			}
		}
		if len(got.Sources) == 1 {
			b, err := os.ReadFile(got.Sources[0].Path)
			if err != nil || !bytes.Equal(b, content) || fetched != size {
				t.Errorf("fetched %d of %d: %v", fetched, size, err)
			}
			break
		}
	}
	if w.breaks < 8 {
		t.Errorf("the wire broke %d times", w.breaks)
	}
}

func TestRetryReadsOnThroughBrokenConnections(t *testing.T) {
	const size = 20 << 20
	s := newSite(t)
	w := newWire(t, s.sshd(t, "login"))
	for _, kind := range kinds {
		s.know(t, w.address, "login_"+kind)
	}
	n := s.node(t, w.address)
	p := s.place(t, n)
	content := sourcetest.Bytes(size)
	p.Write(t, p.Root+"/a", content)
	pauses := 0
	steady := &source.Retry{Of: p.Source, Sleep: func(context.Context, time.Duration) error {
		pauses++
		w.after(size / 5)
		return nil
	}}
	w.after(size / 5)
	keep, err := spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Options{})
	must(t, err)
	defer keep.Close()
	got, err := keep.Take(ctx, spool.Place{Source: steady, ID: "sftp://login", Origin: "sftp"}, []spool.Want{{File: source.File{Name: p.Root + "/a", Size: size}}}, nil)
	if err != nil || len(got.Sources) != 1 || got.Fetched != size || pauses < 4 {
		t.Fatalf("%+v, %v after %d pauses", got, err, pauses)
	}
	if b, err := os.ReadFile(got.Sources[0].Path); err != nil || !bytes.Equal(b, content) {
		t.Errorf("it is not what the node has: %v", err)
	}
}

// A disk that is really full: a small one in memory.
func TestAFullDisk(t *testing.T) {
	s := newSite(t)
	disk := s.path("disk")
	must(t, os.Mkdir(disk, 0o700))
	run(t, "mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk)
	t.Cleanup(func() { _ = exec.Command("umount", disk).Run() })
	p := s.place(t, s.node(t, s.sshd(t, "login")))
	p.Write(t, p.Root+"/small", sourcetest.Bytes(1<<20))
	p.Write(t, p.Root+"/large", sourcetest.Bytes(12<<20))
	files, err := p.Source.Glob(ctx, p.Root+"/*")
	must(t, err)
	keep, err := spool.Open(filepath.Join(disk, "spool"), spool.Options{Together: 1})
	must(t, err)
	defer keep.Close()
	var want []spool.Want
	for _, f := range files {
		want = append([]spool.Want{{File: f}}, want...)
	}
	got, err := keep.Take(ctx, spool.Place{Source: p.Source, ID: "sftp://login", Origin: "sftp"}, want, nil)
	if err != nil || len(got.Sources) != 1 || len(got.Missed) != 1 || source.KindOf(got.Missed[0].Err) != source.DiskFull {
		t.Fatalf("%+v, %v", got, err)
	}
	t.Log(got.Missed[0].Err)
	if parts, _ := filepath.Glob(filepath.Join(disk, "spool", "part", "*")); len(parts) > 0 {
		t.Errorf("the disk is still full of %v", parts)
	}
	run(t, "mount", "-o", "remount,size=32m", disk)
	if got, err = keep.Take(ctx, spool.Place{Source: p.Source, ID: "sftp://login", Origin: "sftp"}, want, nil); err != nil || len(got.Sources) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}
