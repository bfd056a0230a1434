package bucket

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"faultline/fetch/source"
	"faultline/fetch/source/sourcetest"
	"faultline/fetch/spool"
	"faultline/store/blob/s3test"
)

var ctx = context.Background()

func options(endpoint, bucket string, prefixes ...string) Options {
	return Options{Bucket: bucket, Prefixes: prefixes, Region: "us-east-1", Endpoint: endpoint, AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey}
}

func open(t *testing.T, o Options) *Files {
	t.Helper()
	f, err := New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// fill makes a bucket and gives a way to put objects into it.
func fill(t *testing.T, endpoint, bucket string) (*s3.Client, func(t *testing.T, key string, content []byte)) {
	t.Helper()
	client := open(t, options(endpoint, bucket)).client
	if _, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	return client, func(t *testing.T, key string, content []byte) {
		t.Helper()
		if _, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(content)}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestABucketIsASource(t *testing.T) {
	endpoint := s3test.Serve(t)
	var n atomic.Int64
	sourcetest.Run(t, func(t *testing.T) sourcetest.Place {
		bucket := fmt.Sprint("bucket-", n.Add(1))
		client, put := fill(t, endpoint, bucket)
		return sourcetest.Place{
			Source: open(t, options(endpoint, bucket, "slurm/west")), Root: "slurm/west", Outside: "slurm/east",
			Write: put,
			Append: func(t *testing.T, key string, content []byte) {
				got, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
				if err != nil {
					t.Fatal(err)
				}
				defer got.Body.Close()
				old, err := io.ReadAll(got.Body)
				if err != nil {
					t.Fatal(err)
				}
				put(t, key, append(old, content...))
			},
			Remove: func(t *testing.T, key string) {
				if _, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &key}); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

func TestMoreKeysThanFitIntoOneAnswerAreAllFound(t *testing.T) {
	const many = 1005 // a page holds 1000
	endpoint := s3test.Serve(t)
	_, put := fill(t, endpoint, "many")
	for i := range many {
		put(t, fmt.Sprintf("job/%04d.out", i), nil)
	}
	put(t, "job/deep/x.out", nil)
	put(t, "jobs/x.out", nil)
	f := open(t, options(endpoint, "many"))
	for pattern, want := range map[string]int{"job/*.out": many, "job/**": many + 1, "*/x.out": 1, "job/00?[0-4].out": 50, "**": many + 2} {
		if files, err := f.Glob(ctx, pattern); err != nil || len(files) != want {
			t.Errorf("%s: %d files, %v", pattern, len(files), err)
		}
	}
}

func TestABucketThatCannotBeUsedIsToldInWords(t *testing.T) {
	endpoint := s3test.Serve(t)
	_, put := fill(t, endpoint, "there")
	put(t, "a", []byte("x"))
	const free = "http://127.0.0.1:1" // a port that the kernel gives nobody, unlike one that a server has just left
	wrong, unknown := options(endpoint, "there"), options(endpoint, "there")
	wrong.SecretKey, unknown.AccessKey = "wrong-secret", "nobody"
	for name, c := range map[string]struct {
		o    Options
		kind source.Kind
	}{
		"no such bucket":   {options(endpoint, "missing"), source.NoBucket},
		"a wrong secret":   {wrong, source.Credentials},
		"an unknown key":   {unknown, source.Credentials},
		"nobody listening": {options(free, "there"), source.Unreachable},
	} {
		f := open(t, c.o)
		_, err := f.Glob(ctx, "*")
		if source.KindOf(err) != c.kind || strings.Contains(err.Error(), "wrong-secret") {
			t.Errorf("%s: looking: %v", name, err)
		}
		if _, _, err := f.Open(ctx, "a", 0); source.KindOf(err) != c.kind {
			t.Errorf("%s: opening: %v", name, err)
		}
		if _, err := f.Stat(ctx, "a"); source.KindOf(err) != c.kind && c.kind != source.NoBucket {
			t.Errorf("%s: describing: %v", name, err)
		}
	}
}

// An answer that no server here gives on demand.
func TestWhatServersSayIsUnderstood(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		kind   source.Kind
	}{
		{403, "AccessDenied", source.Denied},
		{403, "RequestTimeTooSkewed", source.Credentials},
		{400, "ExpiredToken", source.Expired},
		{503, "SlowDown", source.Busy},
		{500, "Weather", source.Busy},
		{404, "NoSuchKey", source.NotFound},
		{301, "PermanentRedirect", source.Failed},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>m</Message></Error>", c.code)
		}))
		_, _, err := open(t, options(server.URL, "b")).Open(ctx, "a", 0)
		if source.KindOf(err) != c.kind {
			t.Errorf("%d %s: %v", c.status, c.code, err)
		}
		server.Close()
	}
}

// A server that does not know ranges, and one that breaks off.
func TestAServerThatGivesMoreOrLessThanItWasAskedFor(t *testing.T) {
	content := sourcetest.Bytes(100_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if strings.Contains(r.URL.Path, "cut") {
			_, _ = w.Write(content[:50_000])
			return
		}
		_, _ = w.Write(content)
	}))
	defer server.Close()
	f := open(t, options(server.URL, "b"))
	what, body, err := f.Open(ctx, "a", 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if got, err := io.ReadAll(body); err != nil || what.Size != 100_000 || !bytes.Equal(got, content[1000:]) {
		t.Errorf("%+v, %d bytes, %v", what, len(got), err)
	}
	if _, _, err := f.Open(ctx, "a", 100_001); source.KindOf(err) != source.Changed {
		t.Errorf("%v", err)
	}
	_, body, err = f.Open(ctx, "cut", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if n, err := io.Copy(io.Discard, body); source.KindOf(err) != source.Lost || n != 50_000 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// cutting breaks each answer off after so many bytes of its body.
type cutting struct {
	to   http.Handler
	left int64
}

func (c *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.to.ServeHTTP(&cutWriter{w, c.left}, r)
}

type cutWriter struct {
	http.ResponseWriter
	left int64
}

func (w *cutWriter) Write(p []byte) (int, error) {
	if w.left -= int64(len(p)); w.left <= 0 {
		panic(http.ErrAbortHandler)
	}
	return w.ResponseWriter.Write(p)
}

func TestATransferThatIsCutAtEveryTenthIsResumed(t *testing.T) {
	const size = 8 << 20
	content := sourcetest.Bytes(size)
	server := httptest.NewServer(&cutting{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), bytes.NewReader(content))
	}), size / 10})
	defer server.Close()
	f := open(t, options(server.URL, "b"))
	what, err := f.Stat(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	keep, err := spool.Open(t.TempDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	var fetched int64
	for tries := 1; ; tries++ {
		got, err := keep.Take(ctx, spool.Place{Source: f, ID: "s3://b", Origin: "s3"}, []spool.Want{{File: what}}, nil)
		if err != nil || tries > 20 {
			t.Fatalf("try %d: %v", tries, err)
		}
		fetched += got.Fetched
		if len(got.Sources) == 1 {
			b, err := os.ReadFile(got.Sources[0].Path)
			if err != nil || !bytes.Equal(b, content) || fetched != size || tries < 10 {
				t.Errorf("fetched %d of %d in %d tries, %v", fetched, size, tries, err)
			}
			return
		}
		if source.KindOf(got.Missed[0].Err) != source.Lost {
			t.Fatalf("try %d: %v", tries, got.Missed[0].Err)
		}
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	for _, o := range []Options{{}, {Bucket: "a/b"}, {Bucket: "b", Prefixes: []string{"a/"}}, {Bucket: "b", Prefixes: []string{"/a"}}, {Bucket: "b", Prefixes: []string{"a/../b"}}} {
		if _, err := New(ctx, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
