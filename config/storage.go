package config

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Storage is one AIStore cluster whose logs the bot may pull with an access of its own.
type Storage struct {
	// Name is what people choose, and what a case file says instead of the access.
	Name string `yaml:"name"`
	// Endpoint is the address of a proxy (gateway), such as https://ais.example.org:51080. It needs no entry in
	// storage_access.allow.
	Endpoint string `yaml:"endpoint"`
	// Token is the raw JWT or the JSON that `ais auth login` writes; "" where the cluster asks for none.
	Token Secret `yaml:"token"`
	// CAFile names the PEM file of the authority that signed the cluster's certificate; "" = those of this machine.
	CAFile string `yaml:"ca_file"`
	// CertFile and KeyFile name the PEM files of the bot's own certificate and key, for clusters with mutual TLS; "" = none.
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
	// SkipVerify believes any certificate: whoever answers gets the token.
	SkipVerify bool `yaml:"skip_verify"`
	// Clusters whose jobs use this storage, by name; empty = all.
	Clusters []string `yaml:"clusters"`
}

// StorageAccess bounds the accesses that people type.
type StorageAccess struct {
	// Allow are the hosts that a typed address may name; empty = nobody can type one.
	Allow []HostPattern `yaml:"allow"`
	// Ask: people are asked before a configured access is used; else the bot pulls by itself where a job's logs lead to its storage.
	Ask bool `yaml:"ask"`
	// AllowSkipVerify lets people choose not to check the certificate.
	AllowSkipVerify bool `yaml:"allow_skip_verify"`
}

// Untyped says why nobody can give an access by typing its address, "" where people can.
func (a StorageAccess) Untyped() string {
	if len(a.Allow) > 0 {
		return ""
	}
	return "storage_access.allow is empty: people can't type an AIStore cluster's address, only choose a configured one or upload its logs"
}

// HostPattern is host or host:port, for any port or one. A host may begin with "*.", for every name below the rest.
type HostPattern string

// Matches says whether an endpoint's host and port fit.
func (p HostPattern) Matches(host, port string) bool {
	wantHost, wantPort := p.split()
	if wantPort != "" && wantPort != port {
		return false
	}
	wantHost, host = strings.ToLower(wantHost), strings.ToLower(host)
	if below, ok := strings.CutPrefix(wantHost, "*"); ok {
		return len(host) > len(below) && strings.HasSuffix(host, below)
	}
	if a, b := net.ParseIP(wantHost), net.ParseIP(host); a != nil && b != nil {
		return a.Equal(b)
	}
	return wantHost == host
}

func (p HostPattern) split() (host, port string) {
	if h, n, err := net.SplitHostPort(string(p)); err == nil {
		return h, n
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(p), "["), "]"), ""
}

const hostLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

func (p HostPattern) valid() bool {
	host, port := p.split()
	if strings.HasSuffix(string(p), ":") && port == "" && net.ParseIP(host) == nil {
		return false
	}
	if port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return false
		}
	}
	if net.ParseIP(host) != nil {
		return true
	}
	host = strings.TrimPrefix(host, "*.")
	return host != "" && strings.Trim(host, hostLetters) == ""
}

func (c *Config) validateStorage(bad func(path, format string, args ...any)) {
	names := map[string]bool{}
	for i, s := range c.Storage {
		at := fmt.Sprintf("storage[%d]", i)
		switch {
		case s.Name == "" || strings.ContainsAny(s.Name, " \t`<>&*\n"):
			bad(at+".name", "%q: people choose the storage by name, so use only letters, digits, - and _", s.Name)
		case names[s.Name]:
			bad(at+".name", "%q is the name of two storage clusters", s.Name)
		}
		names[s.Name] = true
		// The address is not repeated: somebody may have written a password into it.
		u, err := url.Parse(s.Endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
			u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
			bad(at+".endpoint", "is not a proxy URL such as https://ais.example.org:51080, with nothing after the port")
		}
		for _, f := range []struct{ key, name string }{{"ca_file", s.CAFile}, {"cert_file", s.CertFile}, {"key_file", s.KeyFile}} {
			if f.name != "" && !filepath.IsAbs(f.name) {
				bad(at+"."+f.key, "%q is not an absolute path, and the bot may be started from any directory", f.name)
			}
		}
		if (s.CertFile == "") != (s.KeyFile == "") {
			bad(at+".cert_file", "and key_file must be set together")
		}
		if s.CAFile != "" && s.SkipVerify {
			bad(at+".skip_verify", "contradicts ca_file: the certificate is either verified or not")
		}
		for j, name := range s.Clusters {
			if !slices.ContainsFunc(c.Clusters, func(cl Cluster) bool { return cl.Name == name }) {
				bad(fmt.Sprintf("%s.clusters[%d]", at, j), "there is no cluster %q", name)
			}
		}
	}
	for i, p := range c.StorageAccess.Allow {
		if !p.valid() {
			bad(fmt.Sprintf("storage_access.allow[%d]", i), "%q is not host, host:port or *.domain; leave out http://", p)
		}
	}
}
