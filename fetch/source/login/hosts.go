package login

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// hosts are the known ones.
type hosts struct {
	check ssh.HostKeyCallback
	lines map[string][]string // of each file
}

func readHosts(files []string) (*hosts, error) {
	if len(files) == 0 {
		return nil, errors.New("no known_hosts file is named, and I connect to nobody whose key I cannot check")
	}
	h := &hosts{lines: map[string][]string{}}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("known_hosts cannot be read: %w", err)
		}
		h.lines[f] = strings.Split(string(b), "\n")
	}
	var err error
	if h.check, err = knownhosts.New(files...); err != nil {
		return nil, fmt.Errorf("known_hosts cannot be read: %w", err)
	}
	return h, nil
}

// nobody is a key that no host has: refusing it, known_hosts names those that it would take.
type nobody struct{}

func (nobody) Type() string                        { return "none" }
func (nobody) Marshal() []byte                     { return []byte("none") }
func (nobody) Verify([]byte, *ssh.Signature) error { return errors.New("nobody's key") }

// certificates are what a host may show that an authority vouches for.
var certificates = []string{ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01,
	ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01}

// algorithms are those of the keys that are known of a host. A host has several keys; asked for none in particular it may show
// one that known_hosts does not hold, and look like an impostor.
func (h *hosts) algorithms(address string) []string {
	var unknown *knownhosts.KeyError
	if err := h.check(address, &net.TCPAddr{}, nobody{}); !errors.As(err, &unknown) {
		return nil
	}
	var list []string
	for _, k := range unknown.Want {
		switch t := k.Key.Type(); {
		case h.authority(k):
			list = append(list, certificates...)
		case t == ssh.KeyAlgoRSA:
			list = append(list, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		default:
			list = append(list, t)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// authority says whether a line of known_hosts names who vouches for hosts, not a host's own key.
func (h *hosts) authority(k knownhosts.KnownKey) bool {
	lines := h.lines[k.Filename]
	return k.Line <= len(lines) && k.Line > 0 && strings.HasPrefix(strings.TrimSpace(lines[k.Line-1]), "@cert-authority")
}
