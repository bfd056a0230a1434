//go:build realais

package ais

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"time"
)

// claims say what a token permits, in AIStore's words.
type claims map[string]any

var admin = claims{"admin": true}

// may grants permissions on a whole cluster, by AIStore's bits.
func may(cluster, bits string) claims {
	return claims{"clusters": []map[string]string{{"id": cluster, "perm": bits}}}
}

const (
	objects     = "8191" // all on objects and buckets, nothing on the cluster
	showCluster = "8192"
)

// mint makes a token that is valid for a time, which may be over, as AIStore's AuthN does.
func mint(c claims, valid time.Duration) string { return signed(c, valid, secret) }

func signed(c claims, valid time.Duration, key string) string {
	all := maps.Clone(c)
	all["sub"], all["iat"], all["exp"] = "trainer", time.Now().Unix(), time.Now().Add(valid).Unix()
	body := part(map[string]string{"alg": "HS256", "typ": "JWT"}) + "." + part(all)
	sum := hmac.New(sha256.New, []byte(key))
	sum.Write([]byte(body))
	return body + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

func part(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings and times
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}
