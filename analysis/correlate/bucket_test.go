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

// gone is a request for a bucket that is not there, as AIStore 5.0 answers it.
func gone(name string, after float64) Client {
	c := missed404("", after)
	c.Text = `ErrObjNotFound: STATUS:404, MESSAGE:bucket "ais://` + name + `" does not exist, REQ_URL:http://127.0.0.1:20300/v1/ml/moss/` + name + `?provider=ais&coloc=1.`
	c.Marks = marksOf(c.Text)
	return c
}

// What is asked of a destroyed bucket fails, however long ago that was; what is asked of another one does not.
func TestADestroyedBucket(t *testing.T) {
	const unnamed, done = "msync Rx: new BMD v3[DwwNdL3Kz (no buckets)] ( have v2 aism[destroy-bck[rmmd-Y]] <-- p[p-1] )", "txn:269 txn-destroy-bck[rmmd-Y]-ais://lab done]"
	for _, c := range []struct {
		name      string
		records   []string
		asked     Client
		before    float64
		judgement string
	}{
		{"the bucket", []string{unnamed, done}, gone("lab", 0), 20, Implicated},
		{"the bucket, hours before", []string{unnamed, done}, gone("lab", 0), 4 * 3600, Implicated},
		{"another bucket", []string{unnamed, done}, gone("music", 0), 20, Cleared},
		{"a bucket that no record names", []string{unnamed}, gone("lab", 0), 20, Implicated},
		{"a bucket that no record names, hours before", []string{unnamed}, gone("lab", 0), 4 * 3600, Open},
		{"an object of it, which is there again", []string{unnamed, done}, missed404("o/1", 0), 4 * 3600, Open},
	} {
		x := examined(c.asked)
		var all []*trouble
		for _, text := range c.records {
			all = append(all, x.act("destroy-bck", "", text, c.before))
		}
		if a, _ := x.judged(x.administered(all)...); a.Judgement != c.judgement {
			t.Errorf("%s: %s (%s), not %s", c.name, a.Judgement, a.Why, c.judgement)
		}
	}
	// That a bucket is gone is not because objects were deleted, or a target was taken away.
	x := examined(gone("lab", 0))
	if a, _ := x.judged(x.deletion("prefix:", 20), x.act("start-maintenance", "t-3", "p[p-1]: start-maintenance([t[t-3]]) opts={}", 20)); a.Judgement == Implicated {
		t.Errorf("%s", a.Why)
	}
}
