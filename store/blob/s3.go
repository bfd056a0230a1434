package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// S3Options say where a bucket is and how it is entered.
type S3Options struct {
	Bucket string
	Prefix string // in front of every key, as it is: "faultline/"
	Region string
	// Endpoint is the address of a server that is not Amazon's, such as "https://s3.example.org"; there the bucket's name is
	// a part of the path, not of the host's name.
	Endpoint string
	// AccessKey and SecretKey; both "" = as the AWS tools find them: environment, profile, role.
	AccessKey, SecretKey string
}

// S3 is a Bucket in a bucket.
type S3 struct {
	client         *s3.Client
	bucket, prefix string
}

// maxObject is what S3 takes in one request.
const maxObject = 5 << 30

// OpenS3 prepares the access; it asks the server nothing. See Check.
func OpenS3(ctx context.Context, o S3Options) (*S3, error) {
	load := []func(*config.LoadOptions) error{config.WithRegion(o.Region)}
	if o.AccessKey != "" {
		load = append(load, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(o.AccessKey, o.SecretKey, "")))
	}
	conf, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fmt.Errorf("preparing access to the bucket %s: %w", o.Bucket, err)
	}
	client := s3.NewFromConfig(conf, retryConflicts, func(s *s3.Options) {
		if o.Endpoint == "" {
			return
		}
		s.BaseEndpoint, s.UsePathStyle = aws.String(o.Endpoint), true
		// Servers that are not Amazon's often do not know the checksums that it has since 2025.
		s.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		s.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	return &S3{client, o.Bucket, o.Prefix}, nil
}

// retryConflicts tries again what the server refuses because another request touched the same key (Amazon's word) or, on a
// gateway that keeps objects as files, the directory around it (versitygw's). All that is asked here may be asked twice.
func retryConflicts(s *s3.Options) {
	s.Retryer = retry.AddWithErrorCodes(s.Retryer, "OperationAborted", "ExistingObjectIsDirectory")
}

// Check says, in words, why the bucket cannot be used; nil when it can be listed.
func (b *S3) Check(ctx context.Context) error {
	_, err := b.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: &b.prefix, MaxKeys: aws.Int32(1)})
	var none *types.NoSuchBucket
	if errors.As(err, &none) {
		return fmt.Errorf("the bucket %s doesn't exist: create it, or fix archive.bucket", b.bucket)
	}
	if err != nil {
		return fmt.Errorf("can't list the bucket %s: %w", b.bucket, err)
	}
	return nil
}

// probeKey is the object that Probe puts once. It begins with a dot: it is no key of the archive.
const probeKey = ".readiness-probe"

// Probe tries whether the bucket can be listed and may be written to. It asks the server to put a small object where there is
// none, so that a bucket that keeps versions does not fill with them.
func (b *S3) Probe(ctx context.Context) error {
	if err := b.Check(ctx); err != nil {
		return err
	}
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.bucket, Key: aws.String(b.prefix + probeKey), Body: strings.NewReader("."), IfNoneMatch: aws.String("*"),
	})
	var refused interface{ HTTPStatusCode() int }
	if errors.As(err, &refused) && refused.HTTPStatusCode() == http.StatusPreconditionFailed {
		return nil // it is there
	}
	if err != nil {
		return fmt.Errorf("can't write to the bucket %s: %w", b.bucket, err)
	}
	return nil
}

// Put implements Bucket.
func (b *S3) Put(ctx context.Context, key string, content io.Reader, size int64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if size > maxObject {
		return fmt.Errorf("storing %s: it has %d bytes, and S3 accepts at most %d", key, size, int64(maxObject))
	}
	// Signing reads everything once before it is sent.
	body, done, err := seekable(&exactly{content, size}, size)
	if err == nil {
		defer done()
		_, err = b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.bucket, Key: aws.String(b.prefix + key), Body: body, ContentLength: &size})
	}
	if err != nil {
		return fmt.Errorf("storing %s in the bucket %s: %w", key, b.bucket, err)
	}
	return nil
}

// inMemory is up to which size content is not put on the disk before it is sent.
const inMemory = 8 << 20

// seekable copies content to where it can be read twice.
func seekable(content io.Reader, size int64) (_ io.ReadSeeker, done func(), err error) {
	if size <= inMemory {
		b, err := io.ReadAll(content)
		return bytes.NewReader(b), func() {}, err
	}
	f, err := os.CreateTemp("", "upload-*")
	if err != nil {
		return nil, nil, err
	}
	done = func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	if _, err = io.Copy(f, content); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return f, done, nil
}

// Open implements Bucket.
func (b *S3) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := checkKey(key); err != nil {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	got, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: aws.String(b.prefix + key)})
	var none *types.NoSuchKey
	if errors.As(err, &none) {
		err = errors.Join(fs.ErrNotExist, err)
	}
	if err != nil {
		return nil, fmt.Errorf("opening %s in the bucket %s: %w", key, b.bucket, err)
	}
	return got.Body, nil
}

// List implements Bucket.
func (b *S3) List(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: aws.String(b.prefix + prefix)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing %q in the bucket %s: %w", prefix, b.bucket, err)
		}
		for _, o := range page.Contents {
			// Others may keep things there that are no keys of ours: directories of web consoles end with a slash.
			if key, ours := strings.CutPrefix(aws.ToString(o.Key), b.prefix); ours && isKey(key) {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}

// Remove implements Bucket.
func (b *S3) Remove(ctx context.Context, key string) error {
	if !isKey(key) {
		return nil
	}
	if _, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.bucket, Key: aws.String(b.prefix + key)}); err != nil {
		return fmt.Errorf("removing %s from the bucket %s: %w", key, b.bucket, err)
	}
	return nil
}
