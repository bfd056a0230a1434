package redact

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
)

func TestCertificatesStayReadable(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
	if got := String("the authority:\n" + certificate + certificate + "that was it"); !strings.Contains(got, certificate+certificate) {
		t.Errorf("a certificate is masked:\n%s", got)
	}
	for name, text := range map[string]string{
		"private key":             string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
		"after a certificate":     certificate + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
		"a token between the two": strings.Replace(certificate, "\n", "\nghp_0123456789abcdefABCDEF0123456789abcd\n", 1),
	} {
		got := String(text)
		if line := strings.Split(text[strings.LastIndex(text, "BEGIN"):], "\n")[1]; strings.Contains(got, line) {
			t.Errorf("%s: %s is readable", name, line)
		}
	}
}
