// Package source says what a place is where files of jobs lie: a file system that is mounted here, a login node, a bucket.
// The packages below it are such places; the decorators of this package (Retry, Rate, Limit, Timeout) fit around any.
package source

import (
	"context"
	"io"
	"strings"
	"time"
)

// Source is a place where files of jobs lie. Names and patterns are slash-separated: absolute paths on a file system, keys
// in a bucket. All methods may be called at the same time. When ctx ends they return soon, whatever the place does, and
// their error is (wraps) ctx's cause. Every other error is an *Error.
//
// A source has roots (directories, prefixes) and gives nothing outside of them: links are resolved first.
type Source interface {
	// Glob finds regular files, sorted by name. A pattern is one of path.Match for each element ("*" does not cross a
	// slash); where its last element is "**" it stands for every file below, at any depth, through no link to a directory.
	// Nothing found is not an error. What could not be looked at is: then the files that were found are returned all the
	// same, beside an error that joins an *Error for each, so that "cannot be read" is never taken for "not there".
	Glob(ctx context.Context, pattern string) ([]File, error)
	// Stat describes one regular file.
	Stat(ctx context.Context, name string) (File, error)
	// Open gives the bytes of a file from offset on, up to the size that it has at this moment, which File says: exactly
	// File.Size − offset bytes, or an error from Read (Lost, Changed, …). offset may be File.Size; beyond it the error is
	// Changed. Ending ctx ends reading.
	Open(ctx context.Context, name string, offset int64) (File, io.ReadCloser, error)
}

// File is a regular file as it was when somebody looked.
type File struct {
	// Name is the one that Stat and Open take: as it was matched, links in it not resolved.
	Name string
	Size int64
	// Written is when its content last changed, by the clock of the place.
	Written time.Time
	// Owner is the account that owns it; "#1017" where the place gives a number only, "" where it says nothing.
	Owner string
	// Mark changes when another file takes the name (device and inode, ETag); "" where the place has no such thing. A file
	// that was emptied and written anew may keep its mark.
	Mark string
	// Whole: the mark stands for the content, not for the name's file: a file that grew has another one (ETag).
	Whole bool
}

// Command runs programs where a source is: on a login node, or on this machine.
type Command interface {
	// Run starts argv[0] with exactly these arguments; no shell reads anything in them. A program that ends with a code
	// other than 0 is no error.
	Run(ctx context.Context, argv ...string) (Output, error)
}

// Output is what a program said. It is cut at MaxOutput bytes, which is an error of Run.
type Output struct {
	Stdout, Stderr []byte
	Code           int // 128 + n where a signal ended it
}

// MaxOutput bounds what is taken from a program.
const MaxOutput = 64 << 20

// Escape makes text stand for itself in a pattern.
func Escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}
