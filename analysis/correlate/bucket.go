package correlate

import (
	"strings"

	"faultline/analysis/ascii"
)

// bucket is how AIStore writes one: "ais://speech", "s3://speech", "ais://@cluster#space/speech". Source: cmn/bck.go, api/apc/provider.go.
type bucket struct {
	scheme, cluster, space, name string
}

// String is for reports.
func (b bucket) String() string {
	if b.name == "" {
		return ""
	}
	s := b.scheme + "://"
	if b.cluster != "" {
		s += "@" + b.cluster
	}
	if b.space != "" {
		s += "#" + b.space
	}
	if b.cluster+b.space != "" {
		s += "/"
	}
	return s + b.name
}

// providers are those whose schemes have other names.
var providers = map[string]string{"s3": "aws", "gs": "gcp", "az": "azure", "oc": "oci"}

// uname is what AIStore calls an object of it, unique in the cluster.
func (b bucket) uname(object string) string {
	provider := b.scheme
	if p := providers[provider]; p != "" {
		provider = p
	}
	return provider + "/@" + b.cluster + "#" + b.space + "/" + b.name + "/" + object
}

// bucketOf is the bucket that a text names first: "x-delete-listrange[id]-ais://speech".
func bucketOf(text string) bucket {
	i := strings.Index(text, "://")
	if i < 0 {
		return bucket{}
	}
	b := bucket{scheme: text[schemeAt(text, i):i]}
	if k := strings.LastIndexByte(b.scheme, '-'); k >= 0 {
		b.scheme = b.scheme[k+1:]
	}
	space, rest := namespace(text[i+len("://"):])
	b.cluster, b.space, _ = strings.Cut(strings.TrimPrefix(space, "@"), "#")
	b.name = idOf(rest)
	// A dash sets off the time that may follow: "ais://speech-03:09:16.679053".
	if k := len(b.name) - len("-03"); k > 0 && clockAt(rest[k:]) {
		b.name = b.name[:k]
	}
	if b.name == "" || b.scheme == "" {
		return bucket{}
	}
	return b
}

// clockAt says that a text begins with "-03:09:".
func clockAt(s string) bool {
	const form = "-00:00:"
	if len(s) < len(form) {
		return false
	}
	for i := range len(form) {
		if isDigit := ascii.Digit(s[i]); form[i] == '0' && !isDigit || form[i] != '0' && s[i] != form[i] {
			return false
		}
	}
	return true
}
