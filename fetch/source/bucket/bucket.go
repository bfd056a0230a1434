// Package bucket is a Source in an S3 bucket, Amazon's or anybody's.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"faultline/fetch/source"
)

// Options say where a bucket is and how it is entered.
type Options struct {
	Bucket string
	// Prefixes are the roots, without a slash at either end; none = the whole bucket.
	Prefixes []string
	Region   string
	// Endpoint is the address of a server that is not Amazon's, such as "https://s3.example.org"; there the bucket's name is
	// a part of the path, not of the host's name.
	Endpoint string
	// AccessKey, SecretKey and, for temporary ones, SessionToken; all "" = as the AWS tools find them: environment, profile, role.
	AccessKey, SecretKey, SessionToken string
}

// Files implements source.Source. Names are keys.
type Files struct {
	client *s3.Client
	bucket string
	roots  []string
	place  string
}

// connections that are kept open to the server.
const connections = 64

// New prepares the access; it asks the server nothing.
func New(ctx context.Context, o Options) (*Files, error) {
	if o.Bucket == "" || strings.ContainsAny(o.Bucket, "/ \t\n") {
		return nil, fmt.Errorf("%q is no name of a bucket", o.Bucket)
	}
	f := &Files{bucket: o.Bucket, place: "s3://" + o.Bucket}
	for _, p := range o.Prefixes {
		if p != "" && path.Clean("/"+p) != "/"+p {
			return nil, fmt.Errorf("the prefix %s has a slash too many, or leads elsewhere", source.Shown(p))
		}
		f.roots = append(f.roots, p)
	}
	if len(f.roots) == 0 {
		f.roots = []string{""}
	}
	load := []func(*config.LoadOptions) error{config.WithRegion(o.Region),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = connections }))}
	if o.AccessKey != "" {
		load = append(load, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(o.AccessKey, o.SecretKey, o.SessionToken)))
	}
	conf, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fmt.Errorf("preparing the access to the bucket %s: %w", o.Bucket, err)
	}
	f.client = s3.NewFromConfig(conf, func(s *s3.Options) {
		s.Retryer = aws.NopRetryer{} // source.Retry does it, for every source alike
		if o.Endpoint == "" {
			return
		}
		s.BaseEndpoint, s.UsePathStyle = aws.String(o.Endpoint), true
		// Servers that are not Amazon's often do not know the checksums that it has since 2025.
		s.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		s.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	return f, nil
}

// check refuses what is no key that lies below a root.
func (f *Files) check(key string) error {
	if key == "" || path.Clean("/"+key) != "/"+key || strings.ContainsRune(key, 0) || len(key) > 1024 {
		return &source.Error{Kind: source.BadName, Place: f.place, Name: key}
	}
	if !f.inside(key) {
		return &source.Error{Kind: source.Outside, Place: f.place, Name: key}
	}
	return nil
}

func (f *Files) inside(key string) bool {
	return slices.ContainsFunc(f.roots, func(r string) bool { return r == "" || key == r || strings.HasPrefix(key, r+"/") })
}

// Stat implements source.Source.
func (f *Files) Stat(ctx context.Context, name string) (source.File, error) {
	if err := f.ready(ctx, name); err != nil {
		return source.File{}, err
	}
	head, err := f.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &f.bucket, Key: &name})
	if err != nil {
		// The answer to this question has no words, only a number; another's has.
		if kind := source.KindOf(f.fault(ctx, name, err)); kind == source.Denied || kind == source.NotFound {
			if got, again := f.get(ctx, name, "bytes=0-0"); again == nil {
				_ = got.Body.Close()
			} else if code(again) != "InvalidRange" {
				err = again
			}
		}
		return source.File{}, f.fault(ctx, name, err)
	}
	return file(name, aws.ToInt64(head.ContentLength), head.ETag, head.LastModified), nil
}

func (f *Files) ready(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return f.check(name)
}

func (f *Files) get(ctx context.Context, name, span string) (*s3.GetObjectOutput, error) {
	in := &s3.GetObjectInput{Bucket: &f.bucket, Key: &name}
	if span != "" {
		in.Range = &span
	}
	return f.client.GetObject(ctx, in)
}

// Open implements source.Source.
func (f *Files) Open(ctx context.Context, name string, offset int64) (source.File, io.ReadCloser, error) {
	if err := f.ready(ctx, name); err != nil {
		return source.File{}, nil, err
	}
	if offset < 0 {
		return source.File{}, nil, &source.Error{Kind: source.Changed, Place: f.place, Name: name}
	}
	span := ""
	if offset > 0 {
		span = fmt.Sprintf("bytes=%d-", offset)
	}
	got, err := f.get(ctx, name, span)
	if code(err) == "InvalidRange" { // nothing is there from the offset on
		what, err := f.Stat(ctx, name)
		if err == nil && what.Size != offset {
			err = &source.Error{Kind: source.Changed, Place: f.place, Name: name, More: fmt.Sprintf("it has %d bytes", what.Size)}
		}
		if err != nil {
			return source.File{}, nil, err
		}
		return what, http.NoBody, nil
	}
	if err != nil {
		return source.File{}, nil, f.fault(ctx, name, err)
	}
	size := aws.ToInt64(got.ContentLength)
	if offset > 0 && got.ContentRange == nil { // the server gives all of it, whatever it was asked for
		n, err := io.CopyN(io.Discard, got.Body, offset)
		if err != nil {
			_ = got.Body.Close()
			if errors.Is(err, io.EOF) {
				err = &source.Error{Kind: source.Changed, Place: f.place, Name: name, More: fmt.Sprintf("it has %d bytes", n)}
			}
			return source.File{}, nil, f.fault(ctx, name, err)
		}
		size -= offset
	}
	what := file(name, offset+size, got.ETag, got.LastModified)
	return what, &content{files: f, ctx: ctx, body: got.Body, name: name, left: size}, nil
}

// content is what an object holds; once opened it does not change.
type content struct {
	files *Files
	ctx   context.Context
	body  io.ReadCloser
	name  string
	left  int64
}

func (c *content) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n, err := c.body.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	switch {
	case err == nil, errors.Is(err, io.EOF) && c.left == 0:
		return n, nil
	case errors.Is(err, io.EOF):
		return n, &source.Error{Kind: source.Lost, Place: c.files.place, Name: c.name, More: fmt.Sprintf("%d bytes are missing", c.left), Err: io.ErrUnexpectedEOF}
	}
	return n, c.files.fault(c.ctx, c.name, err)
}

func (c *content) Close() error {
	_ = c.body.Close() // it was only read
	return nil
}
