package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// aisVariables are what the ais command reads. A test begins without all of them.
var aisVariables = []string{"AIS_ENDPOINT", "AIS_AUTHN_TOKEN", "AIS_AUTHN_TOKEN_FILE", "AIS_CLIENT_CA", "AIS_CRT", "AIS_CRT_KEY", "AIS_SKIP_VERIFY_CRT", "AIS_SERVER_CRT"}

// A proxy with mutual TLS and one target, reached with each of the ways that the environment of the ais command knows.
func TestTheEnvironmentOfTheAISCommandOpensACluster(t *testing.T) {
	archive := daemonArchive(t, [2]string{"aistarget.h.INFO.1120-231339.1", "Started up at 2026/11/20 23:13:39, host h, go1.26.8 for linux/amd64\n"})
	certificate, key := callerPair(t)
	proxy := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("what") == "log" {
			fmt.Fprint(w, archive)
			return
		}
		fmt.Fprint(w, `{"pmap":{"p-0":{}},"tmap":{"t-one":{}},"proxy_si":{"daemon_id":"p-0"},"version":"8","uuid":"N_g66e331O"}`)
	}))
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0)
	callers := x509.NewCertPool()
	callers.AppendCertsFromPEM([]byte(certificate))
	proxy.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: callers}
	proxy.StartTLS()
	defer proxy.Close()
	dir := t.TempDir()
	ca := write(t, filepath.Join(dir, "ca.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})))
	crt, crtKey := write(t, filepath.Join(dir, "caller.pem"), certificate), write(t, filepath.Join(dir, "caller.key"), key)
	logs := failedJob(t, t.TempDir(), "4242")
	const pulled = "target t-one"
	for name, c := range map[string]struct {
		set  map[string]string
		code int
		says []string
		not  string
	}{
		"CA and a pair":             {map[string]string{"AIS_CLIENT_CA": ca, "AIS_CRT": crt, "AIS_CRT_KEY": crtKey}, exitOK, []string{pulled}, "AIS_"},
		"unchecked":                 {map[string]string{"AIS_SKIP_VERIFY_CRT": "true", "AIS_CRT": crt, "AIS_CRT_KEY": crtKey}, exitOK, []string{pulled, "was not checked"}, ""},
		"unchecked, and a CA":       {map[string]string{"AIS_SKIP_VERIFY_CRT": "yes", "AIS_CLIENT_CA": ca, "AIS_CRT": crt, "AIS_CRT_KEY": crtKey}, exitOK, []string{pulled, "was checked with the CA"}, "was not checked"},
		"unchecked is off":          {map[string]string{"AIS_SKIP_VERIFY_CRT": "off", "AIS_CRT": crt, "AIS_CRT_KEY": crtKey}, exitOK, []string{"signed by an unknown authority"}, pulled},
		"the servers' certificate":  {map[string]string{"AIS_SERVER_CRT": ca, "AIS_CRT": crt, "AIS_CRT_KEY": crtKey}, exitOK, []string{pulled, "AIS_CLIENT_CA"}, ""},
		"no pair":                   {map[string]string{"AIS_CLIENT_CA": ca}, exitOK, []string{"mutual TLS", "bad value in batch"}, pulled},
		"half a pair":               {map[string]string{"AIS_CLIENT_CA": ca, "AIS_CRT": crt}, exitUsage, []string{"must both be set"}, pulled},
		"a pair that is none":       {map[string]string{"AIS_CLIENT_CA": ca, "AIS_CRT": crt, "AIS_CRT_KEY": ca}, exitOK, []string{"don't match"}, pulled},
		"neither yes nor no":        {map[string]string{"AIS_SKIP_VERIFY_CRT": "perhaps"}, exitUsage, []string{"AIS_SKIP_VERIFY_CRT: neither"}, pulled},
		"a file that is not there":  {map[string]string{"AIS_CRT": filepath.Join(dir, "nowhere"), "AIS_CRT_KEY": crtKey}, exitOK, []string{"AIS_CRT: ", "no such file", "bad value in batch"}, pulled},
		"a token file that is none": {map[string]string{"AIS_AUTHN_TOKEN_FILE": filepath.Join(dir, "nowhere")}, exitOK, []string{"AIS_AUTHN_TOKEN_FILE: ", "bad value in batch"}, pulled},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range aisVariables {
				t.Setenv(v, c.set[v])
			}
			t.Setenv("AIS_ENDPOINT", proxy.URL)
			r := call(t, "", "diagnose", "--full", "--ais-endpoint", "env", logs)
			r.want(t, c.code, c.says...)
			if c.not != "" && strings.Contains(r.out+r.err, c.not) {
				t.Errorf("%q is said: %s%s", c.not, r.err, r.out)
			}
			if strings.Contains(r.out+r.err, "Left out") {
				t.Errorf("what the daemons say of themselves is no log that was left out: %s%s", r.err, r.out)
			}
			if strings.Contains(r.out+r.err, "PRIVATE KEY") {
				t.Error("the key is shown")
			}
		})
	}
}

// callerPair is a certificate that says who calls, and its key, as PEM.
func callerPair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	rawKey, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: rawKey}))
}
