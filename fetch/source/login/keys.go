package login

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// keysOf gives the keys for a hop; done is called when they are not needed any more.
func keysOf(ctx context.Context, h Hop) (keys func() ([]ssh.Signer, error), done func(), err error) {
	var mine []ssh.Signer
	if h.KeyFile != "" {
		if mine, err = readKey(h.KeyFile); err != nil {
			return nil, nil, err
		}
	}
	if h.Agent == "" {
		return func() ([]ssh.Signer, error) { return mine, nil }, func() {}, nil
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", h.Agent)
	if err != nil {
		return nil, nil, fmt.Errorf("the agent does not answer: %w", err)
	}
	held := agent.NewClient(conn)
	return func() ([]ssh.Signer, error) {
		theirs, err := held.Signers()
		if err == nil && len(theirs)+len(mine) == 0 {
			err = errors.New("the agent holds no key")
		}
		return append(theirs, mine...), err
	}, func() { _ = conn.Close() }, nil
}

// readKey reads a private key and, where there is one, its certificate.
func readKey(file string) ([]ssh.Signer, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be read: %w", err)
	}
	key, err := ssh.ParsePrivateKey(b)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		return nil, fmt.Errorf("the key %s has a passphrase: put it into an agent, or make one without for the bot alone", file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is no private key that I understand", file) // the error might quote it
	}
	b, err = os.ReadFile(file + "-cert.pub")
	if errors.Is(err, os.ErrNotExist) {
		return []ssh.Signer{key}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the certificate of the key cannot be read: %w", err)
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(b)
	if err != nil {
		return nil, fmt.Errorf("%s-cert.pub is no certificate: %w", file, err)
	}
	certificate, ok := public.(*ssh.Certificate)
	if !ok {
		return nil, fmt.Errorf("%s-cert.pub is no certificate", file)
	}
	both, err := ssh.NewCertSigner(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("%s-cert.pub is of another key: %w", file, err)
	}
	return []ssh.Signer{both, key}, nil
}
