// Command fetch brings all files below a folder into a spool, and says how long that took: what bench/fetch.sh compares with the
// tools that a user would take.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path"
	"time"

	"faultline/fetch/source"
	"faultline/fetch/source/bucket"
	"faultline/fetch/source/login"
	"faultline/fetch/spool"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	host := flag.String("sftp", "", "host:port of a login node")
	user := flag.String("user", "", "account there")
	key := flag.String("key", "", "private key")
	known := flag.String("known", "", "known_hosts")
	endpoint := flag.String("s3", "", "address of an S3 server; its keys are in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	name := flag.String("bucket", "", "bucket there")
	folder := flag.String("folder", "", "absolute path, or prefix")
	dir := flag.String("spool", "", "directory of the spool")
	together := flag.Int("together", 0, "files at a time; 0 = the spool's own number")
	flag.Parse()

	var from spool.Place
	switch {
	case *host != "":
		n, err := login.New(login.Options{Hops: []login.Hop{{Address: *host, User: *user, KeyFile: *key}}, KnownHosts: []string{*known}})
		if err != nil {
			return err
		}
		defer n.Close()
		files, err := n.Files(*folder)
		if err != nil {
			return err
		}
		from = spool.Place{Source: files, ID: "sftp://" + *host, Origin: "sftp"}
	case *endpoint != "":
		files, err := bucket.New(ctx, bucket.Options{Bucket: *name, Prefixes: []string{*folder}, Region: "us-east-1", Endpoint: *endpoint})
		if err != nil {
			return err
		}
		from = spool.Place{Source: files, ID: "s3://" + *name, Origin: "s3"}
	default:
		flag.Usage()
		return fmt.Errorf("neither -sftp nor -s3 is given")
	}
	from.Source = &source.Retry{Of: &source.Timeout{Of: from.Source, Place: from.ID, Request: time.Minute, Idle: time.Minute}}
	keep, err := spool.Open(*dir, spool.Options{Together: *together})
	if err != nil {
		return err
	}
	defer keep.Close()
	start := time.Now()
	found, err := from.Source.Glob(ctx, path.Join(source.Escape(*folder), "**"))
	if err != nil {
		return err
	}
	want := make([]spool.Want, len(found))
	for i, f := range found {
		want[i].File = f
	}
	got, err := keep.Take(ctx, from, want, nil)
	if err != nil {
		return err
	}
	if len(got.Missed) > 0 {
		return fmt.Errorf("%d files are missing, the first because %w", len(got.Missed), got.Missed[0].Err)
	}
	took := time.Since(start)
	fmt.Printf("%d files, %d bytes fetched in %.1f s: %.0f MB/s\n", len(got.Sources), got.Fetched, took.Seconds(), float64(got.Fetched)/1e6/took.Seconds())
	return nil
}
