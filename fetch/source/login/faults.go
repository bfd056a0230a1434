package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"faultline/fetch/source"
)

// unreachable says why a hop does not take the connection.
func (n *Node) unreachable(ctx context.Context, h Hop, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	host, _, _ := net.SplitHostPort(h.Address)
	e := &source.Error{Kind: source.Unreachable, Place: host, Err: err}
	var refused *ssh.OpenChannelError
	var dns *net.DNSError
	var slow net.Error
	switch {
	case errors.As(err, &refused):
		e.More = "the host before it says: " + refused.Message
	case errors.As(err, &dns) && dns.IsNotFound:
		e.More = "no host of that name is known here"
	case errors.Is(err, syscall.ECONNREFUSED):
		e.More = "connection refused"
	case errors.As(err, &slow) && slow.Timeout():
		e.Kind = source.TimedOut
	}
	return e
}

// ungreeted says why a host and the bot did not come together. Seen is the key that the host has shown.
func (n *Node) ungreeted(ctx context.Context, host string, h Hop, seen ssh.PublicKey, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &source.Error{Kind: source.Lost, Place: host, Err: err}
	var unknown *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	var algorithms *ssh.AlgorithmNegotiationError
	switch {
	case errors.As(err, &unknown) && len(unknown.Want) == 0:
		e.Kind = source.UnknownHost
	case errors.As(err, &unknown), errors.As(err, &revoked):
		e.Kind = source.HostKey
	case errors.As(err, &algorithms) && strings.Contains(algorithms.What, "host key"):
		e.Kind, e.More = source.UnknownHost, "it has none of the kinds of key that are there"
		if len(n.hosts.algorithms(h.Address)) == 0 {
			e.More = "it has no kind of key that I understand"
		}
	case strings.Contains(err.Error(), "unable to authenticate"):
		e.Kind, e.More = source.Credentials, "account "+h.User
	case seen != nil && n.hosts.check(h.Address, &net.TCPAddr{}, seen) != nil: // a certificate that does not hold
		e.Kind, e.More = source.HostKey, err.Error()
	default:
		e.More = err.Error()
	}
	if seen != nil && (e.Kind == source.HostKey || e.Kind == source.UnknownHost) {
		e.More = fmt.Sprintf("it shows %s %s", seen.Type(), ssh.FingerprintSHA256(seen))
	}
	return e
}

// fault says in the words of sources what the server of a file says.
func (n *Node) fault(name string, err error) *source.Error {
	var known *source.Error
	if errors.As(err, &known) {
		return known
	}
	e := &source.Error{Kind: source.Failed, Place: n.name, Name: name, Err: err}
	var status *sftp.StatusError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind = source.NotFound
	case errors.Is(err, fs.ErrPermission):
		e.Kind = source.Denied
	case lost(err):
		e.Kind = source.Lost
	case errors.As(err, &status):
		e.More = status.Error()
		if text := e.More; strings.Contains(text, "not a directory") || strings.Contains(text, "too long") {
			e.Kind = source.NotFound
		}
	default:
		e.More = err.Error()
	}
	return e
}

// lost says whether the connection is.
func lost(err error) bool {
	var network net.Error
	return errors.Is(err, sftp.ErrSSHFxConnectionLost) || errors.Is(err, sftp.ErrSSHFxNoConnection) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) || errors.As(err, &network)
}
