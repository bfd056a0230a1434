//go:build sources

package sources

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"faultline/fetch/source/bucket"
	"faultline/fetch/source/sourcetest"
	"faultline/fetch/spool"
	"faultline/store/blob/s3test"
)

func TestATransferFromS3ThatIsCutAtEveryTenthLosesNothing(t *testing.T) {
	const size = 20 << 20
	w := newWire(t, strings.TrimPrefix(s3test.Serve(t), "http://"))
	content := sourcetest.Bytes(size)
	client := s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: aws.String("http://" + w.address), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(s3test.AccessKey, s3test.SecretKey, "")})
	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("logs")})
	must(t, err)
	_, err = client.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("logs"), Key: aws.String("slurm/4242/error-4242-0.out"), Body: bytes.NewReader(content)})
	must(t, err)
	files, err := bucket.New(ctx, bucket.Options{Bucket: "logs", Prefixes: []string{"slurm"}, Region: "us-east-1", Endpoint: "http://" + w.address,
		AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey})
	must(t, err)
	cutAtEveryTenth(t, w, spool.Place{Source: files, ID: "s3://logs", Origin: "s3"}, "slurm/4242/error-4242-0.out", content)
}
