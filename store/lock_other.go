//go:build !unix

package store

import "errors"

// lockFile refuses: without a lock that dies with its process, two bots could use one file.
func lockFile(string) (release func() error, err error) {
	return nil, errors.New("SQLite is supported on Unix only, because the file cannot be locked here: use PostgreSQL")
}
