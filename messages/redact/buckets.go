package redact

import (
	"strings"

	"faultline/incident"
	"faultline/pattern"
)

// OtherBucket stands in the place of a bucket, and of what is in it, that is nobody's here.
const OtherBucket = "[other bucket]"

// Buckets hides the buckets of others: a storage cluster serves many teams, and its daemons' logs name the buckets and objects
// of all of them.
type Buckets struct{ used map[string]bool }

// bucketForms are how AIStore's logs and clients write buckets. Of each, group 1 is kept, group 2 is the bucket, and group 3,
// what is in it, goes with it.
var bucketForms = []*pattern.Regexp{
	// ais://lab/o/1, s3://lab, ais://@uuid#ns/lab
	pattern.New(`(\b(?:ais|aws|s3|gcp|gs|azure|az|oci|oc|ht|hf)://(?:[@#][^/\s"'<>]*/)?)([A-Za-z0-9._-]+)((?:/[^\s"'` + "`" + `,;)\]}<>|]*)?)`),
	// GET /v1/objects/lab/o/1, /v1/ml/moss/lab
	pattern.New(`(/v1/(?:objects|buckets|ml/moss|etl|download|sort|dsort)/)([A-Za-z0-9._-]+)((?:/[^\s"'` + "`" + `,;)\]}<>|?]*)?)`),
	// /ais/mp1/@ais/lab/%ob/o/1
	pattern.New(`(/@(?:ais|aws|gcp|azure|oci|ht)/(?:[@#][^/\s"'<>]*/)?)([A-Za-z0-9._-]+)((?:/[^\s"'` + "`" + `,;)\]}<>|]*)?)`),
	// bucket "lab"
	pattern.New(`(?i)(\bbuckets?[ :=]{1,3}["'“])([A-Za-z0-9._-]+)()`),
}

var bucketHints = []string{"://", "/v1/", "/@", "ucket"}

// bucketName is a bucket without what a sentence puts behind it.
func bucketName(s string) string { return strings.TrimRight(s, ".") }

// BucketsIn are the names of the buckets that a text says.
func BucketsIn(text string) (names []string) {
	if !containsAny(text, bucketHints) {
		return nil
	}
	for _, re := range bucketForms {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			names = append(names, bucketName(m[2]))
		}
	}
	return names
}

// NewBuckets hides all but the buckets that some texts say.
func NewBuckets(used ...string) Buckets {
	b := Buckets{used: map[string]bool{}}
	for _, text := range used {
		for _, name := range BucketsIn(text) {
			b.used[name] = true
		}
	}
	return b
}

// String returns a text without the buckets of others.
func (b Buckets) String(s string) string {
	if !containsAny(s, bucketHints) {
		return s
	}
	for _, re := range bucketForms {
		s = re.ReplaceAllStringFunc(s, func(match string) string {
			m := re.FindStringSubmatch(match)
			if b.used[bucketName(m[2])] {
				return match
			}
			end := m[2] + m[3]
			return m[1] + OtherBucket + end[len(strings.TrimRight(end, ".:")):] // what a sentence puts behind it
		})
	}
	return s
}

// Report is the function Report, and hides the buckets of others in every string as well.
func (b Buckets) Report(r *incident.Report) *incident.Report {
	return copied(r, func(s string) string { return b.String(String(s)) })
}
