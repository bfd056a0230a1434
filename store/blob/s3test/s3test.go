// Package s3test starts an S3 server for tests.
package s3test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"faultline/integration/loopback"
)

// AccessKey and SecretKey are the key pair of the server.
const AccessKey, SecretKey = "test-access", "test-secret-key"

// Serve starts an S3 server that nobody here wrote, and returns its address. Where versitygw is missing the test is
// skipped, unless the environment says CI=true: there it fails.
func Serve(t testing.TB) string {
	t.Helper()
	bin, looked := s3Server()
	if bin == "" {
		why := "there is no S3 server: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0, in " + looked
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	dir, addr := t.TempDir(), loopback.Address(t)
	files, about := filepath.Join(dir, "files"), filepath.Join(dir, "about") // not every file system keeps attributes of files
	if err := errors.Join(os.Mkdir(files, 0o700), os.Mkdir(about, 0o700)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "--quiet", "--port", addr, "posix", "--sidecar", about, files)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
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
