package serve

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
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"faultline/simulate/slack"
)

// aisRefuses answers every request but that for the health as AIStore refuses it.
func aisRefuses(code int, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/health" && code != http.StatusServiceUnavailable {
			return
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"message":%q,"method":"GET","url_path":"/v1/daemon","status":%d}`, message, code)
	}
}

// authority is a certificate of somebody else.
func authority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
}

// Whatever is wrong with an access is said to the person who gave it, each in a sentence of its own, and the question stays.
func TestEveryRefusedAccessHasASentenceOfItsOwn(t *testing.T) {
	long(t)
	t.Parallel()
	serves := func(h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	good := newStorage(t)
	secure := httptest.NewUnstartedServer(good)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	const nobody = "http://127.0.0.1:1" // a port that the kernel gives nobody, unlike one that a server has just left
	const bad = `invalid token from header "Authorization": invalid token [err: `

	w := start(t, reaches)
	_, question, _ := w.askedForStorage(slack.Alice, slack.Training, nil)
	for _, c := range []struct {
		name   string
		fields map[string]any
		want   string
	}{
		{"none", map[string]any{"endpoint": serves(aisRefuses(http.StatusUnauthorized, "token required"))}, "requires a token and none was given"},
		{"unwanted", access(serves(aisRefuses(http.StatusUnauthorized, "token required")), goodToken), "rejected the token (401)"},
		{"malformed", access(serves(aisRefuses(http.StatusUnauthorized, bad+"token is malformed: token contains an invalid number of segments]")), goodToken), "the token is incomplete"},
		{"expired", access(serves(aisRefuses(http.StatusUnauthorized, bad+"token expired]")), goodToken), "the token has expired"},
		{"another cluster's", access(serves(aisRefuses(http.StatusUnauthorized, bad+"token signature is invalid: signature is invalid]")), goodToken), "rejected the token's signature"},
		{"no permission", access(serves(aisRefuses(http.StatusForbidden, "user `bob` has insufficient permissions")), goodToken), "SHOW-CLUSTER"},
		{"starting up", access(serves(aisRefuses(http.StatusServiceUnavailable, "not ready yet")), goodToken), "is starting up or not ready (503)"},
		{"something else", access(serves(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello") })), goodToken), "it isn't an AIStore proxy"},
		{"refused", access(nobody, goodToken), "connection refused"},
		{"another host", access("https://ais.example.org:51080", goodToken), "storage_access.allow"},
		{"plain HTTP", access(strings.Replace(good.URL, "http:", "https:", 1), goodToken), "uses plain HTTP"},
		{"HTTPS", access(strings.Replace(secure.URL, "https:", "http:", 1), goodToken), "uses HTTPS"},
		{"unknown authority", access(secure.URL, goodToken), "signed by an unknown authority"},
		{"another authority", map[string]any{"endpoint": secure.URL, "token": goodToken, "tls": "ca", "ca": authority(t)}, "isn't signed by the CA you gave"},
		{"unchecked", map[string]any{"endpoint": secure.URL, "token": goodToken, "tls": "skip"}, "I may not skip certificate verification"},
	} {
		w.click(slack.Alice, question, "Give access")
		before := len(ephemerals(w, slack.Alice))
		w.submit(slack.Alice, w.window(slack.Alice, "Token"), c.fields)
		if m := answer(w, slack.Alice, before, "a word on "+c.name); !strings.Contains(m.Text, c.want) {
			t.Errorf("%s was answered with %q", c.name, m.Text)
		}
	}
	if n := good.pulled(); n != 0 {
		t.Errorf("%d daemons were asked", n)
	}

	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))
	w.click(slack.Alice, question, "Give access")
	w.submit(slack.Alice, w.window(slack.Alice, "Token"), map[string]any{"endpoint": secure.URL, "token": goodToken, "tls": "ca", "ca": ca})
	w.message(slack.Alice, slack.Training, "I read the logs from 3 storage daemons along with the job's")
}
