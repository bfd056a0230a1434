package blob

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"faultline/store/blob/s3test"
)

const accessKey, secretKey = s3test.AccessKey, s3test.SecretKey

func openS3(t *testing.T, o S3Options) *S3 {
	t.Helper()
	b, err := OpenS3(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAnS3BucketIsABucket(t *testing.T) {
	endpoint := s3test.Serve(t)
	var n atomic.Int64
	buckets(t, func(t *testing.T) Bucket {
		name := fmt.Sprint("bucket-", n.Add(1))
		other := openS3(t, S3Options{Bucket: name, Region: "us-east-1", Endpoint: endpoint, AccessKey: accessKey, SecretKey: secretKey})
		if _, err := other.client.CreateBucket(context.Background(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
			t.Fatal(err)
		}
		// Somebody else keeps things beside ours.
		for _, key := range []string{"other/a", "faultline2/a"} {
			if err := other.Put(context.Background(), key, strings.NewReader("x"), 1); err != nil {
				t.Fatal(err)
			}
		}
		b := openS3(t, S3Options{Bucket: name, Prefix: "faultline/", Region: "us-east-1", Endpoint: endpoint, AccessKey: accessKey, SecretKey: secretKey})
		if err := b.Check(context.Background()); err != nil {
			t.Fatal(err)
		}
		return b
	})
}

func TestMoreKeysThanFitIntoOneAnswerAreAllListed(t *testing.T) {
	const many = 1005 // a page holds 1000
	bucket := "many"
	b := openS3(t, S3Options{Bucket: bucket, Region: "us-east-1", Endpoint: s3test.Serve(t), AccessKey: accessKey, SecretKey: secretKey})
	if _, err := b.client.CreateBucket(context.Background(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	for i := range many {
		if err := b.Put(context.Background(), fmt.Sprintf("k%04d", i), strings.NewReader(""), 0); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := b.List(context.Background(), "")
	if err != nil || len(keys) != many || keys[0] != "k0000" || keys[many-1] != "k1004" {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
}

func TestAConflictWithAnotherRequestIsTriedAgain(t *testing.T) {
	for _, code := range []string{"OperationAborted", "ExistingObjectIsDirectory"} {
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got, err := io.ReadAll(r.Body); err != nil || string(got) != "x" {
				t.Errorf("%s: got %q, %v", code, got, err)
			}
			if asked.Add(1) == 1 {
				w.WriteHeader(http.StatusConflict)
				fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
			}
		}))
		defer server.Close()
		b := openS3(t, S3Options{Bucket: "b", Region: "us-east-1", Endpoint: server.URL, AccessKey: accessKey, SecretKey: secretKey})
		if err := b.Put(context.Background(), "k", strings.NewReader("x"), 1); err != nil || asked.Load() != 2 {
			t.Errorf("%s: asked %d times, %v", code, asked.Load(), err)
		}
	}
}

func TestABucketThatCannotBeUsedIsToldInWords(t *testing.T) {
	endpoint := s3test.Serve(t)
	good := S3Options{Bucket: "missing", Region: "us-east-1", Endpoint: endpoint, AccessKey: accessKey, SecretKey: secretKey}
	if err := openS3(t, good).Check(context.Background()); err == nil || !strings.Contains(err.Error(), "the bucket missing doesn't exist") {
		t.Errorf("got %v", err)
	}
	bad := good
	bad.SecretKey = "wrong-secret"
	err := openS3(t, bad).Check(context.Background())
	if err == nil || !strings.Contains(err.Error(), "SignatureDoesNotMatch") || strings.Contains(err.Error(), "wrong-secret") {
		t.Errorf("got %v", err)
	}
	if _, err := openS3(t, bad).Open(context.Background(), "k"); err == nil || strings.Contains(err.Error(), fs.ErrNotExist.Error()) {
		t.Errorf("no permission is not the same as no file: %v", err)
	}
}
