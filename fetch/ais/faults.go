package ais

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// Kind is what went wrong.
type Kind string

// The kinds. Those from NodeGone on are about one daemon of a cluster that does answer.
const (
	BadEndpoint     Kind = "bad-endpoint"
	NotAllowed      Kind = "not-allowed"
	Refused         Kind = "refused"
	UnknownHost     Kind = "unknown-host"
	Timeout         Kind = "timeout"
	Unreachable     Kind = "unreachable"
	NotAIS          Kind = "not-ais"
	NotAProxy       Kind = "not-a-proxy"
	StartingUp      Kind = "starting-up"
	Redirected      Kind = "redirected"
	Busy            Kind = "busy"
	ServerError     Kind = "server-error"
	NoToken         Kind = "no-token"
	MalformedToken  Kind = "malformed-token"
	ExpiredToken    Kind = "expired-token"
	BadSignature    Kind = "bad-signature"
	RefusedToken    Kind = "refused-token"
	Forbidden       Kind = "forbidden"
	PlainHTTP       Kind = "plain-http"
	NeedsHTTPS      Kind = "needs-https"
	Authority       Kind = "unknown-authority"
	AnotherCA       Kind = "another-ca"
	CertificateName Kind = "certificate-name"
	CertificateOld  Kind = "certificate-expired"
	ClientCert      Kind = "client-certificate"
	TLSFailed       Kind = "tls"
	SkipNotAllowed  Kind = "skip-not-allowed"
	TLSChoice       Kind = "tls-choice"
	BadCA           Kind = "bad-ca"
	BadPair         Kind = "bad-pair"
	Nothing         Kind = "nothing"

	NodeGone   Kind = "node-gone"
	NodeDown   Kind = "node-down"
	NoRoom     Kind = "no-room"
	NoArchive  Kind = "no-archive"
	NoLogs     Kind = "no-logs"
	Cut        Kind = "cut"
	Damaged    Kind = "damaged"
	TooLarge   Kind = "too-large"
	Stalled    Kind = "stalled"
	OutOfTime  Kind = "out-of-time"
	SpoolError Kind = "spool"
)

// words say each kind to the person who gave the access: a clause without its final stop, which names the remedy. %s is
// the host or, for a daemon, more about it. Field is the part of the access that has to change: endpoint, token, tls or "".
var words = map[Kind]struct{ field, text string }{
	BadEndpoint: {"endpoint", "that isn't a proxy URL: use http:// or https://, a host and a port, such as https://ais.example.org:51080"},
	NotAllowed:  {"endpoint", "I may not connect to %s: ask the bot's administrator to add that host to storage_access.allow"},
	Refused:     {"endpoint", "nothing is listening at %s (connection refused): check the port, and that the proxy is running"},
	UnknownHost: {"endpoint", "my machine can't resolve the host name %s: check the spelling"},
	Timeout:     {"endpoint", "%s didn't respond in time: check the URL, and that my machine may connect to it"},
	Unreachable: {"endpoint", "can't reach %s, or it dropped the connection: check the URL, and that my machine may connect to it"},
	NotAIS:      {"endpoint", "something responds at %s, but it isn't an AIStore proxy: check the host and port"},
	NotAProxy:   {"endpoint", "%s is a storage target, or a gateway that doesn't forward requests to the daemons: give a proxy's URL"},
	StartingUp:  {"", "the cluster at %s is starting up or not ready (503): try again in a minute"},
	Redirected:  {"endpoint", "%s redirects to another address, and I don't send tokens there: give the proxy's own URL"},
	Busy:        {"", "%s is too busy to serve my request (429): try again in a few minutes"},
	ServerError: {"", "%s returned an error"},

	NoToken:        {"token", "%s requires a token and none was given: create one with `ais auth login`"},
	MalformedToken: {"token", "the token is incomplete: paste all three parts with the dots between them, or the JSON from `ais auth login`"},
	ExpiredToken:   {"token", "the token has expired: create a new one with `ais auth login`"},
	BadSignature:   {"token", "%s rejected the token's signature: the token is for another cluster, or was altered when copied"},
	RefusedToken:   {"token", "%s rejected the token (401): create a new one with `ais auth login`"},
	Forbidden:      {"token", "%s accepts the token but doesn't let it read logs (403): it needs only the SHOW-CLUSTER permission on this cluster"},

	PlainHTTP:       {"endpoint", "%s uses plain HTTP: the URL must start with http://, and the token would be sent unencrypted"},
	NeedsHTTPS:      {"endpoint", "%s uses HTTPS: the URL must start with https://"},
	Authority:       {"tls", "the certificate of %s is signed by an unknown authority: give the cluster's CA file (AIS_CLIENT_CA)"},
	AnotherCA:       {"tls", "the certificate of %s isn't signed by the CA you gave: give the CA file of that cluster (AIS_CLIENT_CA)"},
	CertificateName: {"endpoint", "the certificate of %s is for another host name: use the name in the certificate"},
	CertificateOld:  {"tls", "the certificate of %s is not valid now: it has expired, or a clock is wrong"},
	ClientCert:      {"tls", "%s requires a client certificate it trusts (mutual TLS): ask the bot's administrator to set one (cert_file and key_file, or AIS_CRT and AIS_CRT_KEY), or upload the archives"},
	TLSFailed:       {"endpoint", "the TLS handshake with %s failed: check the port"},
	SkipNotAllowed:  {"tls", "I may not skip certificate verification: give the cluster's CA file, or ask the bot's administrator to set storage_access.allow_skip_verify"},
	TLSChoice:       {"tls", "a CA file and skipping verification contradict each other: choose one"},
	BadCA:           {"tls", "the CA file contains no certificate: it must be PEM and start with -----BEGIN CERTIFICATE-----"},
	BadPair:         {"tls", "my certificate and key don't match: both must be PEM, and the key must belong to the certificate"},
	Nothing:         {"", "%s"},

	NodeGone:   {"", "it had already left the cluster"},
	NodeDown:   {"", "the proxy can't reach it: it isn't running, or the network to it is broken"},
	NoRoom:     {"", "its disk has no room to pack its logs"},
	NoArchive:  {"", "it didn't send an archive"},
	NoLogs:     {"", "its archive is empty"},
	Cut:        {"", "the archive ends too early"},
	Damaged:    {"", "the archive is damaged"},
	TooLarge:   {"", "its logs exceed my limit (%s)"},
	Stalled:    {"", "it sent nothing for %s"},
	OutOfTime:  {"", "it hadn't finished after %s"},
	SpoolError: {"", "I can't store them: %s"},
}

// Error is a failure as a sentence for the person who gave the access. Nothing of the token is ever in it.
type Error struct {
	Kind Kind
	Text string // a clause without its final stop
	own  error  // why the bot's own disk refused, where it did
	// operator: the access is one of the bot's configuration.
	operator bool
}

// Unwrap returns the fault of the bot's own disk.
func (e *Error) Unwrap() error { return e.own }

func (e *Error) Error() string { return e.Text }

// Field is the part of the access that has to change: endpoint, token, tls, or "" where it is not the access.
func (e *Error) Field() string { return words[e.Kind].field }

// useless says that the rest of the daemons would refuse too. Asking them would only fill their logs, which are the
// evidence, with our own failures.
func (e *Error) useless() bool { return e.Field() == "token" || e.Kind == NotAProxy }

// Operator says that only the operator can fix it: the access is one of its configuration.
func (e *Error) Operator() bool { return e.operator }

// owned says what is wrong with a configured access to people who cannot mend it.
func (a Access) owned(e *Error) *Error {
	if a.Cluster == "" || e.Field() != "token" && e.Field() != "tls" {
		return e
	}
	what := map[Kind]string{NoToken: "is missing", ExpiredToken: "has expired", Forbidden: "may not read logs (it needs SHOW-CLUSTER)", MalformedToken: "is incomplete"}[e.Kind]
	text := fmt.Sprintf("the token configured for storage %s %s; the bot's administrator must renew it", a.Cluster, cmp.Or(what, "is refused"))
	if e.Field() == "tls" {
		text = fmt.Sprintf(cmp.Or(ownedTLS[e.Kind], "the certificates configured for storage %s can't be used; the bot's administrator must replace them"), a.Cluster)
	}
	return &Error{Kind: e.Kind, Text: text, own: e.own, operator: true}
}

// ownedTLS are the sentences about certificates of a configured access, with whoever can fix it.
var ownedTLS = map[Kind]string{
	Authority:      "the certificate of storage %s is signed by an unknown authority; the bot's administrator must set its ca_file",
	AnotherCA:      "the certificate of storage %s isn't signed by the CA in its ca_file; the bot's administrator must replace that file",
	CertificateOld: "the certificate of storage %s is not valid now (it has expired, or a clock is wrong); the storage's administrator must renew it",
	ClientCert:     "storage %s requires a client certificate it trusts; the bot's administrator must set its cert_file and key_file",
	BadCA:          "the ca_file of storage %s contains no certificate; the bot's administrator must replace it",
	BadPair:        "the cert_file and key_file of storage %s don't match; the bot's administrator must replace them",
}

func fault(k Kind, about string) *Error {
	text := words[k].text
	if strings.Contains(text, "%s") {
		text = fmt.Sprintf(text, about)
	}
	return &Error{Kind: k, Text: text}
}

// transport explains why no answer came, by the CA that was stated too.
func (s *session) transport(err error) *Error {
	e := transport(err, s.at.host)
	if e.Kind == Authority && s.ownCA {
		return fault(AnotherCA, s.at.host)
	}
	return e
}

// transport explains why no answer came. The text of err is not used: it repeats the request.
func transport(err error, host string) *Error {
	var (
		authority x509.UnknownAuthorityError
		roots     x509.SystemRootsError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		dns       *net.DNSError
		op        *net.OpError
		timeout   net.Error
	)
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return fault(PlainHTTP, host)
	case errors.As(err, &authority), errors.As(err, &roots):
		return fault(Authority, host)
	case errors.As(err, &name):
		return fault(CertificateName, host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fault(CertificateOld, host)
	case errors.As(err, &op) && op.Op == "remote error" && strings.Contains(op.Err.Error(), "certificate"):
		return fault(ClientCert, host)
	case errors.As(err, &verify), errors.As(err, &invalid), errors.As(err, &record), errors.As(err, &op) && op.Op == "remote error":
		return fault(TLSFailed, host)
	case errors.As(err, &dns) && !dns.IsTimeout:
		return fault(UnknownHost, host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fault(Refused, host)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fault(Timeout, host)
	}
	return fault(Unreachable, host)
}

// status explains an answer that is not 200. message is the server's own; it decides, and only for an error that has no
// words of ours is it repeated.
func status(code int, message, host string, token string) *Error {
	says := strings.ToLower(message)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(says, p) {
				return true
			}
		}
		return false
	}
	switch {
	case code >= 300 && code < 400:
		return fault(Redirected, host)
	case code == http.StatusBadRequest && has("http request to an https server"):
		return fault(NeedsHTTPS, host)
	case code == http.StatusUnauthorized:
		switch {
		case has("expired"):
			return fault(ExpiredToken, host)
		case has("signature is invalid", "invalid signature"):
			return fault(BadSignature, host)
		case has("malformed", "number of segments"):
			return fault(MalformedToken, host)
		case token == "":
			return fault(NoToken, host)
		}
		return fault(blemish(token, time.Now()), host)
	case code == http.StatusForbidden:
		return fault(Forbidden, host)
	case code == http.StatusTooManyRequests:
		return fault(Busy, host)
	case code == http.StatusServiceUnavailable:
		return fault(StartingUp, host)
	case code >= 500 && has("no space left on device"):
		return fault(NoRoom, host)
	case code >= 500:
		e := fault(ServerError, host)
		e.Text += fmt.Sprintf(" (%d)", code)
		if q := quote(message, token); q != "" {
			e.Text += ": " + q
		}
		return e
	}
	return fault(NotAIS, host)
}

// blemish is what a refused token itself shows: it is no JWT, or its time is over. Servers do not always say which.
func blemish(token string, now time.Time) Kind {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return MalformedToken
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var claims struct {
		Expires float64 `json:"exp"`
	}
	switch {
	case err != nil || json.Unmarshal(raw, &claims) != nil:
		return MalformedToken
	case claims.Expires > 0 && now.After(time.Unix(int64(claims.Expires), 0)):
		return ExpiredToken
	}
	return RefusedToken
}

const (
	maxQuote = 200 // bytes of a server's message that are repeated
	maxWord  = 40  // longer words are no words: they may be secrets in some coding
	minWord  = 6   // shorter words give nothing of a token away
)

// quote is a server's message fit for a sentence: bounded, printable, and without anything that is or may be a token: a
// server may repeat what it was sent.
func quote(message, token string) string {
	if token != "" {
		message = strings.ReplaceAll(message, token, "…")
	}
	var out strings.Builder
	for message != "" && out.Len() < maxQuote {
		if end := wordEnd(message); end > 0 {
			word := message[:end]
			message = message[end:]
			if end > maxWord || end >= minWord && strings.Contains(token, word) {
				word = "…"
			}
			out.WriteString(word)
			continue
		}
		r, size := utf8.DecodeRuneInString(message)
		message = message[size:]
		if r != '…' && (r <= ' ' || r >= 0x7f || r == '`') {
			r = ' '
		}
		out.WriteRune(r)
	}
	return strings.TrimRight(strings.Join(strings.Fields(out.String()), " "), ". ")
}

// wordEnd is where the letters, digits, - and _ at the start end.
func wordEnd(s string) int {
	for i := range len(s) {
		c := s[i]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && c != '-' && c != '_' {
				return i
			}
		}
	}
	return len(s)
}
