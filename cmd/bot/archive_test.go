package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"faultline/integration/loopback"
	"faultline/workflow"
)

// startS3 starts an S3 server that nobody here wrote, with one bucket, and returns the configuration of an archive in it. Where
// versitygw is missing the test is skipped, unless the environment says CI=true: there it fails.
func startS3(t *testing.T) (yaml string) {
	t.Helper()
	cache := os.Getenv("FAULTLINE_CACHE")
	if cache == "" {
		home, _ := os.UserHomeDir()
		cache = filepath.Join(home, ".cache", "faultline")
	}
	bin := ""
	for _, name := range []string{os.Getenv("FAULTLINE_S3_SERVER"), "versitygw", filepath.Join(cache, "tools", "versitygw-v1.8.0", "versitygw")} {
		if found, err := exec.LookPath(name); name != "" && err == nil {
			bin = found
			break
		}
	}
	if bin == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("there is no S3 server (versitygw)")
		}
		t.Skip("there is no S3 server (versitygw)")
	}
	const access, secret = "test-access", "test-secret-key"
	dir, addr := t.TempDir(), loopback.Address(t)
	if err := os.Mkdir(filepath.Join(dir, "incidents"), 0o700); err != nil { // a bucket
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "--quiet", "--port", addr, "posix", "--nometa", dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+access, "ROOT_SECRET_KEY="+secret)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return fmt.Sprintf("archive: {bucket: incidents, prefix: faultline/, endpoint: 'http://%s', access_key: %s, secret_key: %s, keep: 30d}\n", addr, access, secret)
}

func TestClosedIncidentsLiveInARealS3ServerAndLeaveIt(t *testing.T) {
	yaml := fmt.Sprintf("data: {dir: %q, keep: 1d}\n", filepath.Join(t.TempDir(), "data")) + startS3(t)
	cfg, log := parsed(t, yaml), slog.New(slog.DiscardHandler)
	ctx := t.Context()
	s := kept(t, yaml)
	posts, err := s.Posts(ctx, "F-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range posts { // nobody sends here
		if err := s.Undeliverable(ctx, p.ID, "a test"); err != nil {
			t.Fatal(err)
		}
	}
	keep := func(want ...string) {
		t.Helper()
		if err := s.keepHouse(ctx, cfg, log); err != nil {
			t.Fatal(err)
		}
		keys, err := s.Archive.List(ctx, "")
		if err != nil || !slices.Equal(keys, want) {
			t.Errorf("the archive holds %q, want %q (%v)", keys, want, err)
		}
	}
	inv, err := s.Load(ctx, "F-1")
	if err != nil {
		t.Fatal(err)
	}
	stem := inv.Since.UTC().Format("2006/01/02") + "/F-1__4242_v"
	keep(stem+"1.json", stem+"1.zip")
	here(t, "", yaml, "doctor").want(t, 0, "OK    archive", "OK    clock     agrees with the archive's", "WARN  slack     no tokens")
	keep(stem+"1.json", stem+"1.zip")

	// A day later it leaves the store and stays in the archive; after a month it leaves that too.
	if inv, err = s.Load(ctx, "F-1"); err != nil {
		t.Fatal(err)
	}
	inv.Since = inv.Since.Add(-72 * time.Hour)
	old := inv.Since.UTC().Format("2006/01/02") + "/F-1__4242_v2"
	if err := s.Save(ctx, workflow.Change{Investigation: &inv}); err != nil {
		t.Fatal(err)
	}
	keep(old+".json", old+".zip")
	if list, err := s.Find(ctx, workflow.Query{}); err != nil || len(list) != 0 {
		t.Errorf("still in the store: %+v, %v", list, err)
	}
	keep(old+".json", old+".zip")
	cfg.Archive.Keep = cfg.Data.Keep
	keep()
	shut(t, s)
}
