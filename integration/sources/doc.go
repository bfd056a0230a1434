// Package sources tries the sources of log files against servers that others wrote: OpenSSH behind a jump host, and an S3 server.
//
//	integration/sources/prepare.sh && go test -tags sources ./integration/sources
//
// It needs root: the files that may not be read belong to somebody else. The steps of .ci/run do both.
package sources
