// Package login reaches a cluster through its login node: files by SFTP, commands by SSH, over one connection that is made when
// it is needed and made again when it is lost. A host whose key is not in known_hosts is never talked to.
package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"faultline/fetch/source"
	"faultline/fetch/source/internal/await"
)

// Options say how a login node is reached.
type Options struct {
	// Hops are the hosts on the way; the last is the login node, through those before it the connection jumps.
	Hops []Hop
	// KnownHosts are files as OpenSSH keeps them; @cert-authority and @revoked are understood. There is no way around them.
	KnownHosts []string
	// KeepAlive is how often the node is asked for a sign of life; 0 = 15 s. Three that stay out end the connection.
	KeepAlive time.Duration
}

// Hop is one host, and who the bot is there.
type Hop struct {
	Address string // host or host:port
	User    string
	// KeyFile is a private key without a passphrase; a certificate in KeyFile-cert.pub is used with it. It is read for each
	// connection. Agent is the socket of an agent that holds keys. One of both is needed.
	KeyFile, Agent string
}

// Node is a login node. Its methods may be called at the same time.
type Node struct {
	name  string
	hops  []Hop
	hosts *hosts
	alive time.Duration

	dialing chan struct{} // holds one token: only one dials
	mu      sync.Mutex
	now     *link // nil while there is none
	closed  bool
}

const (
	aliveAfter = 15 * time.Second
	// hangAfter is how long an abandoned call may take before the connection is given up: a server that opened a pipe waits
	// for its writer, and everybody waits for the server.
	hangAfter = 30 * time.Second
	// packets that are asked for at a time, of one file.
	packets = 64
	// openSSHBytes are what OpenSSH gives at once (SFTP_MAX_READ_LENGTH) since it tells its limits; others give 32 KB.
	openSSHBytes = 255 << 10
)

// New reads known_hosts and looks at the options; it connects to nobody.
func New(o Options) (*Node, error) {
	if len(o.Hops) == 0 {
		return nil, errors.New("no login node is named")
	}
	n := &Node{hops: make([]Hop, len(o.Hops)), alive: o.KeepAlive, dialing: make(chan struct{}, 1)}
	for i, h := range o.Hops {
		if _, _, err := net.SplitHostPort(h.Address); err != nil {
			h.Address = net.JoinHostPort(strings.Trim(h.Address, "[]"), "22")
		}
		host, _, err := net.SplitHostPort(h.Address)
		if err != nil || host == "" || strings.ContainsAny(host, " \t\n/@") {
			return nil, fmt.Errorf("%q is neither host nor host:port", o.Hops[i].Address)
		}
		if h.User == "" {
			return nil, fmt.Errorf("for %s no account is named", host)
		}
		if h.KeyFile == "" && h.Agent == "" {
			return nil, fmt.Errorf("for %s neither a key file nor an agent is named", host)
		}
		n.hops[i], n.name = h, host
	}
	if n.alive <= 0 {
		n.alive = aliveAfter
	}
	var err error
	if n.hosts, err = readHosts(o.KnownHosts); err != nil {
		return nil, err
	}
	return n, nil
}

// Name is the node's host.
func (n *Node) Name() string { return n.name }

// Check connects, and says in words why that is not possible.
func (n *Node) Check(ctx context.Context) error {
	_, err := n.link(ctx)
	return err
}

// Close ends the connection, for good.
func (n *Node) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	if n.now != nil {
		n.now.close()
	}
	return nil
}

// link is one connection.
type link struct {
	client *ssh.Client
	files  *sftp.Client
	hops   []io.Closer // those before the node, and it
	once   sync.Once
	gone   chan struct{} // closed when the connection is
}

// close ends a connection, from its first hop on: what is behind it may not answer any more.
func (l *link) close() {
	l.once.Do(func() {
		close(l.gone)
		for _, c := range l.hops {
			_ = c.Close() // it may be gone already
		}
	})
}

// link gives the connection, or makes one.
func (n *Node) link(ctx context.Context) (*link, error) {
	select {
	case n.dialing <- struct{}{}:
		defer func() { <-n.dialing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	n.mu.Lock()
	l, closed := n.now, n.closed
	n.mu.Unlock()
	if closed {
		return nil, &source.Error{Kind: source.Failed, Place: n.name, More: "the connection was closed for good", Err: net.ErrClosed}
	}
	if l != nil {
		select {
		case <-l.gone:
		default:
			return l, nil
		}
	}
	l, err := n.dial(ctx)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		l.close()
	}
	n.now = l
	return l, nil
}

// dial connects to one hop after the other.
func (n *Node) dial(ctx context.Context) (_ *link, err error) {
	l := &link{gone: make(chan struct{})}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	for _, h := range n.hops {
		var conn net.Conn
		if l.client == nil {
			conn, err = (&net.Dialer{KeepAlive: n.alive}).DialContext(ctx, "tcp", h.Address)
		} else {
			conn, err = l.client.DialContext(ctx, "tcp", h.Address)
		}
		if err != nil {
			return nil, n.unreachable(ctx, h, err)
		}
		l.hops = append(l.hops, conn)
		if l.client, err = n.greet(ctx, h, conn); err != nil {
			return nil, err
		}
	}
	client := l.client
	l.files, err = await.Do(ctx, func() (*sftp.Client, error) {
		files, err := sftp.NewClient(client, sftp.UseConcurrentReads(true), sftp.MaxConcurrentRequestsPerFile(packets))
		if err != nil {
			return nil, err
		}
		if _, told := files.HasExtension("limits@openssh.com"); told {
			err = sftp.MaxPacketUnchecked(openSSHBytes)(files)
		}
		return files, err
	}, nil)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, &source.Error{Kind: source.Failed, Place: n.name, More: "it gives no SFTP: " + err.Error(), Err: err}
	}
	go func() {
		_ = l.client.Wait()
		l.close()
	}()
	go func() {
		_ = l.files.Wait()
		l.close()
	}()
	go n.keep(l) //nolint:gosec // it outlives the request on purpose: the connection serves the next ones
	return l, nil
}

func openSSH(c *ssh.Client) bool { return strings.Contains(string(c.ServerVersion()), "OpenSSH") }

// greet makes sure of who the host is, and tells it who we are.
func (n *Node) greet(ctx context.Context, h Hop, conn net.Conn) (*ssh.Client, error) {
	host, _, _ := net.SplitHostPort(h.Address)
	keys, done, err := keysOf(ctx, h)
	if err != nil {
		return nil, &source.Error{Kind: source.Credentials, Place: host, More: err.Error(), Err: err}
	}
	defer done()
	var seen ssh.PublicKey
	var keyless error
	conf := &ssh.ClientConfig{
		User: h.User,
		Auth: []ssh.AuthMethod{ssh.PublicKeysCallback(func() (mine []ssh.Signer, err error) {
			mine, err = keys()
			keyless = err
			return mine, err
		})},
		HostKeyAlgorithms: n.hosts.algorithms(h.Address),
		HostKeyCallback: func(address string, remote net.Addr, key ssh.PublicKey) error {
			seen = key
			return n.hosts.check(address, remote, key)
		},
		ClientVersion: "SSH-2.0-Faultline",
	}
	client, err := await.Do(ctx, func() (*ssh.Client, error) {
		c, channels, requests, err := ssh.NewClientConn(conn, h.Address, conf)
		if err != nil {
			return nil, err
		}
		return ssh.NewClient(c, channels, requests), nil
	}, nil)
	if err != nil {
		_ = conn.Close() // which ends the call that was abandoned, too
		if ctx.Err() == nil && keyless != nil {
			return nil, &source.Error{Kind: source.Credentials, Place: host, More: keyless.Error(), Err: keyless}
		}
		return nil, n.ungreeted(ctx, host, h, seen, err)
	}
	return client, nil
}

// keep asks for signs of life.
func (n *Node) keep(l *link) {
	tick := time.NewTicker(n.alive)
	defer tick.Stop()
	for {
		select {
		case <-l.gone:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), 3*n.alive)
		_, err := await.Do(ctx, func() (bool, error) {
			ok, _, err := l.client.SendRequest("keepalive@openssh.com", true, nil)
			return ok, err
		}, nil)
		cancel()
		if err != nil {
			l.close()
			return
		}
	}
}

// do calls the server, and leaves it when ctx ends. A call that hangs on costs the connection.
func do[T any](ctx context.Context, l *link, call func() (T, error), drop func(T)) (T, error) {
	done := make(chan struct{})
	value, err := await.Do(ctx, func() (T, error) {
		defer close(done)
		return call()
	}, drop)
	if ctx.Err() != nil && err != nil {
		go l.watch(done)
	}
	return value, err
}

func (l *link) watch(done <-chan struct{}) {
	hang := time.NewTimer(hangAfter)
	defer hang.Stop()
	select {
	case <-done:
	case <-l.gone:
	case <-hang.C:
		l.close()
	}
}
