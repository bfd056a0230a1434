package blob

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// The key pair of the server below.
const accessKey, secretKey = "test-access", "test-secret-key"

// startS3 starts an S3 server that nobody here wrote, and returns its address. Where versitygw is missing the test is
// skipped, unless the environment says CI=true: there it fails.
func startS3(t *testing.T) string {
	t.Helper()
	bin, looked := s3Server()
	if bin == "" {
		why := "there is no S3 server: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0, in " + looked
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	dir, addr := t.TempDir(), freeAddress(t)
	cmd := exec.Command(bin, "--quiet", "--port", addr, "posix", "--nometa", dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+accessKey, "ROOT_SECRET_KEY="+secretKey)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(time.Minute); ; {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return "http://" + addr
		}
		select {
		case <-ended:
			t.Fatalf("the S3 server does not start:\n%s", log.String())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("the S3 server does not answer: %v", err)
		}
	}
}

func s3Server() (bin, looked string) {
	cache := os.Getenv("FAULTLINE_CACHE")
	if cache == "" {
		home, _ := os.UserHomeDir()
		cache = filepath.Join(home, ".cache", "faultline")
	}
	looked = filepath.Join(cache, "tools", "versitygw-v1.8.0")
	for _, name := range []string{os.Getenv("FAULTLINE_S3_SERVER"), "versitygw", filepath.Join(looked, "versitygw")} {
		if bin, err := exec.LookPath(name); name != "" && err == nil {
			return bin, looked
		}
	}
	return "", looked
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func openS3(t *testing.T, o S3Options) *S3 {
	t.Helper()
	b, err := OpenS3(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAnS3BucketIsABucket(t *testing.T) {
	endpoint := startS3(t)
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
	b := openS3(t, S3Options{Bucket: bucket, Region: "us-east-1", Endpoint: startS3(t), AccessKey: accessKey, SecretKey: secretKey})
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

func TestABucketThatCannotBeUsedIsToldInWords(t *testing.T) {
	endpoint := startS3(t)
	good := S3Options{Bucket: "missing", Region: "us-east-1", Endpoint: endpoint, AccessKey: accessKey, SecretKey: secretKey}
	if err := openS3(t, good).Check(context.Background()); err == nil || !strings.Contains(err.Error(), "there is no bucket missing") {
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
