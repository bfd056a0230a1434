//go:build realais

package ais

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate is what a cluster shows, and the authority that signed it.
type certificate struct{ file, key, ca string }

// settings are those of AIStore's HTTP. Its daemons do not check each other: what they would think of it is no matter here.
func (c *certificate) settings() string {
	if c == nil {
		return `"use_https":false,"skip_verify":false`
	}
	return fmt.Sprintf(`"use_https":true,"skip_verify":true,"server_crt":%q,"server_key":%q`, c.file, c.key)
}

// transport is how the test itself asks: whatever the certificate says.
func (c *certificate) transport() http.RoundTripper {
	if c == nil {
		return http.DefaultTransport
	}
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true} // the bot checks it, not the test
}

// certify makes an authority, and a certificate of it for 127.0.0.1 that is valid for a time.
func certify(t *testing.T, valid time.Duration) *certificate {
	t.Helper()
	dir := t.TempDir()
	c := &certificate{filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key"), filepath.Join(dir, "ca.crt")}
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority of " + t.Name()}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	server := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "ais"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(valid), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	keys := make([]*ecdsa.PrivateKey, 2)
	for i := range keys {
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []struct {
		name string
		of   *x509.Certificate
		key  *ecdsa.PrivateKey
	}{{c.ca, authority, keys[0]}, {c.file, server, keys[1]}} {
		raw, err := x509.CreateCertificate(rand.Reader, s.of, authority, &s.key.PublicKey, keys[0])
		if err != nil {
			t.Fatal(err)
		}
		write(t, s.name, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})))
	}
	raw, err := x509.MarshalPKCS8PrivateKey(keys[1])
	if err != nil {
		t.Fatal(err)
	}
	write(t, c.key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
	return c
}

// The bot reads a cluster behind an authority of its own if it is given the CA; otherwise it says what is wrong, and who fixes it.
func TestACertificateOfAnOwnAuthority(t *testing.T) {
	t.Parallel()
	const lasts = 3 * time.Minute
	begun := time.Now()
	c := start(t, plan{certified: certify(t, lasts)})
	another, junk := certify(t, time.Hour), filepath.Join(t.TempDir(), "junk.pem")
	write(t, junk, "no certificate")
	logs := t.TempDir()
	write(t, filepath.Join(logs, "error-7300-0.out"), "2026-11-20 23:15:03,123 - train - INFO - step: 1/50000 loss: 2.3000\n")
	https := c.endpoint()
	ask := func(endpoint string, env ...string) string {
		cmd := exec.Command(os.Getenv(envBot), "diagnose", "--full", "--ais-endpoint", "env", logs)
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "AIS_ENDPOINT=" + endpoint, "AIS_AUTHN_TOKEN=" + mint(may(c.uuid, showCluster), time.Hour)}, env...)
		out, _ := cmd.CombinedOutput() // what it says counts, not its code
		return strings.Join(strings.Fields(string(out)), " ")
	}
	const read, silent = "ais-target-3", ""
	check := func(name, out, says, never string) {
		t.Helper()
		if !strings.Contains(out, says) || never != "" && strings.Contains(out, never) {
			t.Errorf("%s: %q is not in, or %q is in\n%s", name, says, never, out)
		}
	}
	ca := "AIS_CLIENT_CA=" + c.certified.ca
	check("its CA", ask(https, ca), read, "authority")
	check("no CA", ask(https), "signed by an unknown authority: give the cluster's CA file", read)
	check("another CA", ask(https, "AIS_CLIENT_CA="+another.ca), "isn't signed by the CA you gave", "unknown authority")
	check("a CA file without a certificate", ask(https, "AIS_CLIENT_CA="+junk), "the CA file contains no certificate", read)
	check("another name", ask(strings.Replace(https, "127.0.0.1", "localhost", 1), ca), "is for another host name", read)
	check("plain HTTP", ask(strings.Replace(https, "https", "http", 1)), "uses HTTPS", read)
	check("not checked", ask(https, "AIS_SKIP_VERIFY_CRT=true"), read, silent)
	config := filepath.Join(t.TempDir(), "bot.yaml")
	write(t, config, fmt.Sprintf("storage:\n- {name: speech, endpoint: %q, ca_file: %q}\n", https, another.ca))
	doctor := func() string {
		out, _ := exec.Command(os.Getenv(envBot), "doctor", "--config", config).CombinedOutput() // what it says counts, not its code
		return strings.Join(strings.Fields(string(out)), " ")
	}
	check("doctor, another CA", doctor(), "isn't signed by the CA", "unknown-authority")
	time.Sleep(time.Until(begun.Add(lasts + 3*time.Second)))
	check("expired", ask(https, ca), "is not valid now: it has expired", read)
	write(t, config, fmt.Sprintf("storage:\n- {name: speech, endpoint: %q, ca_file: %q}\n", https, c.certified.ca))
	check("doctor, expired", doctor(), "has expired", "don't match")
}
