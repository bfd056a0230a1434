package ais

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"faultline/config"
)

// Access is how to reach one storage cluster. It prints without the token, and without what may stand in the endpoint.
type Access struct {
	// Cluster is the name under which the access is configured, "" for one that somebody typed.
	Cluster  string
	Endpoint string // of a proxy: http(s)://host:port
	Token    config.Secret
	// CA is the PEM of the authority that signed the cluster's certificate; nil = those of this machine.
	CA []byte
	// Certificate and Key are the PEM of a pair of ours, for clusters that ask who calls (mutual TLS); nil and "" = none.
	Certificate []byte
	Key         config.Secret
	// SkipVerify believes any certificate. A typed access needs the permission of the configuration for it.
	SkipVerify bool
	// configured accesses were written by the operator; the rules for typed ones do not hold.
	configured bool
}

// Format implements fmt.Formatter: %#v, or an endpoint with a password in it, would show too much otherwise.
func (a Access) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "(access to a storage cluster)")
}

// Stated is a as whoever runs a command states it. The rules for accesses that others type do not hold.
func Stated(a Access) Access {
	a.configured = true
	return a
}

// maxPEM bounds a file of certificates; the one of a whole operating system's authorities has 250 kB.
const maxPEM = 1 << 20

// configured makes an access of what the configuration says.
func configured(s config.Storage) (Access, error) {
	a := Access{Cluster: s.Name, Endpoint: s.Endpoint, Token: s.Token, SkipVerify: s.SkipVerify, configured: true}
	var key []byte
	for _, f := range []struct {
		what, name string
		to         *[]byte
	}{{"CA file", s.CAFile, &a.CA}, {"certificate", s.CertFile, &a.Certificate}, {"key", s.KeyFile, &key}} {
		if f.name == "" {
			continue
		}
		var err error
		if *f.to, err = readPEM(f.name); err != nil {
			return Access{}, fmt.Errorf("the %s of storage %s: %w", f.what, s.Name, err)
		}
	}
	a.Key = config.Secret(key)
	return a, nil
}

func readPEM(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxPEM))
}

// target is an endpoint that was checked.
type target struct {
	base string // scheme://host:port
	host string // host:port as it was written, for sentences
}

// hostLetters are those of names and addresses, the brackets of IPv6 included. Others never reach a sentence.
const hostLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]"

// check reads the endpoint and holds the access against the rules, before anything is sent to anybody.
func (a Access) check(rules config.StorageAccess) (target, *Error) {
	u, err := url.Parse(strings.TrimSpace(a.Endpoint))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Path != "" && u.Path != "/" ||
		u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Host, hostLetters) != "" || len(u.Host) > 260 {
		return target{}, fault(BadEndpoint, "")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	allowed := func(p config.HostPattern) bool { return p.Matches(u.Hostname(), port) }
	switch {
	case !a.configured && !slices.ContainsFunc(rules.Allow, allowed):
		return target{}, fault(NotAllowed, u.Host)
	case a.SkipVerify && !a.configured && !rules.AllowSkipVerify:
		return target{}, fault(SkipNotAllowed, "")
	case a.SkipVerify && len(a.CA) > 0:
		return target{}, fault(TLSChoice, "")
	}
	return target{base: u.Scheme + "://" + u.Host, host: u.Host}, nil
}

// tls is the configuration of the connection.
func (a Access) tls() (*tls.Config, *Error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: a.SkipVerify} //nolint:gosec // only where the configuration allows it, and the report says so
	if len(a.CA) > 0 {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(a.CA) {
			return nil, fault(BadCA, "")
		}
	}
	if len(a.Certificate) > 0 || a.Key != "" {
		pair, err := tls.X509KeyPair(a.Certificate, []byte(a.Key.Reveal()))
		if err != nil {
			return nil, fault(BadPair, "") // its text may quote the key
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// token takes what people paste: the JWT, with "Bearer" in front of it, or the JSON file of the ais command.
func (a Access) token(host string) (config.Secret, *Error) {
	t := []byte(strings.TrimSpace(a.Token.Reveal()))
	if len(t) > 0 && t[0] == '{' {
		var file struct {
			Token string `json:"token"`
		}
		if json.Unmarshal(t, &file) != nil || file.Token == "" {
			return "", fault(MalformedToken, host)
		}
		t = []byte(strings.TrimSpace(file.Token))
	}
	if len(t) > 7 && bytes.EqualFold(t[:7], []byte("Bearer ")) {
		t = bytes.TrimSpace(t[7:])
	}
	for _, c := range t {
		if c <= ' ' || c >= 0x7f {
			return "", fault(MalformedToken, host)
		}
	}
	return config.Secret(t), nil
}
