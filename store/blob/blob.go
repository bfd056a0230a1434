// Package blob keeps bytes: attachments of posts, by what they contain, and archived incidents, by readable keys. They lie
// in a directory or in an S3 bucket.
package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bucket keeps content under keys such as "2026/03/01/F-12.zip". What is put is there as a whole or not at all.
type Bucket interface {
	// Put stores size bytes of content, in place of what is there. Fewer or more bytes are an error, and nothing changes.
	Put(ctx context.Context, key string, content io.Reader, size int64) error
	// Open reads content; the error of a missing key is fs.ErrNotExist.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// List returns the keys that begin with the prefix, sorted by their bytes.
	List(ctx context.Context, prefix string) ([]string, error)
	// Remove removes what is there; nothing being there is no error.
	Remove(ctx context.Context, key string) error
}

// Store keeps content by what it is: the key is its SHA-256. Content that is put twice is kept once.
type Store struct{ Bucket Bucket }

// Put stores content and returns its key.
func (s Store) Put(ctx context.Context, content []byte) (key string, err error) {
	sum := sha256.Sum256(content)
	key = hex.EncodeToString(sum[:])
	return key, s.Bucket.Put(ctx, spread(key), bytes.NewReader(content), int64(len(content)))
}

// Open reads content; the error of an unknown key is fs.ErrNotExist.
func (s Store) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if !isSum(key) {
		return nil, fmt.Errorf("%q is not an attachment key: %w", key, fs.ErrNotExist)
	}
	return s.Bucket.Open(ctx, spread(key))
}

// Delete removes content; nothing being there is no error.
func (s Store) Delete(ctx context.Context, key string) error {
	if !isSum(key) {
		return nil
	}
	return s.Bucket.Remove(ctx, spread(key))
}

// List returns all keys, sorted.
func (s Store) List(ctx context.Context) ([]string, error) {
	names, err := s.Bucket.List(ctx, contents+"/")
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, name := range names {
		if key := name[strings.LastIndexByte(name, '/')+1:]; isSum(key) && name == spread(key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// contents is the part of a bucket that a Store has.
const contents = "blob"

// spread keeps directories small.
func spread(sum string) string { return contents + "/" + sum[:2] + "/" + sum }

func isSum(key string) bool {
	b, err := hex.DecodeString(key)
	return err == nil && len(b) == sha256.Size && strings.ToLower(key) == key
}

// maxPart is how long a part of a key may be: file systems take 255 bytes.
const maxPart = 200

// checkKey refuses keys that not every bucket takes, or that lead elsewhere.
func checkKey(key string) error {
	bad := func(why string) error { return fmt.Errorf("%.300q is not a key: %s", key, why) }
	if !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl) || strings.ContainsRune(key, '\\') {
		return bad("it contains characters that file names shouldn't have")
	}
	if len(key) > 1000 {
		return bad("it is too long")
	}
	for part := range strings.SplitSeq(key, "/") {
		switch {
		case part == "" || strings.HasPrefix(part, "."):
			return bad("part of it is empty or starts with a dot")
		case len(part) > maxPart:
			return bad("part of it is too long")
		}
	}
	return nil
}

func isKey(key string) bool { return checkKey(key) == nil }

// exactly reads size bytes, and fails where there are fewer or more.
type exactly struct {
	from io.Reader
	left int64
}

func (e *exactly) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	if e.left -= int64(n); e.left < 0 {
		return n, fmt.Errorf("there are more bytes than announced")
	}
	if err == io.EOF && e.left > 0 {
		return n, fmt.Errorf("%d bytes are missing: %w", e.left, io.ErrUnexpectedEOF)
	}
	return n, err
}
