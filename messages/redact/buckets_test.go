package redact

import (
	"strings"
	"testing"

	"faultline/incident"
)

func TestBucketsOfOthersAreHidden(t *testing.T) {
	b := NewBuckets("shards: ais://speech-train/a_{0..9}.tar", "GET /v1/objects/ckpts/x")
	for _, c := range [][2]string{
		{"x-get-batch[gbt-Q]-ais://legal t[t1] bcast abort [ ais://legal/deal/0017 does not exist ]", "x-get-batch[gbt-Q]-ais://[other bucket] t[t1] bcast abort [ ais://[other bucket] does not exist ]"},
		{"ErrObjNotFound: ais://legal/deal/1: GET /v1/objects/legal/deal/1 (called by p[p0])", "ErrObjNotFound: ais://[other bucket]: GET /v1/objects/[other bucket] (called by p[p0])"},
		{`Get "http://10.0.0.1:51081/v1/objects/legal/o/1?gfn=true": refused`, `Get "http://10.0.0.1:51081/v1/objects/[other bucket]?gfn=true": refused`},
		{"ais://speech-train/a_7.tar and s3://speech-train", "ais://speech-train/a_7.tar and s3://speech-train"},
		{"PUT /v1/objects/ckpts/run/1", "PUT /v1/objects/ckpts/run/1"},
		{"aws-error[SlowDown: s3://legal-archive]", "aws-error[SlowDown: s3://[other bucket]]"},
		{"ais://@Uuid1#ns/legal/x", "ais://@Uuid1#ns/[other bucket]"},
		{"POST /v1/ml/moss/legal: x", "POST /v1/ml/moss/[other bucket]: x"},
		{"open /ais/mp1/@ais/legal/%ob/deal: input/output error", "open /ais/mp1/@ais/[other bucket]: input/output error"},
		{`remote bucket "legal": does not exist`, `remote bucket "[other bucket]": does not exist`},
		{"see https://ais.example.org:51080/v1/daemon", "see https://ais.example.org:51080/v1/daemon"},
		{"Kept in ais://speech-train.", "Kept in ais://speech-train."},
	} {
		if got := b.String(c[0]); got != c[1] {
			t.Errorf("%q gives\n%q, not\n%q", c[0], got, c[1])
		}
	}
	r := &incident.Report{Warnings: []string{"ais://legal/x"}, Storage: incident.Storage{Daemons: []incident.StorageDaemon{{Events: []incident.StorageEvent{{Objects: []string{"ais://legal/x"}}}}}}}
	if got := b.Report(r); got.Warnings[0] != "ais://[other bucket]" || got.Storage.Daemons[0].Events[0].Objects[0] != "ais://[other bucket]" || r.Warnings[0] != "ais://legal/x" {
		t.Errorf("%+v of %+v", got, r)
	}
}

func FuzzBuckets(f *testing.F) {
	f.Add("ais://a/b", "ais://legal/x and /v1/objects/legal/y, bucket \"legal\"")
	f.Add("/v1/objects/q", "ais://@x#y/z/../@ais/s3://gs://")
	f.Fuzz(func(t *testing.T, used, text string) {
		b := NewBuckets(used)
		once := b.String(text)
		if twice := b.String(once); twice != once {
			t.Errorf("%q, then %q", once, twice)
		}
		for _, name := range BucketsIn(once) {
			if !b.used[name] && !strings.Contains(OtherBucket, name) {
				t.Errorf("%q is left in %q", name, once)
			}
		}
	})
}
