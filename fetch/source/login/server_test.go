package login

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"faultline/fetch/source/sourcetest"
)

var ctx = context.Background()

// server is an SSH server in this process, with SFTP over this machine's files, and faults.
type server struct {
	address string
	host    ssh.Signer // whose key it shows
	key     string     // file of the key that it lets in
	known   string     // known_hosts that holds it
	// cut ends each connection after so many bytes that it sent; 0 = never.
	cut atomic.Int64
	// handlers serve SFTP instead of this machine's files, if set.
	handlers *sftp.Handlers
	// commands are the lines that were asked to be run.
	mu       sync.Mutex
	commands []string
	answer   func(line string, out, errs io.Writer) uint32
	conns    atomic.Int64
}

func signer(t *testing.T) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s, private
}

// write makes a file in dir.
func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func serve(t *testing.T) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{}
	s.host, _ = signer(t)
	user, private := signer(t)
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	s.key = write(t, dir, "key", string(pem.EncodeToMemory(block)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s.address = l.Addr().String()
	s.known = write(t, dir, "known_hosts", knownhosts.Line([]string{s.address}, s.host.PublicKey())+"\n")
	conf := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() != "bot" || !bytes.Equal(key.Marshal(), user.PublicKey().Marshal()) {
			return nil, errors.New("who is that?")
		}
		return nil, nil
	}}
	conf.AddHostKey(s.host)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			go s.talk(&cutConn{Conn: conn, left: s.cut.Load()}, conf)
		}
	}()
	return s
}

// cutConn breaks off when it has sent so much.
type cutConn struct {
	net.Conn
	left int64
}

func (c *cutConn) Write(p []byte) (int, error) {
	if c.left > 0 {
		if c.left -= int64(len(p)); c.left <= 0 {
			_ = c.Close()
			return 0, errors.New("cut")
		}
	}
	return c.Conn.Write(p)
}

func (s *server) talk(conn net.Conn, conf *ssh.ServerConfig) {
	defer conn.Close()
	c, channels, requests, err := ssh.NewServerConn(conn, conf)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for nc := range channels {
		switch nc.ChannelType() {
		case "session":
			ch, reqs, err := nc.Accept()
			if err != nil {
				return
			}
			go s.session(ch, reqs)
		case "direct-tcpip":
			var to struct {
				Host     string
				Port     uint32
				From     string
				FromPort uint32
			}
			if ssh.Unmarshal(nc.ExtraData(), &to) != nil {
				return
			}
			out, err := net.Dial("tcp", net.JoinHostPort(to.Host, fmt.Sprint(to.Port)))
			if err != nil {
				_ = nc.Reject(ssh.ConnectionFailed, "no way there")
				continue
			}
			ch, reqs, err := nc.Accept()
			if err != nil {
				return
			}
			go ssh.DiscardRequests(reqs)
			go func() { _, _ = io.Copy(ch, out); _ = ch.Close() }()
			go func() { _, _ = io.Copy(out, ch); _ = out.Close() }()
		default:
			_ = nc.Reject(ssh.UnknownChannelType, "")
		}
	}
	_ = c.Close()
}

func (s *server) session(ch ssh.Channel, reqs <-chan *ssh.Request) {
	defer ch.Close()
	for r := range reqs {
		var text struct{ Value string }
		_ = ssh.Unmarshal(r.Payload, &text)
		switch {
		case r.Type == "subsystem" && text.Value == "sftp":
			_ = r.Reply(true, nil)
			if s.handlers != nil {
				_ = sftp.NewRequestServer(ch, *s.handlers).Serve()
				return
			}
			files, err := sftp.NewServer(ch, sftp.ReadOnly())
			if err == nil {
				_ = files.Serve()
			}
			return
		case r.Type == "exec":
			_ = r.Reply(true, nil)
			s.mu.Lock()
			s.commands = append(s.commands, text.Value)
			s.mu.Unlock()
			code := uint32(127)
			if s.answer != nil {
				code = s.answer(text.Value, ch, ch.Stderr())
			}
			_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
			return
		default:
			_ = r.Reply(false, nil)
		}
	}
}

func (s *server) hop() Hop { return Hop{Address: s.address, User: "bot", KeyFile: s.key} }

// node is a way to the server, which may have changed.
func (s *server) node(t *testing.T, change ...func(*Options)) *Node {
	t.Helper()
	o := Options{Hops: []Hop{s.hop()}, KnownHosts: []string{s.known}}
	for _, c := range change {
		c(&o)
	}
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// place is an empty place of the suite, below a directory of this machine that the node serves.
func place(t *testing.T, n *Node) sourcetest.Place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files, err := n.Files(filepath.Join(dir, "root"))
	if err != nil {
		t.Fatal(err)
	}
	return sourcetest.OnDisk(files, dir)
}

func (s *server) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.commands, "\n")
}

func pemOf(b *pem.Block) []byte { return pem.EncodeToMemory(b) }

func rsaKey(t *testing.T) ssh.PublicKey {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
