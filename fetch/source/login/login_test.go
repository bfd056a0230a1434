package login

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"faultline/fetch/source"
	"faultline/fetch/source/sourcetest"
	"faultline/fetch/spool"
)

func TestALoginNodeIsASource(t *testing.T) {
	s := serve(t)
	n := s.node(t)
	sourcetest.Run(t, func(t *testing.T) sourcetest.Place { return place(t, n) })
}

func TestALoginNodeBehindTwoOthersIsASource(t *testing.T) {
	first, second, last := serve(t), serve(t), serve(t)
	n := last.node(t, func(o *Options) {
		o.Hops = []Hop{first.hop(), second.hop(), last.hop()}
		o.KnownHosts = []string{first.known, second.known, last.known}
	})
	p := place(t, n)
	p.Write(t, p.Root+"/a", []byte("x"))
	if f, err := p.Source.Stat(ctx, p.Root+"/a"); err != nil || f.Size != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if first.conns.Load() != 1 || last.conns.Load() != 1 {
		t.Errorf("%d and %d connections", first.conns.Load(), last.conns.Load())
	}
}

func TestNobodyIsTalkedToWhoseKeyIsNotKnown(t *testing.T) {
	s, other := serve(t), serve(t)
	dir := t.TempDir()
	impostor := write(t, dir, "wrong", knownhosts.Line([]string{s.address}, other.host.PublicKey())+"\n")
	revoked := write(t, dir, "revoked", "@revoked * "+strings.SplitN(knownhosts.Line([]string{s.address}, s.host.PublicKey()), " ", 2)[1]+"\n")
	empty := write(t, dir, "empty", "# nobody\n")
	rsaOnly := write(t, dir, "rsa", knownhosts.Line([]string{s.address}, rsaKey(t))+"\n")
	for _, c := range []struct {
		known string
		kind  source.Kind
	}{{impostor, source.HostKey}, {revoked, source.HostKey}, {empty, source.UnknownHost}, {rsaOnly, source.UnknownHost}} {
		n := s.node(t, func(o *Options) { o.KnownHosts = []string{c.known} })
		err := n.Check(ctx)
		if source.KindOf(err) != c.kind || !strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "%") {
			t.Errorf("%s: %v", filepath.Base(c.known), err)
		}
		if c.known != rsaOnly && !strings.Contains(err.Error(), ssh.FingerprintSHA256(s.host.PublicKey())) {
			t.Errorf("the key that it shows is not told: %v", err)
		}
	}
	if _, err := New(Options{Hops: []Hop{s.hop()}}); err == nil {
		t.Error("a node without known_hosts is taken")
	}
	if _, err := New(Options{Hops: []Hop{s.hop()}, KnownHosts: []string{dir + "/none"}}); err == nil {
		t.Error("a known_hosts that is missing is taken")
	}
}

func TestAJumpHostMustBeKnownToo(t *testing.T) {
	first, last := serve(t), serve(t)
	n := last.node(t, func(o *Options) { o.Hops = []Hop{first.hop(), last.hop()} })
	if err := n.Check(ctx); source.KindOf(err) != source.UnknownHost || last.conns.Load() != 0 {
		t.Errorf("%v, after %d connections to the node", err, last.conns.Load())
	}
}

// A host that shows several keys must be asked for the one that is known.
func TestAHostWithACertificateIsKnownByItsAuthority(t *testing.T) {
	authority, _ := signer(t)
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	plain, _ := signer(t)
	certificate := &ssh.Certificate{Key: plain.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"127.0.0.1"}, ValidBefore: ssh.CertTimeInfinity}
	if err := certificate.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	shown, err := ssh.NewCertSigner(certificate, plain)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := signer(t)
	conf := &ssh.ServerConfig{NoClientAuth: true}
	conf.AddHostKey(shown)
	conf.AddHostKey(other)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go (&server{}).talk(conn, conf)
		}
	}()
	line := "@cert-authority " + knownhosts.Line([]string{l.Addr().String()}, authority.PublicKey()) + "\n"
	s := serve(t) // for its key only
	n := s.node(t, func(o *Options) {
		o.Hops[0].Address = l.Addr().String()
		o.KnownHosts = []string{write(t, dir, "known", line)}
	})
	if err := n.Check(ctx); err != nil {
		t.Error(err)
	}
	strange, _ := signer(t)
	n = s.node(t, func(o *Options) {
		o.Hops[0].Address = l.Addr().String()
		o.KnownHosts = []string{write(t, dir, "other", "@cert-authority "+knownhosts.Line([]string{l.Addr().String()}, strange.PublicKey())+"\n")}
	})
	if err := n.Check(ctx); source.KindOf(err) != source.HostKey && source.KindOf(err) != source.UnknownHost {
		t.Errorf("a certificate of somebody else: %v", err)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	s, other := serve(t), serve(t)
	dir := t.TempDir()
	_, private := signer(t)
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, says string }{
		{other.key, "rejects my key"},
		{write(t, dir, "locked", string(pemOf(locked))), "has a passphrase"},
		{write(t, dir, "nonsense", "s3cr3t"), "no private key"},
		{dir + "/missing", "cannot be read"},
	} {
		n := s.node(t, func(o *Options) { o.Hops[0].KeyFile = c.file })
		err := n.Check(ctx)
		if source.KindOf(err) != source.Credentials || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", c.file, err)
		}
	}
	n := s.node(t, func(o *Options) { o.Hops[0].User = "nobody" })
	if err := n.Check(ctx); source.KindOf(err) != source.Credentials || !strings.Contains(err.Error(), "account nobody") {
		t.Errorf("%v", err)
	}
}

func TestAnAgentHoldsTheKey(t *testing.T) {
	s := serve(t)
	b, err := os.ReadFile(s.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := ssh.ParseRawPrivateKey(b)
	if err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, conn) }()
		}
	}()
	n := s.node(t, func(o *Options) { o.Hops[0].KeyFile, o.Hops[0].Agent = "", socket })
	if err := n.Check(ctx); err != nil {
		t.Error(err)
	}
	n = s.node(t, func(o *Options) { o.Hops[0].KeyFile, o.Hops[0].Agent = "", socket+"-gone" })
	if err := n.Check(ctx); source.KindOf(err) != source.Credentials || !strings.Contains(err.Error(), "the agent does not answer") {
		t.Errorf("%v", err)
	}
}

func TestANodeThatCannotBeReached(t *testing.T) {
	s := serve(t)
	const free = "127.0.0.1:1" // a port that the kernel gives nobody, unlike one that a server has just left
	n := s.node(t, func(o *Options) { o.Hops[0].Address = free })
	if err := n.Check(ctx); source.KindOf(err) != source.Unreachable || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v", err)
	}
	n = s.node(t, func(o *Options) { o.Hops = append(o.Hops, Hop{Address: free, User: "bot", KeyFile: s.key}) })
	if err := n.Check(ctx); source.KindOf(err) != source.Unreachable || !strings.Contains(err.Error(), "no way there") {
		t.Errorf("behind a jump host: %v", err)
	}
}

// A host that takes the connection and says nothing.
func TestAContextThatEndsEndsTheGreeting(t *testing.T) {
	s := serve(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	why := errors.New("enough")
	stop, cancel := context.WithCancelCause(ctx)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			defer conn.Close()
			cancel(why)
			_, _ = io.Copy(io.Discard, conn)
		}
	}()
	n := s.node(t, func(o *Options) { o.Hops[0].Address = l.Addr().String() })
	if err := n.Check(stop); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

func TestATransferThatIsCutAtEveryTenthIsResumed(t *testing.T) {
	const size = 8 << 20
	s := serve(t)
	n := s.node(t)
	p := place(t, n)
	content := sourcetest.Bytes(size)
	name := p.Root + "/error-4242-0.out"
	p.Write(t, name, content)
	f, err := p.Source.Stat(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	keep, err := spool.Open(t.TempDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	var got spool.Taken
	tries := 0
	for fetched := int64(0); len(got.Sources) == 0 && tries < 30; tries++ {
		n.mu.Lock()
		n.now.close() // the next connection is another, which is cut
		n.mu.Unlock()
		s.cut.Store(size / 10)
		got, err = keep.Take(ctx, spool.Place{Source: p.Source, ID: "sftp://node", Origin: "sftp"}, []spool.Want{{File: f}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		fetched += got.Fetched
		for _, m := range got.Missed {
			if source.KindOf(m.Err) != source.Lost {
				t.Fatalf("try %d: %v", tries, m.Err)
			}
		}
		if fetched > size {
			t.Fatalf("fetched %d", fetched)
		}
	}
	if len(got.Sources) != 1 || tries < 9 {
		t.Fatalf("%+v after %d tries", got, tries)
	}
	if b, err := os.ReadFile(got.Sources[0].Path); err != nil || !bytes.Equal(b, content) {
		t.Error("it is not what the node has")
	}
}

// pkg/sftp takes an answer that is shorter than the question for the end of the file.
func TestAServerThatGivesLessAtOnceThanItIsAskedFor(t *testing.T) {
	s := serve(t)
	n := s.node(t)
	p := place(t, n)
	content := sourcetest.Bytes(1 << 20)
	p.Write(t, p.Root+"/a", content)
	l, err := n.link(ctx)
	if err == nil {
		err = sftp.MaxPacketUnchecked(openSSHBytes)(l.files) // this server gives 32 KB
	}
	if err != nil {
		t.Fatal(err)
	}
	_, body, err := p.Source.Open(ctx, p.Root+"/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	got := make([]byte, 1<<20)
	if _, err := io.ReadFull(body, got); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%v", err)
	}
}

func TestALostConnectionIsMadeAgain(t *testing.T) {
	s := serve(t)
	n := s.node(t)
	p := place(t, n)
	p.Write(t, p.Root+"/a", []byte("x"))
	for i := range 3 {
		if _, err := p.Source.Stat(ctx, p.Root+"/a"); err != nil {
			t.Fatal(err)
		}
		if got := s.conns.Load(); got != int64(i+1) {
			t.Errorf("%d connections", got)
		}
		n.mu.Lock()
		l := n.now
		n.mu.Unlock()
		_ = l.client.Close()
		<-l.gone
	}
	_ = n.Close()
	if err := n.Check(ctx); err == nil {
		t.Error("a closed node connects")
	}
}

// denying refuses what lies below /closed.
type denying struct{ sftp.Handlers }

func (d denying) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	if strings.Contains(r.Filepath, "closed") {
		return nil, sftp.ErrSSHFxPermissionDenied
	}
	return d.FileGet.Fileread(r)
}

func (d denying) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	if strings.Contains(r.Filepath, "/closed") && (r.Method == "List" || !strings.HasSuffix(r.Filepath, "closed")) {
		return nil, sftp.ErrSSHFxPermissionDenied
	}
	return d.FileList.Filelist(r)
}

func TestWhatMayNotBeReadIsNotMissing(t *testing.T) {
	s := serve(t)
	memory := sftp.InMemHandler()
	s.handlers = &sftp.Handlers{FileGet: denying{memory}, FilePut: memory.FilePut, FileCmd: memory.FileCmd, FileList: denying{memory}}
	n := s.node(t)
	l, err := n.link(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"/logs", "/logs/closed", "/logs/open"} {
		if err := l.files.Mkdir(d); err != nil {
			t.Fatal(err)
		}
	}
	files, err := n.Files("/logs")
	if err != nil {
		t.Fatal(err)
	}
	f, err := l.files.Create("/logs/open/a.out")
	if err == nil {
		_, err = f.Write([]byte("x"))
	}
	if err != nil {
		t.Fatal(err)
	}
	found, err := files.Glob(ctx, "/logs/*/*.out")
	if len(found) != 1 || source.KindOf(err) != source.Denied || !strings.Contains(err.Error(), "/logs/closed on 127.0.0.1") {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := files.Stat(ctx, "/logs/closed/a.out"); source.KindOf(err) != source.Denied {
		t.Errorf("%v", err)
	}
}

func TestAccountsHaveTheirNames(t *testing.T) {
	s := serve(t)
	s.answer = func(line string, out, _ io.Writer) uint32 {
		fmt.Fprintf(out, "alice:x:%d:100:A:/home/alice:/bin/sh\n", os.Getuid())
		return 0
	}
	p := place(t, s.node(t))
	p.Write(t, p.Root+"/a", []byte("x"))
	for range 2 {
		files, err := p.Source.Glob(ctx, p.Root+"/*")
		if err != nil || len(files) != 1 || files[0].Owner != "alice" {
			t.Errorf("%+v, %v", files, err)
		}
	}
	if s.asked() != fmt.Sprintf("getent passwd %d", os.Getuid()) {
		t.Errorf("asked: %s", s.asked())
	}
}

func TestCommandsAreRunAsTheyAre(t *testing.T) {
	s := serve(t)
	s.answer = func(line string, out, errs io.Writer) uint32 {
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Stdout, cmd.Stderr = out, errs
		_ = cmd.Run()
		return uint32(cmd.ProcessState.ExitCode())
	}
	n := s.node(t)
	words := []string{"", "a b", "$(id)", "`id`", "a'b", `"`, "; rm -rf /", "*", "~", "#", "&", "|", "a\x1fb", "ä", "=ls", "%1", "--x=%A_%a"}
	out, err := n.Run(ctx, append([]string{"printf", "<%s>"}, words...)...)
	if err != nil || string(out.Stdout) != "<"+strings.Join(words, "><")+">" {
		t.Errorf("%q, %v", out.Stdout, err)
	}
	out, err = n.Run(ctx, "ls", "/nowhere")
	if err != nil || out.Code == 0 || len(out.Stderr) == 0 {
		t.Errorf("%+v, %v", out, err)
	}
	before := s.asked()
	for _, argv := range [][]string{{}, {""}, {"-x"}, {"a b"}, {"A=1"}, {"ls", "a\nb"}, {"ls", `a\`}, {"ls", "a\x00"}, {"ls", "!1"}, {"ls", "\xff"}, {"$(id)"}} {
		if _, err := n.Run(ctx, argv...); err == nil {
			t.Errorf("%q was run", argv)
		}
	}
	if s.asked() != before {
		t.Errorf("run were %s", s.asked())
	}
}

func TestACommandThatDoesNotEndIsLeft(t *testing.T) {
	s := serve(t)
	why := errors.New("enough")
	stop, cancel := context.WithCancelCause(ctx)
	release := make(chan struct{})
	defer close(release)
	s.answer = func(string, io.Writer, io.Writer) uint32 {
		cancel(why)
		<-release
		return 0
	}
	if _, err := s.node(t).Run(stop, "sleep", "1000"); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

func FuzzQuotedWordsStayWords(f *testing.F) {
	f.Add("a b", "c'd")
	f.Add("", "$(x)")
	f.Fuzz(func(t *testing.T, a, b string) {
		line, err := quote([]string{"ls", a, b})
		if err != nil {
			return
		}
		if got, ok := unquote(line); !ok || len(got) != 3 || got[1] != a || got[2] != b {
			t.Errorf("%q and %q became %s, which is %q", a, b, line, got)
		}
	})
}

// unquote reads a line as a shell does, as far as quote writes them.
func unquote(line string) (words []string, ok bool) {
	word, quoted := "", false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
			word += line[i : i+1]
		case c == '\\' && i+1 < len(line):
			i++
			word += line[i : i+1]
		case c == ' ':
			words, word = append(words, word), ""
		case strings.IndexByte(plain, c) < 0:
			return nil, false
		default:
			word += line[i : i+1]
		}
	}
	return append(words, word), !quoted
}
