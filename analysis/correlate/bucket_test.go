package correlate

import (
	"slices"
	"testing"
)

func TestTheBucketOfARecord(t *testing.T) {
	for text, want := range map[string]string{
		"x-delete-listrange[id]-ais://speech ctl: list:[a]":                             "ais://speech",
		"x-delete-listrange[id]-ais://speech-03:09:16.679053-00:00:00.000000 finished":  "ais://speech",
		"x-delete-listrange[id]-ais://my-set-03:09:16.679053-00:00:00.000000 finished":  "ais://my-set",
		"BMD v7: aism[destroy-bck] ais://speech-2024: gone":                             "ais://speech-2024",
		"x-delete-listrange[id]-ais://@uuid#team/speech ctl: list:[a]":                  "ais://@uuid#team/speech",
		"x-delete-listrange[id]-ais://#team/speech-03:09:16.679053-00:00:00.0 finished": "ais://#team/speech",
		"x-delete-listrange[id]-ais://@uuid/speech ctl":                                 "ais://@uuid/speech",
		"x-evict-listrange[id]-s3://my.set, ":                                           "s3://my.set",
		"no bucket":                                                                     "",
	} {
		if got := bucketOf(text).String(); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

// A namespace is no part of what both sides name: a URL states it elsewhere.
func TestTheObjectOfABucketInANamespace(t *testing.T) {
	for _, s := range []string{"GET /v1/objects/speech/o/1", "ais://speech/o/1 does not exist", "ais://@uuid#team/speech/o/1 does not exist", "ais://#team/speech/o/1", "ais://@uuid/speech/o/1", "ais://@#/speech/o/1"} {
		if m := marksOf(s); !slices.Contains(m, Mark{Object, "speech/o/1"}) {
			t.Errorf("%q: %+v", s, m)
		}
	}
}

func TestADeletionInANamespace(t *testing.T) {
	x := examined(missed404("o/000258", 0))
	d := x.act("delete-listrange", "", "x-delete-listrange[dc1]-ais://@u-1#team/lab ctl: list:[o/000258]", 20)
	if a, _ := x.judged(d); a.Judgement != Implicated {
		t.Errorf("%s (%s)", a.Judgement, a.Why)
	}
}

// Objects are placed by a name in which the provider, not its scheme, and the namespace stand.
func TestTheNameByWhichAnObjectIsPlaced(t *testing.T) {
	for text, want := range map[string]string{
		"ais://speech":              "ais/@#/speech/o/1",
		"s3://speech":               "aws/@#/speech/o/1",
		"gs://speech":               "gcp/@#/speech/o/1",
		"ais://@uuid#team/speech":   "ais/@uuid#team/speech/o/1",
		"ais://@uuid/speech/shard1": "ais/@uuid#/speech/o/1",
	} {
		if got := bucketOf(text).uname("o/1"); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}
