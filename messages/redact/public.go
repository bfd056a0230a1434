package redact

import (
	"encoding/pem"
	"slices"
	"strings"
)

// publicTypes are the labels of what is made to be handed out (RFC 7468).
var publicTypes = []string{"CERTIFICATE", "TRUSTED CERTIFICATE", "CERTIFICATE REQUEST", "X509 CRL", "PUBLIC KEY", "RSA PUBLIC KEY"}

// derSequence is the first byte of each of them.
const derSequence = 0x30

// public returns the places of certificates and public keys. They look drawn and are no secret: a storage question asks for one.
func public(s string) []span {
	var out []span
	for at := 0; ; {
		i := strings.Index(s[at:], "-----BEGIN ")
		if i < 0 {
			return out
		}
		from := at + i
		at = from + 1
		end := strings.Index(s[from:], "-----END ")
		if end < 0 {
			return out
		}
		to := lineEnd(s, from+end)
		block, _ := pem.Decode([]byte(s[from:to] + "\n"))
		if handedOut(block) {
			out = append(out, span{from, to})
			at = to
		}
	}
}

// handedOut tells what holds a public thing, and nothing else.
func handedOut(b *pem.Block) bool {
	if b == nil || !slices.Contains(publicTypes, b.Type) {
		return false
	}
	return len(b.Headers) == 0 && len(b.Bytes) > 0 && b.Bytes[0] == derSequence
}

// outside returns the spans that do not lie in one of some places.
func outside(spans, places []span) []span {
	if len(places) == 0 {
		return spans
	}
	return slices.DeleteFunc(spans, func(s span) bool {
		return slices.ContainsFunc(places, func(p span) bool { return s.from >= p.from && s.to <= p.to })
	})
}
