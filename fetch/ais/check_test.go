package ais

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"faultline/config"
)

// What clusters of release 5.0 say, as it was observed.
const (
	saysExpired   = `invalid token from header "Authorization": invalid token [err: token expired]`
	saysMalformed = `invalid token from header "Authorization": invalid token [err: token is malformed: token contains an invalid number of segments]`
	saysSignature = `invalid token from header "Authorization": invalid token [err: token signature is invalid: signature is invalid]`
)

func TestEveryRefusalHasItsOwnSentence(t *testing.T) {
	for name, c := range map[string]struct {
		smap  func(http.ResponseWriter, *http.Request)
		token config.Secret
		want  Kind
		field string
		says  string
	}{
		"no token":           {fails(401, "", "token required"), "", NoToken, "token", "requires a token"},
		"malformed token":    {fails(401, "", saysMalformed), canary, MalformedToken, "token", "three parts"},
		"expired token":      {fails(401, "", saysExpired), canary, ExpiredToken, "token", "has expired"},
		"bad signature":      {fails(401, "", saysSignature), canary, BadSignature, "token", "signature"},
		"another 401":        {fails(401, "", "user is disabled: "+canary), canary, RefusedToken, "token", "(401)"},
		"header taken away":  {fails(401, "", "token required"), canary, RefusedToken, "token", "(401)"},
		"no permission":      {fails(403, "", "user `bob` has insufficient permissions"), canary, Forbidden, "token", "SHOW-CLUSTER"},
		"starting up":        {fails(503, "", "cluster is not ready"), canary, StartingUp, "", "503"},
		"too busy":           {fails(429, "", ""), canary, Busy, "", "429"},
		"another failure":    {fails(500, "", "cannot do it\n<b>`now`</b>"), canary, ServerError, "", "(500): cannot do it <b> now </b>"},
		"token in a message": {fails(500, "", "what is "+canary+"?"), canary, ServerError, "", "what is"},
		"part of a token":    {fails(500, "", "cannot read claims "+strings.Split(canary, ".")[1]), canary, ServerError, "", "cannot read claims …"},
		"token in base64":    {fails(500, "", base64.StdEncoding.EncodeToString([]byte(canary))), canary, ServerError, "", "(500)"},
		"not found":          {http.NotFound, canary, NotAIS, "endpoint", "isn't an AIStore proxy"},
		"a web page":         {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>hello</html>") }, canary, NotAIS, "endpoint", "isn't an AIStore proxy"},
		"another JSON":       {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"status":"ok"}`) }, canary, NotAIS, "endpoint", "isn't an AIStore proxy"},
		"JSON of odd types":  {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"pmap":{"a":3}}`) }, canary, NotAIS, "endpoint", "isn't an AIStore proxy"},
		"an endless map": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"uuid":"`)
			for range (maxMap >> 20) + 1 {
				io.WriteString(w, strings.Repeat("x", 1<<20))
			}
		}, canary, NotAIS, "endpoint", "isn't an AIStore proxy"},
		"a map that breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"pmap"`)
		}, canary, Unreachable, "endpoint", "dropped the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, &cluster{smap: c.smap})
			a := access(s.URL)
			a.Token = c.token
			err := quick(loopback).Check(t.Context(), a)
			if got := kindOf(t, err); got != c.want || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %q: %v; want %q with %q", got, err, c.want, c.says)
			}
			var e *Error
			if errors.As(err, &e) && e.Field() != c.field {
				t.Errorf("blames %q instead of %q", e.Field(), c.field)
			}
			if _, err := quick(loopback).Pull(t.Context(), a, t.TempDir()); kindOf(t, err) != c.want {
				t.Errorf("Pull says otherwise: %v", err)
			}
		})
	}
}

func TestAGoodAccessPasses(t *testing.T) {
	c := &cluster{}
	s := serve(t, c)
	for _, token := range []config.Secret{canary, "  " + canary + "\n", "bearer " + canary, `{"token": "` + canary + `"}`} {
		if err := quick(loopback).Check(t.Context(), Access{Endpoint: s.URL + "/", Token: token}); err != nil {
			t.Error(err)
		}
	}
	if c.tokens["/v1/daemon"] != 4 || c.tokens["/v1/health"] != 0 {
		t.Errorf("tokens went to %v", c.tokens)
	}
}

func TestATargetIsNotTakenForAProxy(t *testing.T) {
	refuse := fails(400, "", "invalid URL path: /v1/reverse/daemon")
	target := &cluster{pass: refuse, logs: map[string]func(http.ResponseWriter, *http.Request){}}
	for _, id := range []string{"ais-target-1", "ais-target-2", "ais-target-3", "ais-proxy-0"} {
		target.logs[id] = refuse
	}
	s := serve(t, target)
	client := quick(loopback)
	client.lim.parallel = 1
	if err := client.Check(t.Context(), access(s.URL)); kindOf(t, err) != NotAProxy {
		t.Errorf("Check: %v", err)
	}
	if _, err := client.Pull(t.Context(), access(s.URL), t.TempDir()); kindOf(t, err) != NotAProxy || len(target.asked) != 1 {
		t.Errorf("Pull: %v, asked %v", err, target.asked)
	}
	otherDown := &cluster{pass: fails(502, "", "")}
	if err := client.Check(t.Context(), access(serve(t, otherDown).URL)); err != nil {
		t.Errorf("another proxy that is down is no reason: %v", err)
	}
}

func TestSomethingElseNeverSeesTheToken(t *testing.T) {
	c := &cluster{health: func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }}
	s := serve(t, c)
	if err := quick(loopback).Check(t.Context(), access(s.URL)); kindOf(t, err) != NotAIS || len(c.tokens) > 0 {
		t.Errorf("%v; tokens went to %v", err, c.tokens)
	}
}

func TestATokenDoesNotFollowARedirect(t *testing.T) {
	var stolen bool
	thief := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen = true }))
	away := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}
	for name, c := range map[string]*cluster{
		"health": {health: func(w http.ResponseWriter) { w.Header().Set("Location", thief.URL); w.WriteHeader(http.StatusFound) }},
		"map":    {smap: away},
	} {
		if err := quick(loopback).Check(t.Context(), access(serve(t, c).URL)); kindOf(t, err) != Redirected {
			t.Errorf("%s: %v", name, err)
		}
	}
	logs := &cluster{logs: map[string]func(http.ResponseWriter, *http.Request){"ais-target-2": away}}
	got, err := quick(loopback).Pull(t.Context(), access(serve(t, logs).URL), t.TempDir())
	if err != nil || got.Nodes != 3 || len(got.Missing) != 1 || !strings.Contains(got.Missing[0], "don't send tokens there") {
		t.Errorf("%+v, %v", got, err)
	}
	if stolen {
		t.Error("the other address was asked")
	}
}

func TestAccessesAgainstTheRulesAreRefusedBeforeAnythingIsSent(t *testing.T) {
	asked := false
	s := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	host := strings.TrimPrefix(s.URL, "http://")
	allow := func(p ...config.HostPattern) config.StorageAccess { return config.StorageAccess{Allow: p} }
	for name, c := range map[string]struct {
		rules config.StorageAccess
		a     Access
		want  Kind
	}{
		"nothing is allowed":  {allow(), access(s.URL), NotAllowed},
		"another host":        {allow("*.example.org"), access(s.URL), NotAllowed},
		"another port":        {allow("127.0.0.1:1"), access(s.URL), NotAllowed},
		"another spelling":    {allow("127.0.0.1"), access("http://localhost:1"), NotAllowed},
		"a number as address": {allow("127.0.0.1"), access("http://2130706433:1"), NotAllowed},
		"certificate":         {loopback, Access{Endpoint: s.URL, SkipVerify: true}, SkipNotAllowed},
		"two choices":         {config.StorageAccess{Allow: loopback.Allow, AllowSkipVerify: true}, Access{Endpoint: s.URL, SkipVerify: true, CA: []byte("x")}, TLSChoice},
		"no PEM":              {loopback, Access{Endpoint: s.URL, CA: []byte("hello")}, BadCA},
		"no scheme":           {loopback, access(host), BadEndpoint},
		"other scheme":        {loopback, access("ftp://" + host), BadEndpoint},
		"ais bucket":          {loopback, access("ais://bucket"), BadEndpoint},
		"password":            {loopback, access("http://u:" + canary + "@" + host), BadEndpoint},
		"query":               {loopback, access(s.URL + "?token=" + canary), BadEndpoint},
		"path":                {loopback, access(s.URL + "/v1/buckets"), BadEndpoint},
		"control bytes":       {loopback, access("http://a\x00b"), BadEndpoint},
		"markup":              {loopback, access("http://<b>"), BadEndpoint},
		"empty":               {loopback, access(""), BadEndpoint},
		"token in two lines":  {loopback, Access{Endpoint: s.URL, Token: "a\r\nb"}, MalformedToken},
		"token of letters":    {loopback, Access{Endpoint: s.URL, Token: "tökén"}, MalformedToken},
		"JSON without token":  {loopback, Access{Endpoint: s.URL, Token: `{"a":"` + canary + `"}`}, MalformedToken},
	} {
		t.Run(name, func(t *testing.T) {
			if err := quick(c.rules).Check(t.Context(), c.a); kindOf(t, err) != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	if asked {
		t.Error("the server was asked")
	}
}

func TestTLSMistakesAreToldApart(t *testing.T) {
	secure := func(configure func(*tls.Config)) *httptest.Server {
		s := httptest.NewUnstartedServer(&cluster{})
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = &tls.Config{}
		configure(s.TLS)
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	plain := serve(t, &cluster{})
	good := secure(func(*tls.Config) {})
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: good.Certificate().Raw})
	authority, old := selfSigned(t, "127.0.0.1", time.Now().Add(-time.Hour))
	other, elsewhere := selfSigned(t, "10.9.8.7", time.Now().Add(time.Hour))
	ours, key := clientPair(t)
	others, otherKey := clientPair(t)
	mutual := secure(func(c *tls.Config) {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		c.ClientCAs.AppendCertsFromPEM(ours)
	})
	silent := rawListener(t, "SSH-2.0-OpenSSH_9.6\r\n")
	rules := config.StorageAccess{Allow: loopback.Allow, AllowSkipVerify: true}
	for name, c := range map[string]struct {
		a    Access
		want Kind
	}{
		"CA file":             {Access{Endpoint: good.URL, CA: ca}, ""},
		"unchecked":           {Access{Endpoint: good.URL, SkipVerify: true}, ""},
		"unknown authority":   {Access{Endpoint: good.URL}, Authority},
		"another CA file":     {Access{Endpoint: good.URL, CA: other}, AnotherCA},
		"expired certificate": {Access{Endpoint: secure(func(c *tls.Config) { c.Certificates = old }).URL, CA: authority}, CertificateOld},
		"another name":        {Access{Endpoint: secure(func(c *tls.Config) { c.Certificates = elsewhere }).URL, CA: other}, CertificateName},
		"HTTPS to HTTP":       {Access{Endpoint: strings.Replace(plain.URL, "http:", "https:", 1)}, PlainHTTP},
		"HTTP to HTTPS":       {Access{Endpoint: strings.Replace(good.URL, "https:", "http:", 1)}, NeedsHTTPS},
		"mutual TLS":          {Access{Endpoint: mutual.URL, SkipVerify: true}, ClientCert},
		"certificate of ours": {Access{Endpoint: mutual.URL, SkipVerify: true, Certificate: ours, Key: key}, ""},
		"one of strangers":    {Access{Endpoint: mutual.URL, SkipVerify: true, Certificate: others, Key: otherKey}, ClientCert},
		"key of another":      {Access{Endpoint: mutual.URL, SkipVerify: true, Certificate: ours, Key: otherKey}, BadPair},
		"no key":              {Access{Endpoint: mutual.URL, SkipVerify: true, Certificate: ours}, BadPair},
		"HTTPS to SSH":        {Access{Endpoint: "https://" + silent}, TLSFailed},
	} {
		t.Run(name, func(t *testing.T) {
			c.a.Token = canary
			if err := quick(rules).Check(t.Context(), c.a); kindOf(t, err) != c.want {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	// Of a configured access it is said who can fix it.
	for fixes, a := range map[string]Access{
		"the bot's administrator must set its ca_file":       {Endpoint: good.URL},
		"the bot's administrator must replace that file":     {Endpoint: good.URL, CA: other},
		"the storage's administrator must renew it":          {Endpoint: secure(func(c *tls.Config) { c.Certificates = old }).URL, CA: authority},
		"the bot's administrator must set its cert_file and": {Endpoint: mutual.URL, SkipVerify: true},
	} {
		a.Cluster, a.configured = "west", true
		if err := quick(rules).Check(t.Context(), a); err == nil || !strings.Contains(err.Error(), fixes) || !strings.Contains(err.Error(), "storage west") {
			t.Errorf("%v, want %q", err, fixes)
		}
	}
}

// selfSigned is a certificate for an address, as PEM and ready for a server.
func selfSigned(t *testing.T, ip string, until time.Time) ([]byte, []tls.Certificate) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: ip}, IPAddresses: []net.IP{net.ParseIP(ip)},
		NotBefore: until.Add(-24 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}
}

// clientPair is a certificate that says who calls, and its key.
func clientPair(t *testing.T) ([]byte, config.Secret) {
	t.Helper()
	certificate, pair := selfSigned(t, "127.0.0.1", time.Now().Add(time.Hour))
	raw, err := x509.MarshalPKCS8PrivateKey(pair[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, config.Secret(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// rawListener says one thing to whoever connects.
func rawListener(t *testing.T, says string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, says)
			go func() { io.Copy(io.Discard, conn); conn.Close() }()
		}
	}()
	return l.Addr().String()
}

func TestClustersThatCannotBeReached(t *testing.T) {
	const nobody = "http://127.0.0.1:1" // a port that the kernel gives nobody, unlike one that a server has just left
	slow := serve(t, http.HandlerFunc(blocked(t)))
	c := quick(loopback)
	if err := c.Check(t.Context(), access(nobody)); kindOf(t, err) != Refused {
		t.Errorf("refused: %v", err)
	}
	// No real name is asked for: what a resolver answers to that depends on the machine.
	lookup := &url.Error{Op: "Get", URL: "http://ais/?" + canary, Err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "ais", IsNotFound: true}}}
	if fail := transport(lookup, "ais"); kindOf(t, fail) != UnknownHost {
		t.Errorf("unknown: %v", fail)
	}
	c.lim.check, c.lim.ask = 50*time.Millisecond, 50*time.Millisecond
	if err := c.Check(t.Context(), access(slow.URL)); kindOf(t, err) != Timeout {
		t.Errorf("slow: %v", err)
	}
	if _, err := c.Pull(t.Context(), access(slow.URL), t.TempDir()); kindOf(t, err) != Timeout {
		t.Errorf("slow: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Check(ctx, access(slow.URL)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	hangsUp := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		conn.Close()
	}))
	if err := quick(loopback).Check(t.Context(), access(hangsUp.URL)); kindOf(t, err) != Unreachable {
		t.Errorf("hangs up: %v", err)
	}
}

func TestEveryKindHasWords(t *testing.T) {
	source, err := os.ReadFile("faults.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`Kind = "([a-z-]+)"`).FindAllSubmatch(source, -1)
	if len(kinds) != len(words) {
		t.Errorf("%d kinds, %d sentences", len(kinds), len(words))
	}
	for _, k := range kinds {
		text := words[Kind(k[1])].text
		if text == "" || strings.HasSuffix(text, ".") || strings.ToLower(text[:1]) != text[:1] && !strings.HasPrefix(text, "I ") {
			t.Errorf("%s: %q is no clause", k[1], text)
		}
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("what is "+canary, canary)
	f.Add("a\xffb\x1b[31m `x`", "")
	f.Fuzz(func(t *testing.T, message, token string) {
		q := quote(message, token)
		if len(q) > 3*maxQuote+maxWord || strings.ContainsAny(q, "\x1b\n\r`\x00") {
			t.Errorf("%q", q)
		}
		if len(token) >= minWord && wordEnd(token) == len(token) && strings.Contains(q, token) {
			t.Errorf("%q holds the token %q", q, token)
		}
	})
}

func FuzzEndpoint(f *testing.F) {
	for _, s := range []string{"http://127.0.0.1:1", "https://[::1]:8080/", "http://a@b", "//x"} {
		f.Add(s)
	}
	rules := config.StorageAccess{Allow: []config.HostPattern{"127.0.0.1:51080"}}
	f.Fuzz(func(t *testing.T, endpoint string) {
		at, fail := Access{Endpoint: endpoint}.check(rules)
		if fail == nil && at.host != "127.0.0.1:51080" {
			t.Errorf("%q leads to %q", endpoint, at.host)
		}
	})
}
